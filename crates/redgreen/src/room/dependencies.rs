//! Package folders: their state before an agent worked, and the changes since.
//!
//! Files are compared by content, because reinstalling the same packages changes all timestamps. A
//! file is not read again while its metadata is unchanged.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context, Result, ensure};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::manifest::hex;
use super::mirror;
use crate::foreign;

/// A folder with more files is not a package folder.
const FILES_MAX: usize = 2_000_000;
/// Larger files are compared by metadata. So are all others after this many bytes.
const CONTENT_BYTES_MAX: u64 = 64 << 20;
const READ_BYTES_MAX: u64 = 1 << 30;
/// Hashes are truncated to this length in hexadecimal, because there are many.
const HASH_CHARS: usize = 32;
/// Folders of programs and shims.
const SHIM_FOLDERS: &[&str] = &["bin", ".bin", "Scripts"];
/// Files that Python reads before it runs anything, or that register plugins.
const EARLY_FILES: &[&str] =
    &["sitecustomize.py", "usercustomize.py", ENTRY_POINTS, "pyvenv.cfg", PACKAGE];
const ENTRY_POINTS: &str = "entry_points.txt";
/// The entry point group of pytest plugins, which pytest loads automatically.
const PLUGINS: &str = "pytest11";
const PATH_FILE: &str = "pth";
const PACKAGE: &str = "package.json";
const PACKAGES: &str = "node_modules";
/// Files that programs write next to packages when they use them.
const LITTER: &[&str] = &[".cache", ".vite", ".vite-temp", ".vitest"];
/// Records of package managers, which nothing executes.
const NOTES: &[&str] = &[
    ".package-lock.json",
    ".modules.yaml",
    ".pnpm-workspace-state.json",
    ".yarn-integrity",
    ".yarn-state.yml",
];
const BYTECODE_FOLDER: &str = "__pycache__";

/// A package folder and its path in a room.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DependencyFolder {
    /// Relative to the room's root, such as `node_modules`. `None` if it is used in place.
    pub place: Option<PathBuf>,
    /// Its real path.
    pub from: PathBuf,
}

impl DependencyFolder {
    /// Its name in a room.
    fn name(&self) -> &Path {
        self.place.as_deref().unwrap_or(&self.from)
    }

    /// Whether tools write files of their own to it. If so, the room has a mirror.
    pub(super) fn is_scribbled_in(&self) -> bool {
        self.place.as_deref().is_some_and(is_scribbled_in)
    }

    /// The folders of the original packages, if this is a mirror.
    pub(super) fn originals(&self) -> BTreeSet<PathBuf> {
        self.place.as_deref().map(|place| mirror::originals(&self.from, place)).unwrap_or_default()
    }
}

/// The state of package folders at one time.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Dependencies {
    pub folders: Vec<DependencyFolder>,
    /// By name in a room, because the real path of a checkout may change. Shared, because it is
    /// large, immutable and used by every room of a trial.
    #[serde(with = "shared")]
    seen: Arc<BTreeMap<PathBuf, Stamp>>,
}

/// Serializes an `Arc` like its content.
mod shared {
    use std::sync::Arc;

    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    pub(super) fn serialize<T: Serialize, S: Serializer>(
        value: &Arc<T>,
        to: S,
    ) -> Result<S::Ok, S::Error> {
        value.as_ref().serialize(to)
    }

