//! Withheld tests: RED writes a few more examples of the behaviour than it adds to the repository.
//! They have to fail in RED like the others. Code that passes the visible tests but fails the
//! withheld ones only handles the visible values: `green.overfits`. Withheld tests that the code
//! passes are added to the tests with GREEN's commit.

use std::collections::HashSet;

use serde::{Deserialize, Serialize};

use crate::attempts::PassCount;
use crate::judge::reports;
use crate::names::{Oid, ProjectFile, RunFile};
use crate::report::{Exit, Flag, LoadError, LoadErrorKind, Outcome, Report, Status, Test};
use crate::syntax::{Language, items};
use crate::text::without_line_breaks;
use crate::verdict::{Code, Decision, Reason, Verdict};

/// Within this folder of the worktree, a file has the path that it would have in the project.
pub const FOLDER: &str = ".redgreen/withheld";
/// Maximum number of files; each one needs a separate test run in RED.
pub const FILES_MAX: usize = 8;
/// Maximum size of a file; a few examples are smaller.
pub const FILE_BYTES_MAX: usize = 64 << 10;
/// Limits the runner's message about the one reported example.
const MESSAGE_LINES_MAX: usize = 8;
const LINE_CHARS_MAX: usize = 200;

/// The withheld tests of a run, as recorded in its journal.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct WithheldTests {
    /// The file with their texts, relative to the run's folder.
    pub file: RunFile,
    /// The paths in the file that count.
    pub paths: Vec<ProjectFile>,
    /// The number of tests in them.
    pub tests: u64,
}

/// Withheld tests that were added to the tests.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct AddedTests {
    /// The judged tree, including them.
    pub tree: Oid,
    pub paths: Vec<ProjectFile>,
    /// The number of passed tests.
    pub tests: u64,
}

/// A withheld test file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TestFile {
    pub path: ProjectFile,
    pub text: String,
}

/// The withheld tests in a verdict.
#[derive(Clone, Debug, Default)]
pub struct WithheldResults {
    /// RED: the files whose tests fail as expected. GREEN: those whose tests pass.
    pub paths: Vec<ProjectFile>,
    /// GREEN: the tests in them.
    pub passed: Vec<Test>,
    /// GREEN: the number of tests that were run, if any failed.
    pub failing: Option<PassCount>,
}

impl WithheldResults {
    /// GREEN: how many of the tests passed; `None` if none was run.
    pub fn tested(&self) -> Option<PassCount> {
        let passed = u64::try_from(self.passed.len()).unwrap_or(u64::MAX);
        self.failing.or((passed > 0).then_some(PassCount { passed, of: passed }))
    }
}

/// The files in the folder that can be withheld, and why others cannot.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WithheldChoice {
    pub files: Vec<TestFile>,
    pub dropped: Vec<String>,
}

/// Selects the files that can be withheld. `tree` has the paths of the project; a text is `None` if
/// it cannot be read.
pub fn sort(
    found: Vec<(String, Option<String>)>,
    tree: &[&str],
    is_test: impl Fn(&str) -> bool,
) -> WithheldChoice {
    let mut sorted = WithheldChoice::default();
    let more = found.len().saturating_sub(FILES_MAX);
    for (path, text) in found.into_iter().take(FILES_MAX) {
        match usable(&path, text, tree, &is_test) {
            Ok(file) => sorted.files.push(file),
            Err(why) => sorted.dropped.push(format!("not withheld: {path} {why}")),
        }
    }
    if more > 0 {
        sorted.dropped.push(format!("not withheld: {more} files beyond the limit of {FILES_MAX}"));
    }
    sorted
}

fn usable(
    path: &str,
    text: Option<String>,
    tree: &[&str],
    is_test: &impl Fn(&str) -> bool,
) -> Result<TestFile, String> {
    let path =
        ProjectFile::parse(path).map_err(|_| "is not a valid path in the project".to_owned())?;
    let text =
        text.ok_or_else(|| format!("is not a text file of at most {} KiB", FILE_BYTES_MAX >> 10))?;
    if is_taken(&path, tree) {
        return Err("already exists in the project".to_owned());
    }
    if !is_test(&path) {
        return Err("is not a test file of this project".to_owned());
    }
    // pytest imports test files only by name if their folders are not packages.
    let name = |path: &str| path.rsplit('/').next().unwrap_or(path).to_owned();
    if Language::of_path(&path) == Language::Python
        && tree.iter().any(|known| name(known) == name(&path))
    {
        return Err("has the same name as another file".to_owned());
    }
    Ok(TestFile { path, text })
}

