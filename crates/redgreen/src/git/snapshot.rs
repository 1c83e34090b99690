//! Stores the content of a worktree's folder as a tree.
//!
//! The folder is compared with a private index, so an agent cannot hide a change by editing HEAD,
//! the index, `.git` or the shared exclude file. The index is kept with its cached file stats, so a
//! later snapshot reads only touched files. Two processes look for changes in parallel; one more
//! reads the base if the index is for another tree, two read the changes, and one more handles
//! deleted files.

use std::fs::{self, File};
use std::io::{Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use redgreen_core::names::Oid;

use super::call::{CHECKOUT_MAX, Call, in_parallel};
use super::open::path;
use super::{Git, Worktree};

/// A tree, and the paths that it cannot contain.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Snapshot {
    pub tree: Oid,
    /// Git repositories inside the folder that are not known submodules. Their files are NOT in the
    /// tree: git would record a link to a commit that exists nowhere else. Submodules with changes
    /// are listed here as well.
    pub nested: Vec<PathBuf>,
}

/// The differences between the private index and the folder. Each path ends in a NUL.
#[derive(Default)]
struct Differences {
    gone: Vec<u8>,
    touched: Vec<u8>,
    nested: Vec<PathBuf>,
}

impl Git {
    /// The tree of all files in the folder that are in `base_tree` or not ignored.
    pub fn snapshot(&self, worktree: &Worktree, base_tree: &Oid) -> Result<Snapshot> {
        let act = format!("take a snapshot of {}", worktree.path.display());
        self.snapshot_tree(worktree, base_tree).context(act)
    }

    fn snapshot_tree(&self, worktree: &Worktree, base_tree: &Oid) -> Result<Snapshot> {
        let differences = self.differences_from(worktree, base_tree)?;
        if differences.gone.is_empty() && differences.touched.is_empty() {
            return Ok(Snapshot { tree: base_tree.clone(), nested: differences.nested });
        }
        let update = |options: &[&str], paths: Vec<u8>| -> Result<()> {
            if paths.is_empty() {
                return Ok(());
            }
            let call = self.call_in(worktree).arg("update-index").args(options.iter().copied());
            call.args(["-z", "--stdin"])
                .stdin(paths)
                .wall(CHECKOUT_MAX)
                .run("read changed files")
                .map(drop)
        };
        // Deletions first, and by name: the path may be a folder or a symbolic link now.
        update(&["--force-remove"], differences.gone)?;
        update(&["--add", "--remove", "--replace"], differences.touched)?;
        let tree = self.call_in(worktree).arg("write-tree").line("write the tree")?;
        let tree = Oid::parse(&tree).context("write the tree")?;
        worktree.note_standing(&tree)?;
        let mut nested = differences.nested;
        nested.extend(self.touched_submodules(worktree)?.into_iter().map(PathBuf::from));
        Ok(Snapshot { tree, nested })
    }

    /// Makes the private index equal to a tree. Unchanged entries keep their cached file stats.
    pub(super) fn load(&self, worktree: &Worktree, tree: &str, folder: Folder) -> Result<()> {
        self.check_place(worktree)?;
        let index = worktree.index();
        let read = || {
            let call = self.call_in(worktree).args(["read-tree", "--reset"]).args(folder.option());
            call.arg(tree).wall(CHECKOUT_MAX).run(&format!("read tree {tree}")).map(drop)
        };
        if let Err(error) = read() {
            if !format!("{error:#}").contains("index file") {
                return Err(error);
            }
            // The index holds only cached data, so a damaged one can be rebuilt.
            fs::remove_file(&index).with_context(|| format!("remove {}", index.display()))?;
            read()?;
        }
        worktree.note_standing(tree)
    }

    /// The differences between a tree and the folder. The tree is not read again if the index is
    /// already for it.
    fn differences_from(&self, worktree: &Worktree, tree: &str) -> Result<Differences> {
        // If the index is for this tree but cannot be read, it is damaged and rebuilt.
        if self.stands_for(worktree, tree)?
            && let Ok(found) = self.differences(worktree)
        {
            return Ok(found);
        }
        self.load(worktree, tree, Folder::Leave)?;
        self.differences(worktree)
    }

