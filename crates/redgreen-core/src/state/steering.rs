//! What a user tells a run on its way: words, another plan, a pause between phases and what they made of it.

use super::{Situation, Stage, State, Waypoint};
use crate::agent::Trouble;
use crate::event::Outcome;
use crate::names::Oid;
use crate::phase::Phase;

/// Why RED is asked again.
pub const REJECTED: &str = "test.rejected";

/// What the user told the run on its way.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Steering {
    /// Words for the agents, oldest first. Every later turn is told.
    pub messages: Vec<String>,
    /// The list as the user edited it, until planning was accepted with it.
    pub plan: Option<String>,
    /// A planner has begun with that list.
    plan_shown: bool,
    /// The files that brought all this: a crash between the journal and their removal makes none count twice.
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

    /// Planning was accepted. An edit that came after the planner's turn is for the next one.
    pub(super) fn planned(&mut self) {
        if self.plan_shown {
            self.plan = None;
        }
    }
}

impl State {
    /// The phase whose accepted or refused work a user may have changed by hand since the run stopped.
    pub fn editable(&self) -> Option<Phase> {
        match &self.situation {
            // The plan has its own way: `redgreen plan`.
            Situation::Paused { after: Phase::Plan, .. } => None,
            Situation::Paused { after, .. } => Some(*after),
            Situation::Working { phase, attempt, stage: Stage::EditRefused { .. } | Stage::Doubting { .. } }
                if attempt.edited =>
            {
                Some(*phase)
            }
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

    /// Where the run stood before it last began a phase.
    pub fn before(&self, phase: Phase) -> Option<&Waypoint> {
        self.trail.iter().rev().chain(&self.start).find(|waypoint| waypoint.next == phase)
    }

    /// Where the run stood before the test of the cycle under way; `None` when that cycle has no accepted test.
    pub fn before_test(&self) -> Option<&Waypoint> {
        let is_after_red = match &self.situation {
            Situation::Paused { after, .. } => *after != Phase::Plan,
            // What they made of an accepted test was refused.
            Situation::Working { attempt, .. } if attempt.edited => true,
            Situation::Working { phase, .. } | Situation::Reverting { phase, .. } | Situation::Halted { phase, .. } => {
                matches!(phase, Phase::Green | Phase::Refactor)
            }
            Situation::Reviewing(review) => matches!(review.before.phase(), Phase::Green | Phase::Refactor),
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

    /// The open items are the user's from now on; planning goes on from the whole text.
    pub(super) fn edit_plan(&mut self, id: &str, text: &str, pending: &[String]) -> Option<()> {
        self.take(id)?;
        self.steering.plan = Some(text.to_owned());
        self.steering.plan_shown = false;
        self.progress.pending = pending.to_vec();
        if self.left.is_none() && matches!(self.situation, Situation::Waiting { .. }) {
            self.situation = self.planning_anew();
        }
        Some(())
    }

    pub(super) fn reject_test(&mut self, to: &Oid, message: &str) -> Option<()> {
        if self.before_test()?.progress.head.commit != *to {
            return None;
        }
        self.go_back_to(to)?;
        self.steering.messages.push(format!("I rejected the test that was accepted for this: {message}"));
        if let Situation::Working { attempt, .. } = &mut self.situation {
            let message = format!("the user rejected the test: {message}");
            attempt.trouble = Some(Trouble { kind: REJECTED.to_owned(), message });
        }
        Some(())
    }

    pub(super) fn edit_work(&mut self, to: &Oid, tree: &Oid) -> Option<()> {
        if self.before(self.editable()?)?.progress.head.commit != *to {
            return None;
        }
        // The tests beside an accepted RED are still withheld, and tried again.
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

    /// What comes after an accepted phase.
    pub(super) fn pausing(&self, after: Phase, next: Phase) -> Situation {
        // Where nothing is left to do, the run waits for its approval anyway.
        if next != Phase::Complete && self.run.policy.pause_after.contains(&after) {
            return Situation::Paused { after, next };
        }
        self.entering(next)
    }

    /// Where a resumed run goes on that the user stopped on purpose, or that was done before they added to its plan.
    /// A run that was killed before it could say that it pauses does so now.
    pub(super) fn after_pause(&mut self, left: Option<&Outcome>) -> Option<Situation> {
        let is_edited = self.steering.plan.is_some();
        let has_paused = matches!(left, Some(Outcome::Paused { .. }));
        match &self.situation {
            Situation::Paused { after: Phase::Plan, .. } | Situation::Waiting { .. } if is_edited => {
                Some(self.planning_anew())
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

    fn planning_anew(&mut self) -> Situation {
        self.progress.current = None;
        self.progress.more = self.run.brief.batch().is_some();
        self.entering(Phase::Plan)
    }

    /// Back to an accepted commit, or to where the run started.
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

    /// A message counts once, and not in a run that is over.
    fn take(&mut self, id: &str) -> Option<()> {
        if self.steering.has(id) || self.is_over() {
            return None;
        }
        self.steering.taken.push(id.to_owned());
        Some(())
    }
}
