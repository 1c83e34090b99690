//! TDD on the user's own checkout, where someone else edits: the last accepted tree, the possible
//! next steps, and the phase a candidate is judged as. Only an accepted verdict advances a session;
//! it cannot be told to change its phase.

pub mod ledger;
pub mod rules;

use serde::{Deserialize, Serialize};

use crate::names::{Oid, RunId};
use crate::phase::{JudgedPhase, Phase};
use crate::verdict::{Code, Decision};

/// The version that this program writes.
pub const VERSION: u32 = 1;
/// Maximum number of accepted steps that can be undone.
pub const STEPS_MAX: usize = 100;
/// How often a stop is blocked while the files stay unchanged: an agent that changes nothing makes
/// no progress.
pub const BLOCKS_MAX: u32 = 3;
/// How often a stop is blocked since the last accepted step. Claude Code itself overrides the ninth
/// block in a row.
pub const BLOCKS_IN_ALL_MAX: u32 = 8;
/// Maximum size of a session record.
pub const BYTES_MAX: u64 = 4 << 20;
/// Maximum length of a brief or a dispute.
pub const WORDS_MAX: usize = 20_000;

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Session {
    pub version: u32,
    pub id: RunId,
    /// Counts the writes: of two copies, the one with the greater number is newer.
    pub revision: u64,
    pub brief: String,
    pub cycle: u32,
    pub stage: Stage,
    /// The last accepted tree.
    pub accepted: Oid,
    /// The tree of the last commit, or the first tree of the session.
    pub committed: Oid,
    /// The frameworks of the project, by name.
    pub frameworks: Vec<String>,
    /// Oldest first.
    pub steps: Vec<Step>,
    #[serde(default)]
    pub blocks: Blocks,
    /// The verdict on the files at that time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last: Option<VerdictSummary>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dispute: Option<Dispute>,
}

/// What can come next.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "name")]
pub enum Stage {
    /// A failing test, or a refactoring.
    Open,
    /// The tests of RED have to pass; they are frozen.
    Green { targets: Vec<String> },
}

/// An accepted step, and the state of the session before it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Step {
    pub phase: JudgedPhase,
    pub codes: Vec<String>,
    /// Milliseconds since 1970.
    pub at: i64,
    pub before: Oid,
    pub stage: Stage,
    pub cycle: u32,
}

/// Counts blocked stops.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Blocks {
    /// Since the last accepted step.
    pub in_all: u32,
    /// With the same files.
    pub unchanged: u32,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tree: Option<Oid>,
}

/// A short form of a verdict.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct VerdictSummary {
    pub phase: JudgedPhase,
    pub decision: Decision,
    pub codes: Vec<String>,
    pub tree: Oid,
}

/// A claim that a test is wrong or cannot be satisfied. A human compares both texts.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Dispute {
    pub why: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub test: Option<String>,
    pub at: i64,
}

/// The parts of a candidate that decide its phase.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CandidateParts {
    pub tests: TestChange,
    /// Code differs by more than is needed to compile a test.
    pub code: bool,
    /// redgreen's own settings differ, which would decide about the verdict on them.
    pub settings: bool,
}

/// What happened to the tests.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum TestChange {
    #[default]
    None,
    /// Test items, their helpers or their data differ.
    Existing,
    /// There are new test items.
    New,
}

/// The reason why a record cannot be used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Unreadable {
    Newer(u64),
    Damaged(String),
}

impl std::fmt::Display for Unreadable {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Newer(version) => {
                write!(
                    out,
                    "it has version {version}, but this redgreen supports versions up to {VERSION}"
                )
            }
            Self::Damaged(error) => write!(out, "{error}"),
        }
    }
}

impl Session {
    pub fn begin(id: RunId, brief: &str, tree: Oid, frameworks: Vec<String>) -> Self {
        Self {
            version: VERSION,
            id,
            revision: 0,
            brief: cut(brief),
            cycle: 1,
            stage: Stage::Open,
            accepted: tree.clone(),
            committed: tree,
            frameworks,
            steps: Vec::new(),
            blocks: Blocks::default(),
            last: None,
            dispute: None,
        }
    }

    pub fn parse(bytes: &[u8]) -> Result<Self, Unreadable> {
        let damaged = |error: serde_json::Error| Unreadable::Damaged(error.to_string());
        let value: serde_json::Value = serde_json::from_slice(bytes).map_err(damaged)?;
        match value.get("version").and_then(serde_json::Value::as_u64) {
            Some(version) if version > u64::from(VERSION) => {
                return Err(Unreadable::Newer(version));
            }
            Some(_) => {}
            None => return Err(Unreadable::Damaged("missing field `version`".to_owned())),
        }
        serde_json::from_value(value).map_err(damaged)
    }

    /// Applies a verdict on a tree. Only an accepted verdict advances the session.
    pub fn apply(&mut self, ruled: VerdictSummary, targets: &[String], at: i64) {
        if ruled.decision == Decision::Accepted {
            let step = Step {
                phase: ruled.phase,
                codes: ruled.codes.clone(),
                at,
                before: self.accepted.clone(),
                stage: self.stage.clone(),
                cycle: self.cycle,
            };
            self.steps.push(step);
            let old = self.steps.len().saturating_sub(STEPS_MAX);
            self.steps.drain(..old);
            self.accepted = ruled.tree.clone();
            self.blocks = Blocks::default();
            match ruled.phase {
                JudgedPhase::Red => self.stage = Stage::Green { targets: targets.to_vec() },
                JudgedPhase::Green => (self.stage, self.cycle) = (Stage::Open, self.cycle + 1),
                JudgedPhase::Refactor => {}
            }
        }
        self.last = Some(ruled);
    }

