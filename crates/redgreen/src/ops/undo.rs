//! `redgreen undo`: undoes the merge of `approve`, if that loses nothing.

use anyhow::{Context, Result};
use redgreen_core::event::Event;
use redgreen_core::names::Oid;
use redgreen_core::state::{Ending, Situation, State};
use redgreen_core::text::shell_word;

use super::{RunEnd, kill_at, notes};
use crate::engine::{Engine, Observer, Project};
use crate::failure::{Code, Failure};
use crate::git::IsRetry;
use crate::journal::{self, Body, Journal, Line, RunFolder};

/// The merge of a run, and the commit of its target branch before.
struct Merge {
    commit: Oid,
    before: Oid,
}

/// Undoes the merge of the named run, or of the last approved one.
pub fn undo(project: &Project, run: Option<&str>, observe: Observer<'_>) -> Result<RunEnd> {
    notes::check(project)?;
    let folder = match run {
        Some(id) => project.store.find(id)?,
        None => approved_last(project)?,
    };
    project.check_run(&folder.id, &format!("undo {}", folder.id))?;
    let (journal, state) = Journal::open(&folder, kill_at(&project.environment)?)?;
    let state = state.context("the run's journal is empty")?;
    let (_, lines) = journal::read(&folder)?;
    let is_undone = was_undone(&state, &lines);
    let merge = if is_undone { None } else { Some(merge_of(project, &state)?) };
    // Before the merge is undone: a waiting run without a marker would not be found.
    project.store.reopen(&folder)?;
    let mut engine = Engine::reopen(project, folder.clone(), journal, state, None, observe);
    let outcome = match merge {
        Some(Merge { commit, before }) => engine.undo(&commit, &before, again(&lines)),
        None => engine.run(),
    };
    if engine.state().is_over() {
        project.store.close(&folder)?;
    }
    let outcome = outcome.map_err(|error| stopped_half_way(&folder, error))?;
    Ok(RunEnd { outcome, state: engine.state().clone(), folder })
}

/// The run with the newest merge. One with an interrupted undo comes first.
fn approved_last(project: &Project) -> Result<RunFolder> {
    let mut newest: Option<(i64, RunFolder)> = None;
    for folder in project.store.all()? {
        // `status` reports unreadable journals.
        let Ok((Some(state), lines)) = journal::read(&folder) else { continue };
        if was_undone(&state, &lines) {
            return Ok(folder);
        }
        let merged = |line: &&Line| matches!(&line.body, Body::Event(event) if matches!(**event, Event::Merged { .. }));
        let at = lines.iter().rev().find(merged).map(|line| line.at);
        if let (Situation::Ended(Ending::Merged { .. }), Some(at)) = (&state.situation, at)
            && newest.as_ref().is_none_or(|(known, _)| *known <= at)
        {
            newest = Some((at, folder));
        }
    }
    let nothing =
        || Failure::usage("this repository has no merged run").next("redgreen status").into();
    newest.map(|(_, folder)| folder).ok_or_else(nothing)
}

/// It was killed after the merge was undone, and before the run was left.
fn was_undone(state: &State, lines: &[Line]) -> bool {
    let last = lines.iter().rev().find_map(|line| match &line.body {
        Body::Event(event) => Some(event),
        Body::Intent { .. } => None,
    });
    state.left.is_none() && last.is_some_and(|event| matches!(**event, Event::Undone { .. }))
}

/// An intent without a result: the checkout may be half-way.
fn again(lines: &[Line]) -> IsRetry {
    match lines.last().map(|line| &line.body) {
        Some(Body::Intent { intent }) if intent == "undo" => IsRetry::Yes,
        Some(_) | None => IsRetry::No,
    }
}

/// The merge, if undoing it is safe.
fn merge_of(project: &Project, state: &State) -> Result<Merge> {
    let (git, id, target) = (&project.git, &state.run.id, &state.run.target);
    let head = &state.progress.head.commit;
    let commit = match &state.situation {
        Situation::Ended(Ending::Merged { commit }) if state.left.is_some() => commit.clone(),
        Situation::Ended(Ending::Merged { .. }) => {
            return Err(Failure::usage(format!("the merge of run {id} is not finished"))
                .next(format!("redgreen approve {id}"))
                .into());
        }
        _ => {
            return Err(Failure::usage(format!("run {id} is not merged"))
                .next("redgreen status")
                .into());
        }
    };
    let refuse = |why: String| {
        Failure::new(Code::No, format!("the merge of run {id} cannot be undone: {why}"))
    };
    for needed in [&commit, head] {
        if git.resolve(&format!("{needed}^{{commit}}"))?.is_none() {
            return Err(refuse(format!("commit {needed} is not in this repository"))
                .next("git fetch --all")
                .into());
        }
    }
    let parents = git.parents(&commit)?;
    let (before, revert) = match parents.as_slice() {
        [before, brought] if git.contains(brought, head)? && !git.contains(before, head)? => {
            (before.clone(), format!("git revert -m 1 {commit}"))
        }
        // The whole run in one commit.
        [before] if !git.contains(&commit, head)? => {
            (before.clone(), format!("git revert {commit}"))
        }
        _ => {
            return Err(refuse(format!("{target} already contained its commits before the merge"))
                .next(format!("git log --first-parent {}", shell_word(target)))
                .into());
        }
    };
    let tip = git.read_ref(&target.full_ref())?;
    match tip {
        None => Err(refuse(format!("the branch {target} does not exist any more"))
            .next("git branch --list")
            .into()),
        // Somebody already undid it, or an undo was killed after that.
        Some(tip) if tip == before => Ok(Merge { commit, before }),
        Some(tip) if tip != commit && git.contains(&tip, &commit)? => {
            Err(refuse(format!("{target} has newer commits")).next(revert).into())
        }
        Some(tip) if tip != commit => Err(refuse(format!("{target} no longer contains it"))
            .next(format!("git log {}", shell_word(target)))
            .into()),
        Some(_) => match git.published(&commit)?.as_slice() {
            [] => Ok(Merge { commit, before }),
            places => Err(refuse(format!("it is already pushed: {}", places.join(", ")))
                .next(format!("{revert} && git push"))
                .into()),
        },
    }
}

fn stopped_half_way(folder: &RunFolder, error: anyhow::Error) -> anyhow::Error {
    if error.is::<Failure>() {
        return error;
    }
    Failure::environment(format!("the undo of run {} stopped: {error:#}", folder.id))
        .evidence("nothing is lost; run it again to continue")
        .next(format!("redgreen undo {}", folder.id))
        .into()
}
