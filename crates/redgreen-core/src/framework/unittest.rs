//! Python's unittest has no structured report, so our `reporters/redgreen_unittest.py` runs it and
//! writes a stream. Change both together.

use std::collections::BTreeSet;

use super::captured::Capture;
use super::facts::{Evidence, Facts, Folder, Reach};
use super::invoke::{CannotRun, Invocation, ReporterFile, Selection};
use super::{Execution, Framework, Home, Identity, Process, python};
use crate::format::stream::{Line, Stream};
use crate::format::{bounded_head, bounded_tail};
use crate::report::{Exit, LoadError, LoadErrorKind, Outcome, Report, Stage, Status};

pub const FRAMEWORK: Framework = Framework {
    name: "unittest",
    how: Execution::Process(Process { invoke, parse, list }),
    looks_for: "test files that use unittest, in a project that does not name pytest",
    detect,
    reads: python::reads,
    reach: Reach::Tree,
    tools: python::TOOLS,
    is_id: |id| id.contains('.') && !id.contains("::") && !id.contains('/'),
    read: read_id,
    is_test_file: python::is_test_file,
    is_runner_config: python::is_runner_config,
    litter: python::LITTER,
};

const REPORTER: ReporterFile = ReporterFile {
    path: "plugins/redgreen_unittest.py",
    text: include_str!("../../reporters/redgreen_unittest.py"),
};

/// argparse's exit code, which our reporter also uses for a name that does not exist.
const DECIDES: &[(i32, Outcome)] = &[(2, Outcome::UsageError)];

/// The loader's placeholder for a module that it could not import.
const FAILED_LOAD: &str = "unittest.loader._FailedTest.";
/// Placeholders for tests if the hook of a class or a module fails.
const HOOKS: &[&str] = &["setUpClass ", "tearDownClass ", "setUpModule ", "tearDownModule "];

fn detect(folder: &Folder) -> Evidence {
    if python::is_for_unittest(folder) { Evidence::Sure } else { Evidence::None }
}

/// Parses `tests.test_a.TestAdd.test_two (n=1)`.
fn read_id(id: &str) -> Identity<'_> {
    let subtest = id.strip_suffix(')').and_then(|id| id.split_once(" ("));
    let (whole, case) = subtest.map_or((id, None), |(whole, case)| (whole, Some(case)));
    Identity::of(Home::Unknown, whole.split('.').collect(), case)
}

fn invoke(facts: &Facts, selection: &Selection) -> Result<Invocation, CannotRun> {
    let python = python::interpreter(facts, FRAMEWORK.name)?;
    let with_coverage = *selection == Selection::Coverage;
    let module =
        if with_coverage { python::under_coverage(facts, python.clone()) } else { python.clone() };
    let starts = starts(&facts.folder);
    let call = module
        .args(["-m", "redgreen_unittest"])
        .args(starts.iter().flat_map(|start| ["--start", start]));
    let call = match selection {
        Selection::All | Selection::Coverage => call,
        Selection::List => call.args(["--list"]),
        Selection::Files(paths) => call.args(paths.iter().map(|path| module_of(path, &starts))),
        // A subtest cannot run without its test: `pkg.Case.test_table (i=1)`.
        Selection::One(id) => call.args([id.split(" (").next().unwrap_or(id)]),
    };
    let mut invocation = python::invocation("python -m unittest", call, facts, REPORTER);
    if with_coverage {
        python::add_coverage(&mut invocation, facts, &python);
    }
    Ok(invocation)
}

/// Discovery does not enter a folder without `__init__.py`, so such a folder is a separate start.
fn starts(folder: &Folder) -> Vec<&'static str> {
    let is_start = |name: &&str| {
        let within = |path: &str| path.strip_prefix(name)?.strip_prefix('/').map(is_discovered);
        let has_tests = folder.files.iter().any(|path| within(path).unwrap_or_default());
        has_tests && !folder.has(&format!("{name}/__init__.py"))
    };
    std::iter::once(".").chain(["tests", "test"].into_iter().filter(is_start)).collect()
}

/// The patterns of our reporter: `test*.py` is unittest's default, `*_test.py` is a common
/// alternative.
fn is_discovered(path: &str) -> bool {
    path.starts_with("test") || path.ends_with("_test.py")
}

/// The module of a file, relative to its discovery start.
fn module_of(path: &str, starts: &[&str]) -> String {
    let within = |start: &&str| path.strip_prefix(start)?.strip_prefix('/');
    let path = starts.iter().find_map(within).unwrap_or(path);
    path.strip_suffix(".py").unwrap_or(path).replace('/', ".")
}

