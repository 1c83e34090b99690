//! What is handed on from an accepted step to the next one.

use std::collections::BTreeSet;

use super::known_load_error;
use crate::report::{Flag, Outcome, Report};

/// The report to compare the next phase with: the candidate's, and what it could not show because the new test does not
/// compile yet. Those tests are owed at GREEN, where what the new test broke has to be whole again: only what was broken
/// or unclean before it stays excused.
pub fn carry(before: &Report, after: &Report) -> Report {
    let mut carried = after.clone();
    let (known, owed) = after.load_errors.iter().cloned().partition(|error| known_load_error(before, error));
    (carried.load_errors, carried.owed) = (known, owed);
    if after.outcome != Outcome::Passed {
        carried.outcome = before.outcome;
    }
    // A run that came to its end hides nothing: what is not in it is gone, and was accepted so.
    if is_whole(after) {
        return carried;
    }
    let seen: BTreeSet<&str> = after.tests.iter().map(|test| test.id.as_str()).collect();
    let hidden = before.tests.iter().filter(|test| !seen.contains(test.id.as_str())).cloned();
    carried.tests.extend(hidden);
    carried
}

/// Whether every test that is there has a result.
fn is_whole(report: &Report) -> bool {
    match report.outcome {
        Outcome::Passed | Outcome::Failed | Outcome::Errored | Outcome::Skipped | Outcome::NoTests => {
            report.load_errors.is_empty() && report.finished && !report.has(Flag::ResultMissing)
        }
        Outcome::DidNotCompile | Outcome::Crashed | Outcome::TimedOut | Outcome::UsageError => false,
    }
}
