//! A model's server: a stream of events in pieces of any size, in each wire format.

use redgreen_core::model::sse;
use redgreen_core::model::wire::{Decoder, Wire};

pub(crate) fn input(input: &[u8]) {
    let Some((&choice, bytes)) = input.split_first() else { return };
    let wire =
        [Wire::Anthropic, Wire::Responses, Wire::Chat, Wire::Gemini][usize::from(choice) % 4];
    let mut decoder = Decoder::new(wire);
    let mut stream = sse::Parser::default();
    for piece in bytes.chunks(1 + usize::from(choice)) {
        let Ok(events) = stream.push(piece) else { return };
        for event in events {
            if decoder.event(&event.name, &event.data).is_err() {
                return;
            }
        }
    }
    decoder.finish().ok();
}
