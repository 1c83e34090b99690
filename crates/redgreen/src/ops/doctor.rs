//! `redgreen doctor`: whether a run could start here, proved by doing what a run does. Every check says what was run,
//! what was seen and, where that is wrong, the command that puts it right.

use std::fs;
use std::path::Path;
use std::time::Duration;

use anyhow::{Error, Result};
use redgreen_core::framework::invoke::Selection;
use redgreen_core::report::{Outcome, Report, Status};
use serde::Serialize;

use crate::config::{self, Environment, File};
use crate::failure::Failure;
use crate::git::Git;
use crate::process::{Interrupted, Stop};
use crate::runner::{self, Settings, Suite};

/// How many failing tests of the baseline are named.
const NAMED_MAX: usize = 3;
/// No test has this in its name.
const NO_SUCH: &str = "_redgreen_finds_no_such_test";
/// Where Linux says which security modules it has.
const SECURITY_MODULES: &str = "/sys/kernel/security/lsm";
const FIX_TOML: &str = "redgreen init --print";

#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Doctor {
    pub version: u32,
    /// A run could start.
    pub ready: bool,
    pub checks: Vec<Check>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Check {
    pub name: String,
    pub finding: Finding,
    /// What was run or looked at.
    pub ran: String,
    pub saw: String,
    /// The command that puts it right.
    pub fix: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Finding {
    Good,
    /// A run can start, and something could be better.
    Note,
    /// No run can start.
    Bad,
}

/// Where the checks happen.
struct Visit<'a> {
    root: &'a Path,
    settings: Settings,
    stop: &'a Stop,
}

/// Makes every check; `tell` hears each one as it is made. Only Ctrl-C is an error.
pub fn doctor(start: &Path, environment: &Environment, stop: &Stop, tell: &mut dyn FnMut(&Check)) -> Result<Doctor> {
    let mut checks = Vec::new();
    let mut note = |check: Check| {
        tell(&check);
        checks.push(check);
    };
    note(known("git", "git version", Git::version()));
    let git = Git::open(start);
    for check in repository(&git) {
        note(check);
    }
    let root = git.map_or_else(|_| start.to_owned(), |git| git.root);
    let file = File::read(&root).and_then(|file| file.policy(environment).map(|policy| (file, policy)));
    let (file, policy) = match file {
        Ok(read) => {
            let there = root.join(config::FILE).is_file();
            let saw = if there { "every key is known, every limit in range" } else { "there is none: defaults hold" };
            note(good("settings", config::FILE, saw));
            read
        }
        Err(error) => {
            note(bad("settings", config::FILE, &error, FIX_TOML));
            Default::default()
        }
    };
    let settings = Settings {
        timeout: Duration::from_millis(policy.red_timeout_ms),
        cargo_target_dir: None,
        virtual_env: environment.virtual_env.clone(),
        path: environment.path.clone(),
    };
    let visit = Visit { root: &root, settings, stop };
    match runner::detect(&root) {
        Ok(suite) => {
            for (name, folder, known_by) in suite.evidence() {
                let place = if folder.is_empty() { "the root" } else { folder };
                note(good("framework", &format!("looked for {known_by}"), &format!("{name} in {place}")));
            }
            for part in suite.parts() {
                visit.suite(&part, &mut note)?;
            }
        }
        Err(error) => note(bad("framework", "looked for what frameworks are known by", &error, "redgreen test")),
    }
    note(linters(&file, &root, environment));
    note(agent(&file, &root, environment));
    note(sandbox(environment));
    note(worktrees(&file, environment));
    let ready = checks.iter().all(|check| check.finding != Finding::Bad);
    Ok(Doctor { version: 1, ready, checks })
}

