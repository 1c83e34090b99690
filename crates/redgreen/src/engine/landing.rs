//! How a run ends: merged into the user's branch, discarded, or left for later. Nothing is thrown away without a ref
//! that keeps it.

use std::time::Duration;

use anyhow::Result;
use redgreen_core::agent::Trouble;
use redgreen_core::change::{Change, ChangedPath, Class, Kind};
use redgreen_core::event::{Event, Outcome};
use redgreen_core::judge::{self, Evidence};
use redgreen_core::phase::Phase;
use redgreen_core::verdict::Decision;

use super::{Engine, now};
use crate::failure::{Code, Failure};
use crate::git::{Again, Merge, MergeRequest, RefEdit, Settled, Swap, Unmerge};
use crate::trial;

/// Journalled when a merge could not be taken back.
const UNDO_REFUSED: &str = "undo-refused";

impl Engine<'_> {
    /// Merges the run's branch into the branch it is meant for. If that branch moved meanwhile, the result of the merge
    /// is tested first: two things that are right by themselves may be wrong together.
    pub(super) fn merge(&mut self, message: &str) -> Result<Event> {
        let git = &self.project.git;
        let (target, head) = (self.state.run.target.clone(), self.state.progress.head.clone());
        let scratch = self.project.workshop.join(format!("{}-merge", self.folder.id));
        if let Settled::Merged { commit } = git.settle_merge(&target, &head.commit, &scratch)? {
            self.tidy_up(&head.commit)?;
            return Ok(Event::Merged { commit });
        }
        let Some(tip) = git.read_ref(&format!("refs/heads/{target}"))? else {
            return Ok(blocked("merge.target_gone", format!("the branch {target} is gone")));
        };
        if tip != self.state.run.base.commit
            && let Some(trouble) = self.test_merged(&target, &tip)?
        {
            return Ok(Event::MergeBlocked { trouble });
        }
        let request = MergeRequest { target: &target, source: &head.commit, message, scratch: &scratch };
        match self.project.git.merge(request, &self.project.stop)? {
            Merge::Merged { commit } => {
                self.tidy_up(&head.commit)?;
                Ok(Event::Merged { commit })
            }
            Merge::AlreadyMerged => {
                self.tidy_up(&head.commit)?;
                Ok(Event::Merged { commit: tip })
            }
            Merge::Conflicts { paths } => Ok(blocked(
                "merge.conflicts",
                format!("{target} has moved, and both sides changed {}", paths.join(", ")),
            )),
            Merge::Blocked { by, output } => Ok(blocked("merge.blocked", format!("{by}\n{output}"))),
        }
    }

    /// Ends the run without a merge. The branch's commits stay under a salvage ref.
    pub(super) fn discard(&mut self) -> Result<Event> {
        let worktree = self.worktree();
        let head = self.state.progress.head.clone();
        let mut salvage = None;
        self.end_orphans();
        if self.is_ready(&worktree)? {
            salvage = self.salvage_unless(&worktree, "aborted", &[&head.tree, &self.state.run.base.tree])?;
        }
        if salvage.is_none() {
            salvage = self.salvage_kept_work("aborted")?;
        }
        if head.commit != self.state.run.base.commit && salvage.is_none() {
            salvage = Some(self.project.git.salvage(&self.folder.id, "aborted", &head.tree, &head.commit)?);
        }
        self.remove_worktree(&worktree)?;
        self.tidy_up(&head.commit)?;
        Ok(Event::Discarded { salvage })
    }

    /// Removes the worktree; work that is not accepted yet is kept under a ref until the run goes on.
    pub(super) fn leave(&mut self, outcome: &Outcome) -> Result<Event> {
        let worktree = self.worktree();
        let expected = self.state.expected_tree().to_owned();
        if self.is_ready(&worktree)? {
            self.salvage_unless(&worktree, "interrupted", &[&expected, &self.state.progress.head.tree])?;
        }
        self.keep_work(&expected)?;
        self.remove_worktree(&worktree)?;
        Ok(Event::Left { outcome: outcome.clone() })
    }

    /// Takes the run back to a commit it stood at; what came after stays under a salvage ref.
    pub fn roll_back(&mut self, to: &str) -> Result<Outcome> {
        self.intend("rollback")?;
        let git = &self.project.git;
        let head = self.state.progress.head.clone();
        let mut salvage = self.salvage_kept_work("rolled-back")?;
        if head.commit != to {
            salvage = Some(git.salvage(&self.folder.id, "rolled-back", &head.tree, &head.commit)?);
            let branch = self.branch_ref();
            let edit = RefEdit::Update { name: &branch, new: to, old: &head.commit };
            if git.edit_refs(&[edit])? == Swap::Moved && git.read_ref(&branch)?.as_deref() != Some(to) {
                return Err(Failure::environment(format!(
                    "the branch {} was moved by someone else",
                    self.state.run.branch
                ))
                .next(format!("git branch -f {} {}", self.state.run.branch, head.commit))
                .into());
            }
        }
        self.record(&Event::RolledBack { to: to.to_owned(), salvage })?;
        self.intend("leave")?;
        let left = self.leave(&Outcome::Interrupted)?;
        self.record(&left)?;
        Ok(Outcome::Interrupted)
    }

    /// Takes the run's merge back: `to` is where the branch it is meant for stood before. The run's own branch comes
    /// back, and the run waits for a decision again. `again` after an undo that was killed.
    pub fn undo(&mut self, merge: &str, to: &str, again: Again) -> Result<Outcome> {
        self.intend("undo")?;
        let git = &self.project.git;
        let (target, head) = (&self.state.run.target, &self.state.progress.head.commit);
        let salvage = git.salvage(&self.folder.id, "undone", &git.tree_of(merge)?, merge)?;
        let branch = self.branch_ref();
        match git.edit_refs(&[RefEdit::Create { name: &branch, new: head }])? {
            // A branch that is there already is the run's, from an undo that was killed, or a person's own.
            Swap::Done | Swap::Moved => {}
        }
        if let Unmerge::Blocked { by, evidence } = git.unmerge(target, merge, to, again)? {
            // Nothing was changed, so the next try is a first one, and what was kept for it is still on the branch.
            git.salvage_drop(&salvage)?;
            self.tidy_up(head)?;
            self.intend(UNDO_REFUSED)?;
            return Err(Failure::new(Code::No, format!("the merge of run {} cannot be undone: {by}", self.folder.id))
                .evidence(evidence)
                .next(format!("fix that, then: redgreen undo {}", self.folder.id))
                .into());
        }
        self.record(&Event::Undone { commit: merge.to_owned(), to: to.to_owned(), salvage: Some(salvage) })?;
        self.run()
    }

    /// Work that is not accepted, and was kept when the run was left, gets a ref that outlives the run.
    fn salvage_kept_work(&self, why: &str) -> Result<Option<String>> {
        let git = &self.project.git;
        let head = &self.state.progress.head;
        let Some(kept) = git.read_ref(&self.work_ref())? else { return Ok(None) };
        let tree = git.tree_of(&kept)?;
        if tree == head.tree {
            return Ok(None);
        }
        git.salvage(&self.folder.id, why, &tree, &head.commit).map(Some)
    }

    fn keep_work(&self, tree: &str) -> Result<()> {
        let git = &self.project.git;
        let head = &self.state.progress.head;
        if tree == head.tree {
            return Ok(());
        }
        let commit =
            git.commit_tree(tree, &[&head.commit], "redgreen: work that is not accepted yet\n", now() / 1000)?;
        let name = self.work_ref();
        let old = git.read_ref(&name)?;
        let edit = match &old {
            Some(old) => RefEdit::Update { name: &name, new: &commit, old },
            None => RefEdit::Create { name: &name, new: &commit },
        };
        // Nobody else writes this ref: the run is locked.
        match git.edit_refs(&[edit])? {
            Swap::Done | Swap::Moved => Ok(()),
        }
    }

    /// Tests what a merge with the moved branch would give; says why it may not be made.
    fn test_merged(&mut self, target: &str, tip: &str) -> Result<Option<Trouble>> {
        let head = self.state.progress.head.clone();
        let tree = match self.project.git.merged_tree(tip, &head.commit)? {
            Ok(tree) => tree,
            Err(paths) => {
                let message = format!("{target} has moved, and both sides changed {}", paths.join(", "));
                return Ok(Some(Trouble { kind: "merge.conflicts".to_owned(), message }));
            }
        };
        self.prepare(&head.tree)?;
        let timeout = Duration::from_millis(self.state.run.policy.red_timeout_ms);
        let worktree = self.worktree();
        let report = trial::measure(self.ground(&worktree), &tree, timeout)?.report;
        let before = self.accepted_report()?;
        self.remove_worktree(&self.worktree())?;
        // To every test that passed before, a merge is what a refactoring is: it may not change anything.
        let merged = ChangedPath { path: target.to_owned(), kind: Kind::Modified, class: Class::Implementation };
        let change = Change { paths: vec![merged] };
        let verdict =
            judge::judge(Phase::Refactor, Evidence { change: &change, before: &before, after: &report, targets: &[] });
        Ok((verdict.decision != Decision::Accepted).then(|| Trouble {
            kind: "merge.tests_fail".to_owned(),
            message: format!("{target} has moved, and merged with it the tests do not pass\n{}", verdict.sentences()),
        }))
    }

    /// Takes the run's own refs away, now that their commits are kept elsewhere.
    fn tidy_up(&self, head: &str) -> Result<()> {
        let git = &self.project.git;
        let (branch, work) = (self.branch_ref(), self.work_ref());
        for (name, value) in git.read_refs(&[&branch, &work])? {
            // A branch that someone else moved holds more than the run put there, and stays.
            if name == work || value == head {
                match git.edit_refs(&[RefEdit::Delete { name: &name, old: &value }])? {
                    Swap::Done | Swap::Moved => {}
                }
            }
        }
        Ok(())
    }
}

fn blocked(kind: &str, message: String) -> Event {
    Event::MergeBlocked { trouble: Trouble { kind: kind.to_owned(), message } }
}
