//! Agents. Each one gets its orders, works in the worktree, and returns how its turn ended, its
//! cost and its transcript. Nothing is judged here.

pub mod built_in;
pub mod choice;
pub mod command;
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
use redgreen_core::agent::{AgentActivity, Assignment, Cost, Turn};
use redgreen_core::phase::Role;
use redgreen_core::policy::Budget;
use redgreen_core::report::Report;

use crate::process::Stop;

#[derive(Clone, Debug)]
pub enum Agent {
    BuiltIn(built_in::BuiltIn),
    Scripted(script::Script),
    External(Box<external::External>),
    Human(human::Human),
}

/// The agent of each role.
#[derive(Clone, Debug)]
pub struct Team {
    usual: Agent,
    special: BTreeMap<Role, Agent>,
    /// The agents of several attempts at a phase, in turn; the agent of the role if empty.
    several: Vec<Agent>,
}

/// The input of a turn.
pub struct TurnInput<'a> {
    pub assignment: &'a Assignment,
    pub worktree: &'a Path,
    /// Set for every program that the agent starts.
    pub env: &'a [(String, String)],
    pub time_limit: Duration,
    /// The rest of the run's budget, checked before each paid request.
    pub allowance: Budget,
    /// A folder for this turn, outside the worktree, for data of the agent: exchanges, session ids.
    pub desk: &'a Path,
    /// The report of the last accepted phase.
    pub report: Option<&'a Report>,
    /// The files of tests that were written at once; empty if the plan names the file.
    pub tests: &'a [String],
    /// The changes of this turn so far, as a patch.
    pub changes: &'a dyn Fn() -> Result<String>,
    /// The repository's git folder, which programs of the agent may read.
    pub repository: &'a Path,
    /// Our own state, which they may not read.
    pub private: &'a Path,
    /// Data about the worktree that agents cannot reach. It lives as long as the worktree.
    pub aside: &'a Path,
    /// Packages of the user's checkout that the worktree links to.
    pub packages: &'a [PathBuf],
    pub stop: &'a Stop,
    /// Called for each event of the agent, as it happens.
    pub live: &'a mut dyn FnMut(&AgentActivity),
    /// The user's messages since the turn began. Each one is returned once; the caller passes it on to
    /// the agent.
    pub messages: &'a mut dyn FnMut() -> Vec<String>,
}

/// The result of a turn.
#[derive(Clone, Debug, PartialEq)]
pub struct TurnOutput {
    pub turn: Turn,
    pub cost: Cost,
    /// The transcript, for people.
    pub transcript: String,
    /// The id with which the agent's conversation can be continued.
    pub session: Option<String>,
    /// Notices for the user, such as refused connections.
    pub notices: Vec<String>,
}

impl Team {
    pub fn new(usual: Agent) -> Self {
        Self { usual, special: BTreeMap::new(), several: Vec::new() }
    }

    /// Sets the agents of several attempts at a phase.
    pub fn with_several(self, several: Vec<Agent>) -> Self {
        Self { several, ..self }
    }

    /// Sets another agent for `role`.
    pub fn with(mut self, role: Role, agent: Agent) -> Self {
        self.special.insert(role, agent);
        self
    }

    pub fn member(&self, role: Role) -> &Agent {
        self.special.get(&role).unwrap_or(&self.usual)
    }

    /// The agent of a turn: one of several attempts may have another one.
    pub fn on_turn(&self, assignment: &Assignment) -> &Agent {
        let number = assignment.candidate.and_then(|number| usize::try_from(number).ok());
        let index =
            number.and_then(|number| number.checked_sub(1)?.checked_rem(self.several.len()));
        index
            .and_then(|index| self.several.get(index))
            .unwrap_or_else(|| self.member(assignment.role))
    }

    /// The agents that make several attempts at the phase of this role.
    pub fn attempting(&self, role: Role) -> Vec<&Agent> {
        match self.several.as_slice() {
            [] => vec![self.member(role)],
            several => several.iter().collect(),
        }
    }

    fn all(&self) -> impl Iterator<Item = &Agent> {
        std::iter::once(&self.usual).chain(self.special.values()).chain(&self.several)
    }

    /// The display name: the default agent, and the agents of other roles.
    pub fn name(&self) -> String {
        self.names(Agent::name)
    }

    /// Like `name`, with the servers set in the user's variables: who receives the data.
    pub fn recipients(&self) -> String {
        self.names(Agent::recipient)
    }

    fn names(&self, name: impl Fn(&Agent) -> String) -> String {
        let special = self.special.iter().map(|(role, agent)| format!("{role}: {}", name(agent)));
        let several: Vec<String> = self.several.iter().map(&name).collect();
        let several = (!several.is_empty()).then(|| format!("attempts: {}", several.join(" and ")));
        let all = std::iter::once(name(&self.usual)).chain(special).chain(several);
        all.collect::<Vec<_>>().join(", ")
    }

    /// Whether one person writes both tests and code, so that tests cannot be withheld.
    pub fn is_one_person(&self) -> bool {
        [Role::Test, Role::Implementing]
            .iter()
            .all(|role| matches!(self.member(*role), Agent::Human(_)))
    }

    /// Whether all agents are people, so that there is no program to sandbox.
    pub fn is_human(&self) -> bool {
        self.all().all(|agent| matches!(agent, Agent::Human(_)))
    }

    /// Agents that may not report the cost of a turn, so a budget in dollars cannot stop them.
    pub fn untold_prices(&self) -> Vec<String> {
        let mut names: Vec<String> = Vec::new();
        for agent in self.all() {
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

    /// The first model without a known price, for which a budget in dollars cannot work.
    pub fn unpriced(&self) -> Option<&str> {
        self.all().find_map(|agent| match agent {
            Agent::BuiltIn(agent) => agent.unpriced(),
            Agent::Scripted(_) | Agent::External(_) | Agent::Human(_) => None,
        })
    }

    /// Whether a sandbox keeps all of them from the user's refs.
    pub fn is_held(&self) -> Result<bool> {
        for agent in self.all() {
            if agent.reaches_refs()? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// The script that is stored with a run, if there is one.
    pub fn script(&self) -> Option<&script::Script> {
        self.all().find_map(|agent| match agent {
            Agent::Scripted(script) => Some(script),
            Agent::BuiltIn(_) | Agent::External(_) | Agent::Human(_) => None,
        })
    }
}

impl Agent {
    /// The display name.
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

    /// The version reported by an external program, after its first turn.
    pub fn version(&self) -> Option<String> {
        match self {
            Agent::BuiltIn(_) | Agent::Scripted(_) | Agent::Human(_) => None,
            Agent::External(external) => external.version(),
        }
    }

    /// Whether it could move the repository's refs, which a sandbox prevents.
    pub fn reaches_refs(&self) -> Result<bool> {
        match self {
            Agent::BuiltIn(_) | Agent::Scripted(_) | Agent::Human(_) => Ok(true),
            Agent::External(external) => external.reaches_refs(),
        }
    }

    /// Runs the agent until it stops or its time is up.
    ///
    /// A failing agent is a result, [`Turn::Failed`]. An error means that the result is unknown, or
    /// that the user asked to stop ([`crate::process::Interrupted`]).
    pub fn take_turn(&self, orders: &mut TurnInput<'_>) -> Result<TurnOutput> {
        match self {
            Agent::BuiltIn(agent) => agent.take_turn(orders),
            Agent::Scripted(script) => script.take_turn(orders),
            Agent::External(external) => external.take_turn(orders),
            Agent::Human(human) => human.take_turn(orders),
        }
    }
}
