//! Cleans up after runs that were killed at their very end, or whose folder was removed. This
//! happens when the next command starts.

use std::path::{Component, Path};

use anyhow::{Context, Result};
use redgreen_core::event::Event;
use redgreen_core::names::RunId;

use super::{Engine, Progress, Project};
use crate::git::{CheckoutEntry, Worktree};
use crate::journal::{self, Journal, RunFolder};
use crate::runner::Suite;

impl Project {
    /// Finishes runs that are over, and removes our worktrees without an open run. `spared` is the
    /// run of the current command. Errors are ignored: what cannot be removed now is removed next
    /// time.
    pub fn clear_stale(&self, spared: Option<&RunFolder>) {
        for folder in self.store.open().unwrap_or_default() {
            if Some(&folder) != spared && self.knows_run(&folder.id) && is_over(&folder) {
                self.end(&folder).ok();
            }
        }
        for listed in self.git.worktree_list().unwrap_or_default() {
            let Some(id) = self.run_of(&listed.path) else { continue };
            let folder = self.store.named(&id);
            let gone = !folder.path.exists();
            if Some(&folder) != spared && (gone || is_over(&folder)) {
                self.clear(&id, &listed).ok();
            }
        }
    }

    fn end(&self, folder: &RunFolder) -> Result<()> {
        let (journal, state) = Journal::open(folder, None)?;
        let state = state.context("the run's journal is empty")?;
        if state.left.is_some() {
            return self.store.close(folder);
        }
        let mut silent = |_: Progress<'_>| {};
        let mut engine = Engine::reopen(self, folder.clone(), journal, state, None, &mut silent);
        engine.record(&Event::Resumed { policy: None })?;
        engine.run().map(drop)
    }

    fn clear(&self, id: &RunId, listed: &CheckoutEntry) -> Result<()> {
        if let (true, Some(head)) = (listed.path.is_dir(), &listed.head) {
            let private = tempfile::tempdir().context("make a temporary folder")?;
            let litter = Suite::all_litter().map(str::to_owned).collect();
            let worktree =
                Worktree { path: listed.path.clone(), private: private.path().to_owned(), litter };
            let tree = self.git.tree_of(head)?;
            let held = self.git.snapshot(&worktree, &tree)?.tree;
            if held != tree {
                self.git.salvage(id, "left-behind", &held, head)?;
            }
        }
        self.git.worktree_remove(&listed.path)
    }

    /// The run that a checkout of ours was made for: `<workshop>/<id>`, `<workshop>/<id>-attempt-2`
    /// of several attempts, or a folder in `<workshop>/<id>-merge`.
    fn run_of(&self, checkout: &Path) -> Option<RunId> {
        let workshop = self.workshop.canonicalize().ok()?;
        let inside = checkout.strip_prefix(&workshop).ok()?;
        let names: Vec<&str> = inside
            .components()
            .map(|part| match part {
                Component::Normal(name) => name.to_str(),
                _ => None,
            })
            .collect::<Option<_>>()?;
        let id = match *names.as_slice() {
            [id] => run_of_folder(id),
            [merge, _] => merge.strip_suffix("-merge")?,
            _ => return None,
        };
        RunId::parse(id).ok()
    }
}

/// The run that a folder of the workshop is named after.
pub fn run_of_folder(name: &str) -> &str {
    match name.rsplit_once("-attempt-") {
        Some((id, _)) => id,
        None => name.strip_suffix("-merge").unwrap_or(name),
    }
}

/// Over and not active. An unreadable journal needs a human.
fn is_over(folder: &RunFolder) -> bool {
    !journal::is_busy(folder)
        && matches!(journal::read(folder), Ok((Some(state), _)) if state.is_over())
}
