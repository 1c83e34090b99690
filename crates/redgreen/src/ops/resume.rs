//! `redgreen resume`: continues a run from its journal, or in another clone from its last note.

pub(super) mod plain_notes;

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use redgreen_core::brief::{Brief, Document};
use redgreen_core::event::{Event, Mark, Run};
use redgreen_core::handoff::{Handoff, RunFacts};
use redgreen_core::names::{Label, Oid};
use redgreen_core::note::Note;
use redgreen_core::state::State;
use redgreen_core::text::{in_quotes, shell_word};

use super::run::{
    Limits, check_attempts, check_price, keep_agents, keep_examples, of_brief, went_wrong, withheld,
};
use super::{RunEnd, kill_at, notes, notify, pick, plan, report, state_of, team};
use crate::agent::choice::Choice;
use crate::engine::{Engine, Observer, Progress, Project};
use crate::failure::Failure;
use crate::git::{Git, RefEdit, Swap};
use crate::guard;
use crate::journal::{Journal, RunFolder};

#[derive(Clone, Debug, Default)]
pub struct Request {
    pub run: Option<String>,
    pub agents: Choice,
    /// A file of withheld examples that replaces those of the run.
    pub examples: Option<PathBuf>,
    /// Another behaviour to develop, even if the run is finished.
    pub more: Option<String>,
    /// The attempt that the user chose, where the evidence was equal.
    pub choose: Option<u32>,
    pub limits: Limits,
}

/// Whether there is anything to continue: a run here, one of another clone, or a plain note.
pub fn is_there(project: &Project) -> Result<bool> {
    notes::check(project)?;
    Ok(!project.store.open()?.is_empty()
        || find_elsewhere(project, None)?.is_some()
        || plain_notes::at_head(project).map_or(true, |found| found.is_some()))
}

pub fn resume(project: &Project, request: &Request, observe: Observer<'_>) -> Result<RunEnd> {
    notes::check(project)?;
    let local = pick(project, request.run.as_deref());
    match local {
        Ok(folder) => reopen(project, request, folder, observe),
        Err(error) => match find_elsewhere(project, request.run.as_deref())? {
            Some(found) => adopt(project, request, found, observe),
            None if request.run.is_some() => Err(error),
            None => match plain_notes::at_head(project)? {
                Some(found) => plain_notes::adopt(project, request, found, observe),
                None => Err(error),
            },
        },
    }
}

fn reopen(
    project: &Project,
    request: &Request,
    folder: RunFolder,
    observe: Observer<'_>,
) -> Result<RunEnd> {
    project.check_run(&folder.id, &format!("resume {}", folder.id))?;
    let kill_at = kill_at(&project.environment)?;
    project.clear_stale(Some(&folder));
    let state = state_of(&folder)?;
    if state.is_over() && state.left.is_some() {
        return Err(Failure::usage(format!("run {} is over", folder.id))
            .next("redgreen history")
            .into());
    }
    let (team, choice, remark) = team(project, &request.agents, Some(&folder))?;
    remark.iter().for_each(|remark| observe(Progress::Remark(remark)));
    let policy = request.limits.over(state.run.policy.clone())?;
    check_price(&policy, &team, observe)?;
    check_attempts(&policy, &team)?;
    if let Some(number) = request.choose {
        can_choose(&state, number)?;
    }
    let withheld = withheld(project, request.examples.as_deref(), &state.progress.head.commit)?;
    let (journal, state) = Journal::open(&folder, kill_at)?;
    let state = state.context("the run's journal is empty")?;
    if let Some(item) = &request.more {
        plan::add(project, &folder, &state, item)?;
    }
    if request.agents != Choice::default() {
        keep_agents(&folder, &team, &choice)?;
    }
    keep_examples(&folder, withheld.as_deref())?;
    let policy = request.limits.over(state.run.policy.clone())?;
    let policy = (policy != state.run.policy).then(|| Box::new(policy));
    let mut engine = Engine::reopen(project, folder.clone(), journal, state, Some(team), observe);
    engine.take_up(policy).map_err(|error| went_wrong(&folder, error))?;
    engine.choose(request.choose);
    let outcome = engine.run().map_err(|error| went_wrong(&folder, error))?;
    let stopped = RunEnd { outcome, state: engine.state().clone(), folder };
    drop(engine);
    report::keep_summary(project, &stopped, observe);
    notify::waits(project, &stopped, observe);
    Ok(stopped)
}

/// Whether the run waits for the user to choose this attempt.
fn can_choose(state: &State, number: u32) -> Result<()> {
    let id = state.run.id.tail();
    let Some(candidates) = state.tied() else {
        return Err(Failure::usage(format!("run {id} has no attempts to choose from"))
            .next(format!("redgreen why {id}"))
            .into());
    };
    if candidates.iter().any(|candidate| candidate.number == number) {
        return Ok(());
    }
    let numbers: Vec<String> =
        candidates.iter().map(|candidate| candidate.number.to_string()).collect();
    Err(Failure::usage(format!("run {id} has no attempt {number}"))
        .evidence(format!("its attempts: {}", numbers.join(", ")))
        .next(format!("redgreen why {id}"))
        .into())
}

