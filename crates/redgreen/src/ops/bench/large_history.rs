//! Repositories with many handoffs and many ended runs: the cost of showing the present must not
//! depend on the length of the history.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result};

use super::phases::MeasuredRun;
use super::{Measure, in_turns};
use crate::git::{Git, NotedCommit};
use crate::journal::{self, Store};
use crate::process::{Program, Stop};

/// A run of three cycles makes this many handoffs.
const HANDOFFS_PER_RUN: usize = 13;
/// The start of the first run, in milliseconds since 1970, and the time between runs.
const FIRST_RUN_AT: i64 = 1_700_000_000_000;
const APART_MS: i64 = 600_000;

pub(super) struct LargeHistory {
    handoffs: usize,
    git: Git,
}

/// A repository with this many handoffs and the corresponding number of ended runs. Each is a copy
/// of the developed run.
pub(super) fn make(
    folder: &Path,
    handoffs: usize,
    developed: &MeasuredRun,
) -> Result<LargeHistory> {
    let git = Git::create_scratch(
        &folder.join(handoffs.to_string()),
        &[("README.md", "many\n")],
        "first",
    )?;
    git.import(&noted(handoffs, developed))?;
    let store = Store::new(&git.common_dir);
    let run = &developed.stopped;
    let path = journal::path(&run.folder);
    let mut journal =
        fs::read_to_string(&path).with_context(|| format!("read {}", path.display()))?;
    // The notes of the last run are on the newest commits.
    let newest = git.notes().recent(run.state.trail.len(), &["HEAD"])?;
    for (waypoint, note) in run.state.trail.iter().rev().zip(newest) {
        journal = journal.replace(waypoint.progress.head.commit.as_str(), &note.commit);
    }
    let mut at = FIRST_RUN_AT;
    for _ in 0..handoffs / HANDOFFS_PER_RUN {
        let folder = store.create(at)?;
        let path = journal::path(&folder);
        fs::write(&path, journal.replace(run.folder.id.as_str(), &folder.id))
            .with_context(|| format!("write {}", path.display()))?;
        store.close(&folder)?;
        at += APART_MS;
    }
    Ok(LargeHistory { handoffs, git })
}

/// The reading commands in every repository, next to git.
pub(super) fn measures(
    crowds: &[LargeHistory],
    ours: &Program,
    turns: usize,
    stop: &Stop,
) -> Result<Vec<Measure>> {
    const VERBS: [&str; 2] = ["status", "history"];
    let programs: Vec<Program> = crowds
        .iter()
        .flat_map(|crowd| {
            let verb = |verb: &str| ours.clone().cwd(&crowd.git.root).args(["-C", "."]).arg(verb);
            let [status, history] = VERBS.map(verb);
            [status, history, crowd.git.typed(&["log", "-1"]), crowd.git.typed(&["status"])]
        })
        .collect();
    let medians = in_turns(&programs, turns, stop)?;
    let mut measures = Vec::new();
    for (index, verb) in VERBS.into_iter().enumerate() {
        let mut smallest = None;
        for (crowd, medians) in crowds.iter().zip(medians.chunks(4)) {
            let [.., log, status] = *medians else { continue };
            let Some(own) = medians.get(index).copied() else { continue };
            let name = format!("{verb}, {} handoffs", crowd.handoffs);
            let mut measure =
                Measure::new(&name, own).against("git log -1", log).against("git status", status);
            match &smallest {
                None => smallest = Some((name, own)),
                Some((name, smallest)) => measure = measure.against(name, *smallest),
            }
            measures.push(measure);
        }
    }
    Ok(measures)
}

fn noted(handoffs: usize, developed: &MeasuredRun) -> Vec<NotedCommit> {
    let Some(handoff) = &developed.stopped.state.progress.handoff else { return Vec::new() };
    let mut handoff = handoff.clone();
    let mut all = Vec::new();
    for cycle in (1..).take(handoffs) {
        handoff.cycle_number = cycle;
        all.push(NotedCommit { subject: format!("test: number {cycle}"), note: handoff.render() });
    }
    all
}
