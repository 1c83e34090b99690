//! Where a run stands: its situation, the attempts at a phase, and the stages of one attempt.

use super::review;
use crate::agent::AttemptFailure;
use crate::attempts::{Candidate, Selection};
use crate::event::{Event, PlanResult, RunMode, StoredReport};
use crate::names::Oid;
use crate::phase::Phase;
use crate::verdict::{TestProgress, Verdict};
use crate::withheld::{AddedTests, WithheldTests};

#[derive(Clone, Debug, PartialEq)]
pub enum Situation {
    /// The suite has not run yet. `then` is the phase afterwards.
    Measuring {
        then: Phase,
    },
    /// The suite does not run at all, so nothing could be judged.
    Unmeasurable {
        then: Phase,
        trouble: AttemptFailure,
    },
    Working {
        phase: Phase,
        attempt: Attempt,
        stage: Stage,
    },
    /// The attempts are used up; the phase's work is being rolled back.
    Reverting {
        phase: Phase,
        attempt: Attempt,
        trouble: AttemptFailure,
        stage: Reverting,
    },
    Halted {
        phase: Phase,
        retries: u32,
        trouble: AttemptFailure,
    },
    /// The run pauses after this phase, as the user requested, until they resume it.
    Paused {
        after: Phase,
        next: Phase,
    },
    /// All done; a human approves or aborts. `trouble` is the reason why a merge failed.
    Waiting {
        trouble: Option<AttemptFailure>,
    },
    /// Commits that a person added to the run's branch are judged.
    Reviewing(Box<review::Review>),
    Merging {
        manner: RunMode,
    },
    Discarding,
    Ended(Ending),
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ending {
    Merged { commit: Oid },
    Aborted,
}

/// The attempts at one phase.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Attempt {
    /// Attempts that failed.
    pub retries: u32,
    /// Judged turns of the implementer (GREEN).
    pub iteration: u32,
    /// Turns that timed out; each one extends the limit of the next.
    pub timeouts: u32,
    /// A person took the last turn. Their work stays, however often it is refused.
    pub human: bool,
    /// The work is the user's edit of accepted work, made during a pause.
    pub edited: bool,
    /// Passed on to the next attempt.
    pub trouble: Option<AttemptFailure>,
    /// Why the last judged work was refused.
    pub refused: Option<AttemptFailure>,
    pub diagnosis: Option<String>,
    /// Corrections by the engine to `test-list.md` after the last turn.
    pub list: Vec<String>,
    /// The contents of the worktree.
    pub tree: Oid,
    /// The contents when the last turn started.
    pub from: Oid,
    /// RED: the withheld tests, which are kept out of the repository.
    pub withheld: Option<WithheldTests>,
    pub best: Option<BestAttempt>,
    /// The code is right, but its tests cover too little of it: more tests are being written.
    pub covering: Option<CoverageStep>,
    /// The attempts of this round that ended, if several are made.
    pub candidates: Vec<Candidate>,
    /// What is left to take over from the chosen attempt.
    pub taken: Vec<Event>,
    /// How the last work was chosen, if it was one of several attempts.
    pub selection: Option<Box<Selection>>,
    pub(super) seen: Vec<Oid>,
    pub(super) failing: Vec<String>,
    pub(super) same_failures: u32,
    pub(super) repeats: u32,
}

/// The best state of GREEN so far. A worse state is rolled back to it.
#[derive(Clone, Debug, PartialEq)]
pub struct BestAttempt {
    pub tree: Oid,
    pub standing: TestProgress,
}

/// A state of GREEN that lacks only tests.
#[derive(Clone, Debug, PartialEq)]
pub struct CoverageStep {
    pub tree: Oid,
    pub report: Option<StoredReport>,
}

#[derive(Clone, Debug, PartialEq)]
pub enum Stage {
    Pausing {
        ms: u64,
    },
    Asking,
    /// The agent cannot work; a human has to fix that.
    Unable {
        trouble: AttemptFailure,
    },
    /// A turn ended early because the budget does not cover its next request; its edits are kept.
    Spent {
        what: String,
    },
    Judging {
        answer: String,
    },
    /// The judge could not decide.
    Doubting {
        answer: String,
        trouble: AttemptFailure,
    },
    /// A test is claimed to contradict the brief; a human has to decide.
    Contested {
        trouble: AttemptFailure,
    },
    /// The user's manual edit was refused; they have to look again.
    EditRefused {
        trouble: AttemptFailure,
    },
    Linting {
        acceptance: Box<Acceptance>,
    },
    Restoring {
        tree: Oid,
        then: Box<Stage>,
    },
    Diagnosing,
    Recording,
    Committing {
        acceptance: Box<Acceptance>,
    },
    Noting {
        acceptance: Box<Acceptance>,
        next: Phase,
    },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reverting {
    Restoring,
    Recording,
    Noting,
}

/// An accepting verdict and its basis.
#[derive(Clone, Debug, PartialEq)]
pub struct Acceptance {
    pub tree: Oid,
    pub verdict: Verdict,
    pub report: Option<StoredReport>,
    pub planning: Option<PlanResult>,
    /// The number of tests that RED wrote.
    pub written: Option<u64>,
    /// RED: the first file with new tests.
    pub test_file: Option<String>,
    /// RED: the withheld tests that fail as expected.
    pub withheld: Option<WithheldTests>,
    /// GREEN: the withheld tests that are part of the tree.
    pub joined: Option<AddedTests>,
    /// The commit's date, so that repeating the commit yields the same commit.
    pub at: i64,
}
