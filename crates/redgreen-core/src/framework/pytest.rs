//! pytest, read from the stream of our own plugin: one flushed JSON line per event, so that it
//! survives a crash. The plugin is `reporters/redgreen_pytest.py`; change both together.

use std::collections::BTreeMap;

use serde::Deserialize;

use super::captured::Capture;
use super::facts::{Evidence, Facts, Folder, Reach};
use super::invoke::{Call, CannotRun, Invocation, Missing, Probe, ReporterFile, Selection};
use super::{Execution, Framework, Home, Identity, Process, python};
use crate::format::{bounded_head, bounded_tail, stream};
use crate::report::{Exit, Flag, LoadError, Outcome, Report, Stage, Status, Test};

pub const FRAMEWORK: Framework = Framework {
    name: "pytest",
    how: Execution::Process(Process { invoke, parse, list }),
    looks_for: "pytest.ini, conftest.py, pyproject.toml, setup.py, setup.cfg, tox.ini, tests/test_*.py",
    detect,
    reads: python::reads,
    reach: Reach::Tree,
    tools: python::TOOLS,
    is_id: |id| id.split("::").next().is_some_and(|file| file.ends_with(".py")),
    read: read_id,
    is_test_file: python::is_test_file,
    is_runner_config: python::is_runner_config,
    litter: python::LITTER,
};

const PLUGIN: ReporterFile = ReporterFile {
    path: "plugins/redgreen_pytest.py",
    text: include_str!("../../reporters/redgreen_pytest.py"),
};

const EXIT_INTERRUPTED: i32 = 2;
const EXIT_INTERNAL_ERROR: i32 = 3;
/// pytest's exit codes for a run that never reached the tests, or broke on the way. Results
/// reported before that do not count.
const DECIDES: &[(i32, Outcome)] =
    &[(EXIT_INTERNAL_ERROR, Outcome::Crashed), (4, Outcome::UsageError)];

/// `pytest.fail()` and `pytest.raises` raise `Failed`.
const ASSERTION: &[&str] = &["AssertionError", "Failed"];

fn detect(folder: &Folder) -> Evidence {
    let configured = ["pytest.ini", ".pytest.ini", "pytest.toml", "conftest.py"]
        .iter()
        .any(|name| folder.has(name))
        || folder.says("pyproject.toml", "[tool.pytest")
        || folder.says("setup.cfg", "[tool:pytest]")
        || folder.says("tox.ini", "[pytest]");
    if configured {
        return Evidence::Sure;
    }
    if python::is_for_unittest(folder) {
        return Evidence::None;
    }
    if folder.files.iter().any(|path| python::is_test_file(path)) {
        return Evidence::Sure;
    }
    let python =
        ["pyproject.toml", "setup.py", "setup.cfg", "tox.ini"].iter().any(|name| folder.has(name));
    if python { Evidence::Likely } else { Evidence::None }
}

/// Parses `tests/test_a.py::TestAdd::test_two[1-2]` and, for a doctest,
/// `src/kit.py::kit.Roman.parse`.
fn read_id(id: &str) -> Identity<'_> {
    let row = id.strip_suffix(']').and_then(|id| id.split_once('['));
    let (whole, case) = row.map_or((id, None), |(whole, case)| (whole, Some(case)));
    let (file, names) = whole.split_once("::").unwrap_or((whole, ""));
    let names = names.split("::").flat_map(|name| name.split('.')).filter(|name| !name.is_empty());
    Identity::of(Home::File(file), names.collect(), case)
}

fn invoke(facts: &Facts, selection: &Selection) -> Result<Invocation, CannotRun> {
    let python = python::interpreter(facts, FRAMEWORK.name)?;
    let with_coverage = *selection == Selection::Coverage;
    // `python -m pytest` instead of `pytest`: it adds the project root to the import path, and many
    // projects rely on that.
    let module =
        if with_coverage { python::under_coverage(facts, python.clone()) } else { python.clone() };
    let call =
        module.args(["-m", "pytest", "-p", "redgreen_pytest", "--continue-on-collection-errors"]);
    // `-x` in the project's settings would leave planned tests without a result.
    let call = call.args(["--maxfail=0"]);
    // Move the cache out of the worktree instead of disabling it: `--ff` in a project's addopts is
    // an error without a cache.
    let call = call.args(["-o", &format!("cache_dir={}", facts.scratch("pytest-cache"))]);
    // Test ids are relative to this folder, wherever the configuration file is.
    let call = call.args([format!("--rootdir={}", facts.root)]);
    let call = match selection {
        Selection::All | Selection::Coverage => call,
        Selection::Files(paths) => call.args(paths),
        Selection::One(id) => call.args([id]),
        Selection::List => call.args(["--collect-only", "-q"]),
    };
    let mut invocation = python::invocation("python -m pytest", call, facts, PLUGIN);
    invocation.probes.push(Probe {
        // Use the same import folders: the project may be a part of pytest itself.
        call: Call {
            env: invocation.call.env.clone(),
            ..python.clone().args(["-c", "import pytest"])
        },
        missing: Missing {
            what: format!("{} cannot import pytest", python.words.join(" ")),
            evidence: String::new(),
            next: format!("{} -m pip install pytest", python.words.join(" ")),
        },
    });
    if with_coverage {
        python::add_coverage(&mut invocation, facts, &python);
    }
    Ok(invocation)
}

