//! Several attempts at one phase: they are collected and compared, and the chosen one is taken over
//! as if it had been the only one.

use super::{Attempt, Situation, Stage, State};
use crate::attempts::{self, AttemptStep, Candidate, Comparison, Selection};
use crate::event::Event;
use crate::phase::Phase;

impl State {
    /// Whether the next turn of this phase is made by several agents side by side. Attempts that
    /// ended are used even if the user has turned the setting off since.
    pub fn tries_several(&self, phase: Phase, attempt: &Attempt) -> bool {
        let wanted = &self.run.policy.attempts;
        let is_wanted = wanted.number > 1 && wanted.phases.contains(&phase);
        attempt.covering.is_none() && (is_wanted || !attempt.candidates.is_empty())
    }

    /// The attempts of which a human has to choose one, if the evidence about them is equal.
    pub fn tied(&self) -> Option<&[Candidate]> {
        let candidates = self.candidates();
        let missing = attempts::missing(candidates, self.run.policy.attempts.number);
        let is_tie = matches!(attempts::next(candidates), Some(AttemptStep::Tie { .. }));
        (is_tie && missing.is_empty()).then_some(candidates)
    }

    /// The attempts of the current round that ended.
    pub fn candidates(&self) -> &[Candidate] {
        if let Situation::Working { attempt, stage: Stage::Asking, .. } = &self.situation {
            return &attempt.candidates;
        }
        &[]
    }

    /// How the work of the current phase was chosen, if it was one of several attempts.
    pub fn selection(&self) -> Option<&Selection> {
        let Situation::Working { attempt, .. } = &self.situation else { return None };
        attempt.selection.as_deref()
    }

    /// Whether an event repeats what the chosen attempt recorded.
    pub(super) fn is_taken_over(&self, event: &Event) -> bool {
        let Situation::Working { attempt, .. } = &self.situation else { return false };
        attempt.taken.first() == Some(event)
    }

    /// An attempt ended, all were compared, or one was chosen.
    pub(super) fn compete(&self, phase: Phase, attempt: &mut Attempt, event: &Event) -> Option<()> {
        if !self.tries_several(phase, attempt) {
            return None;
        }
        let role = attempt.role(phase);
        let candidates = &mut attempt.candidates;
        if let Event::Attempted { candidate } = event {
            let is_known = candidates.iter().any(|known| known.number == candidate.number);
            if is_known || !candidate.is_attempt_at(phase, role) {
                return None;
            }
            candidates.push((**candidate).clone());
            candidates.sort_by_key(|candidate| candidate.number);
        }
        if let Event::Compared { results, .. } = event {
            for Comparison { number, others } in results {
                let known = candidates.iter_mut().find(|known| known.number == *number)?;
                known.others = Some(*others);
            }
        }
        // The journal says who was chosen, even if a later version would choose another one.
        if let Event::Chosen { choice } = event {
            let chosen = candidates.iter().find(|known| known.number == choice.number)?;
            attempt.taken.clone_from(&chosen.events);
            attempt.selection = Some(Box::new(Selection::of(choice, candidates)));
            attempt.candidates.clear();
        }
        Some(())
    }
}
