//! Reads files from a commit or a tree.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use anyhow::{Context, Result};
use redgreen_core::names::Oid;

use super::Git;

/// The limit of the cache of files. A trial reads the same files several times.
const KEPT_BYTES_MAX: usize = 2 << 20;
const KEPT_FILE_BYTES_MAX: usize = 256 << 10;

/// A cache of files by object id.
#[derive(Clone, Debug, Default)]
pub(super) struct Blobs(Arc<Mutex<BlobCache>>);

#[derive(Debug, Default)]
struct BlobCache {
    bytes: usize,
    blobs: HashMap<String, Vec<u8>>,
}

impl Blobs {
    fn get(&self, id: &str) -> Option<Vec<u8>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).blobs.get(id).cloned()
    }

    fn keep(&self, id: &str, bytes: &[u8]) {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let fits = bytes.len() <= KEPT_FILE_BYTES_MAX && kept.bytes + bytes.len() <= KEPT_BYTES_MAX;
        if fits && kept.blobs.insert(id.to_owned(), bytes.to_vec()).is_none() {
            kept.bytes += bytes.len();
        }
    }
}

impl Git {
    /// Empties the cache. A process that can write to the repository can replace an object under
    /// the same id. A trial has to notice that, so it does not use files that were read earlier.
    pub fn forget_files(&self) {
        *self.listed.blobs.0.lock().unwrap_or_else(PoisonError::into_inner) = BlobCache::default();
    }

    pub fn tree_of(&self, commit: &str) -> Result<Oid> {
        let tree = format!("{commit}^{{tree}}");
        let act = format!("read the tree of {commit}");
        Oid::parse(&self.call(["rev-parse", "--verify", "--end-of-options", &tree]).line(&act)?)
            .context(act)
    }

    /// When a commit was made, in seconds since 1970.
    pub fn date_of(&self, commit: &str) -> Result<i64> {
        let act = format!("read the date of {commit}");
        let line =
            self.call(["log", "-1", "--format=%ct", "--end-of-options", commit]).line(&act)?;
        line.trim().parse().with_context(|| format!("{act}: git says {line:?}"))
    }

    /// The content of a file; for a symbolic link its target. `None` if the file does not exist.
    pub fn read_file(&self, tree: &str, path: &str) -> Result<Option<Vec<u8>>> {
        Ok(self.read_paths(&[(tree, path)])?.pop().flatten())
    }

    /// The texts of files, each given as a tree and a path. `None` if a file is absent or not
    /// UTF-8. Runs one process.
    pub fn read_texts(&self, files: &[(&str, &str)]) -> Result<Vec<Option<String>>> {
        let read = self.read_paths(files)?.into_iter();
        Ok(read.map(|bytes| bytes.and_then(|bytes| String::from_utf8(bytes).ok())).collect())
    }

    /// Which folders a tree has; a folder of a tree contains at least one file. Runs one process,
    /// which reads only the folders on the way.
    pub fn has_folders(&self, tree: &Oid, folders: &[&str]) -> Result<Vec<bool>> {
        if folders.is_empty() {
            return Ok(Vec::new());
        }
        let names: Vec<String> = folders.iter().map(|folder| format!("{tree}:{folder}")).collect();
        let asked: String = names.iter().map(|name| format!("{name}\0")).collect();
        let answer =
            self.call(["cat-file", "--batch-check", "-z"]).stdin(asked).run("look for folders")?;
        let mut rest = answer.as_slice();
        let found: Option<Vec<bool>> =
            names.iter().map(|name| next_tree(&mut rest, name)).collect();
        found.context("look for folders: unexpected output of git")
    }

    /// Reads files of trees. For trees that were listed before, their object ids are known.
    fn read_paths(&self, files: &[(&str, &str)]) -> Result<Vec<Option<Vec<u8>>>> {
        let named = files.iter().map(|(tree, path)| match self.listed_file(tree, path) {
            // A submodule has no content.
            Some(file) => file.filter(|file| file.size.is_some()).map(|file| file.id),
            None => Some(format!("{tree}:{path}")),
        });
        let named: Vec<Option<String>> = named.collect();
        let names: Vec<String> = named.iter().flatten().cloned().collect();
        let mut read = self.read_objects(&names)?.into_iter();
        Ok(named.into_iter().map(|name| name.and_then(|_| read.next().flatten())).collect())
    }

    /// Reads blobs by name, in order. Runs one process for all blobs that are not cached.
    pub(super) fn read_objects(&self, names: &[String]) -> Result<Vec<Option<Vec<u8>>>> {
        let blobs = &self.listed.blobs;
        let known: Vec<Option<Vec<u8>>> = names.iter().map(|name| blobs.get(name)).collect();
        let unknown = names
            .iter()
            .zip(&known)
            .filter(|(_, known)| known.is_none())
            .map(|(name, _)| name.clone());
        let unknown: Vec<String> = unknown.collect();
        let mut read = self.fetch_objects(&unknown)?.into_iter();
        let all = names.iter().zip(known).map(|(name, known)| {
            let bytes = known.is_none().then(|| read.next().flatten()).flatten();
            // Only cache object ids: any other name can point to a different object later.
            if let Some(bytes) = bytes.as_ref().filter(|_| Oid::parse(name).is_ok()) {
                blobs.keep(name, bytes);
            }
            known.or(bytes)
        });
        Ok(all.collect())
    }

    fn fetch_objects(&self, names: &[String]) -> Result<Vec<Option<Vec<u8>>>> {
        if names.is_empty() {
            return Ok(Vec::new());
        }
        let asked: String = names.iter().map(|name| format!("{name}\0")).collect();
        let answer = self.call(["cat-file", "--batch", "-z"]).stdin(asked).run("read objects")?;
        let mut rest = answer.as_slice();
        let blobs: Option<Vec<_>> = names.iter().map(|name| next_blob(&mut rest, name)).collect();
        blobs.context("read objects: unexpected output of git")
    }
}

/// Parses one entry of `cat-file --batch-check`: whether it is a tree with entries.
fn next_tree(rest: &mut &[u8], name: &str) -> Option<bool> {
    if let Some(after) = rest.strip_prefix(format!("{name} missing\n").as_bytes()) {
        *rest = after;
        return Some(false);
    }
    let end = rest.iter().position(|byte| *byte == b'\n')?;
    let (line, after) = (rest.get(..end)?, rest.get(end + 1..)?);
    *rest = after;
    let words: Vec<&[u8]> = line.split(|byte| *byte == b' ').collect();
    Some(matches!(words.as_slice(), [_, kind, size] if *kind == b"tree" && *size != b"0"))
}

/// Parses one entry of `cat-file --batch`: `<name> missing`, or `<id> <type> <size>`, the content
/// and a line break.
fn next_blob(rest: &mut &[u8], name: &str) -> Option<Option<Vec<u8>>> {
    for word in [" missing\n", " ambiguous\n"] {
        if let Some(after) = rest.strip_prefix(format!("{name}{word}").as_bytes()) {
            *rest = after;
            return Some(None);
        }
    }
    let end = rest.iter().position(|byte| *byte == b'\n')?;
    let line = std::str::from_utf8(rest.get(..end)?).ok()?;
    let mut words = line.split(' ').skip(1);
    let kind = words.next()?;
    let size: usize = words.next()?.parse().ok()?;
    let bytes = rest.get(end + 1..end + 1 + size)?;
    *rest = rest.get(end + 2 + size..)?;
    Some((kind == "blob").then(|| bytes.to_vec()))
}
