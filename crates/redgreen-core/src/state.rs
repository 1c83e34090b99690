//! Where a run stands: a fold over its events. `apply` is the only way to change it; `step::next` says what to do.

use std::collections::BTreeMap;

use crate::agent::{Failure, Trouble, Turn};
use crate::brief::TestCase;
use crate::event::{Decision as Choice, Event, Kept, Mark, Outcome, Planning, Run};
use crate::handoff::Handoff;
use crate::phase::{Phase, Role};
use crate::policy::Spent;
use crate::verdict::{Code, Decision, Reason, Standing, Verdict};

#[derive(Clone, Debug, PartialEq)]
pub struct State {
    pub run: Run,
    pub progress: Progress,
    pub situation: Situation,
    pub spent: Spent,
    /// Turns that came to their end, by role.
    pub turns: BTreeMap<Role, u32>,
    /// The worktree is known to hold what it should.
    pub prepared: bool,
    /// The engine is not at work on this run, and why.
    pub left: Option<Outcome>,
    /// Every accepted commit, for going back to it.
    pub trail: Vec<Waypoint>,
    /// Linters that were unhappy before the run began; they are not blamed on it.
    pub lint_before: Vec<String>,
    /// Reports kept so far, which names the next one's file.
    pub reports: u32,
}

/// What is accepted so far.
#[derive(Clone, Debug, PartialEq)]
pub struct Progress {
    pub cycle: u32,
    /// The commit accepted last.
    pub head: Mark,
    /// The report to compare with.
    pub accepted: Option<Kept>,
    pub current: Option<TestCase>,
    /// The tests RED made fail, while they are owed.
    pub targets: Vec<String>,
    pub completed: Vec<String>,
    pub pending: Vec<String>,
    pub handoff: Option<Handoff>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Waypoint {
    pub progress: Progress,
    pub next: Phase,
}

#[derive(Clone, Debug, PartialEq)]
pub enum Situation {
    /// The suite's colour before the run is still to be seen. `then` comes after.
    Measuring {
        then: Phase,
    },
    /// The suite does not run at all, so nothing could be judged.
    Unmeasurable {
        then: Phase,
        trouble: Trouble,
    },
    Working {
        phase: Phase,
        attempt: Attempt,
        stage: Stage,
    },
    /// The tries are used up; the phase's work is being taken back.
    Reverting {
        phase: Phase,
        attempt: Attempt,
        trouble: Trouble,
        stage: Reverting,
    },
    Halted {
        phase: Phase,
        retries: u32,
        trouble: Trouble,
    },
    /// All done; a human approves or aborts. `trouble` is why a merge could not be made.
    Waiting {
        trouble: Option<Trouble>,
    },
    Merging,
    Discarding,
    Ended(Ending),
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ending {
    Merged { commit: String },
    Aborted,
}

/// The tries at one phase.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Attempt {
    /// Tries that came to nothing.
    pub retries: u32,
    /// Implementing turns that were judged (GREEN).
    pub iteration: u32,
    /// Turns that ran out of time; each one lengthens the limit of the next.
    pub timeouts: u32,
    /// Told to the next try.
    pub trouble: Option<Trouble>,
    pub diagnosis: Option<String>,
    /// What the worktree holds.
    pub tree: String,
    pub best: Option<Best>,
    seen: Vec<String>,
    failing: Vec<String>,
    same_failures: u32,
    repeats: u32,
}

/// The best state of GREEN so far; a worse one is rolled back to it.
#[derive(Clone, Debug, PartialEq)]
pub struct Best {
    pub tree: String,
    pub standing: Standing,
}

#[derive(Clone, Debug, PartialEq)]
pub enum Stage {
    Pausing {
        ms: u64,
    },
    Asking,
    /// The agent cannot work; a human has to mend that.
    Unable {
        trouble: Trouble,
    },
    Judging {
        answer: String,
    },
    /// The judge could not find out.
    Doubting {
        answer: String,
        trouble: Trouble,
    },
    Linting {
        acceptance: Box<Acceptance>,
    },
    Restoring {
        tree: String,
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

/// A verdict that stands, and what it stands on.
#[derive(Clone, Debug, PartialEq)]
pub struct Acceptance {
    pub tree: String,
    pub verdict: Verdict,
    pub report: Option<Kept>,
    pub planning: Option<Planning>,
    /// The commit's date, so that making it again makes the same commit.
    pub at: i64,
}

/// An event that cannot happen where the run stands: the journal is not of this program, or damaged.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Illegal {
    pub event: &'static str,
    pub situation: &'static str,
}

impl State {
    /// The state after a run's first event.
    pub fn begin(event: &Event) -> Result<Self, Illegal> {
        match event {
            Event::Started { run } => Ok(Self::new(run, &run.base, Situation::Measuring { then: Phase::Plan })),
            Event::Adopted { run, head, handoff } => Ok(Self::adopted(run, head, handoff)),
            Event::Prepared { .. }
            | Event::Measured { .. }
            | Event::Turned { .. }
            | Event::Judged { .. }
            | Event::Linted { .. }
            | Event::Paused
            | Event::Restored { .. }
            | Event::Recorded { .. }
            | Event::Committed { .. }
            | Event::Noted { .. }
            | Event::Left { .. }
            | Event::Resumed { .. }
            | Event::RolledBack { .. }
            | Event::Decided { .. }
            | Event::MergeBlocked { .. }
            | Event::Merged { .. }
            | Event::Discarded { .. } => Err(Illegal { event: event.name(), situation: "not begun" }),
        }
    }

