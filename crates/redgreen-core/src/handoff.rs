//! The handoff note from one phase to the next, as JSON on the commit of that phase under
//! `refs/notes/tdd-handoffs`. Together with its commit, it is enough to continue in another clone.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::agent::AttemptFailure;
use crate::attempts::Selection;
use crate::brief::{Brief, TestCase};
use crate::names::{Branch, Label, Oid, RunBranch, RunId, SessionId};
use crate::phase::{Phase, Role};
use crate::policy::RunCost;
use crate::report::Counts;
use crate::text;
use crate::verdict::{Decision, Mutants, Verdict};

/// The ref of the notes.
pub const NOTES_REF: &str = "refs/notes/tdd-handoffs";
/// The version this program writes. A reader of version 1 may ignore fields it does not know.
pub const VERSION: u32 = 1;

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Handoff {
    pub version: u32,
    pub phase: Phase,
    pub next_phase: Phase,
    pub cycle_number: u32,
    pub current_test: Option<TestCase>,
    pub completed_tests: Vec<String>,
    pub pending_tests: Vec<String>,
    /// Open items that PLAN dropped or reworded.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub removed_tests: Vec<String>,
    /// The number of tests that accepted REDs of the run wrote.
    #[serde(default, skip_serializing_if = "is_none")]
    pub tests_written: u64,
    pub test_result: Option<TestResult>,
    pub error: Option<String>,
    pub error_details: Option<AttemptFailure>,
    pub retry_count: u32,
    pub run: RunFacts,
    pub verdict: Option<Ruling>,
    pub tests: Option<Counts>,
    /// The tests that RED made fail, until they pass.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub targets: Vec<String>,
    /// RED: tests that the implementer does not see. GREEN: those of them that the code passes,
    /// which are now part of the test suite.
    #[serde(default, skip_serializing_if = "is_none")]
    pub withheld_tests: u64,
    /// The number of turns in GREEN.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub iterations: u32,
    /// The last conversation of each role, for agents that remember them.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub sessions: BTreeMap<Role, SessionId>,
    /// The external agent of the last turn of each role, with its version.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub agents: BTreeMap<Role, Label>,
    /// Messages of the user to the agents, oldest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub user_messages: Vec<String>,
    /// Where several attempts were made: the chosen one, why, and the others.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub attempts: Option<Box<Selection>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub spent: Option<RunCost>,
}

/// What another clone needs to know about the run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RunFacts {
    pub id: RunId,
    pub request: String,
    /// The commit the run started from.
    pub base: Oid,
    /// The target branch.
    pub target: Branch,
    /// The branch it works on.
    pub branch: RunBranch,
    pub agent: Label,
    /// The contents of the specification, task or design in addition to the request, without texts
    /// of files.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub brief: Option<Box<Brief>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
pub enum TestResult {
    Pass,
    Fail,
}

/// A short form of the verdict. The journal has the complete one.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ruling {
    pub decision: Decision,
    pub codes: Vec<String>,
    #[serde(default, skip_serializing_if = "Option::is_none", alias = "faults")]
    pub mutants: Option<Mutants>,
}

/// Why a note cannot be used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Unreadable {
    NotJson(String),
    Newer(u64),
    Incomplete(String),
}

impl Handoff {
    /// The note of a phase of the first cycle, without further facts.
    pub fn begun(run: RunFacts, phase: Phase) -> Self {
        Self {
            version: VERSION,
            phase,
            next_phase: match phase {
                Phase::Plan => Phase::Red,
                Phase::Red => Phase::Green,
                Phase::Green => Phase::Refactor,
                Phase::Refactor => Phase::Plan,
                Phase::Complete => Phase::Complete,
            },
            cycle_number: 1,
            current_test: None,
            completed_tests: Vec::new(),
            pending_tests: Vec::new(),
            removed_tests: Vec::new(),
            tests_written: 0,
            test_result: None,
            error: None,
            error_details: None,
            retry_count: 0,
            run,
            verdict: None,
            tests: None,
            targets: Vec::new(),
            withheld_tests: 0,
            iterations: 0,
            sessions: BTreeMap::new(),
            agents: BTreeMap::new(),
            user_messages: Vec::new(),
            attempts: None,
            spent: None,
        }
    }

    pub fn parse(text: &str) -> Result<Self, Unreadable> {
        let value: serde_json::Value =
            serde_json::from_str(text).map_err(|error| Unreadable::NotJson(error.to_string()))?;
        match value.get("version").and_then(serde_json::Value::as_u64) {
            Some(version) if version > u64::from(VERSION) => {
                return Err(Unreadable::Newer(version));
            }
            Some(_) => {}
            None => return Err(Unreadable::Incomplete("missing field `version`".to_owned())),
        }
        serde_json::from_value(value).map_err(|error| Unreadable::Incomplete(error.to_string()))
    }

