//! The state of a run: a fold over its events. `apply` is the only way to change it; `step::next`
//! decides what to do.

mod cost;
mod recovery;
pub mod review;
mod several;
mod situation;
mod steering;
mod work;

use std::collections::BTreeMap;

use crate::agent::AttemptFailure;
use crate::brief::TestCase;
use crate::contest;
use crate::event::{Decision as Choice, Event, Mark, Outcome, Run, RunMode, StoredReport};
use crate::handoff::Handoff;
use crate::names::{Label, Oid, SessionId};
use crate::phase::{Phase, Role};
use crate::policy::RunCost;
use crate::verdict::{Code, TestProgress, Verdict};
use crate::withheld::WithheldTests;

pub use situation::{
    Acceptance, Attempt, BestAttempt, CoverageStep, Ending, Reverting, Situation, Stage,
};
pub use steering::{REJECTED, Steering};

#[derive(Clone, Debug, PartialEq)]
pub struct State {
    pub run: Run,
    pub progress: Progress,
    pub situation: Situation,
    pub spent: RunCost,
    /// Completed turns, by role.
    pub turns: BTreeMap<Role, u32>,
    /// The last conversation of each role, for agents that remember them.
    pub sessions: BTreeMap<Role, SessionId>,
    /// The agent of the last turn of each role, with its version if it is a separate program.
    pub agents: BTreeMap<Role, Label>,
    /// Where the agents work, if known.
    pub worktree: Option<String>,
    /// The worktree is known to have the expected contents.
    pub prepared: bool,
    /// Why the engine is not working on this run.
    pub left: Option<Outcome>,
    /// All accepted commits, to roll back to.
    pub trail: Vec<Waypoint>,
    /// The start of the run. Only a rejected or edited first phase returns to it, because the
    /// commit is the user's.
    pub start: Option<Waypoint>,
    /// What the user told the run while it was running.
    pub steering: Steering,
    /// Linters that failed before the run started; the run is not blamed for them.
    pub lint_before: Vec<String>,
    /// The number of kept reports, which names the next report's file.
    pub reports: u32,
}

/// What is accepted so far.
#[derive(Clone, Debug, PartialEq)]
pub struct Progress {
    pub cycle: u32,
    /// The last accepted commit.
    pub head: Mark,
    /// The report to compare with.
    pub accepted: Option<StoredReport>,
    pub current: Option<TestCase>,
    /// The failing tests of RED, until they pass.
    pub targets: Vec<String>,
    /// List items whose cycle was accepted. Nothing else ticks a box.
    pub completed: Vec<String>,
    pub pending: Vec<String>,
    /// Open items that planning dropped or reworded.
    pub removed: Vec<String>,
    /// Corrections to the list when planning was accepted; the next planner sees them.
    pub remarks: Vec<String>,
    /// The number of tests that accepted REDs wrote.
    pub written: u64,
    /// The number of turns of each accepted GREEN.
    pub iterations: Vec<u32>,
    /// Tests of the accepted RED that the implementer does not see.
    pub withheld: Option<WithheldTests>,
    /// The number of withheld tests that accepted GREENs passed.
    pub joined: u64,
    /// The result of each refactoring.
    pub refactorings: Vec<Refactoring>,
    /// All tests of the file are done; items added to it are developed one by one.
    pub more: bool,
    pub handoff: Option<Handoff>,
}

/// The result of a REFACTOR.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Refactoring {
    /// The code was improved, and all tests still pass.
    Applied,
    /// Nothing needed to change.
    Nothing,
    /// It was rolled back; the green code stays.
    GivenUp { why: String },
}

#[derive(Clone, Debug, PartialEq)]
pub struct Waypoint {
    pub progress: Progress,
    pub next: Phase,
}

impl Refactoring {
    pub fn of(verdict: &Verdict) -> Self {
        match verdict.first() {
            Some(reason) if reason.code == Code::RefactorGivenUp => {
                Refactoring::GivenUp { why: reason.sentence.clone() }
            }
            Some(reason) if reason.code == Code::RefactorNothing => Refactoring::Nothing,
            Some(_) | None => Refactoring::Applied,
        }
    }
}

