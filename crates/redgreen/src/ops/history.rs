//! `redgreen history`: the handoffs, newest first.

use anyhow::Result;
use redgreen_core::names::Oid;
use redgreen_core::note::Note;
use serde::Serialize;

use super::notes;
use crate::engine::Project;
use crate::journal;

#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct History {
    pub version: u32,
    pub handoffs: Vec<Entry>,
    /// Whether there are older ones.
    pub more: bool,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Entry {
    pub commit: Oid,
    pub subject: String,
    /// Seconds since 1970.
    pub date: i64,
    pub handoff: Note,
}

/// The last `limit` handoffs reachable from HEAD and from the branches of runs.
pub fn history(project: &Project, limit: usize) -> Result<History> {
    notes::check(project)?;
    let mut starts = vec!["HEAD".to_owned()];
    for folder in project.store.open()? {
        starts
            .extend(journal::read(&folder)?.0.map(|state| state.progress.head.commit.to_string()));
    }
    let starts: Vec<&str> = starts.iter().map(String::as_str).collect();
    let found = project.git.notes().recent(limit.saturating_add(1), &starts)?;
    let more = found.len() > limit;
    let mut handoffs = Vec::new();
    for note in found.into_iter().take(limit) {
        let handoff = notes::readable(&note.commit, &note.text)?;
        handoffs.push(Entry {
            commit: note.commit,
            subject: note.subject,
            date: note.date,
            handoff,
        });
    }
    Ok(History { version: 1, handoffs, more })
}
