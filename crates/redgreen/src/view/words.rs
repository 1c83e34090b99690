//! The words of each verb's answer: what happened, the evidence, the next command.

use std::fmt::Write;

use redgreen_core::agent::Trouble;
use redgreen_core::event::Outcome;
use redgreen_core::policy::dollars;

use super::{BAD, DOUBT, GOOD, HINT, QUIET, STRONG, paint};
use crate::failure::Failure;

pub(super) fn failure(failure: &Failure) -> String {
    let mut text = format!("{}: {}\n", paint(BAD, "error"), failure.what);
    for line in failure.evidence.iter().flat_map(|evidence| evidence.lines()) {
        text.push_str(&format!("  {line}\n"));
    }
    if let Some(next) = &failure.next {
        text.push_str(&next_line(next));
    }
    text
}

/// Why a run stopped, in a sentence.
pub fn outcome(outcome: &Outcome) -> String {
    let told = |word: &str, trouble: &Trouble| format!("{word}: {}", trouble.message);
    match outcome {
        Outcome::Merged => paint(GOOD, "merged"),
        Outcome::Aborted => "aborted: nothing was merged".to_owned(),
        Outcome::Waiting => format!("{}: everything is done and judged", paint(GOOD, "waiting for a human")),
        Outcome::MergeBlocked { trouble } => told(&paint(DOUBT, "waiting for a human"), trouble),
        Outcome::GaveUp { phase, trouble } => {
            told(&format!("{} in {phase}; its work was taken back", paint(BAD, "gave up")), trouble)
        }
        Outcome::Undecided { phase, trouble } => {
            told(&format!("{} in {phase}; a human has to look", paint(DOUBT, "undecided")), trouble)
        }
        Outcome::AgentUnusable { trouble } => told(&paint(BAD, "the agent cannot work"), trouble),
        Outcome::BaselineUnusable { trouble } => {
            told(&paint(BAD, "the test suite does not run, so nothing could be judged"), trouble)
        }
        Outcome::BudgetSpent { what } => format!("{}: {what}", paint(DOUBT, "budget spent")),
        Outcome::Interrupted => "interrupted; nothing is lost".to_owned(),
    }
}

pub fn next_line(command: &str) -> String {
    format!("  {}  {command}\n", paint(HINT, "next"))
}

/// Columns of a list, each row on a line.
pub fn field(text: &mut String, name: &str, value: &str) {
    if !value.is_empty() {
        // Writing to a String cannot fail.
        writeln!(
            text,
            "  {:<8}  {}",
            paint(QUIET, &format!("{name:<8}")),
            value.trim_end().replace('\n', "\n            ")
        )
        .ok();
    }
}

pub fn title(id: &str, words: &str) -> String {
    format!("{}  {words}\n", paint(STRONG, id))
}

/// A moment in the user's own time zone.
pub fn date(seconds: i64) -> String {
    let time = jiff::Timestamp::from_second(seconds).unwrap_or_default();
    time.to_zoned(jiff::tz::TimeZone::system()).strftime("%Y-%m-%d %H:%M").to_string()
}

pub fn cost(tokens: u64, microdollars: u64, unknown_turns: u32) -> String {
    let mut parts = Vec::new();
    if tokens > 0 {
        parts.push(format!("{tokens} tokens"));
    }
    if microdollars > 0 {
        parts.push(dollars(microdollars));
    }
    if unknown_turns > 0 {
        parts.push(format!("{unknown_turns} turns of unknown cost"));
    }
    parts.join(", ")
}
