//! What a user tells a running run: messages, another plan, a pause between phases and edits during
//! it.

use super::{Situation, Stage, State, Waypoint};
use crate::agent::AttemptFailure;
use crate::event::Outcome;
use crate::names::Oid;
use crate::phase::Phase;

/// The reason for another RED turn.
pub const REJECTED: &str = "test.rejected";

/// What the user told the run.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Steering {
    /// Messages for the agents, oldest first. Every later turn gets them.
    pub messages: Vec<String>,
    /// The list as the user edited it, until planning with it is accepted.
    pub plan: Option<String>,
    /// A planner has started with that list.
    plan_shown: bool,
    /// The run pauses after the current phase.
    pub pause: bool,
    /// The ids of processed message files. After a crash between the journal entry and the file's
    /// removal, no message counts twice.
    taken: Vec<String>,
}

impl Steering {
    /// Whether the message of this file is in the journal.
    pub fn has(&self, id: &str) -> bool {
        self.taken.iter().any(|known| known == id)
    }

    /// An agent ended a turn of this phase.
    pub(super) fn shown(&mut self, phase: Phase) {
        self.plan_shown = phase == Phase::Plan && self.plan.is_some();
    }

    /// Planning was accepted. An edit after the planner's turn is for the next planning.
    pub(super) fn planned(&mut self) {
        if self.plan_shown {
            self.plan = None;
        }
    }
}

impl State {
    /// The phase whose accepted or refused work the user may have edited since the run stopped.
    pub fn editable(&self) -> Option<Phase> {
        match &self.situation {
            // Users edit the plan with `redgreen plan`.
            Situation::Paused { after: Phase::Plan, .. } => None,
            Situation::Paused { after, .. } => Some(*after),
            Situation::Working {
                phase,
                attempt,
                stage: Stage::EditRefused { .. } | Stage::Doubting { .. },
            } if attempt.edited => Some(*phase),
            Situation::Measuring { .. }
            | Situation::Unmeasurable { .. }
            | Situation::Working { .. }
            | Situation::Reverting { .. }
            | Situation::Halted { .. }
            | Situation::Waiting { .. }
            | Situation::Reviewing(_)
            | Situation::Merging { .. }
            | Situation::Discarding
            | Situation::Ended(_) => None,
        }
    }

    /// The state before the run last started a phase.
    pub fn before(&self, phase: Phase) -> Option<&Waypoint> {
        self.trail.iter().rev().chain(&self.start).find(|waypoint| waypoint.next == phase)
    }

    /// The state before the test of the current cycle; `None` if the cycle has no accepted test.
    pub fn before_test(&self) -> Option<&Waypoint> {
        let is_after_red = match &self.situation {
            Situation::Paused { after, .. } => *after != Phase::Plan,
            // The user's edit of an accepted test was refused.
            Situation::Working { attempt, .. } if attempt.edited => true,
            Situation::Working { phase, .. }
            | Situation::Reverting { phase, .. }
            | Situation::Halted { phase, .. } => {
                matches!(phase, Phase::Green | Phase::Refactor)
            }
            Situation::Reviewing(review) => {
                matches!(review.before.phase(), Phase::Green | Phase::Refactor)
            }
            Situation::Measuring { .. }
            | Situation::Unmeasurable { .. }
            | Situation::Waiting { .. }
            | Situation::Merging { .. }
            | Situation::Discarding
            | Situation::Ended(_) => false,
        };
        self.before(Phase::Red).filter(|_| is_after_red)
    }

    pub(super) fn hear(&mut self, id: &str, message: &str) -> Option<()> {
        self.take(id)?;
        self.steering.messages.push(message.to_owned());
        Some(())
    }

    pub(super) fn ask_pause(&mut self, id: &str) -> Option<()> {
        self.take(id)?;
        self.steering.pause = true;
        Some(())
    }

