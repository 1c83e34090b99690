//! Runs Node's own test runner, `node --test`, and reads the stream of our
//! `reporters/redgreen-node.mjs`. Change both together. Each file is a process. The runner shows it
//! as a test unless it reported tests.

mod script;

use std::collections::{BTreeMap, BTreeSet};

use serde::Deserialize;
use serde_json::Value;

use self::script::Script;
use super::captured::Capture;
use super::facts::{Evidence, Facts, Folder, Reach};
use super::invoke::{
    Call, CannotRun, CoverageAt, Invocation, Missing, ReportAt, ReporterFile, Selection,
};
use super::javascript::{self, Manifest, STREAM};
use super::{Execution, Framework, Process};
use crate::coverage::Format;
use crate::format::{bounded_head, stream};
use crate::report::{Exit, Flag, Outcome, Report, Status, Test};

pub const FRAMEWORK: Framework = Framework {
    name: "node",
    how: Execution::Process(Process { invoke, parse, list }),
    looks_for: "a script with `node --test`, or tests that use node:test",
    detect,
    reads: javascript::reads,
    reach: Reach::Tree,
    tools: &["node", javascript::PNP, javascript::YARN],
    is_id: javascript::is_id,
    read: javascript::read_id,
    is_test_file: javascript::is_test_file,
    is_runner_config: javascript::is_shared_config,
    litter: javascript::LITTER,
};

const REPORTER: ReporterFile = ReporterFile {
    path: "redgreen-node.mjs",
    text: include_str!("../../reporters/redgreen-node.mjs"),
};

/// Loaded into the process of each file.
const CHILD: ReporterFile = ReporterFile {
    path: "redgreen-node-child.cjs",
    text: include_str!("../../reporters/redgreen-node-child.cjs"),
};
/// The exit code that [`CHILD`] sets if a process exits itself with 0.
const LEFT: i64 = 86;

/// Node's exit code for an unknown option.
const DECIDES: &[(i32, Outcome)] = &[(9, Outcome::UsageError)];
const COVERAGE_FILE: &str = "lcov.info";
/// Node 20's messages about tests that a name pattern or `only` leaves out.
const NOT_THE_NAME: &str = "test name does not match pattern";
const NOT_ONLY: &str = "'only' option not set";

fn detect(folder: &Folder) -> Evidence {
    let uses = |(path, text): &(String, String)| {
        javascript::is_test_file(path) && text.contains("node:test")
    };
    let by_tests = folder.texts.iter().any(uses) && !javascript::has_package(folder);
    if by_tests || script(folder).is_some() { Evidence::Sure } else { Evidence::None }
}

fn script(folder: &Folder) -> Option<Script> {
    Script::of(Manifest::of(folder).scripts())
}

/// Whether a script of the project starts Node's own runner.
pub(super) fn is_scripted(manifest: &Manifest) -> bool {
    Script::of(manifest.scripts()).is_some()
}

