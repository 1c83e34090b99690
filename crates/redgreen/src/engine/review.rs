//! Commits on the run's branch that the run did not make. They are never overwritten, and judged
//! like its own.

use std::time::{Duration, Instant};

use anyhow::Result;
use redgreen_core::agent::AttemptFailure;
use redgreen_core::event::{Event, Mark};
use redgreen_core::names::Oid;
use redgreen_core::phase::JudgedPhase;
use redgreen_core::report::{Outcome, Report};
use redgreen_core::state::review::Review;
use redgreen_core::state::{Progress, Situation, Stage};
use redgreen_core::text::shell_word;
use redgreen_core::verdict::Decision;

use super::deleted_tests::misses_tests;
use super::{Engine, elapsed_ms, now};
use crate::failure::Failure;
use crate::trial::{self, Candidate, StoredResult, TrialResult, WithheldSet};

/// More commits than this are judged as one.
const COMMITS_MAX: usize = 30;

/// What is on the run's branch in addition to the run's own commits.
pub(super) enum BranchChange {
    Nothing,
    /// On top of them, oldest first.
    Commits(Vec<Mark>),
    /// The branch no longer contains the run's commits.
    Rewritten {
        tip: Oid,
    },
}

impl Engine<'_> {
    pub(super) fn added_commits(&self) -> Result<BranchChange> {
        let (git, head) = (&self.project.git, &self.state.progress.head.commit);
        let Some(tip) = git.read_ref(&self.branch_ref())?.filter(|tip| tip != head) else {
            return Ok(BranchChange::Nothing);
        };
        // The next commit of the run may already exist: created, but not journalled before a crash.
        if !git.contains(&tip, head)? {
            return Ok(BranchChange::Rewritten { tip });
        }
        let mut commits = git.commits_since(head, &tip)?;
        if commits.len() > COMMITS_MAX {
            commits = commits.split_off(commits.len() - 1);
        }
        Ok(BranchChange::Commits(commits))
    }

    /// The event for commits by others, if there are any.
    pub(super) fn notice_commits(&self) -> Result<Option<Event>> {
        let added =
            match self.added_commits()? {
                BranchChange::Nothing => return Ok(None),
                BranchChange::Commits(commits) => commits,
                BranchChange::Rewritten { tip } => {
                    let (branch, head) = (&self.state.run.branch, &self.state.progress.head.commit);
                    return Err(Failure::environment(format!("the branch {branch} was rewritten"))
                    .evidence(format!("it points to {tip}, which does not contain the run's \
                                       commit {head}"))
                    .next(format!(
                        "git branch {1} {0} && git branch -f {0} {head}; then: redgreen resume {2}",
                        shell_word(branch),
                        shell_word(&format!("{branch}-mine")),
                        self.folder.id
                    ))
                    .into());
                }
            };
        // The run's own commit from before a crash. The step that made it handles it.
        match &self.state.situation {
            Situation::Working { stage, .. } if self.is_ours(&added, stage)? => Ok(None),
            Situation::Working { .. } => self.human_committed(added).map(Some),
            // They are judged before the next agent turn.
            Situation::Measuring { .. }
            | Situation::Reverting { .. }
            | Situation::Unmeasurable { .. }
            | Situation::Halted { .. }
            | Situation::Paused { .. }
            | Situation::Waiting { .. }
            | Situation::Reviewing(_)
            | Situation::Merging { .. }
            | Situation::Discarding
            | Situation::Ended(_) => Ok(None),
        }
    }

    pub(super) fn rewritten(&self, tip: &Oid) -> AttemptFailure {
        let (branch, head) = (&self.state.run.branch, &self.state.progress.head.commit);
        let message = format!(
            "the branch {branch} was rewritten: it points to {tip}, which does not contain the \
             run's commit {head}"
        );
        AttemptFailure { kind: "branch.rewritten".to_owned(), message }
    }

    /// Merges unfinished work with the commits, so that neither is lost.
    pub(super) fn human_committed(&self, commits: Vec<Mark>) -> Result<Event> {
        let (git, head, worktree) = (&self.project.git, &self.state.progress.head, self.worktree());
        let under_way = match &self.state.situation {
            Situation::Working { attempt, .. } if self.is_ready(&worktree)? => {
                let held = git.snapshot(&worktree, &head.tree)?.tree;
                Some(if self.state.prepared || self.is_humans(&worktree) {
                    held
                } else {
                    attempt.tree.clone()
                })
            }
            Situation::Working { attempt, .. } => Some(attempt.tree.clone()),
            _ => None,
        };
        let Some((work, tip)) = under_way.filter(|work| *work != head.tree).zip(commits.last())
        else {
            return Ok(Event::HumanCommitted { commits, work: None, salvage: None });
        };
        let salvage =
            Some(git.salvage(&self.folder.id, "before-your-commits", &work, &head.commit)?);
        let commit =
            git.commit_tree(&work, &[&head.commit], "redgreen: work under way\n", now() / 1000)?;
        let work = git.merged_tree(&tip.commit, &commit)?.ok();
        Ok(Event::HumanCommitted { commits, work, salvage })
    }

    /// Judges one commit: as a REFACTOR; as a GREEN if tests are owed; as a RED if not. The first
    /// accepted phase wins.
    pub(super) fn review(&mut self, commit: &Mark) -> Result<Event> {
        let started = Instant::now();
        let Situation::Reviewing(review) = self.state.situation.clone() else {
            anyhow::bail!("there is nothing to review");
        };
        let Review { progress, .. } = *review;
        let had_worktree = self.is_ready(&self.worktree())?;
        if !had_worktree {
            let head = self.state.progress.head.clone();
            self.set_out(&head, &head.tree)?;
        }
        let judged = self.judge_commit(&progress, commit);
        if !had_worktree {
            self.remove_worktree(&self.worktree())?;
        }
        let (phase, tried) = judged?;
        let tests_ms = u64::try_from(tried.tests.as_millis()).unwrap_or(u64::MAX);
        if tried.verdict.decision == Decision::Accepted {
            let (report, targets) = (tried.report.clone(), tried.verdict.targets.clone());
            let remembered =
                StoredResult { version: 1, report, targets, surroundings: tried.surroundings };
            self.memory()?.keep(&commit.tree, &remembered)?;
        }
        let report = Some(self.keep_report(&tried.report, "review", tests_ms)?);
        let (commit, verdict) = (commit.commit.clone(), tried.verdict);
        Ok(Event::Reviewed {
            commit,
            phase: phase.into(),
            verdict,
            report,
            took_ms: elapsed_ms(started),
        })
    }

    fn judge_commit(
        &self,
        progress: &Progress,
        commit: &Mark,
    ) -> Result<(JudgedPhase, TrialResult)> {
        let unbuilt = progress.accepted.as_ref().map(|kept| self.read_report(kept)).transpose()?;
        let owes =
            !progress.targets.is_empty() || unbuilt.is_some_and(|report| !report.owed.is_empty());
        let first = self.try_commit(progress, commit, JudgedPhase::Refactor)?;
        if first.verdict.decision == Decision::Accepted {
            return Ok((JudgedPhase::Refactor, first));
        }
        let other = if owes { JudgedPhase::Green } else { JudgedPhase::Red };
        let second = self.try_commit(progress, commit, other)?;
        if second.verdict.decision == Decision::Accepted {
            return Ok((other, second));
        }
        Ok((JudgedPhase::Refactor, first))
    }

    fn try_commit(
        &self,
        progress: &Progress,
        commit: &Mark,
        phase: JudgedPhase,
    ) -> Result<TrialResult> {
        let worktree = self.worktree();
        let before = match &progress.accepted {
            Some(kept) => self.read_report(kept)?,
            None => self.accepted_report()?,
        };
        let (owed, outcome) = (before.owed.clone(), before.outcome);
        let before = match phase {
            // Tests of RED that do not build may stay so: GREEN owes them.
            JudgedPhase::Refactor => known_unbuilt(before),
            JudgedPhase::Red | JudgedPhase::Green => before,
        };
        let mut candidate = Candidate {
            phase,
            base: &progress.head.tree,
            head: &commit.tree,
            earlier: None,
            before: Some(before),
            targets: (phase == JudgedPhase::Green).then(|| progress.targets.clone()),
            surroundings: self
                .memory()?
                .recall(&progress.head.tree)?
                .map(|known| known.surroundings),
            brief: &self.words(),
            withheld: WithheldSet::default(),
            only: &[],
            timeout: Duration::from_millis(self.state.run.policy.green_timeout_ms),
            explain: false,
        };
        let mut tried = trial::hold(self.ground(&worktree), &candidate)?;
        // A merge of the target branch brings the work of others. Only passing tests count.
        if phase == JudgedPhase::Refactor
            && let Some(other) = self.merged_target(progress, commit)?
        {
            let target = &self.state.run.target;
            tried.verdict = trial::as_a_merge(target, &candidate, &tried);
            if misses_tests(&tried.verdict) {
                let before = candidate.before.take().unwrap_or_default();
                candidate.before = Some(self.without_deleted(before, &other)?);
                tried.verdict = trial::as_a_merge(target, &candidate, &tried);
            }
        }
        if phase == JudgedPhase::Refactor && !owed.is_empty() {
            tried.report.outcome = outcome;
            let (still, known) = std::mem::take(&mut tried.report.load_errors)
                .into_iter()
                .partition(|error| owed.iter().any(|owed| owed.file == error.file));
            (tried.report.owed, tried.report.load_errors) = (still, known);
        }
        Ok(tried)
    }

    /// The commit of the target branch that a commit merges into the run's branch, if it does.
    fn merged_target(&self, progress: &Progress, commit: &Mark) -> Result<Option<Oid>> {
        let git = &self.project.git;
        let parents = git.parents(&commit.commit)?;
        let Some(target) = git.read_ref(&format!("refs/heads/{}", self.state.run.target))? else {
            return Ok(None);
        };
        match parents.as_slice() {
            [first, other] if *first == progress.head.commit && git.contains(&target, other)? => {
                Ok(Some(other.clone()))
            }
            _ => Ok(None),
        }
    }

    /// Whether the only new commit is the one that the current step makes.
    fn is_ours(&self, added: &[Mark], stage: &Stage) -> Result<bool> {
        match (stage, added) {
            (Stage::Committing { acceptance }, [only]) if only.tree == acceptance.tree => {
                self.project.git.names_run(&only.commit, &self.folder.id)
            }
            _ => Ok(false),
        }
    }
}

fn known_unbuilt(mut report: Report) -> Report {
    if !report.owed.is_empty() {
        report.outcome = Outcome::DidNotCompile;
    }
    report.load_errors.extend(report.owed.iter().cloned());
    report
}
