//! The checkout that a merge takes place in: where it is, whether it is free, and how it is put back.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use redgreen_core::report::Exit;

use super::Git;
use super::call::{CHECKOUT_MAX, Call, refused};
use super::worktree::remove_folder;

/// What git leaves in its folder while one of its commands waits for the user, and how to call that.
const UNDER_WAY: &[(&str, &str)] = &[
    ("MERGE_HEAD", "merge"),
    ("rebase-merge", "rebase"),
    ("rebase-apply", "rebase"),
    ("CHERRY_PICK_HEAD", "cherry-pick"),
    ("REVERT_HEAD", "revert"),
];

/// A checkout with the target branch in it.
pub(super) struct Landing {
    pub(super) folder: PathBuf,
    /// Where its HEAD and its index are.
    pub(super) admin: PathBuf,
}

impl Landing {
    pub(super) fn under_way(&self) -> Option<&'static str> {
        UNDER_WAY.iter().find(|(file, _)| self.admin.join(file).exists()).map(|(_, what)| *what)
    }

    /// The commit that a merge left half-way would bring in.
    pub(super) fn merge_head(&self) -> Option<String> {
        let text = fs::read_to_string(self.admin.join("MERGE_HEAD")).ok()?;
        Some(text.trim().to_owned())
    }

    pub(super) fn call(&self) -> Call {
        Call::plumbing_of_the_user(&self.folder)
    }

    /// The files that a sparse checkout leaves out.
    pub(super) fn left_out(&self) -> Result<BTreeSet<String>> {
        if !self.admin.join("info/sparse-checkout").is_file() {
            return Ok(BTreeSet::new());
        }
        let answer = self.call().args(["ls-files", "-z", "-t"]).run("find the files of a sparse checkout")?;
        let text = String::from_utf8_lossy(&answer);
        Ok(text.split('\0').filter_map(|entry| entry.strip_prefix("S ")).map(str::to_owned).collect())
    }

    /// The index differs from HEAD, be it only by a file that was announced with `git add -N`.
    pub(super) fn is_staged(&self) -> Result<bool> {
        let compare = ["diff-index", "--cached", "--quiet", "--ita-visible-in-index", "HEAD"];
        let asked = self.call().args(compare).ask("look for staged changes")?;
        match asked.exit {
            Exit::Code(0) => Ok(false),
            Exit::Code(1) => Ok(true),
            _ => Err(refused("look for staged changes", &asked)),
        }
    }

    /// Takes the merge back. Files that it did not touch keep their bytes, whether they are committed or not.
    pub(super) fn put_back(&self) -> Result<()> {
        let act = format!("take back the merge in {}", self.folder.display());
        if self.merge_head().is_none() && !self.is_staged()? {
            return Ok(());
        }
        // What `git merge --abort` does, and also right when the merge was killed before it left a MERGE_HEAD.
        self.call().args(["reset", "--quiet", "--merge", "HEAD"]).wall(CHECKOUT_MAX).run(&act)?;
        match self.under_way() {
            None => Ok(()),
            Some(what) => bail!("{act}: a {what} is still under way there"),
        }
    }
}

impl Git {
    /// The checkout that has the branch, the user's own first.
    pub(super) fn landing(&self, branch: &str) -> Result<Option<Landing>> {
        let listed = self.worktree_list()?;
        let Some(found) = listed.into_iter().find(|one| !one.gone && one.branch.as_deref() == Some(branch)) else {
            return Ok(None);
        };
        let admin = self.admin_dir(&found.path)?.unwrap_or_else(|| self.common_dir.clone());
        Ok(Some(Landing { folder: found.path, admin }))
    }

    /// A checkout for a branch that is checked out nowhere.
    pub(super) fn temporary_landing(&self, branch: &str, under: &Path) -> Result<Landing> {
        let folder = temporary(branch, under);
        self.remove_landing(&folder)?;
        fs::create_dir_all(under).with_context(|| format!("create folder {}", under.display()))?;
        let act = format!("check out {branch} in {}", folder.display());
        let add = self.call(["worktree", "add", "--quiet"]).arg(&folder).arg(branch);
        let added = self.alone(|| add.wall(CHECKOUT_MAX).run(&act));
        if let Err(error) = added {
            self.remove_landing(&folder).ok();
            return Err(error);
        }
        let admin = self.admin_dir(&folder)?.with_context(|| format!("{act}: git has no record of it"))?;
        Ok(Landing { folder, admin })
    }

    pub(super) fn remove_landing(&self, folder: &Path) -> Result<()> {
        if self.admin_dir(folder)?.is_some() {
            return self.worktree_remove(folder);
        }
        remove_folder(folder).with_context(|| format!("remove {}", folder.display()))
    }

    /// A rebase takes its branch off the checkout, and puts it back, moved, at its end.
    pub(super) fn rebase_of(&self, branch: &str) -> Result<Option<PathBuf>> {
        let wanted = format!("refs/heads/{branch}");
        let linked = self.common_dir.join("worktrees");
        let mut folders = vec![self.common_dir.clone()];
        if let Ok(entries) = fs::read_dir(linked) {
            folders.extend(entries.filter_map(|entry| Some(entry.ok()?.path())));
        }
        let rebased = |folder: &PathBuf| {
            let names = ["rebase-merge/head-name", "rebase-apply/head-name"];
            names.iter().any(|name| fs::read_to_string(folder.join(name)).is_ok_and(|text| text.trim() == wanted))
        };
        Ok(folders.into_iter().find(rebased))
    }
}

/// The same for each merge into a branch, so that what a crash left is found again.
pub(super) fn temporary(branch: &str, under: &Path) -> PathBuf {
    under.join(format!("merge-{}", branch.replace('/', "-")))
}
