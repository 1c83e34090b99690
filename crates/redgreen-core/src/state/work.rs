//! A phase from its first turn to its handoff, and the rollback when its attempts are used up.

use super::recovery::{restored, told};
use super::{Acceptance, Attempt, Refactoring, Reverting, Situation, Stage, State, Waypoint};
use crate::agent::{AttemptFailure, Failure, Turn};
use crate::event::{Event, Mark};
use crate::handoff::Handoff;
use crate::phase::{Phase, Role};
use crate::verdict::{Code, Decision, Reason, Verdict};

impl State {
    pub(super) fn work(
        &mut self,
        phase: Phase,
        mut attempt: Attempt,
        stage: Stage,
        event: &Event,
        at: i64,
    ) -> Option<Situation> {
        if !attempt.taken.is_empty() {
            // Until all of the chosen attempt is taken over, nothing else happens.
            let is_next = attempt.taken.first() == Some(event);
            is_next.then(|| attempt.taken.remove(0))?;
        }
        let stage = match (stage, event) {
            (
                Stage::Asking,
                Event::Attempted { .. } | Event::Compared { .. } | Event::Chosen { .. },
            ) => {
                self.compete(phase, &mut attempt, event)?;
                Stage::Asking
            }
            (Stage::Pausing { .. }, Event::Paused) => Stage::Asking,
            (Stage::Asking, Event::Turned { role, turn, tree, human, list, withheld, .. })
                if *role == attempt.role(phase) =>
            {
                attempt.human = *human;
                self.steering.shown(phase);
                match turn {
                    Turn::Done { answer } => {
                        attempt.from = std::mem::replace(&mut attempt.tree, tree.clone());
                        attempt.withheld.clone_from(withheld);
                        attempt.list.clone_from(list);
                        Stage::Judging { answer: answer.clone() }
                    }
                    Turn::Failed { failure, message } => {
                        // An agent's failed turn keeps its edits only if the budget ended it.
                        if *human || *failure == Failure::Budget {
                            attempt.withheld.clone_from(withheld);
                        }
                        let trouble = AttemptFailure {
                            kind: failure.as_str().to_owned(),
                            message: message.clone(),
                        };
                        attempt.trouble = Some(trouble.clone());
                        return Some(match human {
                            true => self.person_stopped(phase, attempt, *failure, trouble, tree),
                            false => self.agent_failed(phase, attempt, *failure, trouble, tree, at),
                        });
                    }
                }
            }
            (
                Stage::Judging { answer },
                Event::Judged {
                    phase: judged,
                    verdict,
                    report,
                    planned,
                    written,
                    test_file,
                    withheld,
                    joined,
                    ..
                },
            ) if *judged == phase => {
                let acceptance = Acceptance {
                    tree: joined.as_ref().map_or(&attempt.tree, |joined| &joined.tree).clone(),
                    verdict: verdict.clone(),
                    report: report.clone(),
                    planning: planned.clone(),
                    written: *written,
                    test_file: test_file.clone(),
                    withheld: withheld.clone(),
                    joined: joined.as_deref().cloned(),
                    at,
                };
                match verdict.decision {
                    // Without a plan the next test is unknown, and "nothing" would mean "done".
                    Decision::Accepted if phase == Phase::Plan && planned.is_none() => return None,
                    Decision::Accepted => self.lint_or_commit(phase, acceptance),
                    Decision::Undecided if verdict.is_contest() => {
                        Stage::Contested { trouble: told(verdict) }
                    }
                    Decision::Undecided => Stage::Doubting { answer, trouble: told(verdict) },
                    Decision::Refused if attempt.edited => {
                        Stage::EditRefused { trouble: told(verdict) }
                    }
                    Decision::Refused if verdict.lacks_coverage() => {
                        return Some(self.uncovered(attempt, verdict, report.as_ref(), at));
                    }
                    Decision::Refused => return Some(self.refused(phase, attempt, verdict, at)),
                }
            }
            (Stage::Linting { acceptance }, Event::Linted { findings, criteria, .. }) => {
                if findings.is_empty() && criteria.is_empty() {
                    Stage::Committing { acceptance }
                } else {
                    let code =
                        if phase == Phase::Green { Code::GreenLint } else { Code::RefactorLint };
                    let found = findings.iter().map(|finding| Reason::new(code, finding));
                    let unmet = criteria.iter().map(|said| Reason::new(Code::TaskCriteria, said));
                    let mut verdict = Verdict::refused(found.chain(unmet).collect());
                    verdict.standing = acceptance.verdict.standing;
                    if attempt.edited {
                        let stage = Stage::EditRefused { trouble: told(&verdict) };
                        return Some(Situation::Working { phase, attempt, stage });
                    }
                    return Some(self.refused(phase, attempt, &verdict, at));
                }
            }
            (Stage::Restoring { tree, then }, Event::Restored { .. }) => {
                // A rollback also drops the tests that were withheld with the work.
                if tree == self.progress.head.tree {
                    attempt.withheld = None;
                }
                attempt.tree = tree;
                *then
            }
            (Stage::Diagnosing, Event::Turned { role: Role::Diagnosis, turn, tree, .. }) => {
                attempt.diagnosis = match turn {
                    Turn::Done { answer } => {
                        Some(answer.clone()).filter(|answer| !answer.trim().is_empty())
                    }
                    Turn::Failed { .. } => None,
                };
                restored(&attempt.tree, tree, Stage::Recording)
            }
            (Stage::Recording, Event::Recorded { .. }) => Stage::Asking,
            (Stage::Committing { acceptance }, Event::Committed { mark }) => {
                let next = self.settle(phase, &attempt, &acceptance, mark);
                attempt.tree.clone_from(&mark.tree);
                Stage::Noting { acceptance, next }
            }
            (Stage::Noting { next, .. }, Event::Noted { handoff, .. }) => {
                return Some(self.hand_over(phase, next, handoff, attempt.edited));
            }
            _ => return None,
        };
        Some(Situation::Working { phase, attempt, stage })
    }

