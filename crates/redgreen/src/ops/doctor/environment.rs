//! Checks everything else a run needs: git, linters, agents, a sandbox, a place for worktrees.

use std::path::{Path, PathBuf};

use anyhow::Result;

use super::{Check, Finding};
use crate::agent::choice::Choice;
use crate::agent::external::presence;
use crate::config::{self, Environment, File};
use crate::git::Git;
use crate::ops;
use crate::process::Stop;
use crate::sandbox::Sandbox;

pub(super) fn repository(git: &Result<Git>) -> Vec<Check> {
    let mut checks = vec![known("git", "git version", Git::version(), "install git 2.38 or newer")];
    let git = match git {
        Ok(git) => git,
        Err(error) => {
            checks.push(Check::bad("repository", "git rev-parse", error, "git init"));
            return checks;
        }
    };
    let state = git.head().and_then(|head| {
        let (dirty, submodules) = (git.dirty_count()?, git.submodules()?);
        let branch = head
            .branch
            .map_or_else(|| "no branch checked out".to_owned(), |name| format!("on {name}"));
        let commit = head.commit.get(..8).unwrap_or(&head.commit).to_owned();
        let changes = if dirty.is_clean() {
            "clean".to_owned()
        } else {
            format!(
                "{} staged, {} unstaged, {} untracked",
                dirty.staged, dirty.unstaged, dirty.untracked
            )
        };
        let mut saw = format!("{branch} at {commit}, {changes}");
        if !submodules.is_empty() {
            let absent = submodules.iter().filter(|submodule| submodule.store.is_none()).count();
            saw.push_str(&format!(", {} submodules ({absent} not initialised)", submodules.len()));
        }
        if git.is_shallow() {
            saw.push_str(", shallow");
        }
        Ok(saw)
    });
    checks.push(known("repository", "git status", state, "git status"));
    checks.push(known(
        "identity",
        "git var GIT_COMMITTER_IDENT",
        git.identity(),
        "git config user.name YOU",
    ));
    checks
}

/// One check for each linter in the settings or with a configuration in the project.
pub(super) fn linters(file: &File, root: &Path, environment: &Environment) -> Vec<Check> {
    let mut checks: Vec<Check> = Vec::new();
    for line in file.linters(root, environment) {
        let program = line.split_whitespace().next().unwrap_or_default();
        let ran = format!("looked for {program} on the PATH");
        // The shell handles everything before a program's name.
        let is_name =
            program.chars().all(|letter| letter.is_ascii_alphanumeric() || "-_.+".contains(letter));
        checks.push(if !is_name || environment.has_program(program) {
            Check::good("linter", ran, line)
        } else {
            Check::wrong("linter", ran, format!("{line}: {program} not found"))
                .fix(format!("install {program}, or fix lint.commands in {}", config::FILE))
        });
    }
    for missing in file.linters_missing(root, environment) {
        let ran = format!("looked for {} on the PATH", missing.program);
        let saw = format!(
            "the project configures {}, which is not installed; runs work without it",
            missing.program
        );
        checks.push(Check::note("linter", ran, saw).fix(missing.install));
    }
    if checks.is_empty() {
        let saw = "none; only the tests decide GREEN and REFACTOR";
        checks.push(Check::good(
            "linter",
            format!("looked for lint.commands and configurations in {}", root.display()),
            saw,
        ));
    }
    checks
}

pub(super) fn script(file: &File, root: &Path, environment: &Environment) -> Check {
    let script = environment
        .script
        .clone()
        .or_else(|| file.agent.script.as_ref().map(|script| root.join(script)));
    match script {
        Some(script) if script.is_file() => Check::good(
            "script",
            format!("looked for {}", script.display()),
            "the script of the scripted agent exists",
        ),
        Some(script) => Check::wrong(
            "script",
            format!("looked for {}", script.display()),
            "set in the settings, but the file does not exist",
        )
        .fix(format!("correct agent.script in {} or REDGREEN_SCRIPT", config::FILE)),
        None => Check::good(
            "script",
            "looked at agent.script and REDGREEN_SCRIPT",
            "none is set; pass one to the scripted agent with --script",
        ),
    }
}

/// The installed agents, with version and login. A script works without them.
pub(super) fn agents(environment: &Environment, stop: &Stop) -> Result<Check> {
    let ran = format!("looked on the PATH for {}", presence::PREFERRED.join(", "));
    let table = config::agents::table()?;
    let mut found = Vec::new();
    for (name, row) in
        presence::PREFERRED.iter().filter_map(|name| Some((*name, table.get(*name)?)))
    {
        if !row.program().is_some_and(|program| environment.has_program(program)) {
            continue;
        }
        let agent = presence::look(name, row, environment, stop)?;
        let version = agent.version.or(agent.trouble).filter(|line| !line.is_empty());
        let login = match (agent.login, agent.next) {
            (Some(login), _) => format!("logged in: {login}"),
            (None, Some(next)) => format!("not logged in: {next}"),
            (None, None) => String::new(),
        };
        found.push(format!("{name}: {}; {login}", version.unwrap_or("unknown version".into())));
    }
    if found.is_empty() {
        return Ok(Check::good(
            "agents",
            ran,
            "none; an API key or a script also works: redgreen agents",
        ));
    }
    Ok(Check::good("agents", format!("{ran}; --version"), found.join("\n")))
}

/// The default agent, found in the same way as by a run.
pub(super) fn worker(
    start: &Path,
    environment: &Environment,
    stop: &Stop,
) -> (Check, Option<String>) {
    const RAN: &str = "selected the default agent";
    let team = ops::open(start, environment.clone(), stop)
        .and_then(|project| ops::team(&project, &Choice::default(), None))
        .map(|(team, ..)| team.name());
    match team {
        Ok(name) => (Check::good("worker", RAN, &name), Some(name)),
        Err(error) => (
            Check {
                finding: Finding::Note,
                ..Check::bad("worker", RAN, &error, "redgreen agents")
            },
            None,
        ),
    }
}

/// The available sandboxes, and the one in use. Each is tried as a run would use it.
pub(super) fn sandbox() -> Result<Check> {
    let mut saw = Vec::new();
    for (means, works) in Sandbox::each()? {
        let works = works.map_or_else(|error| format!("{error:#}"), |()| "works".to_owned());
        saw.push(format!("{}: {works}", means.as_str()));
    }
    saw.push(format!("tests and agents run in: {}", Sandbox::here()?.by().as_str()));
    Ok(Check::good("sandbox", "ran `true` in each", saw.join("\n")))
}

/// Tries the folder, or where it would be, and leaves nothing there.
pub(super) fn worktrees(root: Result<PathBuf>) -> Check {
    const FIX: &str = "REDGREEN_WORKTREES=/some/folder redgreen doctor";
    let root = match root {
        Ok(root) => root,
        Err(error) => return Check::bad("worktrees", "looked for a folder", &error, FIX),
    };
    let place = root.ancestors().find(|place| place.is_dir()).unwrap_or(&root);
    let ran = format!("created a folder in {} and removed it", place.display());
    match tempfile::Builder::new().prefix("redgreen-doctor-").tempdir_in(place) {
        Ok(_) => {
            Check::good("worktrees", ran, format!("can create worktrees in {}", root.display()))
        }
        Err(error) => Check::bad("worktrees", ran, &error.into(), FIX),
    }
}

fn known(name: &'static str, ran: &str, answer: Result<String>, fix: &str) -> Check {
    match answer {
        Ok(saw) => Check::good(name, ran, saw),
        Err(error) => Check::bad(name, ran, &error, fix),
    }
}
