//! A person working in the worktree. Their files stay, whatever ends the process. A mark next to
//! the worktree says that the files belong to a person, from the start of their turn until another
//! agent takes over or the run is done.

use std::fs;
use std::io::ErrorKind;

use anyhow::{Context, Result};
use redgreen_core::agent::Assignment;
use redgreen_core::event::{Mark, Outcome};
use redgreen_core::names::{Oid, SalvageName};
use redgreen_core::phase::Phase;

use super::Engine;
use super::turn::write;
use crate::git::Worktree;

/// Next to the private index of a person's worktree. It contains the phase of their turn.
const HUMAN: &str = "human";

impl Engine<'_> {
    /// Written before the person is asked, so that it exists whenever their files do.
    pub(super) fn mark_human(&self, worktree: &Worktree, assignment: &Assignment) -> Result<()> {
        write(&worktree.private, HUMAN, turn_of(assignment).as_bytes())
    }

    /// From here on the worktree belongs to the user. No turn has this name.
    pub(super) fn mark_paused(&self, worktree: &Worktree, after: Phase) -> Result<()> {
        write(&worktree.private, HUMAN, format!("pause after {after}").as_bytes())
    }

    pub(super) fn is_humans(&self, worktree: &Worktree) -> bool {
        worktree.private.join(HUMAN).exists()
    }

    /// Whether a person was already asked for this turn, so that their files are the result so far.
    pub(super) fn is_turn_of_human(&self, worktree: &Worktree, assignment: &Assignment) -> bool {
        fs::read_to_string(worktree.private.join(HUMAN))
            .is_ok_and(|marked| marked == turn_of(assignment))
    }

    pub(super) fn unmark_human(&self, worktree: &Worktree) -> Result<()> {
        let mark = worktree.private.join(HUMAN);
        match fs::remove_file(&mark) {
            Err(error) if error.kind() != ErrorKind::NotFound => {
                Err(error).with_context(|| format!("remove {}", mark.display()))
            }
            Ok(()) | Err(_) => Ok(()),
        }
    }

    /// Uses an existing worktree: with a person's files unchanged, otherwise with `tree`. Returns
    /// what was salvaged, and notices.
    pub(super) fn go_on_in(
        &self,
        worktree: &Worktree,
        head: &Mark,
        tree: &Oid,
    ) -> Result<(Option<SalvageName>, Vec<String>)> {
        let git = &self.project.git;
        let at = if self.is_humans(worktree) { git.head_of(worktree)? } else { None };
        if let Some(at) = at
            && git.contains(&at, &head.commit)?
        {
            return Ok((None, vec![format!("kept your files in {}", worktree.path.display())]));
        }
        // The commit of GREEN may already be in place: created, but not journalled before a crash.
        let joined = self.joining().map_or(tree, |joined| &joined.tree);
        let salvage = self.salvage_unless(worktree, "interrupted", &[tree, &head.tree, joined])?;
        git.restore(worktree, head, tree)?;
        Ok((salvage, Vec::new()))
    }

    /// Updates the worktree after a commit. A person may have continued typing during the verdict,
    /// and keeps that.
    pub(super) fn settle_worktree(&self, mark: &Mark) -> Result<()> {
        let (git, worktree) = (&self.project.git, self.worktree());
        if self.is_humans(&worktree) {
            self.lay_out_joined(&worktree)?;
        }
        if self.is_humans(&worktree) && git.snapshot(&worktree, &mark.tree)?.tree != mark.tree {
            return git.settle_head(&worktree, mark);
        }
        git.restore(&worktree, mark, &mark.tree)
    }

    /// An agent takes over a person's worktree. It continues with what they started in this phase,
    /// but not with changes beyond an accepted phase. Both are salvaged. Returns a notice if there
    /// was anything.
    pub(super) fn take_over_from_human(
        &self,
        worktree: &Worktree,
        assignment: &Assignment,
    ) -> Result<Option<String>> {
        if !self.is_humans(worktree) {
            return Ok(None);
        }
        let (head, tree) = (&self.state.progress.head, self.state.expected_tree());
        let marked = fs::read_to_string(worktree.private.join(HUMAN)).unwrap_or_default();
        let salvage = self.salvage_unless(worktree, "human", &[tree, &head.tree])?;
        if marked != turn_of(assignment) {
            self.project.git.restore(worktree, head, tree)?;
        }
        self.unmark_human(worktree)?;
        Ok(salvage.map(|name| format!("saved manual changes that were not judged as {name}")))
    }

    /// Whether the worktree outlives the engine: as long as a person's work in it is not done.
    pub(super) fn stays(&self, worktree: &Worktree, outcome: &Outcome) -> Result<bool> {
        let unfinished = match outcome {
            Outcome::GaveUp { .. }
            | Outcome::Undecided { .. }
            | Outcome::AgentUnusable { .. }
            | Outcome::BaselineUnusable { .. }
            | Outcome::BudgetSpent { .. }
            | Outcome::NothingDeveloped { .. }
            | Outcome::Paused { .. }
            | Outcome::Interrupted => true,
            Outcome::Merged
            | Outcome::Aborted
            | Outcome::Waiting
            | Outcome::RolledBack { .. }
            | Outcome::MergeBlocked { .. } => false,
        };
        Ok(unfinished && self.is_humans(worktree) && self.is_ready(worktree)?)
    }
}

fn turn_of(assignment: &Assignment) -> String {
    format!("{} {}", assignment.cycle, assignment.phase)
}
