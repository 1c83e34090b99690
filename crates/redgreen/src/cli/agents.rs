//! `redgreen agents`.

use std::fmt::Write;

use anyhow::Result;

use super::CommandContext;
use crate::agent::external::presence::Presence;
use crate::config::{File, NetworkAccess};
use crate::failure::Code;
use crate::ops::agents::{self, Agents, BuiltIn, Reach};
use crate::view::{self, name};

/// List the agents you can use: installed coding agents, and models that the built-in agent has a
/// key for
#[derive(clap::Args, Debug)]
#[command(
    after_help = "Starts each installed agent to read its version and login; sends no request to a model.\n\n\
                        Examples:\n  redgreen agents\n  redgreen agents --json\n  redgreen run --agent claude \"…\""
)]
pub(super) struct Args {}

impl Args {
    pub(super) fn perform(self, desk: &CommandContext) -> Result<Code> {
        // Outside a project, the agents of the machine are still available.
        let file = desk.project().map(|project| project.file).unwrap_or_else(|_| File::default());
        let agents = agents::agents(&file, &desk.environment, &desk.stop)?;
        desk.printer.answer(&table(&agents), &agents);
        Ok(Code::Done)
    }
}

/// Names keys, but never shows them.
fn built_in(agent: &BuiltIn) -> String {
    let model = agent.model.iter().map(|model| format!("the model {model}"));
    let keys = agent
        .providers
        .iter()
        .filter_map(|provider| Some(format!("{}: {} is set", provider.name, provider.key?)));
    let servers = agent.servers.iter();
    let servers = servers.map(|server| {
        format!("{} at {}: {}", server.provider, server.base, server.models.join(", "))
    });
    let mut lines: Vec<String> = model.chain(keys).chain(servers).collect();
    if lines.is_empty() {
        let keys = agent.providers.iter().filter_map(|provider| provider.keys.first().copied());
        lines.push(format!(
            "no API key is set ({}), and no local model server responds",
            keys.collect::<Vec<_>>().join(", ")
        ));
    }
    let mut text = String::new();
    for (number, line) in lines.iter().enumerate() {
        // Writing to a String cannot fail.
        writeln!(text, "{:<18} {}", if number == 0 { "built-in" } else { "" }, name(line)).ok();
    }
    text
}

/// Where their programs may connect to.
fn reach(network: &Reach) -> String {
    let held = if network.is_held {
        ""
    } else {
        "; this machine's sandbox cannot limit it, so it is open"
    };
    let more = match network.allow_hosts.as_slice() {
        [] => String::new(),
        hosts => format!(", and {}", hosts.join(", ")),
    };
    match network.access {
        NetworkAccess::Open => "network: open (agent.network)".to_owned(),
        NetworkAccess::Model => format!("network: the agent's model hosts{more}{held}"),
        NetworkAccess::Limited => {
            let count = network.registries.len();
            format!("network: the agent's model hosts, {count} package registries{more}{held}")
        }
    }
}

fn table(agents: &Agents) -> String {
    let (here, away): (Vec<&Presence>, Vec<&Presence>) =
        agents.agents.iter().partition(|agent| agent.is_here());
    let mut text = built_in(&agents.built_in);
    // Writing to a String cannot fail.
    for agent in &here {
        let version = agent.version.as_deref().or(agent.trouble.as_deref()).unwrap_or("installed");
        let login = match (&agent.login, &agent.next) {
            (Some(login), _) => format!("logged in: {login}"),
            (None, Some(next)) => format!("not logged in; {next}"),
            (None, None) => String::new(),
        };
        writeln!(text, "{:<13} {:<4} {}", name(&agent.name), agent.speaks, name(version)).ok();
        if !login.is_empty() {
            writeln!(text, "{:<18} {}", "", name(&login)).ok();
        }
        if !agent.hosts.is_empty() {
            writeln!(text, "{:<18} model hosts: {}", "", name(&agent.hosts.join(", "))).ok();
        }
        if !agent.own.is_empty() {
            writeln!(text, "{:<18} it can read in your home: {}", "", name(&agent.own.join(",")))
                .ok();
        }
    }
    if here.is_empty() {
        text.push_str("no coding agent is installed\n");
    }
    for agent in &away {
        writeln!(
            text,
            "{:<13} not installed; {}",
            name(&agent.name),
            agent.next.as_deref().unwrap_or("see redgreen.toml")
        )
        .ok();
    }
    writeln!(text, "\n{}", reach(&agents.network)).ok();
    writeln!(text, "{}", view::readable(&agents.allow_read)).ok();
    match &agents.first {
        Some(first) => writeln!(text, "default agent: {}", name(first)).ok(),
        None => {
            writeln!(text, "no agent is ready; to try redgreen without one: redgreen demo").ok()
        }
    };
    text
}