impl Visit<'_> {
    /// One framework: all, one, none, the list, and the lines reached.
    fn suite(&self, suite: &Suite, note: &mut impl FnMut(Check)) -> Result<()> {
        let ran = suite.run(self.root, &Selection::All, &self.settings, self.stop);
        let report = match go_on(ran)? {
            Ok(report) => report,
            Err(error) => {
                note(bad("suite", &suite.describe(), &error, "redgreen test"));
                return Ok(());
            }
        };
        note(self.baseline(&report));
        if let Some(test) = report.tests.iter().find(|test| test.status == Status::Passed) {
            note(self.one(suite, &test.id)?);
            note(self.none(suite, &format!("{}{NO_SUCH}", test.id))?);
        } else {
            note(remark("one test", &report.command, "no test passes, so none was run alone", "redgreen test"));
        }
        note(self.list(suite, &report)?);
        note(self.coverage(suite)?);
        Ok(())
    }

    fn baseline(&self, report: &Report) -> Check {
        let counts = report.counts();
        let time = format!("{:.1} s", Duration::from_millis(report.wall_ms).as_secs_f64());
        let mut saw = format!("{} passed, {} failed, {} skipped", counts.passed, counts.failed, counts.skipped);
        if counts.load_errors > 0 {
            saw.push_str(&format!(", {} not loaded", counts.load_errors));
        }
        let failing = report.tests.iter().filter(|test| test.status.is_failure());
        let named: Vec<&str> = failing.map(|test| test.id.as_str()).take(NAMED_MAX).collect();
        if !named.is_empty() {
            saw.push_str(&format!("; fails before any work: {}", named.join(", ")));
        }
        let ran = format!("{} ({}, {time})", report.command, report.exit);
        match report.outcome {
            Outcome::Passed | Outcome::Skipped => good("suite", &ran, &format!("green: {saw}")),
            Outcome::Failed | Outcome::Errored => remark("suite", &ran, &format!("red: {saw}"), "redgreen test"),
            Outcome::NoTests => good("suite", &ran, "no test yet"),
            Outcome::DidNotCompile if !report.tests.is_empty() => {
                remark("suite", &ran, &format!("red: {saw}"), "redgreen test")
            }
            Outcome::TimedOut => {
                let limit = self.settings.timeout.as_secs();
                let fix = format!("printf '[timeout]\\nred = {}\\n' >> {}", limit.max(1) * 5, config::FILE);
                broken("suite", &ran, &format!("not done after {limit} s"), &fix)
            }
            Outcome::DidNotCompile => broken("suite", &ran, &format!("does not compile: {saw}"), "redgreen test"),
            Outcome::Crashed => broken("suite", &ran, &format!("did not come to its end: {saw}"), "redgreen test"),
            Outcome::UsageError => broken("suite", &ran, "the runner refused to start", "redgreen test"),
        }
    }

    fn one(&self, suite: &Suite, id: &str) -> Result<Check> {
        let report = match go_on(suite.run(self.root, &Selection::One(id.to_owned()), &self.settings, self.stop))? {
            Ok(report) => report,
            Err(error) => return Ok(bad("one test", id, &error, "redgreen test")),
        };
        let ids: Vec<&str> = report.tests.iter().map(|test| test.id.as_str()).collect();
        let ran = format!("{} for {id}", report.command);
        Ok(if ids == [id] {
            good("one test", &ran, "exactly this one ran")
        } else {
            remark("one test", &ran, &format!("{} tests ran instead of 1", ids.len()), &format!("redgreen test '{id}'"))
        })
    }

    fn none(&self, suite: &Suite, id: &str) -> Result<Check> {
        let report = match go_on(suite.run(self.root, &Selection::One(id.to_owned()), &self.settings, self.stop))? {
            Ok(report) => report,
            Err(error) => return Ok(bad("no test", id, &error, "redgreen test")),
        };
        let ran = format!("{} for {id}", report.command);
        Ok(if report.tests.is_empty() && report.outcome != Outcome::Passed {
            good("no test", &ran, &format!("zero ran ({})", report.exit))
        } else {
            let saw = format!("{} tests ran for a name that does not exist", report.tests.len());
            broken("no test", &ran, &saw, &format!("redgreen test '{id}'"))
        })
    }

    fn list(&self, suite: &Suite, report: &Report) -> Result<Check> {
        let ran = format!("{}, listing only", report.command);
        let listed = match go_on(suite.list(self.root, &self.settings, self.stop))? {
            Ok(listed) => listed,
            Err(error) => return Ok(bad("list", &ran, &error, "redgreen test --list")),
        };
        let (named, seen) = (listed.len(), report.tests.len());
        Ok(if named == 0 && seen > 0 {
            let ran = format!("{}, listing only", suite.describe());
            Check { fix: None, ..remark("list", &ran, "it names no test without running it", "") }
        } else if named == seen {
            good("list", &ran, &format!("{named} named, {seen} ran"))
        } else {
            remark("list", &ran, &format!("{named} named, but {seen} ran"), "redgreen test --list")
        })
    }

    fn coverage(&self, suite: &Suite) -> Result<Check> {
        let ran = format!("{}, measuring lines", suite.describe());
        Ok(match go_on(suite.coverage(self.root, &self.settings, self.stop))? {
            Ok((_, Some(coverage))) => {
                good("coverage", &ran, &format!("{} of {} lines reached", coverage.hit(), coverage.found()))
            }
            Ok((_, None)) => Check { fix: None, ..remark("coverage", &ran, "unknown: no tool measured it", "") },
            // Runs do without.
            Err(error) => Check { finding: Finding::Note, ..bad("coverage", &ran, &error, "redgreen test --coverage") },
        })
    }
}

