//! What happened in a run. These are the journal's own words, version 1: a field may be added, none renamed or taken
//! away. State is a fold over them.

use serde::{Deserialize, Serialize};

use crate::agent::{Cost, Trouble, Turn};
use crate::brief::{Brief, TestCase};
use crate::handoff::Handoff;
use crate::phase::{Phase, Role};
use crate::policy::Policy;
use crate::report::Counts;
use crate::verdict::Verdict;

/// The facts a run starts with; they never change.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Run {
    pub id: String,
    pub brief: Brief,
    pub policy: Policy,
    pub base: Mark,
    /// The branch it is meant for.
    pub target: String,
    /// The branch it works on.
    pub branch: String,
    pub agent: String,
    /// The linters' command lines, run after GREEN and REFACTOR.
    #[serde(default)]
    pub linters: Vec<String>,
}

/// A commit and its tree.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Mark {
    pub commit: String,
    pub tree: String,
}

/// A test report kept with the run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Kept {
    /// Its file, from the run's folder.
    pub file: String,
    pub counts: Counts,
    /// What was run, how it ended, how long it took: one line for a person.
    pub summary: String,
    /// What all runs of tests took that led to it, controls included.
    #[serde(default)]
    pub tests_ms: u64,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "kebab-case", rename_all_fields = "camelCase")]
pub enum Event {
    Started {
        run: Box<Run>,
    },
    /// A run that began on another clone goes on from its last note.
    Adopted {
        run: Box<Run>,
        head: Mark,
        handoff: Box<Handoff>,
    },
    /// The worktree is there and holds what it should.
    Prepared {
        worktree: String,
        salvage: Option<String>,
        notices: Vec<String>,
    },
    /// The suite and the linters, before anything was changed (or, in an adopted run, at its head).
    Measured {
        report: Kept,
        usable: bool,
        lint: Vec<String>,
        took_ms: u64,
    },
    Turned {
        role: Role,
        turn: Turn,
        tree: String,
        cost: Cost,
        took_ms: u64,
        /// By which the agent's conversation can be taken up again.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        session: Option<String>,
        /// Who it was, with the version it tells of itself, where it is a program of its own.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        agent: Option<String>,
        /// What the agent did beside its work, and what became of it.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        notices: Vec<String>,
    },
    Judged {
        phase: Phase,
        verdict: Verdict,
        report: Option<Kept>,
        planned: Option<Planning>,
        took_ms: u64,
    },
    Linted {
        findings: Vec<String>,
        /// The task's own criteria that are not met.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        criteria: Vec<String>,
        took_ms: u64,
    },
    Paused,
    Restored {
        tree: String,
        salvage: Option<String>,
    },
    Recorded {
        file: String,
    },
    Committed {
        mark: Mark,
    },
    Noted {
        commit: String,
        handoff: Box<Handoff>,
    },
    /// The engine left the run; the worktree is gone, everything else is kept.
    Left {
        outcome: Outcome,
    },
    Resumed {
        policy: Option<Box<Policy>>,
    },
    RolledBack {
        to: String,
        salvage: Option<String>,
    },
    Decided {
        decision: Decision,
    },
    MergeBlocked {
        trouble: Trouble,
    },
    Merged {
        commit: String,
    },
    /// A human took the merge back; the run waits for a decision again.
    Undone {
        /// The merge that is no longer on the branch.
        commit: String,
        /// Where the branch stands instead.
        to: String,
        salvage: Option<String>,
    },
    Discarded {
        salvage: Option<String>,
    },
}

/// What the planner settled.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Planning {
    pub next: Option<TestCase>,
    pub completed: Vec<String>,
    pub pending: Vec<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Decision {
    Approve,
    Abort,
}

/// Why the engine stopped.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "outcome", rename_all = "kebab-case", rename_all_fields = "camelCase")]
pub enum Outcome {
    Merged,
    Aborted,
    /// Everything is done; a human approves or aborts.
    Waiting,
    /// The merge could not be made; a human has to look.
    MergeBlocked {
        trouble: Trouble,
    },
    /// The tries are used up; the phase's work was reverted.
    GaveUp {
        phase: Phase,
        trouble: Trouble,
    },
    /// The judge could not find out; a human has to look.
    Undecided {
        phase: Phase,
        trouble: Trouble,
    },
    AgentUnusable {
        trouble: Trouble,
    },
    BaselineUnusable {
        trouble: Trouble,
    },
    BudgetSpent {
        what: String,
    },
    Interrupted,
}

impl Event {
    /// The word it is journalled under.
    pub fn name(&self) -> &'static str {
        match self {
            Event::Started { .. } => "started",
            Event::Adopted { .. } => "adopted",
            Event::Prepared { .. } => "prepared",
            Event::Measured { .. } => "measured",
            Event::Turned { .. } => "turned",
            Event::Judged { .. } => "judged",
            Event::Linted { .. } => "linted",
            Event::Paused => "paused",
            Event::Restored { .. } => "restored",
            Event::Recorded { .. } => "recorded",
            Event::Committed { .. } => "committed",
            Event::Noted { .. } => "noted",
            Event::Left { .. } => "left",
            Event::Resumed { .. } => "resumed",
            Event::RolledBack { .. } => "rolled-back",
            Event::Decided { .. } => "decided",
            Event::MergeBlocked { .. } => "merge-blocked",
            Event::Merged { .. } => "merged",
            Event::Undone { .. } => "undone",
            Event::Discarded { .. } => "discarded",
        }
    }
}