    /// The state after `event`, which was recorded at `at` (seconds since 1970).
    pub fn apply(mut self, event: &Event, at: i64) -> Result<Self, Illegal> {
        let illegal = Illegal { event: event.name(), situation: self.situation.name() };
        self.count(event);
        match event {
            Event::Prepared { .. } if self.left.is_none() && self.needs_worktree() => self.prepared = true,
            Event::Left { outcome } if self.left.is_none() => {
                self.left = Some(outcome.clone());
                self.prepared = false;
            }
            Event::Resumed { policy } => self.resume(policy.as_deref()),
            Event::RolledBack { to, .. } => self.roll_back(to).ok_or(illegal)?,
            Event::Decided { decision } => self.decide(*decision).ok_or(illegal)?,
            Event::Prepared { .. } | Event::Left { .. } => return Err(illegal),
            Event::Measured { .. }
            | Event::Turned { .. }
            | Event::Judged { .. }
            | Event::Linted { .. }
            | Event::Paused
            | Event::Restored { .. }
            | Event::Recorded { .. }
            | Event::Committed { .. }
            | Event::Noted { .. }
            | Event::MergeBlocked { .. }
            | Event::Merged { .. }
            | Event::Discarded { .. }
            | Event::Started { .. }
            | Event::Adopted { .. } => self.advance(event, at).ok_or(illegal)?,
        }
        Ok(self)
    }

    /// What the worktree has to hold before the next step.
    pub fn expected_tree(&self) -> &str {
        match &self.situation {
            Situation::Working { attempt, .. } | Situation::Reverting { attempt, .. } => &attempt.tree,
            Situation::Measuring { .. }
            | Situation::Unmeasurable { .. }
            | Situation::Halted { .. }
            | Situation::Waiting { .. }
            | Situation::Merging
            | Situation::Discarding
            | Situation::Ended(_) => &self.progress.head.tree,
        }
    }

    /// The next step is done in a worktree that has not been seen to.
    pub fn needs_worktree(&self) -> bool {
        match &self.situation {
            Situation::Measuring { .. } | Situation::Working { .. } | Situation::Reverting { .. } => !self.prepared,
            Situation::Unmeasurable { .. }
            | Situation::Halted { .. }
            | Situation::Waiting { .. }
            | Situation::Merging
            | Situation::Discarding
            | Situation::Ended(_) => false,
        }
    }

    /// The phase under way.
    pub fn phase(&self) -> Phase {
        match &self.situation {
            Situation::Measuring { then } | Situation::Unmeasurable { then, .. } => *then,
            Situation::Working { phase, .. } | Situation::Reverting { phase, .. } | Situation::Halted { phase, .. } => {
                *phase
            }
            Situation::Waiting { .. } | Situation::Merging | Situation::Discarding | Situation::Ended(_) => {
                Phase::Complete
            }
        }
    }

    pub fn is_over(&self) -> bool {
        matches!(self.situation, Situation::Ended(_))
    }

    fn new(run: &Run, head: &Mark, situation: Situation) -> Self {
        Self {
            run: run.clone(),
            progress: Progress {
                cycle: 1,
                head: head.clone(),
                accepted: None,
                current: None,
                targets: Vec::new(),
                completed: Vec::new(),
                pending: Vec::new(),
                handoff: None,
            },
            situation,
            spent: Spent::default(),
            turns: BTreeMap::new(),
            prepared: false,
            left: None,
            trail: Vec::new(),
            lint_before: Vec::new(),
            reports: 0,
        }
    }

