//! Puts mutants into the changed places of a range, one at a time, and records which tests fail.
//! Decides nothing.

use std::thread::{self, Scope};
use std::time::{Duration, Instant};

use anyhow::Result;
use redgreen_core::change::Change;
use redgreen_core::experiment::{About, Experiment, Material, Observation, Question};
use redgreen_core::phase::{JudgedPhase, Phase};
use redgreen_core::proof::mutants::{self, Depth, Hunk, HunkResult, Mutant, ROUNDS, Round, Search};
use redgreen_core::proof::{MutantResult, Shard, TestEvidence, tests_seen, unseen};
use redgreen_core::report::Report;

use super::open::Trial;
use super::perform::Conditions;
use super::prefetch::Prefetch;
use super::tree_reader::TreeReader;
use super::{Candidate, EnvironmentRecord, TrialContext, change};

/// The time limit for mutants: this long, or a share of the duration of all tests.
const WALL_MIN: Duration = Duration::from_secs(3);
const WALL_SHARE: u32 = 2;
/// How much more time a mutant gets that did not finish, compared with the unchanged code.
const PATIENCE: u32 = 2;

/// A range and the reports of its trees.
#[derive(Clone, Copy, Debug)]
pub struct Range<'a> {
    /// The trees: the base, the base with the tests of the head, the head.
    pub base: &'a str,
    pub between: &'a str,
    pub head: &'a str,
    pub base_report: &'a Report,
    pub between_report: &'a Report,
    pub head_report: &'a Report,
    /// Whether a test fails without the change.
    pub is_asked_for: bool,
    /// The maximum number of mutants.
    pub limit: usize,
    pub shard: Option<Shard>,
    pub depth: Depth,
    pub timeout: Duration,
    /// An earlier scan of the environment.
    pub environment: Option<&'a EnvironmentRecord>,
}

#[derive(Debug, Default)]
pub struct SearchResult {
    pub tests: Vec<TestEvidence>,
    pub hunks: Vec<Hunk>,
    pub mutants: Vec<Mutant>,
    /// Tests that are written but have no result.
    pub unseen: Vec<About>,
    /// Whether there are more changed places than were examined.
    pub more: bool,
    /// The duration of the tests.
    pub running: Duration,
}

pub fn search(ground: TrialContext<'_>, range: Range<'_>) -> Result<SearchResult> {
    let candidate = |base, head| Candidate {
        phase: JudgedPhase::Green,
        base,
        head,
        earlier: None,
        before: None,
        targets: None,
        surroundings: None,
        brief: "",
        withheld: super::WithheldSet::default(),
        only: &[],
        timeout: range.timeout,
        explain: false,
    };
    let (whole, code) = (candidate(range.base, range.head), candidate(range.between, range.head));
    let mut trial =
        Trial::open(ground, range.between, range.head, range.environment, range.timeout)?;
    let searched = thread::scope(|scope| trial.search(scope, range, &whole, &code));
    let running = trial.running;
    trial.close()?;
    Ok(SearchResult { running, ..searched? })
}