/// Whether a file cannot be added to a tree: the path exists, or a folder and a file conflict.
pub fn is_taken(path: &ProjectFile, tree: &[&str]) -> bool {
    let below = |folder: &str, file: &str| {
        file.strip_prefix(folder).is_some_and(|rest| rest.starts_with('/'))
    };
    tree.iter().any(|known| *known == path.as_str() || below(known, path) || below(path, known))
}

/// The number of tests in the files; at least one for each file.
pub fn count(files: &[TestFile]) -> u64 {
    let tests = |file: &TestFile| {
        let language = Language::of_path(&file.path);
        items(language, &file.path, &file.text).iter().filter(|item| item.is_test).count().max(1)
    };
    u64::try_from(files.iter().map(tests).sum::<usize>()).unwrap_or(u64::MAX)
}

/// Whether a withheld file requires missing code, or why it is dropped. `seen` is RED's own report,
/// `with` that of a run with the file added to the candidate.
pub fn at_red(seen: &Report, with: &Report) -> Result<(), String> {
    if did_not_run(with) || matches!(with.outcome, Outcome::TimedOut | Outcome::Crashed) {
        return Err("the test run did not finish with it".to_owned());
    }
    if with.has(Flag::ExitCodeAlone) {
        return Err(
            "the test command reports only an exit code, so its tests cannot be told from others"
                .to_owned(),
        );
    }
    let errors = new_errors(seen, with);
    if let Some(error) = errors.iter().find(|error| error.kind != LoadErrorKind::MissingSymbol) {
        return Err(format!("it does not load: {}", reports::first_line(&error.message)));
    }
    let tests = new_tests(seen, with);
    if !errors.is_empty() || tests.iter().any(|test| test.status.is_failure()) {
        return Ok(());
    }
    match tests.first() {
        Some(test) => Err(format!("{} already passes", test.id)),
        // If RED does not compile, nothing else compiles either.
        None if seen.outcome == Outcome::DidNotCompile
            && with.outcome == Outcome::DidNotCompile =>
        {
            Ok(())
        }
        None => Err("none of its tests ran".to_owned()),
    }
}

/// The result of withheld files with GREEN's code.
#[derive(Clone, Debug, PartialEq)]
pub enum Answer {
    Passed(Vec<Test>),
    /// One failing example for the implementer, and the numbers of failing and of all tests.
    Fails {
        told: Box<Reason>,
        failing: usize,
        of: usize,
    },
    /// The reason why the result says nothing about the code.
    Unusable(String),
}

/// `seen` is the candidate's own report, `with` that of a run with the files added.
pub fn at_green(seen: &Report, with: &Report, files: &[&TestFile]) -> Answer {
    if did_not_run(with) {
        return Answer::Unusable("the test runner failed with them".to_owned());
    }
    let tests = new_tests(seen, with);
    let failing: Vec<&&Test> = tests.iter().filter(|test| test.status != Status::Passed).collect();
    if let Some(first) = failing.first() {
        return Answer::Fails {
            told: Box::new(told(first, files)),
            failing: failing.len(),
            of: tests.len(),
        };
    }
    let fails = |sentence: String| Answer::Fails {
        told: Box::new(Reason::new(Code::GreenOverfits, sentence)),
        failing: 1,
        of: tests.len().max(1),
    };
    match with.outcome {
        Outcome::TimedOut => return fails("a withheld test does not finish".to_owned()),
        Outcome::Crashed => {
            return fails(format!("a withheld test ends the test run ({})", with.exit));
        }
        Outcome::Passed
        | Outcome::Failed
        | Outcome::Errored
        | Outcome::Skipped
        | Outcome::DidNotCompile
        | Outcome::NoTests
        | Outcome::UsageError => {}
    }
    let errors = new_errors(seen, with);
    if let Some(error) = errors.iter().find(|error| is_of_the_code(error)) {
        return fails(format!(
            "a withheld test file does not load: {}",
            reports::first_line(&error.message)
        ));
    }
    match (errors.first(), tests.is_empty()) {
        (Some(error), _) => {
            Answer::Unusable(format!("they do not load: {}", reports::first_line(&error.message)))
        }
        (None, true) => Answer::Unusable("none of their tests ran".to_owned()),
        (None, false) => Answer::Passed(tests.into_iter().cloned().collect()),
    }
}

