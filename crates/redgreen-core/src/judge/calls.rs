//! Repeats the calls of the tests elsewhere: at GREEN without any tests, at REFACTOR on both trees.

use super::{Case, OrStep, undecided};
use crate::experiment::calls::built::{self, Programs};
use crate::experiment::calls::{self, Answers, Watch};
use crate::experiment::examples::CallOutcome;
use crate::experiment::{Experiment, Material, Observation, Question, Tree};
use crate::experiment::{oracle, outside};
use crate::report::Report;
use crate::verdict::{Reason, Verdict};

/// GREEN: if code returns something else outside of the tests, a human decides.
pub(super) fn at_green(
    case: &Case<'_>,
    material: &Material<'_>,
    verdict: Verdict,
) -> OrStep<Verdict> {
    let mut verdict = verdict;
    for watch in calls::watches(material, Tree::Head) {
        if let Some(reason) = reads_its_tests(case, material, &watch)? {
            return Ok(undecided(&verdict, vec![reason]));
        }
        let Some(recording) = recorded(case, &watch, material.after, &mut verdict)? else {
            continue;
        };
        if let Some(reason) = recording.forged(material, &case.report(&watch.experiment)?) {
            return Ok(undecided(&verdict, vec![reason]));
        }
        if let Some(reason) = recording.changed_language(material) {
            return Ok(undecided(&verdict, vec![reason]));
        }
        if recording.is_empty() {
            continue;
        }
        let plain = answers(case.observe(&recording.again(material))?);
        if let Some(reason) = recording.by_position(&plain) {
            return Ok(undecided(&verdict, vec![reason]));
        }
        let doubts = recording.doubts(&plain);
        if let Some(call) = doubts.wavering.first() {
            verdict.notes.push(format!(
                "{call} returns different results when the calls are repeated or reordered"
            ));
        }
        if doubts.is_empty() {
            continue;
        }
        let Some(control) = recording.bare(material, &doubts) else { continue };
        let bare = answers(case.observe(&control)?);
        if let Some(reason) =
            recording.only_in_tests(&doubts, &plain, &bare, &outside::unseen_with_data(material))
        {
            return Ok(undecided(&verdict, vec![reason]));
        }
    }
    Ok(verdict)
}

/// GREEN: changes the formatting of the watched tests. A test that fails is repeated twice, without
/// being watched, before it counts.
fn reads_its_tests(
    case: &Case<'_>,
    material: &Material<'_>,
    watch: &Watch,
) -> OrStep<Option<Reason>> {
    let mut failing = calls::failing(material, &case.report(&watch.experiment)?);
    for time in 0..2 {
        let Some(experiment) =
            calls::respelled(material, watch.speaker, time).filter(|_| !failing.is_empty())
        else {
            return Ok(None);
        };
        let again = calls::failing(material, &case.report(&experiment)?);
        failing.retain(|id| again.contains(id));
    }
    Ok(failing.first().map(|id| calls::reads_its_tests(id)))
}

/// GREEN: code must not change if only tests use it and it decides whether they pass.
pub(super) fn changed_helper(
    case: &Case<'_>,
    material: &Material<'_>,
    verdict: &mut Verdict,
) -> OrStep<Option<Reason>> {
    let helpers = oracle::helpers(material);
    if helpers.is_empty() {
        return Ok(None);
    }
    for watch in calls::watches(material, Tree::Head) {
        let Some(recording) = recorded(case, &watch, material.after, verdict)? else { continue };
        for helper in helpers.iter().filter(|helper| watch.speaker.speaks(&helper.path)) {
            let [alone, others] = helper.experiments(material);
            let (alone, others) = (case.report(&alone)?, case.report(&others)?);
            let reason = helper.decides(material, &recording, &alone, &others);
            if reason.is_some() {
                return Ok(reason);
            }
        }
    }
    Ok(None)
}

/// REFACTOR: finds calls with another result than on the tree before.
pub(super) fn at_refactor(
    case: &Case<'_>,
    material: &Material<'_>,
    known: &Report,
    verdict: &mut Verdict,
) -> OrStep<Vec<Reason>> {
    for watch in calls::watches(material, Tree::Base) {
        let Some(recording) = recorded(case, &watch, known, verdict)? else { continue };
        let (before, now) =
            (recording.near(material, Tree::Base), recording.near(material, Tree::Head));
        let (first, head) = (answers(case.observe(&before)?), answers(case.observe(&now)?));
        let (reasons, compared) = calls::differences(&first, &head);
        if !reasons.is_empty() {
            // Something that the tests left behind, such as a file, may be gone by now.
            let again = answers(case.observe(&Experiment { time: 1, ..before })?);
            let (reasons, _) = calls::differences(&first.and(again), &head);
            if !reasons.is_empty() {
                return Ok(reasons);
            }
        }
        let uncalled = recording.uncalled(material);
        verdict.notes.extend(
            uncalled
                .iter()
                .map(|(path, name)| format!("no test calls `{name}` in {path} directly")),
        );
        if compared > 0 {
            verdict.notes.push(format!("{compared} calls return the same results as before"));
        }
    }
    Ok(Vec::new())
}

/// The calls of the watched tests, or `None` if watching changed the test results.
fn recorded(
    case: &Case<'_>,
    watch: &Watch,
    known: &Report,
    verdict: &mut Verdict,
) -> OrStep<Option<calls::Recording>> {
    let Observation::Ran { report, log } = case.observe(&watch.experiment)? else {
        return Ok(None);
    };
    if !calls::is_undisturbed(report, known) {
        verdict.notes.push(
            "cannot record calls: the tests give other results while their calls are recorded"
                .to_owned(),
        );
        return Ok(None);
    }
    Ok(Some(calls::read(watch.speaker, log)))
}

/// The same for compiled languages, where calls cannot be watched. It uses the arguments that the
/// tests write out.
pub(super) fn built_at_refactor(
    case: &Case<'_>,
    material: &Material<'_>,
    verdict: &mut Verdict,
) -> OrStep<Vec<Reason>> {
    let asks = built::near(material);
    let [before, now] = [Tree::Base, Tree::Head].map(|tree| {
        built::programs(
            material,
            tree,
            asks.clone(),
            Question::Calls,
            "calls similar to those of the tests",
        )
    });
    let (before, now) = (answers_of(case, &before)?, answers_of(case, &now)?);
    let (reasons, compared) = built::differences(&asks, &before, &now);
    if reasons.is_empty() && compared > 0 {
        verdict.notes.push(format!("{compared} calls return the same results as before"));
    }
    Ok(reasons)
}

/// The results of calls from compiled programs.
pub(super) fn answers_of(case: &Case<'_>, programs: &Programs) -> OrStep<Vec<CallOutcome>> {
    let mut said = Vec::new();
    for program in &programs.programs {
        said.extend(program.said(case.observe(&program.experiment)?.said()));
    }
    Ok(said)
}

fn answers(observation: &Observation) -> Answers {
    calls::answers(observation.log())
}
