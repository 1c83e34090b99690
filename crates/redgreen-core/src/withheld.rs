//! Withheld tests: RED writes a few more examples of the behaviour than it puts into the repository. They have to fail at
//! RED like the others. Code that passes what it saw and fails what it did not see is written for the visible values only:
//! `green.overfits`. What the code passes becomes part of the tests with GREEN's commit.

use std::collections::HashSet;

use serde::{Deserialize, Serialize};

use crate::judge::reports;
use crate::names::{Oid, ProjectFile, RunFile};
use crate::report::{Exit, Flag, LoadError, LoadErrorKind, Outcome, Report, Status, Test};
use crate::syntax::{Language, items};
use crate::verdict::{Code, Decision, Reason, Verdict};

/// Below this folder of the worktree, a file has the path that it would have in the project.
pub const FOLDER: &str = ".redgreen/withheld";
/// More files than this are not looked at: each is a run of its own at RED.
pub const FILES_MAX: usize = 8;
/// A larger file is no test of a few examples.
pub const FILE_BYTES_MAX: usize = 64 << 10;
/// Of a runner's words about the one example that is told.
const MESSAGE_LINES_MAX: usize = 8;
const LINE_CHARS_MAX: usize = 200;

/// The withheld tests of a run, as its journal knows them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Withheld {
    /// Where their texts are kept, from the run's folder.
    pub file: RunFile,
    /// Those of the file that count.
    pub paths: Vec<ProjectFile>,
    /// How many tests they hold.
    pub tests: u64,
}

/// Withheld tests that became part of the tests.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Joined {
    /// The tree that was judged, with them in it.
    pub tree: Oid,
    pub paths: Vec<ProjectFile>,
    /// How many of them passed.
    pub tests: u64,
}

/// A withheld test file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TestFile {
    pub path: ProjectFile,
    pub text: String,
}

/// What became of the withheld tests in a verdict.
#[derive(Clone, Debug, Default)]
pub struct Unseen {
    /// RED: the files whose tests fail as they should. GREEN: those whose tests pass.
    pub paths: Vec<ProjectFile>,
    /// GREEN: the tests in them.
    pub passed: Vec<Test>,
}

/// What was found in the folder: the files that can be withheld, and why the others cannot.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Sorted {
    pub files: Vec<TestFile>,
    pub dropped: Vec<String>,
}

/// Which of the files can be withheld. `tree` holds the paths of the project; a text is `None` where it cannot be read.
pub fn sort(found: Vec<(String, Option<String>)>, tree: &[&str], is_test: impl Fn(&str) -> bool) -> Sorted {
    let mut sorted = Sorted::default();
    let more = found.len().saturating_sub(FILES_MAX);
    for (path, text) in found.into_iter().take(FILES_MAX) {
        match usable(&path, text, tree, &is_test) {
            Ok(file) => sorted.files.push(file),
            Err(why) => sorted.dropped.push(format!("not withheld: {path} {why}")),
        }
    }
    if more > 0 {
        sorted.dropped.push(format!("not withheld: {more} files more than the {FILES_MAX} that are looked at"));
    }
    sorted
}

fn usable(
    path: &str,
    text: Option<String>,
    tree: &[&str],
    is_test: &impl Fn(&str) -> bool,
) -> Result<TestFile, String> {
    let path = ProjectFile::parse(path).map_err(|_| "is not a path that the project could have".to_owned())?;
    let text = text.ok_or_else(|| format!("is no text of at most {} KiB", FILE_BYTES_MAX >> 10))?;
    if is_taken(&path, tree) {
        return Err("is a path that the project has already".to_owned());
    }
    if !is_test(&path) {
        return Err("is not a test file of this project".to_owned());
    }
    // pytest imports test files by their names alone where their folders are no packages.
    let name = |path: &str| path.rsplit('/').next().unwrap_or(path).to_owned();
    if Language::of_path(&path) == Language::Python && tree.iter().any(|known| name(known) == name(&path)) {
        return Err("has the name of another file".to_owned());
    }
    Ok(TestFile { path, text })
}

