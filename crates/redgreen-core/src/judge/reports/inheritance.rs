//! What the next step inherits from an accepted one.

use std::collections::BTreeSet;

use super::known_load_error;
use crate::report::{Flag, Outcome, Report};

/// The report that the next phase is compared with: the candidate's report, plus tests that could
/// not run because the new test does not compile yet. Those are owed at GREEN: everything that the
/// new test broke must work again. Only tests that were already broken or skipped stay excused.
pub fn carry(before: &Report, after: &Report) -> Report {
    let mut carried = after.clone();
    let (known, owed) =
        after.load_errors.iter().cloned().partition(|error| known_load_error(before, error));
    (carried.load_errors, carried.owed) = (known, owed);
    if after.outcome != Outcome::Passed {
        carried.outcome = before.outcome;
    }
    // A run that finished hides nothing. Tests that are not in it were removed, and that was
    // accepted.
    if is_whole(after) {
        return carried;
    }
    let seen: BTreeSet<&str> = after.tests.iter().map(|test| test.id.as_str()).collect();
    let hidden = before.tests.iter().filter(|test| !seen.contains(test.id.as_str())).cloned();
    carried.tests.extend(hidden);
    carried
}

/// Whether every existing test has a result.
fn is_whole(report: &Report) -> bool {
    match report.outcome {
        Outcome::Passed
        | Outcome::Failed
        | Outcome::Errored
        | Outcome::Skipped
        | Outcome::NoTests => {
            report.load_errors.is_empty() && report.finished && !report.has(Flag::ResultMissing)
        }
        Outcome::DidNotCompile | Outcome::Crashed | Outcome::TimedOut | Outcome::UsageError => {
            false
        }
    }
}
