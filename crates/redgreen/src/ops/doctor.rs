//! `redgreen doctor`: checks whether a run can start by doing what a run does. Every check says
//! what it ran, what it saw and, if something is wrong, the command that fixes it.

mod environment;
mod room;
mod suite;

use std::path::Path;
use std::time::Duration;

use anyhow::{Error, Result};
use redgreen_core::report::Report;
use serde::Serialize;

use crate::config::{self, Environment, File, TestInputs};
use crate::failure::Failure;
use crate::git::Git;
use crate::process::{Interrupted, Stop};
use crate::runner::{self, Settings};

const FIX_TOML: &str = "redgreen init --print";

#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Doctor {
    pub version: u32,
    /// A run could start, given an agent.
    pub ready: bool,
    /// The default agent.
    pub agent: Option<String>,
    pub checks: Vec<Check>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Check {
    pub name: &'static str,
    pub finding: Finding,
    /// What was run or checked.
    pub ran: String,
    pub saw: String,
    /// The command that fixes it.
    pub fix: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Finding {
    Good,
    /// A run can start, but something could be better.
    Note,
    /// No run can start.
    Bad,
}

/// Runs every check. `tell` reports slow steps. Only Ctrl-C and a missing folder are errors.
pub fn doctor(
    start: &Path,
    environment: &Environment,
    stop: &Stop,
    tell: &mut dyn FnMut(&str),
) -> Result<Doctor> {
    if !start.is_dir() {
        return Err(Failure::environment(format!("there is no folder {}", start.display())).into());
    }
    let git = Git::open_until(start, stop);
    let mut checks = environment::repository(&git);
    let root = git.map_or_else(|_| start.to_owned(), |git| git.root);
    let read = File::read(&root, environment)
        .and_then(|file| file.policy(environment).map(|policy| (file, policy)));
    let (ran, readable) = (format!("read {}", config::FILE), read.is_ok());
    let (file, policy) = match read {
        Ok(read) => {
            let there = root.join(config::FILE).is_file();
            let saw =
                if there { "all keys and values are valid" } else { "no file: using defaults" };
            checks.push(Check::good("settings", ran, saw));
            read
        }
        Err(error) => {
            checks.push(Check::bad("settings", ran, &error, FIX_TOML));
            Default::default()
        }
    };
    // Unreadable settings contain no commands.
    let trusted = if readable { super::trust::check(&root, environment) } else { Ok(()) };
    match trusted.and_then(|()| runner::suite(&root, &file.test)) {
        Ok(suite) => {
            for (name, folder, known_by) in suite.evidence() {
                let place = if folder.is_empty() { "the root" } else { folder };
                checks.push(Check::good(
                    "framework",
                    format!("looked for {known_by}"),
                    format!("{name} in {place}"),
                ));
            }
            let provided = unless_stopped(file.test.provided())?;
            let TestInputs { variables, secrets, services, unset } = match provided {
                Ok(provided) => provided,
                Err(error) => {
                    checks.push(Check::bad("settings", "read [test]", &error, FIX_TOML));
                    TestInputs::default()
                }
            };
            for name in unset {
                let saw = format!("{name} is not set, but test.env-pass lists it");
                checks.push(
                    Check::note("settings", "looked at your variables", saw)
                        .fix(format!("export {name}=…")),
                );
            }
            // A check leaves no files behind.
            let no_bytecode = ("PYTHONDONTWRITEBYTECODE".into(), "1".into());
            let settings = Settings {
                timeout: Duration::from_millis(policy.red_timeout_ms),
                cargo_target_dir: None,
                virtual_env: runner::python::environment(&root, environment, stop)?,
                path: environment.path.clone(),
                variables: variables.into_iter().chain([no_bytecode]).collect(),
                secrets,
                services,
            };
            let mut outside = Some(Vec::new());
            for part in suite.parts() {
                let visit =
                    suite::SuiteCheck { root: &root, suite: &part, settings: &settings, stop };
                let (found, report) = visit.checks(tell)?;
                checks.extend(found);
                outside = outside.zip(report).map(|(mut all, one)| {
                    all.push(one);
                    all
                });
            }
            if let Some(outside) = outside {
                checks.extend(room::check(
                    start,
                    environment,
                    &Report::merge(outside),
                    stop,
                    tell,
                )?);
            }
        }
        Err(error) => {
            checks.push(Check::bad("framework", "searched the folders", &error, "redgreen test"));
        }
    }
    checks.extend(environment::linters(&file, &root, environment));
    tell("looking for agents and sandboxes");
    checks.push(environment::script(&file, &root, environment));
    checks.push(environment::agents(environment, stop)?);
    let (works, agent) = environment::worker(start, environment, stop);
    checks.push(works);
    checks.push(environment::sandbox()?);
    // A folder that only the project names is not tried before the user trusts it.
    let place = match readable {
        true => super::trust::worktree_root(&root, &file, environment),
        false => config::worktree_root(&file, environment),
    };
    checks.push(environment::worktrees(place));
    let ready = checks.iter().all(|check| check.finding != Finding::Bad);
    Ok(Doctor { version: 1, ready, agent, checks })
}

impl Check {
    fn good(name: &'static str, ran: impl Into<String>, saw: impl Into<String>) -> Self {
        Self { name, finding: Finding::Good, ran: ran.into(), saw: saw.into(), fix: None }
    }

    /// A possible improvement that is not required.
    fn note(name: &'static str, ran: impl Into<String>, saw: impl Into<String>) -> Self {
        Self { finding: Finding::Note, ..Self::good(name, ran, saw) }
    }

    fn wrong(name: &'static str, ran: impl Into<String>, saw: impl Into<String>) -> Self {
        Self { finding: Finding::Bad, ..Self::good(name, ran, saw) }
    }

    fn fix(self, command: impl Into<String>) -> Self {
        Self { fix: Some(command.into()), ..self }
    }

    /// The message of an error, with its own fix if it has one.
    fn bad(name: &'static str, ran: impl Into<String>, error: &Error, fix: &str) -> Self {
        match error.chain().find_map(|cause| cause.downcast_ref::<Failure>()) {
            Some(failure) => {
                let saw =
                    std::iter::once(&failure.what).chain(&failure.evidence).map(String::as_str);
                Self::wrong(name, ran, saw.collect::<Vec<_>>().join("\n"))
                    .fix(failure.next.as_deref().unwrap_or(fix))
            }
            None => Self::wrong(name, ran, format!("{error:#}")).fix(fix),
        }
    }
}

/// A check that fails is a finding. A request to stop is not.
fn unless_stopped<T>(result: Result<T>) -> Result<Result<T>> {
    match result {
        Err(error) if error.chain().any(|cause| cause.is::<Interrupted>()) => Err(error),
        other => Ok(other),
    }
}
