//! Lists the files of a tree and reads them as stored, without filters, attributes or line ending
//! conversion.

use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use anyhow::{Context, Result};

use redgreen_core::names::Oid;

use super::Git;
use super::call::CHECKOUT_MAX;
use super::object::Blobs;
use super::open::path;

/// The number of bytes read by one call, unless a single file is larger.
const BYTES_AT_ONCE: u64 = 32 << 20;

/// The number of cached listings: two trees are compared, each with and without the test list, plus
/// one overlay.
const LISTINGS_MAX: usize = 6;
/// With more files than this in total, fewer listings are kept.
const LISTED_FILES_MAX: usize = 20_000;
const LARGE_LISTINGS_MAX: usize = 4;
const TREE: &str = "tree";

/// A cache of tree listings. It never becomes stale, because a tree id identifies its content.
#[derive(Clone, Debug, Default)]
pub(super) struct Listings {
    trees: Arc<Mutex<Vec<(String, Listing)>>>,
    /// The last tree made by `with_file_of`, with its arguments.
    mixed: Arc<Mutex<Option<(String, Oid)>>>,
    pub(super) blobs: Blobs,
}

/// The listing of a tree; cheap to clone.
#[derive(Clone, Debug, Default)]
struct Listing {
    /// Sorted by the bytes of their paths.
    files: Arc<Vec<TreeFile>>,
    /// The entries of the root folder in the format of `mktree`.
    root: Arc<Vec<Vec<u8>>>,
}

impl Listings {
    fn get(&self, tree: &str) -> Option<Listing> {
        let trees = self.trees.lock().unwrap_or_else(PoisonError::into_inner);
        trees.iter().find(|(known, _)| known == tree).map(|(_, listing)| listing.clone())
    }

    fn keep(&self, tree: &str, listing: &Listing) {
        let mut trees = self.trees.lock().unwrap_or_else(PoisonError::into_inner);
        trees.retain(|(known, _)| known != tree);
        trees.push((tree.to_owned(), listing.clone()));
        let files: usize = trees.iter().map(|(_, listing)| listing.files.len()).sum();
        let most = if files > LISTED_FILES_MAX { LARGE_LISTINGS_MAX } else { LISTINGS_MAX };
        let old = trees.len().saturating_sub(most);
        trees.drain(..old);
    }
}

impl Listing {
    fn file(&self, path: &str) -> Option<&TreeFile> {
        let key = |file: &TreeFile| file.path.as_os_str().as_bytes().cmp(path.as_bytes());
        self.files.get(self.files.binary_search_by(key).ok()?)
    }
}

/// A file of a tree. Links and submodules count as files.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TreeFile {
    pub path: PathBuf,
    /// As git prints it, such as `0o100644`.
    pub mode: u32,
    /// The object id of the content.
    pub id: String,
    /// `None` for a submodule.
    pub size: Option<u64>,
}

impl Git {
    /// All files of a tree, sorted by the bytes of their paths. Cached.
    pub fn tree_files(&self, tree: &str) -> Result<Arc<Vec<TreeFile>>> {
        Ok(self.listing(tree)?.files)
    }

    /// The files of a tree if it is cached. Only accepts object ids, which never change their
    /// meaning.
    pub(super) fn listed_files(&self, tree: &str) -> Option<Arc<Vec<TreeFile>>> {
        Oid::parse(tree).ok()?;
        Some(self.listed.get(tree)?.files)
    }

    /// A file of a cached tree: `None` if the tree is not cached, `Some(None)` if it has no such
    /// file.
    pub(super) fn listed_file(&self, tree: &str, path: &str) -> Option<Option<TreeFile>> {
        Oid::parse(tree).ok()?;
        // Git normalises `./a` and `a//b`.
        let is_plain = path.split('/').all(|part| !matches!(part, "" | "." | ".."));
        let listing = self.listed.get(tree).filter(|_| is_plain)?;
        Some(listing.file(path).cloned())
    }

    /// The tree with the root entry `name` of another tree, or without it if the other has none.
    pub fn with_file_of(&self, tree: &Oid, other: &str, name: &str) -> Result<Oid> {
        let mut last = self.listed.mixed.lock().unwrap_or_else(PoisonError::into_inner);
        let parts = format!("{tree} {other} {name}");
        if let Some((_, known)) = last.as_ref().filter(|(known, _)| *known == parts) {
            return Ok(known.clone());
        }
        let mixed = self.mix(tree, other, name)?;
        *last = Some((parts, mixed.clone()));
        Ok(mixed)
    }

