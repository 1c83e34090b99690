//! Test-driven development on the user's own checkout, where somebody else edits: which tree was accepted last, what may
//! come next, and as what a candidate is judged. Only an accepted verdict moves a session; nothing takes a phase.

pub mod rules;

use serde::{Deserialize, Serialize};

use crate::names::{Oid, RunId};
use crate::phase::{JudgedPhase, Phase};
use crate::verdict::{Code, Decision};

/// The version this program writes.
pub const VERSION: u32 = 1;
/// As many accepted steps can be undone.
pub const STEPS_MAX: usize = 100;
/// A stop is blocked this often while the files stay as they are: an agent that changes nothing will not get any further.
pub const BLOCKS_MAX: u32 = 3;
/// A stop is blocked this often since the last accepted step. Claude Code itself overrides the ninth block in a row.
pub const BLOCKS_IN_ALL_MAX: u32 = 8;
/// The largest record of a session that is read.
pub const BYTES_MAX: u64 = 4 << 20;
/// How much of a brief or a dispute is kept.
pub const WORDS_MAX: usize = 20_000;

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Session {
    pub version: u32,
    pub id: RunId,
    /// Counts the writes: of two copies, the greater number is the newer one.
    pub revision: u64,
    pub brief: String,
    pub cycle: u32,
    pub stage: Stage,
    /// The tree accepted last.
    pub accepted: Oid,
    /// The tree whose changes were committed last, or that the session began with.
    pub committed: Oid,
    /// The frameworks of the project, by name.
    pub frameworks: Vec<String>,
    /// Oldest first.
    pub steps: Vec<Step>,
    #[serde(default)]
    pub blocks: Blocks,
    /// The verdict on the files as they were then.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last: Option<Ruled>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dispute: Option<Dispute>,
}

/// What may come next.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "name")]
pub enum Stage {
    /// A failing test, or a refactoring.
    Open,
    /// The tests of RED have to pass; they are frozen.
    Green { targets: Vec<String> },
}

/// An accepted step, and where the session stood before it.
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

/// How often a stop was blocked.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Blocks {
    /// Since the last accepted step.
    pub in_all: u32,
    /// With these very files.
    pub unchanged: u32,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tree: Option<Oid>,
}

/// A verdict in short.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Ruled {
    pub phase: JudgedPhase,
    pub decision: Decision,
    pub codes: Vec<String>,
    pub tree: Oid,
}

/// Somebody says that a test is wrong or cannot be met. A human compares both texts.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Dispute {
    pub why: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub test: Option<String>,
    pub at: i64,
}

/// What a candidate changes, as far as it decides what it is judged as.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Touched {
    /// Test items are new.
    pub adds_tests: bool,
    /// Test items, their helpers or their data differ.
    pub changes_tests: bool,
    /// Code differs by more than what lets a test compile.
    pub code: bool,
}

/// Why a record cannot be used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Unreadable {
    Newer(u64),
    Damaged(String),
}