    pub(super) fn lint_or_commit(&self, phase: Phase, acceptance: Acceptance) -> Stage {
        let lints = matches!(phase, Phase::Green | Phase::Refactor)
            && !(self.run.linters.is_empty() && self.run.brief.convergence.is_empty())
            && acceptance.tree != self.progress.head.tree;
        let acceptance = Box::new(acceptance);
        if lints { Stage::Linting { acceptance } } else { Stage::Committing { acceptance } }
    }

    /// Adds an accepted commit to the progress and returns the next phase.
    pub(super) fn settle(
        &mut self,
        phase: Phase,
        attempt: &Attempt,
        acceptance: &Acceptance,
        mark: &Mark,
    ) -> Phase {
        let progress = &mut self.progress;
        progress.head = mark.clone();
        if let Some(report) = &acceptance.report {
            progress.accepted = Some(report.clone());
        }
        if phase == Phase::Refactor {
            progress.refactorings.push(Refactoring::of(&acceptance.verdict));
        }
        match phase {
            Phase::Plan => {
                if let Some(planning) = &acceptance.planning {
                    // The planner's claims about done items do not count: only accepted cycles
                    // complete an item.
                    progress.current.clone_from(&planning.next);
                    progress.pending.clone_from(&planning.pending);
                    progress.removed.extend(planning.removed.iter().cloned());
                    progress.removed.retain(|item| !planning.pending.contains(item));
                }
                progress.remarks.clone_from(&attempt.list);
                self.steering.planned();
                if progress.current.is_some() { Phase::Red } else { Phase::Complete }
            }
            Phase::Red => {
                progress.targets.clone_from(&acceptance.verdict.targets);
                // Journals of earlier versions do not have the number; each new failure is at least
                // one test.
                let failing = u64::try_from(acceptance.verdict.targets.len()).unwrap_or(u64::MAX);
                progress.written =
                    progress.written.saturating_add(acceptance.written.unwrap_or(failing));
                progress.withheld.clone_from(&acceptance.withheld);
                // If all tests are written at once, their file was not known before.
                if let (Some(current), Some(file)) = (&mut progress.current, &acceptance.test_file)
                    && current.test_file.is_empty()
                {
                    current.test_file.clone_from(file);
                }
                Phase::Green
            }
            Phase::Green => {
                progress.iterations.push(attempt.iteration + 1);
                progress.withheld = None;
                let joined = acceptance.joined.as_ref().map_or(0, |joined| joined.tests);
                progress.joined = progress.joined.saturating_add(joined);
                Phase::Refactor
            }
            Phase::Refactor | Phase::Complete
                if self.run.brief.batch().is_some() && !progress.more =>
            {
                progress.completed = self.run.brief.case_names();
                progress.pending.clear();
                progress.targets.clear();
                Phase::Complete
            }
            Phase::Refactor | Phase::Complete => {
                if let Some(current) = &progress.current {
                    progress.completed.push(current.description.clone());
                    // One cycle completes only one of two items with the same text.
                    if let Some(index) =
                        progress.pending.iter().position(|item| *item == current.description)
                    {
                        progress.pending.remove(index);
                    }
                }
                progress.targets.clear();
                Phase::Plan
            }
        }
    }

    /// `seen` if the user made this change themselves, so there is no need to ask about it.
    pub(super) fn hand_over(
        &mut self,
        phase: Phase,
        next: Phase,
        handoff: &Handoff,
        seen: bool,
    ) -> Situation {
        self.progress.handoff = Some(handoff.clone());
        if phase == Phase::Refactor {
            self.progress.cycle = self.progress.cycle.saturating_add(1);
            self.progress.current = None;
        }
        self.trail.push(Waypoint { progress: self.progress.clone(), next });
        if seen { self.entering(next) } else { self.pausing(phase, next) }
    }

    pub(super) fn revert(
        &mut self,
        phase: Phase,
        mut attempt: Attempt,
        trouble: AttemptFailure,
        stage: Reverting,
        event: &Event,
    ) -> Option<Situation> {
        let retries = attempt.retries;
        let stage = match (stage, event) {
            (Reverting::Restoring, Event::Restored { .. }) => {
                attempt.tree.clone_from(&self.progress.head.tree);
                Reverting::Recording
            }
            // The commit at the start of the run is the user's, so it gets no note about failures.
            (Reverting::Recording, Event::Recorded { .. }) if self.progress.handoff.is_some() => {
                Reverting::Noting
            }
            (Reverting::Recording, Event::Recorded { .. }) => {
                return Some(Situation::Halted { phase, retries, trouble });
            }
            (Reverting::Noting, Event::Noted { handoff, .. }) => {
                self.progress.handoff = Some((**handoff).clone());
                return Some(Situation::Halted { phase, retries, trouble });
            }
            _ => return None,
        };
        Some(Situation::Reverting { phase, attempt, trouble, stage })
    }
}
