//! `redgreen clean`: files on disk that redgreen can create again. It removes nothing of an open or
//! active run, and nothing that `redgreen salvage` lists.

use std::collections::HashSet;
use std::fs::{self, File};
use std::io::ErrorKind;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use redgreen_core::names::RunId;
use redgreen_core::state::{Ending, Situation};
use serde::Serialize;

use super::demo;
use crate::engine::{Project, run_of_folder};
use crate::git::{Git, remove_folder};
use crate::journal::{self, RunFolder, Store};

/// Build output and packages of a repository, with their kinds.
const SHARED: [(&str, Kind); 4] = [
    ("builds", Kind::BuildOutput),
    ("cargo-target", Kind::BuildOutput),
    ("cargo-target-agents", Kind::BuildOutput),
    ("agent-caches", Kind::Packages),
];
/// The name of a folder during its removal. An interrupted clean leaves it.
const REMOVED: &str = ".removed-";
/// More files are not counted, so the size is a lower bound.
const FILES_MAX: usize = 5_000_000;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    Worktree,
    Room,
    BuildOutput,
    Packages,
    Demo,
}

/// A folder of redgreen's.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Item {
    pub kind: Kind,
    pub path: PathBuf,
    /// On the disk.
    pub bytes: u64,
    /// Why it is kept, if it is.
    pub kept: Option<String>,
    pub removed: bool,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Clean {
    pub version: u32,
    pub items: Vec<Item>,
    /// The size of what can be removed, or was removed.
    pub bytes: u64,
}

impl Clean {
    fn of(mut items: Vec<Item>) -> Self {
        items.sort_by(|a, b| (a.kind, &a.path).cmp(&(b.kind, &b.path)));
        let bytes = items.iter().filter(|item| item.kept.is_none()).map(|item| item.bytes).sum();
        Self { version: 1, items, bytes }
    }

    pub fn can_go(&self) -> bool {
        self.items.iter().any(|item| item.kept.is_none())
    }
}

/// Finds everything. Outside a repository, only demos in the temporary folder.
pub fn look(project: Option<&Project>, temporary: &Path) -> Result<Clean> {
    let mut items = demos(temporary)?;
    if let Some(project) = project {
        items.extend(worktrees(project)?);
        items.extend(rooms(project)?);
        items.extend(shared(project)?);
    }
    Ok(Clean::of(items))
}

/// Removes what can be removed. Checks each item again first, because a run may have started since.
pub fn remove(project: Option<&Project>, temporary: &Path, listed: &Clean) -> Result<Clean> {
    let now = look(project, temporary)?;
    let agreed = |item: &Item| {
        listed.items.iter().any(|known| known.path == item.path && known.kept.is_none())
    };
    let mut items = Vec::new();
    for mut item in now.items.into_iter().filter(agreed) {
        if item.kept.is_none() {
            match (item.kind, project) {
                (Kind::Worktree, Some(project)) => remove_worktree(project, &mut item)?,
                (Kind::Room, _) => remove_room(&mut item)?,
                (Kind::Worktree, None) | (Kind::BuildOutput | Kind::Packages | Kind::Demo, _) => {
                    discard(&item.path)?;
                }
            }
            item.removed = item.kept.is_none();
        }
        items.push(item);
    }
    Ok(Clean::of(items))
}

fn item(kind: Kind, path: PathBuf, kept: Option<String>) -> Item {
    Item { kind, bytes: size(&path), path, kept, removed: false }
}

fn worktrees(project: &Project) -> Result<Vec<Item>> {
    let known: Vec<PathBuf> =
        project.git.worktree_list()?.into_iter().map(|listed| listed.path).collect();
    let mut items = Vec::new();
    for (name, path) in folders(&project.workshop)? {
        let Ok(id) = RunId::parse(run_of_folder(&name)) else { continue };
        let real = path.canonicalize().unwrap_or_else(|_| path.clone());
        let is_known = known.iter().any(|known| known.starts_with(&real));
        let is_empty = folders(&path)?.is_empty()
            && fs::read_dir(&path).is_ok_and(|mut all| all.next().is_none());
        let kept = open_run(&project.store.named(&id)).or_else(|| {
            // Its contents could not be salvaged.
            (!is_known && !is_empty)
                .then(|| "git does not know it; check it and remove it by hand".to_owned())
        });
        items.push(item(Kind::Worktree, path, kept));
    }
    Ok(items)
}

/// Why nothing of the run may be removed, if so.
fn open_run(folder: &RunFolder) -> Option<String> {
    let id = &folder.id;
    if !folder.path.exists() {
        return None;
    }
    if journal::is_busy(folder) {
        return Some(format!("run {id} is at work"));
    }
    match journal::read(folder) {
        Ok((Some(state), _)) if state.is_over() => None,
        Ok((Some(_), _)) => {
            Some(format!("run {id} is open: redgreen resume {id}, or redgreen abort {id}"))
        }
        Ok((None, _)) | Err(_) => {
            Some(format!("cannot read the journal of run {id}: redgreen status {id}"))
        }
    }
}

/// Salvages everything in the worktree beyond its commit.
fn remove_worktree(project: &Project, item: &mut Item) -> Result<()> {
    project.clear_stale(None);
    match fs::remove_dir(&item.path) {
        Ok(()) => {}
        Err(error) if error.kind() == ErrorKind::NotFound => {}
        Err(_) => item.kept = Some("its work could not be salvaged; check it by hand".to_owned()),
    }
    Ok(())
}

