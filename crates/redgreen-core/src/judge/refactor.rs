//! REFACTOR: the structure changed, but not the behaviour of the code or the checks of the tests.

use super::{
    Base, CandidateResult, Case, OrStep, Ruling, and_refused, ruling, try_candidate, undecided,
};
use crate::experiment::reworked::{TestChanges, is_silent, old_tests};
use crate::experiment::surface::changed_surface;
use crate::experiment::{self, Experiment, Material, Observation, Tree, calls};
use crate::report::{Outcome, Report};
use crate::verdict::{Code, Decision, Reason, Verdict};
use crate::withheld::WithheldResults;

pub(super) fn decide(case: &Case<'_>, base: &Base) -> OrStep<Ruling> {
    if case.change.paths.is_empty() {
        let verdict = case.rule(&base.report, &base.report, &[]);
        return Ok(Ruling {
            verdict,
            report: base.report.clone(),
            shown: base.report.clone(),
            unseen: WithheldResults::default(),
        });
    }
    let reworked = case.reworked(&case.material(&base.report, &base.targets));
    let mut known = reworked.without(&base.report);
    let watches = calls::watches(&case.material(&base.report, &base.targets), Tree::Base);
    let ahead: Vec<Experiment> = watches.into_iter().map(|watch| watch.experiment).collect();
    let mut tried: CandidateResult = try_candidate(case, base, &mut known, &ahead)?;
    if tried.verdict.decision == Decision::Accepted {
        let material = case.material(&tried.after, &[]);
        super::withheld::try_examples(case, &material, &mut tried.verdict)?;
        if tried.verdict.decision == Decision::Accepted {
            tried.verdict = compare(case, base, &material, &reworked, tried.verdict)?;
        }
        if tried.verdict.decision == Decision::Accepted {
            tried.unseen = super::withheld::at_green(case, &tried.after, &mut tried.verdict)?;
        }
    }
    Ok(ruling(&known, tried))
}

/// Compares what the tests detect, and what the code returns, with the tree before.
fn compare(
    case: &Case<'_>,
    base: &Base,
    material: &Material<'_>,
    reworked: &TestChanges,
    mut verdict: Verdict,
) -> OrStep<Verdict> {
    let facts = changed_surface(material);
    if !facts.is_empty() {
        return Ok(and_refused(verdict, facts));
    }
    if reworked.is_proof_needed() {
        let reasons = notice_less(case, material, reworked, &mut verdict)?;
        if !reasons.is_empty() {
            return Ok(and_refused(verdict, reasons));
        }
        let doubts = reworked.doubts();
        if !doubts.is_empty() {
            return Ok(undecided(&verdict, doubts));
        }
    }
    let mut reasons = experiment::hidden_from_coverage(material);
    reasons.extend(experiment::new_features(material));
    if reasons.is_empty() {
        reasons = super::calls::built_at_refactor(case, material, &mut verdict)?;
    }
    if reasons.is_empty() {
        reasons = super::calls::at_refactor(case, material, &base.report, &mut verdict)?;
    }
    if !reasons.is_empty() {
        return Ok(and_refused(verdict, reasons));
    }
    let removals = reworked.removals();
    Ok(if removals.is_empty() { verdict } else { undecided(&verdict, removals) })
}

/// Inserts mutants: the new tests must kill every mutant that the old tests killed.
fn notice_less(
    case: &Case<'_>,
    material: &Material<'_>,
    reworked: &TestChanges,
    verdict: &mut Verdict,
) -> OrStep<Vec<Reason>> {
    let comparisons = case.comparisons(material, reworked);
    let vanished = |sentence: &str| Ok(vec![Reason::new(Code::RefactorTestsVanished, sentence)]);
    if comparisons.is_empty() {
        return vanished("tests were removed together with the code they test");
    }
    let (old, known) = (case.report(&old_tests(material, reworked))?, material.after);
    let ran = |report: &Report| report.tests.iter().any(|test| !test.status.is_idle());
    if old.outcome != Outcome::Passed && !(ran(&old) && is_silent(&old, known)) {
        return vanished(
            "tests and the code they test changed together, so nothing shows that the behaviour is \
             the same",
        );
    }
    let mut tried = 0;
    for comparison in comparisons.iter() {
        let Observation::Ran { report: new, .. } = case.observe(&comparison.new)? else { continue };
        tried += 1;
        if is_silent(new, known) {
            let old = case.report(&comparison.old)?;
            if let Some(reason) = comparison.weigh(&old, new, known) {
                return Ok(vec![reason]);
            }
        }
    }
    verdict
        .notes
        .push(format!("the changed tests kill the same mutants as the old ones ({tried} tried)"));
    Ok(Vec::new())
}
