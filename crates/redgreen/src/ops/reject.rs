//! `redgreen reject`: the test of the cycle under way is not what the user wants; it is written anew, with their words.

use anyhow::{Context, Result};
use redgreen_core::steer;

use super::run::went_wrong;
use super::{Stopped, kill_at, notes, pick};
use crate::engine::{Engine, Observer, Project};
use crate::failure::Failure;
use crate::journal::Journal;

pub fn reject(project: &Project, run: Option<&str>, why: &str, observe: Observer<'_>) -> Result<Stopped> {
    notes::check(project)?;
    let folder = pick(project, run)?;
    project.check_run(&folder.id, &format!("reject {}", folder.id))?;
    let id = folder.id.tail();
    let message = steer::words(why).map_err(|fault| {
        Failure::usage("a rejected test needs a reason that the agent can use")
            .evidence(fault.to_string())
            .next(format!("redgreen reject {id} \"<why>\""))
    })?;
    let (journal, state) = Journal::open(&folder, kill_at(project)?)?;
    let state = state.context("the run's journal is empty")?;
    let Some(to) = state.before_test().map(|waypoint| waypoint.progress.head.commit.clone()) else {
        return Err(Failure::usage(format!("run {} has no test that could be rejected now", folder.id))
            .evidence("a test can be rejected from the moment it is accepted until its cycle is done")
            .next(format!("redgreen why {id}, or go back to any commit: redgreen rollback <commit>"))
            .into());
    };
    let mut engine = Engine::reopen(project, folder.clone(), journal, state, None, observe);
    let outcome = engine.reject(&to, &message).map_err(|error| went_wrong(&folder, error))?;
    Ok(Stopped { outcome, state: engine.state().clone(), folder })
}
