//! `redgreen test`.

use std::fmt::Write;
use std::path::PathBuf;
use std::time::Duration;

use anyhow::Result;
use redgreen_core::report::{EXIT_CODE_ONLY, LoadError, Outcome, Report, Status, Test};
use redgreen_core::text::{shell_word, without_colours};

use super::CommandContext;
use crate::config;
use crate::failure::Code;
use crate::ops::test::{self, CoverageSummary, TestRun};
use crate::view::{self, BAD, DOUBT, GOOD, QUIET, STRONG, paint};

/// The maximum number of failures on one screen.
const FAILURES_MAX: usize = 20;
const MESSAGE_LINES_MAX: usize = 12;
const SLOWEST_MAX: usize = 3;
/// A faster test is not listed as slow.
const SLOW_MS: f64 = 100.0;
const UNCOVERED_MAX: usize = 5;
/// The number of output lines to show if a runner reports nothing else.
const TAIL_LINES_MAX: usize = 15;

/// Run the tests in this checkout and print a summary
#[derive(clap::Args, Debug)]
#[command(after_help = "Examples:\n  \
                        redgreen test                                 all tests\n  \
                        redgreen test tests/test_calc.py              the tests in a file or \
                        folder\n  redgreen test tests/test_calc.py::test_adds   one test, by its \
                        id\n  redgreen test --junit report.xml              write a JUnit \
                        report\n\nExit codes: 0 all passed, 1 something failed, 2 nothing \
                        matched, 4 could not run, 130 interrupted")]
pub(super) struct Args {
    /// Test ids, files or folders [default: all tests]
    #[arg(value_name = "TEST")]
    tests: Vec<String>,
    /// List the tests without running them
    #[arg(long, conflicts_with_all = ["tests", "coverage", "junit"])]
    list: bool,
    /// Measure coverage
    #[arg(long, conflicts_with = "tests")]
    coverage: bool,
    /// Write the results as JUnit XML
    #[arg(long, value_name = "FILE")]
    junit: Option<PathBuf>,
    /// Timeout for the whole run, in seconds
    #[arg(long, value_name = "S", default_value_t = 1800.0)]
    timeout: f64,
    /// Show every failure and the name of every skipped test
    #[arg(short, long)]
    verbose: bool,
}

