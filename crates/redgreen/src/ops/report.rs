//! `redgreen report`: the result of a run, from its stored files.

mod timeline;

use anyhow::{Context, Result};
use redgreen_core::brief::Door;
use redgreen_core::summary;

pub(super) use timeline::attempt;
pub use timeline::{Step, Timeline};

use super::{RunEnd, pick, state_of};
use crate::engine::{Observer, Progress, Project, export, seen};
use crate::private;

/// The file of the summary among the artifacts.
const SUMMARY: &str = "tdd-summary.md";

/// Writes the summary next to the other artifacts, and replaces an earlier one. The run is over, and
/// `redgreen report` can render it again, so an error is only reported.
pub(super) fn keep_summary(project: &Project, stopped: &RunEnd, observe: Observer<'_>) {
    if let Err(error) = write_summary(project, stopped) {
        observe(Progress::Remark(&format!("cannot write the summary: {error:#}")));
    }
}

fn write_summary(project: &Project, stopped: &RunEnd) -> Result<()> {
    let seen = seen(project, &stopped.folder, &stopped.state)?;
    let text = summary::markdown(&stopped.state, Some(&stopped.outcome), &seen);
    let folder = stopped.folder.artifacts();
    private::create_dir_all(&folder).with_context(|| format!("create {}", folder.display()))?;
    let path = folder.join(SUMMARY);
    private::write(&path, text.as_bytes()).with_context(|| format!("write {}", path.display()))?;
    export(project, &stopped.folder, &stopped.state)
}

/// The last block of the output of a run with an input file, for the program that started it.
pub fn closing(project: &Project, stopped: &RunEnd) -> Result<Option<String>> {
    if stopped.state.run.brief.door == Door::Request {
        return Ok(None);
    }
    let seen = seen(project, &stopped.folder, &stopped.state)?;
    Ok(Some(summary::closing(&stopped.state, &stopped.outcome, &seen)))
}

/// A whole run. Without a name, the only open one or the last one.
pub fn report(project: &Project, named: Option<&str>) -> Result<Timeline> {
    let folder = match (named, project.store.latest()) {
        (None, Some(latest)) if project.store.open()?.is_empty() => latest,
        (named, _) => pick(project, named)?,
    };
    let state = state_of(&folder)?;
    let summary = summary::markdown(&state, state.left.as_ref(), &seen(project, &folder, &state)?);
    timeline::timeline(project, &folder, summary)
}