    /// Whether the folder contains exactly this tree.
    pub(super) fn holds(&self, worktree: &Worktree, tree: &str) -> Result<bool> {
        Ok(self.stands_for(worktree, tree)?
            && self.differences(worktree).is_ok_and(|found| found.is_empty()))
    }

    fn stands_for(&self, worktree: &Worktree, tree: &str) -> Result<bool> {
        self.check_place(worktree)?;
        let noted = fs::read_to_string(worktree.standing()).unwrap_or_default();
        Ok(worktree.index_mark().is_some_and(|mark| noted == standing(tree, &mark)))
    }

    fn check_place(&self, worktree: &Worktree) -> Result<()> {
        ensure!(worktree.path.is_dir(), "the folder {} is gone", worktree.path.display());
        // The private folder has one user at a time, so a lock file is left over from a crash.
        fs::remove_file(worktree.index().with_extension("lock")).ok();
        self.remember_ignores(worktree)
    }

    fn differences(&self, worktree: &Worktree) -> Result<Differences> {
        let mut found = Differences::default();
        // Both only read and take about the same time.
        let (others, tracked) = in_parallel(|| self.untracked(worktree), || self.changed(worktree));
        let (tracked, others) = (tracked?, others?);
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

    /// Files of the private index that differ in the folder: a status and a path, each ending in a
    /// NUL.
    fn changed(&self, worktree: &Worktree) -> Result<Vec<u8>> {
        self.call_in(worktree)
            .args([
                "diff-files",
                "-z",
                "--name-status",
                "--no-renames",
                "--ignore-submodules=dirty",
            ])
            .wall(CHECKOUT_MAX)
            .run("find changed files")
    }

    /// Files that are neither in the private index nor ignored, each ending in a NUL. A name that
    /// ends in a slash is a nested repository.
    pub(super) fn untracked(&self, worktree: &Worktree) -> Result<Vec<u8>> {
        self.call_in(worktree)
            .args([
                "ls-files",
                "-z",
                "--others",
                "--exclude-per-directory=.gitignore",
                "--exclude-from",
            ])
            .arg(worktree.ignores())
            .wall(CHECKOUT_MAX)
            .run("find new files")
    }

    pub(super) fn call_in(&self, worktree: &Worktree) -> Call {
        self.call_on(&worktree.path, &worktree.index())
    }
}

impl Differences {
    fn is_empty(&self) -> bool {
        self.gone.is_empty() && self.touched.is_empty() && self.nested.is_empty()
    }
}

impl Worktree {
    /// Records the tree that the private index is for, together with the checksum of the index. A
    /// record with another checksum is ignored, so a crash in between only costs time.
    fn note_standing(&self, tree: &str) -> Result<()> {
        let Some(mark) = self.index_mark() else { return Ok(()) };
        let file = self.standing();
        fs::write(&file, standing(tree, &mark)).with_context(|| format!("write {}", file.display()))
    }

    /// The checksum at the end of the private index, which identifies its state.
    fn index_mark(&self) -> Option<Vec<u8>> {
        const CHECKSUM_BYTES: usize = 20;
        let mut file = File::open(self.index()).ok()?;
        let mut mark = Vec::new();
        file.seek(SeekFrom::End(-i64::try_from(CHECKSUM_BYTES).ok()?)).ok()?;
        file.read_to_end(&mut mark).ok()?;
        // With `index.skipHash` git writes zeros instead of a checksum.
        mark.iter().any(|byte| *byte != 0).then_some(mark)
    }

    fn standing(&self) -> PathBuf {
        self.private.join("index-tree")
    }
}

fn standing(tree: &str, mark: &[u8]) -> String {
    let mark: String = mark.iter().map(|byte| format!("{byte:02x}")).collect();
    format!("{tree} {mark}\n")
}

/// Whether reading a tree updates the files in the folder.
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

/// Joins a path from git's output with the folder it is relative to.
pub(super) fn inside(folder: &Path, name: &[u8]) -> PathBuf {
    folder.join(path(name))
}
