//! The result of one test run, in one form for all frameworks.
//!
//! A run counts only if it reports its end, every planned test has a result, and the report belongs
//! to this run. The parsers in `framework` fill in the data; only [`Report::conclude`] decides the
//! outcome.

pub mod decisive;
mod flag;
pub mod places;
pub mod redact;
pub mod room;
pub mod volatile;

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fmt;

use serde::{Deserialize, Serialize};

pub use flag::Flag;

use crate::framework::{self, Identity};

/// One run of a suite.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Report {
    /// The framework's name, such as `pytest`.
    pub runner: String,
    /// The command as a user would type it.
    pub command: String,
    pub exit: Exit,
    pub wall_ms: u64,
    /// The run itself reported its end.
    pub finished: bool,
    pub outcome: Outcome,
    /// The outcome that the exit code alone decides, for codes with only one meaning. No report can
    /// override it.
    #[serde(skip)]
    pub decided: Option<Outcome>,
    /// The stages of the run, in order, and their results; their diagnostics are the load errors.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub phases: Vec<StageEnd>,
    /// The tests that the runner planned to run; `None` if it does not say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub planned: Option<Vec<String>>,
    pub tests: Vec<Test>,
    /// Files (or crates) that could not be built or loaded.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub load_errors: Vec<LoadError>,
    /// Of an accepted RED: files that do not load until the code exists. Reported like other load
    /// errors, but they excuse nothing.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub owed: Vec<LoadError>,
    /// Failures outside of tests: hooks, unhandled errors, thresholds.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub errors_outside: Vec<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub flags: Vec<Flag>,
    /// The end of the runner's output, for the user; never used for a verdict.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub output_tail: String,
}

/// The id prefix of the single test whose outcome is a command's exit code, used if there is no
/// other result.
pub const EXIT_CODE_ONLY: &str = "exit code only: ";

/// How the process ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Exit {
    #[default]
    NotStarted,
    Code(i32),
    Signal(i32),
    /// Our time limit was reached and the process group was killed.
    TimedOut,
}

impl fmt::Display for Exit {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Exit::NotStarted => out.write_str("not started"),
            Exit::Code(code) => write!(out, "exit {code}"),
            Exit::Signal(signal) => write!(out, "signal {signal}"),
            Exit::TimedOut => out.write_str("timed out"),
        }
    }
}

/// The overall result of the run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Outcome {
    Passed,
    Failed,
    Errored,
    Skipped,
    DidNotCompile,
    NoTests,
    #[default]
    Crashed,
    TimedOut,
    UsageError,
}

/// A stage of a run: building, loading or running.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Stage {
    Build,
    #[default]
    Collect,
    Run,
}

/// How a stage ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct StageEnd {
    pub name: Stage,
    pub ok: bool,
}

/// The result of one test. `id` is the runner's own and can be used to rerun it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Test {
    pub id: String,
    pub status: Status,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub line: Option<u32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exception: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub duration_ms: Option<f64>,
    /// It failed before or after its own body: in a fixture or a hook.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub outside: bool,
}

impl Test {
    /// A test with only an id and a status.
    pub fn new(id: impl Into<String>, status: Status) -> Test {
        Test {
            id: id.into(),
            status,
            file: None,
            line: None,
            message: None,
            exception: None,
            duration_ms: None,
            outside: false,
        }
    }

    /// The parsed id.
    pub fn identity(&self) -> Identity<'_> {
        framework::identity(&self.id)
    }

    /// Whether the test is in this file, as far as is known. The file of a failure can be the code
    /// that failed, so the id is checked as well.
    pub fn is_in(&self, path: &str) -> bool {
        self.file.as_deref() == Some(path) || self.identity().is_in(path) == Some(true)
    }
}

/// Ordered from best to worst, so that the greater of two results for one id counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Status {
    Passed,
    Xfailed,
    Todo,
    Skipped,
    NotRun,
    Flaky,
    Xpassed,
    /// An assertion failed.
    Failed,
    /// Another exception, or a hook.
    Errored,
    TimedOut,
    Crashed,
}

