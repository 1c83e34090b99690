//! What a run needs beside the tests: git, linters, agents, a sandbox, a place for worktrees.

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
        let branch = head.branch.map_or_else(|| "no branch checked out".to_owned(), |name| format!("on {name}"));
        let commit = head.commit.get(..8).unwrap_or(&head.commit).to_owned();
        let changes = if dirty.is_clean() {
            "clean".to_owned()
        } else {
            format!("{} staged, {} unstaged, {} untracked", dirty.staged, dirty.unstaged, dirty.untracked)
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
    checks.push(known("identity", "git var GIT_COMMITTER_IDENT", git.identity(), "git config user.name YOU"));
    checks
}

/// One check for each linter that the settings name or the project has a configuration for.
pub(super) fn linters(file: &File, root: &Path, environment: &Environment) -> Vec<Check> {
    let mut checks: Vec<Check> = Vec::new();
    for line in file.linters(root, environment) {
        let program = line.split_whitespace().next().unwrap_or_default();
        let ran = format!("looked for {program} on the PATH");
        // What stands before a program's name is the shell's business.
        let is_name = program.chars().all(|letter| letter.is_ascii_alphanumeric() || "-_.+".contains(letter));
        checks.push(if !is_name || environment.has_program(program) {
            Check::good("linter", ran, line)
        } else {
            Check::wrong("linter", ran, format!("{line}: {program} is not there"))
                .fix(format!("install {program}, or correct lint.commands in {}", config::FILE))
        });
    }
    for missing in file.linters_missing(root, environment) {
        let ran = format!("looked for {} on the PATH", missing.program);
        let saw =
            format!("the project has a configuration for {}, which is not there; runs do without", missing.program);
        checks.push(Check::note("linter", ran, saw).fix(missing.install));
    }
    if checks.is_empty() {
        let saw = "none; GREEN and REFACTOR are judged by the tests alone";
        checks.push(Check::good(
            "linter",
            format!("looked for lint.commands and configurations in {}", root.display()),
            saw,
        ));
    }
    checks
}

pub(super) fn script(file: &File, root: &Path, environment: &Environment) -> Check {
    let script = environment.script.clone().or_else(|| file.agent.script.as_ref().map(|script| root.join(script)));
    match script {
        Some(script) if script.is_file() => {
            Check::good("script", format!("looked for {}", script.display()), "the scripted agent has its turns")
        }
        Some(script) => Check::wrong(
            "script",
            format!("looked for {}", script.display()),
            "the settings name it, and it is not there",
        )
        .fix(format!("correct agent.script in {} or REDGREEN_SCRIPT", config::FILE)),
        None => Check::good(
            "script",
            "looked at agent.script and REDGREEN_SCRIPT",
            "none is named; the scripted agent is given one by --script",
        ),
    }
}

/// Agents that are here: who they say they are, and whether somebody is logged in. A script does without.
pub(super) fn agents(environment: &Environment, stop: &Stop) -> Result<Check> {
    let ran = format!("looked on the PATH for {}", presence::PREFERRED.join(", "));
    let table = config::agents::table()?;
    let mut found = Vec::new();
    for (name, row) in presence::PREFERRED.iter().filter_map(|name| Some((*name, table.get(*name)?))) {
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
        found.push(format!("{name}: {}; {login}", version.unwrap_or("no version told".into())));
    }
    if found.is_empty() {
        return Ok(Check::good("agents", ran, "none; a model's key or a script does as well: redgreen agents"));
    }
    Ok(Check::good("agents", format!("{ran}; --version"), found.join("\n")))
}

/// Who would work in a run for which nobody is named, as the run itself finds out.
pub(super) fn worker(start: &Path, environment: &Environment, stop: &Stop) -> (Check, Option<String>) {
    const RAN: &str = "asked who works where nobody is named";
    let team = ops::open(start, environment.clone(), stop)
        .and_then(|project| ops::team(&project, &Choice::default(), None))
        .map(|(team, ..)| team.name());
    match team {
        Ok(name) => (Check::good("worker", RAN, &name), Some(name)),
        Err(error) => (Check { finding: Finding::Note, ..Check::bad("worker", RAN, &error, "redgreen agents") }, None),
    }
}

/// What seals tests and agents off here, and what could: each is tried as a run would use it.
pub(super) fn sandbox() -> Result<Check> {
    let mut saw = Vec::new();
    for (means, works) in Sandbox::each()? {
        let works = works.map_or_else(|error| format!("{error:#}"), |()| "works".to_owned());
        saw.push(format!("{}: {works}", means.as_str()));
    }
    saw.push(format!("tests and agents run behind: {}", Sandbox::here()?.by().as_str()));
    Ok(Check::good("sandbox", "ran `true` behind each", saw.join("\n")))
}

/// Tried where the folder is, or would be; nothing is left there.
pub(super) fn worktrees(root: Result<PathBuf>) -> Check {
    const FIX: &str = "REDGREEN_WORKTREES=/some/folder redgreen doctor";
    let root = match root {
        Ok(root) => root,
        Err(error) => return Check::bad("worktrees", "looked for a place", &error, FIX),
    };
    let place = root.ancestors().find(|place| place.is_dir()).unwrap_or(&root);
    let ran = format!("made a folder in {} and removed it", place.display());
    match tempfile::Builder::new().prefix("redgreen-doctor-").tempdir_in(place) {
        Ok(_) => Check::good("worktrees", ran, format!("they can be made in {}", root.display())),
        Err(error) => Check::bad("worktrees", ran, &error.into(), FIX),
    }
}

fn known(name: &'static str, ran: &str, answer: Result<String>, fix: &str) -> Check {
    match answer {
        Ok(saw) => Check::good(name, ran, saw),
        Err(error) => Check::bad(name, ran, &error, fix),
    }
}
