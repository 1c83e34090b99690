//! Steps that claim to be another phase than they are: a GREEN where nothing was red, a REFACTOR that makes tests pass.

use super::{Seen, bounded, count, first_line};
use crate::report::{LoadError, LoadErrorKind, Outcome, Report, Status, Test};
use crate::verdict::{Code, Reason};

/// No test was made to fail, and none waits to be built: whatever the step is, it is no GREEN.
pub(super) fn nothing_to_make_pass(before: &Seen<'_>, targets: &[String]) -> Option<Reason> {
    let came_to_its_end = match before.outcome {
        Outcome::Passed | Outcome::Failed | Outcome::Errored | Outcome::Skipped | Outcome::NoTests => true,
        Outcome::DidNotCompile | Outcome::Crashed | Outcome::TimedOut | Outcome::UsageError => false,
    };
    let is_built = before.owed.is_empty() && before.load_errors.is_empty();
    if !targets.is_empty() || !came_to_its_end || !is_built {
        return None;
    }
    let failing = before.tests.iter().filter(|test| test.status.is_failure()).count();
    let passing = before.counts().passed;
    let sentence = match (failing, passing) {
        (0, 0) => "there is no failing test at the base: it has no test that ran".to_owned(),
        (0, passing) => format!("there is no failing test at the base: {} there", count_passing(passing)),
        (failing, _) => {
            format!("there is no new failing test at the base: {} before it already", count(failing, "test failed"))
        }
    };
    Some(Reason::new(Code::GreenNothingRed, sentence))
}

fn count_passing(passing: usize) -> String {
    if passing == 1 { "its only test passes".to_owned() } else { format!("all {passing} tests pass") }
}

/// Tests that failed before and pass now, which no refactoring brings about.
pub fn turned_green<'a>(before: &Report, after: &'a Report) -> Vec<&'a Test> {
    let before = Seen::of(before);
    let failed = |id: &str| before.test(id).is_some_and(|test| test.status.is_failure());
    after.tests.iter().filter(|test| test.status == Status::Passed && failed(&test.id)).collect()
}

/// A file that could not be loaded for want of a symbol, and now can, is a test that turned green as well.
pub(super) fn turns_green(before: &Seen<'_>, after: &Seen<'_>) -> Vec<Reason> {
    let passing = turned_green(before, after).into_iter().map(|test| {
        let sentence = format!("{} failed before and passes now", test.id);
        Reason::new(Code::RefactorTurnsGreen, sentence).test(&test.id).place(test.file.as_deref(), test.line)
    });
    let missing = |error: &&LoadError| error.kind == LoadErrorKind::MissingSymbol && error.file.is_some();
    let still = |error: &LoadError| after.load_errors.iter().any(|now| now.file == error.file);
    let unbuilt = before.load_errors.iter().chain(&before.owed).filter(missing).filter(|error| !still(error));
    let loading = unbuilt.map(|error| {
        let file = error.file.as_deref().unwrap_or("a test file");
        let sentence = format!("{file} did not load before and loads now; before: {}", first_line(&error.message));
        Reason::new(Code::RefactorTurnsGreen, sentence).place(error.file.as_deref(), error.line)
    });
    bounded(passing.chain(loading).collect())
}