    pub(super) fn deserialize<'de, T: Deserialize<'de>, D: Deserializer<'de>>(
        from: D,
    ) -> Result<Arc<T>, D::Error> {
        T::deserialize(from).map(Arc::new)
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Stamp {
    mode: u32,
    size: u64,
    modified: (i64, i64),
    /// The ctime, which programs cannot set.
    changed: (i64, i64),
    content: Option<String>,
}

/// A changed file of a package.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DependencyChange {
    /// Its name in a room.
    pub path: PathBuf,
    /// Its real path, if it exists.
    pub at: PathBuf,
    pub how: ChangeKind,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChangeKind {
    Added,
    Removed,
    Modified,
    /// A large file, compared by metadata: size, mode and mtime are unchanged, but its ctime is
    /// not. It may have a new hard link, or new content with a restored mtime.
    Touched,
    /// Compiled Python, written by any process that imports the package and used by the next one.
    Bytecode,
}

impl Dependencies {
    /// Scans the folders. A missing one counts as empty. `known` is an earlier scan.
    pub fn look(folders: Vec<DependencyFolder>, known: Option<&Self>) -> Result<Self> {
        let mut look = Scan { known, seen: BTreeMap::new(), read: 0 };
        for folder in &folders {
            if folder.from.is_file() {
                look.file(&folder.from, folder.name())
                    .with_context(|| format!("look at {}", folder.from.display()))?;
            } else if folder.from.is_dir() {
                look.folder(&folder.from, folder.name())
                    .with_context(|| format!("look into {}", folder.from.display()))?;
            }
        }
        Ok(Self { folders, seen: Arc::new(look.seen) })
    }

    /// The changes since then.
    pub fn changes(&self) -> Result<Vec<DependencyChange>> {
        Ok(self.compared_with(&Self::look(self.folders.clone(), Some(self))?))
    }

    /// The differences to a later scan.
    pub fn compared_with(&self, now: &Self) -> Vec<DependencyChange> {
        let mut changes = Vec::new();
        let change = |path: &PathBuf, how| DependencyChange {
            path: path.clone(),
            at: now.real_path(path),
            how,
        };
        for (path, before) in self.seen.iter() {
            let how = match now.seen.get(path) {
                None => Some(ChangeKind::Removed),
                Some(after) => before.compared_with(after),
            };
            changes.extend(how.map(|how| change(path, how)));
        }
        let added = now.seen.keys().filter(|path| !self.seen.contains_key(*path));
        changes.extend(added.map(|path| change(path, ChangeKind::Added)));
        for change in changes
            .iter_mut()
            .filter(|change| change.path.iter().any(|part| part == BYTECODE_FOLDER))
        {
            change.how = ChangeKind::Bytecode;
        }
        changes
    }

    /// Whether the packages are the same in a later scan. They may be installed anew.
    pub fn is_equivalent(&self, now: &Self) -> bool {
        let is_new = |change: &DependencyChange| match change.how {
            ChangeKind::Added | ChangeKind::Removed | ChangeKind::Modified => true,
            // Compiled Python contains the time of its source.
            ChangeKind::Touched | ChangeKind::Bytecode => false,
        };
        self.folders == now.folders && !self.compared_with(now).iter().any(is_new)
    }

    /// Whether a new file affects existing packages: it runs before any test, or shadows another
    /// file. `programs` are the folders searched for programs. Files in `checkout` are judged
    /// elsewhere.
    pub fn is_affected_by(
        &self,
        new: &DependencyChange,
        programs: &[PathBuf],
        checkout: &Path,
    ) -> bool {
        let path = new.at.as_path();
        let name = path.file_name().unwrap_or_default();
        let folder = path.parent().unwrap_or(path);
        let text = || foreign::read_text(path).unwrap_or_default();
        if is_one_of(SHIM_FOLDERS, folder.file_name().unwrap_or_default()) {
            programs.iter().any(|place| place != folder && place.join(name).exists())
        } else if name == PACKAGE {
            self.is_shadowed_by(&new.path)
        } else if name == ENTRY_POINTS {
            text().contains(PLUGINS)
        } else if path.extension().is_some_and(|end| end == PATH_FILE) {
            let leads_in = |line: &str| {
                line.is_empty() || line.starts_with('#') || Path::new(line).starts_with(checkout)
            };
            !text().lines().map(str::trim).all(leads_in)
        } else {
            runs_early(path)
        }
    }

    fn real_path(&self, path: &Path) -> PathBuf {
        let inside = |folder: &DependencyFolder| {
            Some(folder.from.join(path.strip_prefix(folder.name()).ok()?))
        };
        self.folders.iter().find_map(inside).unwrap_or_else(|| path.to_owned())
    }

    /// Whether a new `package.json` is inside an existing package, or shadows a package with the
    /// same name.
    fn is_shadowed_by(&self, path: &Path) -> bool {
        let parts: Vec<&OsStr> = path.iter().collect();
        let Some(last) = parts.iter().rposition(|part| *part == PACKAGES) else { return true };
        let (outside, inside) = parts.split_at(last + 1);
        let scoped = inside.first().is_some_and(|name| name.as_bytes().starts_with(b"@"));
        let name: PathBuf = inside.iter().take(if scoped { 2 } else { 1 }).collect();
        let folder: PathBuf = outside.iter().collect();
        if self.seen.contains_key(&folder.join(&name).join(PACKAGE)) {
            return true;
        }
        let outer: PathBuf = outside.iter().take(last).collect();
        let is_of_a_new_package = outer.iter().any(|part| part == PACKAGES)
            && !self.seen.contains_key(&outer.join(PACKAGE));
        let same = Path::new(PACKAGES).join(&name).join(PACKAGE);
        !is_of_a_new_package && self.seen.keys().any(|known| known.ends_with(&same))
    }

    /// A hash of all files.
    pub fn fingerprint(&self) -> String {
        let mut hash = Sha256::new();
        for (path, stamp) in self.seen.iter() {
            hash.update(path.as_os_str().as_bytes());
            let Stamp { mode, size, modified, changed: _, content } = stamp;
            let unread = content.is_none().then_some(modified);
            hash.update(format!("\0{mode:o} {size} {unread:?} {content:?}\n"));
        }
        hex(&hash.finalize())
    }
}

impl Stamp {
    /// Whether the file is untouched since.
    fn is_untouched(&self, now: &Self) -> bool {
        Self { content: None, ..self.clone() } == *now
    }

    fn compared_with(&self, after: &Self) -> Option<ChangeKind> {
        let facts = |stamp: &Self| (stamp.mode, stamp.size, stamp.content.clone());
        // A new mtime does not count if the content is known.
        let known = self.content.is_some() && after.content.is_some();
        if facts(self) != facts(after) || (!known && self.modified != after.modified) {
            Some(ChangeKind::Modified)
        } else if !known && self.changed != after.changed {
            Some(ChangeKind::Touched)
        } else {
            None
        }
    }
}

/// A scan in progress.
struct Scan<'a> {
    known: Option<&'a Dependencies>,
    seen: BTreeMap<PathBuf, Stamp>,
    read: u64,
}

