//! The results of a run so far, from its stored files: the input of the summary and the closing
//! block.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use redgreen_core::artifact::{Green, Red};
use redgreen_core::names::Oid;
use redgreen_core::outline::{self, FileChange};
use redgreen_core::phase::Phase;
use redgreen_core::state::State;
use redgreen_core::summary::RunResults;
use redgreen_core::test_list;
use serde::de::DeserializeOwned;

use super::Project;
use crate::foreign;
use crate::git::Status;
use crate::journal::RunFolder;
use crate::private;

/// The stored results of a run.
pub fn seen(project: &Project, folder: &RunFolder, state: &State) -> Result<RunResults> {
    seen_at(project, folder, state, &state.progress.head.tree)
}

/// The same for a run that is about to end with another tree.
pub(super) fn seen_at(
    project: &Project,
    folder: &RunFolder,
    state: &State,
    tree: &Oid,
) -> Result<RunResults> {
    let artifacts = folder.artifacts();
    let elsewhere = exported_to(folder);
    let cycle = match &elsewhere {
        Some(place) if state.run.brief.batch().is_some() => place.clone(),
        Some(place) => place.join(format!("cycle-{}", state.progress.cycle)),
        None => artifacts.join(format!("cycle-{}", state.progress.cycle)),
    };
    Ok(RunResults {
        red: latest::<Red>(&artifacts, "red.json", state.progress.cycle),
        green: latest::<Green>(&artifacts, "green.json", state.progress.cycle),
        test_files: test_files(&artifacts, state),
        files: files(project, &state.run.base.tree, tree)?,
        folder: elsewhere.unwrap_or(artifacts).display().to_string(),
        cycle_folder: cycle.display().to_string(),
    })
}

/// The user's folder for copies of the artifacts.
fn exported_to(folder: &RunFolder) -> Option<PathBuf> {
    let text = fs::read_to_string(folder.artifacts_to()).ok()?;
    Some(PathBuf::from(text)).filter(|path| path.is_absolute())
}

/// Copies the artifacts to the user's folder. For a run with one cycle, the files are directly in
/// that folder. In the records of a run that came with the folder, somebody else named it.
pub fn export(project: &Project, folder: &RunFolder, state: &State) -> Result<()> {
    let place = exported_to(folder).filter(|_| project.started_run(&folder.id));
    let Some(place) = place else { return Ok(()) };
    let artifacts = folder.artifacts();
    for (inside, path) in below(&artifacts, 2) {
        let flat =
            inside.strip_prefix("cycle-1").ok().filter(|_| state.run.brief.batch().is_some());
        let target = place.join(flat.unwrap_or(&inside));
        let bytes = fs::read(&path).with_context(|| format!("read {}", path.display()))?;
        foreign::write_named_with_folders(&project.git.root, &target, &bytes)
            .with_context(|| format!("write {}", target.display()))?;
    }
    Ok(())
}

/// Stores the folder for [`export`].
pub fn keep_export(folder: &RunFolder, place: &Path) -> Result<()> {
    let path = folder.artifacts_to();
    private::write(&path, place.as_os_str().as_encoded_bytes())
        .with_context(|| format!("write {}", path.display()))
}

/// Files below a folder, up to a depth, each with its relative path.
fn below(folder: &Path, depth: u32) -> Vec<(PathBuf, PathBuf)> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let (name, path) = (PathBuf::from(entry.file_name()), entry.path());
        match entry.file_type() {
            Ok(kind) if kind.is_file() => found.push((name, path)),
            Ok(kind) if kind.is_dir() && depth > 1 => {
                found.extend(
                    below(&path, depth - 1)
                        .into_iter()
                        .map(|(inside, path)| (name.join(inside), path)),
                );
            }
            Ok(_) | Err(_) => {}
        }
    }
    found.sort();
    found
}

/// The changed files of the run, with a description of each change.
fn files(project: &Project, base: &str, tree: &str) -> Result<Vec<FileChange>> {
    let git = &project.git;
    // The list belongs to the run and is not merged, unless the project wants it.
    let merged = |path: &str| path != test_list::FILE || project.file.plan.keep;
    let text = |tree: &str, path: &str| -> Result<Option<String>> {
        Ok(git.read_file(tree, path)?.and_then(|bytes| String::from_utf8(bytes).ok()))
    };
    let mut files = Vec::new();
    for changed in git.diff(base, tree)?.into_iter().filter(|changed| merged(&changed.path)) {
        let (old, new) = (text(base, &changed.path)?, text(tree, &changed.path)?);
        let how = match changed.status {
            Status::Added => "added",
            Status::Deleted => "deleted",
            Status::Modified | Status::TypeChanged => "modified",
        };
        files.push(FileChange {
            how,
            ..outline::change(&changed.path, old.as_deref(), new.as_deref())
        });
    }
    Ok(files)
}

/// The test files of the accepted REDs, by cycle, without cycles that were rolled back.
fn test_files(artifacts: &Path, state: &State) -> Vec<String> {
    let handoffs = state.trail.iter().filter_map(|waypoint| waypoint.progress.handoff.as_ref());
    let cycles =
        handoffs.filter(|handoff| handoff.phase == Phase::Red).map(|handoff| handoff.cycle_number);
    let reds =
        cycles.filter_map(|cycle| read::<Red>(&artifacts.join(format!("cycle-{cycle}/red.json"))));
    let files = reds.flat_map(|red| red.test_files.into_iter().map(|file| file.path));
    files.collect()
}

fn read<T: DeserializeOwned>(path: &Path) -> Option<T> {
    serde_json::from_slice(&fs::read(path).ok()?).ok()
}

/// The artifact of the last cycle that has one. Artifacts of later cycles were rolled back.
fn latest<T: DeserializeOwned>(artifacts: &Path, name: &str, cycle: u32) -> Option<T> {
    let mut cycles: Vec<(u32, PathBuf)> = fs::read_dir(artifacts)
        .ok()?
        .filter_map(|entry| {
            let path = entry.ok()?.path();
            let number = path.file_name()?.to_str()?.strip_prefix("cycle-")?.parse().ok()?;
            Some((number, path.join(name)))
        })
        .filter(|(number, path)| *number <= cycle && path.is_file())
        .collect();
    cycles.sort();
    let (_, path) = cycles.pop()?;
    read(&path)
}