impl Status {
    /// The test ran and failed.
    pub fn is_failure(self) -> bool {
        match self {
            Status::Failed | Status::Errored | Status::TimedOut | Status::Crashed => true,
            Status::Passed
            | Status::Xfailed
            | Status::Todo
            | Status::Skipped
            | Status::NotRun
            | Status::Flaky
            | Status::Xpassed => false,
        }
    }

    /// The test did not really run.
    pub fn is_idle(self) -> bool {
        match self {
            Status::Todo | Status::Skipped | Status::NotRun => true,
            Status::Passed
            | Status::Xfailed
            | Status::Flaky
            | Status::Xpassed
            | Status::Failed
            | Status::Errored
            | Status::TimedOut
            | Status::Crashed => false,
        }
    }
}

/// A file or crate that could not be built or loaded.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct LoadError {
    #[serde(default)]
    pub stage: Stage,
    pub file: Option<String>,
    pub line: Option<u32>,
    pub kind: LoadErrorKind,
    /// The compiler's code or the exception's class, such as `E0425` or `ModuleNotFoundError`.
    pub code: Option<String>,
    pub message: String,
}

impl LoadError {
    /// For example `src/lib.rs:3: mismatched types`.
    pub fn line_of_its_own(&self) -> String {
        let file = self.file.as_deref().unwrap_or("the build");
        let line = self.line.map_or_else(String::new, |line| format!(":{line}"));
        format!("{file}{line}: {}", self.message.lines().next().unwrap_or_default())
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum LoadErrorKind {
    Syntax,
    MissingSymbol,
    Other,
}

/// The number of tests by result.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Counts {
    pub passed: usize,
    pub failed: usize,
    /// Neither passed nor failed: skipped, todo, expected to fail, flaky.
    pub skipped: usize,
    pub load_errors: usize,
}

impl fmt::Display for Counts {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{} passed, {} failed", self.passed, self.failed)?;
        if self.load_errors > 0 {
            write!(out, ", {} did not load", self.load_errors)?;
        }
        if self.skipped > 0 {
            write!(out, ", {} skipped", self.skipped)?;
        }
        Ok(())
    }
}

impl Exit {
    /// The more informative exit of two processes of one run.
    pub fn worse(one: Exit, other: Exit) -> Exit {
        let rank = |exit: Exit| match exit {
            Exit::Code(0) => 0,
            Exit::Code(_) => 1,
            Exit::NotStarted => 2,
            Exit::Signal(_) => 3,
            Exit::TimedOut => 4,
        };
        if rank(other) > rank(one) { other } else { one }
    }
}

impl LoadErrorKind {
    /// Classifies the message of a compiler without error codes.
    pub(crate) fn of(words: &str, missing_symbol: &[&str], syntax: &[&str]) -> Self {
        let says = |known: &[&str]| known.iter().any(|word| words.contains(word));
        if says(missing_symbol) {
            Self::MissingSymbol
        } else if says(syntax) {
            Self::Syntax
        } else {
            Self::Other
        }
    }
}

impl Report {
    /// Whether a run can start from here: later failures can be distinguished from current ones.
    pub fn is_baseline(&self) -> bool {
        match self.outcome {
            // An exit code alone cannot show a second failure.
            Outcome::Failed | Outcome::Errored => !self.has(Flag::ExitCodeAlone),
            Outcome::Passed | Outcome::Skipped | Outcome::NoTests => true,
            Outcome::DidNotCompile => !self.tests.is_empty(),
            Outcome::Crashed | Outcome::TimedOut | Outcome::UsageError => false,
        }
    }