impl Scan<'_> {
    fn folder(&mut self, folder: &Path, name: &Path) -> Result<()> {
        let entries = match fs::read_dir(folder) {
            Err(error) if is_gone(&error) => return Ok(()),
            entries => entries?,
        };
        for entry in entries {
            let entry = entry?;
            if is_litter(&entry.file_name()) || is_one_of(NOTES, &entry.file_name()) {
                continue;
            }
            if entry.file_type()?.is_dir() {
                self.folder(&entry.path(), &name.join(entry.file_name()))?;
            } else {
                self.file(&entry.path(), &name.join(entry.file_name()))?;
            }
        }
        Ok(())
    }

    fn file(&mut self, path: &Path, name: &Path) -> Result<()> {
        ensure!(self.seen.len() < FILES_MAX, "more than {FILES_MAX} files");
        // Links are not followed, except in a mirror of another folder.
        let facts = match path.symlink_metadata() {
            Err(error) if is_gone(&error) => return Ok(()),
            facts => facts?,
        };
        if let Some(original) = facts.is_symlink().then(|| mirror::original(path, name)).flatten() {
            return if original.is_dir() {
                self.folder(&original, name)
            } else {
                self.file(&original, name)
            };
        }
        let unread = Stamp {
            mode: facts.mode(),
            size: facts.size(),
            modified: (facts.mtime(), facts.mtime_nsec()),
            changed: (facts.ctime(), facts.ctime_nsec()),
            content: None,
        };
        let known = self
            .known
            .and_then(|known| known.seen.get(name))
            .filter(|known| known.is_untouched(&unread));
        let content = match known {
            Some(known) => known.content.clone(),
            None => match self.content(path, &facts) {
                Err(error) if is_gone(&error) => return Ok(()),
                content => content.with_context(|| format!("read {}", path.display()))?,
            },
        };
        self.seen.insert(name.to_owned(), Stamp { content, ..unread });
        Ok(())
    }

    /// The target of a link, or the hash of a file.
    fn content(&mut self, path: &Path, facts: &fs::Metadata) -> io::Result<Option<String>> {
        if facts.is_symlink() {
            return Ok(Some(hex(fs::read_link(path)?.as_os_str().as_bytes())));
        }
        let wanted = runs_early(path) || self.read < READ_BYTES_MAX;
        if !facts.is_file() || facts.len() > CONTENT_BYTES_MAX || !wanted {
            return Ok(None);
        }
        self.read += facts.len();
        let mut hash = hex(&Sha256::digest(fs::read(path)?));
        hash.truncate(HASH_CHARS);
        Ok(Some(hash))
    }
}

