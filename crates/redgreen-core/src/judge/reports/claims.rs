//! Steps that claim the wrong phase: a GREEN without a failing test, or a REFACTOR that makes tests
//! pass.

use super::{IndexedReport, bounded, count, first_line};
use crate::report::{LoadError, LoadErrorKind, Outcome, Report, Status, Test};
use crate::verdict::{Code, Reason};

/// If no test failed and none waits to be built, the step is not a GREEN.
pub(super) fn nothing_to_make_pass(
    before: &IndexedReport<'_>,
    targets: &[String],
) -> Option<Reason> {
    let came_to_its_end = match before.outcome {
        Outcome::Passed
        | Outcome::Failed
        | Outcome::Errored
        | Outcome::Skipped
        | Outcome::NoTests => true,
        Outcome::DidNotCompile | Outcome::Crashed | Outcome::TimedOut | Outcome::UsageError => {
            false
        }
    };
    let is_built = before.owed.is_empty() && before.load_errors.is_empty();
    if !targets.is_empty() || !came_to_its_end || !is_built {
        return None;
    }
    let failing = before.tests.iter().filter(|test| test.status.is_failure()).count();
    let passing = before.counts().passed;
    let sentence = match (failing, passing) {
        (0, 0) => "no test fails at the base: no test ran there".to_owned(),
        (0, passing) => {
            format!("no test fails at the base: {}", count_passing(passing))
        }
        (failing, _) => {
            format!(
                "no new test fails at the base: {} already failed before it",
                count(failing, "test")
            )
        }
    };
    Some(Reason::new(Code::GreenNothingRed, sentence))
}

fn count_passing(passing: usize) -> String {
    if passing == 1 {
        "its only test passes".to_owned()
    } else {
        format!("all {passing} tests pass")
    }
}

/// Tests that failed before and pass now. A refactoring does not cause that.
pub fn turned_green<'a>(before: &Report, after: &'a Report) -> Vec<&'a Test> {
    let before = IndexedReport::of(before);
    let failed = |id: &str| before.test(id).is_some_and(|test| test.status.is_failure());
    after.tests.iter().filter(|test| test.status == Status::Passed && failed(&test.id)).collect()
}

/// A file that did not load because of a missing symbol, and now loads, also counts as a test that
/// turned green.
pub(super) fn turns_green(before: &IndexedReport<'_>, after: &IndexedReport<'_>) -> Vec<Reason> {
    let passing = turned_green(before, after).into_iter().map(|test| {
        let sentence = format!("{} failed before and passes now", test.id);
        Reason::new(Code::RefactorTurnsGreen, sentence)
            .test(&test.id)
            .place(test.file.as_deref(), test.line)
    });
    let missing =
        |error: &&LoadError| error.kind == LoadErrorKind::MissingSymbol && error.file.is_some();
    let still = |error: &LoadError| after.load_errors.iter().any(|now| now.file == error.file);
    let unbuilt =
        before.load_errors.iter().chain(&before.owed).filter(missing).filter(|error| !still(error));
    let loading = unbuilt.map(|error| {
        let file = error.file.as_deref().unwrap_or("a test file");
        let sentence = format!(
            "{file} did not load before and loads now; the old error: {}",
            first_line(&error.message)
        );
        Reason::new(Code::RefactorTurnsGreen, sentence).place(error.file.as_deref(), error.line)
    });
    bounded(passing.chain(loading).collect())
}