    /// The runner's own explanation of its failure.
    pub fn own_words(&self, lines_max: usize) -> Vec<String> {
        // The last output of a compiler only says that there was an error.
        if self.outcome == Outcome::DidNotCompile && !self.load_errors.is_empty() {
            return self
                .load_errors
                .iter()
                .take(lines_max)
                .map(LoadError::line_of_its_own)
                .collect();
        }
        let of_tests = self
            .tests
            .iter()
            .filter(|test| test.status.is_failure())
            .filter_map(|test| test.message.as_ref());
        let of_files = self.load_errors.iter().map(|error| &error.message);
        let texts = std::iter::once(&self.output_tail)
            .chain(&self.errors_outside)
            .chain(of_files)
            .chain(of_tests);
        let text = texts.into_iter().find(|text| !text.trim().is_empty());
        text.map_or_else(Vec::new, |text| decisive::decisive(text, lines_max))
    }

    /// Merges the runs of several frameworks in one project. A framework without tests does not
    /// affect the others, and neither does its exit code.
    pub fn merge(reports: Vec<Report>) -> Report {
        let mut reports = reports;
        if reports.len() < 2 {
            return reports.pop().unwrap_or_default();
        }
        let empty = |report: &Report| report.outcome == Outcome::NoTests;
        let exit = reports
            .iter()
            .filter(|report| !empty(report))
            .map(|report| report.exit)
            .reduce(Exit::worse);
        let join = |words: Vec<&str>, with: &str| {
            words.into_iter().filter(|word| !word.is_empty()).collect::<Vec<_>>().join(with)
        };
        let mut whole = Report {
            runner: join(reports.iter().map(|report| report.runner.as_str()).collect(), "+"),
            command: join(reports.iter().map(|report| report.command.as_str()).collect(), " && "),
            output_tail: join(
                reports.iter().map(|report| report.output_tail.as_str()).collect(),
                "\n",
            ),
            exit: exit.unwrap_or(Exit::Code(0)),
            wall_ms: reports.iter().map(|report| report.wall_ms).sum(),
            finished: reports.iter().all(|report| report.finished),
            planned: reports
                .iter()
                .map(|report| report.planned.clone())
                .collect::<Option<Vec<_>>>()
                .map(|ids| ids.concat()),
            ..Report::default()
        };
        for report in reports {
            if report.outcome == Outcome::UsageError {
                whole.decided = Some(Outcome::UsageError);
            }
            for end in report.phases {
                whole.stage(end.name, end.ok);
            }
            whole.tests.extend(report.tests);
            whole.load_errors.extend(report.load_errors);
            whole.errors_outside.extend(report.errors_outside);
            for flag in report.flags {
                whole.flag(flag);
            }
        }
        whole.conclude();
        whole
    }

    /// Decides the outcome from all collected data; the first matching rule wins.
    pub fn conclude(&mut self) {
        self.merge_duplicate_ids();
        self.flag_contradictions();
        self.note_stages();
        self.outcome = self.outcome_by_precedence();
    }

    pub fn counts(&self) -> Counts {
        let mut counts = Counts { load_errors: self.unloaded().count(), ..Counts::default() };
        for test in &self.tests {
            if test.status == Status::Passed {
                counts.passed += 1;
            } else if test.status.is_failure() {
                counts.failed += 1;
            } else {
                counts.skipped += 1;
            }
        }
        counts
    }

    /// All load errors, including owed ones.
    pub fn unloaded(&self) -> impl Iterator<Item = &LoadError> {
        self.load_errors.iter().chain(&self.owed)
    }

    pub fn test(&self, id: &str) -> Option<&Test> {
        self.tests.iter().find(|test| test.id == id)
    }

    pub fn statuses(&self) -> BTreeMap<&str, Status> {
        self.tests.iter().map(|test| (test.id.as_str(), test.status)).collect()
    }

    pub fn has(&self, flag: Flag) -> bool {
        self.flags.contains(&flag)
    }

    /// Keeps the worst status of an id: runners report a failing subtest first and the end of its
    /// parent later.
    fn merge_duplicate_ids(&mut self) {
        // In a sorted report, duplicates are neighbours.
        if self.tests.is_sorted_by(|one, other| one.id < other.id) {
            return;
        }
        let mut first: HashMap<String, usize> = HashMap::new();
        let mut merged: Vec<Test> = Vec::with_capacity(self.tests.len());
        let mut duplicate = false;
        for test in std::mem::take(&mut self.tests) {
            match first.get(&test.id).and_then(|&index| merged.get_mut(index)) {
                Some(known) => {
                    duplicate = true;
                    if test.status > known.status {
                        *known = test;
                    }
                }
                None => {
                    first.insert(test.id.clone(), merged.len());
                    merged.push(test);
                }
            }
        }
        self.tests = merged;
        if duplicate {
            self.flag(Flag::DuplicateId);
        }
    }

