//! Files that other processes leave for a run: messages, a plan that a user edited, live words. They
//! are used within limits, or refused in words.

use redgreen_core::live::LiveV1;
use redgreen_core::steer::{self, MESSAGE_BYTES_MAX, Message};
use redgreen_core::test_list::EngineItems;

pub(crate) fn input(bytes: &[u8]) {
    if let Ok(message) = Message::parse(bytes) {
        assert_eq!(Message::parse(message.render().as_bytes()), Ok(message));
    }
    if let Some(line) = LiveV1::parse(bytes) {
        let (at, role) = (line.at, line.role);
        let said = line.said();
        let again = serde_json::to_vec(&LiveV1::new(at, role, &said)).unwrap_or_default();
        assert_eq!(LiveV1::parse(&again).map(LiveV1::said), Some(said));
    }
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    match steer::words(text) {
        Ok(words) => assert!(words.len() <= MESSAGE_BYTES_MAX),
        Err(why) => assert!(!why.to_string().is_empty()),
    }
    let (completed, pending) = (vec!["adds".to_owned()], vec!["subtracts".to_owned()]);
    let known = EngineItems { completed: &completed, pending: &pending };
    match steer::plan(text, &[], known) {
        Ok(plan) => {
            let again = steer::plan(&plan.text, &plan.pending, known).map(|again| again.pending);
            assert_eq!(again, Ok(plan.pending));
        }
        Err(why) => assert!(!why.to_string().is_empty()),
    }
    steer::with_item(Some(text), text, known).ok();
}
