//! `redgreen demo`: develops a small kata in a temporary repository with the scripted agent and a
//! real test runner. Needs git and one of Python, Node.js and cargo, but no key and no network.

pub mod stack;

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use redgreen_core::event::{Commits, Outcome};

use self::stack::{Missing, STACKS, Stack};
use super::brief::BriefSource;
use super::{RunEnd, decide, run};
use crate::agent::choice::Choice;
use crate::config::Environment;
use crate::engine::Observer;
use crate::failure::Failure;
use crate::git::Git;
use crate::process::Stop;

/// The prefix of a demo folder, and the name of its repository.
pub(super) const PREFIX: &str = "redgreen-demo-";
pub(super) const PROJECT: &str = "roman";

pub struct Demo {
    pub folder: PathBuf,
    pub stopped: RunEnd,
}

/// Creates the repository, develops the kata, approves it.
pub fn demo(
    stack: &Stack,
    folder: Option<&Path>,
    environment: &Environment,
    stop: &Stop,
    observe: Observer<'_>,
) -> Result<Demo> {
    let folder = scratch(folder)?;
    let project = folder.join(PROJECT);
    Git::create_scratch(&project, stack.files, "chore: an empty kata")?;
    let script = folder.join("kata.toml");
    fs::write(&script, stack.script).with_context(|| format!("write {}", script.display()))?;
    let environment =
        Environment { worktrees: Some(folder.join("worktrees")), ..environment.clone() };
    let opened = super::open(&project, environment, stop)?;
    let request = run::Request {
        wish: BriefSource::Request("Convert numbers to Roman numerals".to_owned()),
        agents: Choice { script: Some(script), ..Choice::default() },
        ..run::Request::default()
    };
    let stopped = run::run(&opened, &request, observe)?;
    let stopped = match stopped.outcome {
        Outcome::Waiting => {
            decide::approve(&opened, Some(&stopped.folder.id), Commits::Merged, observe)?
        }
        _ => stopped,
    };
    fs::remove_dir_all(folder.join("worktrees")).ok();
    Ok(Demo { folder: project, stopped })
}

/// The stack to use: the one with this name, or the first one that is installed.
pub fn stack(wanted: Option<&str>, environment: &Environment) -> Result<&'static Stack> {
    if !environment.has_program("git") {
        return Err(Failure::environment("the demo needs git, which is not on the PATH")
            .next("install git")
            .into());
    }
    stack::choose(wanted, |program| environment.has_program(program)).map_err(|missing| {
        let failure = match missing {
            Missing::This(place) => {
                let Stack { name, programs, install, .. } = &STACKS[place];
                Failure::environment(format!(
                    "--lang {name} needs {}, which is not on the PATH",
                    programs.join(" or ")
                ))
                .next(*install)
            }
            Missing::All => {
                let programs: Vec<&str> =
                    STACKS.iter().filter_map(|stack| stack.programs.first().copied()).collect();
                Failure::environment(format!(
                    "the demo needs one of {} on the PATH",
                    programs.join(", ")
                ))
                .next(STACKS[0].install)
            }
        };
        failure.into()
    })
}

/// A temporary folder. A folder that the user names must be new or empty.
fn scratch(named: Option<&Path>) -> Result<PathBuf> {
    let Some(folder) = named else {
        let made =
            tempfile::Builder::new().prefix(PREFIX).tempdir().context("create a scratch folder")?;
        return Ok(made.keep());
    };
    fs::create_dir_all(folder).with_context(|| format!("create {}", folder.display()))?;
    let empty = fs::read_dir(folder)
        .with_context(|| format!("read {}", folder.display()))?
        .next()
        .is_none();
    if !empty {
        return Err(Failure::usage(format!("{} is not empty", folder.display()))
            .next("redgreen demo --folder <a new folder>")
            .into());
    }
    folder.canonicalize().with_context(|| format!("find {}", folder.display()))
}
