//! Continues from a plain note. It contains the progress, but nothing about the run. Missing data
//! comes from the repository, and redgreen says so.

use anyhow::Result;
use redgreen_core::brief::Brief;
use redgreen_core::event::{Event, Mark, Run};
use redgreen_core::handoff::{Handoff, RunFacts};
use redgreen_core::names::{Label, Oid, RUN_BRANCH_PREFIX};
use redgreen_core::note::{Note, Plain};
use redgreen_core::phase::Phase;

use super::Request;
use crate::engine::{Engine, Observer, Progress, Project, now};
use crate::failure::Failure;
use crate::git::Head;
use crate::journal::{Journal, RunFolder};
use crate::ops::run::{
    check_price, keep_agents, keep_examples, run_branch, target_branch, went_wrong, withheld,
};
use crate::ops::{BEGIN, RunEnd, kill_at, notes, notify, report, team};

/// The plain note of the checked-out commit, or an error if it cannot be continued.
pub(super) fn at_head(project: &Project) -> Result<Option<(Oid, Plain)>> {
    let Head { commit: head, .. } = project.git.head()?;
    let Some(found) = project.git.notes().recent(1, &["HEAD"])?.pop() else { return Ok(None) };
    let Note::Plain(plain) = notes::readable(&found.commit, &found.text)? else { return Ok(None) };
    if found.commit != head {
        // Commits on top belong to no phase: continuing below them would lose them, continuing
        // above them is a guess.
        let what = "the newest handoff note is not on the checked-out commit";
        return Err(Failure::usage(what)
            .evidence(format!("{} has it: {} {}", found.commit, found.subject, plain.phase))
            .next(format!("git switch -c <name> {}, then: redgreen resume", short(&found.commit)))
            .into());
    }
    if plain.next() == Phase::Complete {
        return Err(Failure::usage(format!(
            "the handoff note of {} says that the run is complete",
            short(&head)
        ))
        .next(BEGIN)
        .into());
    }
    if plain.wishes().is_empty() {
        return Err(Failure::usage(format!(
            "the handoff note of {} does not say what to build",
            short(&head)
        ))
        .evidence("it has no `run` with a request, and no current or pending test")
        .next(BEGIN)
        .into());
    }
    Ok(Some((head, *plain)))
}

/// A new run that continues from the note, for the checked-out branch.
pub(super) fn adopt(
    project: &Project,
    request: &Request,
    (commit, plain): (Oid, Plain),
    observe: Observer<'_>,
) -> Result<RunEnd> {
    let git = &project.git;
    let Head { branch: Some(target), .. } = git.head()? else {
        return Err(Failure::environment(
            "HEAD is detached, and the handoff note names no target branch",
        )
        .next("git switch -c <name>, then: redgreen resume")
        .into());
    };
    let kill_at = kill_at(&project.environment)?;
    let brief = Brief::of(plain.wishes().join("; "));
    let policy = request.limits.over(project.file.policy(&project.environment)?)?;
    let (team, choice, remark) = team(project, &request.agents, None)?;
    remark.iter().for_each(|remark| observe(Progress::Remark(remark)));
    check_price(&policy, &team, observe)?;
    let withheld = withheld(project, request.examples.as_deref(), &commit)?;
    git.identity()?;
    observe(Progress::Remark(&format!(
        "the handoff note of {} does not describe its run; using its open tests as the request \
         ({}), the checked-out branch {target}, and a new run id",
        short(&commit),
        brief.request
    )));
    let folder = project.store.create(now())?;
    let run = Run {
        id: folder.id.clone(),
        policy,
        base: Mark { tree: git.tree_of(&commit)?, commit: commit.clone() },
        target: target_branch(&target)?,
        branch: run_branch(&format!("{RUN_BRANCH_PREFIX}{}-{}", brief.slug(), folder.id.tail()))?,
        agent: Label::of(&team.name()),
        linters: project.file.linters(&git.root, &project.environment),
        brief,
    };
    let first = Event::Adopted {
        head: run.base.clone(),
        handoff: Box::new(whole(&plain, &run)),
        run: Box::new(run),
    };
    keep_agents(&folder, &team, &choice)?;
    keep_examples(&folder, withheld.as_deref())?;
    let (journal, _) = Journal::open(&folder, kill_at)?;
    let mut engine = Engine::begin(project, folder.clone(), journal, &first, Some(team), observe)?;
    let outcome = engine.run().map_err(|error| went_wrong(&folder, error))?;
    let stopped = RunEnd { outcome, state: engine.state().clone(), folder };
    drop(engine);
    report::keep_summary(project, &stopped, observe);
    notify::waits(project, &stopped, observe);
    Ok(stopped)
}

/// The open run that was at a commit, from its journal. A plain note does not name it.
pub(in crate::ops) fn run_at(project: &Project, commit: &str) -> Result<Option<RunFolder>> {
    for folder in project.store.open()? {
        let Ok((Some(state), _)) = crate::journal::read(&folder) else { continue };
        if state.trail.iter().any(|waypoint| waypoint.progress.head.commit == commit) {
            return Ok(Some(folder));
        }
    }
    Ok(None)
}

/// The note in redgreen's own format.
fn whole(plain: &Plain, run: &Run) -> Handoff {
    let facts = RunFacts {
        id: run.id.clone(),
        request: run.brief.request.clone(),
        base: run.base.commit.clone(),
        target: run.target.clone(),
        branch: run.branch.clone(),
        agent: run.agent.clone(),
        brief: None,
    };
    Handoff {
        next_phase: plain.next(),
        cycle_number: plain.cycle_number,
        current_test: plain.current(),
        completed_tests: plain.completed_tests.clone(),
        pending_tests: plain.pending_tests.clone(),
        test_result: plain.test_result,
        error: plain.error.clone(),
        error_details: plain.error_details.clone(),
        retry_count: plain.retry_count,
        ..Handoff::begun(facts, plain.phase)
    }
}

fn short(commit: &str) -> &str {
    commit.get(..10).unwrap_or(commit)
}