/// Whether a file cannot be added to a tree: it is there, or what has to be a folder is a file, or the other way round.
pub fn is_taken(path: &ProjectFile, tree: &[&str]) -> bool {
    let below = |folder: &str, file: &str| file.strip_prefix(folder).is_some_and(|rest| rest.starts_with('/'));
    tree.iter().any(|known| *known == path.as_str() || below(known, path) || below(path, known))
}

/// How many tests the files hold; one for each file that nobody can read.
pub fn count(files: &[TestFile]) -> u64 {
    let tests = |file: &TestFile| {
        let language = Language::of_path(&file.path);
        items(language, &file.path, &file.text).iter().filter(|item| item.is_test).count().max(1)
    };
    u64::try_from(files.iter().map(tests).sum::<usize>()).unwrap_or(u64::MAX)
}

/// Whether a withheld file asks for what is missing: `seen` is RED's own report, `with` that of a run with the file laid
/// over the candidate. Otherwise, why it is dropped.
pub fn at_red(seen: &Report, with: &Report) -> Result<(), String> {
    if did_not_run(with) || matches!(with.outcome, Outcome::TimedOut | Outcome::Crashed) {
        return Err("the tests did not come to their end with it".to_owned());
    }
    if with.has(Flag::ExitCodeAlone) {
        return Err("the exit code of the test command does not tell it from the others".to_owned());
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
        Some(test) => Err(format!("{} passes already", test.id)),
        // Where RED does not compile, nothing beside it is compiled either.
        None if seen.outcome == Outcome::DidNotCompile && with.outcome == Outcome::DidNotCompile => Ok(()),
        None => Err("no test of it was run".to_owned()),
    }
}

/// What withheld files showed with the code of GREEN.
#[derive(Clone, Debug, PartialEq)]
pub enum Answer {
    Passed(Vec<Test>),
    /// One example of those that fail, for whoever writes the code; and how many fail of how many.
    Fails {
        told: Box<Reason>,
        failing: usize,
        of: usize,
    },
    /// It says nothing of the code, and why.
    Unusable(String),
}

/// `seen` is the candidate's own report, `with` that of a run with the files laid over it.
pub fn at_green(seen: &Report, with: &Report, files: &[&TestFile]) -> Answer {
    if did_not_run(with) {
        return Answer::Unusable("the test runner could not work with them".to_owned());
    }
    let tests = new_tests(seen, with);
    let failing: Vec<&&Test> = tests.iter().filter(|test| test.status != Status::Passed).collect();
    if let Some(first) = failing.first() {
        return Answer::Fails { told: Box::new(told(first, files)), failing: failing.len(), of: tests.len() };
    }
    let fails = |sentence: String| Answer::Fails {
        told: Box::new(Reason::new(Code::GreenOverfits, sentence)),
        failing: 1,
        of: tests.len().max(1),
    };
    match with.outcome {
        Outcome::TimedOut => return fails("a withheld test does not end".to_owned()),
        Outcome::Crashed => return fails(format!("a withheld test ends the run of the tests ({})", with.exit)),
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
        return fails(format!("a withheld test file does not load: {}", reports::first_line(&error.message)));
    }
    match (errors.first(), tests.is_empty()) {
        (Some(error), _) => Answer::Unusable(format!("they do not load: {}", reports::first_line(&error.message))),
        (None, true) => Answer::Unusable("no test of theirs was run".to_owned()),
        (None, false) => Answer::Passed(tests.into_iter().cloned().collect()),
    }
}

