//! `redgreen rollback <commit>`: returns an open run to one of its accepted commits. Later work is
//! salvaged.

use anyhow::{Context, Result};
use redgreen_core::handoff::NOTES_REF;
use redgreen_core::note::Note;
use redgreen_core::state::{Ending, Situation, State};

use super::resume::plain_notes::run_at;
use super::run::went_wrong;
use super::{RunEnd, kill_at, notes};
use crate::engine::{Engine, Observer, Project};
use crate::failure::Failure;
use crate::journal::Journal;

pub fn rollback(project: &Project, commit: &str, observe: Observer<'_>) -> Result<RunEnd> {
    notes::check(project)?;
    let git = &project.git;
    let id = git.resolve(&format!("{commit}^{{commit}}"))?.ok_or_else(|| {
        Failure::usage(format!("there is no commit {commit:?}")).next("redgreen history")
    })?;
    let text = git.notes().read(&id)?.ok_or_else(|| {
        Failure::usage(format!("{commit} has no handoff note in {NOTES_REF}"))
            .evidence("a run can only go back to one of its own commits")
            .next("redgreen history")
    })?;
    let folder = match notes::readable(&id, &text)? {
        Note::Whole(handoff) => project.store.find(&handoff.run.id)?,
        Note::Plain(plain) => run_at(project, &id)?.ok_or_else(|| {
            Failure::usage(format!(
                "no open run was at {commit}, and its handoff note names no run"
            ))
            .evidence(format!(
                "the note has no `run`; it says {}, cycle {}",
                plain.phase, plain.cycle_number
            ))
            .next(format!(
                "to continue from there: git switch -c <name> {commit}, then run: redgreen resume"
            ))
        })?,
    };
    project.check_run(&folder.id, &format!("rollback {id}"))?;
    let (journal, state) = Journal::open(&folder, kill_at(&project.environment)?)?;
    let state = state.context("the run's journal is empty")?;
    if state.is_over() {
        return Err(over(&state).into());
    }
    if !state.trail.iter().any(|waypoint| waypoint.progress.head.commit == id) {
        return Err(Failure::usage(format!(
            "run {} was never at {commit}, or was rolled back past it",
            folder.id
        ))
        .next("redgreen history")
        .into());
    }
    let mut engine = Engine::reopen(project, folder.clone(), journal, state, None, observe);
    let outcome = engine.roll_back(&id).map_err(|error| went_wrong(&folder, error))?;
    Ok(RunEnd { outcome, state: engine.state().clone(), folder })
}

fn over(state: &State) -> Failure {
    let id = &state.run.id;
    match &state.situation {
        Situation::Ended(Ending::Merged { commit }) => {
            Failure::usage(format!("run {id} is merged; its commits are part of your history"))
                .next(format!("git revert -m 1 {commit}"))
        }
        _ => Failure::usage(format!("run {id} was aborted; its commits are set aside"))
            .next("redgreen salvage"),
    }
}
