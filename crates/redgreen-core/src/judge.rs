//! The judge requests one experiment after another and decides from the results.
//!
//! [`next`] lists the rules in order. A rule that needs an experiment asks the case for its result;
//! if there is none yet, running it is the next step. Nothing here runs anything, and the code that
//! runs experiments decides nothing.

mod calls;
mod explain;
mod green;
mod plans;
mod red;
mod refactor;
pub mod reports;
mod withheld;

use std::borrow::Cow;

use crate::change::{Change, Class};
use crate::experiment::examples::Example;
use crate::experiment::replaced::{self, is_unwritten};
use crate::experiment::{
    Allowance, Experiment, Material, Observation, Question, Tree, configuration, suite,
};
use crate::phase::JudgedPhase;
use crate::report::{Outcome, Report, Status, volatile};
use crate::syntax::Package;
use crate::verdict::{Code, Decision, Reason, Verdict};
use crate::withheld::{TestFile, WithheldResults};

pub use plans::Plans;
use reports::Evidence;

/// How often a broken test is repeated before it counts as a failure.
const FLAKE_TRIES: usize = 5;
/// A candidate may always take this many times as long as the tree before it, whatever the time
/// limit says. A slow suite is not the fault of the candidate.
pub const SLOWER_MAX: u32 = 3;

/// A candidate, known facts about it, and the results of experiments so far.
pub struct Case<'a> {
    pub phase: JudgedPhase,
    pub change: &'a Change,
    /// Reasons against the candidate that follow from the trees and the environment alone.
    pub facts: Vec<Reason>,
    /// The test results of the base, if they are stored.
    pub before: Option<Report>,
    /// The tests that RED made fail; `None` if no earlier verdict is stored.
    pub targets: Option<Vec<String>>,
    /// Whether there is a tree before the base, to find tests that already failed there.
    pub has_earlier: bool,
    /// Test files that GREEN added. They are allowed, but do not decide.
    pub extra: Vec<String>,
    /// The test files to run. Empty means all.
    pub only: Vec<String>,
    pub withheld: WithheldSet<'a>,
    /// The maximum number of mutants in the changed lines.
    pub mutants_max: usize,
    /// Every path of the candidate.
    pub paths: &'a [String],
    pub packages: &'a [Package],
    /// Whether the runner can run the tests of single files.
    pub runs_files: bool,
    pub brief: &'a str,
    /// The text of a file in the last accepted tree, and in the candidate as it runs.
    pub old: &'a dyn Fn(&str) -> Option<String>,
    pub new: &'a dyn Fn(&str) -> Option<String>,
    /// In the order in which they ran.
    pub seen: Vec<ExperimentResult>,
    pub plans: Plans,
}

/// Tests and examples that the author of the candidate does not see.
#[derive(Clone, Copy, Debug, Default)]
pub struct WithheldSet<'a> {
    pub examples: &'a [Example],
    /// No work is left, so every example must pass.
    pub due: bool,
    /// Tests that RED wrote and kept out of the repository.
    pub tests: &'a [TestFile],
}

/// An experiment that ran.
#[derive(Clone, Debug)]
pub struct ExperimentResult {
    pub experiment: Experiment,
    pub observation: Observation,
}

/// The next thing to do.
pub enum Step {
    /// The experiment that the rules need now, and the ones they need next unless it decides.
    Run {
        now: Box<Experiment>,
        ahead: Vec<Experiment>,
    },
    Done(Box<Ruling>),
}

/// The end of a case.
#[derive(Debug)]
pub struct Ruling {
    pub verdict: Verdict,
    /// The report that the next phase is compared with.
    pub report: Report,
    /// The report of the candidate's own run, unchanged.
    pub shown: Report,
    /// The results of the withheld tests.
    pub unseen: WithheldResults,
}

/// A value, or the experiment that must run before the value is known.
type OrStep<T> = Result<T, Step>;

/// Returns the next step of a case.
pub fn next(case: &Case<'_>) -> Step {
    match decide(case) {
        Ok(mut ruling) => {
            ruling.verdict.experiments = explain::explain(&case.seen);
            Step::Done(Box::new(ruling))
        }
        Err(step) => step,
    }
}

