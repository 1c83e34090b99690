//! The commands, one file each. All interfaces call these and nothing below them. They return
//! values and print nothing.

pub mod agents;
pub mod bench;
pub mod brief;
pub mod clean;
pub mod config;
pub mod context;
pub mod decide;
pub mod demo;
pub mod doctor;
pub mod examples;
pub mod fleet;
pub mod history;
pub mod hook;
pub mod init;
pub mod judge;
pub mod mcp;
pub mod notes;
pub mod notify;
pub mod pause;
pub mod plan;
pub mod push;
pub mod reject;
pub mod report;
pub mod resume;
pub mod rollback;
pub mod run;
pub mod salvage;
pub mod say;
pub mod schema;
pub mod session;
pub mod status;
pub mod submit;
pub mod test;
pub mod trust;
pub mod ui;
pub mod unblock;
pub mod undo;
pub mod verify;
pub mod watch;
pub mod why;
pub mod work;

use std::fs;
use std::io::ErrorKind;
use std::path::Path;

use anyhow::{Context, Result};
use redgreen_core::event::Outcome;
use redgreen_core::state::State;

use crate::agent::Team;
use crate::agent::choice::{AgentContext, Choice};
use crate::agent::external::AgentSandbox;
use crate::agent::network::NetworkRules;
use crate::agent::visible::Visible;
use crate::config::{Environment, File};
use crate::engine::Project;
use crate::failure::{Code, Failure};
use crate::git::Git;
use crate::journal::{self, KillAt, RunFolder, Store};
use crate::process::Stop;
use crate::runner;

/// The command that starts a run.
pub const BEGIN: &str = "redgreen run \"<what to build>\"";

/// The state of a run after a command worked on it.
#[derive(Debug)]
pub struct RunEnd {
    pub outcome: Outcome,
    pub state: State,
    pub folder: RunFolder,
}

/// Opens the repository that contains `start`, with its settings.
pub fn open(start: &Path, environment: Environment, stop: &Stop) -> Result<Project> {
    let git = Git::open_until(start, stop)?;
    let file = File::read(&git.root, &environment)?;
    let workshop = Project::workshop(&trust::worktree_root(&git.root, &file, &environment)?, &git);
    let store = Store::new(&git.common_dir);
    store.check()?;
    Ok(Project { git, store, file, environment, workshop, stop: stop.clone() })
}

/// The same for a command that runs tests, after the user trusted it: also finds the Python
/// packages.
pub fn with_packages(mut project: Project) -> Result<Project> {
    let (root, stop) = (&project.git.root, &project.stop);
    project.environment.virtual_env =
        runner::python::environment(root, &project.environment, stop)?;
    Ok(project)
}

impl RunEnd {
    pub fn code(&self) -> Code {
        exit_code(&self.outcome)
    }
}

/// The exit code of an outcome.
pub fn exit_code(outcome: &Outcome) -> Code {
    match outcome {
        Outcome::Merged => Code::Done,
        Outcome::Aborted | Outcome::GaveUp { .. } | Outcome::NothingDeveloped { .. } => Code::No,
        Outcome::Waiting
        | Outcome::Paused { .. }
        | Outcome::MergeBlocked { .. }
        | Outcome::Undecided { .. } => Code::Human,
        Outcome::AgentUnusable { .. } | Outcome::BaselineUnusable { .. } => Code::Environment,
        Outcome::BudgetSpent { .. } => Code::Budget,
        Outcome::Interrupted => Code::Interrupted,
        // The rollback was requested, so it succeeded.
        Outcome::RolledBack { .. } => Code::Done,
    }
}

/// The run of a command: the named one, or the only open one.
fn pick(project: &Project, named: Option<&str>) -> Result<RunFolder> {
    if let Some(id) = named {
        return project.store.find(id);
    }
    let mut open = project.store.open()?;
    if open.len() > 1 {
        project.clear_stale(None);
        open = project.store.open()?;
    }
    match (open.pop(), open.is_empty()) {
        (Some(only), true) => Ok(only),
        (Some(last), false) => {
            let failure = Failure::usage(format!("{} runs are open; name one", open.len() + 1));
            let failure =
                open.iter().fold(failure, |failure, run| failure.evidence(run.id.clone()));
            Err(failure.evidence(last.id).next("redgreen status").into())
        }
        (None, _) if project.store.latest().is_none() => {
            Err(Failure::usage("this repository has no run yet")
                .evidence("found no open run and no handoff note")
                .next(BEGIN)
                .into())
        }
        (None, _) => Err(Failure::usage("no run is open").next(BEGIN).into()),
    }
}

/// The agents of a run: from the command line, then from the start of the run, then from the
/// settings.
///
/// Also returns their final names, and a remark about a default agent. Agents start programs and
/// open files that the settings name, so a project that the user does not trust has none, even for
/// commands that only look.
fn team(
    project: &Project,
    flags: &Choice,
    folder: Option<&RunFolder>,
) -> Result<(Team, Choice, Option<String>)> {
    trust::check(&project.git.root, &project.environment)?;
    let kept = folder.map(kept_choice).transpose()?.unwrap_or_default();
    let configured = Choice::configured(&project.file, &project.environment, &project.git.root);
    let named = flags.clone().or(kept).or(configured);
    let (choice, remark) = named.settled(&project.file, &project.environment)?;
    let (git, fence) = (&project.git, project.file.agent.fence);
    let visible = Visible::new(&project.environment, Some(git), &project.file.agent.allow_read);
    let agent_sandbox = AgentSandbox::new(&project.environment, &project.workshop, fence, visible);
    let (file, environment) = (&project.file, &project.environment);
    let agent_sandbox = agent_sandbox.with_network(NetworkRules::new(file, environment)?);
    let ground = AgentContext { file, environment, root: &git.root, agent_sandbox: &agent_sandbox };
    Ok((choice.team(&ground)?, choice, remark))
}

/// The agents that the run started with. Its script is a copy, because the file may have changed.
fn kept_choice(folder: &RunFolder) -> Result<Choice> {
    let path = folder.choice();
    let mut choice: Choice = match fs::read(&path) {
        Ok(bytes) => {
            serde_json::from_slice(&bytes).with_context(|| format!("read {}", path.display()))?
        }
        Err(error) if error.kind() == ErrorKind::NotFound => Choice::default(),
        Err(error) => return Err(error).with_context(|| format!("read {}", path.display())),
    };
    choice.script = Some(folder.script()).filter(|script| script.is_file());
    Ok(choice)
}

fn kill_at(environment: &Environment) -> Result<Option<KillAt>> {
    let Some(text) = &environment.kill_at else { return Ok(None) };
    match KillAt::parse(text) {
        Some(kill_at) => Ok(Some(kill_at)),
        None => Err(Failure::usage(format!("REDGREEN_KILL_AT is {text:?}"))
            .evidence("expected before:N or after:N, where N counts effects from 1")
            .next("unset REDGREEN_KILL_AT")
            .into()),
    }
}

/// The state of a run, read without locking it.
fn state_of(folder: &RunFolder) -> Result<State> {
    journal::read(folder)?.0.ok_or_else(|| {
        Failure::environment(format!("run {} never started", folder.id))
            .next(format!("redgreen abort {}", folder.id))
            .into()
    })
}
