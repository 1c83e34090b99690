//! RED: a new test fails, for the want of what it asks for, and nothing else broke.

use super::{Asked, Base, Case, Ruling, and_refused, control, ruling, try_candidate};
use crate::change::is_benchmark;
use crate::experiment::replaced::{self, Replaced};
use crate::experiment::{self, About, Material, Observation};
use crate::verdict::{Code, Decision, Reason};

pub(super) fn decide(case: &Case<'_>, base: &Base) -> Asked<Ruling> {
    let mut known = base.report.clone();
    let mut replaced = Replaced::default();
    if let Ok(Observation::Ran { report: after, .. }) = case.observe(&case.suite()) {
        replaced = replaced::replaced(&case.material(after, &[]), &known, after);
        known.tests.retain(|test| !replaced.ids.contains(&test.id));
    }
    let mut tried = try_candidate(case, base, &mut known, &[])?;
    if tried.verdict.decision == Decision::Accepted {
        tried.verdict.notes.extend(replaced.notes);
    }
    if tried.verdict.decision == Decision::Accepted {
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
            let mut hidden = known.clone();
            hidden.tests.retain(|test| tried.after.test(&test.id).is_none());
            tried.verdict.targets = replaced::owed(case.new, &tried.after.load_errors, &hidden);
        }
    }
    Ok(ruling(&known, tried))
}

/// Where nothing could be built, whether all that was written are benchmarks: no test run looks at what they measure.
fn only_measures(material: &Material<'_>) -> Option<Reason> {
    if !material.targets.is_empty() || material.after.load_errors.is_empty() {
        return None;
    }
    let written = experiment::new_tests(material);
    let is_benchmark = |about: &About| {
        about.file.ends_with("_test.go") && about.item.starts_with("Benchmark") || is_benchmark(&about.file)
    };
    let first = written.first().filter(|_| written.iter().all(is_benchmark))?;
    let sentence = format!("{} of {} is a benchmark, and no test run fails because of it", first.item, first.file);
    Some(Reason::new(Code::RedNoTests, sentence).place(Some(&first.file), None))
}
