//! `redgreen resume`: goes on where a run stopped, from its journal; or, on another clone, from its last note.

pub(super) mod plain;

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use redgreen_core::brief::{Brief, Document};
use redgreen_core::event::{Event, Mark, Run};
use redgreen_core::handoff::Handoff;
use redgreen_core::note::Note;

use super::run::{Limits, keep_agents, keep_examples, of_brief, went_wrong, withheld};
use super::{Stopped, kill_at, notes, pick, report, state_of, team};
use crate::agent::choice::Choice;
use crate::engine::{Engine, Observer, Project, Sight};
use crate::failure::Failure;
use crate::git::{Git, RefEdit, Swap};
use crate::guard;
use crate::journal::{Journal, RunFolder};

#[derive(Clone, Debug, Default)]
pub struct Request {
    pub run: Option<String>,
    pub agents: Choice,
    /// A file of withheld examples, in place of those the run has.
    pub examples: Option<PathBuf>,
    pub limits: Limits,
}

pub fn resume(project: &Project, request: &Request, observe: Observer<'_>) -> Result<Stopped> {
    notes::check(project)?;
    let local = pick(project, request.run.as_deref());
    match local {
        Ok(folder) => reopen(project, request, folder, observe),
        Err(error) => match find_elsewhere(project, request.run.as_deref())? {
            Some(found) => adopt(project, request, found, observe),
            None if request.run.is_some() => Err(error),
            None => match plain::at_head(project)? {
                Some(found) => plain::adopt(project, request, found, observe),
                None => Err(error),
            },
        },
    }
}

fn reopen(project: &Project, request: &Request, folder: RunFolder, observe: Observer<'_>) -> Result<Stopped> {
    let kill_at = kill_at(project)?;
    project.clear_stale(Some(&folder));
    let state = state_of(&folder)?;
    if state.is_over() && state.left.is_some() {
        return Err(Failure::usage(format!("run {} is over", folder.id)).next("redgreen history").into());
    }
    let (team, choice, remark) = team(project, &request.agents, Some(&folder))?;
    remark.iter().for_each(|remark| observe(Sight::Remark(remark)));
    let withheld = withheld(project, request.examples.as_deref(), &state.progress.head.commit)?;
    let (journal, state) = Journal::open(&folder, kill_at)?;
    let state = state.context("the run's journal is empty")?;
    if request.agents != Choice::default() {
        keep_agents(&folder, &team, &choice)?;
    }
    keep_examples(&folder, withheld.as_deref())?;
    let policy = request.limits.over(state.run.policy.clone())?;
    let policy = (policy != state.run.policy).then(|| Box::new(policy));
    let mut engine = Engine::reopen(project, folder.clone(), journal, state, Some(team), observe);
    engine.record(&Event::Resumed { policy }).map_err(|error| went_wrong(&folder, error))?;
    let outcome = engine.run().map_err(|error| went_wrong(&folder, error))?;
    let stopped = Stopped { outcome, state: engine.state().clone(), folder };
    // It can be rendered again: `redgreen report`.
    report::keep_summary(project, &stopped).ok();
    Ok(stopped)
}

/// A run of another clone: its branch, the tip of it, and the note there.
struct Elsewhere {
    tip: String,
    handoff: Handoff,
}

/// Looks at the tips of redgreen's branches, local and fetched, for a handoff that is not the last.
fn find_elsewhere(project: &Project, id: Option<&str>) -> Result<Option<Elsewhere>> {
    let tips = project.git.run_branch_tips()?;
    let commits: Vec<&str> = tips.iter().map(String::as_str).collect();
    let mut found = Vec::new();
    for note in project.git.notes().read_many(&commits)? {
        // A plain note names no run; it is gone on from where it is checked out.
        let Note::Whole(handoff) = notes::readable(&note.commit, &note.text)? else { continue };
        let wanted = id.is_none_or(|id| handoff.run.id.starts_with(id) || handoff.run.id.ends_with(id));
        let here = project.store.find(&handoff.run.id).is_ok();
        if wanted && !here && !found.iter().any(|known: &Elsewhere| known.handoff.run.id == handoff.run.id) {
            found.push(Elsewhere { tip: note.commit, handoff: *handoff });
        }
    }
    match (found.pop(), found.is_empty()) {
        (Some(only), true) => Ok(Some(only)),
        (Some(last), false) => {
            let failure = Failure::usage("several runs of other clones can be taken over; name one");
            let failure = found.iter().fold(failure, |failure, known| failure.evidence(known.handoff.run.id.clone()));
            Err(failure.evidence(last.handoff.run.id).next("redgreen resume <run>").into())
        }
        (None, _) => Ok(None),
    }
}

