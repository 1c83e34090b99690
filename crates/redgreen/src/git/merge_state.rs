//! Recovers from a crash during a merge: finds out how far it came, and undoes it if it is
//! incomplete.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use redgreen_core::names::{Branch, Oid};
use redgreen_core::text::in_quotes;

use super::call::CHECKOUT_MAX;
use super::merge_checkout::{MergeCheckout, temporary};
use super::restore::remove_untracked;
use super::{Git, PathChange, Status};
use crate::failure::Failure;

/// The state of an interrupted merge. An incomplete merge leaves no trace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MergeState {
    /// The branch contains the source; `commit` is its tip.
    Merged { commit: Oid },
    /// The merge was incomplete and is undone.
    TakenBack,
    /// The merge never began.
    Untouched,
}

#[derive(PartialEq, Eq)]
enum Traces {
    Nothing,
    /// The index contains the merged tree.
    Index,
    /// Only these files were written.
    Files(Vec<PathChange>),
}

/// The changes of a merge, and an index of the merged tree to compare a checkout with.
pub(super) struct Probe {
    scratch: tempfile::TempDir,
    merged: Oid,
    /// Whether the merge changes any file, including files that a sparse checkout leaves out.
    changes_something: bool,
    /// The changes to files that are checked out.
    changed: Vec<PathChange>,
}

impl Git {
    /// `target` and `scratch` are those of the merge request. A merge started by the user is left
    /// alone.
    pub fn settle_merge(
        &self,
        target: &Branch,
        source: &Oid,
        scratch: &Path,
    ) -> Result<MergeState> {
        let leftover = temporary(target, scratch);
        let was_there = self.admin_dir(&leftover)?.is_some() || leftover.exists();
        if was_there {
            self.remove_checkout(&leftover)?;
        }
        let Some(now) = self.read_ref(&target.full_ref())? else {
            return Ok(MergeState::Untouched);
        };
        if self.contains(&now, source)? {
            return Ok(MergeState::Merged { commit: now });
        }
        let half = match self.merge_checkout(target)? {
            Some(checkout) => self.uninterrupted().settle_at(&checkout, &now, source)?,
            None => false,
        };
        Ok(if half || was_there { MergeState::TakenBack } else { MergeState::Untouched })
    }

    fn settle_at(&self, checkout: &MergeCheckout, now: &str, source: &str) -> Result<bool> {
        match self.merged_tree(now, source)? {
            Ok(merged) => {
                self.take_back(checkout, &self.probe(checkout, now, &merged)?, source, &[])
            }
            // The branch moved in the meantime, so rely on git's MERGE_HEAD.
            Err(_) if checkout.merge_head().as_deref() == Some(source) => {
                checkout.undo_merge().map(|()| true)
            }
            Err(_) => Ok(false),
        }
    }

    /// Undoes the rest of a merge, except `theirs`, which existed before it. Returns false if there
    /// is nothing to undo.
    pub(super) fn take_back(
        &self,
        checkout: &MergeCheckout,
        probe: &Probe,
        source: &str,
        theirs: &[PathChange],
    ) -> Result<bool> {
        let traces = self.traces(checkout, probe, source, theirs)?;
        let lock = checkout.admin.join("index.lock");
        if lock.exists() && traces != Traces::Nothing {
            let place = checkout.folder.display();
            let what = format!("a merge in {place} is incomplete, and git still locks its index");
            return Err(Failure::environment(what)
                .evidence("the merge may still be running; wait for it to end")
                .next(format!(
                    "rm -f {}   (when no git is running there)",
                    in_quotes(&lock.to_string_lossy())
                ))
                .into());
        }
        match traces {
            Traces::Nothing => Ok(false),
            Traces::Index => checkout.undo_merge().map(|()| true),
            Traces::Files(written) => unwrite(checkout, &written).map(|()| true),
        }
    }