/// Which of the files can be laid over a candidate. One whose path the code's author took is a test that was changed; one
/// that others took before that is dropped. Both as sentences.
pub fn free<'a>(files: &'a [TestFile], base: &[&str], head: &[&str]) -> (Vec<&'a TestFile>, Vec<Reason>, Vec<String>) {
    let (mut free, mut reasons, mut dropped) = (Vec::new(), Vec::new(), Vec::new());
    for file in files {
        let path = &file.path;
        if !is_taken(path, head) {
            free.push(file);
        } else if is_taken(path, base) {
            dropped.push(unused(file, "the project has this path by now"));
        } else {
            let sentence = format!("{path} is the path of a test that is withheld; give your file another name");
            reasons.push(Reason::new(Code::GreenTestsChanged, sentence).place(Some(path), None));
        }
    }
    (free, reasons, dropped)
}

/// Why a withheld file plays no part in a verdict.
pub fn unused(file: &TestFile, why: &str) -> String {
    format!("withheld test file {} is not used: {why}", file.path)
}

/// The verdict on code that fails withheld tests. What it has reached may be built upon.
pub fn overfits(verdict: Verdict, told: Reason, failing: usize, of: usize) -> Verdict {
    let standing = verdict.standing;
    let mut notes = verdict.notes;
    notes.push(format!("{failing} of {of} withheld tests fail; the agent is told of one"));
    Verdict { decision: Decision::Refused, notes, standing, ..Verdict::refused(vec![told]) }
}

/// The name of the test, what the runner says, and the line that failed: one example, and no other.
fn told(test: &Test, files: &[&TestFile]) -> Reason {
    let what = match test.status {
        Status::Skipped | Status::Todo | Status::NotRun | Status::Xfailed => "is skipped, and has to pass".to_owned(),
        Status::Passed
        | Status::Flaky
        | Status::Xpassed
        | Status::Failed
        | Status::Errored
        | Status::TimedOut
        | Status::Crashed => format!("fails: {}", bounded(test.message.as_deref().unwrap_or("no message"))),
    };
    let file = files.iter().find(|file| test.file.as_deref() == Some(file.path.as_str()));
    let number = test.line.and_then(|line| usize::try_from(line).ok()?.checked_sub(1));
    let line = file.zip(number).and_then(|(file, number)| file.text.lines().nth(number));
    let line = line.map(|line| format!("\n{}", bounded(line.trim()))).unwrap_or_default();
    let sentence =
        format!("{} {what}{line}\nit was withheld: the code has to work for values that no test shows", test.id);
    Reason::new(Code::GreenOverfits, sentence).test(&test.id)
}

fn bounded(message: &str) -> String {
    let lines = message.lines().map(str::trim_end).filter(|line| !line.trim().is_empty()).take(MESSAGE_LINES_MAX);
    lines.map(|line| line.chars().take(LINE_CHARS_MAX).collect::<String>()).collect::<Vec<_>>().join("\n")
}

fn did_not_run(report: &Report) -> bool {
    let is_built = report.outcome != Outcome::DidNotCompile || report.load_errors.is_empty();
    report.outcome == Outcome::UsageError || report.exit == Exit::NotStarted && is_built && !report.finished
}

/// Those that only the withheld files can have brought.
fn new_tests<'a>(seen: &Report, with: &'a Report) -> Vec<&'a Test> {
    let known: HashSet<&str> = seen.tests.iter().map(|test| test.id.as_str()).collect();
    with.tests.iter().filter(|test| !known.contains(test.id.as_str())).collect()
}

fn new_errors<'a>(seen: &Report, with: &'a Report) -> Vec<&'a LoadError> {
    with.load_errors.iter().filter(|error| !reports::known_load_error(seen, error)).collect()
}

/// A script that was loaded before and ends with an exception now: the code it calls while it is loaded did that. What
/// does not compile may be the withheld test's own fault, which nobody could see at RED.
fn is_of_the_code(error: &LoadError) -> bool {
    let language = error.file.as_deref().map(Language::of_path);
    error.kind == LoadErrorKind::Other && language.is_some_and(|one| one == Language::Python || one.is_script())
}

#[cfg(test)]
mod tests;
