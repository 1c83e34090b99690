//! What happened in a run. These are the journal's own words, version 1: a field may be added, none renamed or taken
//! away. State is a fold over them.

use serde::{Deserialize, Serialize};

use crate::agent::{Cost, Trouble, Turn};
use crate::brief::{Brief, TestCase};
use crate::handoff::Handoff;
use crate::names::{Branch, Label, Oid, RunBranch, RunFile, RunId, SalvageName, SessionId};
use crate::phase::{Phase, Role};
use crate::policy::Policy;
use crate::report::Counts;
use crate::verdict::Verdict;
use crate::withheld::{Joined, Withheld};

/// The facts a run starts with; they never change.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Run {
    pub id: RunId,
    pub brief: Brief,
    pub policy: Policy,
    pub base: Mark,
    /// The branch it is meant for.
    pub target: Branch,
    /// The branch it works on.
    pub branch: RunBranch,
    pub agent: Label,
    /// The linters' command lines, run after GREEN and REFACTOR.
    #[serde(default)]
    pub linters: Vec<String>,
}

/// A commit and its tree.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Mark {
    pub commit: Oid,
    pub tree: Oid,
}

/// A test report kept with the run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Kept {
    /// Its file, from the run's folder.
    pub file: RunFile,
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
        salvage: Option<SalvageName>,
        notices: Vec<String>,
    },
    /// The suite and the linters, before anything was changed (or, in an adopted run, at its head).
    Measured {
        report: Kept,
        usable: bool,
        lint: Vec<String>,
        /// Tests that fail, where GREEN comes next and nobody said which it owes.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        failing: Vec<String>,
        took_ms: u64,
    },
    Turned {
        role: Role,
        turn: Turn,
        tree: Oid,
        cost: Cost,
        took_ms: u64,
        /// By which the agent's conversation can be taken up again.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        session: Option<SessionId>,
        /// Who it was, with the version it tells of itself, where it is a program of its own.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        agent: Option<Label>,
        /// A person worked: what they wrote is never taken back.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        human: bool,
        /// What the agent did beside its work, and what became of it.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        notices: Vec<String>,
        /// Corrections by the engine to `test-list.md` after the turn, a sentence each.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        list: Vec<String>,
        /// Tests of RED that are kept out of the repository until the code passes them.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        withheld: Option<Withheld>,
    },
    Judged {
        phase: Phase,
        verdict: Verdict,
        report: Option<Kept>,
        planned: Option<Planning>,
        /// How many tests RED wrote.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        written: Option<u64>,
        /// RED: the first file it wrote tests to, where nobody named one before.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        test_file: Option<String>,
        /// RED: of the withheld tests, those that fail as they should.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        withheld: Option<Withheld>,
        /// GREEN: the withheld tests that the code passes, and the tree with them in it, which is committed.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        joined: Option<Joined>,
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
        tree: Oid,
        salvage: Option<SalvageName>,
    },
    Recorded {
        file: RunFile,
    },
    Committed {
        mark: Mark,
    },
    Noted {
        commit: Oid,
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
        to: Oid,
        salvage: Option<SalvageName>,
    },
    /// The user rejected the test of the cycle under way: it is written anew, with their words.
    TestRejected {
        /// The commit before the test.
        to: Oid,
        message: String,
        salvage: Option<SalvageName>,
    },
    /// The user changed what was accepted last by hand, during a pause: it is judged again in place of that.
    WorkEdited {
        /// The commit before what was accepted.
        to: Oid,
        tree: Oid,
        salvage: Option<SalvageName>,
    },
    /// The user's words for the agents.
    UserSaid {
        /// Of the file that brought them.
        id: String,
        message: String,
    },
    /// The user changed the plan; the next planning begins with it.
    PlanEdited {
        id: String,
        text: String,
        /// Its open items.
        pending: Vec<String>,
    },
    Decided {
        decision: Decision,
        /// How an approved run is merged.
        #[serde(default, skip_serializing_if = "Manner::is_default")]
        manner: Manner,
    },
    MergeBlocked {
        trouble: Trouble,
    },
    /// Commits that the run did not make were found on its branch, on top of its own.
    HumanCommitted {
        /// Oldest first.
        commits: Vec<Mark>,
        /// What was under way, merged with the last of them; absent where that cannot be merged, and it is salvaged.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        work: Option<Oid>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        salvage: Option<SalvageName>,
    },
    /// One of them was judged, as the phase that it is.
    Reviewed {
        commit: Oid,
        phase: Phase,
        verdict: Verdict,
        report: Option<Kept>,
        took_ms: u64,
    },
    Merged {
        commit: Oid,
    },
    /// A human took the merge back; the run waits for a decision again.
    Undone {
        /// The merge that is no longer on the branch.
        commit: Oid,
        /// Where the branch stands instead.
        to: Oid,
        salvage: Option<SalvageName>,
    },
    Discarded {
        salvage: Option<SalvageName>,
    },
}

/// What the planner settled.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Planning {
    pub next: Option<TestCase>,
    pub completed: Vec<String>,
    pub pending: Vec<String>,
    /// Items that were open before and that the planner dropped or reworded.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub removed: Vec<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Decision {
    Approve,
    Abort,
}

/// How a run is merged. It is part of the journal, so that a merge that was killed goes on in the same way.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Manner {
    pub commits: Commits,
    pub list: ListIs,
}

/// Which commits the target branch gets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Commits {
    /// All of the run's, below a merge commit.
    #[default]
    Merged,
    /// One commit with everything in it.
    Squashed,
}

/// Whether the target branch gets the run's `test-list.md`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ListIs {
    /// The target branch keeps what it has, which may be none.
    #[default]
    LeftOut,
    Kept,
}

impl Manner {
    #[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks for a reference")]
    fn is_default(&self) -> bool {
        *self == Self::default()
    }
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
    /// The planner ended the run before any cycle was accepted.
    NothingDeveloped {
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
    /// The run stops after this phase, as the user wished. `trouble` is why what they changed meanwhile was refused.
    Paused {
        after: Phase,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        trouble: Option<Trouble>,
    },
    /// A human took the run back to an accepted commit of its own.
    RolledBack {
        to: Oid,
    },
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
            Event::TestRejected { .. } => "test-rejected",
            Event::WorkEdited { .. } => "work-edited",
            Event::UserSaid { .. } => "user-said",
            Event::PlanEdited { .. } => "plan-edited",
            Event::Decided { .. } => "decided",
            Event::MergeBlocked { .. } => "merge-blocked",
            Event::HumanCommitted { .. } => "human-committed",
            Event::Reviewed { .. } => "reviewed",
            Event::Merged { .. } => "merged",
            Event::Undone { .. } => "undone",
            Event::Discarded { .. } => "discarded",
        }
    }
}
