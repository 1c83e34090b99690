//! Who edits. Whichever agent it is, it gets one assignment, works in the worktree, and gives back how its turn ended,
//! what it cost and what was said; nothing here judges any of it.

pub mod script;

use std::path::Path;
use std::time::Duration;

use anyhow::Result;
use redgreen_core::agent::{Assignment, Cost, Turn};

use crate::process::Stop;

/// Every agent there is.
#[derive(Clone, Debug)]
pub enum Agent {
    Scripted(script::Script),
}

/// A turn that is over.
#[derive(Clone, Debug, PartialEq)]
pub struct Taken {
    pub turn: Turn,
    pub cost: Cost,
    /// What the agent did and said, for a person to read.
    pub transcript: String,
}

impl Agent {
    /// How views call it.
    pub fn name(&self) -> String {
        match self {
            Agent::Scripted(script) => script.agent(),
        }
    }

    /// Has the agent work until it stops or `time_limit` is over. `env` is set for every program it starts.
    ///
    /// An agent that fails is an answer, [`Turn::Failed`]; an error means that we could not find out, or that the user
    /// wants to stop ([`crate::process::Interrupted`]).
    pub fn take_turn(
        &self,
        assignment: &Assignment,
        worktree: &Path,
        env: &[(String, String)],
        time_limit: Duration,
        stop: &Stop,
    ) -> Result<Taken> {
        match self {
            Agent::Scripted(script) => script.take_turn(assignment, worktree, env, time_limit, stop),
        }
    }
}
