//! GREEN: the tests of RED pass, all others as before, and both still tell right from wrong.

use super::{Asked, Base, Case, Ruling, control, reports, ruling, try_candidate, undecided};
use crate::experiment::{self, Experiment, Material, Observation, Tree, experiments, order, outside, suite};
use crate::verdict::{Code, Decision, Reason, Verdict};

pub(super) fn decide(case: &Case<'_>, base: &Base) -> Asked<Ruling> {
    let mut known = base.report.clone();
    let ahead = guess(case, base);
    if let Ok(Observation::Ran { report: after, .. }) = case.observe(&suite::on(Tree::Head)) {
        let material = case.material(after, &base.targets);
        known.tests.extend(experiment::asleep(&material, &base.report, after));
    }
    let mut tried = try_candidate(case, base, &mut known, &ahead)?;
    if tried.verdict.decision == Decision::Accepted {
        let targets =
            reports::asked_for(case.phase, &base.report, &tried.after, &tried.verdict, case.targets.as_deref());
        tried.verdict = try_tests(case, &case.material(&tried.after, &targets), tried.verdict)?;
        // Where the experiments left a doubt, tests that the code's author did not see may settle it.
        if tried.verdict.decision != Decision::Refused {
            tried.unseen = super::withheld::at_green(case, &tried.after, &mut tried.verdict)?;
        }
    }
    Ok(ruling(&known, tried))
}

/// The experiments that will follow, as far as what RED left tells them already.
fn guess(case: &Case<'_>, base: &Base) -> Vec<Experiment> {
    let is_known = |id: &String| base.report.test(id).is_some();
    if !case.facts.is_empty() || base.targets.is_empty() || !base.targets.iter().all(is_known) {
        return Vec::new();
    }
    experiments(&case.material(&base.report, &base.targets), case.faults_max)
}

fn try_tests(case: &Case<'_>, material: &Material<'_>, mut verdict: Verdict) -> Asked<Verdict> {
    super::withheld::try_examples(case, material, &mut verdict)?;
    if verdict.decision == Decision::Accepted {
        control(case, material, &experiments(material, case.faults_max), &mut verdict)?;
    }
    if verdict.decision == Decision::Accepted {
        let suspicions = experiment::suspicions(material);
        if !suspicions.is_empty() {
            return Ok(undecided(&verdict, suspicions));
        }
        if let Some(reason) = depends_on_order(case, material, &mut verdict)? {
            return Ok(undecided(&verdict, vec![reason]));
        }
        if let Some(reason) = answers_tests_only(case, material)? {
            return Ok(undecided(&verdict, vec![reason]));
        }
        return super::calls::at_green(case, material, verdict);
    }
    Ok(verdict)
}

/// A test of RED that passes only after others, or only once. It is tried twice before anybody is blamed.
fn depends_on_order(case: &Case<'_>, material: &Material<'_>, verdict: &mut Verdict) -> Asked<Option<Reason>> {
    let orders = order::orders(material);
    let mut suspects: Vec<String> = Vec::new();
    for experiment in orders.first.iter().chain(&orders.more) {
        let Some(report) = case.observe(experiment)?.report() else { continue };
        suspects.extend(order::suspects(material, report));
    }
    suspects.dedup();
    for id in suspects {
        if order::fails(&case.report(&order::alone(&id, 1))?, &id) {
            // What the code left in a file may let it pass every other time.
            for time in [2, 3] {
                if order::fails(&case.report(&order::alone(&id, time))?, &id) {
                    return Ok(Some(order::only_after_others(&id)));
                }
            }
            continue;
        }
        if order::fails(&case.report(&order::repeated(&id))?, &id) {
            if let Some(reason) = order::only_once(material, &id) {
                return Ok(Some(reason));
            }
            verdict.notes.push(format!("{id} passes only the first time that it runs in a process"));
        }
    }
    Ok(None)
}

/// What the tests were told is asked where no runner is. Another answer there, and the test's own to a test that does
/// nothing else, is a matter for a human.
fn answers_tests_only(case: &Case<'_>, material: &Material<'_>) -> Asked<Option<Reason>> {
    for program in outside::programs(material) {
        if let Some(number) = differing(case, material, &program)?.first() {
            let alone = program.with_only(*number);
            if !differing(case, material, &alone)?.is_empty() {
                let sentence = format!(
                    "{} holds in a test, and not where the same lines are a program: the code looks at who is asking",
                    alone.test(0)
                );
                return Ok(Some(Reason::new(Code::GreenSuspicious, sentence).place(Some(&program.file), None)));
            }
        }
    }
    Ok(None)
}

/// The bodies of tests that hold in a test and not in a program.
fn differing(case: &Case<'_>, material: &Material<'_>, program: &outside::Program) -> Asked<Vec<usize>> {
    Ok(match case.observe(&program.experiment(outside::unseen(material)))? {
        Observation::Ran { report, log } => program.contradicted(report, log),
        Observation::Said(_) | Observation::Nothing => Vec::new(),
    })
}
