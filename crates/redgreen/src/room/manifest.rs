//! The files of a tree as values: verified against the tree id, with other files on top.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::fmt::Write;
use std::os::unix::ffi::OsStrExt;
use std::path::{Component, Path, PathBuf};

use anyhow::{Result, ensure};
use sha1::{Digest, Sha1};
use sha2::Sha256;

use crate::git::TreeFile;

pub(super) const LINK: u32 = 0o120_000;
pub(super) const SUBMODULE: u32 = 0o160_000;
const EXECUTABLE: u32 = 0o111;
/// The maximum length of a chain of links, as in the kernel.
const LINKS_MAX: usize = 40;
const SHA1_DIGITS: usize = 40;

/// Files by path.
pub(super) type Manifest = BTreeMap<PathBuf, TreeFile>;

pub(super) fn is_executable(mode: u32) -> bool {
    mode & EXECUTABLE != 0
}

/// The files of a tree, verified against the tree id. Only names are verified here; the content is
/// verified when it is read.
pub(super) fn checked(tree: &str, files: Vec<TreeFile>) -> Result<Manifest> {
    for file in &files {
        let plain = file
            .path
            .components()
            .all(|part| matches!(part, Component::Normal(name) if !is_git(name)));
        ensure!(plain, "the tree {tree} has an invalid path: {}", file.path.display());
    }
    let manifest: Manifest = files.into_iter().map(|file| (file.path.clone(), file)).collect();
    let found = tree_id(&manifest, tree.len());
    ensure!(found == tree, "the tree {tree} is corrupt: its files have the hash {found}");
    Ok(manifest)
}

fn is_git(name: &OsStr) -> bool {
    name.eq_ignore_ascii_case(".git")
}

/// The git object id of these bytes. `digits` is the length of the ids in use.
pub(super) fn object_id(kind: &str, bytes: &[u8], digits: usize) -> String {
    let header = format!("{kind} {}\0", bytes.len());
    if digits == SHA1_DIGITS {
        hex(&Sha1::new().chain_update(header).chain_update(bytes).finalize())
    } else {
        hex(&Sha256::new().chain_update(header).chain_update(bytes).finalize())
    }
}

pub fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::with_capacity(bytes.len() * 2), |mut text, byte| {
        // Writing to a string cannot fail.
        write!(text, "{byte:02x}").ok();
        text
    })
}

enum Node<'a> {
    File(&'a TreeFile),
    Folder(BTreeMap<&'a OsStr, Node<'a>>),
}

/// The id of the tree with exactly these files.
pub(super) fn tree_id(manifest: &Manifest, digits: usize) -> String {
    let mut root = BTreeMap::new();
    for file in manifest.values() {
        plant(&mut root, file.path.iter(), file);
    }
    folder_id(&root, digits)
}

fn plant<'a>(
    folder: &mut BTreeMap<&'a OsStr, Node<'a>>,
    mut path: std::path::Iter<'a>,
    file: &'a TreeFile,
) {
    let Some(name) = path.next() else { return };
    if path.as_path().as_os_str().is_empty() {
        folder.insert(name, Node::File(file));
    } else if let Node::Folder(inner) =
        folder.entry(name).or_insert_with(|| Node::Folder(BTreeMap::new()))
    {
        plant(inner, path, file);
    }
}

fn folder_id(folder: &BTreeMap<&OsStr, Node<'_>>, digits: usize) -> String {
    // Git sorts a folder as if its name ended in a slash.
    let mut entries: Vec<(Vec<u8>, &OsStr, String, String)> = Vec::new();
    for (name, node) in folder {
        let (end, mode, id): (&[u8], _, _) = match node {
            Node::File(file) => (b"", format!("{:o}", file.mode), file.id.clone()),
            Node::Folder(inner) => (b"/", "40000".to_owned(), folder_id(inner, digits)),
        };
        entries.push(([name.as_bytes(), end].concat(), name, mode, id));
    }
    entries.sort();
    let mut bytes = Vec::new();
    for (_, name, mode, id) in entries {
        bytes.extend_from_slice(mode.as_bytes());
        bytes.push(b' ');
        bytes.extend_from_slice(name.as_bytes());
        bytes.push(0);
        let pairs = id.as_bytes().chunks(2).filter_map(|pair| std::str::from_utf8(pair).ok());
        bytes.extend(pairs.filter_map(|pair| u8::from_str_radix(pair, 16).ok()));
    }
    object_id("tree", &bytes, digits)
}

/// Adds a file and removes conflicting paths, which it returns.
pub(super) fn lay_over(manifest: &mut Manifest, file: TreeFile) -> Vec<PathBuf> {
    let in_the_way = |path: &PathBuf| file.path.starts_with(path) || path.starts_with(&file.path);
    let gone: Vec<PathBuf> = manifest.keys().filter(|path| in_the_way(path)).cloned().collect();
    for path in &gone {
        manifest.remove(path);
    }
    let gone = gone.into_iter().filter(|path| *path != file.path).collect();
    manifest.insert(file.path.clone(), file);
    gone
}

