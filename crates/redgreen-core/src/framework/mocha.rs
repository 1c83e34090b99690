//! Runs mocha and reads the stream of our `reporters/redgreen-mocha.cjs`. Change both together.
//! Mocha loads all files into one process before the first test. A file that does not load ends the
//! run, and only stderr has the reason.

use super::captured::Capture;
use super::facts::{Facts, Reach};
use super::invoke::{Call, CannotRun, Invocation, ReporterFile, Selection};
use super::javascript::{self, Package};
use super::{Execution, Framework, Process};
use crate::format::bounded_head;
use crate::format::stream::Stream;
use crate::report::{Exit, Outcome, Report};

pub const FRAMEWORK: Framework = Framework {
    name: "mocha",
    how: Execution::Process(Process { invoke, parse, list }),
    looks_for: "mocha in package.json, or .mocharc.*",
    detect: |folder| PACKAGE.evidence(folder),
    reads: javascript::reads,
    reach: Reach::Package,
    tools: &[PACKAGE.bin, C8.bin, javascript::PNP, javascript::YARN],
    is_id: javascript::is_id,
    read: javascript::read_id,
    is_test_file: javascript::is_test_file,
    is_runner_config: |path| PACKAGE.is_config(path) || javascript::is_shared_config(path),
    litter: javascript::LITTER,
};

pub(super) const PACKAGE: Package =
    Package { name: "mocha", configs: &[".mocharc."], bin: "node_modules/.bin/mocha" };

const REPORTER: ReporterFile = ReporterFile {
    path: "redgreen-mocha.cjs",
    text: include_str!("../../reporters/redgreen-mocha.cjs"),
};

/// The files whose tests are selected, one per line.
const FILES: &str = "REDGREEN_FILES";

/// Mocha itself does not measure coverage.
const C8: Package = Package { name: "c8", configs: &[], bin: "node_modules/.bin/c8" };

/// Override project settings that would skip tests or run none. A full trace has absolute paths.
const OPTIONS: &[&str] = &[
    "--full-trace",
    "--no-parallel",
    "--no-bail",
    "--no-watch",
    "--no-forbid-only",
    "--no-forbid-pending",
];

/// Mocha's messages about an early end that no test file caused.
const ENDS: &[(&str, Outcome)] =
    &[("No test files found", Outcome::NoTests), ("forbidden by --forbid-", Outcome::UsageError)];

/// Precedes the error of a file that could not be loaded.
const LOADING: &str = "Exception during run:";

fn invoke(facts: &Facts, selection: &Selection) -> Result<Invocation, CannotRun> {
    let mocha = PACKAGE.call(facts)?;
    let call = match selection {
        Selection::Coverage => covered(facts)?.args(mocha.words),
        Selection::All | Selection::Files(_) | Selection::One(_) | Selection::List => mocha,
    };
    let call =
        call.args(["--reporter", &facts.scratch(REPORTER.path)]).args(OPTIONS.iter().copied());
    let call = match selection {
        Selection::List => call.args(["--dry-run"]),
        Selection::All | Selection::Coverage => call.args(["--no-dry-run"]),
        Selection::Files(paths) => {
            call.args(["--no-dry-run"]).args(paths).env(FILES, paths.join("\n"))
        }
        Selection::One(id) => {
            let (file, name) = javascript::split_id(id).unwrap_or(("", id));
            call.args(["--no-dry-run", "--grep", &javascript::pattern(name), file]).env(FILES, file)
        }
    };
    let mut invocation =
        javascript::invocation("mocha", call, facts, &[javascript::SHARED, REPORTER]);
    if *selection == Selection::Coverage {
        javascript::add_coverage(&mut invocation);
    }
    Ok(invocation)
}

/// The prefix that runs a program with coverage.
fn covered(facts: &Facts) -> Result<Call, CannotRun> {
    let folder = facts.scratch(javascript::COVERAGE_FOLDER);
    let raw = facts.scratch("v8");
    let call = C8.call(facts)?.args(["--reporter=lcovonly", "--check-coverage=false"]);
    Ok(call.args([format!("--reports-dir={folder}"), format!("--temp-directory={raw}")]))
}

fn parse(captured: &Capture) -> Report {
    let mut stream = javascript::stream(captured);
    if stream.finished {
        // Tests that were retried, or whose hook failed, have a start but no end of their own.
        stream.started.clear();
    }
    let mut report = javascript::report(captured, FRAMEWORK.name, &stream);
    report.planned =
        javascript::planned(&stream, captured).filter(|planned| keeps_to(&stream, planned.len()));
    if captured.file(".jsonl").is_some_and(<[u8]>::is_empty) && captured.exit != Exit::Code(0) {
        add_end(&mut report, captured);
    }
    report.conclude();
    report
}

/// Whether all collected tests will run. A pattern or `only` leaves tests out; a failing hook ends
/// its suite.
fn keeps_to(stream: &Stream, planned: usize) -> bool {
    let hook_failed =
        stream.results.iter().any(|line| line.outcome.as_deref() == Some("hook-failed"));
    stream.total == Some(planned) && !hook_failed
}

/// The reason why no test ran.
pub(super) fn add_end(report: &mut Report, captured: &Capture) {
    let words = String::from_utf8_lossy(&captured.stderr);
    if let Some(&(_, outcome)) = ENDS.iter().find(|(end, _)| words.contains(end)) {
        report.decided = Some(outcome);
        report.errors_outside.push(bounded_head(&words));
        return;
    }
    let error = javascript::told(&words);
    // Mocha 9 prints only the error.
    let is_of_a_file = error.name.is_some() && error.frame.is_some();
    if words.contains(LOADING) || is_of_a_file {
        report.decided = None;
        report.load_errors.push(javascript::load_error(None, &error, captured));
    }
}

fn list(captured: &Capture) -> Vec<String> {
    javascript::planned(&javascript::stream(captured), captured).unwrap_or_default()
}

#[cfg(test)]
mod tests;