impl Attempt {
    /// The trees of the last judged and refused turn: before and after it.
    pub fn last_refused(&self) -> Option<(&Oid, &Oid)> {
        self.seen.last().map(|left| (&self.from, left))
    }
}

/// The next attempt at a phase after a failed one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NextTry {
    pub number: u32,
    /// The number of the last possible attempt.
    pub of: u32,
    pub pause_ms: u64,
}

/// An event that is not possible in the run's situation: the journal is damaged, or another program
/// wrote it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InvalidEvent {
    pub event: &'static str,
    pub situation: &'static str,
}

impl State {
    /// The state after a run's first event.
    pub fn begin(event: &Event) -> Result<Self, InvalidEvent> {
        if let Event::Started { run } = event {
            return Ok(Self::started(run));
        }
        if let Event::Adopted { run, head, handoff } = event {
            return Ok(Self::adopted(run, head, handoff));
        }
        Err(InvalidEvent { event: event.name(), situation: "not begun" })
    }

    /// The state after `event`, which was recorded at `at` (seconds since 1970).
    pub fn apply(mut self, event: &Event, at: i64) -> Result<Self, InvalidEvent> {
        let illegal = InvalidEvent { event: event.name(), situation: self.situation.name() };
        self.count(event);
        match event {
            Event::Prepared { worktree, .. } if self.left.is_none() && self.needs_worktree() => {
                self.prepared = true;
                self.worktree = Some(worktree.clone());
            }
            Event::Left { outcome } if self.left.is_none() => {
                self.left = Some(outcome.clone());
                self.prepared = false;
            }
            Event::Resumed { policy } => self.resume(policy.as_deref()),
            Event::RolledBack { to, .. } => self.roll_back(to).ok_or(illegal)?,
            Event::TestRejected { to, message, .. } => {
                self.reject_test(to, message).ok_or(illegal)?;
            }
            Event::WorkEdited { to, tree, .. } => self.edit_work(to, tree).ok_or(illegal)?,
            Event::UserSaid { id, message } => self.hear(id, message).ok_or(illegal)?,
            Event::PauseAsked { id } => self.ask_pause(id).ok_or(illegal)?,
            Event::PlanEdited { id, text, pending } => {
                self.edit_plan(id, text, pending).ok_or(illegal)?;
            }
            Event::Decided { decision, manner } => {
                self.decide(*decision, *manner).ok_or(illegal)?;
            }
            Event::HumanCommitted { commits, work, .. } => {
                self.human_committed(commits, work.as_ref()).ok_or(illegal)?;
            }
            Event::Undone { commit, .. } => self.undo(commit).ok_or(illegal)?,
            Event::Prepared { .. } | Event::Left { .. } => return Err(illegal),
            Event::Measured { .. }
            | Event::Turned { .. }
            | Event::Judged { .. }
            | Event::Linted { .. }
            | Event::Attempted { .. }
            | Event::Compared { .. }
            | Event::Chosen { .. }
            | Event::Paused
            | Event::Restored { .. }
            | Event::Recorded { .. }
            | Event::Committed { .. }
            | Event::Noted { .. }
            | Event::MergeBlocked { .. }
            | Event::Reviewed { .. }
            | Event::Merged { .. }
            | Event::Discarded { .. }
            | Event::Started { .. }
            | Event::Adopted { .. } => self.advance(event, at).ok_or(illegal)?,
        }
        Ok(self)
    }

    /// The contents that the worktree must have before the next step.
    pub fn expected_tree(&self) -> &Oid {
        match &self.situation {
            Situation::Working { attempt, .. } | Situation::Reverting { attempt, .. } => {
                &attempt.tree
            }
            Situation::Measuring { .. }
            | Situation::Unmeasurable { .. }
            | Situation::Halted { .. }
            | Situation::Paused { .. }
            | Situation::Waiting { .. }
            | Situation::Reviewing(_)
            | Situation::Merging { .. }
            | Situation::Discarding
            | Situation::Ended(_) => &self.progress.head.tree,
        }
    }

