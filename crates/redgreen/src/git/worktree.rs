//! Worktrees of ours: folders outside the user's checkout, with no branch, that agents may do anything to.

use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use redgreen_core::names::Oid;

use super::Git;
use super::call::CHECKOUT_MAX;
use super::open::path;

const LIST_ATTEMPTS_MAX: u32 = 10;
const LIST_PAUSE: Duration = Duration::from_millis(20);

/// A worktree of ours and what we keep about it out of its agents' reach.
#[derive(Clone, Debug)]
pub struct Worktree {
    pub path: PathBuf,
    /// A folder for the private index and the ignore rules; kept for as long as the worktree.
    pub private: PathBuf,
    /// Ignore patterns for build litter, on top of the user's own; they hold for untracked files only.
    pub litter: Vec<String>,
}

/// A checkout of the repository, the user's or ours, as git lists it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Listed {
    pub path: PathBuf,
    pub head: Option<Oid>,
    /// The short name of the branch that is checked out there.
    pub branch: Option<String>,
    /// Its folder is gone.
    pub gone: bool,
}

impl Git {
    /// Makes the worktree at a commit, on no branch, so that what an agent commits moves none. No hook runs and nothing
    /// is fetched. The answer is a notice for the user where a submodule could not be filled.
    pub fn worktree_add(&self, worktree: &Worktree, commit: &Oid) -> Result<Vec<String>> {
        let folder = &worktree.path;
        let act = format!("add worktree {}", folder.display());
        ensure!(!folder.exists(), "{act}: the folder exists already");
        self.remember_ignores(worktree)?;
        let add = self.call(["worktree", "add", "--quiet", "--force", "--detach"]).arg(folder).arg(commit.as_str());
        let added = self.alone(|| add.unless(&self.stop).wall(CHECKOUT_MAX).run(&act));
        if let Err(error) = added {
            // Half a worktree would be in the way of the next attempt; the first error is the one to tell.
            self.worktree_remove(folder).ok();
            return Err(error);
        }
        Ok(self.fill_submodules(folder))
    }

    /// Every checkout of the repository; the main one comes first.
    pub fn worktree_list(&self) -> Result<Vec<Listed>> {
        let list = || self.call(["worktree", "list", "--porcelain", "-z"]).run("list worktrees");
        let mut answer = list();
        for _ in 1..LIST_ATTEMPTS_MAX {
            if answer.is_ok() {
                break;
            }
            // Git stumbles over a worktree that someone is about to make or to remove.
            thread::sleep(LIST_PAUSE);
            answer = list();
        }
        let answer = answer?;
        let mut all: Vec<Listed> = Vec::new();
        for field in answer.split(|byte| *byte == 0) {
            if let Some(folder) = field.strip_prefix(b"worktree ") {
                all.push(Listed { path: path(folder), ..Listed::default() });
            } else if let Some(last) = all.last_mut() {
                last.read(&String::from_utf8_lossy(field));
            }
        }
        Ok(all)
    }

    /// Removes the folder and git's record of it, whatever is left of either. Other worktrees are not looked at.
    pub fn worktree_remove(&self, folder: &Path) -> Result<()> {
        let act = format!("remove worktree {}", folder.display());
        let ours = !self.root.starts_with(folder) && !self.common_dir.starts_with(folder);
        ensure!(ours, "{act}: the user's checkout is in there");
        remove_folder(folder).with_context(|| act.clone())?;
        if self.admin_dir(folder)?.is_none() {
            return Ok(());
        }
        // Twice, since once does not remove a worktree that was locked.
        self.alone(|| self.call(["worktree", "remove", "--force", "--force"]).arg(folder).run(&act)).map(drop)
    }

    /// Git reads the records of all worktrees to make or remove one, and fails over one that is half-made.
    pub(super) fn alone<T>(&self, act: impl FnOnce() -> Result<T>) -> Result<T> {
        let _lock = self.lock("worktrees.lock", "making a worktree", CHECKOUT_MAX)?;
        act()
    }

    /// Where git keeps the HEAD and the index of a worktree. Found from git's side, since the folder's own `.git` may
    /// be gone or lie.
    pub(super) fn admin_dir(&self, folder: &Path) -> Result<Option<PathBuf>> {
        let all = self.common_dir.join("worktrees");
        let entries = match fs::read_dir(&all) {
            Ok(entries) => entries,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
            Err(error) => {
                return Err(error).with_context(|| format!("read folder {}", all.display()));
            }
        };
        let wanted = resolved(&folder.join(".git"));
        for entry in entries {
            let admin = entry.with_context(|| format!("read folder {}", all.display()))?.path();
            let Ok(recorded) = fs::read(admin.join("gitdir")) else {
                continue;
            };
            let recorded = admin.join(path(recorded.trim_ascii_end()));
            if resolved(&recorded) == wanted {
                return Ok(Some(admin));
            }
        }
        Ok(None)
    }
}

impl Listed {
    fn read(&mut self, field: &str) {
        match field.split_once(' ').unwrap_or((field, "")) {
            ("HEAD", commit) => self.head = Oid::parse(commit).ok(),
            ("branch", name) => self.branch = name.strip_prefix("refs/heads/").map(str::to_owned),
            ("prunable", _) => self.gone = true,
            _ => {}
        }
    }
}

/// Removes a folder, also one that has read-only folders in it. Links are removed, never followed.
pub(crate) fn remove_folder(folder: &Path) -> std::io::Result<()> {
    match fs::remove_dir_all(folder) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(()),
        Err(error) if error.kind() == std::io::ErrorKind::PermissionDenied => {
            make_writable(folder)?;
            fs::remove_dir_all(folder)
        }
        result => result,
    }
}

fn make_writable(folder: &Path) -> std::io::Result<()> {
    const OWNER_ALL: u32 = 0o700;
    let mode = fs::symlink_metadata(folder)?.permissions().mode();
    fs::set_permissions(folder, fs::Permissions::from_mode(mode | OWNER_ALL))?;
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        // The type of the entry itself: a link to a folder is not a folder.
        if entry.file_type()?.is_dir() {
            make_writable(&entry.path())?;
        }
    }
    Ok(())
}

/// The path with the links in its folder resolved: git records real paths, callers may pass others.
fn resolved(file: &Path) -> PathBuf {
    let mut missing = Vec::new();
    let mut known = file;
    loop {
        if let Ok(real) = known.canonicalize() {
            return missing.iter().rev().fold(real, |path, name| path.join(name));
        }
        let (Some(parent), Some(name)) = (known.parent(), known.file_name()) else {
            return file.to_owned();
        };
        missing.push(name.to_owned());
        known = parent;
    }
}

/// The line of a worktree's `.git` file, which leads back to git's record of it.
pub(super) fn link_line(admin: &Path) -> Vec<u8> {
    [b"gitdir: ", admin.as_os_str().as_bytes(), b"\n"].concat()
}