/// Reads the plugin's stream. Skips foreign or truncated lines. Their results are then missing, and
/// [`Report::conclude`] detects that.
fn parse(captured: &Capture) -> Report {
    let mut reading = StreamState::default();
    for event in stream::events(captured.file(".jsonl").unwrap_or_default()) {
        reading.take(event);
    }
    reading.conclude(captured)
}

fn list(captured: &Capture) -> Vec<String> {
    parse(captured).planned.unwrap_or_default()
}

/// One line of the stream. Unknown fields and events are ignored, so the plugin can report more.
#[derive(Deserialize)]
#[serde(tag = "event", rename_all = "kebab-case")]
enum Event {
    Start {
        #[serde(default)]
        root: String,
    },
    Collect(Collect),
    Collected {
        ids: Vec<String>,
    },
    TestStart {
        id: String,
        file: Option<String>,
        line: Option<u32>,
    },
    Phase(Phase),
    /// Call and teardown passed; most tests have no other event.
    Passed {
        id: String,
        seconds: f64,
    },
    Finish {
        exitstatus: i32,
    },
}

/// A file or class that yielded no tests.
#[derive(Deserialize)]
struct Collect {
    id: String,
    outcome: String,
    /// The class of the exception and of its causes, outermost first.
    exception: Option<Vec<String>>,
    message: Option<String>,
    /// The message of the innermost exception.
    reason: Option<String>,
    file: Option<String>,
    line: Option<u32>,
}

/// The end of a test's setup, call or teardown.
#[derive(Deserialize)]
struct Phase {
    id: String,
    when: String,
    outcome: String,
    xfail: Option<String>,
    /// The exception's class and its base classes.
    exception: Option<Vec<String>>,
    message: Option<String>,
    file: Option<String>,
    line: Option<u32>,
    seconds: Option<f64>,
}

#[derive(Default)]
struct StreamState {
    root: String,
    finish: Option<i32>,
    planned: Option<Vec<String>>,
    order: Vec<String>,
    seen: BTreeMap<String, TestProgress>,
    skipped_files: Vec<Test>,
    load_errors: Vec<LoadError>,
}

/// The known facts about one test so far.
#[derive(Default)]
struct TestProgress {
    file: Option<String>,
    line: Option<u32>,
    word: Option<Test>,
    /// Its teardown was reported, so later events are not caused by it.
    ended: bool,
    /// A plugin reran it after a failure.
    rerun: bool,
}

impl StreamState {
    fn take(&mut self, event: Event) {
        match event {
            Event::Start { root } => self.root = root,
            Event::Collect(collect) if collect.outcome == "skipped" => self.skip_file(&collect),
            Event::Collect(collect) => self.load_errors.push(self.load_error(collect)),
            Event::Collected { ids } => self.planned = Some(ids),
            Event::TestStart { id, file, line } => {
                let seen = self.seen(&id);
                (seen.file, seen.line, seen.ended) = (file, line, false);
            }
            Event::Phase(phase) => self.phase(phase),
            Event::Passed { id, seconds } => self.passed(id, seconds),
            Event::Finish { exitstatus } => self.finish = Some(exitstatus),
        }
    }

    fn seen(&mut self, id: &str) -> &mut TestProgress {
        if !self.seen.contains_key(id) {
            self.order.push(id.to_owned());
        }
        self.seen.entry(id.to_owned()).or_default()
    }

    /// A file that skips itself hides its tests. Report it as one skipped test instead of nothing.
    fn skip_file(&mut self, collect: &Collect) {
        self.skipped_files.push(Test {
            file: Some(collect.id.clone()),
            message: collect.message.as_deref().map(bounded_tail),
            ..Test::new(&collect.id, Status::Skipped)
        });
    }

    fn load_error(&self, collect: Collect) -> LoadError {
        let (kind, code) = python::load_kind(&collect.exception.unwrap_or_default());
        let file = match collect.file {
            Some(file) => self.relative(&file),
            None => collect.id.split("::").next().unwrap_or_default().to_owned(),
        };
        let message = collect.reason.or(collect.message).unwrap_or_default();
        LoadError {
            stage: Stage::Collect,
            file: Some(file),
            line: collect.line,
            kind,
            code,
            message: bounded_tail(&message),
        }
    }

