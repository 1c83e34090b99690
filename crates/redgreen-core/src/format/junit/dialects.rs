//! The meaning of JUnit's XML elements for each runner.

use super::{Case, Detail};
use crate::report::Status;

/// The JUnit XML of one runner.
#[derive(Clone, Copy, Debug)]
pub struct Dialect {
    pub assertion: Assertion,
    pub nameless: UnnamedCase,
    /// The message of an error that represents a file that could not be loaded.
    pub load_failure: Option<&'static str>,
    /// A failing case with the name of its class is a hook of that class, not a test.
    pub class_level_is_outside: bool,
    /// Other names of such a case.
    pub class_level_names: &'static [&'static str],
    /// Values of the `status` attribute for a test that did not run.
    pub idle: &'static [&'static str],
    /// Added to the `line` attribute, which some runners count from 0.
    pub line_offset: u32,
    /// A passed case counts only if its output has libtest's result line. Otherwise a test that
    /// exits its process with success looks passed.
    pub wants_libtest_word: bool,
}

/// How to distinguish a failed assertion from other exceptions.
#[derive(Clone, Copy, Debug)]
pub enum Assertion {
    /// By element: `failure` is an assertion, `error` is not.
    Element,
    /// By the class of the exception, which contains one of these.
    Class(&'static [&'static str]),
    /// By the message, which contains one of these.
    Message(&'static [&'static str]),
    /// By `type`, which says how the test's process ended; an assertion if it is none of these.
    Ending(&'static [(&'static str, Status)]),
    /// By the start of the message or the last line of the text, as Python prints them.
    Python,
}

/// The meaning of a case without a name.
#[derive(Clone, Copy, Debug)]
pub enum UnnamedCase {
    /// A test that was running when the process ended.
    Interrupted,
    /// A file that could not be loaded.
    LoadError,
}

const PLAIN: Dialect = Dialect {
    assertion: Assertion::Element,
    nameless: UnnamedCase::Interrupted,
    load_failure: None,
    class_level_is_outside: false,
    class_level_names: &[],
    idle: &[],
    line_offset: 0,
    wants_libtest_word: false,
};

/// For an unknown runner. Only pytest uses this load message, so it is safe to recognise it.
pub const ANY: Dialect = Dialect { load_failure: PYTEST.load_failure, ..PLAIN };
pub const SUREFIRE: Dialect = Dialect {
    class_level_is_outside: true,
    class_level_names: &["classMethod", "initializationError"],
    ..PLAIN
};
pub const GRADLE: Dialect =
    Dialect { assertion: Assertion::Class(&["Assert", "Comparison"]), ..SUREFIRE };
pub const JUNIT_CONSOLE: Dialect = PLAIN;
pub const PHPUNIT: Dialect = PLAIN;
pub const JEST_JUNIT: Dialect = PLAIN;
pub const XMLRUNNER: Dialect = PLAIN;
pub const CATCH2: Dialect = PLAIN;
pub const CTEST: Dialect = Dialect { idle: &["disabled", "notrun"], ..PLAIN };
pub const BATS: Dialect = Dialect { nameless: UnnamedCase::LoadError, ..PLAIN };
pub const BUN: Dialect = Dialect { assertion: Assertion::Class(&["Assert"]), ..PLAIN };
pub const DENO: Dialect = Dialect { assertion: Assertion::Message(&["AssertionError"]), ..PLAIN };
pub const PYTEST: Dialect = Dialect {
    assertion: Assertion::Python,
    load_failure: Some("collection failure"),
    line_offset: 1,
    ..PLAIN
};
pub const NEXTEST: Dialect = Dialect {
    assertion: Assertion::Ending(&[
        ("test abort", Status::Crashed),
        ("test timeout", Status::TimedOut),
    ]),
    wants_libtest_word: true,
    ..PLAIN
};

/// Messages of a test timeout; JUnit has no element for it.
const TIMEOUT_WORDS: &[&str] = &[
    "timed out after",
    "TimeoutException",
    "TestTimedOut",
    "due to timeout",
    "Exceeded timeout",
    "Timeout (>",
];

impl Dialect {
    pub(super) fn status(&self, case: &Case) -> Status {
        if case.status.as_deref().is_some_and(|status| self.idle.contains(&status)) {
            return Status::Skipped;
        }
        match (&case.failure, &case.error, &case.skipped) {
            (Some(_), _, Some(_)) => Status::Xfailed,
            (_, _, Some(_)) => Status::Skipped,
            (Some(failure), _, None) => self.failure(failure),
            (None, Some(error), None) => timeout(error).unwrap_or(Status::Errored),
            (None, None, None) if case.flaky => Status::Flaky,
            (None, None, None) if self.wants_libtest_word && !has_libtest_word(case) => {
                Status::Crashed
            }
            (None, None, None) => Status::Passed,
        }
    }

    fn failure(&self, failure: &Detail) -> Status {
        let has = |text: &str, words: &[&str]| words.iter().any(|word| text.contains(word));
        let assertion = match self.assertion {
            Assertion::Element => true,
            Assertion::Class(words) => has(&failure.class, words),
            Assertion::Message(words) => has(&failure.words(), words),
            Assertion::Ending(known) => {
                let ending = known.iter().find(|(class, _)| *class == failure.class);
                return ending.map_or(Status::Failed, |&(_, status)| status);
            }
            Assertion::Python => {
                let message = failure.message.as_deref().unwrap_or_default();
                let last = failure.text.tail.trim().lines().last().unwrap_or_default();
                message.starts_with("assert")
                    || message.contains("XPASS")
                    || last.ends_with("AssertionError")
                    || last.starts_with("assert ")
            }
        };
        timeout(failure).unwrap_or(if assertion { Status::Failed } else { Status::Errored })
    }
}

fn timeout(detail: &Detail) -> Option<Status> {
    let words = detail.words();
    let says = |word: &&str| words.contains(word) || detail.class.contains(word);
    TIMEOUT_WORDS.iter().any(says).then_some(Status::TimedOut)
}

/// Without any output the runner was not asked to keep it, so the check does not apply.
fn has_libtest_word(case: &Case) -> bool {
    let Some(output) = &case.system_out else { return true };
    let name = case.name.as_deref().unwrap_or_default();
    let words = [format!("test {name} ... ok"), format!("test {name} - should panic ... ok")];
    output.head.lines().chain(output.tail.lines()).any(|line| words.iter().any(|word| word == line))
}
