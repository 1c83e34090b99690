//! `redgreen say`: words for the agents of a run, whoever works on it and wherever.

use anyhow::Result;
use redgreen_core::names::RunId;
use redgreen_core::steer::{self, Message};
use serde::Serialize;

use super::{notes, pick, state_of};
use crate::engine::{Project, now};
use crate::failure::Failure;
use crate::journal::{self, mailbox};

/// What was said to which run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Told {
    pub version: u32,
    pub run: RunId,
    pub message: String,
    /// A process is at work on the run; otherwise the next one tells its agents.
    pub at_work: bool,
}

/// Leaves words for the agents of a run. The next turn is told, and all later ones.
pub fn say(project: &Project, run: Option<&str>, words: &str) -> Result<Told> {
    notes::check(project)?;
    let folder = pick(project, run)?;
    let state = state_of(&folder)?;
    if state.is_over() {
        return Err(Failure::usage(format!("run {} is over; nobody listens", folder.id))
            .next("redgreen history")
            .into());
    }
    let message = steer::words(words).map_err(|why| {
        Failure::usage("this cannot be said to a run").evidence(why.to_string()).next("redgreen say \"<words>\"")
    })?;
    mailbox::post(&folder, &Message::Say { text: message.clone() }, now())?;
    Ok(Told { version: 1, at_work: journal::is_busy(&folder), run: folder.id, message })
}
