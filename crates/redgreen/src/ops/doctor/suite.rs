//! Checks one framework by running it: all tests, one test, a name that does not exist, the list,
//! coverage.

use std::path::Path;
use std::time::Duration;

use anyhow::Result;
use redgreen_core::framework::invoke::Selection;
use redgreen_core::report::{Outcome, Report, Status, Test};
use redgreen_core::text::in_quotes;

use super::{Check, Finding, unless_stopped};
use crate::config;
use crate::process::Stop;
use crate::runner::{Settings, Suite};

/// The maximum number of failing tests to list.
const NAMED_MAX: usize = 3;
/// The maximum number of output lines of a runner that failed.
const WORDS_LINES_MAX: usize = 5;
/// No test contains this in its name.
const NO_SUCH: &str = "_redgreen_finds_no_such_test";

pub(super) struct SuiteCheck<'a> {
    pub(super) root: &'a Path,
    pub(super) suite: &'a Suite,
    pub(super) settings: &'a Settings,
    pub(super) stop: &'a Stop,
}

impl SuiteCheck<'_> {
    /// Also returns the report of all tests, if a run could start from it.
    pub(super) fn checks(
        &self,
        tell: &mut dyn FnMut(&str),
    ) -> Result<(Vec<Check>, Option<Report>)> {
        let name = self.suite.describe();
        tell(&format!("running every test of {name}"));
        let report = match unless_stopped(self.run(&Selection::All))? {
            Ok(report) => report,
            Err(error) => {
                return Ok((vec![Check::bad("suite", name, &error, "redgreen test")], None));
            }
        };
        let baseline = self.baseline(&report);
        let broken = baseline.finding == Finding::Bad;
        let mut checks = vec![baseline];
        if broken {
            return Ok((checks, None));
        }
        match known(&report) {
            Some(test) if !self.suite.concerns(&Selection::One(test.id.clone())) => {
                checks.push(Check::note(
                    "one test",
                    self.ran(&report),
                    "the runner cannot run a single test; runs work without it",
                ));
            }
            Some(test) => {
                tell(&format!("running one test of {name}, then one that does not exist"));
                checks.push(self.one(&test.id)?);
                checks.push(self.none(&format!("{}{NO_SUCH}", test.id))?);
            }
            None => checks.push(Check::note(
                "one test",
                self.ran(&report),
                "there is no test to run alone",
            )),
        }
        tell(&format!("listing the tests of {name}, then measuring coverage"));
        checks.push(self.list(&report)?);
        checks.push(self.coverage()?);
        Ok((checks, Some(report)))
    }

    fn run(&self, selection: &Selection) -> Result<Report> {
        self.suite.run(self.root, selection, self.settings, self.stop)
    }

    /// The command, how it ended, and the folder if it is not the root.
    fn ran(&self, report: &Report) -> String {
        let seconds = Duration::from_millis(report.wall_ms).as_secs_f64();
        let folder =
            self.suite.evidence().map(|(_, folder, _)| folder).find(|folder| !folder.is_empty());
        let place = folder.map_or_else(String::new, |folder| format!(" in {folder}"));
        format!("{}{place} ({}, {seconds:.1} s)", report.command, report.exit)
    }

    fn baseline(&self, report: &Report) -> Check {
        let counts = report.counts();
        let mut saw = format!(
            "{} passed, {} failed, {} skipped",
            counts.passed, counts.failed, counts.skipped
        );
        if counts.load_errors > 0 {
            saw.push_str(&format!(", {} not loaded", counts.load_errors));
        }
        for error in report.load_errors.iter().take(NAMED_MAX) {
            saw.push_str(&format!("\n{}", error.line_of_its_own()));
        }
        let failing = report.tests.iter().filter(|test| test.status.is_failure());
        for test in failing.take(NAMED_MAX) {
            let how = if matches!(test.status, Status::TimedOut | Status::Crashed) {
                "did not finish"
            } else {
                "fails before any change"
            };
            saw.push_str(&format!("\n{how}: {}", test.id));
        }
        let check = match report.outcome {
            Outcome::Passed | Outcome::Skipped => {
                return Check::good("suite", self.ran(report), format!("green: {saw}"));
            }
            Outcome::NoTests => return Check::good("suite", self.ran(report), "no test yet"),
            Outcome::Failed | Outcome::Errored if !report.is_baseline() => {
                let saw = format!(
                    "fails before any change, and reports only an exit code\n{}",
                    words(report)
                );
                Check::wrong("suite", self.ran(report), saw)
            }
            Outcome::Failed | Outcome::Errored => {
                Check::note("suite", self.ran(report), format!("red: {saw}"))
            }
            Outcome::DidNotCompile if !report.tests.is_empty() => {
                Check::note("suite", self.ran(report), format!("red: {saw}"))
            }
            Outcome::DidNotCompile => {
                Check::wrong("suite", self.ran(report), format!("does not load: {saw}"))
            }
            Outcome::Crashed => {
                let saw = format!("did not finish: {saw}\n{}", words(report));
                Check::wrong("suite", self.ran(report), saw)
            }
            Outcome::UsageError => Check::wrong(
                "suite",
                self.ran(report),
                format!("the test runner could not start\n{}", words(report)),
            ),
            Outcome::TimedOut => {
                let limit = self.settings.timeout;
                let saw =
                    format!("not finished after {:.0} s (timeout.red)\n{saw}", limit.as_secs_f64());
                let more = limit.as_secs().max(1) * 5;
                return Check::wrong("suite", self.ran(report), saw).fix(format!(
                    "find the test that hangs with redgreen test, or set timeout.red = {more} in \
                     {}",
                    config::FILE
                ));
            }
        };
        check.fix("redgreen test")
    }

    fn one(&self, id: &str) -> Result<Check> {
        let report = match unless_stopped(self.run(&Selection::One(id.to_owned())))? {
            Ok(report) => report,
            Err(error) => return Ok(Check::bad("one test", id, &error, "redgreen test")),
        };
        let ran = format!("{} for {id}", self.ran(&report));
        // A framework may report the other tests as skipped.
        let seen: Vec<&Test> = report.tests.iter().filter(|test| !test.status.is_idle()).collect();
        Ok(match seen.as_slice() {
            [test] if test.id == id => Check::good("one test", ran, "only this test ran"),
            seen => {
                let saw = format!("{} tests ran instead of this one", seen.len());
                Check::note("one test", ran, saw).fix(format!("redgreen test {}", in_quotes(id)))
            }
        })
    }

    fn none(&self, id: &str) -> Result<Check> {
        let report = match unless_stopped(self.run(&Selection::One(id.to_owned())))? {
            Ok(report) => report,
            Err(error) => return Ok(Check::bad("no test", id, &error, "redgreen test")),
        };
        let ran = format!("{} for {id}", self.ran(&report));
        let seen = report.tests.iter().filter(|test| !test.status.is_idle()).count();
        Ok(if seen == 0 && report.outcome != Outcome::Passed {
            Check::good("no test", ran, "no test ran")
        } else {
            let saw = format!("{seen} tests ran for a name that does not exist");
            Check::wrong("no test", ran, saw).fix(format!("redgreen test {}", in_quotes(id)))
        })
    }

    fn list(&self, report: &Report) -> Result<Check> {
        let ran = format!("{}, listing only", self.suite.describe());
        let listed = match unless_stopped(self.suite.list(self.root, self.settings, self.stop))? {
            Ok(listed) => listed,
            Err(error) => return Ok(Check::bad("list", ran, &error, "redgreen test --list")),
        };
        let (named, seen) = (listed.len(), report.tests.len());
        let unnamed =
            report.tests.iter().find(|test| !listed.iter().any(|name| is_case_of(&test.id, name)));
        let idle =
            listed.iter().find(|name| !report.tests.iter().any(|test| is_case_of(&test.id, name)));
        let counts = format!("{named} listed, {seen} ran");
        Ok(match (unnamed, idle) {
            _ if named == 0 && seen > 0 => Check::note(
                "list",
                ran,
                "the runner cannot list tests without running them; runs work without it",
            ),
            (None, None) => Check::good("list", ran, counts),
            (Some(test), _) => {
                let saw = format!("{counts}; ran but was not listed: {}", test.id);
                Check::note("list", ran, saw).fix("redgreen test --list")
            }
            (None, Some(name)) => {
                let saw = format!("{counts}; listed but did not run: {name}");
                Check::note("list", ran, saw).fix("redgreen test --list")
            }
        })
    }

    fn coverage(&self) -> Result<Check> {
        let ran = format!("{}, measuring lines", self.suite.describe());
        Ok(match unless_stopped(self.suite.coverage(self.root, self.settings, self.stop))? {
            Ok((_, Some(coverage))) => Check::good(
                "coverage",
                ran,
                format!("{} of {} lines covered", coverage.hit(), coverage.found()),
            ),
            Ok((_, None)) => Check::note(
                "coverage",
                ran,
                "unknown: no coverage tool found; runs work without it",
            ),
            // Runs work without it.
            Err(error) => Check {
                finding: Finding::Note,
                ..Check::bad("coverage", ran, &error, "redgreen test --coverage")
            },
        })
    }
}

/// A test to run alone: one that passes, otherwise any that ran.
fn known(report: &Report) -> Option<&Test> {
    let passed = report.tests.iter().find(|test| test.status == Status::Passed);
    passed.or_else(|| report.tests.iter().find(|test| !test.status.is_idle()))
}

/// Whether a test is the listed one, or a case of it: Go's subtests exist only at run time.
fn is_case_of(id: &str, named: &str) -> bool {
    let is_letter = |letter: char| letter.is_alphanumeric() || letter == '_';
    id.strip_prefix(named).is_some_and(|rest| !rest.starts_with(is_letter))
}

/// The output of a runner that failed.
pub(super) fn words(report: &Report) -> String {
    report.own_words(WORDS_LINES_MAX).join("\n")
}
