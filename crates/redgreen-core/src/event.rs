//! The events of a run. This is the journal's format, version 1: fields can be added, but never
//! renamed or removed. The state is a fold over the events.

use serde::{Deserialize, Serialize};

use crate::agent::{AttemptFailure, Cost, Turn};
use crate::attempts::{Candidate, Choice, Comparison, PassCount};
use crate::brief::{Brief, TestCase};
use crate::handoff::Handoff;
use crate::names::{Branch, Label, Oid, RunBranch, RunFile, RunId, SalvageName, SessionId};
use crate::phase::{Phase, Role};
use crate::policy::Policy;
use crate::report::Counts;
use crate::verdict::Verdict;
use crate::withheld::{AddedTests, WithheldTests};

/// The initial facts of a run; they never change.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Run {
    pub id: RunId,
    pub brief: Brief,
    pub policy: Policy,
    pub base: Mark,
    /// The branch to merge into.
    pub target: Branch,
    /// The branch it works on.
    pub branch: RunBranch,
    pub agent: Label,
    /// The command lines of the linters, which run after GREEN and REFACTOR.
    #[serde(default)]
    pub linters: Vec<String>,
}

/// A commit and its tree.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Mark {
    pub commit: Oid,
    pub tree: Oid,
}

/// A test report stored with the run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct StoredReport {
    /// Its file, relative to the run's folder.
    pub file: RunFile,
    pub counts: Counts,
    /// The command, its exit and its duration on one line, for the user.
    pub summary: String,
    /// The duration of all test runs that led to it, including controls.
    #[serde(default)]
    pub tests_ms: u64,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "kebab-case", rename_all_fields = "camelCase")]
pub enum Event {
    Started {
        run: Box<Run>,
    },
    /// A run that started on another clone continues from its last note.
    Adopted {
        run: Box<Run>,
        head: Mark,
        handoff: Box<Handoff>,
    },
    /// The worktree exists and has the expected contents.
    Prepared {
        worktree: String,
        salvage: Option<SalvageName>,
        notices: Vec<String>,
    },
    /// The suite and the linters before any change (or, in an adopted run, at its head).
    Measured {
        report: StoredReport,
        usable: bool,
        lint: Vec<String>,
        /// Failing tests, if GREEN comes next and its targets are unknown.
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
        /// The id to resume the agent's conversation.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        session: Option<SessionId>,
        /// The agent with its version, if it is a separate program.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        agent: Option<Label>,
        /// A person worked: their work is never rolled back.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        human: bool,
        /// What the agent did besides its work, and how that was handled.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        notices: Vec<String>,
        /// Corrections by the engine to `test-list.md` after the turn, one sentence each.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        list: Vec<String>,
        /// Tests of RED that are kept out of the repository until the code passes them.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        withheld: Option<WithheldTests>,
    },
    Judged {
        phase: Phase,
        verdict: Verdict,
        report: Option<StoredReport>,
        planned: Option<PlanResult>,
        /// The number of tests that RED wrote.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        written: Option<u64>,
        /// RED: the first file with new tests, if it was not known before.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        test_file: Option<String>,
        /// RED: the withheld tests that fail as expected.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        withheld: Option<WithheldTests>,
        /// GREEN: the withheld tests that the code passes, and the tree that includes them, which
        /// is committed.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        joined: Option<Box<AddedTests>>,
        /// GREEN: how many withheld tests the code passes, if they were run.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        unseen: Option<PassCount>,
        took_ms: u64,
    },
    /// One of several attempts at a phase ended. Its work is not part of the run yet.
    Attempted {
        candidate: Box<Candidate>,
    },
    /// The tests of attempts were run with the code of the others.
    Compared {
        results: Vec<Comparison>,
        took_ms: u64,
    },
    /// The best attempt was chosen. Its turn, verdict and linters follow as events of their own.
    Chosen {
        choice: Choice,
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
    /// The engine stopped; the worktree is gone, everything else is kept.
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
    /// The user rejected the test of the current cycle: it is rewritten with their message.
    TestRejected {
        /// The commit before the test.
        to: Oid,
        message: String,
        salvage: Option<SalvageName>,
    },
    /// The user edited the last accepted work during a pause: the edit is judged in its place.
    WorkEdited {
        /// The commit before the accepted work.
        to: Oid,
        tree: Oid,
        salvage: Option<SalvageName>,
    },
    /// A message of the user for the agents.
    UserSaid {
        /// The id of the message's file.
        id: String,
        message: String,
    },
    /// The user wants the run to pause after the current phase.
    PauseAsked {
        /// Of the message file.
        id: String,
    },
    /// The user changed the plan; the next planning starts with it.
    PlanEdited {
        id: String,
        text: String,
        /// Its open items.
        pending: Vec<String>,
    },
    Decided {
        decision: Decision,
        /// How an approved run is merged.
        #[serde(default, skip_serializing_if = "RunMode::is_default")]
        manner: RunMode,
    },
    MergeBlocked {
        trouble: AttemptFailure,
    },
    /// Commits that the run did not make were found on its branch, on top of its own.
    HumanCommitted {
        /// Oldest first.
        commits: Vec<Mark>,
        /// The work in progress, merged with the last commit; absent if it cannot be merged and was
        /// salvaged.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        work: Option<Oid>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        salvage: Option<SalvageName>,
    },
    /// One of these commits was judged, in its own phase.
    Reviewed {
        commit: Oid,
        phase: Phase,
        verdict: Verdict,
        report: Option<StoredReport>,
        took_ms: u64,
    },
    Merged {
        commit: Oid,
    },
    /// A human undid the merge; the run waits for a decision again.
    Undone {
        /// The merge that is no longer on the branch.
        commit: Oid,
        /// The new head of the branch.
        to: Oid,
        salvage: Option<SalvageName>,
    },
    Discarded {
        salvage: Option<SalvageName>,
    },
}

/// The result of planning.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PlanResult {
    pub next: Option<TestCase>,
    pub completed: Vec<String>,
    pub pending: Vec<String>,
    /// Earlier open items that the planner dropped or reworded.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub removed: Vec<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Decision {
    Approve,
    Abort,
}

