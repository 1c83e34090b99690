//! `redgreen report`: what a run came to, from what was kept of it.

mod timeline;

use anyhow::{Context, Result};
use redgreen_core::brief::Door;
use redgreen_core::summary;

pub(super) use timeline::attempt;
pub use timeline::{Step, Timeline, Work};

use super::{Stopped, pick, state_of};
use crate::engine::{Project, export, seen};
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
    private::write(&path, text.as_bytes()).with_context(|| format!("write {}", path.display()))?;
    export(&stopped.folder, &stopped.state)
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
