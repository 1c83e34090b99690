//! `redgreen reject`: the user does not want the test of the current cycle. RED writes a new one,
//! with their reason.

use anyhow::{Context, Result};
use redgreen_core::steer;

use super::run::went_wrong;
use super::{RunEnd, kill_at, notes, pick};
use crate::engine::{Engine, Observer, Project};
use crate::failure::Failure;
use crate::journal::Journal;

pub fn reject(
    project: &Project,
    run: Option<&str>,
    why: &str,
    observe: Observer<'_>,
) -> Result<RunEnd> {
    notes::check(project)?;
    let folder = pick(project, run)?;
    project.check_run(&folder.id, &format!("reject {}", folder.id))?;
    let id = folder.id.tail();
    let message = steer::words(why).map_err(|problem| {
        Failure::usage("rejecting a test requires a reason for the agent")
            .evidence(problem.to_string())
            .next(format!("redgreen reject {id} \"<why>\""))
    })?;
    let (journal, state) = Journal::open(&folder, kill_at(&project.environment)?)?;
    let state = state.context("the run's journal is empty")?;
    let Some(to) = state.before_test().map(|waypoint| waypoint.progress.head.commit.clone()) else {
        return Err(Failure::usage(format!("run {} has no test to reject now", folder.id))
            .evidence("a test can be rejected after it is accepted and before its cycle is done")
            .next(format!(
                "redgreen why {id}, or go back to any commit: redgreen rollback <commit>"
            ))
            .into());
    };
    let mut engine = Engine::reopen(project, folder.clone(), journal, state, None, observe);
    let outcome = engine.reject(&to, &message).map_err(|error| went_wrong(&folder, error))?;
    Ok(RunEnd { outcome, state: engine.state().clone(), folder })
}
