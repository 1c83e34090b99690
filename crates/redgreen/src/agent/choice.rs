//! Selects the agents of a run by name: from the command line, the run's records and the settings.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use anyhow::Result;
use redgreen_core::phase::Role;
use serde::{Deserialize, Serialize};

use super::built_in::BuiltIn;
use super::external::{AgentSandbox, External, presence};
use super::human::Human;
use super::model::local::{self, Server};
use super::script::Script;
use super::{Agent, Team};
use crate::config::{self, Environment, File};
use crate::failure::Failure;

/// The name of the scripted agent.
pub const SCRIPTED: &str = "scripted";
/// The name of the human agent.
pub const HUMAN: &str = "human";
/// The name of the agent that talks to a model. `built-in:<model>` selects the model too.
pub const BUILT_IN: &str = "built-in";
/// The default model if its provider's key is set.
pub const USUAL_MODEL: &str = "claude-opus-4-5-20251101";
pub const USUAL_KEY: &str = "ANTHROPIC_API_KEY";

/// The names of all built-in agents.
pub fn known() -> Vec<String> {
    [BUILT_IN, SCRIPTED, HUMAN]
        .into_iter()
        .chain(config::agents::names())
        .map(str::to_owned)
        .collect()
}

/// The context for creating agents.
#[derive(Clone, Copy, Debug)]
pub struct AgentContext<'a> {
    pub file: &'a File,
    pub environment: &'a Environment,
    /// The project's folder.
    pub root: &'a Path,
    pub agent_sandbox: &'a AgentSandbox,
}

/// The default agent if none is named.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DefaultAgent {
    /// The built-in agent: a model is named, or the key of the default one is set.
    Model,
    /// An agent that is installed and logged in.
    Installed(&'static str),
    /// The built-in agent with a model server on this machine.
    Served(Server),
}

impl DefaultAgent {
    pub fn here(file: &File, environment: &Environment) -> Result<Option<Self>> {
        let named = environment.model.is_some() || file.agent.model.is_some();
        if named || environment.models.key(&[USUAL_KEY]).is_some() {
            return Ok(Some(Self::Model));
        }
        if let Some(name) = presence::first(environment)? {
            return Ok(Some(Self::Installed(name)));
        }
        // A configured server takes precedence.
        let elsewhere = file.model.base_url.is_some() || file.model.provider.is_some();
        let servers = if elsewhere { Vec::new() } else { local::servers(&environment.models) };
        Ok(servers.into_iter().next().map(Self::Served))
    }

    /// The agent's name, as `--agent` accepts it.
    pub fn name(&self) -> String {
        match self {
            Self::Model => BUILT_IN.to_owned(),
            Self::Installed(name) => (*name).to_owned(),
            Self::Served(server) => format!("{BUILT_IN}:{}", taken(server).0),
        }
    }
}

/// The full name of a server's model, and a remark about it.
fn taken(server: &Server) -> (String, String) {
    let Server { provider, base, models } = server;
    let model = format!("{provider}/{}", models.first().map_or("", String::as_str));
    let others = models.get(1..).unwrap_or_default();
    let choice = match others {
        [] => "its only model".to_owned(),
        others => format!(
            "the first of {}; select others with --model: {}",
            others.len() + 1,
            others.join(", ")
        ),
    };
    let remark =
        format!("no agent is named and {provider} answers at {base}: using {model}, {choice}");
    (model, remark)
}

/// The names of the agents, as far as given. Stored with the run, so that resuming needs no flags.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Choice {
    pub agent: Option<String>,
    pub roles: BTreeMap<Role, String>,
    /// The agents of several attempts at a phase, in turn.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub several: Vec<String>,
    /// The model of the built-in agent.
    pub model: Option<String>,
    pub script: Option<PathBuf>,
}

