//! Restores a worktree to a tree: its files, HEAD, index and its link to the repository. Ignored
//! files, such as build output and installed dependencies, stay.

use std::fs;
use std::io::ErrorKind;
use std::path::Path;

use anyhow::{Context, Result};
use redgreen_core::event::Mark;
use redgreen_core::names::Oid;

use super::call::{Call, refused};
use super::ignores::{write_anew, write_whole};
use super::snapshot::{Folder, inside};
use super::state::no_commit;
use super::worktree::{link_line, remove_folder};
use super::{Git, Worktree};
use crate::failure::Failure;
use crate::foreign::{self, TEXT_BYTES_MAX};

/// Files of git commands in progress, and lock files of killed commands.
const UNDER_WAY: &[&str] = &[
    "AUTO_MERGE",
    "BISECT_LOG",
    "CHERRY_PICK_HEAD",
    "HEAD.lock",
    "MERGE_HEAD",
    "MERGE_MODE",
    "MERGE_MSG",
    "REVERT_HEAD",
    "SQUASH_MSG",
    "index.lock",
    "rebase-apply",
    "rebase-merge",
    "sequencer",
];

impl Git {
    /// Makes the folder exactly `tree`, with a detached HEAD at `head` and the index of `head`.
    /// Touches nothing outside the folder and follows no links. Runs two processes in parallel if
    /// the folder already contains the tree, and two to four more if not.
    pub fn restore(&self, worktree: &Worktree, head: &Mark, tree: &str) -> Result<()> {
        let act = format!("restore {}", worktree.path.display());
        self.restore_all(worktree, head, tree).context(act)
    }

    /// Sets HEAD and the index of a worktree to a commit without changing files.
    pub fn settle_head(&self, worktree: &Worktree, head: &Mark) -> Result<()> {
        let folder = &worktree.path;
        let Some(admin) = self.admin_dir(folder)? else { return Err(unrecorded(folder)) };
        relink(folder, &admin, &head.commit)?;
        self.move_head(folder, &admin, &head.commit)?;
        let call = self.call_on(folder, &admin.join("index"));
        call.args(["read-tree", "--reset", &head.tree]).run("set the index").map(drop)
    }

    /// The commit of a worktree's HEAD, if known.
    pub fn head_of(&self, worktree: &Worktree) -> Result<Option<Oid>> {
        let real = worktree.path.canonicalize().unwrap_or_else(|_| worktree.path.clone());
        let listed = self.worktree_list()?;
        Ok(listed
            .into_iter()
            .find(|one| one.path == real || one.path == worktree.path)
            .and_then(|one| one.head))
    }

    /// Resolves a revision to a commit and its tree.
    pub fn mark(&self, rev: &str) -> Result<Mark> {
        let act = || format!("read commit {rev}");
        let names = [format!("{rev}^{{commit}}"), format!("{rev}^{{tree}}")];
        let asked = self.call(["rev-parse"]).args(names).ask(&act())?;
        let is_empty = || self.resolve(rev).is_ok_and(|found| found.is_none());
        if !asked.success() && rev == "HEAD" && is_empty() {
            return Err(no_commit().into());
        }
        if !asked.success() {
            return Err(refused(&act(), &asked));
        }
        let text = asked.stdout_text();
        let (commit, tree) = text.trim().split_once('\n').with_context(act)?;
        Ok(Mark {
            commit: Oid::parse(commit).with_context(act)?,
            tree: Oid::parse(tree).with_context(act)?,
        })
    }