    /// Replaces the open items with the user's; planning continues from the whole text.
    pub(super) fn edit_plan(&mut self, id: &str, text: &str, pending: &[String]) -> Option<()> {
        self.take(id)?;
        self.steering.plan = Some(text.to_owned());
        self.steering.plan_shown = false;
        self.progress.pending = pending.to_vec();
        if self.left.is_none() && matches!(self.situation, Situation::Waiting { .. }) {
            self.situation = self.plan_again();
        }
        Some(())
    }

    pub(super) fn reject_test(&mut self, to: &Oid, message: &str) -> Option<()> {
        if self.before_test()?.progress.head.commit != *to {
            return None;
        }
        self.go_back_to(to)?;
        self.steering
            .messages
            .push(format!("I rejected the test that was accepted for this: {message}"));
        if let Situation::Working { attempt, .. } = &mut self.situation {
            let message = format!("the user rejected the test: {message}");
            attempt.trouble = Some(AttemptFailure { kind: REJECTED.to_owned(), message });
        }
        Some(())
    }

    pub(super) fn edit_work(&mut self, to: &Oid, tree: &Oid) -> Option<()> {
        if self.before(self.editable()?)?.progress.head.commit != *to {
            return None;
        }
        // The tests of an accepted RED are still withheld and run again.
        let withheld = if let Situation::Working { attempt, .. } = &self.situation {
            attempt.withheld.clone()
        } else {
            self.progress.withheld.clone()
        };
        self.go_back_to(to)?;
        if let Situation::Working { phase, attempt, stage } = &mut self.situation {
            attempt.withheld = withheld.filter(|_| *phase == Phase::Red);
            attempt.tree = tree.clone();
            attempt.human = true;
            attempt.edited = true;
            *stage = Stage::Judging { answer: String::new() };
        }
        Some(())
    }

    /// The situation after an accepted phase.
    pub(super) fn pausing(&self, after: Phase, next: Phase) -> Situation {
        // If nothing is left to do, the run waits for approval anyway.
        let is_wanted = self.steering.pause || self.run.policy.pause_after.contains(&after);
        if next != Phase::Complete && is_wanted {
            return Situation::Paused { after, next };
        }
        self.entering(next)
    }

    /// The situation of a resumed run that the user paused, or that was done before they extended
    /// its plan. A run that was killed before it could pause does so now.
    pub(super) fn after_pause(&mut self, left: Option<&Outcome>) -> Option<Situation> {
        let is_edited = self.steering.plan.is_some();
        let has_paused = matches!(left, Some(Outcome::Paused { .. }));
        match &self.situation {
            Situation::Paused { after: Phase::Plan, .. } | Situation::Waiting { .. }
                if is_edited =>
            {
                Some(self.plan_again())
            }
            Situation::Paused { next, .. } if has_paused => Some(self.entering(*next)),
            Situation::Paused { .. }
            | Situation::Measuring { .. }
            | Situation::Unmeasurable { .. }
            | Situation::Working { .. }
            | Situation::Reverting { .. }
            | Situation::Halted { .. }
            | Situation::Waiting { .. }
            | Situation::Reviewing(_)
            | Situation::Merging { .. }
            | Situation::Discarding
            | Situation::Ended(_) => None,
        }
    }

    fn plan_again(&mut self) -> Situation {
        self.progress.current = None;
        self.progress.more = self.run.brief.batch().is_some();
        self.entering(Phase::Plan)
    }

    /// Returns to an accepted commit or to the start of the run.
    fn go_back_to(&mut self, to: &Oid) -> Option<()> {
        match &self.start {
            Some(start) if start.progress.head.commit == *to => {
                let start = start.clone();
                self.trail.clear();
                self.enter_at(start);
                Some(())
            }
            Some(_) | None => self.roll_back(to),
        }
    }

    pub(super) fn enter_at(&mut self, waypoint: Waypoint) {
        self.progress = waypoint.progress;
        self.situation = self.entering(waypoint.next);
        self.left = None;
        self.prepared = false;
    }

    /// A message counts once, and not after the end of a run.
    fn take(&mut self, id: &str) -> Option<()> {
        if self.steering.has(id) || self.is_over() {
            return None;
        }
        self.steering.taken.push(id.to_owned());
        Some(())
    }
}
