//! The phases of a cycle in order, and the role that works in each.

use std::fmt;

use serde::{Deserialize, Serialize};

/// A phase of the cycle. Only the engine changes it, never an agent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
pub enum Phase {
    Plan,
    Red,
    Green,
    Refactor,
    Complete,
}

impl Phase {
    /// The phases that have an agent, in order.
    pub const WORKING: [Phase; 4] = [Phase::Plan, Phase::Red, Phase::Green, Phase::Refactor];

    pub fn as_str(self) -> &'static str {
        match self {
            Phase::Plan => "PLAN",
            Phase::Red => "RED",
            Phase::Green => "GREEN",
            Phase::Refactor => "REFACTOR",
            Phase::Complete => "COMPLETE",
        }
    }
}

impl fmt::Display for Phase {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.pad(self.as_str())
    }
}

/// A phase whose candidate is judged by running tests.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
pub enum JudgedPhase {
    Red,
    Green,
    Refactor,
}

impl JudgedPhase {
    /// `None` for a phase that runs no tests.
    pub fn of(phase: Phase) -> Option<Self> {
        match phase {
            Phase::Red => Some(Self::Red),
            Phase::Green => Some(Self::Green),
            Phase::Refactor => Some(Self::Refactor),
            Phase::Plan | Phase::Complete => None,
        }
    }
}

impl fmt::Display for JudgedPhase {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        Phase::from(*self).fmt(out)
    }
}

impl From<JudgedPhase> for Phase {
    fn from(phase: JudgedPhase) -> Self {
        match phase {
            JudgedPhase::Red => Phase::Red,
            JudgedPhase::Green => Phase::Green,
            JudgedPhase::Refactor => Phase::Refactor,
        }
    }
}

/// The role of an agent. Each turn is a new session without memory of the others.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Role {
    /// Writes `test-list.md` and selects the next test (PLAN).
    TestList,
    /// Writes one failing test (RED).
    Test,
    /// Writes the code that makes it pass (GREEN).
    Implementing,
    /// Explains why an iteration of GREEN failed, and edits nothing.
    Diagnosis,
    /// Improves code and tests without changing their behaviour (REFACTOR).
    Refactor,
}

impl Role {
    pub const ALL: [Role; 5] =
        [Role::TestList, Role::Test, Role::Implementing, Role::Diagnosis, Role::Refactor];

    pub fn as_str(self) -> &'static str {
        match self {
            Role::TestList => "test-list",
            Role::Test => "test",
            Role::Implementing => "implementing",
            Role::Diagnosis => "diagnosis",
            Role::Refactor => "refactor",
        }
    }
}

impl fmt::Display for Role {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.pad(self.as_str())
    }
}