/// How to merge a run. It is in the journal, so that an interrupted merge continues in the same
/// way.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct RunMode {
    pub commits: Commits,
    pub list: ListState,
}

/// The commits that the target branch gets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Commits {
    /// All commits of the run, below a merge commit.
    #[default]
    Merged,
    /// One commit with all changes.
    Squashed,
}

/// Whether the target branch gets the run's `test-list.md`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ListState {
    /// The target branch keeps its own list, if any.
    #[default]
    LeftOut,
    Kept,
}

impl RunMode {
    #[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks for a reference")]
    fn is_default(&self) -> bool {
        *self == Self::default()
    }
}

/// The reason why the engine stopped.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "outcome", rename_all = "kebab-case", rename_all_fields = "camelCase")]
pub enum Outcome {
    Merged,
    Aborted,
    /// Everything is done; a human approves or aborts.
    Waiting,
    /// The merge failed; a human has to look.
    MergeBlocked {
        trouble: AttemptFailure,
    },
    /// The attempts are used up; the phase's work was rolled back.
    GaveUp {
        phase: Phase,
        trouble: AttemptFailure,
    },
    /// The planner ended the run before any cycle was accepted.
    NothingDeveloped {
        trouble: AttemptFailure,
    },
    /// The judge could not decide; a human has to look.
    Undecided {
        phase: Phase,
        trouble: AttemptFailure,
    },
    AgentUnusable {
        trouble: AttemptFailure,
    },
    BaselineUnusable {
        trouble: AttemptFailure,
    },
    BudgetSpent {
        what: String,
    },
    Interrupted,
    /// The run pauses after this phase, as the user requested. `trouble` is the reason why the
    /// user's edit was refused.
    Paused {
        after: Phase,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        trouble: Option<AttemptFailure>,
    },
    /// A human rolled the run back to one of its accepted commits.
    RolledBack {
        to: Oid,
    },
}

impl Event {
    /// The event's name in the journal.
    pub fn name(&self) -> &'static str {
        match self {
            Event::Started { .. } => "started",
            Event::Adopted { .. } => "adopted",
            Event::Prepared { .. } => "prepared",
            Event::Measured { .. } => "measured",
            Event::Turned { .. } => "turned",
            Event::Judged { .. } => "judged",
            Event::Attempted { .. } => "attempted",
            Event::Compared { .. } => "compared",
            Event::Chosen { .. } => "chosen",
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
            Event::PauseAsked { .. } => "pause-asked",
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