impl Choice {
    /// The choice in the settings and the environment.
    pub fn configured(file: &File, environment: &Environment, root: &Path) -> Self {
        let agents = &file.agents;
        let named = [
            (Role::TestList, &agents.plan),
            (Role::Test, &agents.red),
            (Role::Implementing, &agents.green),
            (Role::Diagnosis, &agents.diagnosis),
            (Role::Refactor, &agents.refactor),
        ];
        let roles =
            named.into_iter().filter_map(|(role, name)| Some((role, name.clone()?))).collect();
        let script = environment
            .script
            .clone()
            .or_else(|| file.agent.script.as_ref().map(|script| root.join(script)));
        Self {
            agent: file.agent.name.clone(),
            roles,
            several: file.attempts.agents.clone(),
            model: environment.model.clone().or_else(|| file.agent.model.clone()),
            script,
        }
    }

    /// This choice, completed by `other`.
    pub fn or(self, other: Self) -> Self {
        // An agent for all roles overrides the roles of a weaker source.
        let (roles, several) = if self.agent.is_some() || self.script.is_some() {
            (BTreeMap::new(), Vec::new())
        } else {
            (other.roles, other.several)
        };
        Self {
            agent: self.agent.or_else(|| {
                if self.script.is_some() { Some(SCRIPTED.to_owned()) } else { other.agent }
            }),
            roles: if self.roles.is_empty() { roles } else { self.roles },
            several: if self.several.is_empty() { several } else { self.several },
            model: self.model.or(other.model),
            script: self.script.or(other.script),
        }
    }

    /// This choice with an agent. If none is named, the first usable one, with a remark about it.
    pub fn settled(self, file: &File, environment: &Environment) -> Result<(Self, Option<String>)> {
        if self.agent.is_some() || self.script.is_some() || self.model.is_some() {
            return Ok((self, None));
        }
        // The first of several agents also works in the other phases.
        if let Some(first) = self.several.first() {
            return Ok((Self { agent: Some(first.clone()), ..self }, None));
        }
        match DefaultAgent::here(file, environment)? {
            Some(DefaultAgent::Model) => Ok((self, None)),
            Some(DefaultAgent::Installed(name)) => {
                Ok((Self { agent: Some(name.to_owned()), ..self }, None))
            }
            Some(DefaultAgent::Served(server)) => {
                let (model, remark) = taken(&server);
                Ok((Self { model: Some(model), ..self }, Some(remark)))
            }
            None => Err(no_agent(&presence::logged_out(environment)?).into()),
        }
    }

    /// Creates the agents. The first one that is not available is an error.
    pub fn team(&self, ground: &AgentContext<'_>) -> Result<Team> {
        let usual = match (&self.agent, &self.script) {
            (Some(name), _) => self.member(name, ground)?,
            (None, Some(_)) => self.member(SCRIPTED, ground)?,
            (None, None) => self.member(BUILT_IN, ground)?,
        };
        let several = self.several.iter().map(|name| self.member(name, ground));
        let team = Team::new(usual).with_several(several.collect::<Result<_>>()?);
        self.roles
            .iter()
            .try_fold(team, |team, (role, name)| Ok(team.with(*role, self.member(name, ground)?)))
    }

    fn member(&self, name: &str, ground: &AgentContext<'_>) -> Result<Agent> {
        match (name.split_once(':'), name, &self.script) {
            (Some((BUILT_IN, model)), ..) => self.built_in(Some(model), ground),
            (_, BUILT_IN, _) => self.built_in(self.model(ground), ground),
            (_, SCRIPTED, Some(script)) => Ok(Agent::Scripted(Script::read(script)?)),
            (_, SCRIPTED, None) => Err(Failure::usage("the scripted agent has no script")
                .next("redgreen run --script FILE \"<what to build>\"")
                .into()),
            (_, HUMAN, _) => {
                Human::new(ground.file.agent.on_save, ground.environment.editor.as_deref())
                    .map(Agent::Human)
            }
            (Some((name, model)), ..) => self.external(name, Some(model), ground),
            (None, ..) => self.external(name, None, ground),
        }
    }

