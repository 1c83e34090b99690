//! Commits that a person added to the run's branch. They are part of the run: they are judged one
//! by one, oldest first, by the rules of the phases, and the run continues from the last one.
//! Refused commits stop the run and stay on the branch.

use super::{Progress, Situation, State, Waypoint};
use crate::agent::AttemptFailure;
use crate::event::{Event, Mark, StoredReport};
use crate::handoff::Handoff;
use crate::names::Oid;
use crate::phase::Phase;
use crate::verdict::{Decision, Verdict};

/// The reason if a run stops because of a refused commit.
pub const REFUSED: &str = "branch.refused";
/// The reason if a run stops because the commits end with a failing test.
pub const STILL_RED: &str = "branch.still_red";

/// Commits under review.
#[derive(Clone, Debug, PartialEq)]
pub struct Review {
    /// Commits that are not judged yet, oldest first.
    pub commits: Vec<Mark>,
    /// The work in progress, merged with the last commit; `None` if it cannot be merged.
    pub work: Option<Oid>,
    /// The situation of the run before.
    pub before: Situation,
    /// The progress with the commits accepted so far. It replaces the run's own when all are
    /// accepted.
    pub progress: Progress,
    /// The last RED or GREEN among them.
    pub turned: Option<Phase>,
    pub stage: Reviewing,
}

#[derive(Clone, Debug, PartialEq)]
pub enum Reviewing {
    Judging,
    /// All are accepted; the last one gets the run's note.
    Noting,
    /// A human has to look.
    Refused {
        trouble: AttemptFailure,
    },
}

impl State {
    /// Commits were found on the run's branch that the run did not make.
    pub(super) fn human_committed(&mut self, commits: &[Mark], work: Option<&Oid>) -> Option<()> {
        let open = match &self.situation {
            Situation::Working { .. } | Situation::Merging { .. } => self.left.is_none(),
            // Before the first test run there is nothing to compare with.
            Situation::Measuring { .. }
            | Situation::Unmeasurable { .. }
            | Situation::Reverting { .. }
            | Situation::Halted { .. }
            | Situation::Paused { .. }
            | Situation::Waiting { .. }
            | Situation::Reviewing(_)
            | Situation::Discarding
            | Situation::Ended(_) => false,
        };
        if !open || commits.is_empty() {
            return None;
        }
        let before = std::mem::replace(&mut self.situation, Situation::Discarding);
        let (commits, work) = (commits.to_vec(), work.cloned());
        let (progress, stage) = (self.progress.clone(), Reviewing::Judging);
        let review = Review { commits, work, before, progress, turned: None, stage };
        self.situation = Situation::Reviewing(Box::new(review));
        Some(())
    }

    pub(super) fn review(&mut self, mut review: Review, event: &Event) -> Option<Situation> {
        match (&review.stage, event) {
            (Reviewing::Judging, Event::Reviewed { commit, phase, verdict, report, .. })
                if review.commits.first().is_some_and(|next| next.commit == *commit) =>
            {
                if verdict.decision != Decision::Accepted {
                    let message = format!(
                        "the commit {} on the run's branch is {}\n{}",
                        short(commit),
                        word(verdict),
                        verdict.sentences()
                    );
                    return Some(
                        self.stop_at(review, AttemptFailure { kind: REFUSED.to_owned(), message }),
                    );
                }
                let mark = review.commits.remove(0);
                review.take_in(&mark, *phase, verdict, report.as_ref());
                if !review.commits.is_empty() {
                    return Some(Situation::Reviewing(Box::new(review)));
                }
                if review.is_left_red() {
                    let message = format!(
                        "the commits on the run's branch end with tests that fail: {}",
                        review.progress.targets.join(", ")
                    );
                    return Some(
                        self.stop_at(
                            review,
                            AttemptFailure { kind: STILL_RED.to_owned(), message },
                        ),
                    );
                }
                review.stage = Reviewing::Noting;
                match review.progress.handoff {
                    Some(_) => Some(Situation::Reviewing(Box::new(review))),
                    // There was no note yet, so none has to move.
                    None => Some(self.go_on(review)),
                }
            }
            (Reviewing::Noting, Event::Noted { handoff, .. }) => {
                review.progress.handoff = Some((**handoff).clone());
                Some(self.go_on(review))
            }
            (Reviewing::Judging | Reviewing::Noting | Reviewing::Refused { .. }, _) => None,
        }
    }

