//! The judge: it asks for one experiment after the other, and rules on what they showed.
//!
//! [`next`] reads as the order of the rules. A rule that needs an experiment asks the case for what it showed; where
//! nobody has made it yet, that is the next step. Nothing here runs anything, and who runs it rules on nothing.

mod calls;
mod explain;
mod green;
mod plans;
mod red;
mod refactor;
pub mod reports;
mod withheld;

use crate::change::Change;
use crate::experiment::examples::Example;
use crate::experiment::replaced::{self, is_unwritten};
use crate::experiment::{Allowance, Experiment, Material, Observation, Question, Tree, suite};
use crate::phase::JudgedPhase;
use crate::report::{Outcome, Report, Status, volatile};
use crate::syntax::Package;
use crate::verdict::{Code, Decision, Reason, Verdict};
use crate::withheld::{TestFile, Unseen};

pub use plans::Plans;
use reports::Evidence;

/// How often a test that broke is tried again before it is blamed.
const FLAKE_TRIES: usize = 5;
/// A candidate may take so many times as long as the tree before it, whatever the limit: a slow suite is nobody's fault.
pub const SLOWER_MAX: u32 = 3;

/// A candidate, what is known of it, and what experiments have shown so far.
pub struct Case<'a> {
    pub phase: JudgedPhase,
    pub change: &'a Change,
    /// What the trees and the surroundings alone show against the candidate.
    pub facts: Vec<Reason>,
    /// What the tests of the base showed, where somebody remembers.
    pub before: Option<Report>,
    /// The tests that RED made fail; `None` if no earlier verdict is stored.
    pub targets: Option<Vec<String>>,
    /// Whether there is a tree before the base, to see what failed there already.
    pub has_earlier: bool,
    /// Test files that GREEN brought along: welcome, and kept apart from those that decide.
    pub extra: Vec<String>,
    /// The test files that are run; all where none is named.
    pub only: Vec<String>,
    pub withheld: Withheld<'a>,
    /// Faults to put into the changed lines.
    pub faults_max: usize,
    /// Every path of the candidate.
    pub paths: &'a [String],
    pub packages: &'a [Package],
    /// Whether the runner can be told to run the tests of some files only.
    pub runs_files: bool,
    pub brief: &'a str,
    /// The text of a file in the tree accepted last, and in the candidate as it is run.
    pub old: &'a dyn Fn(&str) -> Option<String>,
    pub new: &'a dyn Fn(&str) -> Option<String>,
    /// In the order in which they were made.
    pub seen: Vec<Seen>,
    pub plans: Plans,
}

/// What the brief knows and whoever wrote the candidate does not.
#[derive(Clone, Copy, Debug, Default)]
pub struct Withheld<'a> {
    pub examples: &'a [Example],
    /// Nothing is left to develop: every example has to be met.
    pub due: bool,
    /// Tests that RED wrote and kept out of the repository.
    pub tests: &'a [TestFile],
}

/// An experiment that was made.
#[derive(Clone, Debug)]
pub struct Seen {
    pub experiment: Experiment,
    pub observation: Observation,
}

/// What is to be done next.
pub enum Step {
    /// The experiment that the rules need now, and those they will need next unless it decides.
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
    /// What the next phase is compared with.
    pub report: Report,
    /// What the candidate's own run showed, as it is.
    pub shown: Report,
    /// What became of the withheld tests.
    pub unseen: Unseen,
}

/// A value, or the experiment that has to be made before it is known.
type Asked<T> = Result<T, Step>;

/// The next step of a case.
pub fn next(case: &Case<'_>) -> Step {
    match decide(case) {
        Ok(mut ruling) => {
            ruling.verdict.experiments = explain::explain(&case.seen);
            Step::Done(Box::new(ruling))
        }
        Err(step) => step,
    }
}

/// The case with one more observation.
pub fn apply(case: &mut Case<'_>, experiment: Experiment, mut observation: Observation) {
    if let Observation::Ran { report, .. } = &mut observation {
        let suites = case.seen.iter().filter(|seen| seen.experiment.question == Question::Suite);
        for known in case.before.iter().chain(suites.filter_map(|seen| seen.observation.report())) {
            volatile::align(known, report);
        }
    }
    case.seen.push(Seen { experiment, observation });
}

fn decide(case: &Case<'_>) -> Asked<Ruling> {
    let base = case.base()?;
    match case.phase {
        JudgedPhase::Red => red::decide(case, &base),
        JudgedPhase::Green => green::decide(case, &base),
        JudgedPhase::Refactor => refactor::decide(case, &base),
    }
}

/// What is known of the tree accepted last.
#[derive(Debug)]
struct Base {
    report: Report,
    /// The tests that have to pass at GREEN.
    targets: Vec<String>,
}

/// Without a stored verdict: runs the base, and the tree before it to find tests that failed before RED.
fn base(case: &Case<'_>) -> Asked<Base> {
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
    // What RED removed is no matter of GREEN.
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
    let mut ids: Vec<String> =
        report.tests.iter().filter(|test| test.status.is_failure()).map(|test| test.id.clone()).collect();
    ids.sort_unstable();
    ids.dedup();
    ids
}

impl<'a> Case<'a> {
    /// What an experiment showed.
    fn observe(&self, experiment: &Experiment) -> Asked<&Observation> {
        self.observe_first(std::slice::from_ref(experiment))
    }

    /// What the first of several showed; the others are likely to be asked for next.
    fn observe_first(&self, experiments: &[Experiment]) -> Asked<&Observation> {
        let Some((first, others)) = experiments.split_first() else { return Ok(&Observation::Nothing) };
        let seen = self.seen.iter().find(|seen| seen.experiment == *first);
        seen.map(|seen| &seen.observation)
            .ok_or_else(|| Step::Run { now: Box::new(first.clone()), ahead: others.to_vec() })
    }

