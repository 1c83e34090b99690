//! `redgreen agents`: the available agents: the built-in agent with its models, coding agents, and
//! what each still needs.

use std::path::PathBuf;

use anyhow::Result;
use redgreen_core::egress::{AllowList, Entry};
use redgreen_core::model::provider::PROVIDERS;
use serde::Serialize;

use crate::agent::choice::DefaultAgent;
use crate::agent::external::presence::{self, Presence};
use crate::agent::model::local::{self, Server};
use crate::config::{self, Environment, File, NetworkAccess, registries};
use crate::process::Stop;
use crate::sandbox::Sandbox;

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Agents {
    pub version: u32,
    /// The default agent.
    pub first: Option<String>,
    pub built_in: BuiltIn,
    pub network: Reach,
    pub agents: Vec<Presence>,
    /// What their programs may read in addition to installed programs, the worktree and their own
    /// files.
    pub allow_read: Vec<PathBuf>,
}

/// Where the programs of agents may connect to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Reach {
    pub access: NetworkAccess,
    /// Whether this machine can enforce it.
    pub is_held: bool,
    /// `agent.allow-hosts`.
    pub allow_hosts: Vec<String>,
    /// Package registries.
    pub registries: Vec<String>,
}

/// The models that the built-in agent could use.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct BuiltIn {
    /// The model in the settings or the environment.
    pub model: Option<String>,
    pub providers: Vec<Provider>,
    /// Servers on this machine that respond.
    pub servers: Vec<Server>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Provider {
    pub name: &'static str,
    /// The variable that contains its key, never the key itself.
    pub key: Option<&'static str>,
    /// The variables that could contain it.
    pub keys: &'static [&'static str],
}

/// Finds all agents, those of the project first, and asks each installed one for its version.
pub fn agents(file: &File, environment: &Environment, stop: &Stop) -> Result<Agents> {
    let rows = file.agent.custom.iter().chain(config::agents::table()?);
    let mut agents = Vec::new();
    for (name, row) in rows {
        agents.push(presence::look(name, row, environment, stop)?);
    }
    let is_set = |variable: &&&'static str| environment.models.key(&[variable]).is_some();
    let providers = PROVIDERS.iter().filter(|known| !known.is_local).map(|known| Provider {
        name: known.name,
        key: known.keys.iter().find(is_set).copied(),
        keys: known.keys,
    });
    let built_in = BuiltIn {
        model: environment.model.clone().or_else(|| file.agent.model.clone()),
        providers: providers.collect(),
        servers: local::servers(&environment.models),
    };
    let first = match &file.agent.name {
        Some(name) => Some(name.clone()),
        None => DefaultAgent::here(file, environment)?.map(|first| first.name()),
    };
    let network = reach(file, environment)?;
    Ok(Agents {
        version: 1,
        first,
        built_in,
        network,
        agents,
        allow_read: file.agent.allow_read.clone(),
    })
}

fn reach(file: &File, environment: &Environment) -> Result<Reach> {
    let sandbox = match file.agent.fence {
        config::Fence::Auto => Sandbox::here()?.clone(),
        config::Fence::None => Sandbox::open()?,
    };
    let registries = AllowList::new(registries::entries(environment.home.as_deref()));
    Ok(Reach {
        access: file.agent.network,
        is_held: sandbox.outlet().is_some(),
        allow_hosts: file.agent.allow_hosts.clone(),
        registries: registries.entries().iter().map(Entry::to_string).collect(),
    })
}