/// Adds an observation to the case.
pub fn apply(case: &mut Case<'_>, experiment: Experiment, mut observation: Observation) {
    if let Observation::Ran { report, .. } = &mut observation {
        let suites = case.seen.iter().filter(|seen| seen.experiment.question == Question::Suite);
        for known in case.before.iter().chain(suites.filter_map(|seen| seen.observation.report())) {
            volatile::align(known, report);
        }
    }
    case.seen.push(ExperimentResult { experiment, observation });
}

fn decide(case: &Case<'_>) -> OrStep<Ruling> {
    let base = case.base()?;
    match case.phase {
        JudgedPhase::Red => red::decide(case, &base),
        JudgedPhase::Green => green::decide(case, &base),
        JudgedPhase::Refactor => refactor::decide(case, &base),
    }
}

/// Known facts about the last accepted tree.
#[derive(Debug)]
struct Base {
    report: Report,
    /// The tests that must pass at GREEN.
    targets: Vec<String>,
}

/// Without a stored verdict: runs the base, and the tree before it to find tests that failed before
/// RED.
fn base(case: &Case<'_>) -> OrStep<Base> {
    let owed = |report: &Report| match case.phase {
        JudgedPhase::Green => failing(report),
        JudgedPhase::Red | JudgedPhase::Refactor => Vec::new(),
    };
    if let Some(report) = &case.before {
        let targets = case.targets.clone().unwrap_or_else(|| owed(report));
        return Ok(Base { report: report.clone(), targets });
    }
    let report = case.report(&suite::on(Tree::Base))?;
    let mut targets = owed(&report);
    if case.phase != JudgedPhase::Green || !case.has_earlier || report.outcome == Outcome::Passed {
        return Ok(Base { report, targets });
    }
    let older = case.report(&suite::on(Tree::Earlier))?;
    let known = failing(&older);
    targets.retain(|id| !known.contains(id));
    let mut carried = reports::carry(&older, &report);
    // GREEN does not answer for tests that RED removed.
    let material = case.material(&report, &targets);
    carried.tests.retain(|test| report.test(&test.id).is_some() || !is_unwritten(&material, test));
    if targets.is_empty() {
        let mut hidden = carried.clone();
        hidden.tests.retain(|test| report.test(&test.id).is_none());
        targets = replaced::owed(case.old, &report.load_errors, &hidden);
    }
    Ok(Base { report: carried, targets })
}

/// The tests that fail in a report.
fn failing(report: &Report) -> Vec<String> {
    let mut ids: Vec<String> = report
        .tests
        .iter()
        .filter(|test| test.status.is_failure())
        .map(|test| test.id.clone())
        .collect();
    ids.sort_unstable();
    ids.dedup();
    ids
}

impl<'a> Case<'a> {
    /// Returns the result of an experiment.
    fn observe(&self, experiment: &Experiment) -> OrStep<&Observation> {
        self.observe_first(std::slice::from_ref(experiment))
    }

    /// Returns the result of the first experiment. The others are likely to be needed next.
    fn observe_first(&self, experiments: &[Experiment]) -> OrStep<&Observation> {
        let Some((first, others)) = experiments.split_first() else {
            return Ok(&Observation::Nothing);
        };
        let seen = self.seen.iter().find(|seen| seen.experiment == *first);
        seen.map(|seen| &seen.observation)
            .ok_or_else(|| Step::Run { now: Box::new(first.clone()), ahead: others.to_vec() })
    }

    /// The candidate's tests.
    fn suite(&self) -> Experiment {
        if self.only.is_empty() { suite::on(Tree::Head) } else { suite::of(&self.only) }
    }

    /// The report of a run of tests.
    fn report(&self, experiment: &Experiment) -> OrStep<Report> {
        Ok(self.observe(experiment)?.report().cloned().unwrap_or_default())
    }