    /// Indented, because people read it with `git notes --ref=tdd-handoffs show`.
    pub fn render(&self) -> String {
        let mut text = serde_json::to_string_pretty(self).unwrap_or_default();
        text.push('\n');
        // Git prints a note unchanged.
        text::json(&text).into_owned()
    }
}

impl From<&Verdict> for Ruling {
    fn from(verdict: &Verdict) -> Self {
        let mut codes: Vec<String> = Vec::new();
        for reason in &verdict.reasons {
            if !codes.iter().any(|known| known == reason.code.as_str()) {
                codes.push(reason.code.as_str().to_owned());
            }
        }
        Self { decision: verdict.decision, codes, mutants: verdict.mutants }
    }
}

impl std::fmt::Display for Unreadable {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Unreadable::NotJson(error) => write!(out, "it is not JSON: {error}"),
            Unreadable::Newer(version) => {
                write!(
                    out,
                    "it has version {version}, but this redgreen supports versions up to {VERSION}"
                )
            }
            Unreadable::Incomplete(error) => write!(out, "it is not a whole handoff: {error}"),
        }
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks for a reference")]
fn is_none(count: &u64) -> bool {
    *count == 0
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks for a reference")]
fn is_zero(count: &u32) -> bool {
    *count == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOTE: &str = r#"{
  "version": 1,
  "phase": "GREEN",
  "nextPhase": "REFACTOR",
  "cycleNumber": 2,
  "currentTest": {
    "description": "4 is IV",
    "testFile": "tests/roman.rs",
    "implFile": "src/lib.rs"
  },
  "completedTests": [
    "1 is I"
  ],
  "pendingTests": [
    "4 is IV"
  ],
  "testResult": "PASS",
  "error": null,
  "errorDetails": null,
  "retryCount": 1,
  "run": {
    "id": "20261115-224849-k3x9",
    "request": "roman numerals",
    "base": "0123456789abcdef0123456789abcdef01234567",
    "target": "main",
    "branch": "redgreen/roman-r1",
    "agent": "script"
  },
  "verdict": {
    "decision": "accepted",
    "codes": [
      "green.passes"
    ],
    "mutants": {
      "tried": 6,
      "killed": 5
    }
  },
  "tests": {
    "passed": 2,
    "failed": 0,
    "skipped": 0,
    "loadErrors": 0
  },
  "iterations": 2
}
"#;

    #[test]
    fn a_note_reads_and_writes_back_to_the_letter() {
        assert_eq!(Handoff::parse(NOTE).unwrap().render(), NOTE);
    }

    #[test]
    fn a_note_with_fields_of_a_later_minor_reader_is_read() {
        let extended = NOTE.replacen('{', r#"{ "mood": "sunny","#, 1);
        assert_eq!(Handoff::parse(&extended), Handoff::parse(NOTE));
    }

    #[test]
    fn a_note_that_says_nothing_of_mutants_is_whole() {
        let from = NOTE.find(",\n    \"mutants\"").unwrap();
        let to = from + NOTE[from..].find("}").unwrap() + 1;
        let older = NOTE.replacen(&NOTE[from..to], "", 1);
        assert_eq!(Handoff::parse(&older).unwrap().render(), older);
    }

    #[test]
    fn a_note_that_cannot_be_used_says_why() {
        for (text, words) in [
            ("", "it is not JSON"),
            ("PASS", "it is not JSON"),
            ("{}", "missing field `version`"),
            (&NOTE.replace("\"version\": 1", "\"version\": 2"), "it has version 2"),
            (&NOTE.replace("\"GREEN\"", "\"BLUE\""), "unknown variant `BLUE`"),
            (&NOTE.replace("\"cycleNumber\": 2,", ""), "missing field `cycleNumber`"),
            (
                &NOTE.replace("redgreen/roman-r1", "main"),
                "\"main\" is not the name of a branch below redgreen/",
            ),
            (&NOTE.replace("\"main\"", "\"--force\""), "\"--force\" is not the name of a branch"),
            (
                &NOTE.replace("20261115-224849-k3x9", "../../x"),
                "\"../../x\" is not the id of a run",
            ),
            (&NOTE.replace("0123456789", "--output=x"), "is not the id of a git object"),
        ] {
            let said = Handoff::parse(text).unwrap_err().to_string();
            assert!(said.contains(words), "{text}: {said}");
        }
    }
}
