//! ExUnit. Test results come from our formatter `reporters/redgreen_exunit.exs`, which writes a
//! stream; compile errors come from the compiler's own lines. Change the formatter and this parser
//! together.

use super::captured::Capture;
use super::facts::{Evidence, Facts, Folder, Reach};
use super::invoke::{
    Call, CannotRun, CoverageAt, Invocation, Missing, ReportAt, ReporterFile, Selection, Step,
};
use super::{Execution, Framework, Process, file_name, identity};
use crate::coverage::Format;
use crate::format::bounded_head;
use crate::format::stream::{self, Line, Stream};
use crate::report::{Exit, LoadError, LoadErrorKind, Outcome, Report, Stage, Status};

pub const FRAMEWORK: Framework = Framework {
    name: "exunit",
    how: Execution::Process(Process { invoke, parse, list }),
    looks_for: "mix.exs",
    detect: |folder: &Folder| if folder.has("mix.exs") { Evidence::Sure } else { Evidence::None },
    reads: |_| false,
    // A run in the root of an umbrella project runs its applications.
    reach: Reach::Tree,
    tools: &["elixir", "mix"],
    is_id: |id| split_id(id).is_some(),
    read: identity::whole,
    is_test_file,
    is_runner_config: |path| {
        let in_config = path.split('/').rev().skip(1).any(|folder| folder == "config");
        matches!(file_name(path), "mix.exs" | "mix.lock") || (in_config && path.ends_with(".exs"))
    },
    litter: &["_build/"],
};

const REPORTER: ReporterFile = ReporterFile {
    path: "redgreen_exunit.exs",
    text: include_str!("../../reporters/redgreen_exunit.exs"),
};
const STREAM: &str = "stream.jsonl";
const COVERAGE: &str = "coverage.lcov";
const COMPILE: &str = "compile";
/// A tag that no test has: mix then excludes all tests, and names them.
const NO_TAG: &str = "redgreen_none";

const SYNTAX: &[&str] = &["SyntaxError", "TokenMissingError", "MismatchedDelimiterError"];
/// Compiler messages about a missing symbol.
const MISSING_SYMBOL: &[&str] = &[
    "undefined function",
    "undefined variable",
    "is not loaded and could not be found",
    "could not be found",
    "is undefined",
    "is not available",
];
/// Precedes the file and the class of a compile error.
const COMPILATION: &str = "== Compilation error in file ";

fn is_test_file(path: &str) -> bool {
    let in_test = path.split('/').rev().skip(1).any(|folder| folder == "test");
    path.ends_with("_test.exs") || (in_test && (path.ends_with(".exs") || path.ends_with(".ex")))
}

/// Splits `CalcTest test adds` into the module and the name.
fn split_id(id: &str) -> Option<(&str, &str)> {
    let (module, name) = id.split_once(' ')?;
    let is_module = module.starts_with(|letter: char| letter.is_ascii_uppercase());
    let kinds = ["test ", "property ", "doctest "];
    (is_module && kinds.iter().any(|kind| name.starts_with(kind))).then_some((module, name))
}

fn invoke(facts: &Facts, selection: &Selection) -> Result<Invocation, CannotRun> {
    let (Some(elixir), Some(mix)) = (facts.tool("elixir"), facts.tool("mix")) else {
        return Err(CannotRun::Missing(Missing {
            what: "elixir is not installed".to_owned(),
            evidence: "the project has a mix.exs, and no elixir with mix was found on PATH"
                .to_owned(),
            next: "install Elixir: https://elixir-lang.org/install.html".to_owned(),
        }));
    };
    let call = Call::new([elixir, "-r", &facts.scratch(REPORTER.path), "-S", "mix", "test"]);
    let call = call.args(["--formatter", "RedgreenExUnit", "--formatter", "ExUnit.CLIFormatter"]);
    let call = match selection {
        Selection::All => call,
        Selection::Coverage => call.env("REDGREEN_COVERAGE", facts.scratch(COVERAGE)),
        Selection::Files(paths) => {
            call.args(paths.iter().filter(|path| path.ends_with("_test.exs")).cloned())
        }
        Selection::One(id) => {
            let name = split_id(id).map_or(id.as_str(), |(_, name)| name);
            call.args(["--only", &format!("test:{name}")])
        }
        Selection::List => call.args(["--only", NO_TAG]),
    };
    let mut invocation = Invocation::new(
        "mix test",
        call.env("MIX_ENV", "test").env("REDGREEN_REPORT", facts.scratch(STREAM)),
    );
    invocation.inject.push(REPORTER);
    invocation
        .before
        .push(Step { name: COMPILE, call: Call::new([mix, "compile"]).env("MIX_ENV", "test") });
    invocation.reports.push(ReportAt::Scratch(STREAM.to_owned()));
    if *selection == Selection::Coverage {
        invocation.coverage = Some(CoverageAt::new(COVERAGE, Format::Lcov));
    }
    Ok(invocation)
}