    /// Whether the next step needs a worktree that is not prepared yet.
    pub fn needs_worktree(&self) -> bool {
        match &self.situation {
            Situation::Measuring { .. }
            | Situation::Working { .. }
            | Situation::Reverting { .. } => !self.prepared,
            Situation::Unmeasurable { .. }
            | Situation::Halted { .. }
            | Situation::Paused { .. }
            | Situation::Waiting { .. }
            | Situation::Reviewing(_)
            | Situation::Merging { .. }
            | Situation::Discarding
            | Situation::Ended(_) => false,
        }
    }

    /// The current phase.
    pub fn phase(&self) -> Phase {
        self.situation.phase()
    }

    /// The number of cycles accepted from RED to REFACTOR, without the current one.
    pub fn cycles(&self) -> u32 {
        self.progress.cycle.saturating_sub(1)
    }

    /// The results of all refactorings, including the one about to be committed.
    pub fn refactorings(&self) -> Vec<Refactoring> {
        let mut all = self.progress.refactorings.clone();
        if let Situation::Working {
            phase: Phase::Refactor,
            stage: Stage::Committing { acceptance },
            ..
        } = &self.situation
        {
            all.push(Refactoring::of(&acceptance.verdict));
        }
        all
    }

    pub fn is_over(&self) -> bool {
        matches!(self.situation, Situation::Ended(_))
    }

    fn new(run: &Run, head: &Mark, situation: Situation) -> Self {
        Self {
            run: Run { policy: run.policy.clone().bounded(), ..run.clone() },
            progress: Progress {
                cycle: 1,
                head: head.clone(),
                accepted: None,
                current: None,
                targets: Vec::new(),
                completed: Vec::new(),
                pending: Vec::new(),
                removed: Vec::new(),
                remarks: Vec::new(),
                written: 0,
                iterations: Vec::new(),
                withheld: None,
                joined: 0,
                refactorings: Vec::new(),
                more: false,
                handoff: None,
            },
            situation,
            spent: RunCost::default(),
            turns: BTreeMap::new(),
            sessions: BTreeMap::new(),
            agents: BTreeMap::new(),
            worktree: None,
            prepared: false,
            left: None,
            trail: Vec::new(),
            start: None,
            steering: Steering::default(),
            lint_before: Vec::new(),
            reports: 0,
        }
    }

    /// A file that lists its tests replaces the plan: all tests are written first.
    fn started(run: &Run) -> Self {
        let batch = run.brief.batch();
        let then = if batch.is_some() { Phase::Red } else { Phase::Plan };
        let mut state = Self::new(run, &run.base, Situation::Measuring { then });
        if batch.is_some() {
            state.progress.current = batch;
            state.progress.pending = run.brief.case_names();
        }
        state
    }

    fn adopted(run: &Run, head: &Mark, handoff: &Handoff) -> Self {
        let mut state = Self::new(run, head, Situation::Measuring { then: handoff.next_phase });
        let over = handoff.phase == Phase::Refactor;
        let progress = &mut state.progress;
        progress.cycle =
            if over { handoff.cycle_number.saturating_add(1) } else { handoff.cycle_number };
        progress.current = handoff.current_test.clone().filter(|_| !over);
        progress.targets.clone_from(&handoff.targets);
        progress.completed.clone_from(&handoff.completed_tests);
        progress.pending.clone_from(&handoff.pending_tests);
        progress.removed.clone_from(&handoff.removed_tests);
        progress.written = handoff.tests_written;
        progress.iterations.extend(Some(handoff.iterations).filter(|turns| *turns > 0));
        progress.handoff = Some(handoff.clone());
        state.steering.messages.clone_from(&handoff.user_messages);
        state.spent = handoff.spent.clone().unwrap_or_default();
        state.sessions.clone_from(&handoff.sessions);
        state.agents.clone_from(&handoff.agents);
        state
    }

