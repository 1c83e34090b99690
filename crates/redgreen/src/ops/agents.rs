//! `redgreen agents`: which coding agents are here, and what each of them still needs.

use anyhow::Result;
use serde::Serialize;

use crate::agent::choice::Choice;
use crate::agent::external::presence::{self, Presence};
use crate::config::{self, Environment, File};
use crate::process::Stop;

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Agents {
    pub version: u32,
    /// The one that is taken when nobody names any.
    pub first: Option<String>,
    pub agents: Vec<Presence>,
}

/// Looks for all of them, those of the project first, and has a word with each that is there.
pub fn agents(file: &File, environment: &Environment, stop: &Stop) -> Result<Agents> {
    let rows = file.agent.custom.iter().chain(config::agents::table()?);
    let mut agents = Vec::new();
    for (name, row) in rows {
        agents.push(presence::look(name, row, environment, stop)?);
    }
    Ok(Agents { version: 1, first: Choice::first(file, environment)?.map(str::to_owned), agents })
}