fn adopt(project: &Project, request: &Request, found: Elsewhere, observe: Observer<'_>) -> Result<Stopped> {
    let Elsewhere { tip, handoff } = found;
    let git = &project.git;
    let kill_at = kill_at(project)?;
    let brief = brief_of(git, &handoff)?;
    let policy = of_brief(project.file.policy(&project.environment)?, &brief, &project.file);
    let policy = request.limits.over(policy)?;
    let (team, choice, remark) = team(project, &request.agents, None)?;
    remark.iter().for_each(|remark| observe(Sight::Remark(remark)));
    let withheld = withheld(project, request.examples.as_deref(), &tip)?;
    git.identity()?;
    for (what, commit) in [("it started from", &handoff.run.base), ("it stopped at", &tip)] {
        if git.resolve(&format!("{commit}^{{commit}}"))?.is_none() {
            return Err(Failure::environment(format!("the commit that run {} {what} is not here", handoff.run.id))
                .evidence(commit.clone())
                .next("git fetch --all, then: redgreen resume")
                .into());
        }
    }
    if !git.branch_exists(&handoff.run.target)? {
        return Err(Failure::environment(format!(
            "run {} is meant for {}, which is no branch here",
            handoff.run.id, handoff.run.target
        ))
        .next(format!("git branch {} origin/{}", handoff.run.target, handoff.run.target))
        .into());
    }
    let run = Run {
        id: handoff.run.id.clone(),
        brief,
        policy,
        base: Mark { commit: handoff.run.base.clone(), tree: git.tree_of(&handoff.run.base)? },
        target: handoff.run.target.clone(),
        branch: handoff.run.branch.clone(),
        agent: team.name(),
        linters: project.file.linters(&git.root, &project.environment),
    };
    let head = Mark { tree: git.tree_of(&tip)?, commit: tip };
    let branch = format!("refs/heads/{}", run.branch);
    match git.edit_refs(&[RefEdit::Create { name: &branch, new: &head.commit }])? {
        Swap::Done | Swap::Moved => {}
    }
    let folder = project.store.adopt(&run.id)?;
    keep_agents(&folder, &team, &choice)?;
    keep_examples(&folder, withheld.as_deref())?;
    let (journal, _) = Journal::open(&folder, kill_at)?;
    let first = Event::Adopted { run: Box::new(run), head, handoff: Box::new(handoff) };
    let mut engine = Engine::begin(project, folder.clone(), journal, &first, Some(team), observe)?;
    let outcome = engine.run().map_err(|error| went_wrong(&folder, error))?;
    let stopped = Stopped { outcome, state: engine.state().clone(), folder };
    // It can be rendered again: `redgreen report`.
    report::keep_summary(project, &stopped).ok();
    Ok(stopped)
}

/// What the note says of the wish. It names the files that the run was begun with, and knows their content when it sees
/// it: in the commit the run started from, or in this checkout. Another content would be another wish.
fn brief_of(git: &Git, handoff: &Handoff) -> Result<Brief> {
    let Some(brief) = &handoff.run.brief else { return Ok(Brief::of(handoff.run.request.clone())) };
    let mut brief = Brief::clone(brief);
    let mut lost = Vec::new();
    for document in brief.design.iter_mut().chain(&mut brief.context) {
        let base = git.read_file(&handoff.run.base, &document.path)?;
        let base = base.and_then(|bytes| guard::checked(&document.path, bytes).ok());
        let here = || guard::read(&git.root, Path::new(&document.path)).ok();
        // Notes of earlier versions do not know the content; the commit's is the best there is.
        let known = |found: &Document| document.digest.is_empty() || found.digest == document.digest;
        match base.filter(known).or_else(|| here().filter(known)) {
            Some(found) => document.text = found.text,
            None => lost.push(document.path.clone()),
        }
    }
    if lost.is_empty() {
        return Ok(brief);
    }
    let failure =
        Failure::usage(format!("run {} was begun with files that are not here as they were then", handoff.run.id));
    let failure = lost.into_iter().fold(failure, |failure, path| {
        failure.evidence(format!("{path}: neither the commit the run started from nor this checkout has that content"))
    });
    Err(failure.next("copy them from where the run was begun, then: redgreen resume").into())
}
