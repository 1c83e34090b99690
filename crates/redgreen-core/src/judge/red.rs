//! RED: a new test fails because the feature is missing, and nothing else broke.

use super::{Base, Case, OrStep, Ruling, and_refused, control, ruling, try_candidate};
use crate::change::is_benchmark;
use crate::experiment::replaced::{self, ReplacedTests};
use crate::experiment::{self, About, Material, Observation};
use crate::report::Test;
use crate::verdict::{Code, Decision, Reason};

pub(super) fn decide(case: &Case<'_>, base: &Base) -> OrStep<Ruling> {
    let mut known = base.report.clone();
    let mut replaced = ReplacedTests::default();
    if let Ok(Observation::Ran { report: after, .. }) = case.observe(&case.suite()) {
        replaced = replaced::replaced(&case.material(after, &[]), &known, after);
        known.tests.retain(|test| !replaced.ids.contains(&test.id));
    }
    let mut tried = try_candidate(case, base, &mut known, &[])?;
    if tried.verdict.decision == Decision::Accepted {
        tried.verdict.notes.extend(replaced.notes);
    }
    if tried.verdict.decision == Decision::Accepted {
        let mut hidden = known.clone();
        hidden.tests.retain(|test| tried.after.test(&test.id).is_none());
        let written = experiment::new_tests(&case.material(&tried.after, &[]));
        // If a file does not load, its old tests cannot run either. They count as RED tests if RED
        // changed them. They also count if RED changed no test: then only a helper or a table of
        // theirs changed.
        let is_meant =
            |test: &Test| written.is_empty() || written.iter().any(|about| about.is(test));
        tried.verdict.targets.retain(|id| hidden.test(id).is_none_or(is_meant));
        let targets = tried.verdict.targets.clone();
        let material = case.material(&tried.after, &targets);
        let mut wrong = experiment::unknown_names(&material);
        wrong.extend(only_measures(&material));
        if !wrong.is_empty() {
            tried.verdict = and_refused(tried.verdict, wrong);
        } else {
            control(case, &material, &case.experiments(&material), &mut tried.verdict)?;
        }
        if tried.verdict.decision == Decision::Accepted {
            tried.unseen = super::withheld::at_red(case, &tried.after, &mut tried.verdict)?;
        }
        if tried.verdict.decision == Decision::Accepted && tried.verdict.targets.is_empty() {
            hidden.tests.retain(is_meant);
            tried.verdict.targets = replaced::owed(case.new, &tried.after.load_errors, &hidden);
        }
        if tried.verdict.decision == Decision::Accepted && !tried.after.load_errors.is_empty() {
            let has_run = |about: &About| tried.after.tests.iter().any(|test| about.is(test));
            let waiting = written.iter().filter(|about| !has_run(about));
            tried.verdict.unloaded =
                waiting.map(|about| format!("{} of {}", about.item, about.file)).collect();
        }
    }
    Ok(ruling(&known, tried))
}

/// If nothing could be built: whether RED wrote only benchmarks. No test run fails because of them.
fn only_measures(material: &Material<'_>) -> Option<Reason> {
    if !material.targets.is_empty() || material.after.load_errors.is_empty() {
        return None;
    }
    let written = experiment::new_tests(material);
    let is_benchmark = |about: &About| {
        about.file.ends_with("_test.go") && about.item.starts_with("Benchmark")
            || is_benchmark(&about.file)
    };
    let first = written.first().filter(|_| written.iter().all(is_benchmark))?;
    let sentence = format!(
        "{} in {} is a benchmark; benchmarks never fail a test run",
        first.item, first.file
    );
    Some(Reason::new(Code::RedNoTests, sentence).place(Some(&first.file), None))
}
