//! The numbers and status texts of a run: one source for the summary, the report, `why` and
//! `status`.

use crate::event::Outcome;
use crate::phase::Phase;
use crate::state::{Ending, Situation, State};

/// The totals of a run so far, without rolled back work.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Cycles that were accepted from RED to REFACTOR.
    pub cycles: u32,
    /// Tests that accepted REDs wrote.
    pub written: u64,
    /// Tests that the implementer does not see at present, and those that joined the test suite.
    pub withheld: u64,
    pub joined: u64,
    /// Items of the list that are done, and that are open.
    pub done: usize,
    pub open: usize,
    /// Open items that planning dropped or reworded.
    pub removed: Vec<String>,
    /// Turns of GREEN, in all accepted cycles and in the longest of them.
    pub iterations: u32,
    pub iterations_most: u32,
}

impl Tally {
    pub fn of(state: &State) -> Self {
        let progress = &state.progress;
        Self {
            cycles: state.cycles(),
            written: progress.written,
            withheld: progress.withheld.as_ref().map_or(0, |withheld| withheld.tests),
            joined: progress.joined,
            done: progress.completed.len(),
            open: progress.pending.len(),
            removed: progress.removed.clone(),
            iterations: progress.iterations.iter().sum(),
            iterations_most: progress.iterations.iter().copied().max().unwrap_or(0),
        }
    }

    /// The cycle to name: the one under way, or the last one when the list is done.
    pub fn cycle(state: &State) -> u32 {
        match state.phase() {
            Phase::Complete => state.cycles().max(1),
            Phase::Plan | Phase::Red | Phase::Green | Phase::Refactor => state.progress.cycle,
        }
    }
}

/// Where a run stands, in a few words.
pub fn standing(state: &State) -> &'static str {
    standing_of(state.left.as_ref())
}

/// The same for a run that stopped for this reason, or still works.
pub fn standing_of(left: Option<&Outcome>) -> &'static str {
    match left {
        Some(Outcome::Merged) => "merged",
        Some(Outcome::Aborted) => "aborted",
        Some(Outcome::Waiting) => "waiting for a human",
        Some(Outcome::MergeBlocked { .. }) => "merge blocked",
        Some(Outcome::GaveUp { .. }) => "gave up",
        Some(Outcome::NothingDeveloped { .. }) => "nothing was developed",
        Some(Outcome::Undecided { .. }) => "undecided",
        Some(Outcome::AgentUnusable { .. }) => "agent unusable",
        Some(Outcome::BaselineUnusable { .. }) => "suite does not run",
        Some(Outcome::BudgetSpent { .. }) => "budget spent",
        Some(Outcome::Paused { .. }) => "waiting for you",
        Some(Outcome::Interrupted) => "interrupted",
        Some(Outcome::RolledBack { .. }) => "rolled back",
        None => "under way",
    }
}

/// The condition for the run to continue: the rule of its phase, in one sentence.
pub fn gate(state: &State) -> &'static str {
    match &state.situation {
        Situation::Ended(Ending::Merged { .. }) => "none: the run is merged",
        Situation::Ended(Ending::Aborted) => "none: the run was aborted",
        Situation::Paused { .. } => "you resume it",
        Situation::Reviewing(_) => "the commits added to the run's branch are accepted",
        Situation::Measuring { .. }
        | Situation::Unmeasurable { .. }
        | Situation::Working { .. }
        | Situation::Reverting { .. }
        | Situation::Halted { .. }
        | Situation::Waiting { .. }
        | Situation::Merging { .. }
        | Situation::Discarding => match state.phase() {
            Phase::Plan => "test-list.md names an open test, and nothing else was changed",
            Phase::Red => "the new test fails, and every other test passes",
            Phase::Green => {
                "every test passes, none is missing or skipped, and no test was changed"
            }
            Phase::Refactor => "every test still passes, and none is missing",
            Phase::Complete => "a human approves",
        },
    }
}
