//! The recovery table: what follows if an agent fails or its work is refused.

use super::{
    Acceptance, Attempt, BestAttempt, CoverageStep, NextTry, Reverting, Situation, Stage, State,
};
use crate::agent::{AttemptFailure, Failure};
use crate::event::StoredReport;
use crate::names::Oid;
use crate::phase::Phase;
use crate::policy::Policy;
use crate::verdict::{Code, Reason, Verdict};

impl State {
    /// Why the last attempt of the current phase failed.
    pub fn last_trouble(&self) -> Option<&AttemptFailure> {
        match &self.situation {
            Situation::Working { attempt, .. } => attempt.trouble.as_ref(),
            Situation::Measuring { .. }
            | Situation::Unmeasurable { .. }
            | Situation::Reverting { .. }
            | Situation::Halted { .. }
            | Situation::Waiting { .. }
            | Situation::Paused { .. }
            | Situation::Reviewing(_)
            | Situation::Merging { .. }
            | Situation::Discarding
            | Situation::Ended(_) => None,
        }
    }

    /// The attempt after a failed or refused one. A person has no limit, so there is none to show.
    pub fn next_try(&self) -> Option<NextTry> {
        let Situation::Working { phase, attempt, stage } = &self.situation else { return None };
        let pause_ms =
            stage.pause_before_asking().filter(|_| !attempt.human && attempt.trouble.is_some())?;
        let (policy, was_refused) = (&self.run.policy, attempt.trouble == attempt.refused);
        let retries = (attempt.retries, policy.retries_max.saturating_add(1));
        let (used, of) = match phase {
            Phase::Green if was_refused => (attempt.iteration, policy.iterations_max),
            Phase::Refactor if was_refused => (attempt.retries, policy.refactorings_max),
            Phase::Plan | Phase::Red | Phase::Green | Phase::Refactor | Phase::Complete => retries,
        };
        Some(NextTry { number: used.saturating_add(1), of, pause_ms })
    }

    pub(super) fn agent_failed(
        &self,
        phase: Phase,
        mut attempt: Attempt,
        failure: Failure,
        trouble: AttemptFailure,
        tree: &Oid,
        at: i64,
    ) -> Situation {
        attempt.retries += 1;
        let asked = match failure {
            Failure::RateLimit { retry_after_ms } => retry_after_ms,
            Failure::Timeout => {
                attempt.timeouts += 1;
                None
            }
            Failure::Crash => None,
            Failure::Unusable => {
                attempt.retries -= 1;
                let stage = restored(&attempt.tree, tree, Stage::Unable { trouble });
                return Situation::Working { phase, attempt, stage };
            }
            Failure::Budget => {
                attempt.retries -= 1;
                attempt.tree.clone_from(tree);
                attempt.trouble = Some(AttemptFailure {
                    message: format!(
                        "an earlier turn was interrupted, and its edits are still there: {}",
                        trouble.message
                    ),
                    kind: trouble.kind,
                });
                return Situation::Working {
                    phase,
                    attempt,
                    stage: Stage::Spent { what: trouble.message },
                };
            }
        };
        if attempt.retries > self.run.policy.retries_max {
            return self.gave_up(phase, attempt, trouble, tree, at);
        }
        let ms = self.run.policy.pause_ms(attempt.retries, asked);
        let stage = restored(&attempt.tree, tree, Stage::Pausing { ms });
        Situation::Working { phase, attempt, stage }
    }

    /// A person's turn that did not finish: their files stay, and they are asked again. After
    /// repeated silence the run stops until someone resumes it.
    pub(super) fn person_stopped(
        &self,
        phase: Phase,
        mut attempt: Attempt,
        failure: Failure,
        trouble: AttemptFailure,
        tree: &Oid,
    ) -> Situation {
        attempt.tree.clone_from(tree);
        let nobody_there = match failure {
            Failure::Timeout => {
                attempt.timeouts = attempt.timeouts.saturating_add(1);
                attempt.timeouts > self.run.policy.retries_max
            }
            Failure::Crash => false,
            Failure::RateLimit { .. } | Failure::Unusable | Failure::Budget => true,
        };
        let stage = if nobody_there { Stage::Unable { trouble } } else { Stage::Asking };
        Situation::Working { phase, attempt, stage }
    }