    /// The tree with these texts added as files.
    pub fn with_files(&self, tree: &Oid, files: &[(&Path, &str)]) -> Result<Oid> {
        self.with_changes(tree, files, &[])
    }

    /// The tree with these texts added as files, and without some paths.
    pub fn with_changes(
        &self,
        tree: &str,
        files: &[(&Path, &str)],
        removed: &[&Path],
    ) -> Result<Oid> {
        let act = format!("add files to {tree}");
        let private = tempfile::tempdir().context("make a temporary folder")?;
        let index = || self.call_on(&self.root, &private.path().join("index"));
        index().args(["read-tree", tree]).wall(CHECKOUT_MAX).run(&act)?;
        let mut entries = Vec::new();
        for path in removed {
            entries.extend_from_slice(format!("0 {}\t", "0".repeat(tree.len())).as_bytes());
            entries.extend_from_slice(path.as_os_str().as_bytes());
            entries.push(0);
        }
        for (path, text) in files {
            let blob = self
                .call(["hash-object", "-w", "--no-filters", "--stdin"])
                .stdin(*text)
                .line(&act)?;
            entries.extend_from_slice(format!("100644 {blob}\t").as_bytes());
            entries.extend_from_slice(path.as_os_str().as_bytes());
            entries.push(0);
        }
        index().args(["update-index", "--add", "-z", "--index-info"]).stdin(entries).run(&act)?;
        Oid::parse(&index().arg("write-tree").line(&act)?).context(act)
    }

    /// The tree with some paths taken from another tree. Paths that the other does not have are
    /// removed.
    pub fn with_paths_of(&self, tree: &str, other: &str, paths: &[&str]) -> Result<Oid> {
        let act = format!("take files of {other} into {tree}");
        let private = tempfile::tempdir().context("make a temporary folder")?;
        let index = || self.call_on(&self.root, &private.path().join("index"));
        index().args(["read-tree", tree]).wall(CHECKOUT_MAX).run(&act)?;
        let theirs = self.listing(other)?;
        let mut entries = Vec::new();
        for path in paths {
            let entry = match theirs.file(path) {
                Some(file) => format!("{:o} {}\t{path}\0", file.mode, file.id),
                None => format!("0 {}\t{path}\0", "0".repeat(tree.len())),
            };
            entries.extend_from_slice(entry.as_bytes());
        }
        index().args(["update-index", "--add", "-z", "--index-info"]).stdin(entries).run(&act)?;
        Oid::parse(&index().arg("write-tree").line(&act)?).context(act)
    }

    fn mix(&self, tree: &Oid, other: &str, name: &str) -> Result<Oid> {
        let (ours, theirs) = (self.listing(tree)?, self.listing(other)?);
        let wanted = theirs.root.iter().find(|entry| is_named(entry, name));
        if ours.root.iter().find(|entry| is_named(entry, name)) == wanted {
            return Ok(tree.clone());
        }
        let kept = ours.root.iter().filter(|entry| !is_named(entry, name)).chain(wanted);
        let root: Vec<Vec<u8>> = kept.cloned().collect();
        let is_below = |file: &&TreeFile| file.path.starts_with(name);
        let kept = ours
            .files
            .iter()
            .filter(|file| !is_below(file))
            .chain(theirs.files.iter().filter(is_below));
        let mut files: Vec<TreeFile> = kept.cloned().collect();
        files.sort_by(|one, other| {
            one.path.as_os_str().as_bytes().cmp(other.path.as_os_str().as_bytes())
        });
        let stdin: Vec<u8> =
            root.iter().flat_map(|entry| entry.iter().copied().chain([0])).collect();
        let act = format!("write {tree} with another {name}");
        let mixed = Oid::parse(&self.call(["mktree", "-z", "--missing"]).stdin(stdin).line(&act)?)
            .context(act)?;
        self.listed.keep(&mixed, &Listing { files: Arc::new(files), root: Arc::new(root) });
        Ok(mixed)
    }

    fn listing(&self, tree: &str) -> Result<Listing> {
        if let Some(known) = self.listed.get(tree) {
            return Ok(known);
        }
        let listing = self.list(tree)?;
        self.listed.keep(tree, &listing);
        Ok(listing)
    }