/// The links that lead out of the room, directly or through others. `leads` maps links to their
/// targets.
pub(super) fn links_out(leads: &BTreeMap<PathBuf, PathBuf>) -> Vec<PathBuf> {
    leads.keys().filter(|link| !stays_inside(link, leads)).cloned().collect()
}

/// Resolves the path like the system, with the links among the files.
fn stays_inside(link: &Path, leads: &BTreeMap<PathBuf, PathBuf>) -> bool {
    let mut left: Vec<OsString> = parts(link);
    let mut at = PathBuf::new();
    let mut followed = 0;
    while let Some(part) = left.pop() {
        if part == "/" {
            return false;
        }
        if part == ".." {
            if !at.pop() {
                return false;
            }
            continue;
        }
        at.push(part);
        if let Some(target) = leads.get(&at) {
            followed += 1;
            if followed > LINKS_MAX {
                // A loop leads nowhere.
                return true;
            }
            at.pop();
            left.extend(parts(target));
        }
    }
    true
}

/// The parts of a path in reverse order.
fn parts(path: &Path) -> Vec<OsString> {
    path.components()
        .rev()
        .filter(|part| *part != Component::CurDir)
        .map(|part| part.as_os_str().to_owned())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const EMPTY_BLOB: &str = "e69de29bb2d1d6434b8b29ae775ad8c2e48c5391";

    fn file(path: &str) -> TreeFile {
        TreeFile { path: path.into(), mode: 0o100_644, id: EMPTY_BLOB.to_owned(), size: Some(0) }
    }

    fn manifest(paths: &[&str]) -> Manifest {
        paths.iter().map(|path| (PathBuf::from(path), file(path))).collect()
    }

    #[test]
    fn computes_the_same_ids_as_git() {
        assert_eq!(object_id("blob", b"", 40), EMPTY_BLOB);
        assert_eq!(object_id("tree", b"", 40), "4b825dc642cb6eb9a060e54bf8d69288fbee4904");
        let sha256_empty_tree = "6ef19b41225c5369f1c104d45d8d85efa9b057b53b14b4b9b939dd74decc5321";
        assert_eq!(object_id("tree", b"", 64), sha256_empty_tree);
        // `a.b` sorts before the folder `a`, which git sorts as `a/`.
        let id = tree_id(&manifest(&["a/x", "a.b", "a0"]), 40);
        assert_eq!(id, "cc6b940246a412b229914418bd12af5e1601ec85");
    }

    #[test]
    fn a_tree_with_a_wrong_id_is_an_error() {
        let error = checked(&"0".repeat(40), vec![file("a")]).unwrap_err().to_string();
        assert!(error.contains("is corrupt"), "{error}");
        for path in [".git/hooks/x", "a/.GIT/config", "../a"] {
            let error = checked(&"0".repeat(40), vec![file(path)]).unwrap_err().to_string();
            assert!(error.contains("invalid path"), "{error}");
        }
    }

    #[test]
    fn a_new_file_replaces_conflicting_paths() {
        let mut room = manifest(&["tests", "src/a", "lib/b/c"]);
        assert_eq!(lay_over(&mut room, file("tests/t.py")), [PathBuf::from("tests")]);
        assert_eq!(lay_over(&mut room, file("lib")), [PathBuf::from("lib/b/c")]);
        assert_eq!(lay_over(&mut room, file("src/a")), Vec::<PathBuf>::new());
        assert_eq!(
            room.keys().collect::<Vec<_>>(),
            [Path::new("lib"), Path::new("src/a"), Path::new("tests/t.py")]
        );
    }

    #[test]
    fn finds_links_that_lead_out() {
        let check = |links: &[(&str, &str)], out: &[&str]| {
            let leads =
                links.iter().map(|(link, to)| (PathBuf::from(link), PathBuf::from(to))).collect();
            assert_eq!(
                links_out(&leads),
                out.iter().map(PathBuf::from).collect::<Vec<_>>(),
                "{links:?}"
            );
        };
        check(&[("a", "b"), ("d/e", "../b")], &[]);
        check(&[("a", "/etc/passwd")], &["a"]);
        check(&[("d/a", "../../x")], &["d/a"]);
        check(&[("a", "..")], &["a"]);
        // `s/d` is `s` itself, so `d/../..` is one level higher than it seems.
        check(&[("s/a", "d/../../x"), ("s/d", ".")], &["s/a"]);
        check(&[("a", "b"), ("b", "/etc")], &["a", "b"]);
        check(&[("a", "b"), ("b", "a")], &[]);
    }
}
