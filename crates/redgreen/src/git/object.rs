//! Files as they are in a commit or a tree.

use anyhow::{Context, Result};
use redgreen_core::names::Oid;

use super::Git;

impl Git {
    pub fn tree_of(&self, commit: &str) -> Result<Oid> {
        let tree = format!("{commit}^{{tree}}");
        let act = format!("read the tree of {commit}");
        Oid::parse(&self.call(["rev-parse", "--verify", "--end-of-options", &tree]).line(&act)?).context(act)
    }

    /// When a commit was made, in seconds since 1970.
    pub fn date_of(&self, commit: &str) -> Result<i64> {
        let act = format!("read the date of {commit}");
        let line = self.call(["log", "-1", "--format=%ct", "--end-of-options", commit]).line(&act)?;
        line.trim().parse().with_context(|| format!("{act}: git says {line:?}"))
    }

    /// The bytes of a file; for a symbolic link where it points to. Absent when there is no such file.
    pub fn read_file(&self, tree: &str, path: &str) -> Result<Option<Vec<u8>>> {
        let mut files = self.read_objects(&[format!("{tree}:{path}")])?;
        Ok(files.pop().flatten())
    }

    /// The texts of files, each of a tree and a path; one that is absent or no text is `None`. One process for all.
    pub fn read_texts(&self, files: &[(&str, &str)]) -> Result<Vec<Option<String>>> {
        let names: Vec<String> = files.iter().map(|(tree, path)| format!("{tree}:{path}")).collect();
        let read = self.read_objects(&names)?.into_iter();
        Ok(read.map(|bytes| bytes.and_then(|bytes| String::from_utf8(bytes).ok())).collect())
    }

    /// The blobs that the names stand for, in their order. One process for all of them.
    pub(super) fn read_objects(&self, names: &[String]) -> Result<Vec<Option<Vec<u8>>>> {
        if names.is_empty() {
            return Ok(Vec::new());
        }
        let asked: String = names.iter().map(|name| format!("{name}\0")).collect();
        let answer = self.call(["cat-file", "--batch", "-z"]).stdin(asked).run("read objects")?;
        let mut rest = answer.as_slice();
        let blobs: Option<Vec<_>> = names.iter().map(|name| next_blob(&mut rest, name)).collect();
        blobs.context("read objects: unknown answer of git")
    }
}

/// Takes one answer off the front: `<name> missing`, or `<id> <type> <size>`, the bytes and a line break.
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
