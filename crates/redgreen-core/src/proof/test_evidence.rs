//! The tests that a range adds or changes, and how each ended with and without its code.

use serde::{Deserialize, Serialize};

use super::TestEvidence;
use crate::experiment::{About, Material, new_tests};
use crate::judge::reports::red_code;
use crate::report::{Report, Status, Test};
use crate::verdict::Code;

/// How a test of the head ends with the code of the base.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum BaseResult {
    Fails {
        code: Code,
        message: String,
    },
    /// What it needs is not there yet, so that it says nothing about what the code does.
    Missing {
        message: String,
    },
    Passes,
}

impl BaseResult {
    /// Whether an assertion failed. Any other error may only show that something is missing.
    pub fn is_asserted(&self) -> bool {
        matches!(self, Self::Fails { code: Code::RedAssertion, .. })
    }
}

/// The new and changed tests, in the order of the head's report. `between` is what they show with
/// the code of the base; no such run is needed where the range has no tests.
pub fn tests_seen(
    material: &Material<'_>,
    base: &Report,
    between: &Report,
    head: &Report,
) -> Vec<TestEvidence> {
    let written: Vec<About> = new_tests(material);
    let passed = |report: &Report, id: &str| {
        report.test(id).is_some_and(|test| test.status == Status::Passed)
    };
    let mut seen: Vec<TestEvidence> = Vec::new();
    for test in &head.tests {
        let is_new = base.test(&test.id).is_none();
        let is_changed = || written.iter().any(|about| about.is(test));
        let turned = || {
            passed(base, &test.id)
                && between.test(&test.id).is_some_and(|now| now.status.is_failure())
        };
        if !is_new && !is_changed() && !turned() || seen.iter().any(|known| known.id == test.id) {
            continue;
        }
        seen.push(TestEvidence {
            id: test.id.clone(),
            file: test.file.clone().or_else(|| home(&written, test)),
            line: test.line,
            is_new,
            without: without(between, test),
            passes: test.status == Status::Passed,
            is_skipped: test.status.is_idle(),
        });
    }
    seen
}

/// Whether a test of the head needs the change: without it, it fails or cannot run. Where the range
/// has no tests, or they are in other files, the base says how it ended.
pub fn is_asked_for(base: &Report, between: &Report, head: &Report) -> bool {
    let ended = |test: &Test| between.test(&test.id).or_else(|| base.test(&test.id));
    let fails = |test: &Test| ended(test).is_none_or(|then| then.status.is_failure());
    head.tests.iter().any(|test| test.status == Status::Passed && fails(test))
}

/// New and changed tests that are written in the head and have no result in its report, as far as
/// their names tell: they may be in a file that nobody loads.
pub fn unseen(material: &Material<'_>, head: &Report) -> Vec<About> {
    let has_result = |about: &About| head.tests.iter().any(|test| about.is(test));
    new_tests(material).into_iter().filter(|about| !has_result(about)).collect()
}

fn home(written: &[About], test: &Test) -> Option<String> {
    written.iter().find(|about| about.is(test)).map(|about| about.file.clone())
}

fn without(between: &Report, test: &Test) -> BaseResult {
    let first_line = |text: &str| text.lines().next().unwrap_or_default().trim().to_owned();
    match between.test(&test.id) {
        Some(then) if then.status.is_failure() => {
            let message = first_line(then.message.as_deref().unwrap_or("it fails"));
            let code = red_code(then);
            if code == Code::RedMissingSymbol {
                BaseResult::Missing { message }
            } else {
                BaseResult::Fails { code, message }
            }
        }
        Some(then) if then.status == Status::Passed => BaseResult::Passes,
        Some(_) | None => {
            let errors = || between.load_errors.iter().chain(&between.owed);
            let own = errors().find(|error| error.file.is_some() && error.file == test.file);
            let message = own.or_else(|| errors().next()).map(|error| first_line(&error.message));
            BaseResult::Missing {
                message: message.unwrap_or_else(|| "it cannot be run".to_owned()),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_test_that_fails_without_the_change_asks_for_it() {
        let report = |tests: &[(&str, Status)]| Report {
            tests: tests.iter().map(|(id, status)| Test::new(*id, *status)).collect(),
            ..Report::default()
        };
        let (old, new) = (("old", Status::Passed), ("new", Status::Passed));
        let fails = ("new", Status::Failed);
        for (base, between, head, asks) in [
            (report(&[old]), report(&[old, fails]), report(&[old, new]), true),
            // Its file does not load.
            (report(&[old]), report(&[]), report(&[old, new]), true),
            // Only the files of the tests ran.
            (report(&[old]), report(&[new]), report(&[old, new]), false),
            (report(&[old]), report(&[]), report(&[old]), false),
            (report(&[fails]), report(&[]), report(&[new]), true),
            (report(&[fails]), report(&[]), report(&[fails]), false),
        ] {
            assert_eq!(is_asked_for(&base, &between, &head), asks, "{base:?} {between:?} {head:?}");
        }
    }
}