/// Whether a file was removed during the scan, which counts as if it never existed.
fn is_gone(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::NotFound
}

fn runs_early(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default();
    let folder = path.parent().and_then(Path::file_name).unwrap_or_default();
    is_one_of(SHIM_FOLDERS, folder)
        || is_one_of(EARLY_FILES, name)
        || path.extension().is_some_and(|end| end == PATH_FILE)
}

/// Whether tools write files of their own to a package folder.
pub fn is_scribbled_in(place: &Path) -> bool {
    place.ends_with(PACKAGES)
}

pub(super) fn is_litter(name: &OsStr) -> bool {
    is_one_of(LITTER, name)
}

fn is_one_of(names: &[&str], name: &OsStr) -> bool {
    names.iter().any(|known| name == *known)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::{Duration, SystemTime};

    /// Checks the changes reported after `act` changed a folder with two files of each kind.
    fn check(act: impl Fn(&Path), expected: &[(&str, ChangeKind)]) {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path();
        for path in ["lib/a.py", "lib/b.py", "bin/tool", "site.pth"] {
            fs::create_dir_all(root.join(path).parent().unwrap()).unwrap();
            fs::write(root.join(path), "old").unwrap();
        }
        let place = DependencyFolder { place: Some(".venv".into()), from: root.to_owned() };
        let before = Dependencies::look(vec![place], None).unwrap();
        // File system timestamps have a resolution of milliseconds.
        std::thread::sleep(Duration::from_millis(20));
        act(root);
        let changes = before.changes().unwrap();
        let told: Vec<_> = changes
            .iter()
            .map(|change| (change.path.strip_prefix(".venv").unwrap(), change.how))
            .collect();
        let expected: Vec<_> =
            expected.iter().map(|(path, how)| (Path::new(*path), *how)).collect();
        assert_eq!(told, expected);
        let now = Dependencies::look(before.folders.clone(), None).unwrap();
        let is_compiled = |(_, how): &(&Path, ChangeKind)| *how == ChangeKind::Bytecode;
        assert_eq!(before.is_equivalent(&now), expected.iter().all(is_compiled), "{expected:?}");
    }

    fn rewrite(path: &Path, text: &str, time: Option<SystemTime>) {
        let before = fs::metadata(path).unwrap().modified().unwrap();
        fs::write(path, text).unwrap();
        fs::File::options()
            .write(true)
            .open(path)
            .unwrap()
            .set_modified(time.unwrap_or(before))
            .unwrap();
    }

    #[test]
    fn reports_changes_of_packages() {
        check(|_| {}, &[]);
        check(
            |root| fs::write(root.join("x.pth"), "import x").unwrap(),
            &[("x.pth", ChangeKind::Added)],
        );
        check(
            |root| fs::remove_file(root.join("lib/a.py")).unwrap(),
            &[("lib/a.py", ChangeKind::Removed)],
        );
        check(
            |root| fs::write(root.join("lib/a.py"), "longer").unwrap(),
            &[("lib/a.py", ChangeKind::Modified)],
        );
        let compile = |root: &Path| {
            fs::create_dir(root.join("lib/__pycache__")).unwrap();
            fs::write(root.join("lib/__pycache__/a.pyc"), "").unwrap();
        };
        check(compile, &[("lib/__pycache__/a.pyc", ChangeKind::Bytecode)]);
    }

    #[test]
    fn restoring_the_mtime_does_not_hide_a_change() {
        check(
            |root| rewrite(&root.join("bin/tool"), "new", None),
            &[("bin/tool", ChangeKind::Modified)],
        );
        check(
            |root| rewrite(&root.join("lib/a.py"), "new", None),
            &[("lib/a.py", ChangeKind::Modified)],
        );
    }

    #[test]
    fn reinstalling_the_same_packages_is_not_a_change() {
        check(|root| rewrite(&root.join("site.pth"), "old", Some(SystemTime::UNIX_EPOCH)), &[]);
        let again = |root: &Path| {
            fs::remove_dir_all(root.join("lib")).unwrap();
            fs::create_dir(root.join("lib")).unwrap();
            for name in ["a.py", "b.py"] {
                fs::write(root.join("lib").join(name), "old").unwrap();
            }
            fs::write(root.join(".package-lock.json"), "{}").unwrap();
        };
        check(again, &[]);
    }
}
