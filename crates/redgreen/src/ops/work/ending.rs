//! How an attempt ended, in words and as an event.

use std::time::Duration;

use anyhow::Error;
use redgreen_core::event::Outcome;
use redgreen_core::fleet::status::{Event, Status};
use redgreen_core::names::Label;

use crate::git::Unreachable;
use crate::process::Output;
use crate::view;

/// How soon a failed job is retried.
const AFTER_FAILURE: Duration = Duration::from_secs(1);
/// How often the pause doubles: up to about a minute.
const PAUSE_DOUBLINGS_MAX: u32 = 6;
/// How systems say that a disk is full.
const NO_SPACE: [&str; 2] = ["No space left on device", "Disk quota exceeded"];
/// The length limit of a program's message about a failure.
const WORDS_CHARS_MAX: usize = 200;

pub(super) fn failure_of(error: &Error) -> Event {
    let why = Label::of(&format!("{error:#}"));
    match error.is::<Unreachable>() {
        true => Event::Troubled { why },
        false => Event::Failed { why },
    }
}

/// A failure for lack of space says nothing about the job: another worker may have more.
pub(super) fn no_fault_of_the_job(event: Event) -> Event {
    match event {
        Event::Failed { why } if NO_SPACE.iter().any(|words| why.contains(words)) => {
            Event::Troubled { why }
        }
        event => event,
    }
}

/// The time before a job that failed is tried again. A repository that is down for all workers gets
/// longer and longer pauses.
pub(super) fn pause(status: &Status) -> Duration {
    AFTER_FAILURE * 2_u32.pow(status.troubles.saturating_sub(1).min(PAUSE_DOUBLINGS_MAX))
}

pub(super) fn stopped(outcome: &Outcome, finished: bool) -> Event {
    Event::Stopped { why: words_for(outcome), finished }
}

/// The outcome as text, without colour marks, which only mean something on this machine's screen.
pub(super) fn words_for(outcome: &Outcome) -> Label {
    let is_mark = |letter: &char| ('\u{fdd0}'..='\u{fdef}').contains(letter);
    let words = view::outcome(outcome);
    Label::of(
        &words.chars().filter(|letter| !is_mark(letter)).take(WORDS_CHARS_MAX).collect::<String>(),
    )
}

/// The error message of a program. With `--json` it is one object.
pub(super) fn words_of(output: &Output) -> Label {
    #[derive(serde::Deserialize)]
    struct Failed {
        error: ErrorBody,
    }
    #[derive(serde::Deserialize)]
    struct ErrorBody {
        message: String,
        evidence: Vec<String>,
    }
    let text = output.stdout_text() + &output.stderr_text();
    let told = text.lines().rev().find_map(|line| serde_json::from_str::<Failed>(line).ok());
    let told = told.map(|Failed { error }| {
        let evidence = error.evidence.first().map(|line| format!(" ({line})")).unwrap_or_default();
        error.message + &evidence
    });
    // An object that is no error is for programs, not for people.
    let is_text = |line: &&str| !line.trim().is_empty() && !line.starts_with('{');
    let last = || text.lines().rev().find(is_text).unwrap_or("it gave no reason").to_owned();
    let words = told.unwrap_or_else(last);
    Label::of(&format!(
        "{}: {}",
        output.exit,
        words.chars().take(WORDS_CHARS_MAX).collect::<String>()
    ))
}