/// Selects the files that can be added to a candidate. If the implementer created a file at a
/// withheld path, this counts as a changed test; if the path was taken before, the withheld file is
/// dropped. Both are reported.
pub fn free<'a>(
    files: &'a [TestFile],
    base: &[&str],
    head: &[&str],
) -> (Vec<&'a TestFile>, Vec<Reason>, Vec<String>) {
    let (mut free, mut reasons, mut dropped) = (Vec::new(), Vec::new(), Vec::new());
    for file in files {
        let path = &file.path;
        if !is_taken(path, head) {
            free.push(file);
        } else if is_taken(path, base) {
            dropped.push(unused(file, "the project now has a file with this path"));
        } else {
            let sentence =
                format!("{path} is reserved for a withheld test; choose another file name");
            reasons.push(Reason::new(Code::GreenTestsChanged, sentence).place(Some(path), None));
        }
    }
    (free, reasons, dropped)
}

/// The message for a withheld file that is not used.
pub fn unused(file: &TestFile, why: &str) -> String {
    format!("withheld test file {} is not used: {why}", file.path)
}

/// The verdict on code that fails withheld tests. The next attempt can build on it.
pub fn overfits(verdict: Verdict, told: Reason, failing: usize, of: usize) -> Verdict {
    let standing = verdict.standing;
    let mut notes = verdict.notes;
    notes.push(format!("{failing} of {of} withheld tests fail; the agent sees one of them"));
    Verdict { decision: Decision::Refused, notes, standing, ..Verdict::refused(vec![told]) }
}

/// The test's name, the runner's message and the failing line: only this one example.
fn told(test: &Test, files: &[&TestFile]) -> Reason {
    let what = match test.status {
        Status::Skipped | Status::Todo | Status::NotRun | Status::Xfailed => {
            "is skipped, but must pass".to_owned()
        }
        Status::Passed
        | Status::Flaky
        | Status::Xpassed
        | Status::Failed
        | Status::Errored
        | Status::TimedOut
        | Status::Crashed => {
            format!("fails: {}", bounded(test.message.as_deref().unwrap_or("no message")))
        }
    };
    let file = files.iter().find(|file| test.file.as_deref() == Some(file.path.as_str()));
    let number = test.line.and_then(|line| usize::try_from(line).ok()?.checked_sub(1));
    let line = file.zip(number).and_then(|(file, number)| file.text.lines().nth(number));
    let line = line.map(|line| format!("\n{}", bounded(line.trim()))).unwrap_or_default();
    let sentence = format!(
        "{} {what}{line}\nthis test was withheld: the code must also work for values that no \
         visible test uses",
        without_line_breaks(&test.id)
    );
    Reason::in_lines(Code::GreenOverfits, sentence).test(&test.id)
}

fn bounded(message: &str) -> String {
    let lines = message
        .lines()
        .map(str::trim_end)
        .filter(|line| !line.trim().is_empty())
        .take(MESSAGE_LINES_MAX);
    lines
        .map(|line| line.chars().take(LINE_CHARS_MAX).collect::<String>())
        .collect::<Vec<_>>()
        .join("\n")
}

fn did_not_run(report: &Report) -> bool {
    let is_built = report.outcome != Outcome::DidNotCompile || report.load_errors.is_empty();
    report.outcome == Outcome::UsageError
        || report.exit == Exit::NotStarted && is_built && !report.finished
}

/// Tests that only the withheld files can have added.
fn new_tests<'a>(seen: &Report, with: &'a Report) -> Vec<&'a Test> {
    let known: HashSet<&str> = seen.tests.iter().map(|test| test.id.as_str()).collect();
    with.tests.iter().filter(|test| !known.contains(test.id.as_str())).collect()
}

fn new_errors<'a>(seen: &Report, with: &'a Report) -> Vec<&'a LoadError> {
    with.load_errors.iter().filter(|error| !reports::known_load_error(seen, error)).collect()
}

/// A script that loaded before and now fails with an exception: the code that it calls during
/// loading caused it. A compile error can be the withheld test's own mistake, which was not visible
/// in RED.
fn is_of_the_code(error: &LoadError) -> bool {
    let language = error.file.as_deref().map(Language::of_path);
    error.kind == LoadErrorKind::Other
        && language.is_some_and(|one| one == Language::Python || one.is_script())
}

#[cfg(test)]
mod tests;