    /// A person sees the reason and continues from their own work: nothing is rolled back, and
    /// there is no limit.
    fn refused_person(phase: Phase, mut attempt: Attempt) -> Situation {
        let tries =
            if phase == Phase::Green { &mut attempt.iteration } else { &mut attempt.retries };
        *tries = tries.saturating_add(1);
        Situation::Working { phase, attempt, stage: Stage::Asking }
    }

    pub(super) fn refused(
        &self,
        phase: Phase,
        mut attempt: Attempt,
        verdict: &Verdict,
        at: i64,
    ) -> Situation {
        let trouble = told(verdict);
        attempt.trouble = Some(trouble.clone());
        attempt.refused = Some(trouble.clone());
        attempt.diagnosis = None;
        if attempt.human {
            return Self::refused_person(phase, attempt);
        }
        match phase {
            Phase::Green => self.refused_green(attempt, verdict, trouble, at),
            Phase::Plan | Phase::Red | Phase::Refactor | Phase::Complete => {
                attempt.retries += 1;
                let used_up = match phase {
                    Phase::Refactor => attempt.retries >= self.run.policy.refactorings_max,
                    Phase::Plan | Phase::Red | Phase::Green | Phase::Complete => {
                        attempt.retries > self.run.policy.retries_max
                    }
                };
                if used_up {
                    let holds = attempt.tree.clone();
                    return self.gave_up(phase, attempt, trouble, &holds, at);
                }
                let head = &self.progress.head.tree;
                let pausing =
                    Stage::Pausing { ms: self.run.policy.pause_ms(attempt.retries, None) };
                let roll_back = match phase {
                    Phase::Plan | Phase::Complete => {
                        verdict.reasons.iter().any(|reason| reason.code == Code::PlanTouchesCode)
                    }
                    Phase::Red => verdict.standing.is_none(),
                    Phase::Green | Phase::Refactor => true,
                };
                let stage =
                    if roll_back { restored(head, &attempt.tree, pausing) } else { pausing };
                Situation::Working { phase, attempt, stage }
            }
        }
    }

    /// GREEN keeps the agent's edits while they improve, and otherwise returns to the best state.
    pub(super) fn refused_green(
        &self,
        mut attempt: Attempt,
        verdict: &Verdict,
        mut trouble: AttemptFailure,
        at: i64,
    ) -> Situation {
        let policy = &self.run.policy;
        attempt.iteration += 1;
        attempt.notice(verdict);
        let used_up =
            (attempt.iteration >= policy.iterations_max).then(|| used_up(attempt.iteration));
        if let Some(why) = attempt.stuck(policy).or(used_up) {
            trouble.message = format!("{why}\n{}", trouble.message);
            let holds = attempt.tree.clone();
            return self.gave_up(Phase::Green, attempt, trouble, &holds, at);
        }
        if let Some(covering) = &attempt.covering {
            let stage = restored(&covering.tree.clone(), &attempt.tree, Stage::Asking);
            return Situation::Working { phase: Phase::Green, attempt, stage };
        }
        if !policy.keep_partial {
            let stage = restored(&self.progress.head.tree, &attempt.tree, Stage::Diagnosing);
            return Situation::Working { phase: Phase::Green, attempt, stage };
        }
        let best = attempt.best.as_ref();
        let worse = verdict
            .standing
            .is_none_or(|standing| best.is_some_and(|best| standing < best.standing));
        let better =
            |best: &BestAttempt| verdict.standing.is_some_and(|standing| standing > best.standing);
        // Code that does not build says little about its quality. Report what is missing, and keep
        // the edits.
        let unbuilt = verdict.standing.is_some()
            && verdict.reasons.iter().any(|reason| reason.code == Code::GreenDoesNotCompile);
        let stage = match best {
            Some(best) if unbuilt && !better(best) => Stage::Diagnosing,
            Some(best) if worse => restored(&best.tree, &attempt.tree, Stage::Diagnosing),
            Some(_) | None => {
                if let Some(standing) = verdict.standing {
                    attempt.best = Some(BestAttempt { tree: attempt.tree.clone(), standing });
                }
                Stage::Diagnosing
            }
        };
        Situation::Working { phase: Phase::Green, attempt, stage }
    }

