//! A handoff note in any form. Notes of this program contain the facts of their run. Notes of other
//! orchestrators have the plain form: only phase, cycle and tests, without `version` and `run`.
//! Both forms are valid.

use serde::{Deserialize, Serialize};

use crate::agent::AttemptFailure;
use crate::brief::TestCase;
use crate::handoff::{Handoff, TestResult, Unreadable};
use crate::phase::Phase;

#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(untagged)]
pub enum Note {
    Whole(Box<Handoff>),
    Plain(Box<Plain>),
}

/// The plain form. Only the phase is required.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Plain {
    pub phase: Phase,
    pub next_phase: Option<Phase>,
    #[serde(default = "first_cycle")]
    pub cycle_number: u32,
    #[serde(default)]
    pub current_test: Option<PlainTest>,
    #[serde(default)]
    pub completed_tests: Vec<String>,
    #[serde(default)]
    pub pending_tests: Vec<String>,
    #[serde(default)]
    pub test_result: Option<TestResult>,
    #[serde(default)]
    pub error: Option<String>,
    #[serde(default)]
    pub error_details: Option<AttemptFailure>,
    #[serde(default)]
    pub retry_count: u32,
}

/// A test whose files may not be known yet.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PlainTest {
    pub description: String,
    #[serde(default)]
    pub test_file: Option<String>,
    #[serde(default)]
    pub impl_file: Option<String>,
}

impl Note {
    pub fn parse(text: &str) -> Result<Self, Unreadable> {
        let value: serde_json::Value =
            serde_json::from_str(text).map_err(|error| Unreadable::NotJson(error.to_string()))?;
        // A note with one of our own fields is ours, complete or not.
        let is_ours = ["version", "run"].iter().any(|name| value.get(name).is_some());
        if is_ours || value.get("phase").is_none() {
            return Handoff::parse(text).map(|handoff| Note::Whole(Box::new(handoff)));
        }
        let plain = serde_json::from_value(value)
            .map_err(|error| Unreadable::Incomplete(error.to_string()))?;
        Ok(Note::Plain(Box::new(plain)))
    }

    pub fn phase(&self) -> Phase {
        match self {
            Note::Whole(handoff) => handoff.phase,
            Note::Plain(plain) => plain.phase,
        }
    }

    pub fn cycle_number(&self) -> u32 {
        match self {
            Note::Whole(handoff) => handoff.cycle_number,
            Note::Plain(plain) => plain.cycle_number,
        }
    }

    /// The result of the phase in a few words: the error, or the codes of the verdict.
    pub fn result(&self) -> String {
        let error = match self {
            Note::Whole(handoff) => &handoff.error,
            Note::Plain(plain) => &plain.error,
        };
        match (error, self) {
            (Some(error), _) => format!("error: {error}"),
            (None, Note::Whole(handoff)) => {
                handoff.verdict.as_ref().map_or_else(String::new, |ruling| ruling.codes.join(", "))
            }
            (None, Note::Plain(plain)) => match plain.test_result {
                Some(TestResult::Pass) => "PASS".to_owned(),
                Some(TestResult::Fail) => "FAIL".to_owned(),
                None => String::new(),
            },
        }
    }
}

impl Plain {
    /// The next phase: from the note, or by the order of the phases.
    pub fn next(&self) -> Phase {
        self.next_phase.unwrap_or(match self.phase {
            Phase::Plan if self.current_test.is_none() => Phase::Complete,
            Phase::Plan => Phase::Red,
            Phase::Red => Phase::Green,
            Phase::Green => Phase::Refactor,
            Phase::Refactor => Phase::Plan,
            Phase::Complete => Phase::Complete,
        })
    }

    pub fn current(&self) -> Option<TestCase> {
        let test = self.current_test.as_ref()?;
        Some(TestCase {
            description: test.description.clone(),
            test_file: test.test_file.clone().unwrap_or_default(),
            impl_file: test.impl_file.clone().unwrap_or_default(),
        })
    }

    /// The remaining behaviours, as far as the note names them.
    pub fn wishes(&self) -> Vec<String> {
        let over = self.phase == Phase::Refactor;
        let current =
            self.current_test.as_ref().filter(|_| !over).map(|test| test.description.clone());
        let mut wishes: Vec<String> = current.into_iter().collect();
        for pending in &self.pending_tests {
            if !wishes.contains(pending) && !self.completed_tests.contains(pending) {
                wishes.push(pending.clone());
            }
        }
        wishes
    }
}

fn first_cycle() -> u32 {
    1
}

#[cfg(test)]
mod tests {
    use super::*;

    const SEED: &str = r#"{"phase": "RED", "nextPhase": "GREEN", "cycleNumber": 2,
        "currentTest": {"description": "4 is IV", "testFile": "t.py", "implFile": "r.py"},
        "completedTests": ["1 is I"], "pendingTests": ["4 is IV", "9 is IX"], "testResult": "FAIL",
        "error": null, "errorDetails": null, "retryCount": 0}"#;

    #[test]
    fn a_plain_note_round_trips() {
        let note = Note::parse(SEED).unwrap();
        let Note::Plain(plain) = &note else { panic!("{note:?}") };
        assert_eq!(
            (plain.next(), plain.wishes()),
            (Phase::Green, vec!["4 is IV".to_owned(), "9 is IX".to_owned()])
        );
        assert_eq!(
            serde_json::to_value(&note).unwrap(),
            serde_json::from_str::<serde_json::Value>(SEED).unwrap()
        );
        assert_eq!(
            (note.phase(), note.cycle_number(), note.result()),
            (Phase::Red, 2, "FAIL".to_owned())
        );
    }

    #[test]
    fn optional_fields_of_a_plain_note() {
        for (text, next) in [
            (r#"{"phase": "PLAN", "currentTest": {"description": "a"}}"#, Phase::Red),
            (r#"{"phase": "PLAN"}"#, Phase::Complete),
            (r#"{"phase": "RED"}"#, Phase::Green),
            (r#"{"phase": "GREEN", "error": "no", "retryCount": 2}"#, Phase::Refactor),
            (r#"{"phase": "REFACTOR", "currentTest": null}"#, Phase::Plan),
            (r#"{"phase": "COMPLETE", "nextPhase": null}"#, Phase::Complete),
        ] {
            let Note::Plain(plain) = Note::parse(text).unwrap() else { panic!("{text}") };
            assert_eq!(plain.next(), next, "{text}");
        }
    }

    #[test]
    fn explains_why_a_text_is_not_a_note() {
        for (text, words) in [
            ("PASS", "not JSON"),
            ("{}", "missing field `version`"),
            (r#"{"phase": "BLUE"}"#, "unknown variant `BLUE`"),
            (r#"{"version": 1, "phase": "RED"}"#, "not a whole handoff"),
            (r#"{"version": 9, "phase": "RED"}"#, "version 9"),
        ] {
            let said = Note::parse(text).unwrap_err().to_string();
            assert!(said.contains(words), "{text}: {said}");
        }
    }
}
