//! Our worktrees: folders outside the user's checkout with a detached HEAD, in which agents may do
//! anything.

use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use redgreen_core::names::Oid;

use super::Git;
use super::call::{CHECKOUT_MAX, refused};
use super::open::path;
use crate::foreign::{self, TEXT_BYTES_MAX};

const LIST_ATTEMPTS_MAX: u32 = 10;
const LIST_PAUSE: Duration = Duration::from_millis(20);

/// A worktree, and our private data about it, which its agents cannot reach.
#[derive(Clone, Debug)]
pub struct Worktree {
    pub path: PathBuf,
    /// The folder with the private index and the ignore rules. It lives as long as the worktree.
    pub private: PathBuf,
    /// Ignore patterns for build output, in addition to the user's own. They apply to untracked
    /// files only.
    pub litter: Vec<String>,
}

/// A checkout of the repository as listed by git, the user's or ours.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CheckoutEntry {
    pub path: PathBuf,
    pub head: Option<Oid>,
    /// The short name of the checked out branch.
    pub branch: Option<String>,
    /// The folder no longer exists.
    pub gone: bool,
}

impl Git {
    /// Creates the worktree with a detached HEAD, so that commits of an agent move no branch. Runs
    /// no hooks and fetches nothing. Returns a warning for each submodule that stays empty.
    pub fn worktree_add(&self, worktree: &Worktree, commit: &Oid) -> Result<Vec<String>> {
        let folder = &worktree.path;
        let act = format!("add worktree {}", folder.display());
        ensure!(!folder.exists(), "{act}: the folder already exists");
        self.remember_ignores(worktree)?;
        let add = self
            .call(["worktree", "add", "--quiet", "--force", "--detach"])
            .arg(folder)
            .arg(commit.as_str());
        let added =
            self.with_worktree_lock(|| add.interruptible(&self.stop).wall(CHECKOUT_MAX).run(&act));
        if let Err(error) = added {
            // Half a worktree would block the next attempt. The first error is the one to report.
            self.worktree_remove(folder).ok();
            return Err(error);
        }
        Ok(self.fill_submodules(folder))
    }

    /// All checkouts of the repository, the main one first.
    pub fn worktree_list(&self) -> Result<Vec<CheckoutEntry>> {
        let act = "list worktrees";
        let call = || self.call(["worktree", "list", "--porcelain", "-z"]);
        // A call that had to be ended is an error, and is not repeated.
        let list = || call().interruptible(&self.stop).ask(act);
        let mut answer = list()?;
        for _ in 1..LIST_ATTEMPTS_MAX {
            if answer.success() {
                break;
            }
            // Git fails if another process is creating or removing a worktree.
            thread::sleep(LIST_PAUSE);
            answer = list()?;
        }
        if !answer.success() {
            return Err(refused(act, &answer));
        }
        let answer = answer.stdout;
        let mut all: Vec<CheckoutEntry> = Vec::new();
        for field in answer.split(|byte| *byte == 0) {
            if let Some(folder) = field.strip_prefix(b"worktree ") {
                all.push(CheckoutEntry { path: path(folder), ..CheckoutEntry::default() });
            } else if let Some(last) = all.last_mut() {
                last.read(&String::from_utf8_lossy(field));
            }
        }
        Ok(all)
    }

    /// Removes the folder and git's record of it, even if only one of them exists. Ignores other
    /// worktrees.
    pub fn worktree_remove(&self, folder: &Path) -> Result<()> {
        let act = format!("remove worktree {}", folder.display());
        let ours = !self.root.starts_with(folder) && !self.common_dir.starts_with(folder);
        ensure!(ours, "{act}: it contains the user's checkout");
        remove_folder(folder).with_context(|| act.clone())?;
        if self.admin_dir(folder)?.is_none() {
            return Ok(());
        }
        // `--force` twice, because once does not remove a locked worktree.
        self.with_worktree_lock(|| {
            self.call(["worktree", "remove", "--force", "--force"]).arg(folder).run(&act)
        })
        .map(drop)
    }

    /// Git reads all worktree records to add or remove one, and fails on a record that is
    /// incomplete.
    pub(super) fn with_worktree_lock<T>(&self, act: impl FnOnce() -> Result<T>) -> Result<T> {
        let _lock = self.lock("worktrees.lock", "making a worktree", CHECKOUT_MAX)?;
        act()
    }

    /// Git's folder with the HEAD and index of a worktree. Searches git's records, because the
    /// folder's own `.git` may be missing or forged.
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
            let Ok(recorded) = foreign::read_file(&admin.join("gitdir"), TEXT_BYTES_MAX) else {
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

impl CheckoutEntry {
    fn read(&mut self, field: &str) {
        match field.split_once(' ').unwrap_or((field, "")) {
            ("HEAD", commit) => self.head = Oid::parse(commit).ok(),
            ("branch", name) => self.branch = name.strip_prefix("refs/heads/").map(str::to_owned),
            ("prunable", _) => self.gone = true,
            _ => {}
        }
    }
}

/// Removes a folder, including read-only subfolders. Links are removed, never followed.
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

/// The path with links in its parent folders resolved. Git records real paths; callers may pass
/// others.
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

/// The content of a worktree's `.git` file, which points to git's record.
pub(super) fn link_line(admin: &Path) -> Vec<u8> {
    [b"gitdir: ", admin.as_os_str().as_bytes(), b"\n"].concat()
}