    /// Derives the results of the stages from the load errors and the end of the run, in addition
    /// to what the framework recorded.
    fn note_stages(&mut self) {
        for stage in [Stage::Build, Stage::Collect] {
            if self.load_errors.iter().any(|error| error.stage == stage) {
                self.stage(stage, false);
            }
        }
        let ran = self.tests.iter().any(|test| !test.status.is_idle());
        let failed = self.phases.iter().any(|end| end.name != Stage::Run && !end.ok);
        if ran || !failed {
            self.stage(Stage::Run, self.finished);
        }
    }

    fn flag_contradictions(&mut self) {
        let failures =
            self.tests.iter().any(|test| test.status.is_failure()) || !self.load_errors.is_empty();
        if failures && self.exit == Exit::Code(0) {
            self.flag(Flag::ExitCodeContradicts);
        }
        if !self.finished && self.exit == Exit::Code(0) {
            self.flag(Flag::NoFinish);
        }
        let missing = self.planned.as_ref().is_some_and(|planned| {
            let seen: BTreeSet<&str> = self.tests.iter().map(|test| test.id.as_str()).collect();
            planned.iter().any(|id| !seen.contains(id.as_str()))
        });
        if missing {
            self.flag(Flag::ResultMissing);
        }
        if self.tests.iter().any(|test| test.status == Status::Flaky) {
            self.flag(Flag::Flaky);
        }
    }

    fn outcome_by_precedence(&self) -> Outcome {
        let any = |status: Status| self.tests.iter().any(|test| test.status == status);
        let executed = self.tests.iter().any(|test| !test.status.is_idle());
        if self.exit == Exit::TimedOut {
            return Outcome::TimedOut;
        }
        if let Some(decided) = self.decided {
            return decided;
        }
        let not_built = self.phases.contains(&StageEnd { name: Stage::Build, ok: false });
        if (!self.load_errors.is_empty() || not_built) && !executed {
            return Outcome::DidNotCompile;
        }
        if matches!(self.exit, Exit::Signal(_) | Exit::NotStarted)
            || !self.finished
            || self.has(Flag::ResultMissing)
            || self.has(Flag::SourcesDisagree)
            || any(Status::Crashed)
        {
            return Outcome::Crashed;
        }
        if any(Status::TimedOut) {
            return Outcome::TimedOut;
        }
        if !self.load_errors.is_empty() || not_built {
            return Outcome::DidNotCompile;
        }
        if !self.errors_outside.is_empty() || any(Status::Errored) {
            return Outcome::Errored;
        }
        if any(Status::Failed) {
            return Outcome::Failed;
        }
        if self.tests.iter().all(|test| test.status == Status::NotRun) {
            return Outcome::NoTests;
        }
        if !executed {
            return Outcome::Skipped;
        }
        if self.exit == Exit::Code(0) {
            return Outcome::Passed;
        }
        // Either the runner is strict about a test that was expected to fail, or something outside
        // of the tests failed.
        if any(Status::Xpassed) { Outcome::Failed } else { Outcome::Errored }
    }

    /// Records the result of a stage; the worse of two results counts.
    pub fn stage(&mut self, name: Stage, ok: bool) {
        match self.phases.iter_mut().find(|end| end.name == name) {
            Some(end) => end.ok &= ok,
            None => {
                self.phases.push(StageEnd { name, ok });
                self.phases.sort_by_key(|end| end.name as u8);
            }
        }
    }

    /// Adds a flag once.
    pub fn flag(&mut self, flag: Flag) {
        if !self.has(flag) {
            self.flags.push(flag);
        }
    }
}

#[cfg(test)]
mod tests;