    /// The code passes, but the tests cover too little: ask the test agent for more tests, not the
    /// implementer.
    pub(super) fn uncovered(
        &self,
        mut attempt: Attempt,
        verdict: &Verdict,
        report: Option<&StoredReport>,
        at: i64,
    ) -> Situation {
        let trouble = told(verdict);
        attempt.iteration = attempt.iteration.saturating_add(1);
        attempt.trouble = Some(trouble.clone());
        attempt.refused = Some(trouble.clone());
        attempt.diagnosis = None;
        if !attempt.human && attempt.iteration >= self.run.policy.iterations_max {
            let message = format!("{}\n{}", used_up(attempt.iteration), trouble.message);
            let holds = attempt.tree.clone();
            return self.gave_up(
                Phase::Green,
                attempt,
                AttemptFailure { message, ..trouble },
                &holds,
                at,
            );
        }
        attempt.covering =
            Some(CoverageStep { tree: attempt.tree.clone(), report: report.cloned() });
        Situation::Working { phase: Phase::Green, attempt, stage: Stage::Asking }
    }

    /// A failed refactoring keeps the green code. Every other phase is rolled back and halts the
    /// run. `holds` is the current worktree.
    pub(super) fn gave_up(
        &self,
        phase: Phase,
        attempt: Attempt,
        trouble: AttemptFailure,
        holds: &Oid,
        at: i64,
    ) -> Situation {
        if phase != Phase::Refactor {
            return Situation::Reverting { phase, attempt, trouble, stage: Reverting::Restoring };
        }
        let head = self.progress.head.tree.clone();
        let verdict = Verdict::accepted(Reason::new(Code::RefactorGivenUp, trouble.message));
        let acceptance = Acceptance {
            tree: head.clone(),
            verdict,
            report: None,
            planning: None,
            written: None,
            test_file: None,
            withheld: None,
            joined: None,
            at,
        };
        let committing = Stage::Committing { acceptance: Box::new(acceptance) };
        let stage = restored(&head, holds, committing);
        Situation::Working { phase, attempt, stage }
    }
}

impl Stage {
    /// The pause in milliseconds, if an agent is asked next.
    fn pause_before_asking(&self) -> Option<u64> {
        match self {
            Stage::Pausing { ms } => Some(*ms),
            Stage::Asking | Stage::Diagnosing => Some(0),
            Stage::Restoring { then, .. } => then.pause_before_asking(),
            Stage::Unable { .. }
            | Stage::Spent { .. }
            | Stage::Judging { .. }
            | Stage::Doubting { .. }
            | Stage::Contested { .. }
            | Stage::EditRefused { .. }
            | Stage::Linting { .. }
            | Stage::Recording
            | Stage::Committing { .. }
            | Stage::Noting { .. } => None,
        }
    }
}

impl Attempt {
    pub(super) fn notice(&mut self, verdict: &Verdict) {
        let mut failing: Vec<String> = verdict
            .reasons
            .iter()
            .map(|reason| reason.test.clone().unwrap_or_else(|| reason.sentence.clone()))
            .collect();
        failing.sort();
        self.same_failures = if failing == self.failing { self.same_failures + 1 } else { 1 };
        self.failing = failing;
        if self.seen.contains(&self.tree) {
            self.repeats += 1;
        }
        self.seen.push(self.tree.clone());
    }

    pub(super) fn stuck(&self, policy: &Policy) -> Option<String> {
        if self.repeats >= policy.repeats_max {
            return Some(format!(
                "the agent is stuck: it returned the same code {} times",
                self.repeats
            ));
        }
        (self.same_failures >= policy.same_failures_max && self.iteration < policy.iterations_max)
            .then(|| {
                format!(
                    "the agent is stuck: the same failures {} times in a row",
                    self.same_failures
                )
            })
    }
}

/// Restores `wanted` first if the worktree has different contents.
pub(super) fn restored(wanted: &Oid, holds: &Oid, then: Stage) -> Stage {
    if wanted == holds {
        then
    } else {
        Stage::Restoring { tree: wanted.clone(), then: Box::new(then) }
    }
}

fn used_up(iterations: u32) -> String {
    match iterations {
        1 => "1 iteration is used up".to_owned(),
        more => format!("{more} iterations are used up"),
    }
}

pub(super) fn told(verdict: &Verdict) -> AttemptFailure {
    let kind = verdict.first().map_or("refused", |reason| reason.code.as_str()).to_owned();
    AttemptFailure { kind, message: verdict.sentences() }
}