    /// How far the merge came. Git writes the files first, then the index, and MERGE_HEAD only if
    /// it stops for the user. Hooks run in between.
    fn traces(
        &self,
        checkout: &MergeCheckout,
        probe: &Probe,
        source: &str,
        theirs: &[PathChange],
    ) -> Result<Traces> {
        if let Some(head) = checkout.merge_head() {
            return Ok(if head == source { Traces::Index } else { Traces::Nothing });
        }
        let compare = |tree: &str| {
            checkout.call().args(["diff-index", "--cached", "--quiet", tree]).ask("read the index")
        };
        if probe.changes_something && compare(&probe.merged)?.success() {
            return Ok(Traces::Index);
        }
        if !compare("HEAD")?.success() {
            return Ok(Traces::Nothing);
        }
        let mut written = self.written(checkout, probe)?;
        written.retain(|change| !theirs.contains(change));
        Ok(if written.is_empty() { Traces::Nothing } else { Traces::Files(written) })
    }

    /// Prepares the comparison of the checkout with a merged tree.
    pub(super) fn probe(&self, checkout: &MergeCheckout, now: &str, merged: &Oid) -> Result<Probe> {
        let scratch = tempfile::tempdir().context("make a temporary folder")?;
        let left_out = checkout.left_out()?;
        let mut changed = self.diff(now, merged)?;
        let changes_something = !changed.is_empty();
        // A merge does not write these files, so their absence proves nothing.
        changed.retain(|change| !left_out.contains(&change.path));
        let probe = Probe { scratch, merged: merged.clone(), changes_something, changed };
        let index = probe.index();
        // Start from the user's index, so that git reads only the files that the merge changes.
        fs::copy(checkout.admin.join("index"), &index).context("copy the index")?;
        let read = || {
            let call = self.call_on(&checkout.folder, &index).args([
                "read-tree",
                "--reset",
                merged.as_str(),
            ]);
            call.run("read the merged tree").map(drop)
        };
        if read().is_err() {
            // A split index cannot be copied. Without a copy git reads every file, which is slower
            // but correct.
            fs::remove_file(&index).context("remove the copy of the index")?;
            read()?;
        }
        Ok(probe)
    }

    /// The changes that the checkout already contains, exactly as the merge writes them. Their
    /// content is in the merged commit, so undoing them loses nothing. Writes nothing, because the
    /// merge may have failed on a full disk.
    pub(super) fn written(
        &self,
        checkout: &MergeCheckout,
        probe: &Probe,
    ) -> Result<Vec<PathChange>> {
        // `git status` is the only comparison that does not update the index.
        let answer = self
            .call_on(&checkout.folder, &probe.index())
            .args([
                "status",
                "--porcelain=v1",
                "-z",
                "--no-renames",
                "-uno",
                "--ignore-submodules=all",
            ])
            .wall(CHECKOUT_MAX)
            .run("compare the files")?;
        let text = String::from_utf8_lossy(&answer);
        // Each entry is two status letters, a space and the path. The second letter describes the
        // file in the worktree.
        let unlike = |entry: &'_ str| entry.as_bytes().get(1).is_some_and(|letter| *letter != b' ');
        let differs: BTreeSet<&str> = text
            .split('\0')
            .filter(|entry| unlike(entry))
            .filter_map(|entry| entry.get(3..))
            .collect();
        let shows = |change: &&PathChange| match change.status {
            Status::Deleted => fs::symlink_metadata(checkout.folder.join(&change.path)).is_err(),
            Status::Added | Status::Modified | Status::TypeChanged => {
                !differs.contains(change.path.as_str())
            }
        };
        Ok(probe.changed.iter().filter(shows).cloned().collect())
    }
}

impl Probe {
    fn index(&self) -> PathBuf {
        self.scratch.path().join("index")
    }
}

/// Restores the files from the index, which the merge has not reached.
fn unwrite(checkout: &MergeCheckout, written: &[PathChange]) -> Result<()> {
    let (added, others): (Vec<_>, Vec<_>) =
        written.iter().partition(|change| change.status == Status::Added);
    for change in added {
        remove_untracked(&checkout.folder, change.path.as_bytes())?;
    }
    let paths: String = others.iter().map(|change| format!("{}\0", change.path)).collect();
    let call = checkout.call().args(["checkout-index", "--force", "-z", "--stdin"]).stdin(paths);
    call.run(&format!("restore files in {}", checkout.folder.display())).map(drop)
}
