//! The minutes of a turn, for a person: who said what, which tools were used, what came of it.

use redgreen_core::tool::digest;

use super::tools::Answer;

/// Kept of one answer of a tool.
const ANSWER_BYTES_MAX: usize = 2 << 10;
/// Kept of one thing that was said.
const SAID_BYTES_MAX: usize = 32 << 10;
/// Of the whole; a turn that says more is not read by anybody.
const MINUTES_BYTES_MAX: usize = 2 << 20;

#[derive(Clone, Debug, Default)]
pub(super) struct Minutes {
    text: String,
}

impl Minutes {
    /// What the model was told by us.
    pub(super) fn heard(&mut self, words: &str) {
        self.add("## told", words, SAID_BYTES_MAX);
    }

    pub(super) fn said(&mut self, words: &str) {
        if !words.trim().is_empty() {
            self.add("## said", words, SAID_BYTES_MAX);
        }
    }

    pub(super) fn tool(&mut self, name: &str, what: &str, answer: &Answer) {
        let (word, text) = match answer {
            Ok(text) => ("", text),
            Err(text) => (", not done", text),
        };
        let what = what.lines().next().unwrap_or_default();
        self.add(&format!("## {name} {what}{word}"), text, ANSWER_BYTES_MAX);
    }

    pub(super) fn note(&mut self, words: &str) {
        self.add("##", words, SAID_BYTES_MAX);
    }

    pub(super) fn text(self) -> String {
        self.text
    }

    fn add(&mut self, title: &str, words: &str, bytes_max: usize) {
        if self.text.len() < MINUTES_BYTES_MAX {
            self.text += &format!("{title}\n\n{}\n\n", digest::head_and_tail(words.trim_end(), bytes_max));
        }
    }
}