    fn resume(&mut self, policy: Option<&crate::policy::Policy>) {
        let left = self.left.take();
        self.prepared = false;
        self.steering.pause = false;
        if let Some(policy) = policy {
            self.run.policy = policy.clone().bounded();
        }
        if let Situation::Reviewing(review) = &self.situation {
            return self.resume_review((**review).clone());
        }
        if let Some(situation) = self.after_pause(left.as_ref()) {
            self.situation = situation;
            return;
        }
        match &mut self.situation {
            Situation::Unmeasurable { then, .. } => {
                self.situation = Situation::Measuring { then: *then }
            }
            Situation::Halted { phase, trouble, .. } => {
                let (phase, trouble) = (*phase, trouble.clone());
                self.situation = self.entering(phase);
                if let Situation::Working { attempt, .. } = &mut self.situation {
                    attempt.trouble = Some(trouble);
                }
            }
            Situation::Working { attempt, stage, .. } => match stage {
                Stage::Unable { .. } | Stage::Spent { .. } => *stage = Stage::Asking,
                Stage::EditRefused { .. } => *stage = Stage::Judging { answer: String::new() },
                Stage::Doubting { answer, .. } => {
                    *stage = Stage::Judging { answer: std::mem::take(answer) }
                }
                Stage::Contested { trouble } => {
                    attempt.trouble = Some(contest::overruled(trouble));
                    *stage = Stage::Asking;
                }
                Stage::Pausing { .. }
                | Stage::Asking
                | Stage::Judging { .. }
                | Stage::Linting { .. }
                | Stage::Restoring { .. }
                | Stage::Diagnosing
                | Stage::Recording
                | Stage::Committing { .. }
                | Stage::Noting { .. } => {}
            },
            Situation::Measuring { .. }
            | Situation::Reverting { .. }
            | Situation::Paused { .. }
            | Situation::Waiting { .. }
            | Situation::Reviewing(_)
            | Situation::Merging { .. }
            | Situation::Discarding
            | Situation::Ended(_) => {}
        }
    }

    fn roll_back(&mut self, to: &Oid) -> Option<()> {
        if matches!(
            self.situation,
            Situation::Ended(_) | Situation::Merging { .. } | Situation::Discarding
        ) {
            return None;
        }
        let index = self.trail.iter().position(|waypoint| waypoint.progress.head.commit == *to)?;
        self.trail.truncate(index + 1);
        let waypoint = self.trail.last()?.clone();
        self.enter_at(waypoint);
        Some(())
    }

    fn decide(&mut self, decision: Choice, manner: RunMode) -> Option<()> {
        self.situation = match (decision, &self.situation) {
            (Choice::Approve, Situation::Waiting { .. }) => Situation::Merging { manner },
            (Choice::Abort, Situation::Ended(_) | Situation::Merging { .. })
            | (Choice::Approve, _) => return None,
            (Choice::Abort, _) => Situation::Discarding,
        };
        self.left = None;
        Some(())
    }

    /// The merge was undone, so the human has to decide again.
    fn undo(&mut self, merge: &str) -> Option<()> {
        let is_merged = matches!(&self.situation, Situation::Ended(Ending::Merged { commit }) if commit == merge);
        if !is_merged || self.left.is_none() {
            return None;
        }
        self.situation = Situation::Waiting { trouble: None };
        self.left = None;
        Some(())
    }

    /// The start of a phase, or the human's decision if no phase is left.
    fn entering(&self, phase: Phase) -> Situation {
        if phase == Phase::Complete {
            return Situation::Waiting { trouble: None };
        }
        let head = &self.progress.head;
        let mut attempt = Attempt { tree: head.tree.clone(), ..Attempt::default() };
        if phase == Phase::Green {
            let kept = self.progress.accepted.as_ref().map_or(0, |report| report.counts.passed);
            attempt.best = Some(BestAttempt {
                tree: head.tree.clone(),
                standing: TestProgress { kept, reached: 0 },
            });
        }
        Situation::Working { phase, attempt, stage: Stage::Asking }
    }