    fn built_in(&self, model: Option<&str>, ground: &AgentContext<'_>) -> Result<Agent> {
        let Some(model) = model else {
            return Err(Failure::usage("the built-in agent needs a model")
                .evidence(
                    "no model is named, and ANTHROPIC_API_KEY, which has a default one, is not set",
                )
                .next("redgreen run --model <provider>/<model> …")
                .into());
        };
        let visible = ground.agent_sandbox.visible.clone();
        BuiltIn::new(model, ground.file, ground.environment, ground.root, visible)
            .map(Agent::BuiltIn)
    }

    /// The named model, or the default one if its key is set.
    fn model(&self, ground: &AgentContext<'_>) -> Option<&str> {
        let has_key = ground.environment.models.key(&[USUAL_KEY]).is_some();
        self.model.as_deref().or(has_key.then_some(USUAL_MODEL))
    }

    fn external(
        &self,
        name: &str,
        model: Option<&str>,
        ground: &AgentContext<'_>,
    ) -> Result<Agent> {
        let (table, own) = (config::agents::table()?, &ground.file.agent.custom);
        let Some(row) = own.get(name).or_else(|| table.get(name)) else {
            let known = [BUILT_IN, SCRIPTED, HUMAN]
                .into_iter()
                .chain(own.keys().chain(table.keys()).map(String::as_str));
            return Err(Failure::usage(format!("unknown agent {name:?}"))
                .evidence(format!("known: {}", known.collect::<Vec<_>>().join(", ")))
                .next("redgreen run --agent <name> …")
                .into());
        };
        let program = row.program().map(|program| {
            ground.environment.find_program(program).ok_or_else(|| {
                Failure::environment(format!("the agent {name:?} is not installed"))
                    .evidence(format!("there is no program {program:?} on the PATH"))
                    .next(if row.install.is_empty() {
                        "redgreen agents"
                    } else {
                        row.install.as_str()
                    })
            })
        });
        let (program, model) = (program.transpose()?, model.map(str::to_owned));
        // A custom agent handles its own login.
        if !own.contains_key(name) {
            presence::check_login(name, row, ground.environment)?;
        }
        let external =
            External::new(name, row.clone(), program, model, ground.agent_sandbox.clone());
        Ok(Agent::External(Box::new(external)))
    }
}

/// `logged_out`: installed agents with the command to log in.
fn no_agent(logged_out: &[(&str, String)]) -> Failure {
    let failure = Failure::usage("no agent is configured, and no usable one was found");
    let failure = logged_out.iter().fold(failure, |failure, (name, login)| {
        failure.evidence(format!("{name} is installed, but not logged in: {login}"))
    });
    let failure = match logged_out {
        [] => {
            failure.evidence("no coding agent is installed; `redgreen agents` lists those it knows")
        }
        [..] => failure,
    };
    failure
        .evidence(
            "ANTHROPIC_API_KEY is not set, and no model is named (--model <provider>/<model>)",
        )
        .evidence("no model server answers on this machine (Ollama, LM Studio, llama.cpp, vLLM)")
        .next("log in to an agent (redgreen agents), or see it work without one: redgreen demo")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn choice(agent: Option<&str>, red: Option<&str>) -> Choice {
        let roles = red.map(|name| (Role::Test, name.to_owned())).into_iter().collect();
        Choice { agent: agent.map(str::to_owned), roles, ..Choice::default() }
    }

    #[test]
    fn an_agent_for_all_roles_overrides_weaker_roles() {
        for (strong, weak, expected) in [
            (choice(None, None), choice(Some("a"), Some("b")), choice(Some("a"), Some("b"))),
            (choice(Some("c"), None), choice(Some("a"), Some("b")), choice(Some("c"), None)),
            (choice(None, Some("c")), choice(Some("a"), Some("b")), choice(Some("a"), Some("c"))),
        ] {
            assert_eq!(strong.clone().or(weak), expected, "{strong:?}");
        }
    }
}
