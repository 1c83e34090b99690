//! `redgreen report`: what a run came to, from what was kept of it.

mod timeline;

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use redgreen_core::artifact::{Green, Red};
use redgreen_core::brief::Door;
use redgreen_core::phase::Phase;
use redgreen_core::state::State;
use redgreen_core::summary::{self, Seen};
use redgreen_core::test_list;
use serde::de::DeserializeOwned;

pub(super) use timeline::attempt;
pub use timeline::{Step, Timeline, Work};

use super::{Stopped, pick, state_of};
use crate::engine::Project;
use crate::git::Status;
use crate::journal::RunFolder;
use crate::private;

/// The summary's file among the artifacts.
const SUMMARY: &str = "tdd-summary.md";

/// Writes the summary beside the other artifacts; the newest word stands.
pub(super) fn keep_summary(project: &Project, stopped: &Stopped) -> Result<()> {
    let seen = seen(project, &stopped.folder, &stopped.state)?;
    let text = summary::markdown(&stopped.state, Some(&stopped.outcome), &seen);
    let folder = stopped.folder.artifacts();
    private::create_dir_all(&folder).with_context(|| format!("create {}", folder.display()))?;
    let path = folder.join(SUMMARY);
    private::write(&path, text.as_bytes()).with_context(|| format!("write {}", path.display()))
}

/// The block that ends the output of a run that began with a file: whoever handed it in reads nothing else.
pub fn closing(project: &Project, stopped: &Stopped) -> Result<Option<String>> {
    if stopped.state.run.brief.door == Door::Request {
        return Ok(None);
    }
    let seen = seen(project, &stopped.folder, &stopped.state)?;
    Ok(Some(summary::closing(&stopped.state, &stopped.outcome, &seen)))
}

/// A run as a whole; without a name, the only one that is open, or the last one.
pub fn report(project: &Project, named: Option<&str>) -> Result<Timeline> {
    let folder = match (named, project.store.latest()) {
        (None, Some(latest)) if project.store.open()?.is_empty() => latest,
        (named, _) => pick(project, named)?,
    };
    let state = state_of(&folder)?;
    let summary = summary::markdown(&state, state.left.as_ref(), &seen(project, &folder, &state)?);
    timeline::timeline(project, &folder, summary)
}

/// What was kept of a run.
pub fn seen(project: &Project, folder: &RunFolder, state: &State) -> Result<Seen> {
    let artifacts = folder.artifacts();
    let head = &state.progress.head.tree;
    let files = project.git.diff(&state.run.base.tree, head)?;
    // The list is the run's own and not merged, unless the project asks for it.
    let merged = |path: &str| path != test_list::FILE || project.file.plan.keep;
    let files = files.into_iter().filter(|changed| merged(&changed.path)).map(|changed| {
        let how = match changed.status {
            Status::Added => "added",
            Status::Deleted => "deleted",
            Status::Modified | Status::TypeChanged => "modified",
        };
        (changed.path, how)
    });
    Ok(Seen {
        red: latest::<Red>(&artifacts, "red.json", state.progress.cycle),
        green: latest::<Green>(&artifacts, "green.json", state.progress.cycle),
        test_files: test_files(&artifacts, state),
        files: files.collect(),
        folder: artifacts.display().to_string(),
    })
}

/// The test files of the accepted REDs, cycle by cycle; a cycle that was rolled back is not among them.
fn test_files(artifacts: &Path, state: &State) -> Vec<String> {
    let handoffs = state.trail.iter().filter_map(|waypoint| waypoint.progress.handoff.as_ref());
    let cycles = handoffs.filter(|handoff| handoff.phase == Phase::Red).map(|handoff| handoff.cycle_number);
    let reds = cycles.filter_map(|cycle| read::<Red>(&artifacts.join(format!("cycle-{cycle}/red.json"))));
    let files = reds.flat_map(|red| red.test_files.into_iter().map(|file| file.path));
    files.collect()
}

fn read<T: DeserializeOwned>(path: &Path) -> Option<T> {
    serde_json::from_slice(&fs::read(path).ok()?).ok()
}

/// The artifact of the last cycle that has one; later ones than the present cycle were rolled back.
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