    fn phase(&mut self, phase: Phase) {
        let crash_file = phase.file.as_deref().map(|file| self.relative(file));
        let seen = self.seen(&phase.id);
        if phase.when == "teardown" {
            seen.ended = true;
        }
        if phase.outcome == "rerun" {
            seen.rerun = true;
            return;
        }
        let Some(status) = phase_status(&phase) else { return };
        // The line of the assertion if it is in the test itself, else the line of the test.
        let in_test = status.is_failure()
            && phase.when == "call"
            && crash_file.is_some()
            && crash_file == seen.file;
        let test = Test {
            id: phase.id,
            status,
            file: seen.file.clone().or(crash_file),
            line: if in_test { phase.line } else { seen.line },
            message: phase.message.as_deref().map(bounded_head),
            exception: phase.exception.and_then(|classes| classes.into_iter().next()),
            duration_ms: phase.seconds.map(|seconds| seconds * 1000.0),
            outside: status == Status::Errored && phase.when != "call",
        };
        // A failure sticks: subtests report under their parent's id, before the parent ends.
        if seen
            .word
            .as_ref()
            .is_none_or(|word| !word.status.is_failure() || test.status > word.status)
        {
            seen.word = Some(test);
        }
    }

    fn passed(&mut self, id: String, seconds: f64) {
        let seen = self.seen(&id);
        seen.ended = true;
        if seen.word.as_ref().is_none_or(|word| !word.status.is_failure()) {
            let duration_ms = Some(seconds * 1000.0);
            let (file, line) = (seen.file.clone(), seen.line);
            seen.word = Some(Test { file, line, duration_ms, ..Test::new(id, Status::Passed) });
        }
    }

    fn relative(&self, path: &str) -> String {
        let inside = path.strip_prefix(self.root.as_str()).and_then(|rest| rest.strip_prefix('/'));
        inside.filter(|_| !self.root.is_empty()).unwrap_or(path).to_owned()
    }

    fn conclude(self, captured: &Capture) -> Report {
        let exit = captured.exit;
        let mut report = captured.report(FRAMEWORK.name, DECIDES);
        report.finished = self.finish.is_some() && exit != Exit::Code(EXIT_INTERNAL_ERROR);
        report.planned = self.planned;
        report.load_errors = self.load_errors;
        let mut seen = self.seen;
        for id in self.order {
            let Some(seen) = seen.remove(&id) else { continue };
            if seen.rerun {
                report.flag(Flag::Flaky);
            }
            report.tests.push(ended(id, seen, exit));
        }
        report.tests.extend(self.skipped_files);
        if exit == Exit::Code(EXIT_INTERNAL_ERROR) {
            report
                .errors_outside
                .push("pytest stopped with an internal error, its own or a plugin's".to_owned());
        }
        if let Exit::Code(EXIT_INTERRUPTED | EXIT_INTERNAL_ERROR) = exit {
            report.flag(Flag::RunnerStopped);
        }
        // A plugin or a conftest.py can change the exit code after the run.
        if exit == Exit::Code(0) && self.finish.is_some_and(|status| status != 0) {
            report.flag(Flag::ExitCodeContradicts);
        }
        report.conclude();
        report
    }
}

/// The status that one phase gives its test. A passed setup or teardown gives none.
fn phase_status(phase: &Phase) -> Option<Status> {
    let class_is = |names: &[&str]| {
        phase.exception.iter().flatten().any(|class| names.contains(&class.as_str()))
    };
    match (phase.outcome.as_str(), phase.when.as_str()) {
        ("passed", "call") => {
            Some(if phase.xfail.is_some() { Status::Xpassed } else { Status::Passed })
        }
        ("passed", _) => None,
        ("skipped", _) => {
            Some(if phase.xfail.is_some() { Status::Xfailed } else { Status::Skipped })
        }
        // A failure without an exception is a strict xfail that passed.
        ("failed", "call") if phase.exception.is_none() || class_is(ASSERTION) => {
            Some(Status::Failed)
        }
        _ => Some(Status::Errored),
    }
}

/// The final result of a test. A test that started and was never torn down ended the process, or
/// hit our time limit.
fn ended(id: String, seen: TestProgress, exit: Exit) -> Test {
    let unheard = Test { file: seen.file, line: seen.line, ..Test::new(id, Status::NotRun) };
    let mut test = seen.word.unwrap_or(unheard);
    if !seen.ended {
        test.status = if exit == Exit::TimedOut { Status::TimedOut } else { Status::Crashed };
    } else if seen.rerun && test.status == Status::Passed {
        test.status = Status::Flaky;
    }
    test
}

#[cfg(test)]
mod tests;
