//! The end of a run: merged, discarded, or left for later. Everything that is removed is kept under
//! a ref.

use std::time::Duration;

use anyhow::Result;
use redgreen_core::agent::AttemptFailure;
use redgreen_core::change::{Change, ChangedPath, Class, Kind};
use redgreen_core::event::{Commits, Event, ListState, Mark, Outcome, RunMode};
use redgreen_core::judge::reports::{self, Evidence};
use redgreen_core::names::{Branch, Oid, SalvageName};
use redgreen_core::phase::JudgedPhase;
use redgreen_core::report::Report;
use redgreen_core::test_list;
use redgreen_core::text::shell_word;
use redgreen_core::verdict::{Code, Decision};

use super::deleted_tests::misses_tests;
use super::review::BranchChange;
use super::{Engine, now};
use crate::failure::{self, Failure};
use crate::git::{IsRetry, Merge, MergeRequest, MergeState, RefEdit, Swap, Unmerge};
use crate::trial;

/// Journalled if a merge could not be undone.
const UNDO_REFUSED: &str = "undo-refused";

impl Engine<'_> {
    /// Merges the run's branch into its target branch. If the target moved meanwhile, redgreen
    /// tests the merge result first: two correct changes may be wrong together.
    ///
    /// What is merged follows from the journal (`to_merge`), so that an interrupted merge is
    /// recognised.
    pub(super) fn merge(&mut self, message: &str, manner: RunMode) -> Result<Event> {
        let git = &self.project.git;
        let target = self.state.run.target.clone();
        let source = self.to_merge(manner.list)?;
        let scratch = self.project.workshop.join(format!("{}-merge", self.folder.id));
        let settled = git.settle_merge(&target, &source.commit, &scratch)?;
        if let Some(commit) =
            self.merged_before(&target, &source.commit, manner.commits, &settled)?
        {
            return self.merged(commit, manner.commits);
        }
        match self.added_commits()? {
            BranchChange::Nothing => {}
            BranchChange::Commits(commits) => return self.human_committed(commits),
            BranchChange::Rewritten { tip } => {
                return Ok(Event::MergeBlocked { trouble: self.rewritten(&tip) });
            }
        }
        let Some(tip) = git.read_ref(&target.full_ref())? else {
            return Ok(blocked(
                "merge.target_gone",
                format!("the branch {target} does not exist any more"),
            ));
        };
        if tip != self.state.run.base.commit
            && let Some(trouble) = self.test_merged(&target, &tip, &source.commit)?
        {
            return Ok(Event::MergeBlocked { trouble });
        }
        let (commits, source) = (manner.commits, &source.commit);
        let request = MergeRequest { target: &target, source, message, commits, scratch: &scratch };
        match self.project.git.merge(request, &self.project.stop)? {
            Merge::Merged { commit } => self.merged(commit, commits),
            Merge::AlreadyMerged => self.merged(tip, commits),
            Merge::Conflicts { paths } => Ok(blocked(
                "merge.conflicts",
                format!("{target} has moved, and both sides changed {}", paths.join(", ")),
            )),
            Merge::Blocked { by, output } => {
                Ok(blocked("merge.blocked", format!("{by}\n{output}")))
            }
        }
    }

    /// The commit to merge: the last one of the run, with the list restored to its state at the
    /// start of the run. The target branch keeps its own list, or none, and two runs never conflict
    /// over theirs.
    fn to_merge(&self, list: ListState) -> Result<Mark> {
        let git = &self.project.git;
        let head = &self.state.progress.head;
        let tree = match list {
            ListState::Kept => head.tree.clone(),
            ListState::LeftOut => self.without_list(&head.tree)?,
        };
        if tree == head.tree {
            return Ok(head.clone());
        }
        let message = format!(
            "plan: leave {} out of {}\n\nRedgreen-Run: {}\n",
            test_list::FILE,
            self.state.run.target,
            self.state.run.id
        );
        // The date of the commit before, so that repeating it after a crash creates the same
        // commit.
        let commit =
            git.commit_tree(&tree, &[&head.commit], &message, git.date_of(&head.commit)?)?;
        Ok(Mark { commit, tree })
    }

    /// The commit of the target branch, if it already contains the run: from an interrupted merge,
    /// or a merge of the user.
    fn merged_before(
        &self,
        target: &Branch,
        source: &Oid,
        commits: Commits,
        settled: &MergeState,
    ) -> Result<Option<Oid>> {
        if let MergeState::Merged { commit } = settled {
            return Ok(Some(commit.clone()));
        }
        let git = &self.project.git;
        let Some(tip) = git.read_ref(&format!("refs/heads/{target}"))? else { return Ok(None) };
        let is_there = git.contains(&tip, &self.state.progress.head.commit)?
            || (commits == Commits::Squashed && git.has_squash(&tip, source)?);
        Ok(is_there.then_some(tip))
    }

    /// Cleans up after a merge. Squashed commits are on no branch, so they are salvaged, and the
    /// squash commit gets their last note.
    fn merged(&self, commit: Oid, commits: Commits) -> Result<Event> {
        let head = &self.state.progress.head;
        let git = &self.project.git;
        if commits == Commits::Squashed && !git.contains(&commit, &head.commit)? {
            git.salvage(&self.folder.id, "squashed", &head.tree, &head.commit)?;
            if let Some(handoff) = &self.state.progress.handoff {
                git.notes().write(&commit, &handoff.render())?;
            }
        }
        self.tidy_up(&head.commit)?;
        Ok(Event::Merged { commit })
    }

    /// Ends the run without a merge. A salvage ref keeps the commits of the branch.
    pub(super) fn discard(&mut self) -> Result<Event> {
        let worktree = self.worktree();
        let head = self.state.progress.head.clone();
        let mut salvage = None;
        self.end_orphans();
        if self.is_ready(&worktree)? {
            salvage = self.salvage_unless(
                &worktree,
                "aborted",
                &[&head.tree, &self.state.run.base.tree],
            )?;
        }
        if salvage.is_none() {
            salvage = self.salvage_kept_work("aborted")?;
        }
        if head.commit != self.state.run.base.commit && salvage.is_none() {
            salvage = Some(self.project.git.salvage(
                &self.folder.id,
                "aborted",
                &head.tree,
                &head.commit,
            )?);
        }
        self.remove_worktree(&worktree)?;
        self.clear_attempts()?;
        self.tidy_up(&head.commit)?;
        Ok(Event::Discarded { salvage })
    }

    /// Removes the worktree. A ref keeps unaccepted work until the run continues.
    pub(super) fn leave(&mut self, outcome: &Outcome) -> Result<Event> {
        let worktree = self.worktree();
        let expected = self.state.expected_tree().clone();
        self.hand_to_user(outcome)?;
        if self.is_ready(&worktree)? && !self.stays(&worktree, outcome)? {
            self.salvage_unless(
                &worktree,
                "interrupted",
                &[&expected, &self.state.progress.head.tree],
            )?;
        }
        self.keep_work(&expected)?;
        self.clear_attempts()?;
        if !self.stays(&worktree, outcome)? {
            self.remove_worktree(&worktree)?;
        }
        Ok(Event::Left { outcome: outcome.clone() })
    }

    /// Returns the run to one of its commits. A salvage ref keeps the later ones.
    pub fn roll_back(&mut self, to: &Oid) -> Result<Outcome> {
        self.go_back(to, |to, salvage| Event::RolledBack { to, salvage })
    }

    /// The same, with another event.
    pub(super) fn go_back(
        &mut self,
        to: &Oid,
        event: impl FnOnce(Oid, Option<SalvageName>) -> Event,
    ) -> Result<Outcome> {
        self.intend("rollback")?;
        let head = self.state.progress.head.tree.clone();
        let mut salvage = self.salvage_kept_work("rolled-back")?;
        let worktree = self.worktree();
        if self.is_humans(&worktree) && self.is_ready(&worktree)? {
            salvage = self.salvage_unless(&worktree, "rolled-back", &[&head])?.or(salvage);
            self.remove_worktree(&worktree)?;
        }
        salvage = self.move_branch_back(to, "rolled-back")?.or(salvage);
        self.record(&event(to.clone(), salvage))?;
        self.intend("leave")?;
        let outcome = Outcome::RolledBack { to: to.to_owned() };
        let left = self.leave(&outcome)?;
        self.record(&left)?;
        Ok(outcome)
    }

    /// Moves the run's branch back. A salvage ref keeps the later commits.
    pub(super) fn move_branch_back(&self, to: &Oid, why: &str) -> Result<Option<SalvageName>> {
        let (git, head) = (&self.project.git, &self.state.progress.head);
        if head.commit == *to {
            return Ok(None);
        }
        let salvage = git.salvage(&self.folder.id, why, &head.tree, &head.commit)?;
        let branch = self.branch_ref();
        let tip = git.read_ref(&branch)?.unwrap_or_else(|| head.commit.clone());
        // Commits that a person added are also later ones.
        if tip != head.commit && tip != *to {
            git.salvage(&self.folder.id, why, &git.tree_of(&tip)?, &tip)?;
        }
        let edit = RefEdit::Update { name: &branch, new: to, old: &tip };
        if git.edit_refs(&[edit])? == Swap::Moved && git.read_ref(&branch)?.as_ref() != Some(to) {
            return Err(Failure::environment(format!(
                "the branch {} was moved by someone else",
                self.state.run.branch
            ))
            .next(format!("git branch -f {} {}", shell_word(&self.state.run.branch), head.commit))
            .into());
        }
        Ok(Some(salvage))
    }

    /// Undoes the merge of the run. `to` is the commit of the target branch before the merge. The
    /// run's branch comes back, and the run waits for a decision again. `again` is set after an
    /// interrupted undo.
    pub fn undo(&mut self, merge: &Oid, to: &Oid, again: IsRetry) -> Result<Outcome> {
        self.intend("undo")?;
        let git = &self.project.git;
        let (target, head) = (&self.state.run.target, &self.state.progress.head.commit);
        let salvage = git.salvage(&self.folder.id, "undone", &git.tree_of(merge)?, merge)?;
        let branch = self.branch_ref();
        match git.edit_refs(&[RefEdit::Create { name: &branch, new: head }])? {
            // An existing branch belongs to the run, from an interrupted undo, or to a person.
            Swap::Done | Swap::Moved => {}
        }
        if let Unmerge::Blocked { by, evidence } = git.unmerge(target, merge, to, again)? {
            // Nothing changed, so the next attempt starts over, and the salvage is not needed.
            git.salvage_drop(&salvage)?;
            self.tidy_up(head)?;
            self.intend(UNDO_REFUSED)?;
            return Err(Failure::new(
                failure::Code::No,
                format!("the merge of run {} cannot be undone: {by}", self.folder.id),
            )
            .evidence(evidence)
            .next(format!("fix it, then run: redgreen undo {}", self.folder.id))
            .into());
        }
        self.record(&Event::Undone {
            commit: merge.clone(),
            to: to.clone(),
            salvage: Some(salvage),
        })?;
        self.run()
    }

    /// Gives unaccepted work of a stopped run a ref that outlives the run.
    fn salvage_kept_work(&self, why: &str) -> Result<Option<SalvageName>> {
        let git = &self.project.git;
        let head = &self.state.progress.head;
        let Some(kept) = git.read_ref(&self.work_ref())? else { return Ok(None) };
        let tree = git.tree_of(&kept)?;
        if tree == head.tree {
            return Ok(None);
        }
        git.salvage(&self.folder.id, why, &tree, &head.commit).map(Some)
    }

    fn keep_work(&self, tree: &Oid) -> Result<()> {
        let git = &self.project.git;
        let head = &self.state.progress.head;
        if *tree == head.tree {
            return Ok(());
        }
        let commit = git.commit_tree(
            tree,
            &[&head.commit],
            "redgreen: work that is not accepted yet\n",
            now() / 1000,
        )?;
        let name = self.work_ref();
        let old = git.read_ref(&name)?;
        let edit = match &old {
            Some(old) => RefEdit::Update { name: &name, new: &commit, old },
            None => RefEdit::Create { name: &name, new: &commit },
        };
        // No other process writes this ref, because the run is locked.
        match git.edit_refs(&[edit])? {
            Swap::Done | Swap::Moved => Ok(()),
        }
    }

    /// Tests the result of merging the moved branch. Returns why it must not be merged.
    fn test_merged(
        &mut self,
        target: &Branch,
        tip: &Oid,
        source: &Oid,
    ) -> Result<Option<AttemptFailure>> {
        let head = self.state.progress.head.clone();
        let tree = match self.project.git.merged_tree(tip, source)? {
            Ok(tree) => tree,
            Err(paths) => {
                let message =
                    format!("{target} has moved, and both sides changed {}", paths.join(", "));
                return Ok(Some(AttemptFailure { kind: "merge.conflicts".to_owned(), message }));
            }
        };
        self.set_out(&head, &head.tree)?;
        let timeout = Duration::from_millis(self.state.run.policy.red_timeout_ms);
        let worktree = self.worktree();
        let report = trial::measure(self.ground(&worktree), &tree, timeout)?.report;
        let before = self.accepted_report()?;
        // For tests that passed before, a merge is like a refactoring: nothing may change.
        let merged = ChangedPath {
            path: target.to_string(),
            kind: Kind::Modified,
            class: Class::Implementation,
        };
        let change = Change { paths: vec![merged] };
        let judged = |before: &Report| {
            reports::judge(
                JudgedPhase::Refactor,
                Evidence { change: &change, before, after: &report, targets: &[] },
            )
        };
        let mut verdict = judged(&before);
        if misses_tests(&verdict) {
            verdict = judged(&self.without_deleted(before, tip)?);
        }
        self.remove_worktree(&self.worktree())?;
        // Tests that the other side fixed are fine.
        verdict.reasons.retain(|reason| reason.code != Code::RefactorTurnsGreen);
        Ok((verdict.decision != Decision::Accepted && !verdict.reasons.is_empty()).then(|| {
            AttemptFailure {
                kind: "merge.tests_fail".to_owned(),
                message: format!(
                    "{target} has moved, and the tests fail after merging it\n{}",
                    verdict.sentences()
                ),
            }
        }))
    }

    /// Salvages a commit that no ref would keep after `going` are deleted.
    fn keep_before_deletion(&self, going: &[&str], commit: &Oid) -> Result<()> {
        let git = &self.project.git;
        if git.refs_containing(commit)?.iter().any(|name| !going.contains(&name.as_str())) {
            return Ok(());
        }
        let tree = git.tree_of(commit)?;
        // Only the files of unaccepted work count, and they may have been accepted or salvaged
        // since.
        let head = &self.state.progress.head;
        let accepted =
            || self.state.trail.iter().any(|waypoint| waypoint.progress.head.tree == tree);
        if head.commit != *commit && (accepted() || git.is_salvaged(&self.folder.id, &tree)?) {
            return Ok(());
        }
        git.salvage(&self.folder.id, "deleted", &tree, commit).map(drop)
    }

    /// Removes the refs of the run after their commits are kept elsewhere.
    fn tidy_up(&self, head: &Oid) -> Result<()> {
        let git = &self.project.git;
        let (branch, work) = (self.branch_ref(), self.work_ref());
        for (name, value) in git.read_refs(&[&branch, &work])? {
            // A branch that someone else moved contains more than the run put there, so it stays.
            if name == work || value == *head {
                self.keep_before_deletion(&[&branch, &work], &value)?;
                match git.edit_refs(&[RefEdit::Delete { name: &name, old: &value }])? {
                    Swap::Done | Swap::Moved => {}
                }
            }
        }
        Ok(())
    }
}

fn blocked(kind: &str, message: String) -> Event {
    Event::MergeBlocked { trouble: AttemptFailure { kind: kind.to_owned(), message } }
}
