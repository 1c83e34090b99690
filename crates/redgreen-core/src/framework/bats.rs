//! Bats, read from two reports: the JUnit XML has the result of each test, and TAP has the plan. A
//! killed test looks passed in the XML, and a test can print TAP of its own, so a run counts only
//! if both reports agree and the plan was completed.

use super::captured::Capture;
use super::facts::{Evidence, Facts, Folder, LISTED_FOLDERS, Reach};
use super::invoke::{Call, CannotRun, Invocation, Missing, ReportAt, Selection, Step};
use super::{Execution, Framework, Home, Identity, Process, file_name, identity};
use crate::format::tap::{self, Tap};
use crate::format::{bounded_head, junit};
use crate::report::{Exit, Flag, LoadErrorKind, Outcome, Report, Status};

pub const FRAMEWORK: Framework = Framework {
    name: "bats",
    how: Execution::Process(Process { invoke, parse, list }),
    looks_for: "*.bats, also in test or tests",
    detect,
    reads: |_| false,
    reach: Reach::Package,
    tools: &["test/bats/bin/bats", "tests/bats/bin/bats", "node_modules/.bin/bats", "bats"],
    is_id: |id| id.contains(".bats::"),
    read: read_id,
    is_test_file,
    is_runner_config: |_| false,
    litter: &[],
};

const RECURSIVE: &str = "--recursive";
/// Starts a test, or ends the line of a function that is a test.
const MARK: &str = "@test";
const NAMES: &str = "names";
const XML: &str = "report.xml";
/// Bats exits before the process that writes its report. That process keeps stderr open while it
/// writes, so reading stderr to the end waits for both.
const WAIT_FOR_REPORT: &str = r#"set -o pipefail; { "$@" 2>&1 >&3 3>&- | cat >&2; } 3>&1"#;
/// Bats names these functions when a hook of the file failed. Otherwise the file could not be read.
const HOOKS: &[&str] =
    &["function `setup_file'", "function `teardown_file'", "function `setup_suite'"];

fn is_suite(path: &str) -> bool {
    path.ends_with(".bats")
}

fn detect(folder: &Folder) -> Evidence {
    if folder.files.iter().any(|path| is_suite(path)) { Evidence::Sure } else { Evidence::None }
}

fn read_id(id: &str) -> Identity<'_> {
    match id.split_once("::") {
        Some((file, name)) => Identity::of(Home::File(file), vec![name], None),
        None => identity::whole(id),
    }
}

fn is_test_file(path: &str) -> bool {
    let in_tests = path.split('/').rev().skip(1).any(|folder| matches!(folder, "test" | "tests"));
    is_suite(path) || (in_tests && (path.ends_with(".bash") || path.ends_with(".sh")))
}

fn invoke(facts: &Facts, selection: &Selection) -> Result<Invocation, CannotRun> {
    let Some(bats) = facts.first_tool(FRAMEWORK.tools) else {
        return Err(CannotRun::Missing(Missing {
            what: "bats is not installed".to_owned(),
            evidence: "the project has .bats files, and no bats was found in it or on PATH"
                .to_owned(),
            next: "install bats: https://bats-core.readthedocs.io/en/stable/installation.html"
                .to_owned(),
        }));
    };
    let call = Call::new(["bash", "-c", WAIT_FOR_REPORT, "bash", bats, "--formatter", "tap"]);
    let call = call.args(["--report-formatter", "junit", "--output", &facts.scratch]);
    let call = match selection {
        Selection::All => call.args(roots(facts)),
        Selection::Files(paths) => call.args(paths.iter().filter(|path| is_suite(path)).cloned()),
        Selection::One(id) => {
            let (file, name) = id.split_once("::").unwrap_or(("", id));
            // An id contains only the file name, not its path.
            let path = facts.folder.files.iter().find(|path| file_name(path) == file).cloned();
            let call = call.args(["--filter", &format!("^{}$", quoted(name))]);
            call.args(path.map_or_else(|| roots(facts), |path| vec![path]))
        }
        Selection::List => return Ok(counted(bats, facts)),
        Selection::Coverage => {
            return Err(CannotRun::Unsupported("no coverage tool: bats measures no lines"));
        }
    };
    let mut invocation = Invocation::new("bats", call);
    invocation.reports.push(ReportAt::Scratch(XML.to_owned()));
    Ok(invocation)
}

