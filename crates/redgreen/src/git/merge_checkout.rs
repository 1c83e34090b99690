//! The checkout in which a merge runs: where it is, whether it is free, and how to restore it.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use redgreen_core::report::Exit;

use super::Git;
use super::call::{CHECKOUT_MAX, Call, refused};
use super::worktree::remove_folder;
use crate::foreign;

/// Files that git leaves while a command waits for the user, with the name of the command.
const UNDER_WAY: &[(&str, &str)] = &[
    ("MERGE_HEAD", "merge"),
    ("rebase-merge", "rebase"),
    ("rebase-apply", "rebase"),
    ("CHERRY_PICK_HEAD", "cherry-pick"),
    ("REVERT_HEAD", "revert"),
];

/// A checkout of the target branch.
pub(super) struct MergeCheckout {
    pub(super) folder: PathBuf,
    /// The folder of its HEAD and index.
    pub(super) admin: PathBuf,
}

impl MergeCheckout {
    pub(super) fn under_way(&self) -> Option<&'static str> {
        UNDER_WAY.iter().find(|(file, _)| self.admin.join(file).exists()).map(|(_, what)| *what)
    }

    /// The commit that an incomplete merge would bring in.
    pub(super) fn merge_head(&self) -> Option<String> {
        let text = foreign::read_text(&self.admin.join("MERGE_HEAD")).ok()?;
        Some(text.trim().to_owned())
    }

    pub(super) fn call(&self) -> Call {
        Call::user_plumbing(&self.folder)
    }

    /// The files that a sparse checkout leaves out.
    pub(super) fn left_out(&self) -> Result<BTreeSet<String>> {
        if !self.admin.join("info/sparse-checkout").is_file() {
            return Ok(BTreeSet::new());
        }
        let answer = self
            .call()
            .args(["ls-files", "-z", "-t"])
            .run("find the files of a sparse checkout")?;
        let text = String::from_utf8_lossy(&answer);
        Ok(text
            .split('\0')
            .filter_map(|entry| entry.strip_prefix("S "))
            .map(str::to_owned)
            .collect())
    }

    /// Whether the index differs from HEAD. A file added with `git add -N` counts.
    pub(super) fn is_staged(&self) -> Result<bool> {
        let compare = ["diff-index", "--cached", "--quiet", "--ita-visible-in-index", "HEAD"];
        let asked = self.call().args(compare).ask("look for staged changes")?;
        match asked.exit {
            Exit::Code(0) => Ok(false),
            Exit::Code(1) => Ok(true),
            _ => Err(refused("look for staged changes", &asked)),
        }
    }

    /// Undoes the merge. Files that it did not touch keep their content, committed or not.
    pub(super) fn undo_merge(&self) -> Result<()> {
        let act = format!("undo the merge in {}", self.folder.display());
        if self.merge_head().is_none() && !self.is_staged()? {
            return Ok(());
        }
        // The same as `git merge --abort`, but it also works if the merge was killed before it
        // wrote MERGE_HEAD.
        self.call().args(["reset", "--quiet", "--merge", "HEAD"]).wall(CHECKOUT_MAX).run(&act)?;
        match self.under_way() {
            None => Ok(()),
            Some(what) => bail!("{act}: a {what} is still in progress there"),
        }
    }
}

impl Git {
    /// The checkout of the branch, the user's own first.
    pub(super) fn merge_checkout(&self, branch: &str) -> Result<Option<MergeCheckout>> {
        let listed = self.worktree_list()?;
        let Some(found) =
            listed.into_iter().find(|one| !one.gone && one.branch.as_deref() == Some(branch))
        else {
            return Ok(None);
        };
        let admin = self.admin_dir(&found.path)?.unwrap_or_else(|| self.common_dir.clone());
        Ok(Some(MergeCheckout { folder: found.path, admin }))
    }

    /// Creates a checkout for a branch that is not checked out.
    pub(super) fn temporary_checkout(&self, branch: &str, under: &Path) -> Result<MergeCheckout> {
        let folder = temporary(branch, under);
        self.remove_checkout(&folder)?;
        fs::create_dir_all(under).with_context(|| format!("create folder {}", under.display()))?;
        let act = format!("check out {branch} in {}", folder.display());
        let add = self.call(["worktree", "add", "--quiet"]).arg(&folder).arg(branch);
        let added = self.with_worktree_lock(|| add.wall(CHECKOUT_MAX).run(&act));
        if let Err(error) = added {
            self.remove_checkout(&folder).ok();
            return Err(error);
        }
        let admin =
            self.admin_dir(&folder)?.with_context(|| format!("{act}: git has no record of it"))?;
        Ok(MergeCheckout { folder, admin })
    }

    pub(super) fn remove_checkout(&self, folder: &Path) -> Result<()> {
        if self.admin_dir(folder)?.is_some() {
            return self.worktree_remove(folder);
        }
        remove_folder(folder).with_context(|| format!("remove {}", folder.display()))
    }

    /// The folder of a rebase of the branch. A rebase detaches HEAD and moves the branch when it
    /// finishes.
    pub(super) fn rebase_of(&self, branch: &str) -> Result<Option<PathBuf>> {
        let wanted = format!("refs/heads/{branch}");
        let linked = self.common_dir.join("worktrees");
        let mut folders = vec![self.common_dir.clone()];
        if let Ok(entries) = fs::read_dir(linked) {
            folders.extend(entries.filter_map(|entry| Some(entry.ok()?.path())));
        }
        let rebased = |folder: &PathBuf| {
            let names = ["rebase-merge/head-name", "rebase-apply/head-name"];
            names.iter().any(|name| {
                foreign::read_text(&folder.join(name)).is_ok_and(|text| text.trim() == wanted)
            })
        };
        Ok(folders.into_iter().find(rebased))
    }
}

/// The same path for each merge into a branch, so that leftovers of a crash are found.
pub(super) fn temporary(branch: &str, under: &Path) -> PathBuf {
    under.join(format!("merge-{}", branch.replace('/', "-")))
}
