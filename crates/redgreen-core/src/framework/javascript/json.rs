//! The reports that JavaScript runners write at the end of a run, for commands that start a runner
//! themselves: `jest --json --outputFile=F`, `vitest --reporter=json --outputFile=F`, `mocha
//! --reporter=json`. They have less detail than our reporters' streams, and do not exist if the run
//! did not finish.

use std::collections::BTreeSet;

use serde::Deserialize;
use serde_json::{Map, Value};

use super::super::captured::Capture;
use crate::format::stream::{JsError, Line, Stream};
use crate::report::Report;

/// Jest's heading before the reason why a file has no tests.
const JEST_HEADING: &str = "● Test suite failed to run";

/// Used if no details are known.
const OUTSIDE: &str = "a hook failed, or an error was thrown outside of the tests";

/// The report of jest and vitest.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Jest {
    test_results: Vec<File>,
    /// Files that could not be loaded or whose hooks failed. Only jest counts them.
    num_runtime_error_test_suites: Option<usize>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct File {
    name: String,
    status: String,
    #[serde(default)]
    message: String,
    assertion_results: Vec<Case>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Case {
    ancestor_titles: Vec<String>,
    title: String,
    status: String,
    duration: Option<f64>,
    location: Option<Location>,
    #[serde(default)]
    failure_messages: Vec<String>,
    #[serde(default)]
    failure_details: Vec<Value>,
    #[serde(default)]
    failing: bool,
    #[serde(default)]
    invocations: u32,
}

#[derive(Deserialize)]
struct Location {
    line: u32,
}

/// The report of mocha: all tests, and again grouped by result. A failed hook is only among the
/// failures.
#[derive(Deserialize)]
struct Mocha {
    tests: Vec<MochaTest>,
    pending: Vec<MochaTest>,
    failures: Vec<MochaTest>,
    passes: Vec<MochaTest>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct MochaTest {
    title: String,
    full_title: String,
    file: Option<String>,
    duration: Option<f64>,
    #[serde(default)]
    current_retry: u32,
    #[serde(default)]
    err: JsError,
}

/// Reads a report of jest or vitest.
pub fn jest(captured: &Capture, runner: &str, bytes: &[u8]) -> Report {
    let Ok(jest) = serde_json::from_slice::<Jest>(bytes) else { return unread(captured, runner) };
    let mut stream = Stream { opened: true, finished: true, ..Stream::default() };
    let is_vitest = jest.num_runtime_error_test_suites.is_none();
    let mut broken = 0;
    for file in jest.test_results {
        stream.focused |= file.status == "focused";
        // If tests of the file failed, its message only repeats theirs.
        if file.assertion_results.is_empty() && file.status == "failed" {
            broken += 1;
            let message = file.message.trim_start().trim_start_matches(JEST_HEADING).trim();
            if message.contains(super::WORKER_GONE) {
                let id = Some(captured.relative(&file.name));
                stream.started.push(Line { id, file: Some(file.name.clone()), ..Line::default() });
            }
            let error = JsError { message: Some(message.to_owned()), ..JsError::default() };
            stream.files.push(Line {
                file: Some(file.name.clone()),
                error: Some(error),
                ..Line::default()
            });
        }
        for case in file.assertion_results {
            // Jest left it out; in vitest it was waiting when its process died.
            let is_lost = is_vitest && case.status == "pending";
            let to = if is_lost { &mut stream.started } else { &mut stream.results };
            to.push(case.line(&file.name));
        }
    }
    if jest.num_runtime_error_test_suites.is_some_and(|count| count > broken) {
        stream.outside.push(OUTSIDE.to_owned());
    }
    super::report(captured, runner, &stream)
}

impl Case {
    fn line(self, file: &str) -> Line {
        // Vitest keeps the errors of earlier attempts after a retry.
        let again = self.status == "passed" && !self.failure_messages.is_empty();
        let more = [
            ("failing", Value::from(self.failing)),
            ("invocations", Value::from(self.invocations)),
        ];
        let more = more.into_iter().chain(again.then_some(("retries", Value::from(1))));
        let thrown = self.failure_messages.iter().enumerate().map(|(at, trace)| JsError {
            name: class(trace).map(str::to_owned),
            matcher: self
                .failure_details
                .get(at)
                .is_some_and(|detail| detail.get("matcherResult").is_some()),
            message: Some(message(trace)),
            ..JsError::default()
        });
        let errors = thrown.collect();
        let names: Vec<String> = self.ancestor_titles.into_iter().chain([self.title]).collect();
        Line {
            id: Some(names.join(super::MARK)),
            file: Some(file.to_owned()),
            line: self.location.map(|location| location.line),
            errors: Some(errors),
            outcome: Some(self.status),
            ms: self.duration,
            more: more.map(|(name, value)| (name.to_owned(), value)).collect(),
            ..Line::default()
        }
    }
}

/// The class at the start of an error's trace.
fn class(trace: &str) -> Option<&str> {
    let (class, _) = trace.split_once(':')?;
    let class = class.split(' ').next().unwrap_or(class);
    class.chars().all(char::is_alphanumeric).then_some(class)
}

fn message(trace: &str) -> String {
    let words = trace.split("\n    at ").next().unwrap_or(trace);
    let words = class(trace).and_then(|_| words.split_once(": ")).map_or(words, |(_, words)| words);
    words.to_owned()
}

/// Reads a report of mocha.
pub fn mocha(captured: &Capture, runner: &str, bytes: &[u8]) -> Report {
    let Ok(mocha) = serde_json::from_slice::<Mocha>(bytes) else {
        let mut report = unread(captured, runner);
        super::super::mocha::add_end(&mut report, captured);
        return report;
    };
    let mut stream = Stream { opened: true, finished: true, ..Stream::default() };
    let tests: BTreeSet<String> = mocha.tests.into_iter().map(|test| test.full_title).collect();
    let (failures, hooks): (Vec<_>, Vec<_>) =
        mocha.failures.into_iter().partition(|test| tests.contains(&test.full_title));
    stream.outside.extend(
        hooks.into_iter().map(|hook| hook.err.message.unwrap_or_else(|| OUTSIDE.to_owned())),
    );
    for (tests, outcome) in
        [(mocha.passes, "passed"), (mocha.pending, "skipped"), (failures, "failed")]
    {
        stream.results.extend(tests.into_iter().map(|test| test.line(outcome)));
    }
    super::report(captured, runner, &stream)
}

impl MochaTest {
    fn line(self, outcome: &str) -> Line {
        // Mocha does not separate the names of the suites.
        let suites = self.full_title.strip_suffix(&self.title).unwrap_or_default().trim_end();
        let id = if suites.is_empty() {
            self.title
        } else {
            format!("{suites}{}{}", super::MARK, self.title)
        };
        let retry = ("retry".to_owned(), Value::from(self.current_retry));
        Line {
            id: Some(id),
            file: self.file,
            outcome: Some(outcome.to_owned()),
            error: (outcome == "failed").then_some(self.err),
            ms: self.duration,
            more: Map::from_iter([retry]),
            ..Line::default()
        }
    }
}

fn unread(captured: &Capture, runner: &str) -> Report {
    super::report(captured, runner, &Stream::default())
}

#[cfg(test)]
mod tests {
    use super::super::super::samples::Check;
    use super::super::{MARK, name_of};
    use super::*;
    use crate::report::Outcome;

    /// The reports contain no pattern, and jest's do not mention a missing file. In vitest 4, a
    /// test that timed out has a trace but no message.
    const JEST: &[(&str, Outcome)] =
        &[("filter_none", Outcome::Skipped), ("run_file_missing", Outcome::DidNotCompile)];
    const VITEST: &[(&str, Outcome)] =
        &[("filter_none", Outcome::Skipped), ("hang_own_timeout", Outcome::Errored)];
    const VITEST_5: &[(&str, Outcome)] = &[("filter_none", Outcome::Skipped)];
    const MOCHA: &[(&str, Outcome)] = &[("crash_exit0_parallel", Outcome::Errored)];
    /// Expected messages include class and trace. A test marked as failing is expected to pass.
    const SKIPS: &[(&str, &str)] =
        &[("*", "message"), ("skipped", "tests"), ("hang_own_timeout", "tests")];

    /// The expectations have a space between names, and absolute paths.
    fn name(id: &str) -> String {
        let name = name_of(id);
        if name.ends_with(".test.js") {
            format!("/project/{name}")
        } else {
            name.replace(MARK, " ")
        }
    }

    type Parse = fn(&Capture, &str, &[u8]) -> Report;

    fn read(captured: &Capture, parse: Parse) -> Report {
        let mut report = parse(captured, "x", captured.file("report.json").unwrap_or_default());
        report.conclude();
        report
    }

    #[track_caller]
    fn check(
        runner: &'static str,
        parse: fn(&Capture) -> Report,
        alone: &'static [(&'static str, Outcome)],
    ) {
        Check::new(runner, parse).ids(name).reads("report.json").alone(alone).skips(SKIPS).run();
    }

    #[test]
    fn parses_captured_reports() {
        check("jest", |captured| read(captured, jest), JEST);
        check("vitest", |captured| read(captured, jest), VITEST);
        check("vitest5", |captured| read(captured, jest), VITEST_5);
        check("mocha", |captured| read(captured, mocha), MOCHA);
    }
}
