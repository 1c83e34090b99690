//! GREEN: the RED tests pass, all others are as before, and the tests still detect wrong code.

use super::{
    Base, CandidateResult, Case, OrStep, Ruling, and_refused, control, reports, ruling,
    try_candidate, undecided,
};
use crate::experiment::bodies::{BodyResult, Program};
use crate::experiment::documented::ExampleChanges;
use crate::experiment::order::Orders;
use crate::experiment::{
    self, Experiment, Material, Observation, Tree, bodies, contents, order, outside,
};
use crate::report::{Outcome, Status};
use crate::text::without_line_breaks;
use crate::verdict::{Code, Decision, Reason, Verdict};

pub(super) fn decide(case: &Case<'_>, base: &Base) -> OrStep<Ruling> {
    let documented = case.documented(&case.material(&base.report, &base.targets), &base.report);
    let mut known = documented.without(&base.report);
    let ahead = guess(case, base);
    if let Ok(Observation::Ran { report: after, .. }) = case.observe(&case.suite()) {
        let material = case.material(after, &base.targets);
        known.tests.extend(experiment::asleep(&material, &base.report, after));
    }
    let mut tried = try_candidate(case, base, &mut known, &ahead)?;
    if tried.verdict.decision == Decision::Accepted {
        keep_examples(case, base, &documented, &mut tried)?;
    }
    if tried.verdict.decision == Decision::Accepted {
        let targets = reports::asked_for(
            case.phase,
            &base.report,
            &tried.after,
            &tried.verdict,
            case.targets.as_deref(),
        );
        tried.verdict = try_tests(case, &case.material(&tried.after, &targets), tried.verdict)?;
        // If the experiments left a doubt, tests that the author of the code did not see may
        // decide.
        if tried.verdict.decision != Decision::Refused {
            tried.unseen = super::withheld::at_green(case, &tried.after, &mut tried.verdict)?;
        }
    }
    Ok(ruling(&known, tried))
}

/// Changed documentation examples still pass in their old form, apart from renamed code.
fn keep_examples(
    case: &Case<'_>,
    base: &Base,
    documented: &ExampleChanges,
    tried: &mut CandidateResult,
) -> OrStep<()> {
    if documented.changed.is_empty() {
        return Ok(());
    }
    let mut reasons = documented.homeless();
    for laid in case.laid(&case.material(&tried.after, &base.targets), documented).iter() {
        reasons = laid.weigh(&base.report, &base.targets, &case.report(&laid.experiment)?);
        if reasons.is_empty() {
            tried.verdict.notes.push(documented.note());
            return Ok(());
        }
    }
    tried.verdict = and_refused(tried.verdict.clone(), reasons);
    Ok(())
}

/// The experiments that will probably follow, as far as the report of RED predicts them.
fn guess(case: &Case<'_>, base: &Base) -> Vec<Experiment> {
    let is_known = |id: &String| base.report.test(id).is_some();
    if !case.facts.is_empty() || base.targets.is_empty() || !base.targets.iter().all(is_known) {
        return Vec::new();
    }
    case.experiments(&case.material(&base.report, &base.targets)).to_vec()
}

fn try_tests(case: &Case<'_>, material: &Material<'_>, mut verdict: Verdict) -> OrStep<Verdict> {
    let imports = outside::imports_of_tests(material);
    if !imports.is_empty() {
        return Ok(and_refused(verdict, imports));
    }
    super::withheld::try_examples(case, material, &mut verdict)?;
    if verdict.decision == Decision::Accepted {
        control(case, material, &case.experiments(material), &mut verdict)?;
    }
    if verdict.decision == Decision::Accepted {
        let shadows = experiment::shadows(material);
        if !shadows.is_empty() {
            return Ok(undecided(&verdict, shadows));
        }
        if let Some(reason) = super::calls::changed_helper(case, material, &mut verdict)? {
            return Ok(undecided(&verdict, vec![reason]));
        }
        if let Some(reason) = hides_a_difference(case, material)? {
            return Ok(undecided(&verdict, vec![reason]));
        }
        let mut told = OrderFindings::default();
        if let Some(reason) = fails_in_a_program(case, material, &mut told, &mut verdict)? {
            return Ok(undecided(&verdict, vec![reason]));
        }
        if let Some(reason) = depends_on_order(case, material, told, &mut verdict)? {
            return Ok(undecided(&verdict, vec![reason]));
        }
        return super::calls::at_green(case, material, verdict);
    }
    Ok(verdict)
}

/// Finds an expected value that the result does not contain, and that the code's own equality
/// ignores.
fn hides_a_difference(case: &Case<'_>, material: &Material<'_>) -> OrStep<Option<Reason>> {
    let Some(look) = contents::look(material) else { return Ok(None) };
    for hidden in look.hidden(case.observe(&look.experiment)?.log()) {
        let Some(experiment) = hidden.experiment(material) else { continue };
        if let Some(reason) = hidden.weigh(&case.report(&experiment)?) {
            return Ok(Some(reason));
        }
    }
    Ok(None)
}

/// What the test bodies say about their order. They run twice, last one first.
#[derive(Default)]
struct OrderFindings {
    anything: bool,
    /// They pass alone, but not after others.
    suspects: Vec<String>,
}