    /// The candidate's tests.
    fn suite(&self) -> Experiment {
        if self.only.is_empty() { suite::on(Tree::Head) } else { suite::of(&self.only) }
    }

    /// The report of a run of tests.
    fn report(&self, experiment: &Experiment) -> Asked<Report> {
        Ok(self.observe(experiment)?.report().cloned().unwrap_or_default())
    }

    /// What experiments are made from.
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
        reports::judge(self.phase, Evidence { change: self.change, before, after, targets })
    }
}

/// The candidate's own suite, and what it amounts to once tests that waver are excused.
struct Tried {
    after: Report,
    verdict: Verdict,
    unseen: Unseen,
}

/// Runs the candidate's tests; `ahead` is asked for at the same time, where it can be known already.
fn try_candidate(case: &Case<'_>, base: &Base, known: &mut Report, ahead: &[Experiment]) -> Asked<Tried> {
    let targets = &base.targets;
    let experiments: Vec<Experiment> = std::iter::once(case.suite()).chain(ahead.iter().cloned()).collect();
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
    if verdict.decision == Decision::Accepted && !case.extra.is_empty() {
        let more = case.report(&suite::extra(&case.extra))?;
        after = reports::with_extra(after, more);
        verdict = case.rule(known, &after, targets);
    }
    Ok(Tried { after, verdict, unseen: Unseen::default() })
}

/// Whether the limit says more about the machine than about the candidate: what the tree before takes is remembered from
/// a time when less was going on here.
fn is_slow_today(case: &Case<'_>, after: &Report) -> Asked<bool> {
    if case.before.is_none() {
        return Ok(false);
    }
    let base = case.report(&suite::repeated(Tree::Base, 1))?;
    Ok(base.outcome != Outcome::TimedOut && base.wall_ms.saturating_mul(SLOWER_MAX.into()) > after.wall_ms)
}

/// Tests that passed before and fail now are run again: whatever passes once is a flake, and nobody's doing.
fn excuse(case: &Case<'_>, before: &Report, after: &mut Report, targets: &[String]) -> Asked<bool> {
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

/// Tests that failed before and pass now are run once more on the base: what passes there as well is a flake, or failed
/// because of its surroundings, and is not turned green by the candidate.
fn excuse_base(case: &Case<'_>, known: &mut Report, after: &Report) -> Asked<bool> {
    let turned: Vec<String> = reports::turned_green(known, after).iter().map(|test| test.id.clone()).collect();
    if turned.is_empty() {
        return Ok(false);
    }
    let again = case.report(&suite::repeated(Tree::Base, 1))?;
    let passes = |id: &str| again.test(id).is_some_and(|test| test.status == Status::Passed);
    let mut excused = false;
    for test in known.tests.iter_mut().filter(|test| turned.contains(&test.id) && passes(&test.id)) {
        test.status = Status::Passed;
        excused = true;
    }
    Ok(excused)
}

/// The end of a case, with what the next phase is compared with.
fn ruling(known: &Report, tried: Tried) -> Ruling {
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
    Verdict { notes: verdict.notes, ..Verdict::refused(reasons.into_iter().chain(earlier).collect()) }
}

fn undecided(verdict: &Verdict, reasons: Vec<Reason>) -> Verdict {
    Verdict { notes: verdict.notes.clone(), faults: verdict.faults, ..Verdict::undecided_all(reasons) }
}

/// Makes experiments in their order; the first answer that decides does.
fn control(case: &Case<'_>, material: &Material<'_>, experiments: &[Experiment], verdict: &mut Verdict) -> Asked<()> {
    use crate::experiment::Answer;
    let (mut faults, mut unnoticed) = (crate::verdict::Faults::default(), Vec::new());
    for at in 0..experiments.len() {
        let rest = experiments.get(at..).unwrap_or_default();
        let Some(experiment) = rest.first() else { break };
        let observation = case.observe_first(rest)?;
        if matches!(observation, Observation::Nothing) {
            // What only spare time allows is not missed; `--explain` tells it.
            if !matches!(experiment.question.allowance(), Allowance::Fault | Allowance::Expectation) {
                verdict.notes.push(format!("could not be tried: {}", experiment.what));
            }
            continue;
        }
        let mut answer = experiment.weigh(material, observation);
        let mut otherwise = experiment.otherwise.as_deref();
        while let (Answer::Wrong(_), Some(other)) = (&answer, otherwise) {
            answer = answer.and(other.weigh(material, case.observe(other)?));
            otherwise = other.otherwise.as_deref();
        }
        let is_fault = experiment.question == Question::Mutant;
        faults.tried += u16::from(is_fault);
        match answer {
            Answer::Right => faults.noticed += u16::from(is_fault),
            Answer::Wrong(reasons) => {
                *verdict = and_refused(verdict.clone(), reasons);
                return Ok(());
            }
            Answer::Ask(reasons) => {
                *verdict = undecided(verdict, reasons);
                return Ok(());
            }
            Answer::Unnoticed(what) => unnoticed.push(what),
            Answer::Unknown(what) => verdict.notes.push(format!("could not be tried: {what}")),
        }
    }
    if faults.tried > 0 {
        verdict.faults = Some(faults);
        verdict.notes.push(faults.to_string());
        verdict.notes.extend(unnoticed.into_iter().map(|what| format!("not noticed: {what}")));
    }
    Ok(())
}

#[cfg(test)]
mod tests;