fn invoke(facts: &Facts, selection: &Selection) -> Result<Invocation, CannotRun> {
    let Some(node) = facts.tool("node") else {
        return Err(CannotRun::Missing(Missing {
            what: "node is not installed".to_owned(),
            evidence: "no node was found on PATH".to_owned(),
            next: "install Node.js: https://nodejs.org".to_owned(),
        }));
    };
    let mut invocation = Invocation::new("node --test", Call::default());
    let reporter = format!("--test-reporter={}", facts.scratch(REPORTER.path));
    let destination = |file: &str| format!("--test-reporter-destination={}", facts.scratch(file));
    let script = script(&facts.folder).unwrap_or_default();
    let node =
        javascript::yarn(facts).map_or_else(|| Call::new([node]), |yarn| Call::new([yarn, "node"]));
    let call = script.with_options(node).args(["--test", &reporter, &destination(STREAM)]);
    let call = match selection {
        // The injected file would be counted.
        Selection::Coverage => call,
        Selection::All | Selection::Files(_) | Selection::One(_) | Selection::List => {
            call.args([format!("--require={}", facts.scratch(CHILD.path))])
        }
    };
    invocation.call = match selection {
        Selection::All => script.with_paths(call),
        Selection::Files(paths) => call.args(paths),
        Selection::One(id) => {
            let (file, name) = javascript::split_id(id).unwrap_or(("", id));
            // Node matches each name separately: the suite names are needed to reach the test.
            let patterns = name
                .split(javascript::MARK)
                .map(|name| format!("--test-name-pattern=^{}$", javascript::quoted(name)));
            javascript::only(call.args(patterns).args([file]), name)
        }
        Selection::List => script.with_paths(call.env("REDGREEN_LIST", "1")),
        Selection::Coverage => {
            invocation.coverage = Some(CoverageAt::new(COVERAGE_FILE, Format::Lcov));
            let lcov = [
                "--experimental-test-coverage",
                "--test-reporter=lcov",
                &destination(COVERAGE_FILE),
            ];
            script.with_paths(call.args(lcov))
        }
    };
    invocation.inject.extend([REPORTER, CHILD]);
    invocation.reports.push(ReportAt::Scratch(STREAM.to_owned()));
    Ok(invocation)
}

/// One event of the runner.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Event {
    event: String,
    /// `file`, `suite`, or unset for a test.
    kind: Option<String>,
    id: String,
    nesting: usize,
    file: Option<String>,
    line: Option<u32>,
    skip: Option<Value>,
    todo: Option<Value>,
    ms: Option<f64>,
    /// Output of a file that failed. Only this contains the reason of a load error.
    stderr: Option<String>,
    error: Option<Error>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Error {
    failure_type: Option<String>,
    name: Option<String>,
    code: Option<Value>,
    message: Option<String>,
    signal: Option<String>,
    exit_code: Option<i64>,
}

/// Identifies a test or a suite by file, depth, line and name.
type Key = (Option<String>, usize, Option<u32>, String);

impl Event {
    fn key(&self) -> Key {
        (self.file.clone(), self.nesting, self.line, self.id.clone())
    }
}

fn parse(captured: &Capture) -> Report {
    let mut report = captured.report(FRAMEWORK.name, DECIDES);
    let Some(bytes) = captured.file(".jsonl") else {
        if matches!(captured.exit, Exit::Code(code) if code != 0) {
            report.decided = Some(Outcome::UsageError);
            report.errors_outside.push(bounded_head(&String::from_utf8_lossy(&captured.stderr)));
        }
        report.conclude();
        return report;
    };
    let mut above: Vec<String> = Vec::new();
    let mut with_tests: BTreeSet<String> = BTreeSet::new();
    let mut files: Vec<Event> = Vec::new();
    let mut open: BTreeMap<Key, usize> = BTreeMap::new();
    for event in stream::events::<Event>(bytes) {
        match (event.event.as_str(), event.kind.as_deref()) {
            ("finish", _) => report.finished = true,
            ("test:pass" | "test:fail", Some("file")) => files.push(event),
            ("test:enqueue", kind) if kind != Some("file") => {
                *open.entry(event.key()).or_default() += 1;
            }
            ("test:start", _) => {
                above.truncate(event.nesting);
                above.push(event.id);
            }
            ("test:pass" | "test:fail", kind) => {
                with_tests.extend(event.file.clone());
                open.entry(event.key()).and_modify(|count| *count = count.saturating_sub(1));
                above.truncate(event.nesting);
                add(&mut report, &event, kind == Some("suite"), &above, captured);
            }
            _ => {}
        }
    }
    if report.finished {
        // A failed process already explains the missing tests of its file.
        let failed = |file: &Option<String>| {
            files.iter().any(|event| event.event == "test:fail" && event.file == *file)
        };
        open.retain(|(file, ..), count| *count > 0 && !failed(file));
        add_lost(&mut report, open.into_keys(), captured);
    }
    for event in &files {
        let told = event.file.as_ref().is_some_and(|file| with_tests.contains(file));
        add_file(&mut report, event, told, captured);
    }
    report.conclude();
    report
}

