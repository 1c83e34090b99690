//! `redgreen approve` and `redgreen abort`: the human's decision.

use anyhow::Result;
use redgreen_core::event::{Commits, Decision, Event, ListState, RunMode};
use redgreen_core::names::Oid;
use redgreen_core::state::{Ending, Situation, State};
use redgreen_core::test_list;

use super::run::went_wrong;
use super::{RunEnd, kill_at, notes, pick};
use crate::engine::{Engine, Observer, Project, not_ready};
use crate::failure::{Code, Failure};
use crate::journal::Journal;

/// The tree that `approve` would merge: that of the run, without its list unless the settings keep
/// it.
pub fn to_be_merged(project: &Project, state: &State) -> Result<Oid> {
    let (base, head) = (&state.run.base.tree, &state.progress.head.tree);
    if project.file.plan.keep {
        return Ok(head.clone());
    }
    project.git.with_file_of(head, base, test_list::FILE)
}

/// Merges a run that waits for approval.
pub fn approve(
    project: &Project,
    run: Option<&str>,
    commits: Commits,
    observe: Observer<'_>,
) -> Result<RunEnd> {
    notes::check(project)?;
    let list = if project.file.plan.keep { ListState::Kept } else { ListState::LeftOut };
    decide(project, run, Decision::Approve, RunMode { commits, list }, observe)
}

/// Ends a run without a merge. A salvage ref keeps its commits.
pub fn abort(project: &Project, run: Option<&str>, observe: Observer<'_>) -> Result<RunEnd> {
    notes::check(project)?;
    decide(project, run, Decision::Abort, RunMode::default(), observe)
}

fn decide(
    project: &Project,
    run: Option<&str>,
    decision: Decision,
    manner: RunMode,
    observe: Observer<'_>,
) -> Result<RunEnd> {
    let folder = pick(project, run)?;
    let verb = match decision {
        Decision::Approve => "approve",
        Decision::Abort => "abort",
    };
    project.check_run(&folder.id, &format!("{verb} {}", folder.id))?;
    let kill_at = kill_at(&project.environment)?;
    project.clear_stale(Some(&folder));
    let (journal, state) = Journal::open(&folder, kill_at)?;
    let Some(state) = state else {
        project.store.forget(&folder)?;
        let what = format!("run {} never started; removed its leftovers", folder.id);
        return Err(Failure::new(Code::No, what).into());
    };
    let under_way = match (&state.situation, decision) {
        (Situation::Merging { .. }, Decision::Approve)
        | (Situation::Discarding, Decision::Abort) => true,
        (Situation::Reviewing(review), Decision::Approve) => {
            matches!(review.before, Situation::Merging { .. })
        }
        // It was killed between the last effect and the end.
        (Situation::Ended(Ending::Merged { .. }), Decision::Approve)
        | (Situation::Ended(Ending::Aborted), Decision::Abort) => state.left.is_none(),
        _ => false,
    };
    if let Some(failure) = refusal(&state, decision).filter(|_| !under_way) {
        return Err(failure.into());
    }
    let mut engine = Engine::reopen(project, folder.clone(), journal, state, None, observe);
    let event = if under_way {
        Event::Resumed { policy: None }
    } else {
        Event::Decided { decision, manner }
    };
    engine.record(&event).map_err(|error| went_wrong(&folder, error))?;
    let outcome = engine.run().map_err(|error| went_wrong(&folder, error))?;
    Ok(RunEnd { outcome, state: engine.state().clone(), folder })
}

fn refusal(state: &State, decision: Decision) -> Option<Failure> {
    match decision {
        Decision::Approve => not_ready(state),
        Decision::Abort => match state.situation {
            Situation::Ended(_) => Some(
                Failure::usage(format!("run {} is over", state.run.id)).next("redgreen history"),
            ),
            Situation::Merging { .. } => Some(
                Failure::usage(format!("run {} is being merged", state.run.id))
                    .next(format!("redgreen approve {}", state.run.id)),
            ),
            Situation::Measuring { .. }
            | Situation::Unmeasurable { .. }
            | Situation::Working { .. }
            | Situation::Reverting { .. }
            | Situation::Halted { .. }
            | Situation::Paused { .. }
            | Situation::Waiting { .. }
            | Situation::Reviewing(_)
            | Situation::Discarding => None,
        },
    }
}
