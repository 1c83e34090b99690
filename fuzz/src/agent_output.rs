//! What a coding agent prints, in each dialect we know.

use redgreen_core::hearing::{Dialect, Hearing};
use redgreen_core::report::Exit;

const DIALECTS: [Dialect; 6] =
    [Dialect::Text, Dialect::Aider, Dialect::Claude, Dialect::Codex, Dialect::Gemini, Dialect::Opencode];

pub(crate) fn input(input: &[u8]) {
    let Some((&choice, text)) = input.split_first() else { return };
    let text = &String::from_utf8_lossy(text);
    let mut hearing = Hearing::new(DIALECTS[usize::from(choice) % DIALECTS.len()]);
    for line in text.lines() {
        hearing.line(line);
    }
    hearing.end(Exit::Code(i32::from(choice)), text);
}
