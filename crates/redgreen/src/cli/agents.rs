//! `redgreen agents`.

use std::fmt::Write;

use anyhow::Result;

use super::Desk;
use crate::agent::external::presence::Presence;
use crate::config::File;
use crate::failure::Code;
use crate::ops::agents::{self, Agents};

/// Show which coding agents are installed, their versions, and whether they are logged in
#[derive(clap::Args, Debug)]
#[command(after_help = "Each one that is installed is asked who it is; no request goes to a model.\n\n\
                        Examples:\n  redgreen agents\n  redgreen agents --json\n  redgreen run --agent claude \"…\"")]
pub(super) struct Args {}

impl Args {
    pub(super) fn perform(self, desk: &Desk) -> Result<Code> {
        // Outside a project there are still the agents of the machine.
        let file = desk.project().map(|project| project.file).unwrap_or_else(|_| File::default());
        let agents = agents::agents(&file, &desk.environment, &desk.stop)?;
        desk.printer.answer(&table(&agents), &agents);
        Ok(Code::Done)
    }
}

fn table(agents: &Agents) -> String {
    let (here, away): (Vec<&Presence>, Vec<&Presence>) = agents.agents.iter().partition(|agent| agent.is_here());
    let mut text = String::new();
    // Writing to a String cannot fail.
    for agent in &here {
        let version = agent.version.as_deref().or(agent.trouble.as_deref()).unwrap_or("installed");
        let login = match (&agent.login, &agent.next) {
            (Some(login), _) => format!("logged in: {login}"),
            (None, Some(next)) => format!("not logged in; {next}"),
            (None, None) => String::new(),
        };
        writeln!(text, "{:<13} {:<4} {version}", agent.name, agent.speaks).ok();
        if !login.is_empty() {
            writeln!(text, "{:<18} {login}", "").ok();
        }
    }
    if here.is_empty() {
        text.push_str("no coding agent is installed\n");
    }
    for agent in &away {
        writeln!(text, "{:<13} not installed; {}", agent.name, agent.next.as_deref().unwrap_or("see redgreen.toml"))
            .ok();
    }
    match &agents.first {
        Some(name) => writeln!(text, "\nwith no --agent, {name} is taken").ok(),
        None => writeln!(text, "\nnone is ready; without one: redgreen demo").ok(),
    };
    text
}
