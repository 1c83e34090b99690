//! Do the settings of the test runner matter that the candidate changed? The candidate's tests run
//! once more with the settings of before. An honest change of settings (another compile target, a
//! linter in `npm test`) leaves every result as it is; one that deselects or forgives tests does
//! not.
//!
//! Only settings are put back. A file of code that the runner loads can see which of the two runs
//! it is in, and redgreen's own settings decide what is run at all, so both stay refused.

use super::{Experiment, Material, Method, Question};
use crate::change::{self, Class, Kind};
use crate::report::{Outcome, Report};
use crate::syntax::Language;
use crate::verdict::{Code, Reason, Verdict};

/// The candidate's tests with the settings of before, if a change of settings is all that speaks
/// against it.
pub fn with_old_settings(
    material: &Material<'_>,
    facts: &[Reason],
    verdict: &Verdict,
    suite: &Experiment,
) -> Option<Experiment> {
    let is_config = |reason: &Reason| {
        matches!(reason.code, Code::GreenConfigChanged | Code::RefactorConfigChanged)
    };
    if verdict.reasons.is_empty() || !verdict.reasons.iter().all(is_config) {
        return None;
    }
    let mut files: Vec<&str> = facts.iter().filter_map(|fact| fact.file.as_deref()).collect();
    let classified = material.change.paths.iter();
    let classified = classified.filter(|changed| changed.class == Class::RunnerConfig);
    files.extend(classified.map(|changed| changed.path.as_str()));
    files.sort_unstable();
    files.dedup();
    let mut experiment = Experiment {
        question: Question::Configuration,
        what: "all tests, with the settings of the test runner as they were".to_owned(),
        ..suite.clone()
    };
    for file in files {
        if Language::of_path(file) != Language::Other || change::is_own_settings(file) {
            return None;
        }
        let is_new =
            |changed: &change::ChangedPath| changed.path == file && changed.kind == Kind::Added;
        match (material.before)(file) {
            Some(text) => experiment.edits.push((file.to_owned(), text)),
            None if material.change.paths.iter().any(is_new) => {
                experiment.removed.push(file.to_owned());
            }
            None => return None,
        }
    }
    let has_files = !experiment.edits.is_empty() || !experiment.removed.is_empty();
    (has_files && matches!(experiment.way, Method::Tests(_))).then_some(experiment)
}

/// Whether both runs passed with the same tests and the same results.
pub fn is_same(with_new: &Report, with_old: &Report) -> bool {
    let ended_well = |report: &Report| {
        report.outcome == Outcome::Passed && report.finished && report.load_errors.is_empty()
    };
    ended_well(with_new)
        && ended_well(with_old)
        && !with_new.tests.is_empty()
        && with_new.statuses() == with_old.statuses()
}
