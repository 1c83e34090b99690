//! Makes files on disk equal to a manifest, with as few writes as possible.
//!
//! Programs can do anything to the files of a room, so a file is reused only if its metadata did
//! not change. The ctime of a file is the one thing that no program can set. Folders can hold data
//! too, in times and extended attributes, so a folder that changed is created again.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::Write;
use std::os::unix::ffi::OsStringExt;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use anyhow::{Context, Result, ensure};

use super::manifest::{LINK, Manifest, SUBMODULE, is_executable, links_out, object_id};
use crate::git::{Git, TreeFile, remove_folder};

const FILE_MODE: u32 = 0o644;
const PROGRAM_MODE: u32 = 0o755;
const FOLDER_MODE: u32 = 0o755;
const MODE_BITS: u32 = 0o7777;
/// The extension of a folder that replaces another one.
const FRESH: &str = "fresh";
/// The first line of a Git LFS pointer file.
const POINTER: &[u8] = b"version https://git-lfs.github.com/spec/v1\n";

#[derive(Debug)]
pub(super) struct Layout {
    root: PathBuf,
    /// The mount points of packages.
    packages: Vec<PathBuf>,
    files: Manifest,
    written: BTreeMap<PathBuf, Stamp>,
    /// The folders of the tree, and its root.
    folders: BTreeMap<PathBuf, Stamp>,
    pointers: BTreeSet<PathBuf>,
}

/// The metadata of a file after it was written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Stamp {
    inode: u64,
    mode: u32,
    size: u64,
    modified: (i64, i64),
    changed: (i64, i64),
}

#[derive(Debug)]
pub(super) struct LayoutResult {
    pub(super) links_out: Vec<PathBuf>,
    /// Files below the mount points of packages.
    pub(super) covered: Vec<PathBuf>,
    pub(super) pointers: Vec<PathBuf>,
    pub(super) written: usize,
}

impl Layout {
    pub(super) fn new(root: PathBuf, packages: Vec<PathBuf>) -> Result<Self> {
        fs::create_dir(&root)?;
        Ok(Self {
            root,
            packages,
            files: Manifest::new(),
            written: BTreeMap::new(),
            folders: BTreeMap::new(),
            pointers: BTreeSet::new(),
        })
    }

    pub(super) fn root(&self) -> &Path {
        &self.root
    }

    /// The files written last.
    pub(super) fn files(&self) -> &Manifest {
        &self.files
    }

    /// Makes the folder contain exactly these files.
    pub(super) fn apply(&mut self, git: &Git, mut wanted: Manifest) -> Result<LayoutResult> {
        let is_covered = |path: &Path| self.packages.iter().any(|place| path.starts_with(place));
        let covered: Vec<PathBuf> =
            wanted.keys().filter(|path| is_covered(path)).cloned().collect();
        wanted.retain(|path, _| !is_covered(path));
        let leads = read_links(git, &wanted)?;
        let links_out = links_out(&leads);
        for link in &links_out {
            wanted.remove(link);
        }
        let folders = folders(&wanted);
        let mut stays = BTreeSet::new();
        self.clear(Path::new(""), &wanted, &folders, &mut stays)?;
        self.replace_changed_folders(&folders).context("create changed folders again")?;
        self.written.retain(|path, _| stays.contains(path));
        self.pointers.retain(|path| stays.contains(path));
        for folder in &folders {
            let place = self.root.join(folder);
            fs::create_dir_all(&place).with_context(|| format!("create {}", folder.display()))?;
        }
        let is_missing = |file: &&TreeFile| file.mode != SUBMODULE && !stays.contains(&file.path);
        let missing: Vec<&TreeFile> = wanted.values().filter(is_missing).collect();
        git.read_files(&missing, |file, bytes| self.write(file, bytes))?;
        let written = missing.len();
        self.folders.clear();
        for folder in folders.into_iter().chain([PathBuf::new()]) {
            let facts = fs::symlink_metadata(self.root.join(&folder))
                .with_context(|| format!("look at {}", folder.display()))?;
            self.folders.insert(folder, Stamp::of(&facts));
        }
        self.files = wanted;
        Ok(LayoutResult {
            links_out,
            covered,
            pointers: self.pointers.iter().cloned().collect(),
            written,
        })
    }

    /// Removes files that are unwanted or were changed. `stays` gets the remaining ones.
    fn clear(
        &self,
        folder: &Path,
        wanted: &Manifest,
        folders: &BTreeSet<PathBuf>,
        stays: &mut BTreeSet<PathBuf>,
    ) -> Result<()> {
        let place = self.root.join(folder);
        let facts =
            fs::symlink_metadata(&place).with_context(|| format!("look at {}", place.display()))?;
        if facts.mode() & MODE_BITS != FOLDER_MODE {
            fs::set_permissions(&place, fs::Permissions::from_mode(FOLDER_MODE))
                .with_context(|| format!("open {}", place.display()))?;
        }
        for entry in fs::read_dir(&place).with_context(|| format!("list {}", place.display()))? {
            let entry = entry.with_context(|| format!("list {}", place.display()))?;
            let path = folder.join(entry.file_name());
            let facts = entry.metadata().with_context(|| format!("look at {}", path.display()))?;
            let act = || format!("remove {}", path.display());
            if facts.is_dir() {
                if folders.contains(&path) {
                    self.clear(&path, wanted, folders, stays)?;
                } else {
                    remove_folder(&entry.path()).with_context(act)?;
                }
            } else if self.is_untouched(&path, wanted, &facts) {
                stays.insert(path);
            } else {
                fs::remove_file(entry.path()).with_context(act)?;
            }
        }
        Ok(())
    }