fn parse(captured: &Capture) -> Report {
    let mut report = captured.report(FRAMEWORK.name, &[]);
    let bytes = captured.file(".jsonl");
    let stream = Stream::read(bytes.unwrap_or_default());
    report.finished = has_finished(bytes.unwrap_or_default());
    let nothing_told = stream.started.is_empty() && stream.results.is_empty() && !stream.finished;
    if let Some(step) = captured.failed_step() {
        report.stage(Stage::Build, false);
        let stage = Stage::Build;
        add_unbuilt(&mut report, &text(&step.stdout, &step.stderr), captured, stage);
    } else if nothing_told && captured.exit == Exit::Code(1) {
        add_unbuilt(
            &mut report,
            &text(&captured.stdout, &captured.stderr),
            captured,
            Stage::Collect,
        );
    } else if bytes.is_none() && captured.exit == Exit::Code(0) {
        // Mix found no test file, so the formatter never started.
        report.finished = true;
    }
    for line in stream.others.iter().filter(|line| line.event == "module") {
        let state = line.more.get("state").and_then(|state| state.as_str()).unwrap_or_default();
        report.errors_outside.push(format!(
            "{}: {}",
            line.id.as_deref().unwrap_or_default(),
            bounded_head(state)
        ));
    }
    for mut test in stream.tests(captured.exit, status) {
        test.file = test.file.as_deref().map(|file| captured.relative(file));
        let told = stream.results.iter().find(|line| line.id.as_ref() == Some(&test.id));
        let microseconds =
            told.and_then(|line| line.more.get("us")).and_then(serde_json::Value::as_f64);
        test.duration_ms = microseconds.map(|microseconds| microseconds / 1000.0);
        report.tests.push(test);
    }
    report.conclude();
    report
}

/// Each application of an umbrella project writes its own start and finish events.
fn has_finished(bytes: &[u8]) -> bool {
    let count =
        |event: &str| stream::events::<Line>(bytes).filter(|line| line.event == event).count();
    let starts = count("start");
    starts > 0 && starts == count("finish")
}

fn status(line: &Line) -> Status {
    match line.outcome.as_deref() {
        Some("passed") => Status::Passed,
        Some("failed") => Status::Failed,
        Some("skipped") => Status::Skipped,
        Some("excluded") => Status::NotRun,
        Some(_) if line.exception.first() == Some("ExUnit.TimeoutError") => Status::TimedOut,
        Some(_) | None => Status::Errored,
    }
}

fn text(stdout: &[u8], stderr: &[u8]) -> String {
    format!("{}\n{}", String::from_utf8_lossy(stdout), String::from_utf8_lossy(stderr))
}

/// Adds the compile errors. If the compiler names no file, mix itself failed.
fn add_unbuilt(report: &mut Report, words: &str, captured: &Capture, stage: Stage) {
    for part in words.split(COMPILATION).skip(1) {
        let mut lines = part.lines();
        let file = lines.next().unwrap_or_default().trim_end_matches("==").trim();
        let told = lines.next().unwrap_or_default();
        let class =
            told.strip_prefix("** (").and_then(|rest| rest.split(')').next()).unwrap_or_default();
        let line = told
            .split_once(&format!("{file}:"))
            .and_then(|(_, rest)| rest.split(':').next()?.parse().ok());
        // Newer compilers log each error before they give up on the file.
        let said = if told.contains("errors have been logged") { words } else { told };
        report.load_errors.push(LoadError {
            stage,
            file: Some(captured.relative(file)),
            line,
            kind: kind_of(class, said),
            code: Some(class.to_owned()).filter(|class| !class.is_empty()),
            message: bounded_head(said),
        });
    }
    if report.load_errors.is_empty() {
        report.decided = Some(Outcome::UsageError);
        report.errors_outside.push(bounded_head(words));
    }
}

fn kind_of(class: &str, words: &str) -> LoadErrorKind {
    if SYNTAX.contains(&class) {
        LoadErrorKind::Syntax
    } else if MISSING_SYMBOL.iter().any(|known| words.contains(known)) {
        LoadErrorKind::MissingSymbol
    } else {
        LoadErrorKind::Other
    }
}

fn list(captured: &Capture) -> Vec<String> {
    let stream = Stream::read(captured.file(".jsonl").unwrap_or_default());
    stream.results.into_iter().filter_map(|line| line.id).collect()
}

#[cfg(test)]
mod tests;
