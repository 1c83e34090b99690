//! What the elements of JUnit's XML mean to each runner that writes it.

use super::{Case, Fault};
use crate::report::Status;

/// One runner's way of writing JUnit's XML.
#[derive(Clone, Copy, Debug)]
pub struct Dialect {
    pub assertion: Assertion,
    pub nameless: Nameless,
    /// The message of an error that stands for a file which could not be loaded.
    pub load_failure: Option<&'static str>,
    /// A failing case that is named after its class is a hook of that class, not a test.
    pub class_level_is_outside: bool,
    /// Other names that such a case goes by.
    pub class_level_names: &'static [&'static str],
    /// Values of the attribute `status` of a test that was not run.
    pub idle: &'static [&'static str],
    /// Added to the attribute `line`, which some count from 0.
    pub line_offset: u32,
    /// A passed case counts only if its output has libtest's own word for it: a test that ends its process with
    /// success is otherwise shown as passed.
    pub wants_libtest_word: bool,
}

/// How an assertion that does not hold is told from any other exception.
#[derive(Clone, Copy, Debug)]
pub enum Assertion {
    /// By the element: `failure` is an assertion, `error` is not.
    Element,
    /// By the class of the exception, which contains one of these.
    Class(&'static [&'static str]),
    /// By the message, which contains one of these.
    Message(&'static [&'static str]),
    /// By the `type`, which says how the test's process ended; an assertion when it is none of these.
    Ending(&'static [(&'static str, Status)]),
    /// By the message's beginning or the text's last line: Python's own words.
    Python,
}

/// What a case without a name is.
#[derive(Clone, Copy, Debug)]
pub enum Nameless {
    /// A test that was running when the process ended.
    Interrupted,
    /// A file that could not be loaded.
    LoadError,
}

const PLAIN: Dialect = Dialect {
    assertion: Assertion::Element,
    nameless: Nameless::Interrupted,
    load_failure: None,
    class_level_is_outside: false,
    class_level_names: &[],
    idle: &[],
    line_offset: 0,
    wants_libtest_word: false,
};

/// Of a runner nobody named; the words are pytest's, and nobody else's.
pub const ANY: Dialect = Dialect { load_failure: PYTEST.load_failure, ..PLAIN };
pub const SUREFIRE: Dialect =
    Dialect { class_level_is_outside: true, class_level_names: &["classMethod", "initializationError"], ..PLAIN };
pub const GRADLE: Dialect = Dialect { assertion: Assertion::Class(&["Assert", "Comparison"]), ..SUREFIRE };
pub const JUNIT_CONSOLE: Dialect = PLAIN;
pub const PHPUNIT: Dialect = PLAIN;
pub const JEST_JUNIT: Dialect = PLAIN;
pub const XMLRUNNER: Dialect = PLAIN;
pub const CATCH2: Dialect = PLAIN;
pub const CTEST: Dialect = Dialect { idle: &["disabled", "notrun"], ..PLAIN };
pub const BATS: Dialect = Dialect { nameless: Nameless::LoadError, ..PLAIN };
pub const BUN: Dialect = Dialect { assertion: Assertion::Class(&["Assert"]), ..PLAIN };
pub const DENO: Dialect = Dialect { assertion: Assertion::Message(&["AssertionError"]), ..PLAIN };
pub const PYTEST: Dialect =
    Dialect { assertion: Assertion::Python, load_failure: Some("collection failure"), line_offset: 1, ..PLAIN };
pub const NEXTEST: Dialect = Dialect {
    assertion: Assertion::Ending(&[("test abort", Status::Crashed), ("test timeout", Status::TimedOut)]),
    wants_libtest_word: true,
    ..PLAIN
};

/// How runners say that a test took too long; they have no element for it.
const TIMEOUT_WORDS: &[&str] =
    &["timed out after", "TimeoutException", "TestTimedOut", "due to timeout", "Exceeded timeout", "Timeout (>"];

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
            (None, None, None) if self.wants_libtest_word && !has_libtest_word(case) => Status::Crashed,
            (None, None, None) => Status::Passed,
        }
    }

    fn failure(&self, failure: &Fault) -> Status {
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

fn timeout(fault: &Fault) -> Option<Status> {
    let words = fault.words();
    let says = |word: &&str| words.contains(word) || fault.class.contains(word);
    TIMEOUT_WORDS.iter().any(says).then_some(Status::TimedOut)
}

/// Without any output the runner was not asked to keep it, and there is nothing to look for.
fn has_libtest_word(case: &Case) -> bool {
    let Some(output) = &case.system_out else { return true };
    let name = case.name.as_deref().unwrap_or_default();
    let words = [format!("test {name} ... ok"), format!("test {name} - should panic ... ok")];
    output.head.lines().chain(output.tail.lines()).any(|line| words.iter().any(|word| word == line))
}