/// A check that could not be made is a finding; the user's wish to stop is not.
fn go_on<T>(result: Result<T>) -> Result<Result<T>> {
    match result {
        Err(error) if error.chain().any(|cause| cause.is::<Interrupted>()) => Err(error),
        other => Ok(other),
    }
}

fn repository(git: &Result<Git>) -> Vec<Check> {
    let git = match git {
        Ok(git) => git,
        Err(error) => return vec![bad("repository", "git rev-parse", error, "git init")],
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
    vec![known("repository", "git status", state), known("identity", "git var GIT_COMMITTER_IDENT", git.identity())]
}

fn linters(file: &File, root: &Path, environment: &Environment) -> Check {
    let linters = file.linters(root, environment);
    let ran = "looked for configured linters that are installed";
    if linters.is_empty() {
        good("linters", ran, "none; REFACTOR is judged by the tests alone")
    } else {
        good("linters", ran, &linters.join("; "))
    }
}

fn agent(file: &File, root: &Path, environment: &Environment) -> Check {
    let script = environment.script.clone().or_else(|| file.agent.script.as_ref().map(|script| root.join(script)));
    match script {
        Some(script) if script.is_file() => good("agent", &script.display().to_string(), "the scripted agent's turns"),
        Some(script) => broken(
            "agent",
            &script.display().to_string(),
            "the script that the settings name does not exist",
            &format!("correct agent.script in {}", config::FILE),
        ),
        None => remark(
            "agent",
            "looked for agent.script and REDGREEN_SCRIPT",
            "the scripted agent is built in; no script is named",
            super::BEGIN,
        ),
    }
}

/// Presence only: nothing is sealed off yet.
fn sandbox(environment: &Environment) -> Check {
    let mut there: Vec<&str> = ["bwrap", "unshare"].into_iter().filter(|name| environment.has_program(name)).collect();
    if fs::read_to_string(SECURITY_MODULES).is_ok_and(|modules| modules.contains("landlock")) {
        there.push("landlock");
    }
    let saw = if there.is_empty() { "none; runs do without".to_owned() } else { there.join(", ") };
    good("sandbox", "looked for bwrap, unshare, landlock", &saw)
}

/// Tried where the folder is, or would be; nothing is left there.
fn worktrees(file: &File, environment: &Environment) -> Check {
    let root = match config::worktree_root(file, environment) {
        Ok(root) => root,
        Err(error) => return bad("worktrees", "looked for a place", &error, "REDGREEN_WORKTREES=/some/folder"),
    };
    let place = root.ancestors().find(|place| place.is_dir()).unwrap_or(&root);
    let ran = format!("wrote into {}", place.display());
    match tempfile::Builder::new().prefix("redgreen-doctor-").tempdir_in(place) {
        Ok(_) => good("worktrees", &ran, &format!("{} can be written to", root.display())),
        Err(error) => bad("worktrees", &ran, &error.into(), "REDGREEN_WORKTREES=/some/folder redgreen doctor"),
    }
}

fn known(name: &str, ran: &str, answer: Result<String>) -> Check {
    match answer {
        Ok(saw) => good(name, ran, &saw),
        Err(error) => bad(name, ran, &error, "git status"),
    }
}

fn good(name: &str, ran: &str, saw: &str) -> Check {
    Check { name: name.to_owned(), finding: Finding::Good, ran: ran.to_owned(), saw: saw.to_owned(), fix: None }
}

fn remark(name: &str, ran: &str, saw: &str, fix: &str) -> Check {
    Check { finding: Finding::Note, fix: Some(fix.to_owned()), ..good(name, ran, saw) }
}

fn broken(name: &str, ran: &str, saw: &str, fix: &str) -> Check {
    Check { finding: Finding::Bad, ..remark(name, ran, saw, fix) }
}

/// What an error says, with its own fix where it has one.
fn bad(name: &str, ran: &str, error: &Error, fix: &str) -> Check {
    match error.chain().find_map(|cause| cause.downcast_ref::<Failure>()) {
        Some(failure) => {
            let saw: Vec<&str> = std::iter::once(&failure.what).chain(&failure.evidence).map(String::as_str).collect();
            broken(name, ran, &saw.join("\n"), failure.next.as_deref().unwrap_or(fix))
        }
        None => broken(name, ran, &format!("{error:#}"), fix),
    }
}