fn parse(captured: &Capture) -> Report {
    let mut report = captured.report(FRAMEWORK.name, DECIDES);
    let stream = Stream::read(captured.file(".jsonl").unwrap_or_default());
    report.finished = stream.finished;
    if !stream.opened && matches!(captured.exit, Exit::Code(code) if code != 0) {
        report.decided = Some(Outcome::UsageError);
    }
    for line in &stream.load_errors {
        report.load_errors.push(load_error(line, captured));
    }
    for mut test in stream.tests(captured.exit, status) {
        if let Some(module) = test.id.strip_prefix(FAILED_LOAD) {
            // The loader uses the same placeholder for a missing test and for a module that fails
            // to import.
            if test.exception.as_deref() == Some("ImportError") {
                report.load_errors.push(loader_error(module, &test.message.unwrap_or_default()));
            } else {
                report.decided = Some(Outcome::UsageError);
            }
            continue;
        }
        // Use the place of the test, unless it failed in its own file: then the line that failed.
        let start = stream.started.iter().find(|line| line.id.as_deref() == Some(&test.id));
        if let Some(start) = start.filter(|start| start.file != test.file) {
            (test.file, test.line) = (start.file.clone(), start.line);
        }
        if HOOKS.iter().any(|hook| test.id.starts_with(hook)) && test.status.is_failure() {
            report.errors_outside.push(test.message.clone().unwrap_or_default());
        }
        test.file = test.file.as_deref().map(|file| captured.relative(file));
        report.tests.push(test);
    }
    drop_parents_of_subtests(&mut report, &stream);
    report.planned = planned(&stream, &report);
    report.conclude();
    report
}

/// A test with a failed subtest has no separate result. A test that was running when the process
/// ended keeps its result.
fn drop_parents_of_subtests(report: &mut Report, stream: &Stream) {
    let running =
        stream.started.last().filter(|_| !stream.finished).and_then(|line| line.id.clone());
    let parents = parents_of_subtests(report);
    let lost: BTreeSet<&str> = stream.lost().filter_map(|line| line.id.as_deref()).collect();
    report.tests.retain(|test| {
        let told_below = parents.contains(&test.id) && lost.contains(test.id.as_str());
        !told_below || running.as_ref() == Some(&test.id)
    });
}

fn parents_of_subtests(report: &Report) -> BTreeSet<String> {
    report.tests.iter().filter_map(|test| Some(test.id.split_once(" (")?.0.to_owned())).collect()
}

/// The planned tests that must have a result. Excludes tests that failed to load, that a failed
/// hook prevented, or that only their failed subtests report.
fn planned(stream: &Stream, report: &Report) -> Option<Vec<String>> {
    let parents = parents_of_subtests(report);
    let held_back = !report.errors_outside.is_empty();
    let expected =
        |id: &&String| !id.starts_with(FAILED_LOAD) && !parents.contains(*id) && !held_back;
    Some(stream.planned.as_ref()?.iter().map(|(_, id)| id).filter(expected).cloned().collect())
}

fn status(line: &Line) -> Status {
    match line.outcome.as_deref() {
        Some("passed") => Status::Passed,
        Some("failed") => Status::Failed,
        Some("skipped") => Status::Skipped,
        Some("xfailed") => Status::Xfailed,
        Some("xpassed") => Status::Xpassed,
        Some(_) | None => Status::Errored,
    }
}

fn load_error(line: &Line, captured: &Capture) -> LoadError {
    let chain: Vec<String> = line.exception.all().map(str::to_owned).collect();
    let (kind, code) = python::load_kind(&chain);
    let module = line.id.as_deref().map(|module| format!("{}.py", module.replace('.', "/")));
    LoadError {
        stage: Stage::Collect,
        file: line.file.as_deref().map(|file| captured.relative(file)).or(module),
        line: line.line,
        kind,
        code,
        message: bounded_head(line.message.as_deref().unwrap_or_default()),
    }
}

/// Parses the exception that stopped an import; its last line starts with the class.
fn loader_error(module: &str, text: &str) -> LoadError {
    let last = text.trim_end().lines().last().unwrap_or_default();
    let class = last.split(':').next().unwrap_or_default().to_owned();
    let (kind, code) = python::load_kind(&[class]);
    let file = Some(format!("{}.py", module.replace('.', "/")));
    let kind = if last.is_empty() { LoadErrorKind::Other } else { kind };
    LoadError { stage: Stage::Collect, file, line: None, kind, code, message: bounded_tail(text) }
}

fn list(captured: &Capture) -> Vec<String> {
    let stream = Stream::read(captured.file(".jsonl").unwrap_or_default());
    stream.planned.unwrap_or_default().into_iter().map(|(_, id)| id).collect()
}

#[cfg(test)]
mod tests;