    /// The input of experiments.
    fn material<'m>(&'m self, after: &'m Report, targets: &'m [String]) -> Material<'m> {
        Material {
            phase: self.phase,
            change: self.change,
            after,
            targets,
            paths: self.paths,
            packages: self.packages,
            brief: self.brief,
            before: self.old,
            now: self.new,
        }
    }

    fn rule(&self, before: &Report, after: &Report, targets: &[String]) -> Verdict {
        self.rule_without(&[], before, after, targets)
    }

    /// The same, where an experiment has shown that these changed settings of the test runner do
    /// not matter.
    fn rule_without(
        &self,
        settled: &[String],
        before: &Report,
        after: &Report,
        targets: &[String],
    ) -> Verdict {
        let mut change = Cow::Borrowed(self.change);
        if !settled.is_empty() {
            let paths = change.to_mut().paths.iter_mut();
            for changed in paths.filter(|changed| settled.contains(&changed.path)) {
                changed.class = Class::Manifest;
            }
        }
        reports::judge(self.phase, Evidence { change: &change, before, after, targets })
    }
}

/// The candidate's suite and its verdict, without flaky tests.
struct CandidateResult {
    after: Report,
    verdict: Verdict,
    unseen: WithheldResults,
}

/// Runs the candidate's tests, and at the same time the experiments in `ahead`.
fn try_candidate(
    case: &Case<'_>,
    base: &Base,
    known: &mut Report,
    ahead: &[Experiment],
) -> OrStep<CandidateResult> {
    let targets = &base.targets;
    let experiments: Vec<Experiment> =
        std::iter::once(case.suite()).chain(ahead.iter().cloned()).collect();
    let mut after = case.observe_first(&experiments)?.report().cloned().unwrap_or_default();
    if after.outcome == Outcome::TimedOut && is_slow_today(case, &after)? {
        after = case.report(&suite::repeated(Tree::Head, 1))?;
    }
    let mut verdict = case.rule(known, &after, targets);
    if verdict.decision == Decision::Refused && excuse(case, &base.report, &mut after, targets)? {
        verdict = case.rule(known, &after, targets);
    }
    if verdict.has(Code::RefactorTurnsGreen) && excuse_base(case, known, &after)? {
        verdict = case.rule(known, &after, targets);
    }
    if !case.facts.is_empty() {
        verdict = and_refused(verdict, case.facts.clone());
    }
    let settings = settle_settings(case, &verdict, &after, targets)?;
    if let Some(settings) = &settings {
        verdict = case.rule_without(settings, known, &after, targets);
    }
    if verdict.decision == Decision::Accepted && !case.extra.is_empty() {
        let more = case.report(&suite::extra(&case.extra))?;
        after = reports::with_extra(after, more);
        verdict =
            case.rule_without(settings.as_deref().unwrap_or_default(), known, &after, targets);
    }
    if let Some(settings) = settings.filter(|_| verdict.decision == Decision::Accepted) {
        verdict.notes.push(format!(
            "the settings of the test runner changed ({}); every test has the same result with the old ones",
            settings.join(", ")
        ));
    }
    Ok(CandidateResult { after, verdict, unseen: WithheldResults::default() })
}

/// The changed settings of the test runner, if they are all that speaks against the candidate and
/// an experiment shows that no result depends on them.
fn settle_settings(
    case: &Case<'_>,
    verdict: &Verdict,
    after: &Report,
    targets: &[String],
) -> OrStep<Option<Vec<String>>> {
    let material = case.material(after, targets);
    let Some(experiment) =
        configuration::with_old_settings(&material, &case.facts, verdict, &case.suite())
    else {
        return Ok(None);
    };
    if !configuration::is_same(after, &case.report(&experiment)?) {
        return Ok(None);
    }
    let laid = experiment.edits.into_iter().map(|(path, _)| path);
    Ok(Some(laid.chain(experiment.removed).collect()))
}

/// Whether the time limit says more about the machine than about the candidate. The stored duration
/// of the base may come from a time when the machine was less busy.
fn is_slow_today(case: &Case<'_>, after: &Report) -> OrStep<bool> {
    if case.before.is_none() {
        return Ok(false);
    }
    let base = case.report(&suite::repeated(Tree::Base, 1))?;
    Ok(base.outcome != Outcome::TimedOut
        && base.wall_ms.saturating_mul(SLOWER_MAX.into()) > after.wall_ms)
}

/// Runs tests again that passed before and fail now. A test that passes once is flaky and does not
/// count.
fn excuse(
    case: &Case<'_>,
    before: &Report,
    after: &mut Report,
    targets: &[String],
) -> OrStep<bool> {
    let mut blamed = reports::newly_failing(before, after, targets);
    let mut excused = false;
    for time in 1..=FLAKE_TRIES {
        if blamed.is_empty() {
            break;
        }
        let again = case.report(&suite::again(&blamed, time))?;
        excused |= reports::excuse(after, &again, &mut blamed);
    }
    Ok(excused)
}