impl<'a> Trial<'a> {
    fn search<'scope, 'env>(
        &mut self,
        scope: &'scope Scope<'scope, 'env>,
        range: Range<'_>,
        whole: &Candidate<'_>,
        code: &'env Candidate<'env>,
    ) -> Result<SearchResult>
    where
        'a: 'env,
    {
        let frameworks: Vec<_> = self.suite.frameworks().collect();
        let git = self.ground.git;
        let changes = |phase: Phase, candidate: &Candidate<'_>| {
            change(git, phase, candidate.base, candidate.head, &frameworks)
        };
        let (all, changed) = (changes(Phase::Refactor, whole)?, changes(Phase::Refactor, code)?);
        let (tests, unseen) = {
            let reading = TreeReader::of(git, whole)?;
            let material = material(&reading, &all, range.head_report);
            let tests =
                tests_seen(&material, range.base_report, range.between_report, range.head_report);
            (tests, unseen(&material, range.head_report))
        };
        let reading = TreeReader::of(git, code)?;
        let material = material(&reading, &changed, range.head_report);
        let (hunks, more) = mutants::hunks(&material);
        let mut files: Vec<String> = tests.iter().filter_map(|test| test.file.clone()).collect();
        files.sort_unstable();
        files.dedup();
        let mut conditions = Conditions {
            candidate: code,
            frozen: change::frozen(Phase::Refactor, code.base, &changed),
            timeout: range.timeout,
            usual: Duration::ZERO,
        };
        conditions.expect(range.head_report);
        let helpers = Prefetch::start(scope, self.annex(), &conditions, self.ground.stop.part());
        let Range { is_asked_for, limit, shard, depth, .. } = range;
        let is_thorough = depth != Depth::Sample;
        let search = Search {
            material: &material,
            hunks: &hunks,
            tests: &tests,
            files: &files,
            is_asked_for,
            limit,
            shard,
            depth,
        };
        let end = Instant::now() + WALL_MIN.max(conditions.usual / WALL_SHARE);
        // Without its only place, the head is the third tree, which already ran.
        let is_only = hunks.len() == 1 && changed.paths.len() == 1;
        let without_change = (is_only && !range.between_report.tests.is_empty()).then(|| {
            let (report, log) = (Box::new(range.between_report.clone()), String::new());
            Observation::Ran { report, log }
        });
        let mut found: Vec<Mutant> = Vec::new();
        let (mut rounds, mut unsettled) = (ROUNDS.into_iter().peekable(), None);
        while let Some(round) = rounds.peek().copied() {
            // Each time, one more mutant of each place is tried with all tests.
            let left = found.iter().filter(|mutant| mutant.is_unsettled()).count();
            match (round, unsettled) {
                (Round::AllTests, Some(before)) if before == left => {
                    rounds.next();
                    continue;
                }
                (Round::AllTests, _) if is_thorough => unsettled = Some(left),
                (Round::Reverted | Round::Mutants | Round::AllTests | Round::Nothing, _) => {
                    rounds.next();
                }
            }
            let planned = mutants::plan(round, &search, &found);
            let (planned, experiments): (Vec<Mutant>, Vec<Experiment>) =
                planned.into_iter().unzip();
            let until = match round {
                // The policy needs an answer.
                Round::Reverted | Round::Mutants | Round::AllTests if is_thorough => None,
                Round::Reverted | Round::Mutants => Some(end),
                // Whether any test detects the change is decisive, so run at least one.
                Round::AllTests if is_tested(&found) => Some(Instant::now()),
                Round::AllTests => Some(end),
                Round::Nothing => None,
            };
            for (at, mut mutant) in planned.into_iter().enumerate() {
                let rest = experiments.get(at..).unwrap_or_default();
                let until = until.filter(|_| at > 0);
                let made = match without_change.as_ref().filter(|_| round == Round::Reverted) {
                    Some(known) => known.clone(),
                    None => self.next_of(&helpers, &conditions, rest, until)?,
                };
                let weighed = mutant.weigh(&made, range.head_report);
                if let (HunkResult::OutOfTime, Some(experiment)) = (weighed, rest.first()) {
                    let (control, again) = self.repeat(&conditions, experiment)?;
                    mutant.weigh_repeated(&control, &again, range.head_report);
                }
                // A mutant that was already tried with fewer tests.
                let known = found
                    .iter_mut()
                    .find(|known| known.what == mutant.what && known.hunk.is_some());
                match known.filter(|_| round == Round::AllTests) {
                    Some(known) => known.retried(mutant),
                    None => found.push(mutant),
                }
            }
        }
        drop(helpers);
        Ok(SearchResult { tests, hunks, mutants: found, unseen, more, running: Duration::ZERO })
    }

    /// The unchanged code, and then the experiment once more with a multiple of the time that the
    /// unchanged code needed.
    fn repeat(
        &mut self,
        conditions: &Conditions<'_>,
        experiment: &Experiment,
    ) -> Result<(Observation, Observation)> {
        let unchanged =
            Experiment { question: Question::Suite, edits: Vec::new(), ..experiment.clone() };
        let control = self.perform(conditions, &unchanged)?;
        let needed =
            control.report().map_or(Duration::ZERO, |report| Duration::from_millis(report.wall_ms));
        let usual = conditions.usual.max(needed) * PATIENCE;
        let again = self.perform(&Conditions { usual, ..conditions.clone() }, experiment)?;
        Ok((control, again))
    }

    /// The observation of the first experiment, while helpers run the others. Nothing after the
    /// deadline.
    fn next_of(
        &mut self,
        helpers: &Prefetch,
        conditions: &Conditions<'_>,
        experiments: &[Experiment],
        until: Option<Instant>,
    ) -> Result<Observation> {
        let Some((now, later)) = experiments.split_first() else { return Ok(Observation::Nothing) };
        let is_late = until.is_some_and(|end| Instant::now() > end);
        helpers.expect(if is_late { Vec::new() } else { later.to_vec() });
        let waited = Instant::now();
        let made = helpers.take(now);
        self.running += waited.elapsed();
        match made {
            Some(made) => made,
            None if is_late => Ok(Observation::Nothing),
            None => self.perform(conditions, now),
        }
    }
}

fn is_tested(mutants: &[Mutant]) -> bool {
    mutants
        .iter()
        .any(|mutant| mutant.hunk.is_some() && matches!(mutant.killed, MutantResult::By(_)))
}

fn material<'m>(
    reading: &'m TreeReader<'_>,
    change: &'m Change,
    after: &'m Report,
) -> Material<'m> {
    Material {
        phase: JudgedPhase::Green,
        change,
        after,
        targets: &[],
        paths: &reading.paths,
        packages: &reading.packages,
        brief: "",
        before: &*reading.before,
        now: &*reading.now,
    }
}
