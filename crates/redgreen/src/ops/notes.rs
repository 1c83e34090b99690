//! `redgreen repair-notes`, and the check that suggests it: a command that finds damaged notes
//! stops before it does anything.

use std::collections::BTreeMap;
use std::fs::{self, OpenOptions};
use std::io::{ErrorKind, Write};

use anyhow::{Context, Result};
use redgreen_core::event::Event;
use redgreen_core::handoff::{Handoff, NOTES_REF};
use redgreen_core::names::Oid;
use redgreen_core::note::Note;
use redgreen_core::state::{Ending, Situation, State};
use serde::Serialize;

use crate::engine::Project;
use crate::failure::Failure;
use crate::git::Health;
use crate::journal::{self, Body, RunFolder};

const REPAIR: &str = "redgreen repair-notes";

/// The maximum number of kept texts for one commit.
const ASIDE_MAX: u32 = 1000;

/// The result of a repair.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct RepairResult {
    pub version: u32,
    /// The number of intact notes.
    pub sound: usize,
    /// Commits whose note was restored from a journal.
    pub rewritten: Vec<Oid>,
    /// Files with the text of notes that no journal here knows.
    pub set_aside: Vec<String>,
    /// The ref was broken and was created again.
    pub ref_was_dangling: bool,
}

/// Stops the command if the notes ref, or the note of a run it may be about, is damaged.
pub fn check(project: &Project) -> Result<()> {
    check_of(project, &looked_at(project)?)
}

/// A run, and its state.
pub(super) type RunAndState = (RunFolder, Result<Option<State>>);

/// The runs that a command may be about: open ones, and the last one.
pub(super) fn looked_at(project: &Project) -> Result<Vec<RunAndState>> {
    let mut folders = project.store.open()?;
    if let Some(latest) = project.store.latest().filter(|latest| !folders.contains(latest)) {
        folders.push(latest);
    }
    let read = |folder: RunFolder| {
        let state = journal::read(&folder).map(|(state, _)| state);
        (folder, state)
    };
    Ok(folders.into_iter().map(read).collect())
}

/// The same for given runs.
pub(super) fn check_of(project: &Project, runs: &[RunAndState]) -> Result<()> {
    let mut expected = Vec::new();
    let mut with_notes = Vec::new();
    for (folder, state) in runs {
        // Not every command is about a run with a damaged journal. The one that is reports it.
        let Ok(Some(state)) = state else { continue };
        // Only the salvage ref keeps the commits of an aborted run, and the user may drop it.
        if state.trail.is_empty() || matches!(state.situation, Situation::Ended(Ending::Aborted)) {
            continue;
        }
        with_notes.push(folder.id.clone());
        // Every commit with a note. An active or killed run may have one more commit without a note
        // yet.
        expected.extend(state.trail.iter().map(|waypoint| waypoint.progress.head.commit.clone()));
    }
    let commits: Vec<&str> = expected.iter().map(Oid::as_str).collect();
    let (notes, health) = project.git.notes().read_and_check(&commits)?;
    match health {
        Health::Dangling => Err(damaged(format!("{NOTES_REF} points to a missing object"))),
        Health::Absent if !expected.is_empty() => Err(damaged(format!(
            "{NOTES_REF} is missing, with the notes of run {}",
            with_notes.join(", ")
        ))),
        Health::Absent | Health::Fine => {
            for commit in commits {
                match notes.iter().find(|note| note.commit == commit) {
                    Some(note) => drop(readable(commit, &note.text)?),
                    None => return Err(damaged(format!("the note of commit {commit} is missing"))),
                }
            }
            Ok(())
        }
    }
}

/// The handoff in a note, or an error that names the fix.
pub fn readable(commit: &str, text: &str) -> Result<Note> {
    Note::parse(text)
        .map_err(|why| damaged(format!("cannot use the note of commit {commit}: {why}")))
}

/// Repairs the notes from the journals. Notes that cannot be repaired are moved, never deleted.
pub fn repair(project: &Project) -> Result<RepairResult> {
    let notes = project.git.notes();
    let mut repaired = RepairResult { version: 1, ..RepairResult::default() };
    if notes.health()? == Health::Dangling {
        repaired.ref_was_dangling = true;
        notes.delete_ref()?;
    }
    let known = known_handoffs(project)?;
    let mut present: BTreeMap<Oid, String> =
        notes.all()?.into_iter().map(|note| (note.commit, note.text)).collect();
    for (commit, handoff) in &known {
        let text = present.remove(commit);
        if text.as_deref().is_some_and(|text| Note::parse(text).is_ok()) {
            repaired.sound += 1;
        } else if project.git.resolve(&format!("{commit}^{{commit}}"))?.is_some() {
            if let Some(text) = text {
                repaired.set_aside.push(set_aside(project, commit, &text)?);
            }
            notes.write(commit, &handoff.render())?;
            repaired.rewritten.push(commit.clone());
        }
    }
    for (commit, text) in present {
        if Note::parse(&text).is_ok() {
            repaired.sound += 1;
        } else {
            repaired.set_aside.push(set_aside(project, &commit, &text)?);
            notes.remove(&commit)?;
        }
    }
    Ok(repaired)
}

/// The last handoff of each commit, from the journals.
fn known_handoffs(project: &Project) -> Result<BTreeMap<Oid, Handoff>> {
    let mut known = BTreeMap::new();
    for folder in project.store.all()? {
        for (commit, handoff) in handoffs_of(&folder) {
            known.insert(commit, handoff);
        }
    }
    Ok(known)
}

/// An unreadable journal is ignored here. Commands that need it report it.
fn handoffs_of(folder: &RunFolder) -> Vec<(Oid, Handoff)> {
    let Ok((_, lines)) = journal::read(folder) else { return Vec::new() };
    let noted = lines.into_iter().filter_map(|line| match line.body {
        Body::Event(event) => match *event {
            Event::Noted { commit, handoff } => Some((commit, *handoff)),
            _ => None,
        },
        Body::Intent { .. } => None,
    });
    noted.collect()
}

fn set_aside(project: &Project, commit: &Oid, text: &str) -> Result<String> {
    let folder = project.git.common_dir.join("redgreen/notes-set-aside");
    fs::create_dir_all(&folder).with_context(|| format!("create {}", folder.display()))?;
    for number in 1..=ASIDE_MAX {
        let name =
            if number == 1 { format!("{commit}.txt") } else { format!("{commit}-{number}.txt") };
        let path = folder.join(name);
        match OpenOptions::new().write(true).create_new(true).open(&path) {
            Ok(mut file) => {
                file.write_all(text.as_bytes())
                    .with_context(|| format!("write {}", path.display()))?;
                return Ok(path.display().to_string());
            }
            // Does not overwrite earlier files.
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
            Err(error) => return Err(error).with_context(|| format!("create {}", path.display())),
        }
    }
    anyhow::bail!("set aside the note of {commit}: {} is full", folder.display())
}

fn damaged(what: String) -> anyhow::Error {
    Failure::environment(what).evidence("nothing was changed").next(REPAIR).into()
}
