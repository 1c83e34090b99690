//! `redgreen say`: a message for the agents of a run, in any process and on any machine.

use anyhow::Result;
use redgreen_core::names::RunId;
use redgreen_core::steer::{self, Message};
use serde::Serialize;

use super::{notes, pick, state_of};
use crate::engine::{Project, now};
use crate::failure::Failure;
use crate::journal::{self, mailbox};

/// The message, and its run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct SentMessage {
    pub version: u32,
    pub run: RunId,
    pub message: String,
    /// A process works on the run. Otherwise the next one tells its agents.
    pub at_work: bool,
}

/// Leaves a message for the agents of a run. The agent at work gets it if it can be told during its
/// turn, and all later turns do.
pub fn say(project: &Project, run: Option<&str>, words: &str) -> Result<SentMessage> {
    notes::check(project)?;
    let folder = pick(project, run)?;
    let state = state_of(&folder)?;
    if state.is_over() {
        return Err(Failure::usage(format!("run {} is over and takes no messages", folder.id))
            .next("redgreen history")
            .into());
    }
    let message = steer::words(words).map_err(|why| {
        Failure::usage("cannot send this message")
            .evidence(why.to_string())
            .next("redgreen say \"<words>\"")
    })?;
    mailbox::post(&folder, &Message::Say { text: message.clone() }, now())?;
    Ok(SentMessage { version: 1, at_work: journal::is_busy(&folder), run: folder.id, message })
}
