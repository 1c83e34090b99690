//! GREEN: the tests of RED pass, all others as before, and both still tell right from wrong.

use super::{Asked, Base, Case, Ruling, and_refused, control, reports, ruling, try_candidate, undecided};
use crate::experiment::bodies::{Held, Program};
use crate::experiment::order::Orders;
use crate::experiment::{self, Experiment, Material, Observation, Tree, bodies, contents, order, outside};
use crate::report::{Outcome, Status};
use crate::verdict::{Code, Decision, Reason, Verdict};

pub(super) fn decide(case: &Case<'_>, base: &Base) -> Asked<Ruling> {
    let mut known = base.report.clone();
    let ahead = guess(case, base);
    if let Ok(Observation::Ran { report: after, .. }) = case.observe(&case.suite()) {
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
    case.experiments(&case.material(&base.report, &base.targets)).to_vec()
}

fn try_tests(case: &Case<'_>, material: &Material<'_>, mut verdict: Verdict) -> Asked<Verdict> {
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
        let mut told = Told::default();
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

/// A value of a test that the code's own equality leaves out, and that the code's answer does not hold.
fn hides_a_difference(case: &Case<'_>, material: &Material<'_>) -> Asked<Option<Reason>> {
    let Some(look) = contents::look(material) else { return Ok(None) };
    for hidden in look.hidden(case.observe(&look.experiment)?.log()) {
        let Some(experiment) = hidden.experiment(material) else { continue };
        if let Some(reason) = hidden.weigh(&case.report(&experiment)?) {
            return Ok(Some(reason));
        }
    }
    Ok(None)
}

/// What the bodies of tests tell of their order: they run last one first, and twice.
#[derive(Default)]
struct Told {
    anything: bool,
    /// They hold alone, and not after others.
    suspects: Vec<String>,
}

/// A body of a test that does not hold in an ordinary program.
fn fails_in_a_program(
    case: &Case<'_>,
    material: &Material<'_>,
    told: &mut Told,
    verdict: &mut Verdict,
) -> Asked<Option<Reason>> {
    for program in bodies::programs(material) {
        let Some(said) = finished(case.observe(&program.experiment(material))?) else { continue };
        told.anything |= program.tells_order();
        for (at, held) in program.held(said).into_iter().enumerate() {
            let id = program.test(at).to_owned();
            if !held.contains(&Held::No) {
                continue;
            }
            // Other bodies may have left something behind.
            let only = program.with_only(at);
            let Some(said) = finished(case.observe(&only.experiment(material))?) else { continue };
            match only.held(said).first() {
                Some([Held::No, _]) if is_the_runners_doing(case, material, &only, &id)? => {
                    let sentence = format!(
                        "{id} holds in a test, and not where the same lines are an ordinary program: the code looks at \
                         who is asking"
                    );
                    return Ok(Some(Reason::new(Code::GreenSuspicious, sentence).test(&id)));
                }
                Some(_) if !program.tells_order() => {}
                Some([Held::No, _]) if order::fails(&case.report(&order::alone(&id, 1))?, &id) => {
                    told.suspects.push(id);
                }
                // Alone it reports no result that can be read, so its result among the others is not evidence.
                Some([Held::No, _]) => {
                    let sentence = format!(
                        "{id} holds with all tests, not where the same lines are an ordinary program, and alone it gives no \
                         result that can be read"
                    );
                    return Ok(Some(Reason::new(Code::GreenSuspicious, sentence).test(&id)));
                }
                Some([Held::Yes, Held::No]) => {
                    if let Some(reason) = order::only_once(material, &id) {
                        return Ok(Some(reason));
                    }
                    verdict.notes.push(format!("{id} passes only the first time that it runs in a process"));
                }
                Some([Held::Yes, Held::Yes]) => told.suspects.push(id),
                Some(_) | None => {}
            }
        }
    }
    Ok(None)
}

/// Whether the body fails in every program, and the same test passes as the only one under its runner.
fn is_the_runners_doing(case: &Case<'_>, material: &Material<'_>, only: &Program, id: &str) -> Asked<bool> {
    if let Some(other) = only.otherwise() {
        let said = finished(case.observe(&other.experiment(material))?);
        if !said.is_some_and(|said| matches!(other.held(said).first(), Some([Held::No, _]))) {
            return Ok(false);
        }
    }
    let report = case.report(&only.under_the_runner(material, id))?;
    // A test of Go that runs others is told by them alone.
    Ok(report.outcome == Outcome::Passed && report.tests.iter().any(|test| test.status == Status::Passed))
}

/// What a program said that came to its end: another had no time to tell of every body.
fn finished(observation: &Observation) -> Option<&str> {
    observation.said().filter(|said| !said.ends_with(bodies::UNFINISHED))
}

/// A test of RED that passes only after others, or only once. It is tried twice before anybody is blamed.
fn depends_on_order(
    case: &Case<'_>,
    material: &Material<'_>,
    told: Told,
    verdict: &mut Verdict,
) -> Asked<Option<Reason>> {
    let orders = if told.anything { Orders::default() } else { order::orders(material) };
    let mut suspects = told.suspects;
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
                    if was_so_before(case, material, &id)? {
                        verdict
                            .notes
                            .push(format!("{id} passes only after other tests, as other rows of it did before"));
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
            verdict.notes.push(format!("{id} passes only the first time that it runs in a process"));
        }
    }
    Ok(None)
}

/// Whether old rows of the same test depended on other tests before the candidate, or before RED where its tests do not load.
fn was_so_before(case: &Case<'_>, material: &Material<'_>, id: &str) -> Asked<bool> {
    for tree in [Tree::Base, Tree::Earlier].into_iter().take(if case.has_earlier { 2 } else { 1 }) {
        let Some(rows) = order::rows_before(id, tree) else { return Ok(false) };
        if order::was_so_before(material, tree, &case.report(&rows)?) {
            return Ok(true);
        }
    }
    Ok(false)
}