    /// Handles events that only one situation allows.
    fn advance(&mut self, event: &Event, at: i64) -> Option<()> {
        if self.left.is_some() || self.needs_worktree() {
            return None;
        }
        let situation = std::mem::replace(&mut self.situation, Situation::Discarding);
        self.situation = match (situation, event) {
            (
                Situation::Measuring { then },
                Event::Measured { report, usable, lint, failing, .. },
            ) => {
                self.lint_before.clone_from(lint);
                self.progress.accepted = Some(report.clone());
                // The note of another program does not name the tests that GREEN has to fix: take
                // the failing ones.
                if then == Phase::Green && self.progress.targets.is_empty() {
                    self.progress.targets.clone_from(failing);
                }
                if *usable {
                    // A rollback can return to where a run was adopted, but the start of a run
                    // belongs to the user.
                    let waypoint = Waypoint { progress: self.progress.clone(), next: then };
                    match self.progress.handoff {
                        Some(_) => self.trail.push(waypoint),
                        None => self.start = Some(waypoint),
                    }
                    self.entering(then)
                } else {
                    let message = report.summary.clone();
                    Situation::Unmeasurable {
                        then,
                        trouble: AttemptFailure { kind: "baseline".to_owned(), message },
                    }
                }
            }
            (Situation::Working { phase, attempt, stage }, event) => {
                self.work(phase, attempt, stage, event, at)?
            }
            (Situation::Reverting { phase, attempt, trouble, stage }, event) => {
                self.revert(phase, attempt, trouble, stage, event)?
            }
            (Situation::Reviewing(review), event) => self.review(*review, event)?,
            (Situation::Merging { .. }, Event::Merged { commit }) => {
                Situation::Ended(Ending::Merged { commit: commit.clone() })
            }
            (Situation::Merging { .. }, Event::MergeBlocked { trouble }) => {
                Situation::Waiting { trouble: Some(trouble.clone()) }
            }
            (Situation::Discarding, Event::Discarded { .. }) => Situation::Ended(Ending::Aborted),
            _ => return None,
        };
        Some(())
    }
}

impl Situation {
    /// The current phase.
    pub fn phase(&self) -> Phase {
        match self {
            Situation::Measuring { then } | Situation::Unmeasurable { then, .. } => *then,
            Situation::Working { phase, .. }
            | Situation::Reverting { phase, .. }
            | Situation::Halted { phase, .. } => *phase,
            Situation::Paused { next, .. } => *next,
            Situation::Reviewing(review) => review.before.phase(),
            Situation::Waiting { .. }
            | Situation::Merging { .. }
            | Situation::Discarding
            | Situation::Ended(_) => Phase::Complete,
        }
    }

    pub fn name(&self) -> &'static str {
        match self {
            Situation::Measuring { .. } => "measuring",
            Situation::Unmeasurable { .. } => "unmeasurable",
            Situation::Working { .. } => "working",
            Situation::Reverting { .. } => "reverting",
            Situation::Halted { .. } => "halted",
            Situation::Paused { .. } => "paused",
            Situation::Waiting { .. } => "waiting",
            Situation::Reviewing(_) => "reviewing",
            Situation::Merging { .. } => "merging",
            Situation::Discarding => "discarding",
            Situation::Ended(_) => "ended",
        }
    }
}

/// The role that works in a phase.
pub fn role_of(phase: Phase) -> Role {
    match phase {
        Phase::Plan | Phase::Complete => Role::TestList,
        Phase::Red => Role::Test,
        Phase::Green => Role::Implementing,
        Phase::Refactor => Role::Refactor,
    }
}

impl Attempt {
    /// The role to ask: the test agent writes tests, in GREEN too.
    pub(crate) fn role(&self, phase: Phase) -> Role {
        if self.covering.is_some() { Role::Test } else { role_of(phase) }
    }
}

#[cfg(test)]
mod tests;
