//! A tree as the list of its files, and their bytes as they are stored: no filter, attribute or line ending applies.

use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use anyhow::{Context, Result};

use redgreen_core::names::Oid;

use super::Git;
use super::call::CHECKOUT_MAX;
use super::open::path;

/// What is asked for in one call, unless a single file is larger.
const BYTES_AT_ONCE: u64 = 32 << 20;

/// Trees whose files are kept in mind: two are compared, a third is laid over them.
const LISTINGS_MAX: usize = 4;

/// What was found out of trees last. A tree's name stands for the same files for ever.
#[derive(Clone, Debug, Default)]
pub(super) struct Listings {
    files: Known<Vec<TreeFile>>,
    /// What stands at the root, as lines of `ls-tree`.
    roots: Known<Vec<Vec<u8>>>,
    /// Trees with a file of another one.
    mixed: Known<Oid>,
}

type Known<T> = Arc<Mutex<Vec<(String, Arc<T>)>>>;

/// What is known of a tree, or is found out now.
fn known<T>(all: &Known<T>, tree: &str, find: impl FnOnce() -> Result<T>) -> Result<Arc<T>> {
    let mut all = all.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some((_, known)) = all.iter().find(|(known, _)| known == tree) {
        return Ok(Arc::clone(known));
    }
    let found = Arc::new(find()?);
    if all.len() >= LISTINGS_MAX {
        all.remove(0);
    }
    all.push((tree.to_owned(), Arc::clone(&found)));
    Ok(found)
}

/// A file of a tree; a link and a submodule are files too.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TreeFile {
    pub path: PathBuf,
    /// As git writes it, such as `0o100644`.
    pub mode: u32,
    /// The name of its bytes.
    pub id: String,
    /// None for a submodule.
    pub size: Option<u64>,
}

impl Git {
    /// All files of a tree, listed once.
    pub fn tree_files(&self, tree: &str) -> Result<Arc<Vec<TreeFile>>> {
        known(&self.listed.files, tree, || self.list(tree))
    }

    /// The tree with a file at its root as another tree has it, or without it where the other has none.
    pub fn with_file_of(&self, tree: &Oid, other: &str, name: &str) -> Result<Oid> {
        let mixed = known(&self.listed.mixed, &format!("{tree} {other} {name}"), || self.mix(tree, other, name))?;
        Ok(Oid::clone(&mixed))
    }

    /// The tree with these texts as files in it.
    pub fn with_files(&self, tree: &Oid, files: &[(&Path, &str)]) -> Result<Oid> {
        let act = format!("add files to {tree}");
        let private = tempfile::tempdir().context("make a temporary folder")?;
        let index = || self.call_on(&self.root, &private.path().join("index"));
        index().args(["read-tree", tree]).wall(CHECKOUT_MAX).run(&act)?;
        let mut entries = Vec::new();
        for (path, text) in files {
            let blob = self.call(["hash-object", "-w", "--no-filters", "--stdin"]).stdin(*text).line(&act)?;
            entries.extend_from_slice(format!("100644 {blob}\t").as_bytes());
            entries.extend_from_slice(path.as_os_str().as_bytes());
            entries.push(0);
        }
        index().args(["update-index", "--add", "-z", "--index-info"]).stdin(entries).run(&act)?;
        Oid::parse(&index().arg("write-tree").line(&act)?).context(act)
    }

    fn mix(&self, tree: &Oid, other: &str, name: &str) -> Result<Oid> {
        let (entries, theirs) = (self.root_entries(tree)?, self.root_entries(other)?);
        let wanted = theirs.iter().find(|entry| is_named(entry, name));
        if entries.iter().find(|entry| is_named(entry, name)) == wanted {
            return Ok(tree.clone());
        }
        let kept = entries.iter().filter(|entry| !is_named(entry, name)).chain(wanted);
        let stdin: Vec<u8> = kept.flat_map(|entry| entry.iter().copied().chain([0])).collect();
        let act = format!("write {tree} with another {name}");
        Oid::parse(&self.call(["mktree", "-z", "--missing"]).stdin(stdin).line(&act)?).context(act)
    }

    /// The lines of `ls-tree` for what stands at the root of a tree.
    fn root_entries(&self, tree: &str) -> Result<Arc<Vec<Vec<u8>>>> {
        known(&self.listed.roots, tree, || {
            let act = format!("list the root of {tree}");
            let answer = self.call(["ls-tree", "-z", "--full-tree", "--end-of-options", tree]).run(&act)?;
            Ok(answer.split(|byte| *byte == 0).filter(|line| !line.is_empty()).map(<[u8]>::to_vec).collect())
        })
    }

    fn list(&self, tree: &str) -> Result<Vec<TreeFile>> {
        let act = format!("list the files of {tree}");
        let call = self.call(["ls-tree", "-r", "-z", "--long", "--full-tree", "--end-of-options", tree]);
        let answer = call.wall(CHECKOUT_MAX).run(&act)?;
        let lines = answer.split(|byte| *byte == 0).filter(|line| !line.is_empty());
        lines.map(|line| file(line).with_context(|| format!("{act}: unknown answer of git"))).collect()
    }

    /// Hands the bytes of the files to `take`, in their order; submodules are passed over. One process for some
    /// megabytes of them.
    pub fn read_files(
        &self,
        files: &[&TreeFile],
        mut take: impl FnMut(&TreeFile, Vec<u8>) -> Result<()>,
    ) -> Result<()> {
        let mut rest = files;
        while !rest.is_empty() {
            let (some, after) = rest.split_at(at_once(rest));
            rest = after;
            let some: Vec<&TreeFile> = some.iter().copied().filter(|file| file.size.is_some()).collect();
            let names: Vec<String> = some.iter().map(|file| file.id.clone()).collect();
            for (file, bytes) in some.into_iter().zip(self.read_objects(&names)?) {
                let bytes =
                    bytes.with_context(|| format!("read {}: object {} is missing", file.path.display(), file.id))?;
                take(file, bytes)?;
            }
        }
        Ok(())
    }
}

fn is_named(entry: &[u8], name: &str) -> bool {
    let tab = entry.iter().position(|byte| *byte == b'\t');
    tab.and_then(|tab| entry.get(tab + 1..)) == Some(name.as_bytes())
}

/// How many of the files are small enough to be read together.
fn at_once(files: &[&TreeFile]) -> usize {
    let mut bytes = 0;
    let fitting = files.iter().take_while(|file| {
        bytes += file.size.unwrap_or(0);
        bytes <= BYTES_AT_ONCE
    });
    fitting.count().max(1)
}

/// A line such as `100644 blob <id>     12\t<path>`.
fn file(line: &[u8]) -> Option<TreeFile> {
    let tab = line.iter().position(|byte| *byte == b'\t')?;
    let words = std::str::from_utf8(line.get(..tab)?).ok()?;
    let mut words = words.split_ascii_whitespace();
    let mode = u32::from_str_radix(words.next()?, 8).ok()?;
    let id = words.nth(1)?.to_owned();
    Some(TreeFile { path: path(line.get(tab + 1..)?), mode, id, size: words.next()?.parse().ok() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_a_tree_are_read() {
        let blob = file(b"100755 blob abc      12\ta b\tc").unwrap();
        assert_eq!((blob.mode, blob.id.as_str(), blob.size), (0o100_755, "abc", Some(12)));
        assert_eq!(blob.path, PathBuf::from("a b\tc"));
        assert_eq!(file(b"160000 commit abc       -\tsub").unwrap().size, None);
        assert_eq!(file(b"nonsense"), None);
    }
}
