//! Reads the user's checkout as a tree, without a commit: its files or its index. Neither is
//! written.

use std::fs;
use std::io::ErrorKind;
use std::path::Path;

use anyhow::{Context, Result};

use super::{Git, Worktree};
use crate::failure::Failure;
use crate::foreign;

/// An index takes about 100 bytes for each file.
const INDEX_BYTES_MAX: u64 = 1 << 30;
use redgreen_core::names::Oid;

impl Git {
    /// All files of the checkout that are in `base_tree` or not ignored, as a tree.
    pub fn checkout_tree(
        &self,
        base_tree: &Oid,
        litter: impl Iterator<Item = &'static str>,
    ) -> Result<Oid> {
        let private = tempfile::tempdir().context("make a temporary folder")?;
        self.checkout_tree_by(private.path(), base_tree, litter)
    }

    /// Like `checkout_tree`, with a private folder that keeps the index, so repeated calls read
    /// only changed files.
    pub fn checkout_tree_by(
        &self,
        private: &Path,
        base_tree: &Oid,
        litter: impl Iterator<Item = &'static str>,
    ) -> Result<Oid> {
        let litter = litter.map(str::to_owned).collect();
        let checkout = Worktree { path: self.root.clone(), private: private.to_owned(), litter };
        let snapshot = self.snapshot(&checkout, base_tree)?;
        match snapshot.nested.first() {
            None => Ok(snapshot.tree),
            Some(nested) => {
                Err(Failure::usage(format!("{} is a separate git repository", nested.display()))
                    .evidence("a tree of this repository cannot contain its files")
                    .next("commit what belongs to the step, then: redgreen judge … --head HEAD")
                    .into())
            }
        }
    }

    /// The staged files as a tree.
    pub fn index_tree(&self) -> Result<Oid> {
        let admin = self.admin_dir(&self.root)?.unwrap_or_else(|| self.common_dir.clone());
        self.tree_of_index(&admin.join("index"))
    }

    /// The files that git is about to commit. It names another index than that of the checkout to
    /// its hooks if not exactly the staged files are committed. Only one of its own is accepted.
    pub fn committed_tree(&self, named: Option<&Path>) -> Result<Oid> {
        let Some(named) = named else { return self.index_tree() };
        let index = self.root.join(named);
        let real = index.canonicalize().unwrap_or_else(|_| index.clone());
        let own = self.own_dir()?;
        if real.parent() != Some(own.as_path()) {
            return Err(Failure::usage("GIT_INDEX_FILE is not an index of this checkout")
                .evidence(index.display().to_string())
                .next("unset GIT_INDEX_FILE")
                .into());
        }
        self.tree_of_index(&real)
    }

    /// Uses a copy, because git refreshes the index it works with.
    fn tree_of_index(&self, index: &Path) -> Result<Oid> {
        let private = tempfile::tempdir().context("make a temporary folder")?;
        let copy = private.path().join("index");
        match foreign::read_file(index, INDEX_BYTES_MAX) {
            Ok(bytes) => {
                fs::write(&copy, bytes).with_context(|| format!("write {}", copy.display()))?;
            }
            // The index does not exist until something is staged.
            Err(error) if error.kind() == ErrorKind::NotFound => {}
            Err(error) => return Err(error).with_context(|| format!("read {}", index.display())),
        }
        let written =
            self.call_on(&self.root, &copy).arg("write-tree").line("write the index as a tree");
        written.and_then(|tree| Ok(Oid::parse(&tree)?)).map_err(|error| {
            Failure::usage("cannot judge the index")
                .evidence(format!("{error:#}"))
                .next("finish the merge in progress, or run: redgreen judge … --head WORKTREE")
                .into()
        })
    }
}