    fn adopted(run: &Run, head: &Mark, handoff: &Handoff) -> Self {
        let mut state = Self::new(run, head, Situation::Measuring { then: handoff.next_phase });
        let over = handoff.phase == Phase::Refactor;
        let progress = &mut state.progress;
        progress.cycle = if over { handoff.cycle_number + 1 } else { handoff.cycle_number };
        progress.current = handoff.current_test.clone().filter(|_| !over);
        progress.targets.clone_from(&handoff.targets);
        progress.completed.clone_from(&handoff.completed_tests);
        progress.pending.clone_from(&handoff.pending_tests);
        progress.handoff = Some(handoff.clone());
        state.spent = handoff.spent.clone().unwrap_or_default();
        state
    }

    fn count(&mut self, event: &Event) {
        match event {
            Event::Turned { role, cost, took_ms, .. } => {
                *self.turns.entry(*role).or_default() += 1;
                self.spent.work_ms += took_ms;
                self.spent.tokens += cost.tokens.unwrap_or(0);
                self.spent.microdollars += cost.microdollars.unwrap_or(0);
                if cost.tokens.is_none() && cost.microdollars.is_none() {
                    self.spent.unknown_turns += 1;
                }
            }
            Event::Measured { took_ms, .. } => {
                self.reports += 1;
                self.spent.work_ms += took_ms;
            }
            Event::Judged { took_ms, report, .. } => {
                self.reports += u32::from(report.is_some());
                self.spent.work_ms += took_ms;
            }
            Event::Linted { took_ms, .. } => self.spent.work_ms += took_ms,
            Event::Started { .. }
            | Event::Adopted { .. }
            | Event::Prepared { .. }
            | Event::Paused
            | Event::Restored { .. }
            | Event::Recorded { .. }
            | Event::Committed { .. }
            | Event::Noted { .. }
            | Event::Left { .. }
            | Event::Resumed { .. }
            | Event::RolledBack { .. }
            | Event::Decided { .. }
            | Event::MergeBlocked { .. }
            | Event::Merged { .. }
            | Event::Discarded { .. } => {}
        }
    }

