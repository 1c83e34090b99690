//! Who edits. Whichever agent it is, it gets its orders, works in the worktree, and gives back how its turn ended, what
//! it cost and what was said; nothing here judges any of it.

pub mod built_in;
pub mod choice;
pub mod external;
pub mod human;
pub mod model;
pub mod network;
mod place;
pub mod script;
pub mod visible;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::Result;
use redgreen_core::agent::{Assignment, Cost, Said, Turn};
use redgreen_core::phase::Role;
use redgreen_core::policy::Budget;
use redgreen_core::report::Report;

use crate::process::Stop;

/// Every agent there is.
#[derive(Clone, Debug)]
pub enum Agent {
    BuiltIn(built_in::BuiltIn),
    Scripted(script::Script),
    External(Box<external::External>),
    Human(human::Human),
}

/// Who works in which role.
#[derive(Clone, Debug)]
pub struct Team {
    usual: Agent,
    special: BTreeMap<Role, Agent>,
}

/// Everything a turn is taken with.
pub struct Orders<'a> {
    pub assignment: &'a Assignment,
    pub worktree: &'a Path,
    /// Set for every program the agent starts.
    pub env: &'a [(String, String)],
    pub time_limit: Duration,
    /// What is left of the run's budget; asked before each request that costs.
    pub allowance: Budget,
    /// A folder of this turn's, out of the worktree, for what the agent has to keep: exchanges, session ids.
    pub desk: &'a Path,
    /// What the tests showed when a phase was accepted last.
    pub report: Option<&'a Report>,
    /// The files of tests that were written at once; none where the plan names the file.
    pub tests: &'a [String],
    /// What this turn has changed so far, as a patch.
    pub changes: &'a dyn Fn() -> Result<String>,
    /// Git's folder of the repository, which programs of the agent may read.
    pub repository: &'a Path,
    /// Our own state, which they may not.
    pub private: &'a Path,
    /// Kept about the worktree out of agents' reach, for as long as the worktree is there.
    pub aside: &'a Path,
    /// Packages of the user's checkout that the worktree has links to.
    pub packages: &'a [PathBuf],
    pub stop: &'a Stop,
    /// Called with what the agent says and does, as it happens.
    pub live: &'a mut dyn FnMut(&Said),
}

/// A turn that is over.
#[derive(Clone, Debug, PartialEq)]
pub struct Taken {
    pub turn: Turn,
    pub cost: Cost,
    /// What the agent did and said, for a person to read.
    pub transcript: String,
    /// By which the agent's conversation can be taken up again.
    pub session: Option<String>,
    /// What the user has to know about it, such as connections that were refused.
    pub notices: Vec<String>,
}

impl Team {
    pub fn new(usual: Agent) -> Self {
        Self { usual, special: BTreeMap::new() }
    }

    /// Has another agent work in `role`.
    pub fn with(mut self, role: Role, agent: Agent) -> Self {
        self.special.insert(role, agent);
        self
    }

    pub fn member(&self, role: Role) -> &Agent {
        self.special.get(&role).unwrap_or(&self.usual)
    }

    /// How views call it: the usual agent, and who works in its place where.
    pub fn name(&self) -> String {
        let special = self.special.iter().map(|(role, agent)| format!("{role}: {}", agent.name()));
        std::iter::once(self.usual.name()).chain(special).collect::<Vec<_>>().join(", ")
    }

    /// The same with the servers that the user's variables send programs to: who receives what is sent.
    pub fn recipients(&self) -> String {
        let special = self.special.iter().map(|(role, agent)| format!("{role}: {}", agent.recipient()));
        std::iter::once(self.usual.recipient()).chain(special).collect::<Vec<_>>().join(", ")
    }

    /// Whether a person writes both the tests and the code: they cannot keep tests from themselves.
    pub fn is_one_person(&self) -> bool {
        [Role::Test, Role::Implementing].iter().all(|role| matches!(self.member(*role), Agent::Human(_)))
    }

    /// Whether nobody but a person works: no program to fence in.
    pub fn is_human(&self) -> bool {
        std::iter::once(&self.usual).chain(self.special.values()).all(|agent| matches!(agent, Agent::Human(_)))
    }

    /// Agents that may not tell what a turn costs, so that a budget in dollars cannot stop them.
    pub fn untold_prices(&self) -> Vec<String> {
        let mut names: Vec<String> = Vec::new();
        for agent in std::iter::once(&self.usual).chain(self.special.values()) {
            let untold = match agent {
                Agent::External(external) => !external.tells_price(),
                Agent::BuiltIn(_) | Agent::Scripted(_) | Agent::Human(_) => false,
            };
            if untold && !names.contains(&agent.name()) {
                names.push(agent.name());
            }
        }
        names
    }

    /// The first model whose price nobody knows, so that no budget in dollars can be kept.
    pub fn unpriced(&self) -> Option<&str> {
        std::iter::once(&self.usual).chain(self.special.values()).find_map(|agent| match agent {
            Agent::BuiltIn(agent) => agent.unpriced(),
            Agent::Scripted(_) | Agent::External(_) | Agent::Human(_) => None,
        })
    }

    /// Whether a fence keeps all of them from what is the user's.
    pub fn is_held(&self) -> Result<bool> {
        for agent in std::iter::once(&self.usual).chain(self.special.values()) {
            if agent.reaches_refs()? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// The script that is kept with a run, if one is played.
    pub fn script(&self) -> Option<&script::Script> {
        std::iter::once(&self.usual).chain(self.special.values()).find_map(|agent| match agent {
            Agent::Scripted(script) => Some(script),
            Agent::BuiltIn(_) | Agent::External(_) | Agent::Human(_) => None,
        })
    }
}

impl Agent {
    /// How views call it.
    pub fn name(&self) -> String {
        match self {
            Agent::BuiltIn(agent) => agent.name(),
            Agent::Scripted(script) => script.agent(),
            Agent::External(external) => external.name().to_owned(),
            Agent::Human(_) => choice::HUMAN.to_owned(),
        }
    }

    fn recipient(&self) -> String {
        let servers = match self {
            Agent::External(external) => external.servers(),
            Agent::BuiltIn(_) | Agent::Scripted(_) | Agent::Human(_) => Vec::new(),
        };
        match servers.as_slice() {
            [] => self.name(),
            servers => format!("{} ({})", self.name(), servers.join(", ")),
        }
    }

    /// What a program of its own says it is, once it has taken a turn.
    pub fn version(&self) -> Option<String> {
        match self {
            Agent::BuiltIn(_) | Agent::Scripted(_) | Agent::Human(_) => None,
            Agent::External(external) => external.version(),
        }
    }

    /// Whether it could move the repository's refs; where a fence holds, it cannot.
    pub fn reaches_refs(&self) -> Result<bool> {
        match self {
            Agent::BuiltIn(_) | Agent::Scripted(_) | Agent::Human(_) => Ok(true),
            Agent::External(external) => external.reaches_refs(),
        }
    }

    /// Has the agent work until it stops or its time is over.
    ///
    /// An agent that fails is an answer, [`Turn::Failed`]; an error means that we could not find out, or that the user
    /// wants to stop ([`crate::process::Interrupted`]).
    pub fn take_turn(&self, orders: &mut Orders<'_>) -> Result<Taken> {
        match self {
            Agent::BuiltIn(agent) => agent.take_turn(orders),
            Agent::Scripted(script) => script.take_turn(orders),
            Agent::External(external) => external.take_turn(orders),
            Agent::Human(human) => human.take_turn(orders),
        }
    }
}