fn rooms(project: &Project) -> Result<Vec<Item>> {
    let mut items = Vec::new();
    for (name, path) in folders(&project.workshop.join("rooms"))? {
        let is_left = name.starts_with(REMOVED);
        let kind = if is_left { Kind::BuildOutput } else { Kind::Room };
        let kept = if is_left {
            None
        } else {
            lock_room(&path).is_none().then(|| "a test run is using it".to_owned())
        };
        items.push(item(kind, path, kept));
    }
    Ok(items)
}

/// Locks a room against test runs. `None` while one uses it.
fn lock_room(room: &Path) -> Option<File> {
    let name = room.file_name()?.to_string_lossy();
    let lock = File::create(room.with_file_name(format!("{name}.lock"))).ok()?;
    lock.try_lock().is_ok().then_some(lock)
}

fn remove_room(item: &mut Item) -> Result<()> {
    match lock_room(&item.path) {
        Some(_lock) => discard(&item.path),
        None => {
            item.kept = Some("a test run is using it".to_owned());
            Ok(())
        }
    }
}

/// Build output belongs to no run, but an active run builds in it.
fn shared(project: &Project) -> Result<Vec<Item>> {
    let busy = project.store.open()?.into_iter().find(journal::is_busy);
    let busy = busy.map(|run| format!("run {} is at work", run.id));
    let in_use = folders(&project.workshop.join("rooms"))?
        .iter()
        .any(|(name, room)| !name.starts_with(REMOVED) && lock_room(room).is_none());
    let kept = busy.or_else(|| in_use.then(|| "a test run is active".to_owned()));
    let mut items = Vec::new();
    for (name, path) in folders(&project.workshop)? {
        let kind = SHARED.iter().find(|(known, _)| *known == name).map(|(_, kind)| *kind);
        if let Some(kind) = kind.or_else(|| name.starts_with(REMOVED).then_some(Kind::BuildOutput))
        {
            items.push(item(kind, path, kept.clone()));
        }
    }
    Ok(items)
}

/// Unchanged folders of `redgreen demo`.
fn demos(temporary: &Path) -> Result<Vec<Item>> {
    let me = rustix::process::getuid().as_raw();
    let mut items = Vec::new();
    for (name, path) in folders(temporary)? {
        let is_mine = fs::symlink_metadata(&path).is_ok_and(|facts| facts.uid() == me);
        let is_demo =
            name.starts_with(demo::PREFIX) && path.join(demo::PROJECT).join(".git").is_dir();
        if is_mine && name.starts_with(REMOVED) && name.contains(demo::PREFIX) {
            items.push(item(Kind::Demo, path, None));
        } else if is_mine && is_demo {
            let kept = demo_in_use(&path.join(demo::PROJECT));
            items.push(item(Kind::Demo, path, kept));
        }
    }
    Ok(items)
}

/// Why a demo folder is kept: it is active, or somebody works there.
fn demo_in_use(folder: &Path) -> Option<String> {
    let changed = || Some("it was changed since the demo".to_owned());
    let store = Store::new(&folder.join(".git"));
    let (Ok(all), Ok(git)) = (store.all(), Git::open(folder)) else { return changed() };
    let [run] = all.as_slice() else {
        return if all.is_empty() {
            Some("the demo is running, or never started".to_owned())
        } else {
            changed()
        };
    };
    if let Some(why) = open_run(run) {
        return Some(why);
    }
    let Ok((Some(state), _)) = journal::read(run) else { return changed() };
    let tip = git.head().ok().map(|head| head.commit);
    let is_as_left = match state.situation {
        Situation::Ended(Ending::Merged { commit }) => tip == Some(commit),
        _ => tip == Some(state.run.base.commit),
    };
    let is_clean = git.dirty_count().is_ok_and(|dirty| dirty.is_clean());
    if is_as_left && is_clean { None } else { changed() }
}

/// Renames first, so that another process finds no folder instead of half of one.
fn discard(folder: &Path) -> Result<()> {
    let act = || format!("remove {}", folder.display());
    let name = folder.file_name().with_context(act)?.to_string_lossy().into_owned();
    let aside = if name.starts_with(REMOVED) {
        folder.to_owned()
    } else {
        let aside = folder.with_file_name(format!("{REMOVED}{}-{name}", std::process::id()));
        fs::rename(folder, &aside).with_context(act)?;
        aside
    };
    remove_folder(&aside).with_context(act)
}

/// The folders in a folder, without links, sorted by name.
fn folders(folder: &Path) -> Result<Vec<(String, PathBuf)>> {
    let entries = match fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(error).with_context(|| format!("read {}", folder.display())),
    };
    let own = entries.filter_map(|entry| {
        let entry = entry.ok().filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()))?;
        Some((entry.file_name().into_string().ok()?, entry.path()))
    });
    let mut all: Vec<(String, PathBuf)> = own.collect();
    all.sort();
    Ok(all)
}

/// The size of a folder on disk. A file with several names counts once, and links are not followed.
fn size(folder: &Path) -> u64 {
    const BLOCK_BYTES: u64 = 512;
    let mut waiting = vec![folder.to_owned()];
    let (mut linked, mut bytes, mut files) = (HashSet::new(), 0, 0);
    while let Some(path) = waiting.pop() {
        let Ok(facts) = fs::symlink_metadata(&path) else { continue };
        files += 1;
        if files > FILES_MAX {
            break;
        }
        if facts.is_dir() {
            waiting.extend(
                fs::read_dir(&path).into_iter().flatten().flatten().map(|entry| entry.path()),
            );
        } else if facts.nlink() > 1 && !linked.insert((facts.dev(), facts.ino())) {
            continue;
        }
        bytes += facts.blocks() * BLOCK_BYTES;
    }
    bytes
}