/// A run of another clone: its branch, the tip of it, and the note there.
struct RemoteRun {
    tip: Oid,
    handoff: Handoff,
}

/// Searches the tips of redgreen's branches, local and fetched, for an unfinished handoff.
fn find_elsewhere(project: &Project, id: Option<&str>) -> Result<Option<RemoteRun>> {
    let tips = project.git.run_branch_tips()?;
    let commits: Vec<&str> = tips.iter().map(|(_, tip)| tip.as_str()).collect();
    let mut found: Vec<RemoteRun> = Vec::new();
    for note in project.git.notes().read_many(&commits)? {
        // A plain note names no run. It is continued from the checked-out commit.
        let Note::Whole(handoff) = notes::readable(&note.commit, &note.text)? else { continue };
        let wanted =
            id.is_none_or(|id| handoff.run.id.starts_with(id) || handoff.run.id.ends_with(id));
        if !wanted || project.store.find(&handoff.run.id).is_ok() {
            continue;
        }
        // A note must be at the tip of the branch it names. It cannot lead to another branch.
        if !tips.iter().any(|(branch, tip)| *branch == handoff.run.branch && *tip == note.commit) {
            return Err(elsewhere_named(&handoff, &note.commit).into());
        }
        match found.iter().find(|known| known.handoff.run.id == handoff.run.id) {
            Some(known) if known.tip == note.commit => {}
            Some(known) => return Err(two_tips(&handoff, &known.tip, &note.commit).into()),
            None => found.push(RemoteRun { tip: note.commit, handoff: *handoff }),
        }
    }
    match (found.pop(), found.is_empty()) {
        (Some(only), true) => Ok(Some(only)),
        (Some(last), false) => {
            let failure = Failure::usage("several runs of other clones can be continued; name one");
            let failure = found
                .iter()
                .fold(failure, |failure, known| failure.evidence(known.handoff.run.id.to_string()));
            Err(failure
                .evidence(last.handoff.run.id.to_string())
                .next("redgreen resume <run>")
                .into())
        }
        (None, _) => Ok(None),
    }
}

fn adopt(
    project: &Project,
    request: &Request,
    found: RemoteRun,
    observe: Observer<'_>,
) -> Result<RunEnd> {
    let RemoteRun { tip, handoff } = found;
    let git = &project.git;
    let kill_at = kill_at(&project.environment)?;
    let brief = brief_of(git, &handoff)?;
    agreed(project, &handoff, &brief)?;
    let policy = of_brief(project.file.policy(&project.environment)?, &brief, &project.file);
    let policy = request.limits.over(policy)?;
    let (team, choice, remark) = team(project, &request.agents, None)?;
    remark.iter().for_each(|remark| observe(Progress::Remark(remark)));
    check_price(&policy, &team, observe)?;
    let withheld = withheld(project, request.examples.as_deref(), &tip)?;
    git.identity()?;
    for (what, commit) in [("it started from", &handoff.run.base), ("it stopped at", &tip)] {
        if git.resolve(&format!("{commit}^{{commit}}"))?.is_none() {
            return Err(Failure::environment(format!(
                "the commit that run {} {what} is not in this repository",
                handoff.run.id
            ))
            .evidence(commit.to_string())
            .next("git fetch --all, then: redgreen resume")
            .into());
        }
    }
    if !git.branch_exists(&handoff.run.target)? {
        return Err(Failure::environment(format!(
            "the target branch of run {} is {}, which does not exist here",
            handoff.run.id, handoff.run.target
        ))
        .next(format!(
            "git branch {} {}",
            shell_word(&handoff.run.target),
            shell_word(&format!("origin/{}", handoff.run.target))
        ))
        .into());
    }
    check_branch(git, &handoff, &tip)?;
    let run = Run {
        id: handoff.run.id.clone(),
        brief,
        policy,
        base: Mark { commit: handoff.run.base.clone(), tree: git.tree_of(&handoff.run.base)? },
        target: handoff.run.target.clone(),
        branch: handoff.run.branch.clone(),
        agent: Label::of(&team.name()),
        linters: project.file.linters(&git.root, &project.environment),
    };
    let head = Mark { tree: git.tree_of(&tip)?, commit: tip };
    if git.edit_refs(&[RefEdit::Create { name: &run.branch.full_ref(), new: &head.commit }])?
        == Swap::Moved
    {
        // It already exists, as `check_branch` saw it, unless another process was faster.
        check_branch(git, &handoff, &head.commit)?;
    }
    let folder = project.store.adopt(&run.id)?;
    keep_agents(&folder, &team, &choice)?;
    keep_examples(&folder, withheld.as_deref())?;
    let (journal, _) = Journal::open(&folder, kill_at)?;
    let first = Event::Adopted { run: Box::new(run), head, handoff: Box::new(handoff) };
    let mut engine = Engine::begin(project, folder.clone(), journal, &first, Some(team), observe)?;
    let outcome = engine.run().map_err(|error| went_wrong(&folder, error))?;
    let stopped = RunEnd { outcome, state: engine.state().clone(), folder };
    drop(engine);
    report::keep_summary(project, &stopped, observe);
    notify::waits(project, &stopped, observe);
    Ok(stopped)
}

