//! The judge's decisions about a run, read from its journal, for the status of the job. Only codes
//! leave this machine: sentences may quote the project.

use anyhow::Result;
use redgreen_core::event::Event;
use redgreen_core::fleet::status::Verdicts;
use redgreen_core::names::Label;
use redgreen_core::phase::Phase;
use redgreen_core::verdict::{Decision, Verdict};

use crate::journal::{self, Body, RunFolder};

/// What the engine writes to its journal while it works.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Heard {
    /// A phase is accepted and has its note; the line of the journal.
    Accepted(u64),
    /// The judge decided against the work of a phase.
    Objected(Label),
}

/// All decisions about a run so far.
pub(super) fn verdicts(folder: &RunFolder) -> Result<Verdicts> {
    let mut found = Verdicts::default();
    for line in journal::read(folder)?.1 {
        if let Body::Event(event) = &line.body
            && let Event::Judged { verdict, .. } = event.as_ref()
        {
            let count = match verdict.decision {
                Decision::Accepted => &mut found.accepted,
                Decision::Refused => &mut found.refused,
                Decision::Undecided => &mut found.undecided,
            };
            *count = count.saturating_add(1);
        }
    }
    Ok(found)
}

/// What a line of the engine's output says.
pub(super) fn heard(text: &[u8]) -> Option<Heard> {
    #[derive(serde::Deserialize)]
    struct JournalLine {
        seq: u64,
        event: String,
    }
    #[derive(serde::Deserialize)]
    struct JudgedLine {
        phase: Phase,
        verdict: Verdict,
    }
    let line: JournalLine = serde_json::from_slice(text).ok()?;
    match line.event.as_str() {
        "noted" => Some(Heard::Accepted(line.seq)),
        "judged" => {
            let JudgedLine { phase, verdict } = serde_json::from_slice(text).ok()?;
            let decision = match verdict.decision {
                Decision::Accepted => return None,
                Decision::Refused => "refused",
                Decision::Undecided => "undecided",
            };
            let codes: Vec<&str> =
                verdict.reasons.iter().map(|reason| reason.code.as_str()).collect();
            Some(Heard::Objected(Label::of(&format!("{phase} {decision}: {}", codes.join(", ")))))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_the_journal_say_what_was_accepted_and_what_was_not() {
        let judged = |decision: &str, reasons: &str| {
            format!(
                r#"{{"v":1,"seq":7,"at":1,"event":"judged","phase":"RED","report":null,"planned":null,
                "tookMs":1,"verdict":{{"decision":"{decision}","reasons":[{reasons}]}}}}"#
            )
        };
        let reason = r#"{"code":"red.passes","sentence":"all pass","file":null,"line":null}"#;
        for (line, expected) in [
            (r#"{"v":1,"seq":9,"at":1,"event":"noted"}"#.to_owned(), Some(Heard::Accepted(9))),
            (judged("accepted", ""), None),
            (
                judged("refused", reason),
                Some(Heard::Objected(Label::of("RED refused: red.passes"))),
            ),
            (r#"{"v":1,"seq":9,"at":1,"intent":"commit"}"#.to_owned(), None),
            ("{}".to_owned(), None),
            ("an agent's words".to_owned(), None),
        ] {
            assert_eq!(heard(line.as_bytes()), expected, "{line}");
        }
    }
}
