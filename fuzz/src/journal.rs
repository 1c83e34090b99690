//! A line of a run's journal: an event, folded into a state that can be asked for its next step.

use redgreen_core::event::Event;
use redgreen_core::state::State;
use redgreen_core::step::next;

pub(crate) fn input(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    let mut state: Option<State> = None;
    for line in text.lines() {
        let Ok(event) = serde_json::from_str::<Event>(line) else { continue };
        let again = serde_json::to_string(&event).unwrap_or_default();
        assert!(serde_json::from_str::<Event>(&again).is_ok(), "{again}");
        // An event that cannot follow is refused, and the journal is damaged from there on.
        state = match state.take() {
            None => State::begin(&event).ok(),
            Some(known) => known.apply(&event, 0).ok(),
        };
        if let Some(state) = &state {
            next(state);
        }
    }
}
