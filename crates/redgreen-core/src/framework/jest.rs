//! Runs jest and reads the stream of our `reporters/redgreen-jest.cjs`. Change both together.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::captured::Capture;
use super::facts::{Facts, Reach};
use super::invoke::{CannotRun, Invocation, ReporterFile, Selection};
use super::javascript::{self, Package};
use super::{Execution, Framework, Process};
use crate::format::stream::{Line, Stream};
use crate::report::{Outcome, Report};

pub const FRAMEWORK: Framework = Framework {
    name: "jest",
    how: Execution::Process(Process { invoke, parse, list }),
    looks_for: "jest in package.json, or jest.config.*",
    detect: |folder| PACKAGE.evidence(folder),
    reads: javascript::reads,
    reach: Reach::Tree,
    tools: &[PACKAGE.bin, javascript::PNP, javascript::YARN],
    is_id: javascript::is_id,
    read: javascript::read_id,
    is_test_file: javascript::is_test_file,
    is_runner_config: |path| PACKAGE.is_config(path) || javascript::is_shared_config(path),
    litter: javascript::LITTER,
};

pub(super) const PACKAGE: Package = Package {
    name: "jest",
    configs: &["jest.config.", "jest.setup."],
    bin: "node_modules/.bin/jest",
};

const REPORTER: ReporterFile = ReporterFile {
    path: "redgreen-jest.cjs",
    text: include_str!("../../reporters/redgreen-jest.cjs"),
};

/// Override project settings that would skip tests. Without tests, jest would exit before its
/// reporters finish.
const OPTIONS: &[&str] =
    &["--testLocationInResults", "--ci", "--no-bail", "--no-watchman", "--passWithNoTests"];

/// A pattern that matches no name: files are loaded, but none of their tests run.
const NO_NAME: &str = "(?!)";

fn invoke(facts: &Facts, selection: &Selection) -> Result<Invocation, CannotRun> {
    let reporter = format!("--reporters={}", facts.scratch(REPORTER.path));
    let call = PACKAGE.call(facts)?.args([&reporter]).args(OPTIONS.iter().copied());
    let call = match selection {
        Selection::All => call.args(["--coverage=false"]),
        Selection::Files(paths) => call.args(["--coverage=false", "--runTestsByPath"]).args(paths),
        Selection::One(id) => {
            let (file, name) = javascript::split_id(id).unwrap_or(("", id));
            let call = call.args([
                "--coverage=false",
                "--runTestsByPath",
                file,
                "-t",
                &javascript::pattern(name),
            ]);
            javascript::only(call, name)
        }
        Selection::List => call.args(["--coverage=false", "-t", NO_NAME]),
        Selection::Coverage => {
            let folder =
                format!("--coverageDirectory={}", facts.scratch(javascript::COVERAGE_FOLDER));
            // This run only counts lines, so the project's coverage threshold does not apply.
            call.args([
                "--coverage",
                "--coverageReporters=lcovonly",
                &folder,
                "--coverageThreshold={}",
            ])
        }
    };
    let mut invocation =
        javascript::invocation("jest", call, facts, &[javascript::SHARED, REPORTER]);
    if *selection == Selection::Coverage {
        javascript::add_coverage(&mut invocation);
    }
    Ok(invocation)
}

fn parse(captured: &Capture) -> Report {
    let mut stream = javascript::stream(captured);
    stream.focused = stream
        .started
        .iter()
        .any(|line| line.more.get("mode").and_then(Value::as_str) == Some("only"));
    settle(&mut stream);
    let mut report = javascript::report(captured, FRAMEWORK.name, &stream);
    if stream.files.iter().any(is_absent) {
        report.decided = Some(Outcome::UsageError);
    }
    report.conclude();
    report
}

/// The results at the end of a file are final. Only they contain errors thrown after a test ended,
/// and the tests that were left out. For a test that ran several times, the last result counts.
fn settle(stream: &mut Stream) {
    let mut told: BTreeMap<Option<String>, BTreeMap<Option<String>, Vec<Line>>> = BTreeMap::new();
    for line in stream.results.drain(..) {
        told.entry(line.file.clone()).or_default().entry(line.id.clone()).or_default().push(line);
    }
    let mut ended = BTreeSet::new();
    for file in &mut stream.files {
        let Some(mut tests) = file.tests.take().filter(|tests| !tests.is_empty()) else { continue };
        let mut told = told.remove(&file.file).unwrap_or_default();
        for last in tests.iter_mut().rev() {
            last.file.clone_from(&file.file);
            match told
                .get_mut(&last.id)
                .and_then(Vec::pop)
                .filter(|line| line.outcome == last.outcome)
            {
                Some(line) => *last = line,
                None => last.message = first_message(last),
            }
        }
        stream.results.append(&mut tests);
        ended.insert(file.file.clone());
    }
    stream.results.extend(told.into_values().flat_map(BTreeMap::into_values).flatten());
    stream.started.retain(|line| !ended.contains(&line.file));
}

fn first_message(last: &Line) -> Option<String> {
    last.more.get("messages")?.as_array()?.first()?.as_str().map(str::to_owned)
}

/// Whether the error is that a selected test file does not exist.
fn is_absent(line: &Line) -> bool {
    let file = line.file.as_deref().unwrap_or_default();
    let error = line
        .error
        .as_ref()
        .filter(|error| error.code.as_ref().and_then(Value::as_str) == Some("ENOENT"));
    error
        .and_then(|error| error.message.as_deref())
        .is_some_and(|words| words.ends_with(&format!("open '{file}'")))
}

fn list(captured: &Capture) -> Vec<String> {
    parse(captured).tests.into_iter().map(|test| test.id).collect()
}

#[cfg(test)]
mod tests;
