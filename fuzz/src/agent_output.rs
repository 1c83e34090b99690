//! What a coding agent prints, in each dialect we know.

use redgreen_core::agent_output::{AgentOutput, Dialect};
use redgreen_core::report::Exit;

const DIALECTS: [Dialect; 6] = [
    Dialect::Text,
    Dialect::Aider,
    Dialect::Claude,
    Dialect::Codex,
    Dialect::Gemini,
    Dialect::Opencode,
];

pub(crate) fn input(input: &[u8]) {
    let Some((&choice, text)) = input.split_first() else { return };
    let text = &String::from_utf8_lossy(text);
    let mut agent_output = AgentOutput::new(DIALECTS[usize::from(choice) % DIALECTS.len()]);
    for line in text.lines() {
        agent_output.line(line);
    }
    agent_output.end(Exit::Code(i32::from(choice)), text);
}