    fn resume(&mut self, policy: Option<&crate::policy::Policy>) {
        self.left = None;
        self.prepared = false;
        if let Some(policy) = policy {
            self.run.policy = policy.clone();
        }
        match &mut self.situation {
            Situation::Unmeasurable { then, .. } => self.situation = Situation::Measuring { then: *then },
            Situation::Halted { phase, trouble, .. } => {
                let (phase, trouble) = (*phase, trouble.clone());
                self.situation = self.entering(phase);
                if let Situation::Working { attempt, .. } = &mut self.situation {
                    attempt.trouble = Some(trouble);
                }
            }
            Situation::Working { stage, .. } => match stage {
                Stage::Unable { .. } => *stage = Stage::Asking,
                Stage::Doubting { answer, .. } => *stage = Stage::Judging { answer: std::mem::take(answer) },
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
            | Situation::Waiting { .. }
            | Situation::Merging
            | Situation::Discarding
            | Situation::Ended(_) => {}
        }
    }

    fn roll_back(&mut self, to: &str) -> Option<()> {
        if matches!(self.situation, Situation::Ended(_) | Situation::Merging | Situation::Discarding) {
            return None;
        }
        let index = self.trail.iter().position(|waypoint| waypoint.progress.head.commit == to)?;
        self.trail.truncate(index + 1);
        let waypoint = self.trail.last()?.clone();
        self.progress = waypoint.progress;
        self.situation = self.entering(waypoint.next);
        self.left = None;
        self.prepared = false;
        Some(())
    }

    fn decide(&mut self, decision: Choice) -> Option<()> {
        self.situation = match (decision, &self.situation) {
            (Choice::Approve, Situation::Waiting { .. }) => Situation::Merging,
            (Choice::Abort, Situation::Ended(_) | Situation::Merging) | (Choice::Approve, _) => return None,
            (Choice::Abort, _) => Situation::Discarding,
        };
        self.left = None;
        Some(())
    }

    /// A phase at its beginning, or the human's turn when there is no phase left.
    fn entering(&self, phase: Phase) -> Situation {
        if phase == Phase::Complete {
            return Situation::Waiting { trouble: None };
        }
        let head = &self.progress.head;
        let mut attempt = Attempt { tree: head.tree.clone(), ..Attempt::default() };
        if phase == Phase::Green {
            let kept = self.progress.accepted.as_ref().map_or(0, |report| report.counts.passed);
            attempt.best = Some(Best { tree: head.tree.clone(), standing: Standing { kept, reached: 0 } });
        }
        Situation::Working { phase, attempt, stage: Stage::Asking }
    }

    /// Events that only one situation allows.
    fn advance(&mut self, event: &Event, at: i64) -> Option<()> {
        if self.left.is_some() || self.needs_worktree() {
            return None;
        }
        let situation = std::mem::replace(&mut self.situation, Situation::Merging);
        self.situation = match (situation, event) {
            (Situation::Measuring { then }, Event::Measured { report, usable, lint, .. }) => {
                self.lint_before.clone_from(lint);
                self.progress.accepted = Some(report.clone());
                if *usable {
                    // Where a run was adopted is a place to go back to; where one starts is the user's.
                    if self.progress.handoff.is_some() {
                        self.trail.push(Waypoint { progress: self.progress.clone(), next: then });
                    }
                    self.entering(then)
                } else {
                    let message = report.summary.clone();
                    Situation::Unmeasurable { then, trouble: Trouble { kind: "baseline".to_owned(), message } }
                }
            }
            (Situation::Working { phase, attempt, stage }, event) => self.work(phase, attempt, stage, event, at)?,
            (Situation::Reverting { phase, attempt, trouble, stage }, event) => {
                self.revert(phase, attempt, trouble, stage, event)?
            }
            (Situation::Merging, Event::Merged { commit }) => {
                Situation::Ended(Ending::Merged { commit: commit.clone() })
            }
            (Situation::Merging, Event::MergeBlocked { trouble }) => {
                Situation::Waiting { trouble: Some(trouble.clone()) }
            }
            (Situation::Discarding, Event::Discarded { .. }) => Situation::Ended(Ending::Aborted),
            _ => return None,
        };
        Some(())
    }

    fn work(&mut self, phase: Phase, mut attempt: Attempt, stage: Stage, event: &Event, at: i64) -> Option<Situation> {
        let stage = match (stage, event) {
            (Stage::Pausing { .. }, Event::Paused) => Stage::Asking,
            (Stage::Asking, Event::Turned { role, turn, tree, .. }) if *role == role_of(phase) => match turn {
                Turn::Done { answer } => {
                    attempt.tree.clone_from(tree);
                    Stage::Judging { answer: answer.clone() }
                }
                Turn::Failed { failure, message } => {
                    return Some(self.agent_failed(phase, attempt, *failure, message, tree, at));
                }
            },
            (Stage::Judging { answer }, Event::Judged { phase: judged, verdict, report, planned, .. })
                if *judged == phase =>
            {
                let acceptance = Acceptance {
                    tree: attempt.tree.clone(),
                    verdict: verdict.clone(),
                    report: report.clone(),
                    planning: planned.clone(),
                    at,
                };
                match verdict.decision {
                    // Without it nobody knows what is next, and "nothing" would be taken for "done".
                    Decision::Accepted if phase == Phase::Plan && planned.is_none() => return None,
                    Decision::Accepted => self.lint_or_commit(phase, acceptance),
                    Decision::Undecided => Stage::Doubting { answer, trouble: told(verdict) },
                    Decision::Refused => return Some(self.refused(phase, attempt, verdict, at)),
                }
            }
            (Stage::Linting { acceptance }, Event::Linted { findings, .. }) => {
                if findings.is_empty() {
                    Stage::Committing { acceptance }
                } else {
                    let code = if phase == Phase::Green { Code::GreenLint } else { Code::RefactorLint };
                    let mut verdict =
                        Verdict::refused(findings.iter().map(|finding| Reason::new(code, finding)).collect());
                    verdict.standing = acceptance.verdict.standing;
                    return Some(self.refused(phase, attempt, &verdict, at));
                }
            }
            (Stage::Restoring { tree, then }, Event::Restored { .. }) => {
                attempt.tree = tree;
                *then
            }
            (Stage::Diagnosing, Event::Turned { role: Role::Diagnosis, turn, tree, .. }) => {
                attempt.diagnosis = match turn {
                    Turn::Done { answer } => Some(answer.clone()).filter(|answer| !answer.trim().is_empty()),
                    Turn::Failed { .. } => None,
                };
                restored(&attempt.tree, tree, Stage::Recording)
            }
            (Stage::Recording, Event::Recorded { .. }) => Stage::Asking,
            (Stage::Committing { acceptance }, Event::Committed { mark }) => {
                let next = self.settle(phase, &acceptance, mark);
                attempt.tree.clone_from(&mark.tree);
                Stage::Noting { acceptance, next }
            }
            (Stage::Noting { next, .. }, Event::Noted { handoff, .. }) => {
                return Some(self.hand_over(phase, next, handoff));
            }
            _ => return None,
        };
        Some(Situation::Working { phase, attempt, stage })
    }

    fn lint_or_commit(&self, phase: Phase, acceptance: Acceptance) -> Stage {
        let lints = matches!(phase, Phase::Green | Phase::Refactor)
            && !self.run.linters.is_empty()
            && acceptance.tree != self.progress.head.tree;
        let acceptance = Box::new(acceptance);
        if lints { Stage::Linting { acceptance } } else { Stage::Committing { acceptance } }
    }

    fn agent_failed(
        &self,
        phase: Phase,
        mut attempt: Attempt,
        failure: Failure,
        message: &str,
        tree: &str,
        at: i64,
    ) -> Situation {
        let trouble = Trouble { kind: failure.as_str().to_owned(), message: message.to_owned() };
        attempt.trouble = Some(trouble.clone());
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
        };
        if attempt.retries > self.run.policy.retries_max {
            return self.gave_up(phase, attempt, trouble, tree, at);
        }
        let ms = self.run.policy.pause_ms(attempt.retries, asked);
        let stage = restored(&attempt.tree, tree, Stage::Pausing { ms });
        Situation::Working { phase, attempt, stage }
    }