/// Bats counts the tests, and the sources provide their names.
fn counted(bats: &str, facts: &Facts) -> Invocation {
    let roots = roots(facts);
    let mut invocation =
        Invocation::new("bats --count", Call::new([bats, "--count"]).args(roots.iter().cloned()));
    let folders = roots.iter().filter(|root| *root != RECURSIVE).cloned();
    let depth: &[&str] =
        if roots.iter().any(|root| root == RECURSIVE) { &[] } else { &["-maxdepth", "1"] };
    let find = Call::new(["find"]).args(folders).args(depth.iter().copied());
    let find = find.args(["-name", "*.bats", "-exec", "grep", "-H", MARK, "{}", "+"]);
    invocation.after.push(Step { name: NAMES, call: find });
    invocation
}

/// Returns no tests unless every test that Bats counts has a literal name in the source.
fn list(captured: &Capture) -> Vec<String> {
    let count: Option<usize> = String::from_utf8_lossy(&captured.stdout).trim().parse().ok();
    let lines =
        captured.step_after(NAMES).map(|step| String::from_utf8_lossy(&step.stdout).into_owned());
    let ids: Vec<String> =
        lines.as_deref().unwrap_or_default().lines().filter_map(declared).collect();
    if count == Some(ids.len()) { ids } else { Vec::new() }
}

/// Returns the id for a line such as `test/calc.bats:@test "adds" {`.
fn declared(line: &str) -> Option<String> {
    let (path, line) = line.split_once(".bats:")?;
    let name = named(line).or_else(|| named_by_comment(line))?;
    // Bash would expand names that contain these characters.
    (!name.contains(['$', '`', '\\'])).then(|| format!("{}.bats::{name}", file_name(path)))
}

/// Parses a line as Bats does: `@test NAME {`, up to the last brace after a blank.
fn named(line: &str) -> Option<&str> {
    let rest = line.trim_start().strip_prefix(MARK)?;
    let head = |end: usize| rest.get(..end).unwrap_or_default();
    let end =
        rest.rmatch_indices('{').map(|(at, _)| at).find(|&at| head(at).ends_with([' ', '\t']))?;
    let name = head(end).trim_end().strip_prefix([' ', '\t'])?.trim_start();
    let name = name.strip_prefix(['"', '\'']).unwrap_or(name);
    Some(name.strip_suffix(['"', '\'']).unwrap_or(name)).filter(|name| !name.is_empty())
}

/// Parses `name() { # @test`.
fn named_by_comment(line: &str) -> Option<&str> {
    let function = line
        .trim_end()
        .strip_suffix(MARK)?
        .trim_end()
        .strip_suffix('#')?
        .trim_end()
        .strip_suffix('{')?;
    function.trim_end().trim_end_matches(['(', ')']).split_whitespace().last()
}

/// The folders and files with tests. A copy of Bats in the test folder brings its own tests, so the
/// search is then not recursive.
fn roots(facts: &Facts) -> Vec<String> {
    let own_copy = facts.tool("test/bats/bin/bats").or(facts.tool("tests/bats/bin/bats")).is_some();
    let suites: Vec<&String> = facts.folder.files.iter().filter(|path| is_suite(path)).collect();
    let mut roots: Vec<String> =
        suites.iter().filter(|path| !path.contains('/')).map(|path| (*path).clone()).collect();
    let inside = |folder: &&&str| suites.iter().any(|path| path.starts_with(&format!("{folder}/")));
    roots.extend(LISTED_FOLDERS.iter().filter(inside).map(|folder| (*folder).to_owned()));
    if !own_copy {
        roots.insert(0, RECURSIVE.to_owned());
    }
    roots
}