/// Runs tests on the base again that failed before and pass now. A test that also passes there is
/// flaky, or failed because of its environment; the candidate did not make it pass.
fn excuse_base(case: &Case<'_>, known: &mut Report, after: &Report) -> OrStep<bool> {
    let turned: Vec<String> =
        reports::turned_green(known, after).iter().map(|test| test.id.clone()).collect();
    if turned.is_empty() {
        return Ok(false);
    }
    let again = case.report(&suite::repeated(Tree::Base, 1))?;
    let passes = |id: &str| again.test(id).is_some_and(|test| test.status == Status::Passed);
    let mut excused = false;
    for test in known.tests.iter_mut().filter(|test| turned.contains(&test.id) && passes(&test.id))
    {
        test.status = Status::Passed;
        excused = true;
    }
    Ok(excused)
}

/// The end of a case, with the report that the next phase is compared with.
fn ruling(known: &Report, tried: CandidateResult) -> Ruling {
    let report = match tried.verdict.decision {
        Decision::Accepted => reports::carry(known, &tried.after),
        Decision::Refused | Decision::Undecided => tried.after.clone(),
    };
    Ruling { verdict: tried.verdict, report, shown: tried.after, unseen: tried.unseen }
}

fn and_refused(verdict: Verdict, reasons: Vec<Reason>) -> Verdict {
    let earlier = match verdict.decision {
        Decision::Refused => verdict.reasons,
        Decision::Accepted | Decision::Undecided => Vec::new(),
    };
    Verdict {
        notes: verdict.notes,
        ..Verdict::refused(reasons.into_iter().chain(earlier).collect())
    }
}

fn undecided(verdict: &Verdict, reasons: Vec<Reason>) -> Verdict {
    Verdict {
        notes: verdict.notes.clone(),
        mutants: verdict.mutants,
        ..Verdict::undecided_all(reasons)
    }
}

/// Runs experiments in order. The first answer that decides wins.
fn control(
    case: &Case<'_>,
    material: &Material<'_>,
    experiments: &[Experiment],
    verdict: &mut Verdict,
) -> OrStep<()> {
    use crate::experiment::Answer;
    let (mut mutants, mut unnoticed) = (crate::verdict::Mutants::default(), Vec::new());
    for at in 0..experiments.len() {
        let rest = experiments.get(at..).unwrap_or_default();
        let Some(experiment) = rest.first() else { break };
        let observation = case.observe_first(rest)?;
        if matches!(observation, Observation::Nothing) {
            // Experiments that only run if time is left need no note; `--explain` lists them.
            if !matches!(
                experiment.question.allowance(),
                Allowance::Mutant | Allowance::Expectation
            ) {
                verdict.notes.push(format!("could not run: {}", experiment.what));
            }
            continue;
        }
        let mut answer = experiment.weigh(material, observation);
        let mut otherwise = experiment.otherwise.as_deref();
        while let (Answer::Wrong(_), Some(other)) = (&answer, otherwise) {
            answer = answer.and(other.weigh(material, case.observe(other)?));
            otherwise = other.otherwise.as_deref();
        }
        let is_mutant = experiment.question == Question::Mutant;
        mutants.tried += u16::from(is_mutant);
        match answer {
            Answer::Right => mutants.killed += u16::from(is_mutant),
            Answer::Wrong(reasons) => {
                *verdict = and_refused(verdict.clone(), reasons);
                return Ok(());
            }
            Answer::Ask(reasons) => {
                *verdict = undecided(verdict, reasons);
                return Ok(());
            }
            Answer::Unnoticed(what) => unnoticed.push(what),
            Answer::Unknown(what) => verdict.notes.push(format!("could not run: {what}")),
        }
    }
    if mutants.tried > 0 {
        verdict.mutants = Some(mutants);
        verdict.notes.push(mutants.to_string());
        verdict.notes.extend(unnoticed.into_iter().map(|what| format!("not killed: {what}")));
    }
    Ok(())
}

#[cfg(test)]
mod tests;
