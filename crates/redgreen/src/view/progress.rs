//! A run as it happens: one line for each thing worth knowing.

use redgreen_core::agent::Turn;
use redgreen_core::event::Event;
use redgreen_core::phase::{Phase, Role};
use redgreen_core::state::State;
use redgreen_core::verdict::{Decision, Verdict};

use super::{BAD, DOUBT, GOOD, QUIET, STRONG, paint};
use crate::journal::{Body, Line};

/// What is said about a line of the journal; empty when it is not worth a line.
pub fn moment(line: &Line, state: &State) -> String {
    match &line.body {
        Body::Intent { .. } => String::new(),
        Body::Event(event) => told(event, state),
    }
}

/// The first words about a run.
fn started(state: &State) -> String {
    let run = &state.run;
    format!(
        "{}  {}\n          on branch {}, for {}, by {}\n",
        paint(STRONG, "redgreen"),
        paint(STRONG, &run.brief.request),
        run.branch,
        run.target,
        run.agent
    )
}

fn told(event: &Event, state: &State) -> String {
    match event {
        Event::Started { .. } => started(state),
        Event::Adopted { handoff, .. } => {
            format!(
                "{}          taken over after {} of cycle {}\n",
                started(state),
                handoff.phase,
                handoff.cycle_number
            )
        }
        Event::Resumed { .. } => {
            format!("{}  run {} goes on in {}\n", paint(STRONG, "redgreen"), state.run.id, state.phase())
        }
        Event::Prepared { salvage, notices, .. } => {
            let mut text: String = notices.iter().map(|notice| indent("notice", notice)).collect();
            if let Some(name) = salvage {
                text.push_str(&indent("salvaged", &format!("what an interrupted turn had written: {name}")));
            }
            text
        }
        Event::Measured { report, lint, .. } => {
            let mut text = format!("baseline  {}\n", report.summary);
            for linter in lint {
                text.push_str(&indent("notice", &format!("`{linter}` is not content already; it will not be asked")));
            }
            text
        }
        Event::Turned { role, turn, .. } => turned(*role, turn, state),
        Event::Judged { phase, verdict, .. } => judged(*phase, verdict, state),
        Event::Linted { findings, .. } => findings.iter().map(|finding| indent(&paint(BAD, "lint"), finding)).collect(),
        Event::Restored { salvage, .. } => match salvage {
            Some(name) => indent("rolled back", &paint(QUIET, &format!("kept as {name}"))),
            None => indent("rolled back", ""),
        },
        Event::MergeBlocked { trouble } => indent(&paint(BAD, "not merged"), &trouble.message),
        Event::Merged { commit } => {
            format!("{}    {} is in {}\n", paint(GOOD, "merged"), short(commit), state.run.target)
        }
        Event::Discarded { salvage: Some(name) } => indent("salvaged", name),
        Event::RolledBack { to, .. } => format!("{}  back at {}\n", paint(STRONG, "redgreen"), short(to)),
        Event::Paused
        | Event::Recorded { .. }
        | Event::Committed { .. }
        | Event::Noted { .. }
        | Event::Left { .. }
        | Event::Decided { .. }
        | Event::Discarded { salvage: None } => String::new(),
    }
}

fn turned(role: Role, turn: &Turn, state: &State) -> String {
    match turn {
        Turn::Done { answer } if role == Role::Diagnosis && !answer.trim().is_empty() => {
            indent("diagnosis", answer.lines().next().unwrap_or_default())
        }
        Turn::Done { .. } => String::new(),
        Turn::Failed { failure, message } => row(
            state.progress.cycle,
            state.phase(),
            &paint(BAD, "failed  "),
            &format!("{}: {message}", failure.as_str()),
        ),
    }
}

fn judged(phase: Phase, verdict: &Verdict, state: &State) -> String {
    let word = match verdict.decision {
        Decision::Accepted => paint(GOOD, "accepted"),
        Decision::Refused => paint(BAD, "refused "),
        Decision::Undecided => paint(DOUBT, "undecided"),
    };
    let mut text = String::new();
    for (index, reason) in verdict.reasons.iter().enumerate() {
        let sentence = format!("{} {}", reason.sentence, paint(QUIET, reason.code.as_str()));
        if index == 0 {
            text.push_str(&row(state.progress.cycle, phase, &word, &sentence));
        } else {
            text.push_str(&indent("", &sentence));
        }
    }
    text
}

fn row(cycle: u32, phase: Phase, word: &str, sentence: &str) -> String {
    format!("{cycle:>3} {phase:<9} {word} {}\n", lines(sentence))
}

fn indent(word: &str, sentence: &str) -> String {
    format!("{:14}{word} {}\n", "", lines(sentence))
}

/// Further lines of a sentence stand below its first.
fn lines(sentence: &str) -> String {
    sentence.trim_end().replace('\n', "\n                ")
}

fn short(commit: &str) -> &str {
    commit.get(..10).unwrap_or(commit)
}
