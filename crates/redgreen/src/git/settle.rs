//! After a crash: what became of a merge, and an end to one that was left half-way.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use redgreen_core::names::{Branch, Oid};
use redgreen_core::text::in_quotes;

use super::call::CHECKOUT_MAX;
use super::landing::{Landing, temporary};
use super::restore::remove_untracked;
use super::{Changed, Git, Status};
use crate::failure::Failure;

/// What became of a merge that nobody saw the end of. No trace of it is left but a finished one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Settled {
    /// The branch has it; this is the branch's commit now.
    Merged { commit: Oid },
    /// It was half-way, and was taken back.
    TakenBack,
    /// It never began.
    Untouched,
}

#[derive(PartialEq, Eq)]
enum Traces {
    Nothing,
    /// The index holds the merged tree.
    Index,
    /// Only these changes reached the files.
    Files(Vec<Changed>),
}

/// What a merge would change, and an index of the merged tree to compare a checkout with.
pub(super) struct Probe {
    scratch: tempfile::TempDir,
    merged: Oid,
    /// The merge changes something, be it only files that a sparse checkout leaves out.
    changes_something: bool,
    /// What it changes of the files that are checked out.
    changed: Vec<Changed>,
}

impl Git {
    /// `target` and `scratch` as the merge was asked for. A merge of the user's own is left alone.
    pub fn settle_merge(&self, target: &Branch, source: &Oid, scratch: &Path) -> Result<Settled> {
        let leftover = temporary(target, scratch);
        let was_there = self.admin_dir(&leftover)?.is_some() || leftover.exists();
        if was_there {
            self.remove_landing(&leftover)?;
        }
        let Some(now) = self.read_ref(&target.full_ref())? else { return Ok(Settled::Untouched) };
        if self.contains(&now, source)? {
            return Ok(Settled::Merged { commit: now });
        }
        let half = match self.landing(target)? {
            Some(landing) => self.to_the_end().settle_at(&landing, &now, source)?,
            None => false,
        };
        Ok(if half || was_there { Settled::TakenBack } else { Settled::Untouched })
    }

    fn settle_at(&self, landing: &Landing, now: &str, source: &str) -> Result<bool> {
        match self.merged_tree(now, source)? {
            Ok(merged) => self.take_back(landing, &self.probe(landing, now, &merged)?, source, &[]),
            // The branch moved on since; what git itself noted down still tells.
            Err(_) if landing.merge_head().as_deref() == Some(source) => landing.put_back().map(|()| true),
            Err(_) => Ok(false),
        }
    }

    /// Takes back what is left of a merge, but for `theirs`, which was there before it; false when nothing is.
    pub(super) fn take_back(&self, landing: &Landing, probe: &Probe, source: &str, theirs: &[Changed]) -> Result<bool> {
        let traces = self.traces(landing, probe, source, theirs)?;
        let lock = landing.admin.join("index.lock");
        if lock.exists() && traces != Traces::Nothing {
            let place = landing.folder.display();
            let what = format!("a merge in {place} is half-way, and git still holds its index");
            return Err(Failure::environment(what)
                .evidence("the merge may still be running; wait for it to end")
                .next(format!("rm -f {}   (when no git is running there)", in_quotes(&lock.to_string_lossy())))
                .into());
        }
        match traces {
            Traces::Nothing => Ok(false),
            Traces::Index => landing.put_back().map(|()| true),
            Traces::Files(written) => unwrite(landing, &written).map(|()| true),
        }
    }

    /// How far the merge came. Git writes files first, then the index, and what it merges only when it stops for the
    /// user; a hook runs in between.
    fn traces(&self, landing: &Landing, probe: &Probe, source: &str, theirs: &[Changed]) -> Result<Traces> {
        if let Some(head) = landing.merge_head() {
            return Ok(if head == source { Traces::Index } else { Traces::Nothing });
        }
        let compare =
            |tree: &str| landing.call().args(["diff-index", "--cached", "--quiet", tree]).ask("read the index");
        if probe.changes_something && compare(&probe.merged)?.success() {
            return Ok(Traces::Index);
        }
        if !compare("HEAD")?.success() {
            return Ok(Traces::Nothing);
        }
        let mut written = self.written(landing, probe)?;
        written.retain(|change| !theirs.contains(change));
        Ok(if written.is_empty() { Traces::Nothing } else { Traces::Files(written) })
    }

    /// Gets ready to compare the checkout with a merged tree.
    pub(super) fn probe(&self, landing: &Landing, now: &str, merged: &Oid) -> Result<Probe> {
        let scratch = tempfile::tempdir().context("make a temporary folder")?;
        let left_out = landing.left_out()?;
        let mut changed = self.diff(now, merged)?;
        let changes_something = !changed.is_empty();
        // A merge does not write them, so their absence tells nothing.
        changed.retain(|change| !left_out.contains(&change.path));
        let probe = Probe { scratch, merged: merged.clone(), changes_something, changed };
        let index = probe.index();
        // With the user's index to start from, only files that the merge changes are read.
        fs::copy(landing.admin.join("index"), &index).context("copy the index")?;
        let read = || {
            let call = self.call_on(&landing.folder, &index).args(["read-tree", "--reset", merged.as_str()]);
            call.run("read the merged tree").map(drop)
        };
        if read().is_err() {
            // A split index cannot be copied; without one every file is read, which is slow and just as right.
            fs::remove_file(&index).context("remove the copy of the index")?;
            read()?;
        }
        Ok(probe)
    }

    /// Of the changes, those that the files of the checkout already show, exactly as the merge would write them. Their
    /// content is in the merged commit, so that taking them back loses nothing. Nothing is written, since the merge may
    /// have ended for want of space.
    pub(super) fn written(&self, landing: &Landing, probe: &Probe) -> Result<Vec<Changed>> {
        // Of git's ways to compare files, the only one that keeps what it learns to itself.
        let answer = self
            .call_on(&landing.folder, &probe.index())
            .args(["status", "--porcelain=v1", "-z", "--no-renames", "-uno", "--ignore-submodules=all"])
            .wall(CHECKOUT_MAX)
            .run("compare the files")?;
        let text = String::from_utf8_lossy(&answer);
        // Two letters and a blank, then the path; the second letter is about the file.
        let unlike = |entry: &'_ str| entry.as_bytes().get(1).is_some_and(|letter| *letter != b' ');
        let differs: BTreeSet<&str> =
            text.split('\0').filter(|entry| unlike(entry)).filter_map(|entry| entry.get(3..)).collect();
        let shows = |change: &&Changed| match change.status {
            Status::Deleted => fs::symlink_metadata(landing.folder.join(&change.path)).is_err(),
            Status::Added | Status::Modified | Status::TypeChanged => !differs.contains(change.path.as_str()),
        };
        Ok(probe.changed.iter().filter(shows).cloned().collect())
    }
}

impl Probe {
    fn index(&self) -> PathBuf {
        self.scratch.path().join("index")
    }
}

/// Puts the files back to what the index, which the merge had not reached, says.
fn unwrite(landing: &Landing, written: &[Changed]) -> Result<()> {
    let (added, others): (Vec<_>, Vec<_>) = written.iter().partition(|change| change.status == Status::Added);
    for change in added {
        remove_untracked(&landing.folder, change.path.as_bytes())?;
    }
    let paths: String = others.iter().map(|change| format!("{}\0", change.path)).collect();
    let call = landing.call().args(["checkout-index", "--force", "-z", "--stdin"]).stdin(paths);
    call.run(&format!("put back files in {}", landing.folder.display())).map(drop)
}