    /// Moves the content of each folder that a program changed to a new folder, inner folders first.
    fn replace_changed_folders(&mut self, wanted: &BTreeSet<PathBuf>) -> Result<()> {
        let mut changed = Vec::new();
        for (folder, stamp) in &self.folders {
            let place = self.root.join(folder);
            let is_kept = folder.as_os_str().is_empty() || wanted.contains(folder);
            if is_kept && fs::symlink_metadata(&place).is_ok_and(|now| Stamp::of(&now) != *stamp) {
                changed.push(place);
            }
        }
        let fresh = self.root.with_extension(FRESH);
        // In reverse order, inner folders come first.
        for place in changed.iter().rev() {
            remove_folder(&fresh)?;
            fs::create_dir(&fresh)?;
            for entry in fs::read_dir(place)? {
                let entry = entry?;
                fs::rename(entry.path(), fresh.join(entry.file_name()))?;
            }
            fs::remove_dir(place)?;
            fs::rename(&fresh, place)?;
            self.stamp_files_in(place)?;
        }
        Ok(())
    }

    /// Moving a file changes its ctime.
    fn stamp_files_in(&mut self, folder: &Path) -> Result<()> {
        for entry in fs::read_dir(folder)? {
            let entry = entry?;
            let path = entry.path();
            let known = path.strip_prefix(&self.root).ok().map(Path::to_owned);
            if let Some(stamp) = known.and_then(|path| self.written.get_mut(&path)) {
                *stamp = Stamp::of(&entry.metadata()?);
            }
        }
        Ok(())
    }

    fn is_untouched(&self, path: &Path, wanted: &Manifest, facts: &fs::Metadata) -> bool {
        let same = match (self.files.get(path), wanted.get(path)) {
            (Some(before), Some(after)) => (&before.id, before.mode) == (&after.id, after.mode),
            _ => false,
        };
        same && self.written.get(path) == Some(&Stamp::of(facts))
    }

    fn write(&mut self, file: &TreeFile, bytes: Vec<u8>) -> Result<()> {
        let act = || format!("write {}", file.path.display());
        // Git does not verify objects: one can be replaced under its id.
        let found = object_id("blob", &bytes, file.id.len());
        ensure!(
            found == file.id,
            "{}: the object {} is corrupt: its content has a different hash",
            act(),
            file.id
        );
        let place = self.root.join(&file.path);
        if bytes.starts_with(POINTER) {
            self.pointers.insert(file.path.clone());
        }
        if file.mode == LINK {
            symlink(PathBuf::from(std::ffi::OsString::from_vec(bytes)), &place)
                .with_context(act)?;
        } else {
            let mode = if is_executable(file.mode) { PROGRAM_MODE } else { FILE_MODE };
            let mut new = fs::File::options()
                .write(true)
                .create_new(true)
                .mode(mode)
                .open(&place)
                .with_context(act)?;
            new.write_all(&bytes).with_context(act)?;
            new.set_permissions(fs::Permissions::from_mode(mode)).with_context(act)?;
            // File system clocks are coarse, and a build that just ended must see a newer file.
            new.set_modified(SystemTime::now()).with_context(act)?;
        }
        let facts = fs::symlink_metadata(&place).with_context(act)?;
        self.written.insert(file.path.clone(), Stamp::of(&facts));
        Ok(())
    }
}

impl Stamp {
    fn of(facts: &fs::Metadata) -> Self {
        Self {
            inode: facts.ino(),
            mode: facts.mode(),
            size: facts.size(),
            modified: (facts.mtime(), facts.mtime_nsec()),
            changed: (facts.ctime(), facts.ctime_nsec()),
        }
    }
}

/// All parent folders of files, and those of submodules, which stay empty.
fn folders(files: &Manifest) -> BTreeSet<PathBuf> {
    let above = files.keys().flat_map(|path| path.ancestors().skip(1));
    let submodules =
        files.values().filter(|file| file.mode == SUBMODULE).map(|file| file.path.as_path());
    above
        .chain(submodules)
        .filter(|path| !path.as_os_str().is_empty())
        .map(Path::to_path_buf)
        .collect()
}

/// The targets of all links.
fn read_links(git: &Git, files: &Manifest) -> Result<BTreeMap<PathBuf, PathBuf>> {
    let links: Vec<&TreeFile> = files.values().filter(|file| file.mode == LINK).collect();
    let mut leads = BTreeMap::new();
    git.read_files(&links, |file, bytes| {
        leads.insert(file.path.clone(), std::ffi::OsString::from_vec(bytes).into());
        Ok(())
    })?;
    Ok(leads)
}