    fn restore_all(&self, worktree: &Worktree, head: &Mark, tree: &str) -> Result<()> {
        let folder = &worktree.path;
        let Some(admin) = self.admin_dir(folder)? else { return Err(unrecorded(folder)) };
        if !self.holds(worktree, tree)? {
            self.load(worktree, tree, Folder::Overwrite)?;
            for name in
                self.untracked(worktree)?.split(|byte| *byte == 0).filter(|name| !name.is_empty())
            {
                remove_untracked(folder, name)?;
            }
        }
        relink(folder, &admin, &head.commit)?;
        self.move_head(folder, &admin, &head.commit)?;
        copy_index(&worktree.index(), &admin.join("index"))?;
        self.restore_submodules(worktree, &admin)?;
        if head.tree == tree {
            return Ok(());
        }
        // The copied index is for `tree`. With the index of the commit, the agent sees the
        // difference as its own edits.
        let call = self.call_on(folder, &admin.join("index"));
        call.args(["read-tree", "--reset", &head.tree]).run("set the index").map(drop)
    }

    fn move_head(&self, folder: &Path, admin: &Path, commit: &str) -> Result<()> {
        let head = admin.join("HEAD");
        let text = foreign::read_text(&head).unwrap_or_default();
        // A HEAD with an object id is a regular file and detached. Git handles all other cases.
        if text.trim_end() == commit {
            return Ok(());
        }
        if is_id(text.trim_end(), commit.len()) {
            return write_anew(&head, format!("{commit}\n").as_bytes());
        }
        let at = Call::plumbing(folder, &["--git-dir".into(), admin.into()]);
        at.args(["update-ref", "--no-deref", "HEAD", commit]).run("move HEAD").map(drop)
    }
}

fn unrecorded(folder: &Path) -> anyhow::Error {
    Failure::environment(format!("git has no record of the worktree {}", folder.display()))
        .next("git worktree list")
        .into()
}

/// Removes an untracked file or a nested repository, and the folders that become empty. Git listed
/// it without following links.
pub(super) fn remove_untracked(folder: &Path, name: &[u8]) -> Result<()> {
    let path = inside(folder, name.strip_suffix(b"/").unwrap_or(name));
    let removed = if name.ends_with(b"/") { remove_folder(&path) } else { remove_file(&path) };
    removed.with_context(|| format!("remove {}", path.display()))?;
    for parent in path.ancestors().skip(1).take_while(|parent| *parent != folder) {
        if fs::remove_dir(parent).is_err() {
            break;
        }
    }
    Ok(())
}

fn remove_file(path: &Path) -> std::io::Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
        // The path may be a link to a folder; `remove_file` removes the link itself.
        result => result,
    }
}

/// Repairs the link between the folder and git's record in both directions, and removes commands in
/// progress.
fn relink(folder: &Path, admin: &Path, commit: &str) -> Result<()> {
    for name in UNDER_WAY {
        let path = admin.join(name);
        match fs::symlink_metadata(&path) {
            Ok(found) if found.is_dir() => remove_folder(&path),
            Ok(_) => fs::remove_file(&path),
            Err(_) => continue,
        }
        .with_context(|| format!("remove {}", path.display()))?;
    }
    let link = folder.join(".git");
    let line = link_line(admin);
    if fs::symlink_metadata(&link).is_ok_and(|found| found.is_dir()) {
        remove_folder(&link).with_context(|| format!("remove {}", link.display()))?;
    }
    let intact = fs::symlink_metadata(&link).is_ok_and(|found| found.is_file())
        && foreign::read_file(&link, TEXT_BYTES_MAX).is_ok_and(|now| now == line);
    if !intact {
        write_whole(&link, &line)?;
    }
    let head = admin.join("HEAD");
    // Without a readable HEAD git does not recognise the record as a repository.
    let readable = foreign::read_text(&head)
        .is_ok_and(|text| is_id(text.trim(), commit.len()) || text.starts_with("ref: refs/"));
    if !readable {
        write_whole(&head, format!("{commit}\n").as_bytes())?;
    }
    Ok(())
}

fn is_id(text: &str, length: usize) -> bool {
    text.len() == length && text.bytes().all(|byte| byte.is_ascii_hexdigit())
}

fn copy_index(from: &Path, to: &Path) -> Result<()> {
    let bytes = fs::read(from).with_context(|| format!("read {}", from.display()))?;
    write_anew(to, &bytes)
}