    fn list(&self, tree: &str) -> Result<Listing> {
        let act = format!("list the files of {tree}");
        let call = self.call([
            "ls-tree",
            "-r",
            "-t",
            "-z",
            "--long",
            "--full-tree",
            "--end-of-options",
            tree,
        ]);
        let answer = call.wall(CHECKOUT_MAX).run(&act)?;
        let (mut files, mut root) = (Vec::new(), Vec::new());
        for line in answer.split(|byte| *byte == 0).filter(|line| !line.is_empty()) {
            let entry = entry(line).with_context(|| format!("{act}: unexpected output of git"))?;
            root.extend(entry.at_root());
            files.extend((entry.kind != TREE).then_some(entry.file));
        }
        Ok(Listing { files: Arc::new(files), root: Arc::new(root) })
    }

    /// Passes the content of each file to `take`, in order. Skips submodules. Runs one process for
    /// some megabytes.
    pub fn read_files(
        &self,
        files: &[&TreeFile],
        mut take: impl FnMut(&TreeFile, Vec<u8>) -> Result<()>,
    ) -> Result<()> {
        let mut rest = files;
        while !rest.is_empty() {
            let (some, after) = rest.split_at(batch_len(rest));
            rest = after;
            let some: Vec<&TreeFile> =
                some.iter().copied().filter(|file| file.size.is_some()).collect();
            let names: Vec<String> = some.iter().map(|file| file.id.clone()).collect();
            for (file, bytes) in some.into_iter().zip(self.read_objects(&names)?) {
                let bytes = bytes.with_context(|| {
                    format!("read {}: object {} is missing", file.path.display(), file.id)
                })?;
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

/// The number of files that one call reads.
fn batch_len(files: &[&TreeFile]) -> usize {
    let mut bytes = 0;
    let fitting = files.iter().take_while(|file| {
        bytes += file.size.unwrap_or(0);
        bytes <= BYTES_AT_ONCE
    });
    fitting.count().max(1)
}

/// An entry of a tree: a file or another tree.
struct Entry {
    kind: String,
    file: TreeFile,
}

impl Entry {
    /// The entry in the format of `mktree`, if it is at the root.
    fn at_root(&self) -> Option<Vec<u8>> {
        let TreeFile { path, mode, id, .. } = &self.file;
        let is_at_root = path.parent() == Some(Path::new(""));
        let mut line = format!("{mode:06o} {} {id}\t", self.kind).into_bytes();
        line.extend_from_slice(path.as_os_str().as_bytes());
        is_at_root.then_some(line)
    }
}

/// Parses a line such as `100644 blob <id>     12\t<path>`.
fn entry(line: &[u8]) -> Option<Entry> {
    let tab = line.iter().position(|byte| *byte == b'\t')?;
    let words = std::str::from_utf8(line.get(..tab)?).ok()?;
    let mut words = words.split_ascii_whitespace();
    let mode = u32::from_str_radix(words.next()?, 8).ok()?;
    let kind = words.next()?.to_owned();
    let id = words.next()?.to_owned();
    let file =
        TreeFile { path: path(line.get(tab + 1..)?), mode, id, size: words.next()?.parse().ok() };
    Some(Entry { kind, file })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parses_ls_tree_lines() {
        let Entry { kind, file: blob } = entry(b"100755 blob abc      12\ta b\tc").unwrap();
        assert_eq!(
            (kind.as_str(), blob.mode, blob.id.as_str(), blob.size),
            ("blob", 0o100_755, "abc", Some(12))
        );
        assert_eq!(blob.path, PathBuf::from("a b\tc"));
        assert_eq!(entry(b"160000 commit abc       -\tsub").unwrap().file.size, None);
        assert!(entry(b"nonsense").is_none());
    }

    #[test]
    fn writes_root_entries_for_mktree() {
        let root = |line: &[u8]| {
            entry(line).unwrap().at_root().map(|line| String::from_utf8(line).unwrap())
        };
        assert_eq!(root(b"040000 tree abc       -\tsrc").as_deref(), Some("040000 tree abc\tsrc"));
        assert_eq!(root(b"100644 blob abc      12\ta b").as_deref(), Some("100644 blob abc\ta b"));
        assert_eq!(root(b"100644 blob abc      12\tsrc/a"), None);
    }
}