    fn refused(&self, phase: Phase, mut attempt: Attempt, verdict: &Verdict, at: i64) -> Situation {
        let trouble = told(verdict);
        attempt.trouble = Some(trouble.clone());
        attempt.diagnosis = None;
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
                let pausing = Stage::Pausing { ms: self.run.policy.pause_ms(attempt.retries, None) };
                let roll_back = match phase {
                    Phase::Plan | Phase::Complete => {
                        verdict.reasons.iter().any(|reason| reason.code == Code::PlanTouchesCode)
                    }
                    Phase::Red => verdict.standing.is_none(),
                    Phase::Green | Phase::Refactor => true,
                };
                let stage = if roll_back { restored(head, &attempt.tree, pausing) } else { pausing };
                Situation::Working { phase, attempt, stage }
            }
        }
    }

    /// GREEN keeps the agent's edits while they get better, and goes back to the best state when they do not.
    fn refused_green(&self, mut attempt: Attempt, verdict: &Verdict, mut trouble: Trouble, at: i64) -> Situation {
        let policy = &self.run.policy;
        attempt.iteration += 1;
        attempt.notice(verdict);
        let used_up = (attempt.iteration >= policy.iterations_max)
            .then(|| format!("{} iterations are used up", attempt.iteration));
        if let Some(why) = attempt.stuck(policy).or(used_up) {
            trouble.message = format!("{why}\n{}", trouble.message);
            let holds = attempt.tree.clone();
            return self.gave_up(Phase::Green, attempt, trouble, &holds, at);
        }
        let best = attempt.best.as_ref();
        let worse = verdict.standing.is_none_or(|standing| best.is_some_and(|best| standing < best.standing));
        // Code that does not build says nothing of how good it is; what it lacks is told, and the edits stay.
        let unbuilt =
            verdict.standing.is_some() && verdict.reasons.iter().any(|reason| reason.code == Code::GreenDoesNotCompile);
        let stage = match best {
            Some(_) if unbuilt => Stage::Diagnosing,
            Some(best) if worse => restored(&best.tree, &attempt.tree, Stage::Diagnosing),
            Some(_) | None => {
                if let Some(standing) = verdict.standing {
                    attempt.best = Some(Best { tree: attempt.tree.clone(), standing });
                }
                Stage::Diagnosing
            }
        };
        Situation::Working { phase: Phase::Green, attempt, stage }
    }

