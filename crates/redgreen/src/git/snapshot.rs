//! What is in a worktree's folder right now, as a tree.
//!
//! A private index is compared with the folder, so nothing that an agent did to HEAD, the index, `.git` or the shared
//! exclude file can hide a change. The index is kept, and with it git's knowledge of which files are as they were, so
//! that a later snapshot reads only what was touched. Two processes at once look for changes; one reads the base if the
//! index stands for another tree, and two more read what changed, one more when files were deleted.

use std::fs::{self, File};
use std::io::{Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use redgreen_core::names::Oid;

use super::call::{CHECKOUT_MAX, Call, at_once};
use super::open::path;
use super::{Git, Worktree};

/// A tree, and what would not fit into one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Snapshot {
    pub tree: Oid,
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
            call.args(["-z", "--stdin"]).stdin(paths).wall(CHECKOUT_MAX).run("read changed files").map(drop)
        };
        // Deletions first and by name only: what took the place of a file may be a folder or a link to elsewhere.
        update(&["--force-remove"], differences.gone)?;
        update(&["--add", "--remove", "--replace"], differences.touched)?;
        let tree = self.call_in(worktree).arg("write-tree").line("write the tree")?;
        let tree = Oid::parse(&tree).context("write the tree")?;
        worktree.note_standing(&tree)?;
        let mut nested = differences.nested;
        nested.extend(self.touched_submodules(worktree)?.into_iter().map(PathBuf::from));
        Ok(Snapshot { tree, nested })
    }

    /// Makes the private index equal to a tree; entries that stay the same keep what is known about their files.
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
            // A damaged index costs only time: it holds nothing that is not in the folder or the tree.
            fs::remove_file(&index).with_context(|| format!("remove {}", index.display()))?;
            read()?;
        }
        worktree.note_standing(tree)
    }

    /// The differences between a tree and the folder. The tree is not read again if the index stands for it.
    fn differences_from(&self, worktree: &Worktree, tree: &str) -> Result<Differences> {
        // An index that stands for it and cannot be read is damaged, and made anew.
        if self.stands_for(worktree, tree)?
            && let Ok(found) = self.differences(worktree)
        {
            return Ok(found);
        }
        self.load(worktree, tree, Folder::Leave)?;
        self.differences(worktree)
    }

    /// Whether the folder is known to hold exactly this tree.
    pub(super) fn holds(&self, worktree: &Worktree, tree: &str) -> Result<bool> {
        Ok(self.stands_for(worktree, tree)? && self.differences(worktree).is_ok_and(|found| found.is_empty()))
    }

    fn stands_for(&self, worktree: &Worktree, tree: &str) -> Result<bool> {
        self.check_place(worktree)?;
        let noted = fs::read_to_string(worktree.standing()).unwrap_or_default();
        Ok(worktree.index_mark().is_some_and(|mark| noted == standing(tree, &mark)))
    }

    fn check_place(&self, worktree: &Worktree) -> Result<()> {
        ensure!(worktree.path.is_dir(), "the folder {} is gone", worktree.path.display());
        // Only a crash leaves this behind: the private folder has one user at a time.
        fs::remove_file(worktree.index().with_extension("lock")).ok();
        self.remember_ignores(worktree)
    }

    fn differences(&self, worktree: &Worktree) -> Result<Differences> {
        let mut found = Differences::default();
        // Both only read, and each takes as long as the other.
        let (others, tracked) = at_once(|| self.untracked(worktree), || self.changed(worktree));
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

impl Differences {
    fn is_empty(&self) -> bool {
        self.gone.is_empty() && self.touched.is_empty() && self.nested.is_empty()
    }
}

impl Worktree {
    /// Notes down which tree the private index stands for now. A note that does not fit the index is worth nothing, so
    /// a crash in between costs only time.
    fn note_standing(&self, tree: &str) -> Result<()> {
        let Some(mark) = self.index_mark() else { return Ok(()) };
        let file = self.standing();
        fs::write(&file, standing(tree, &mark)).with_context(|| format!("write {}", file.display()))
    }

    /// What tells one state of the private index from another: its end, which git fills with a checksum of the rest.
    fn index_mark(&self) -> Option<Vec<u8>> {
        const CHECKSUM_BYTES: usize = 20;
        let mut file = File::open(self.index()).ok()?;
        let mut mark = Vec::new();
        file.seek(SeekFrom::End(-i64::try_from(CHECKSUM_BYTES).ok()?)).ok()?;
        file.read_to_end(&mut mark).ok()?;
        // Without a checksum there are only zeros.
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