/// Escapes a name for bash's regular expressions.
fn quoted(name: &str) -> String {
    let mut quoted = String::new();
    for letter in name.chars() {
        if r"\.+*?()|[]{}^$".contains(letter) {
            quoted.push('\\');
        }
        quoted.push(letter);
    }
    quoted
}

fn parse(captured: &Capture) -> Report {
    let mut report = captured.report(FRAMEWORK.name, &[]);
    let failed = matches!(captured.exit, Exit::Code(code) if code != 0);
    let documents: Vec<_> = captured.file(XML).map(junit::parse).into_iter().collect();
    let tap = tap::parse(&captured.stdout);
    let cases: usize = documents.iter().map(|document| document.cases.len()).sum();
    if cases == 0 && tap.points.is_empty() && tap.planned.is_none() && failed {
        report.decided = Some(Outcome::UsageError);
        report.errors_outside.push(bounded_head(&String::from_utf8_lossy(&captured.stderr)));
    }
    junit::add(&mut report, &junit::BATS, &documents, |file| captured.relative(file));
    let broken_files = report.load_errors.len();
    sort_out_files(&mut report, captured);
    for test in &mut report.tests {
        if let Some((file, line)) = test.message.as_deref().and_then(|words| place(words, captured))
        {
            (test.file, test.line) = (Some(file), Some(line));
        }
        // The test was killed while it ran, so TAP has no line for it.
        if test.status == Status::Passed && !has_passed_line(&tap, &test.id) {
            test.status =
                if captured.exit == Exit::TimedOut { Status::TimedOut } else { Status::Crashed };
        }
    }
    let executed = tap.points.len();
    match tap.planned {
        None => report.finished = false,
        Some(planned) if planned == executed && executed == cases => {}
        // One line represents all tests of a file that could not start.
        Some(planned) if broken_files > 0 && executed < planned => {}
        Some(planned) if executed < planned => report.finished = false,
        Some(_) => report.flag(Flag::SourcesDisagree),
    }
    report.finished &= tap.bail_out.is_none() && !captured.cut;
    report.conclude();
    report
}

/// Whether TAP reports that a test passed; with timing enabled, Bats writes `name # in 35 ms`.
fn has_passed_line(tap: &Tap, id: &str) -> bool {
    let name = id.split_once("::").map_or(id, |(_, name)| name);
    let named = |words: &str| {
        words == name || words.strip_prefix(name).is_some_and(|rest| rest.starts_with(" # in "))
    };
    tap.points.iter().any(|point| point.ok && named(&point.description))
}

/// A case without a name is a file that could not be read, or whose hook failed.
fn sort_out_files(report: &mut Report, captured: &Capture) {
    for mut error in std::mem::take(&mut report.load_errors) {
        if HOOKS.iter().any(|hook| error.message.contains(hook)) {
            report.errors_outside.push(error.message);
            continue;
        }
        if let Some((file, line)) = place(&error.message, captured) {
            (error.file, error.line) = (Some(file), Some(line));
        }
        let says = |words: &[&str]| words.iter().any(|word| error.message.contains(word));
        error.kind = if says(&["syntax error", "unexpected EOF"]) {
            LoadErrorKind::Syntax
        } else if says(&["No such file or directory", "command not found", "Could not find"]) {
            LoadErrorKind::MissingSymbol
        } else {
            LoadErrorKind::Other
        };
        report.load_errors.push(error);
    }
}

/// Parses `(in test file test/calc.bats, line 14)` or `test/calc.bats: line 14: ...`.
fn place(words: &str, captured: &Capture) -> Option<(String, u32)> {
    let found = |line: &str| {
        let (before, after) = line.split_once(", line ").or_else(|| line.split_once(": line "))?;
        let path = before.rsplit("file ").next().filter(|path| is_suite(path))?;
        let digits = after.find(|letter: char| !letter.is_ascii_digit()).unwrap_or(after.len());
        Some((captured.relative(path), after.get(..digits)?.parse().ok()?))
    };
    words.lines().find_map(found)
}

#[cfg(test)]
mod tests;
