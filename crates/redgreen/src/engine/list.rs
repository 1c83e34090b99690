//! `test-list.md` in the worktree. The engine owns its boxes: before and after a planner's turn it
//! writes the ticks of accepted cycles, and after every other turn it restores the file.

use std::fs::{self, OpenOptions};
use std::io::{ErrorKind, Write};
use std::path::Path;

use anyhow::{Context, Result};
use redgreen_core::names::Oid;
use redgreen_core::state::Situation;
use redgreen_core::test_list::{self, EngineItems};

use super::Engine;
use super::turn::write;
use crate::foreign;
use crate::git::Worktree;

/// A list is written by hand, so a larger file is something else.
const LIST_BYTES_MAX: u64 = 1 << 20;
/// The list from before the run, among the artifacts.
const EARLIER: &str = "earlier-test-list.md";

impl Engine<'_> {
    /// The engine's own knowledge of the list, independent of the file.
    pub(super) fn known_list(&self) -> EngineItems<'_> {
        let progress = &self.state.progress;
        EngineItems { completed: &progress.completed, pending: &progress.pending }
    }

    /// Corrections to the list after the current turn.
    pub(super) fn list_remarks(&self) -> &[String] {
        match &self.state.situation {
            Situation::Working { attempt, .. } => &attempt.list,
            _ => &[],
        }
    }

    /// Before a planner's turn: writes the list with the ticks of the run. A list from before the
    /// run does not belong to the run. It is stored with the artifacts, and planning starts without
    /// a list.
    pub(super) fn lay_out_list(&self, worktree: &Worktree) -> Result<()> {
        let path = worktree.path.join(test_list::FILE);
        if self.state.progress.handoff.is_none()
            && let Some(earlier) =
                self.project.git.read_file(&self.state.run.base.tree, test_list::FILE)?
        {
            write(&self.folder.artifacts(), EARLIER, &earlier)?;
            // A planner that is asked again finds its own list.
            if read(&path)?.is_none_or(|text| same_text(&text, &String::from_utf8_lossy(&earlier)))
            {
                clear(&path)?;
            }
        }
        // The user's list comes first, until a PLAN was accepted with it.
        if let Some(plan) = &self.state.steering.plan {
            replace(&path, plan.as_bytes())?;
        }
        self.own_list(worktree).map(drop)
    }

    /// Writes the list with the engine's ticks, and returns what it corrected.
    pub(super) fn own_list(&self, worktree: &Worktree) -> Result<Vec<String>> {
        let path = worktree.path.join(test_list::FILE);
        let text = read(&path)?;
        let owned = test_list::own(text.as_deref(), self.known_list());
        match text {
            Some(text) if text == owned.text => {}
            None if owned.text.is_empty() => clear(&path)?,
            Some(_) | None => replace(&path, owned.text.as_bytes())?,
        }
        Ok(owned.undone.iter().map(ToString::to_string).collect())
    }

    /// Whether the list at the end of a turn differs from the accepted one.
    pub(super) fn changes_list(&self, tree: &Oid) -> Result<bool> {
        let (git, head) = (&self.project.git, &self.state.progress.head.tree);
        Ok(tree != head
            && git.diff(head, tree)?.iter().any(|changed| changed.path == test_list::FILE))
    }

    /// After the turn of another agent: restores the accepted list.
    pub(super) fn put_back_list(&self, worktree: &Worktree) -> Result<()> {
        let path = worktree.path.join(test_list::FILE);
        match self.project.git.read_file(&self.state.progress.head.tree, test_list::FILE)? {
            Some(bytes) => replace(&path, &bytes),
            None => clear(&path),
        }
    }

    /// The tree with the list restored to its state at the start of the run. This tree is merged,
    /// so the tests run on it: code that needs the list must not pass here and fail there.
    pub(super) fn without_list(&self, tree: &Oid) -> Result<Oid> {
        self.project.git.with_file_of(tree, &self.state.run.base.tree, test_list::FILE)
    }

    /// The list in the judged tree. If git ignores the file, the one in the worktree.
    pub(super) fn judged_list(&self, tree: &str) -> Result<Option<String>> {
        match self.project.git.read_file(tree, test_list::FILE)? {
            Some(bytes) => Ok(Some(String::from_utf8_lossy(&bytes).into_owned())),
            None => read(&self.worktree().path.join(test_list::FILE)),
        }
    }
}

/// The text of the file. `None` if it is not a plain file of reasonable size. Links are not
/// followed, because they may lead anywhere.
fn read(path: &Path) -> Result<Option<String>> {
    let bytes =
        foreign::read(path, LIST_BYTES_MAX).with_context(|| format!("read {}", path.display()))?;
    Ok(bytes.map(|bytes| String::from_utf8_lossy(&bytes).into_owned()))
}

/// Replaces whatever is there with a new file, so that it never writes through a link of an agent.
fn replace(path: &Path, bytes: &[u8]) -> Result<()> {
    clear(path)?;
    let act = || format!("write {}", path.display());
    let mut file = OpenOptions::new().write(true).create_new(true).open(path).with_context(act)?;
    file.write_all(bytes).with_context(act)
}

fn clear(path: &Path) -> Result<()> {
    let removed = match fs::symlink_metadata(path) {
        Ok(facts) if facts.is_dir() => fs::remove_dir_all(path),
        Ok(_) => fs::remove_file(path),
        Err(error) => Err(error),
    };
    match removed {
        Err(error) if error.kind() != ErrorKind::NotFound => {
            Err(error).with_context(|| format!("remove {}", path.display()))
        }
        Ok(()) | Err(_) => Ok(()),
    }
}

/// A checkout may have other line endings than the commit.
fn same_text(one: &str, other: &str) -> bool {
    one.lines().eq(other.lines())
}
