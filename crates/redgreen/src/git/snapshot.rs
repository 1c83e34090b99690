//! What is in a worktree's folder right now, as a tree.
//!
//! A private index is compared with the folder, so nothing that an agent did to HEAD, the index, `.git` or the shared
//! exclude file can hide a change. The index is kept, and with it git's knowledge of which files are as they were, so
//! that a later snapshot reads only what was touched. Five processes, one more when files were deleted.

use std::fs;
use std::path::{Path, PathBuf};
use std::thread;

use anyhow::{Context, Error, Result, ensure};

use super::call::{CHECKOUT_MAX, Call};
use super::open::path;
use super::{Git, Worktree};

/// A tree, and what would not fit into one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Snapshot {
    pub tree: String,
    /// Git repositories inside the folder that are no known submodules. Their files are NOT in the tree: git would
    /// record a link to a commit that exists nowhere else. Submodules with changes inside are here as well.
    pub nested: Vec<PathBuf>,
}

/// The differences between the private index and the folder; each path ends in a NUL.
#[derive(Default)]
struct Differences {
    gone: Vec<u8>,
    touched: Vec<u8>,
    nested: Vec<PathBuf>,
}

impl Git {
    /// The tree of all files in the folder that are in `base_tree` or not ignored.
    pub fn snapshot(&self, worktree: &Worktree, base_tree: &str) -> Result<Snapshot> {
        let act = format!("take a snapshot of {}", worktree.path.display());
        self.snapshot_tree(worktree, base_tree).context(act)
    }

    fn snapshot_tree(&self, worktree: &Worktree, base_tree: &str) -> Result<Snapshot> {
        self.load(worktree, base_tree, Folder::Leave)?;
        let differences = self.differences(worktree)?;
        let update = |options: &[&str], paths: Vec<u8>| -> Result<()> {
            if paths.is_empty() {
                return Ok(());
            }
            let call = self.call_in(worktree).arg("update-index").args(options.iter().copied());
            call.args(["-z", "--stdin"]).stdin(paths).wall(CHECKOUT_MAX).run("read changed files").map(drop)
        };
        // Deletions first and by name only: what took the place of a file may be a folder or a link to elsewhere.
        update(&["--force-remove"], differences.gone)?;
        update(&["--add", "--remove", "--replace"], differences.touched)?;
        let tree = self.call_in(worktree).arg("write-tree").line("write the tree")?;
        let mut nested = differences.nested;
        nested.extend(self.touched_submodules(worktree)?.into_iter().map(PathBuf::from));
        Ok(Snapshot { tree, nested })
    }

    /// Makes the private index equal to a tree; entries that stay the same keep what is known about their files.
    pub(super) fn load(&self, worktree: &Worktree, tree: &str, folder: Folder) -> Result<()> {
        ensure!(worktree.path.is_dir(), "the folder {} is gone", worktree.path.display());
        self.remember_ignores(worktree)?;
        let index = worktree.index();
        // Only a crash leaves this behind: the private folder has one user at a time.
        fs::remove_file(index.with_extension("lock")).ok();
        let read = || {
            let call = self.call_in(worktree).args(["read-tree", "--reset"]).args(folder.option());
            call.arg(tree).wall(CHECKOUT_MAX).run(&format!("read tree {tree}")).map(drop)
        };
        let Err(error) = read() else { return Ok(()) };
        if !format!("{error:#}").contains("index file") {
            return Err(error);
        }
        // A damaged index costs only time: it holds nothing that is not in the folder or the tree.
        fs::remove_file(&index).with_context(|| format!("remove {}", index.display()))?;
        read()
    }

    fn differences(&self, worktree: &Worktree) -> Result<Differences> {
        let mut found = Differences::default();
        // Both only read, and each takes as long as the other.
        let (tracked, others) = thread::scope(|scope| {
            let others = scope.spawn(|| self.untracked(worktree));
            (self.changed(worktree), others.join())
        });
        let tracked = tracked?;
        let others = others.map_err(|_| Error::msg("find new files: a thread ended early"))??;
        let mut fields = tracked.split(|byte| *byte == 0);
        while let (Some(status @ [_, ..]), Some(path)) = (fields.next(), fields.next()) {
            let paths = if status == b"D" { &mut found.gone } else { &mut found.touched };
            paths.extend_from_slice(path);
            paths.push(0);
        }
        for other in others.split(|byte| *byte == 0) {
            match other {
                [] => {}
                [folder @ .., b'/'] => found.nested.push(path(folder)),
                file => {
                    found.touched.extend_from_slice(file);
                    found.touched.push(0);
                }
            }
        }
        Ok(found)
    }

    /// Files of the private index that differ in the folder, each as a status and a path with a NUL at their ends.
    fn changed(&self, worktree: &Worktree) -> Result<Vec<u8>> {
        self.call_in(worktree)
            .args(["diff-files", "-z", "--name-status", "--no-renames", "--ignore-submodules=dirty"])
            .wall(CHECKOUT_MAX)
            .run("find changed files")
    }

    /// Files that are neither in the private index nor ignored, each with a NUL at its end; a name that ends in a slash
    /// is a nested repository.
    pub(super) fn untracked(&self, worktree: &Worktree) -> Result<Vec<u8>> {
        self.call_in(worktree)
            .args(["ls-files", "-z", "--others", "--exclude-per-directory=.gitignore", "--exclude-from"])
            .arg(worktree.ignores())
            .wall(CHECKOUT_MAX)
            .run("find new files")
    }

    pub(super) fn call_in(&self, worktree: &Worktree) -> Call {
        self.call_on(&worktree.path, &worktree.index())
    }
}

/// What reading a tree does to the files in the folder.
#[derive(Clone, Copy)]
pub(super) enum Folder {
    Leave,
    Overwrite,
}

impl Folder {
    fn option(self) -> &'static [&'static str] {
        match self {
            Self::Leave => &[],
            Self::Overwrite => &["-u"],
        }
    }
}

/// A path from git's output, in the folder it is about.
pub(super) fn inside(folder: &Path, name: &[u8]) -> PathBuf {
    folder.join(path(name))
}