    /// A refactoring that does not come off leaves the green code; every other phase is taken back and halts the run.
    /// `holds` is what the worktree was left with.
    fn gave_up(&self, phase: Phase, attempt: Attempt, trouble: Trouble, holds: &str, at: i64) -> Situation {
        if phase != Phase::Refactor {
            return Situation::Reverting { phase, attempt, trouble, stage: Reverting::Restoring };
        }
        let head = self.progress.head.tree.clone();
        let verdict = Verdict::accepted(Reason::new(Code::RefactorGivenUp, trouble.message));
        let acceptance = Acceptance { tree: head.clone(), verdict, report: None, planning: None, at };
        let committing = Stage::Committing { acceptance: Box::new(acceptance) };
        let stage = restored(&head, holds, committing);
        Situation::Working { phase, attempt, stage }
    }

    /// Takes an accepted commit into the progress; says which phase is next.
    fn settle(&mut self, phase: Phase, acceptance: &Acceptance, mark: &Mark) -> Phase {
        let progress = &mut self.progress;
        progress.head = mark.clone();
        if let Some(report) = &acceptance.report {
            progress.accepted = Some(report.clone());
        }
        match phase {
            Phase::Plan => {
                if let Some(planning) = &acceptance.planning {
                    progress.current.clone_from(&planning.next);
                    progress.completed.clone_from(&planning.completed);
                    progress.pending.clone_from(&planning.pending);
                }
                if progress.current.is_some() { Phase::Red } else { Phase::Complete }
            }
            Phase::Red => {
                progress.targets.clone_from(&acceptance.verdict.targets);
                Phase::Green
            }
            Phase::Green => Phase::Refactor,
            Phase::Refactor | Phase::Complete => {
                if let Some(current) = &progress.current {
                    progress.completed.push(current.description.clone());
                    progress.pending.retain(|pending| *pending != current.description);
                }
                progress.targets.clear();
                Phase::Plan
            }
        }
    }

    fn hand_over(&mut self, phase: Phase, next: Phase, handoff: &Handoff) -> Situation {
        self.progress.handoff = Some(handoff.clone());
        if phase == Phase::Refactor {
            self.progress.cycle += 1;
            self.progress.current = None;
        }
        self.trail.push(Waypoint { progress: self.progress.clone(), next });
        self.entering(next)
    }

    fn revert(
        &mut self,
        phase: Phase,
        mut attempt: Attempt,
        trouble: Trouble,
        stage: Reverting,
        event: &Event,
    ) -> Option<Situation> {
        let retries = attempt.retries;
        let stage = match (stage, event) {
            (Reverting::Restoring, Event::Restored { .. }) => {
                attempt.tree.clone_from(&self.progress.head.tree);
                Reverting::Recording
            }
            // The commit the run started from is the user's; the run's troubles are not noted on it.
            (Reverting::Recording, Event::Recorded { .. }) if self.progress.handoff.is_some() => Reverting::Noting,
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

impl Attempt {
    fn notice(&mut self, verdict: &Verdict) {
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

    fn stuck(&self, policy: &crate::policy::Policy) -> Option<String> {
        if self.repeats >= policy.repeats_max {
            return Some(format!("the agent is stuck: it came back with the same code {} times", self.repeats));
        }
        (self.same_failures >= policy.same_failures_max && self.iteration < policy.iterations_max)
            .then(|| format!("the agent is stuck: the same failures {} times in a row", self.same_failures))
    }
}

impl Situation {
    pub fn name(&self) -> &'static str {
        match self {
            Situation::Measuring { .. } => "measuring",
            Situation::Unmeasurable { .. } => "unmeasurable",
            Situation::Working { .. } => "working",
            Situation::Reverting { .. } => "reverting",
            Situation::Halted { .. } => "halted",
            Situation::Waiting { .. } => "waiting",
            Situation::Merging => "merging",
            Situation::Discarding => "discarding",
            Situation::Ended(_) => "ended",
        }
    }
}

pub(crate) fn role_of(phase: Phase) -> Role {
    match phase {
        Phase::Plan | Phase::Complete => Role::TestList,
        Phase::Red => Role::Test,
        Phase::Green => Role::Implementing,
        Phase::Refactor => Role::Refactor,
    }
}

/// Goes back to `wanted` first, when the worktree holds something else.
fn restored(wanted: &str, holds: &str, then: Stage) -> Stage {
    if wanted == holds { then } else { Stage::Restoring { tree: wanted.to_owned(), then: Box::new(then) } }
}

fn told(verdict: &Verdict) -> Trouble {
    let kind = verdict.first().map_or("refused", |reason| reason.code.as_str()).to_owned();
    Trouble { kind, message: verdict.sentences() }
}

#[cfg(test)]
mod tests;
