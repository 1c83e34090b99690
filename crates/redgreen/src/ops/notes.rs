//! `redgreen repair-notes`, and the check that sends people there: a verb that finds the notes damaged stops before it
//! does anything.

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

/// How many texts of one commit are kept.
const ASIDE_MAX: u32 = 1000;

/// What a repair did.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Repaired {
    pub version: u32,
    /// Notes that are as they should be.
    pub sound: usize,
    /// Commits whose note was written again from a journal.
    pub rewritten: Vec<Oid>,
    /// Notes nobody here knows the right text of; their text was moved to these files.
    pub set_aside: Vec<String>,
    /// The ref pointed to nothing and was made anew.
    pub ref_was_dangling: bool,
}

/// Stops the verb when the notes ref, or the note of a run it may be about, cannot be used.
pub fn check(project: &Project) -> Result<()> {
    check_of(project, &looked_at(project)?)
}

/// A run, and what its journal says.
pub(super) type Looked = (RunFolder, Result<Option<State>>);

/// The runs that a verb may be about: those that are not over, and the last one.
pub(super) fn looked_at(project: &Project) -> Result<Vec<Looked>> {
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

/// The same of runs that were looked at.
pub(super) fn check_of(project: &Project, runs: &[Looked]) -> Result<()> {
    let mut expected = Vec::new();
    let mut with_notes = Vec::new();
    for (folder, state) in runs {
        // A run whose journal is damaged is not what every verb is about; the one that is says so itself.
        let Ok(Some(state)) = state else { continue };
        // Nobody keeps the commits of an aborted run but its salvage ref, which the user may drop.
        if state.trail.is_empty() || matches!(state.situation, Situation::Ended(Ending::Aborted)) {
            continue;
        }
        with_notes.push(folder.id.clone());
        // Every commit with a note: a run at work, or killed, may have made one more and not noted it yet.
        expected.extend(state.trail.iter().map(|waypoint| waypoint.progress.head.commit.clone()));
    }
    let commits: Vec<&str> = expected.iter().map(Oid::as_str).collect();
    let (notes, health) = project.git.notes().read_and_check(&commits)?;
    match health {
        Health::Dangling => Err(damaged(format!("{NOTES_REF} points to an object that is not there"))),
        Health::Absent if !expected.is_empty() => {
            Err(damaged(format!("{NOTES_REF} is gone, with the notes of run {}", with_notes.join(", "))))
        }
        Health::Absent | Health::Fine => {
            for commit in commits {
                match notes.iter().find(|note| note.commit == commit) {
                    Some(note) => drop(readable(commit, &note.text)?),
                    None => return Err(damaged(format!("the note of commit {commit} is gone"))),
                }
            }
            Ok(())
        }
    }
}

/// The handoff a note holds, or an error that names the way out.
pub fn readable(commit: &str, text: &str) -> Result<Note> {
    Note::parse(text).map_err(|why| damaged(format!("the note of commit {commit} cannot be used: {why}")))
}

/// Repairs the notes from the journals. What cannot be repaired is moved aside, never thrown away.
pub fn repair(project: &Project) -> Result<Repaired> {
    let notes = project.git.notes();
    let mut repaired = Repaired { version: 1, ..Repaired::default() };
    if notes.health()? == Health::Dangling {
        repaired.ref_was_dangling = true;
        notes.delete_ref()?;
    }
    let known = known_handoffs(project)?;
    let mut present: BTreeMap<Oid, String> = notes.all()?.into_iter().map(|note| (note.commit, note.text)).collect();
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

/// The last handoff each journal has for each commit.
fn known_handoffs(project: &Project) -> Result<BTreeMap<Oid, Handoff>> {
    let mut known = BTreeMap::new();
    for folder in project.store.all()? {
        for (commit, handoff) in handoffs_of(&folder) {
            known.insert(commit, handoff);
        }
    }
    Ok(known)
}

/// A journal that cannot be read has nothing to say here; the verbs that need it say so themselves.
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
        let name = if number == 1 { format!("{commit}.txt") } else { format!("{commit}-{number}.txt") };
        let path = folder.join(name);
        match OpenOptions::new().write(true).create_new(true).open(&path) {
            Ok(mut file) => {
                file.write_all(text.as_bytes()).with_context(|| format!("write {}", path.display()))?;
                return Ok(path.display().to_string());
            }
            // What was set aside before is not written over.
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
            Err(error) => return Err(error).with_context(|| format!("create {}", path.display())),
        }
    }
    anyhow::bail!("set aside the note of {commit}: {} is full", folder.display())
}

fn damaged(what: String) -> anyhow::Error {
    Failure::environment(what).evidence("nothing was done").next(REPAIR).into()
}
