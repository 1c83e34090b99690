//! The transcript of a turn for people: messages, tool calls and their results.

use redgreen_core::tool::digest;

use super::tools::Answer;

/// The limit for one tool result.
const ANSWER_BYTES_MAX: usize = 2 << 10;
/// The limit for one message.
const SAID_BYTES_MAX: usize = 32 << 10;
/// The limit for the whole transcript, beyond which nobody reads it.
const TRANSCRIPT_BYTES_MAX: usize = 2 << 20;

#[derive(Clone, Debug, Default)]
pub(super) struct Transcript {
    text: String,
}

impl Transcript {
    /// Our message to the model.
    pub(super) fn heard(&mut self, words: &str) {
        self.add("## redgreen", words, SAID_BYTES_MAX);
    }

    pub(super) fn said(&mut self, words: &str) {
        if !words.trim().is_empty() {
            self.add("## model", words, SAID_BYTES_MAX);
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
        if self.text.len() < TRANSCRIPT_BYTES_MAX {
            self.text +=
                &format!("{title}\n\n{}\n\n", digest::head_and_tail(words.trim_end(), bytes_max));
        }
    }
}