    /// Returns to the state before the last accepted step and returns that step. Does not touch
    /// files.
    pub fn undo(&mut self) -> Option<Step> {
        let step = self.steps.pop()?;
        (self.accepted, self.stage, self.cycle) =
            (step.before.clone(), step.stage.clone(), step.cycle);
        (self.last, self.dispute, self.blocks) = (None, None, Blocks::default());
        Some(step)
    }

    /// Returns to the state before the RED whose tests still fail, because the human agrees that
    /// one of them is wrong.
    pub fn drop_red(&mut self) -> Option<Step> {
        let at = self.steps.iter().rposition(|step| step.phase == JudgedPhase::Red)?;
        self.steps.truncate(at + 1);
        self.undo()
    }

    /// Whether to block another stop with these files. If not, the agent may stop and the work is
    /// unproven.
    pub fn blocks_stop(&mut self, tree: &Oid) -> bool {
        let same = self.blocks.tree.as_ref() == Some(tree);
        let unchanged = if same { self.blocks.unchanged } else { 0 };
        if unchanged >= BLOCKS_MAX || self.blocks.in_all >= BLOCKS_IN_ALL_MAX {
            return false;
        }
        self.blocks = Blocks {
            in_all: self.blocks.in_all + 1,
            unchanged: unchanged + 1,
            tree: Some(tree.clone()),
        };
        true
    }

    /// The standing of the files.
    pub fn standing(&self, tree: &Oid) -> CheckoutStatus {
        match (&self.dispute, &self.stage) {
            (Some(_), _) => CheckoutStatus::Disputed,
            (None, _) if *tree != self.accepted => CheckoutStatus::Unproven,
            (None, Stage::Green { .. }) => CheckoutStatus::Owed,
            (None, Stage::Open) => CheckoutStatus::Proven,
        }
    }

    /// The most likely phase of the next accepted step.
    pub fn phase(&self) -> Phase {
        match self.stage {
            Stage::Open => Phase::Red,
            Stage::Green { .. } => Phase::Green,
        }
    }

    /// The next step, for the agent or the user.
    pub fn next_step(&self) -> String {
        match (&self.dispute, &self.stage) {
            (Some(_), _) => {
                "a human decides about the disputed test: redgreen session resolve".to_owned()
            }
            (None, Stage::Open) => {
                "write one failing test (RED), or improve the code without changing what it does \
                                    (REFACTOR); then: redgreen session check"
                    .to_owned()
            }
            (None, Stage::Green { targets }) => {
                let named = match targets.as_slice() {
                    [] => "the new tests".to_owned(),
                    [one] => one.clone(),
                    [first, rest @ ..] => format!("{first} and {} more", rest.len()),
                };
                format!(
                    "make {named} pass without changing tests (GREEN); then: redgreen session check"
                )
            }
        }
    }
}

/// The standing of a checkout's files in the session.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum CheckoutStatus {
    /// As accepted, and no test has to be made to pass.
    Proven,
    /// As accepted; the tests of RED still fail.
    Owed,
    /// Changed since the last accepted verdict.
    Unproven,
    Disputed,
}

/// The phase a candidate is judged as. Its changes decide, not what someone calls it.
pub fn claim(stage: &Stage, touched: CandidateParts) -> JudgedPhase {
    let CandidateParts { tests, code, settings } = touched;
    match stage {
        Stage::Green { .. } => JudgedPhase::Green,
        // RED allows new settings of the test runner. Only REFACTOR and GREEN refuse redgreen's own.
        Stage::Open if settings => JudgedPhase::Refactor,
        Stage::Open => match tests {
            // Code that comes with new tests was written before its test was accepted; judging it
            // as RED reports that.
            TestChange::New => JudgedPhase::Red,
            TestChange::Existing if !code => JudgedPhase::Red,
            TestChange::Existing | TestChange::None => JudgedPhase::Refactor,
        },
    }
}

/// Another phase to judge a refused candidate as. Tests that only add coverage, or are rephrased,
/// are a refactoring. Code that fixes a test that failed before the session is a GREEN.
pub fn otherwise(
    phase: JudgedPhase,
    touched: CandidateParts,
    codes: &[Code],
) -> Option<JudgedPhase> {
    let only = |known: &[Code]| !codes.is_empty() && codes.iter().all(|code| known.contains(code));
    match phase {
        JudgedPhase::Red => (!touched.code && only(&[Code::RedPasses, Code::RedNoTests]))
            .then_some(JudgedPhase::Refactor),
        JudgedPhase::Refactor => only(&[Code::RefactorTurnsGreen]).then_some(JudgedPhase::Green),
        JudgedPhase::Green => None,
    }
}

/// A text from outside, cut to the limit.
pub fn cut(text: &str) -> String {
    text.chars().take(WORDS_MAX).collect()
}

#[cfg(test)]
mod tests;