impl std::fmt::Display for Unreadable {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Newer(version) => write!(out, "it has version {version}, and this redgreen reads up to {VERSION}"),
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
            Some(version) if version > u64::from(VERSION) => return Err(Unreadable::Newer(version)),
            Some(_) => {}
            None => return Err(Unreadable::Damaged("missing field `version`".to_owned())),
        }
        serde_json::from_value(value).map_err(damaged)
    }

    /// Takes a verdict on a tree. Only one that accepts moves the session.
    pub fn apply(&mut self, ruled: Ruled, targets: &[String], at: i64) {
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

    /// Goes back to where it stood before the last accepted step, which is given back. The files are nobody's business here.
    pub fn undo(&mut self) -> Option<Step> {
        let step = self.steps.pop()?;
        (self.accepted, self.stage, self.cycle) = (step.before.clone(), step.stage.clone(), step.cycle);
        (self.last, self.dispute, self.blocks) = (None, None, Blocks::default());
        Some(step)
    }

    /// Goes back to before the RED whose tests are owed: the human agrees that one of them is wrong.
    pub fn drop_red(&mut self) -> Option<Step> {
        let at = self.steps.iter().rposition(|step| step.phase == JudgedPhase::Red)?;
        self.steps.truncate(at + 1);
        self.undo()
    }

    /// Whether a stop with these files is blocked once more; if not, the agent is let go and the work is unproven.
    pub fn blocks_stop(&mut self, tree: &Oid) -> bool {
        let same = self.blocks.tree.as_ref() == Some(tree);
        let unchanged = if same { self.blocks.unchanged } else { 0 };
        if unchanged >= BLOCKS_MAX || self.blocks.in_all >= BLOCKS_IN_ALL_MAX {
            return false;
        }
        self.blocks = Blocks { in_all: self.blocks.in_all + 1, unchanged: unchanged + 1, tree: Some(tree.clone()) };
        true
    }

    /// What the files amount to, in a word or two.
    pub fn standing(&self, tree: &Oid) -> Standing {
        match (&self.dispute, &self.stage) {
            (Some(_), _) => Standing::Disputed,
            (None, _) if *tree != self.accepted => Standing::Unproven,
            (None, Stage::Green { .. }) => Standing::Owed,
            (None, Stage::Open) => Standing::Proven,
        }
    }

    /// The phase that the next accepted step most likely has.
    pub fn phase(&self) -> Phase {
        match self.stage {
            Stage::Open => Phase::Red,
            Stage::Green { .. } => Phase::Green,
        }
    }

    /// What to do next, for whoever edits.
    pub fn next_step(&self) -> String {
        match (&self.dispute, &self.stage) {
            (Some(_), _) => "a human decides about the disputed test: redgreen session resolve".to_owned(),
            (None, Stage::Open) => "write one failing test (RED), or improve the code without changing what it does \
                                    (REFACTOR); then: redgreen session check"
                .to_owned(),
            (None, Stage::Green { targets }) => {
                let named = match targets.as_slice() {
                    [] => "the new tests".to_owned(),
                    [one] => one.clone(),
                    [first, rest @ ..] => format!("{first} and {} more", rest.len()),
                };
                format!("make {named} pass without touching tests (GREEN); then: redgreen session check")
            }
        }
    }
}

/// What the files of a checkout are to the session.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Standing {
    /// As accepted, and no test is owed.
    Proven,
    /// As accepted; the tests of RED still fail.
    Owed,
    /// Changed since the last accepted verdict.
    Unproven,
    Disputed,
}

/// As what a candidate is judged: what it changes decides, and what somebody calls it does not.
pub fn claim(stage: &Stage, touched: Touched) -> JudgedPhase {
    let Touched { adds_tests, changes_tests, code } = touched;
    match stage {
        Stage::Green { .. } => JudgedPhase::Green,
        // Code that comes together with new tests was written before its test was accepted, and RED says so.
        Stage::Open if adds_tests || changes_tests && !code => JudgedPhase::Red,
        Stage::Open => JudgedPhase::Refactor,
    }
}

/// As what else a candidate is judged that was refused for these reasons. Tests that only add coverage, or say the same in
/// another way, are a refactoring; code that makes a test pass which failed before the session is a GREEN.
pub fn otherwise(phase: JudgedPhase, touched: Touched, codes: &[Code]) -> Option<JudgedPhase> {
    let only = |known: &[Code]| !codes.is_empty() && codes.iter().all(|code| known.contains(code));
    match phase {
        JudgedPhase::Red => {
            (!touched.code && only(&[Code::RedPasses, Code::RedNoTests])).then_some(JudgedPhase::Refactor)
        }
        JudgedPhase::Refactor => only(&[Code::RefactorTurnsGreen]).then_some(JudgedPhase::Green),
        JudgedPhase::Green => None,
    }
}

/// A text from outside, no longer than is kept.
pub fn cut(text: &str) -> String {
    text.chars().take(WORDS_MAX).collect()
}

#[cfg(test)]
mod tests;