/// Commands in a note run only if the user trusts them: anyone who can push notes could name any
/// command.
fn agreed(project: &Project, handoff: &Handoff, brief: &Brief) -> Result<()> {
    if brief.convergence.is_empty() || project.environment.trust {
        return Ok(());
    }
    let id = &handoff.run.id;
    let failure = Failure::usage(format!(
        "the note of run {id} contains commands that you have not trusted yet"
    ));
    let failure = brief
        .convergence
        .iter()
        .fold(failure, |failure, line| failure.evidence(format!("{line:?}")));
    Err(failure.next(format!("redgreen resume {id} --trust")).into())
}

/// A run is continued only if its branch, if it exists here, is at the commit of the note and is
/// not checked out. Otherwise the run would move it under a checkout, or leave commits of this
/// clone without a ref.
fn check_branch(git: &Git, handoff: &Handoff, tip: &Oid) -> Result<()> {
    let RunFacts { id, branch, target, base, .. } = &handoff.run;
    if *target == branch.as_str() {
        return Err(Failure::environment(format!(
            "the target branch of run {id}, {target}, is its own work branch"
        ))
        .evidence(format!("its note is on commit {tip}"))
        .next(format!("git notes --ref=tdd-handoffs show {tip}"))
        .into());
    }
    if !git.contains(tip, base)? {
        return Err(Failure::environment(format!("run {id} cannot have started from {base}"))
            .evidence(format!("its last commit {tip} does not contain that one"))
            .next(format!("git log --oneline {tip}"))
            .into());
    }
    if let Some(folder) = git.checked_out(&branch.full_ref())? {
        return Err(Failure::environment(format!(
            "the branch {branch} of run {id} is checked out"
        ))
        .evidence(format!("in {}", folder.display()))
        .next(format!(
            "git -C {} switch {}, then: redgreen resume {id}",
            in_quotes(&folder.to_string_lossy()),
            shell_word(target)
        ))
        .into());
    }
    match git.read_ref(&branch.full_ref())? {
        Some(here) if here != *tip => Err(two_tips(handoff, &here, tip).into()),
        Some(_) | None => Ok(()),
    }
}

fn two_tips(handoff: &Handoff, one: &Oid, other: &Oid) -> Failure {
    let RunFacts { id, branch, .. } = &handoff.run;
    Failure::environment(format!("the branch {branch} of run {id} has diverged"))
        .evidence(format!("{one} and {other} have different commits or notes"))
        .evidence("redgreen does not move it, so no commit is lost")
        .next(format!(
            "git branch -m {} {} (or delete the one you do not want), then: redgreen resume {id}",
            shell_word(branch),
            shell_word(&format!("{branch}-kept"))
        ))
}

fn elsewhere_named(handoff: &Handoff, commit: &Oid) -> Failure {
    let RunFacts { id, branch, .. } = &handoff.run;
    Failure::environment(format!(
        "the note of run {id} names the branch {branch}, but is not at its tip"
    ))
    .evidence(format!("the note is on commit {commit}"))
    .next(format!("git notes --ref=tdd-handoffs show {commit}"))
}

/// The brief of the note. The note has names and hashes of the files that the run was started with.
/// They are searched in the start commit and in this checkout. Other content would be another
/// brief.
fn brief_of(git: &Git, handoff: &Handoff) -> Result<Brief> {
    let Some(brief) = &handoff.run.brief else { return Ok(Brief::of(handoff.run.request.clone())) };
    let mut brief = Brief::clone(brief);
    let mut lost = Vec::new();
    for document in brief.design.iter_mut().chain(&mut brief.context) {
        let base = git.read_file(&handoff.run.base, &document.path)?;
        let base = base.and_then(|bytes| guard::checked(&document.path, bytes).ok());
        let here = || guard::read(&git.root, Path::new(&document.path)).ok();
        // Older notes have no hashes. The content in the commit is the best guess.
        let known =
            |found: &Document| document.digest.is_empty() || found.digest == document.digest;
        match base.filter(known).or_else(|| here().filter(known)) {
            Some(found) => document.text = found.text,
            None => lost.push(document.path.clone()),
        }
    }
    if lost.is_empty() {
        return Ok(brief);
    }
    let failure = Failure::usage(format!(
        "run {} was started with files that are missing or different here",
        handoff.run.id
    ));
    let failure = lost.into_iter().fold(failure, |failure, path| {
        failure.evidence(format!(
            "{path}: the start commit of the run and this checkout have other content"
        ))
    });
    Err(failure
        .next("copy them from the machine that started the run, then run: redgreen resume")
        .into())
}