    /// After a resume, the branch is read again: refused commits may be gone, or there may be more.
    pub(super) fn resume_review(&mut self, review: Review) {
        self.situation = match review.stage {
            Reviewing::Refused { .. } => review.before,
            Reviewing::Judging | Reviewing::Noting => Situation::Reviewing(Box::new(review)),
        };
    }

    fn go_on(&mut self, review: Review) -> Situation {
        let (phase, under_way) = (review.next(), review.before.phase());
        self.progress = review.progress;
        self.prepared = false;
        match review.before {
            Situation::Merging { manner } => {
                self.trail
                    .push(Waypoint { progress: self.progress.clone(), next: Phase::Complete });
                Situation::Merging { manner }
            }
            Situation::Working { attempt: attempted, .. } => {
                self.trail.push(Waypoint { progress: self.progress.clone(), next: phase });
                let mut situation = self.entering(phase);
                if let Situation::Working { attempt, .. } = &mut situation {
                    attempt.tree = review.work.unwrap_or_else(|| self.progress.head.tree.clone());
                    attempt.withheld = attempted.withheld.filter(|_| phase == under_way);
                    attempt.human = attempted.human;
                    attempt.retries = attempted.retries;
                    attempt.trouble = attempted.trouble.filter(|_| phase == under_way);
                }
                situation
            }
            // The branch is not read in other situations.
            before @ (Situation::Measuring { .. }
            | Situation::Unmeasurable { .. }
            | Situation::Reverting { .. }
            | Situation::Halted { .. }
            | Situation::Paused { .. }
            | Situation::Waiting { .. }
            | Situation::Reviewing(_)
            | Situation::Discarding
            | Situation::Ended(_)) => before,
        }
    }

    fn stop_at(&mut self, mut review: Review, trouble: AttemptFailure) -> Situation {
        self.prepared = false;
        if matches!(review.before, Situation::Merging { .. }) {
            return Situation::Waiting { trouble: Some(trouble) };
        }
        review.stage = Reviewing::Refused { trouble };
        Situation::Reviewing(Box::new(review))
    }
}

impl Review {
    /// The note of the last phase, for the commit from which the run continues.
    pub(crate) fn note(&self) -> Option<Handoff> {
        let mut handoff = self.progress.handoff.clone()?;
        if self.next() != self.before.phase() {
            handoff.phase = self.turned.unwrap_or(handoff.phase);
            handoff.next_phase = self.next();
        }
        handoff.targets.clone_from(&self.progress.targets);
        handoff.tests = self.progress.accepted.as_ref().map(|report| report.counts);
        Some(handoff)
    }

    fn take_in(
        &mut self,
        mark: &Mark,
        phase: Phase,
        verdict: &Verdict,
        report: Option<&StoredReport>,
    ) {
        let progress = &mut self.progress;
        progress.head = mark.clone();
        if let Some(report) = report {
            progress.accepted = Some(report.clone());
        }
        match phase {
            Phase::Red => {
                progress.targets.clone_from(&verdict.targets);
                self.turned = Some(phase);
            }
            Phase::Green => {
                progress.targets.clear();
                // They would have to become part of a commit that is not the run's.
                progress.withheld = None;
                self.turned = Some(phase);
            }
            Phase::Refactor | Phase::Plan | Phase::Complete => {}
        }
    }

    /// Failing tests are expected only in RED and GREEN.
    fn is_left_red(&self) -> bool {
        self.turned == Some(Phase::Red) && !matches!(self.before.phase(), Phase::Red | Phase::Green)
    }

    /// The next phase: the person may have done the work of the current one.
    fn next(&self) -> Phase {
        match (self.before.phase(), self.turned) {
            (Phase::Red | Phase::Green, Some(Phase::Red)) => Phase::Green,
            (Phase::Red | Phase::Green, Some(Phase::Green)) => Phase::Refactor,
            (phase, _) => phase,
        }
    }
}

fn short(commit: &str) -> &str {
    commit.get(..10).unwrap_or(commit)
}

fn word(verdict: &Verdict) -> &'static str {
    match verdict.decision {
        Decision::Accepted => "accepted",
        Decision::Refused => "refused",
        Decision::Undecided => "undecided",
    }
}
