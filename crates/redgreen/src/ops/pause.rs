//! `redgreen pause`: a run of another process stops after the current phase and waits for the user.

use anyhow::Result;
use redgreen_core::names::RunId;
use redgreen_core::phase::Phase;
use redgreen_core::steer::Message;
use serde::Serialize;

use super::{notes, pick, state_of};
use crate::engine::{Project, now};
use crate::failure::Failure;
use crate::journal::{self, mailbox};

/// The run that will pause, and after which phase.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct PauseRequest {
    pub version: u32,
    pub run: RunId,
    pub phase: Phase,
}

pub fn pause(project: &Project, run: Option<&str>) -> Result<PauseRequest> {
    notes::check(project)?;
    let folder = pick(project, run)?;
    let state = state_of(&folder)?;
    if !journal::is_busy(&folder) {
        return Err(Failure::usage(format!("run {} is not active; nothing to pause", folder.id))
            .next(format!("redgreen status {}", folder.id))
            .into());
    }
    mailbox::post(&folder, &Message::Pause, now())?;
    Ok(PauseRequest { version: 1, run: folder.id, phase: state.phase() })
}
