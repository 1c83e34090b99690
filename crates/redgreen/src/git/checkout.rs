//! Reads the user's checkout as a tree, without a commit: its files or its index. Neither is
//! written.

use std::fs;
use std::io::ErrorKind;
use std::path::Path;

use anyhow::{Context, Result};
use redgreen_core::names::Oid;
use redgreen_core::text::shell_word;

use super::snapshot::Snapshot;
use super::{Git, Worktree};
use crate::failure::Failure;
use crate::foreign;

/// An index takes about 100 bytes for each file.
const INDEX_BYTES_MAX: u64 = 1 << 30;
impl Git {
    /// All files of the checkout that are in `base_tree` or not ignored, as a tree.
    pub fn checkout_tree(
        &self,
        base_tree: &Oid,
        litter: impl Iterator<Item = &'static str>,
    ) -> Result<Oid> {
        let private = tempfile::tempdir().context("make a temporary folder")?;
        let snapshot = self.checkout_snapshot(private.path(), base_tree, litter)?;
        match snapshot.nested.first() {
            None => Ok(snapshot.tree),
            Some(nested) => Err(self.not_in_a_tree(nested)?.into()),
        }
    }

    /// The same tree, and the nested repositories that it cannot contain. A private folder keeps
    /// the index, so repeated calls read only changed files.
    pub fn checkout_snapshot(
        &self,
        private: &Path,
        base_tree: &Oid,
        litter: impl Iterator<Item = &'static str>,
    ) -> Result<Snapshot> {
        let litter = litter.map(str::to_owned).collect();
        let checkout = Worktree { path: self.root.clone(), private: private.to_owned(), litter };
        self.snapshot(&checkout, base_tree)
    }

    /// What to do about a nested repository.
    fn not_in_a_tree(&self, nested: &Path) -> Result<Failure> {
        let name = nested.display();
        let is_submodule = self.submodules()?.iter().any(|known| Path::new(&known.path) == nested);
        if is_submodule {
            return Ok(Failure::usage(format!("the submodule {name} has changes"))
                .evidence("a tree of this repository cannot contain them, so they cannot be judged")
                .next(format!("git -C {} status", shell_word(&name.to_string()))));
        }
        let pattern = format!("/{name}/");
        let pattern = shell_word(&pattern);
        Ok(Failure::usage(format!("{name} is a separate git repository"))
            .evidence(
                "a tree of this repository cannot contain its files, so they cannot be judged",
            )
            .next(format!(
                "move it out of the checkout, or ignore it: echo {pattern} >> .gitignore"
            )))
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
