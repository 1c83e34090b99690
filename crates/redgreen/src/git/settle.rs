//! After a crash: what became of a merge, and an end to one that was left half-way.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use anyhow::{Context, Result};

use super::landing::{Landing, temporary};
use super::restore::remove_untracked;
use super::{Changed, Git, Status};
use crate::failure::Failure;

/// What became of a merge that nobody saw the end of. No trace of it is left but a finished one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Settled {
    /// The branch has it; this is the branch's commit now.
    Merged { commit: String },
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

impl Git {
    /// `target` and `scratch` as the merge was asked for. A merge of the user's own is left alone.
    pub fn settle_merge(&self, target: &str, source: &str, scratch: &Path) -> Result<Settled> {
        let leftover = temporary(target, scratch);
        let was_there = self.admin_dir(&leftover)?.is_some() || leftover.exists();
        if was_there {
            self.remove_landing(&leftover)?;
        }
        let now = self
            .read_ref(&format!("refs/heads/{target}"))?
            .unwrap_or_default();
        if now.is_empty() {
            return Ok(Settled::Untouched);
        }
        if self.contains(&now, source)? {
            return Ok(Settled::Merged { commit: now });
        }
        let half = match self.landing(target)? {
            Some(landing) => self.take_back(&landing, [&now, source], &[])?,
            None => false,
        };
        Ok(if half || was_there {
            Settled::TakenBack
        } else {
            Settled::Untouched
        })
    }

    /// Takes back what is left of the merge of `source` into `now`, but for `theirs`, which was there before it; false
    /// when nothing is.
    pub(super) fn take_back(
        &self,
        landing: &Landing,
        [now, source]: [&str; 2],
        theirs: &[Changed],
    ) -> Result<bool> {
        let traces = match self.traces(landing, now, source)? {
            Traces::Files(written) => files(
                written
                    .into_iter()
                    .filter(|one| !theirs.contains(one))
                    .collect(),
            ),
            found @ (Traces::Nothing | Traces::Index) => found,
        };
        let lock = landing.admin.join("index.lock");
        if lock.exists() && traces != Traces::Nothing {
            let place = landing.folder.display();
            let what = format!("a merge in {place} is half-way, and git still holds its index");
            return Err(Failure::environment(what)
                .evidence("the merge may still be running; wait for it to end")
                .next(format!(
                    "rm -f '{}'   (when no git is running there)",
                    lock.display()
                ))
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
    fn traces(&self, landing: &Landing, now: &str, source: &str) -> Result<Traces> {
        if let Some(head) = landing.merge_head() {
            return Ok(if head == source {
                Traces::Index
            } else {
                Traces::Nothing
            });
        }
        let Ok(merged) = self.merged_tree(now, source)? else {
            return Ok(Traces::Nothing);
        };
        let changed = self.diff(now, &merged)?;
        let compare = |tree: &str| {
            landing
                .call()
                .args(["diff-index", "--cached", "--quiet", tree])
                .ask("read the index")
        };
        if !changed.is_empty() && compare(&merged)?.success() {
            return Ok(Traces::Index);
        }
        if !compare(now)?.success() {
            return Ok(Traces::Nothing);
        }
        Ok(files(self.written(landing, &merged, changed)?))
    }

    /// Of the changes, those that the files of the checkout already show, exactly as the merge would write them. Their
    /// content is in the merged commit, so that taking them back loses nothing.
    pub(super) fn written(
        &self,
        landing: &Landing,
        merged: &str,
        changed: Vec<Changed>,
    ) -> Result<Vec<Changed>> {
        let scratch = tempfile::tempdir().context("make a temporary folder")?;
        let index = scratch.path().join("index");
        let call = || self.call_on(&landing.folder, &index);
        // With the user's index to start from, only files that the merge changes are read.
        fs::copy(landing.admin.join("index"), &index).context("copy the index")?;
        let read = || {
            call()
                .args(["read-tree", "--reset", merged])
                .run("read the merged tree")
        };
        if read().is_err() {
            // A split index cannot be copied; without one every file is read, which is slow and just as right.
            fs::remove_file(&index).context("remove the copy of the index")?;
            read()?;
        }
        // Its exit code says only that some file differs.
        call()
            .args(["update-index", "-q", "--refresh"])
            .ask("compare the files")?;
        let answer = call()
            .args(["diff-files", "-z", "--name-only"])
            .run("compare the files")?;
        let differs: BTreeSet<String> = answer
            .split(|byte| *byte == 0)
            .map(|name| String::from_utf8_lossy(name).into_owned())
            .collect();
        let shows = |change: &Changed| match change.status {
            Status::Deleted => fs::symlink_metadata(landing.folder.join(&change.path)).is_err(),
            Status::Added | Status::Modified | Status::TypeChanged => {
                !differs.contains(&change.path)
            }
        };
        Ok(changed.into_iter().filter(shows).collect())
    }
}

fn files(written: Vec<Changed>) -> Traces {
    if written.is_empty() {
        Traces::Nothing
    } else {
        Traces::Files(written)
    }
}

/// Puts the files back to what the index, which the merge had not reached, says.
fn unwrite(landing: &Landing, written: &[Changed]) -> Result<()> {
    let (added, others): (Vec<_>, Vec<_>) = written
        .iter()
        .partition(|change| change.status == Status::Added);
    for change in added {
        remove_untracked(&landing.folder, change.path.as_bytes())?;
    }
    let paths: String = others
        .iter()
        .map(|change| format!("{}\0", change.path))
        .collect();
    let call = landing
        .call()
        .args(["checkout-index", "--force", "-z", "--stdin"])
        .stdin(paths);
    call.run(&format!("put back files in {}", landing.folder.display()))
        .map(drop)
}