/// Adds tests that were waiting when their process ended. The full name of nested tests is not
/// known.
fn add_lost(report: &mut Report, lost: impl Iterator<Item = Key>, captured: &Capture) {
    for (file, nesting, line, name) in lost {
        report.flag(Flag::ResultMissing);
        if nesting == 0 {
            let file = file.map(|file| captured.relative(&file));
            let id = javascript::id_of(file.as_deref(), &name);
            report.tests.push(Test { file, line, ..Test::new(id, Status::Crashed) });
        }
    }
}

fn add(report: &mut Report, event: &Event, is_suite: bool, above: &[String], captured: &Capture) {
    let failure = event.error.as_ref().and_then(|error| error.failure_type.as_deref());
    let words = event.error.as_ref().and_then(|error| error.message.as_deref()).unwrap_or_default();
    if event.skip.as_ref().and_then(Value::as_str) == Some(NOT_ONLY) {
        report.flag(Flag::Focused);
    }
    // A test that failed only because of its subtests has no separate result.
    if failure == Some("subtestsFailed") {
        return;
    }
    if is_suite {
        if event.event == "test:fail" {
            report.errors_outside.push(bounded_head(words));
        }
        return;
    }
    let file = event.file.as_deref().map(|file| captured.relative(file));
    let names: Vec<&str> = above.iter().map(String::as_str).chain([event.id.as_str()]).collect();
    report.tests.push(Test {
        id: javascript::id_of(file.as_deref(), &names.join(javascript::MARK)),
        status: status(event),
        file,
        line: event.line,
        message: Some(bounded_head(words)).filter(|words| !words.is_empty()),
        exception: event.error.as_ref().and_then(|error| error.name.clone()),
        duration_ms: event.ms,
        outside: false,
    });
}

fn status(event: &Event) -> Status {
    let error = event.error.as_ref();
    let code = error.and_then(|error| error.code.as_ref()).and_then(Value::as_str);
    let is_assertion = code == Some("ERR_ASSERTION")
        || error.and_then(|error| error.name.as_deref()) == Some("AssertionError");
    if event.skip.as_ref().and_then(Value::as_str) == Some(NOT_THE_NAME) {
        Status::NotRun
    } else if event.skip.is_some() || event.todo.is_some() {
        Status::Skipped
    } else if event.event == "test:pass" {
        Status::Passed
    } else if error.and_then(|error| error.failure_type.as_deref()) == Some("testTimeoutFailure") {
        Status::TimedOut
    } else if is_assertion {
        Status::Failed
    } else {
        Status::Errored
    }
}

/// Adds the process of a file. If the file reported tests, only a failure of the process matters.
fn add_file(report: &mut Report, event: &Event, told: bool, captured: &Capture) {
    let file = event.file.as_deref().map(|file| captured.relative(file));
    if event.event == "test:pass" {
        if !told {
            report.flag(Flag::FileWithoutTests);
        }
        return;
    }
    let error = event.error.as_ref();
    let timed_out =
        error.and_then(|error| error.failure_type.as_deref()) == Some("testTimeoutFailure");
    let signal = error.and_then(|error| error.signal.clone());
    let left = error.is_some_and(|error| error.exit_code == Some(LEFT));
    if timed_out || left || signal.is_some() {
        let status = if timed_out { Status::TimedOut } else { Status::Crashed };
        let id = file.clone().unwrap_or_default();
        report.tests.push(Test { file, message: signal, ..Test::new(id, status) });
    } else if told {
        let words = error.and_then(|error| error.message.as_deref()).unwrap_or_default();
        report.errors_outside.push(bounded_head(words));
    } else {
        let error = javascript::told(event.stderr.as_deref().unwrap_or_default());
        report.load_errors.push(javascript::load_error(event.file.as_deref(), &error, captured));
    }
}

fn list(captured: &Capture) -> Vec<String> {
    parse(captured).tests.into_iter().map(|test| test.id).collect()
}

#[cfg(test)]
mod tests;