/// Finds a test body that fails in an ordinary program.
fn fails_in_a_program(
    case: &Case<'_>,
    material: &Material<'_>,
    told: &mut OrderFindings,
    verdict: &mut Verdict,
) -> OrStep<Option<Reason>> {
    for program in bodies::programs(material) {
        let Some(said) = finished(case.observe(&program.experiment(material))?) else { continue };
        told.anything |= program.tells_order();
        for (at, held) in program.held(said).into_iter().enumerate() {
            let id = program.test(at).to_owned();
            if !held.contains(&BodyResult::No) {
                continue;
            }
            // Other bodies may have left something behind.
            let only = program.with_only(at);
            let Some(said) = finished(case.observe(&only.experiment(material))?) else { continue };
            match only.held(said).first() {
                Some([BodyResult::No, _]) if is_the_runners_doing(case, material, &only, &id)? => {
                    let sentence = format!(
                        "{id} passes under the test runner, but its body fails in an ordinary \
                         program: the code detects the tests"
                    );
                    return Ok(Some(Reason::new(Code::GreenSuspicious, sentence).test(&id)));
                }
                Some(_) if !program.tells_order() => {}
                Some([BodyResult::No, _])
                    if order::fails(&case.report(&order::alone(&id, 1))?, &id) =>
                {
                    told.suspects.push(id);
                }
                // Alone it reports no readable result, so its result among the others is not
                // evidence.
                Some([BodyResult::No, _]) => {
                    let sentence = format!(
                        "{id} passes with all tests, but its body fails in an ordinary program, \
                         and alone it reports no result"
                    );
                    return Ok(Some(Reason::new(Code::GreenSuspicious, sentence).test(&id)));
                }
                Some([BodyResult::Yes, BodyResult::No]) => {
                    if let Some(reason) = order::only_once(material, &id) {
                        return Ok(Some(reason));
                    }
                    verdict
                        .notes
                        .push(format!("{id} passes only the first time it runs in a process"));
                }
                Some([BodyResult::Yes, BodyResult::Yes]) => told.suspects.push(id),
                Some(_) | None => {}
            }
        }
    }
    Ok(None)
}

/// Whether the body fails in every program, while the same test passes alone under its runner.
fn is_the_runners_doing(
    case: &Case<'_>,
    material: &Material<'_>,
    only: &Program,
    id: &str,
) -> OrStep<bool> {
    if let Some(other) = only.otherwise() {
        let said = finished(case.observe(&other.experiment(material))?);
        if !said.is_some_and(|said| matches!(other.held(said).first(), Some([BodyResult::No, _]))) {
            return Ok(false);
        }
    }
    let report = case.report(&only.under_the_runner(material, id))?;
    // A Go test with subtests is reported only through its subtests.
    Ok(report.outcome == Outcome::Passed
        && report.tests.iter().any(|test| test.status == Status::Passed))
}

/// The output of a program that finished. One that timed out did not report every body.
fn finished(observation: &Observation) -> Option<&str> {
    observation.said().filter(|said| !said.ends_with(bodies::UNFINISHED))
}

/// Finds a RED test that passes only after others, or only once. It is tried twice before it
/// counts.
fn depends_on_order(
    case: &Case<'_>,
    material: &Material<'_>,
    told: OrderFindings,
    verdict: &mut Verdict,
) -> OrStep<Option<Reason>> {
    let orders = if told.anything { Orders::default() } else { order::orders(material) };
    let mut suspects = told.suspects;
    for experiment in orders.first.iter().chain(&orders.more) {
        let Some(report) = case.observe(experiment)?.report() else { continue };
        suspects.extend(order::suspects(material, report));
    }
    suspects.dedup();
    for id in suspects {
        if order::fails(&case.report(&order::alone(&id, 1))?, &id) {
            // If the code leaves a file behind, the test may pass every other time.
            for time in [2, 3] {
                if order::fails(&case.report(&order::alone(&id, time))?, &id) {
                    if was_so_before(case, material, &id)? {
                        verdict.notes.push(format!(
                            "{id} passes only after other tests, as its other rows did before this \
                             step"
                        ));
                        break;
                    }
                    return Ok(Some(order::only_after_others(&id)));
                }
            }
            continue;
        }
        if order::fails(&case.report(&order::repeated(&id))?, &id) {
            if let Some(reason) = order::only_once(material, &id) {
                return Ok(Some(reason));
            }
            let name = without_line_breaks(&id);
            verdict.notes.push(format!("{name} passes only the first time it runs in a process"));
        }
    }
    Ok(None)
}

/// Whether old rows of the same test depended on other tests before the candidate, or before RED if
/// its tests do not load.
fn was_so_before(case: &Case<'_>, material: &Material<'_>, id: &str) -> OrStep<bool> {
    for tree in [Tree::Base, Tree::Earlier].into_iter().take(if case.has_earlier { 2 } else { 1 }) {
        let Some(rows) = order::rows_before(id, tree) else { return Ok(false) };
        if order::was_so_before(material, tree, &case.report(&rows)?) {
            return Ok(true);
        }
    }
    Ok(false)
}