impl Args {
    pub(super) fn perform(self, desk: &CommandContext) -> Result<Code> {
        let timeout = Duration::from_millis(config::milliseconds(self.timeout, "--timeout")?);
        let tests = test::open(&desk.folder, &desk.environment, timeout, &desk.stop)?;
        if self.list {
            let listed = tests.list()?;
            for name in &listed.unlisted {
                desk.printer.talk(&format!(
                    "{} lists no tests; run them to see their names\n",
                    view::name(name)
                ));
            }
            desk.printer.answer(
                &listed.tests.iter().map(|id| format!("{}\n", name(id))).collect::<String>(),
                &listed,
            );
            return Ok(Code::Done);
        }
        desk.printer.talk(&paint(QUIET, &format!("running {}\n", tests.suite.describe())));
        let pulse = desk.pulse("running the tests");
        let tested = if self.coverage { tests.coverage()? } else { tests.run(&self.tests)? };
        drop(pulse);
        if let Some(file) = &self.junit {
            tested.write_junit(&tests.root, &desk.folder.join(file))?;
        }
        let detail = if self.verbose { Detail::Everything } else { Detail::Screenful };
        let mut text = summary(&tested, detail);
        if self.coverage && tested.coverage.is_none() {
            text.insert_str(0, "coverage is unknown: no coverage tool found\n");
        }
        desk.printer.answer(&text, &tested);
        Ok(tested.code())
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Detail {
    Screenful,
    Everything,
}

/// Failures first, then other facts, and the counts last.
fn summary(tested: &TestRun, detail: Detail) -> String {
    let report = &tested.report;
    let mut text = String::new();
    for error in &report.load_errors {
        text.push_str(&load_error(error));
    }
    for message in &report.errors_outside {
        text.push_str(&item("error", "outside of all tests", "", message));
    }
    let failures: Vec<&Test> =
        report.tests.iter().filter(|test| test.status.is_failure()).collect();
    let shown = if detail == Detail::Everything { failures.len() } else { FAILURES_MAX };
    for test in failures.iter().take(shown) {
        let place = place(test.file.as_deref(), test.line);
        let message = match test.id.starts_with(EXIT_CODE_ONLY) {
            true => report.output_tail.as_str(),
            false => test.message.as_deref().unwrap_or_default(),
        };
        text.push_str(&item(word(test.status), &test.id, &place, message));
    }
    if failures.len() > shown {
        writeln!(
            text,
            "and {}: redgreen test --verbose\n",
            view::count(failures.len() - shown, "more failure")
        )
        .ok();
    }
    if text.is_empty() && tested.code() != Code::Done {
        text.push_str(&item("error", &unexplained(report), "", &report.output_tail));
    }
    let mut rows = vec![
        ("slowest", slowest(report)),
        ("skipped", skipped(report, detail)),
        ("note", report.flags.iter().map(|flag| flag.words()).collect::<Vec<_>>().join("\n")),
    ];
    rows.push(("coverage", tested.coverage.as_ref().map(coverage).unwrap_or_default()));
    rows.push((
        "ran",
        format!("{} ({}, {})", commands(report), report.exit, seconds(report.wall_ms)),
    ));
    let rows: Vec<_> = rows.iter().map(|(name, value)| (*name, value.as_str())).collect();
    text.push_str(&view::block(&rows, ""));
    text.push_str(&closing(tested));
    // A framework without test names cannot run a single test.
    if let Some(first) = failures.first().filter(|test| !test.id.starts_with(EXIT_CODE_ONLY)) {
        text.push_str(&view::next_line(&format!(
            "redgreen test {}",
            shell_word(&without_colours(&first.id))
        )));
    }
    text
}

fn item(word: &str, name: &str, place: &str, message: &str) -> String {
    let mut text =
        format!("{} {}\n", paint(BAD, &format!("{word:<7}")), paint(STRONG, &self::name(name)));
    if !place.is_empty() {
        writeln!(text, "  {}", paint(QUIET, &self::name(place))).ok();
    }
    let lines_max = if word == "error" { TAIL_LINES_MAX } else { MESSAGE_LINES_MAX };
    for line in view::clip(&plain(message), lines_max).lines() {
        writeln!(text, "  {line}").ok();
    }
    text.push('\n');
    text
}

fn load_error(error: &LoadError) -> String {
    let file = error.file.as_deref().unwrap_or("the build");
    item(
        "error",
        &format!("{file} could not be loaded"),
        &place(error.file.as_deref(), error.line),
        &error.message,
    )
}

fn unexplained(report: &Report) -> String {
    match report.outcome {
        Outcome::NoTests => "no tests found".to_owned(),
        Outcome::TimedOut => "the time limit was reached: redgreen test --timeout S".to_owned(),
        Outcome::UsageError => format!("{} could not start", report.command),
        Outcome::Passed
        | Outcome::Failed
        | Outcome::Errored
        | Outcome::Skipped
        | Outcome::DidNotCompile
        | Outcome::Crashed => {
            format!("{} did not finish ({})", report.command, report.exit)
        }
    }
}

fn word(status: Status) -> &'static str {
    match status {
        Status::Failed => "failed",
        Status::Errored => "errored",
        Status::TimedOut => "hung",
        Status::Crashed => "crashed",
        Status::Passed => "passed",
        Status::Xfailed => "xfailed",
        Status::Todo => "todo",
        Status::Skipped => "skipped",
        Status::NotRun => "not run",
        Status::Flaky => "flaky",
        Status::Xpassed => "xpassed",
    }
}

fn place(file: Option<&str>, line: Option<u32>) -> String {
    match (file, line) {
        (Some(file), Some(line)) => format!("{file}:{line}"),
        (Some(file), None) => file.to_owned(),
        (None, _) => String::new(),
    }
}

fn slowest(report: &Report) -> String {
    let timed = report.tests.iter().filter_map(|test| Some((test.duration_ms?, test)));
    let mut slow: Vec<(f64, &Test)> = timed.filter(|(time, _)| *time >= SLOW_MS).collect();
    slow.sort_by(|(one, _), (other, _)| other.total_cmp(one));
    let line =
        |(time, test): &(f64, &Test)| format!("{:>6.2} s  {}", time / 1000.0, name(&test.id));
    slow.iter().take(SLOWEST_MAX).map(line).collect::<Vec<_>>().join("\n")
}

fn skipped(report: &Report, detail: Detail) -> String {
    let not_passed = |test: &&Test| test.status != Status::Passed && !test.status.is_failure();
    let tests: Vec<&Test> = report.tests.iter().filter(not_passed).collect();
    match detail {
        _ if tests.is_empty() => String::new(),
        Detail::Screenful => format!("{} (--verbose names them)", tests.len()),
        Detail::Everything => {
            let line = |test: &&Test| {
                let why = view::brief(&plain(test.message.as_deref().unwrap_or_default()));
                format!("{} {}  {why}", word(test.status), name(&test.id)).trim_end().to_owned()
            };
            tests.iter().map(line).collect::<Vec<_>>().join("\n")
        }
    }
}

fn coverage(covered: &CoverageSummary) -> String {
    let mut text = format!("{:.1} %, {} of {} lines", covered.percent, covered.hit, covered.lines);
    for file in covered.files.iter().filter(|file| file.hit < file.lines).take(UNCOVERED_MAX) {
        write!(text, "\n{} lines not covered in {}", file.lines - file.hit, name(&file.path)).ok();
    }
    text
}

/// Several ids run one command several times. It is listed once.
fn commands(report: &Report) -> String {
    let mut commands: Vec<&str> = Vec::new();
    for command in report.command.split(" && ").filter(|command| !command.is_empty()) {
        if !commands.contains(&command) {
            commands.push(command);
        }
    }
    commands.join(" && ")
}

fn closing(tested: &TestRun) -> String {
    let counts = tested.counts;
    let outside = tested.report.errors_outside.len();
    let parts = [
        (counts.failed, BAD, format!("{} failed", counts.failed)),
        (counts.load_errors, BAD, format!("{} not loaded", counts.load_errors)),
        (outside, BAD, view::count(outside, "error")),
        (counts.passed, GOOD, format!("{} passed", counts.passed)),
        (counts.skipped, DOUBT, format!("{} skipped", counts.skipped)),
    ];
    let mut told: Vec<String> = parts
        .iter()
        .filter(|(number, ..)| *number > 0)
        .map(|(_, style, words)| paint(*style, words))
        .collect();
    match tested.outcome {
        Outcome::Crashed => told.insert(0, paint(BAD, "crashed")),
        Outcome::TimedOut => told.insert(0, paint(BAD, "timed out")),
        Outcome::UsageError => told.insert(0, paint(BAD, "did not run")),
        Outcome::NoTests => told.insert(0, paint(BAD, "no tests")),
        Outcome::Passed
        | Outcome::Failed
        | Outcome::Errored
        | Outcome::Skipped
        | Outcome::DidNotCompile => {}
    }
    format!("{} in {}\n", told.join(", "), seconds(tested.report.wall_ms))
}

fn seconds(milliseconds: u64) -> String {
    format!("{:.1} s", Duration::from_millis(milliseconds).as_secs_f64())
}

/// The text of a test or runner without its terminal colours. The screen shows everything else.
fn plain(text: &str) -> String {
    without_colours(text).into_owned()
}

/// The same for a name, on one line.
fn name(text: &str) -> String {
    view::name(&without_colours(text)).into_owned()
}
