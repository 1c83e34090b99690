//! A trial: the judge asks for an experiment, it runs in the clean room, and the judge gets the
//! observation, until it decides. All verdicts come from here.

mod builds;
mod change;
mod created_files;
mod early_suite;
mod environment;
mod explain;
mod memory;
mod open;
mod packages;
mod perform;
mod prefetch;
mod room_failures;
mod search;
mod tree_reader;

use std::path::Path;
use std::thread::{self, Scope};
use std::time::{Duration, Instant};

use anyhow::Result;
use redgreen_core::change::{Change, ChangedPath, Class, Kind};
use redgreen_core::coverage::Coverage;
use redgreen_core::experiment::{
    Allowance, Experiment, Method, Observation, Question, Tree, order, suite,
};
use redgreen_core::framework::command::{self, Command};
use redgreen_core::framework::invoke::Selection;
use redgreen_core::judge::reports::{self, Evidence};
use redgreen_core::judge::{self, Case, Plans, Ruling, Step};
use redgreen_core::phase::JudgedPhase;
use redgreen_core::report::Report;
use redgreen_core::syntax::Language;
use redgreen_core::verdict::{Code, Decision, Reason, Verdict};

use crate::config;
use crate::failure::Failure;
use crate::git::Git;
use crate::process::Stop;
use crate::runner::{self, Suite};
use crate::sandbox::Network;

use open::Trial;
use perform::Conditions;
use prefetch::Prefetch;
use tree_reader::TreeReader;

/// The default number of mutants in the changed lines.
const MUTANTS: usize = 6;
/// The time limit for mutants after the suite: this long, or a share of the suite's duration.
const MUTANTS_WALL: Duration = Duration::from_millis(400);
const MUTANTS_SHARE: u32 = 4;
/// The time limit for programs built from tests: this long, or a multiple of the suite's duration.
/// Each failing test body may need its own build.
const PROGRAMS_WALL: Duration = Duration::from_secs(60);
const PROGRAMS_SHARE: u32 = 2;
/// The time limit for comparing changed tests with the old ones.
const COMPARISON_WALL: Duration = Duration::from_secs(90);
/// This many are compared regardless of time, so that a slow machine gets the same verdict.
const COMPARISONS_MIN: usize = 30;

pub(crate) use change::change;
pub use created_files::note as note_made;
pub use early_suite::{EarlySuite, Later};
pub use environment::{EnvironmentRecord, FOLDERS, TrialEnvironment, installed_places};
pub use memory::{Memory, StoredResult};
pub use redgreen_core::judge::WithheldSet;
pub use redgreen_core::withheld::WithheldResults;
pub use room_failures::{explain, only_there};
pub use search::{Range, SearchResult, search};

/// The context of a trial.
#[derive(Clone, Copy, Debug)]
pub struct TrialContext<'a> {
    pub git: &'a Git,
    /// The folder with installed packages: the user's checkout, or the run's worktree.
    pub checkout: &'a Path,
    /// The private folder of the run's worktree, with the list of files made by set-up commands.
    pub private: Option<&'a Path>,
    /// Our folder for rooms and build output.
    pub workshop: &'a Path,
    pub environment: &'a config::Environment,
    /// The project's settings.
    pub file: &'a config::File,
    /// The test command given by the user.
    pub command: Option<&'a str>,
    pub stop: &'a Stop,
}

impl TrialContext<'_> {
    /// The test suite of a tree: the given command, the project's settings, or detection.
    ///
    /// A command that is no call of a known runner, such as `make test`, has an exit code and no
    /// results per test. It never replaces a framework that reports each test.
    fn suite(&self, folder: &Path) -> Result<Suite> {
        let Some(line) = self.command else { return runner::suite(folder, &self.file.test) };
        let given = Suite::of(folder, Command::new(line, None, None).map_err(Failure::usage)?)?;
        if given.reports_each_test() {
            return Ok(given);
        }
        Ok(runner::suite(folder, &self.file.test).unwrap_or(given))
    }
}

/// The candidate of a trial.
#[derive(Clone, Debug)]
pub struct Candidate<'a> {
    pub phase: JudgedPhase,
    /// The trees.
    pub base: &'a str,
    pub head: &'a str,
    /// The tree before the base: tests that failed there are not new in RED. Only run if no earlier
    /// verdict is stored.
    pub earlier: Option<&'a str>,
    /// The report of the base, if known.
    pub before: Option<Report>,
    /// The tests that RED made fail; `None` if no earlier verdict is stored.
    pub targets: Option<Vec<String>>,
    /// The environment when the base was accepted.
    pub surroundings: Option<EnvironmentRecord>,
    pub brief: &'a str,
    pub withheld: WithheldSet<'a>,
    /// The test files to run; all if empty.
    pub only: &'a [String],
    pub timeout: Duration,
    /// Whether to report the tree of each experiment.
    pub explain: bool,
}

/// The result of a trial.
#[derive(Debug)]
pub struct TrialResult {
    pub verdict: Verdict,
    pub change: Change,
    /// The report that the next phase is compared with.
    pub report: Report,
    /// The unmodified report of the candidate's own run.
    pub shown: Report,
    pub surroundings: EnvironmentRecord,
    /// The results of the withheld tests.
    pub unseen: WithheldResults,
    /// How the tests were sandboxed.
    pub fence: String,
    /// The time of all test runs.
    pub tests: Duration,
    /// Our own time in addition.
    pub own: Duration,
}

/// What the caller of several trials already knows. It saves time and decides nothing.
#[derive(Clone, Copy, Debug, Default)]
pub struct Known<'a> {
    /// An earlier scan of the environment: unchanged files are not read again.
    pub environment: Option<&'a EnvironmentRecord>,
    /// The suite of the candidate, which already runs.
    pub suite: Option<&'a EarlySuite>,
}

/// Runs the trial.
pub fn hold(ground: TrialContext<'_>, candidate: &Candidate<'_>) -> Result<TrialResult> {
    hold_with(ground, candidate, Known::default())
}

/// Runs the trial, without repeating what the caller knows.
pub fn hold_with(
    ground: TrialContext<'_>,
    candidate: &Candidate<'_>,
    known: Known<'_>,
) -> Result<TrialResult> {
    let started = Instant::now();
    let mut trial = Trial::open(
        ground,
        candidate.base,
        candidate.head,
        candidate.surroundings.as_ref().or(known.environment),
        candidate.timeout,
    )?;
    let tried = thread::scope(|scope| trial.run_to_verdict(scope, candidate, known.suite));
    let running = trial.running;
    let closed = trial.close();
    let mut tried = tried?;
    closed?;
    tried.tests = running;
    tried.own = started.elapsed().saturating_sub(running);
    Ok(tried)
}

/// Runs all tests of a tree in the clean room, before anyone works on it.
pub fn measure(ground: TrialContext<'_>, tree: &str, timeout: Duration) -> Result<StoredResult> {
    measure_part(ground, tree, &[], timeout, None)
}

/// Runs the tests of these files of a tree; all tests if there are none. `known` is an earlier scan
/// of the environment.
pub fn measure_part(
    ground: TrialContext<'_>,
    tree: &str,
    files: &[String],
    timeout: Duration,
    known: Option<&EnvironmentRecord>,
) -> Result<StoredResult> {
    let mut trial = Trial::open(ground, tree, tree, known, timeout)?;
    let all = files.is_empty();
    let selection = if all { Selection::All } else { Selection::Files(files.to_vec()) };
    let report = trial.run(&selection, &[]);
    let surroundings = trial.surroundings.clone();
    trial.close()?;
    Ok(StoredResult { version: 1, report: report?, targets: Vec::new(), surroundings })
}

/// The verdict on a merge with another branch, by the REFACTOR rules for every test that passed
/// before. Changes of the other branch are not attributed to this step.
pub fn as_a_merge(target: &str, candidate: &Candidate<'_>, tried: &TrialResult) -> Verdict {
    let merged =
        ChangedPath { path: target.to_owned(), kind: Kind::Modified, class: Class::Implementation };
    let (change, before) =
        (Change { paths: vec![merged] }, candidate.before.clone().unwrap_or_default());
    let evidence = Evidence { change: &change, before: &before, after: &tried.shown, targets: &[] };
    let verdict = reports::judge(JudgedPhase::Refactor, evidence);
    let repairs = verdict.reasons.iter().all(|reason| reason.code == Code::RefactorTurnsGreen);
    match verdict.decision {
        Decision::Refused if repairs => Verdict::accepted(Reason::plain(Code::RefactorKept)),
        Decision::Refused | Decision::Accepted | Decision::Undecided => verdict,
    }
}

/// Like `measure`, for a tree whose tests already ran in the clean room from another checkout.
pub fn remember(ground: TrialContext<'_>, tree: &str, report: Report) -> Result<StoredResult> {
    let surroundings = environment::look(ground, tree, None)?.seen;
    Ok(StoredResult { version: 1, report, targets: Vec::new(), surroundings })
}

/// The current environment of a tree's tests. `known` is an earlier scan.
pub fn look_around(
    ground: TrialContext<'_>,
    tree: &str,
    known: Option<&EnvironmentRecord>,
) -> Result<EnvironmentRecord> {
    Ok(environment::look(ground, tree, known)?.seen)
}

/// The lines covered by the tests of a tree, in the clean room; `None` without a coverage tool.
pub fn cover(ground: TrialContext<'_>, tree: &str, timeout: Duration) -> Result<Option<Coverage>> {
    let mut trial = Trial::open(ground, tree, tree, None, timeout)?;
    let coverage = trial.cover();
    trial.close()?;
    coverage
}

impl<'a> Trial<'a> {
    fn run_to_verdict<'scope, 'env>(
        &mut self,
        scope: &'scope Scope<'scope, 'env>,
        candidate: &'env Candidate<'env>,
        early: Option<&EarlySuite>,
    ) -> Result<TrialResult>
    where
        'a: 'env,
    {
        let git = self.ground.git;
        let frameworks: Vec<_> = self.suite.frameworks().collect();
        let phase = candidate.phase.into();
        let change = change(git, phase, candidate.base, candidate.head, &frameworks)?;
        let mut facts = change::configuration(
            git,
            phase,
            (candidate.base, candidate.head),
            &change,
            &frameworks,
        )?;
        facts.extend(environment::planted(git, &self.room.facts, candidate.head, &change)?);
        let mut other_tools = Vec::new();
        if let Some(before) = &candidate.surroundings {
            facts.extend(environment::changed(
                before,
                &self.surroundings,
                &self.around.tools,
                &change,
            ));
            other_tools = environment::other_tools(before, &self.surroundings);
        }
        // A report made with other tools says nothing about the candidate, so the base is measured
        // again.
        let is_known = other_tools.is_empty();
        let reading = TreeReader::of(git, candidate)?;
        let mut case = Case {
            phase: candidate.phase,
            change: &change,
            facts,
            before: candidate.before.clone().filter(|_| is_known),
            targets: candidate.targets.clone().filter(|_| is_known),
            has_earlier: candidate.earlier.is_some(),
            extra: change::extra_tests(phase, &change),
            only: candidate.only.to_vec(),
            withheld: candidate.withheld,
            mutants_max: self.ground.file.test.mutants.unwrap_or(MUTANTS),
            paths: &reading.paths,
            packages: &reading.packages,
            runs_files: frameworks.iter().all(|row| row.name != command::FRAMEWORK.name),
            brief: candidate.brief,
            old: &*reading.before,
            new: &*reading.now,
            seen: Vec::new(),
            plans: Plans::default(),
        };
        let mut conditions = Conditions {
            candidate,
            frozen: change::frozen(phase, candidate.base, &change),
            timeout: candidate.timeout,
            usual: Duration::ZERO,
        };
        if let Some(before) = &case.before {
            conditions.expect(before);
        }
        let mut ahead = None;
        let mut budget = Budget::default();
        let mut ruling = loop {
            let (now, likely) = match judge::next(&case) {
                Step::Done(ruling) => break *ruling,
                Step::Run { now, ahead } => (*now, ahead),
            };
            if !likely.is_empty() {
                let helpers = ahead.get_or_insert_with(|| {
                    Prefetch::start(scope, self.annex(), &conditions, self.ground.stop.part())
                });
                helpers.expect(likely);
            }
            let waited = Instant::now();
            let made = early
                .and_then(|early| early.take(&now, &conditions))
                .map(Ok)
                .or_else(|| ahead.as_ref().and_then(|ahead: &Prefetch| ahead.take(&now)));
            self.running += waited.elapsed();
            let observation = match made {
                Some(made) => made?,
                None if budget.is_spent(&now) => Observation::Nothing,
                None => self.perform(&conditions, &now)?,
            };
            let is_suite =
                now.question == Question::Suite || now == suite::repeated(Tree::Base, now.time);
            if let (true, Some(report)) = (is_suite, observation.report()) {
                conditions.expect(report);
                if now.tree == Tree::Head {
                    let end = budget.begin(conditions.usual);
                    ahead.iter().for_each(|ahead| ahead.mutants_until(end));
                }
            }
            budget.count(&now);
            judge::apply(&mut case, now, observation);
        };
        drop(ahead);
        if candidate.explain {
            explain::add_trees(git, &conditions, &case.seen, &mut ruling.verdict.experiments)?;
        }
        ruling.verdict.notes.extend(other_tools);
        Ok(self.tried(ruling, change))
    }

    fn tried(&self, ruling: Ruling, change: Change) -> TrialResult {
        let fence = self.room.fence(&self.sandbox, Network::Loopback);
        let fence = self.sandbox.held(&fence).to_string();
        TrialResult {
            verdict: ruling.verdict,
            change,
            report: ruling.report,
            shown: ruling.shown,
            surroundings: self.surroundings.clone(),
            unseen: ruling.unseen,
            fence,
            tests: Duration::ZERO,
            own: Duration::ZERO,
        }
    }
}

/// The time for experiments with mutants whose result does not decide.
#[derive(Default)]
struct Budget {
    usual: Duration,
    mutants_until: Option<Instant>,
    programs_until: Option<Instant>,
    mutants: usize,
    comparing_since: Option<Instant>,
    comparisons: usize,
    orders: usize,
}

impl Budget {
    /// Called when the suite has ended. From now on the user waits for the experiments.
    fn begin(&mut self, usual: Duration) -> Instant {
        self.usual = usual;
        self.programs_until
            .get_or_insert(Instant::now() + PROGRAMS_WALL.max(usual * PROGRAMS_SHARE));
        *self.mutants_until.get_or_insert(Instant::now() + MUTANTS_WALL.max(usual / MUTANTS_SHARE))
    }

    fn is_spent(&mut self, experiment: &Experiment) -> bool {
        match experiment.question.allowance() {
            Allowance::Expectation => self.mutants_until.is_some_and(|end| Instant::now() > end),
            // Always try one mutant; more only if there is time.
            Allowance::Mutant => {
                self.mutants > 0 && self.mutants_until.is_some_and(|end| Instant::now() > end)
            }
            // A test that failed once is repeated however late it is.
            Allowance::Order => {
                let is_late = self.mutants_until.is_some_and(|end| Instant::now() > end);
                is_late && experiment.time == 0 && self.orders >= order::ALONE_MIN
            }
            Allowance::Comparison => {
                let since = *self.comparing_since.get_or_insert_with(Instant::now);
                self.comparisons >= COMPARISONS_MIN
                    && since.elapsed() > COMPARISON_WALL.max(self.usual * 2)
            }
            Allowance::Program => {
                let is_program = matches!(experiment.way, Method::Program { .. });
                is_program && self.programs_until.is_some_and(|end| Instant::now() > end)
            }
            Allowance::Needed => false,
        }
    }

    fn count(&mut self, experiment: &Experiment) {
        self.mutants += usize::from(experiment.question == Question::Mutant);
        self.orders += usize::from(experiment.question == Question::Order);
        self.comparisons += usize::from(experiment.question == Question::Reworked);
    }
}

/// Test code in a language whose test files can affect the run of the others, and run without them.
fn is_script(path: &str) -> bool {
    let language = Language::of_path(path);
    matches!(language, Language::Python | Language::Go) || language.is_script()
}

fn is_added_test(changed: &ChangedPath) -> bool {
    changed.kind == Kind::Added && changed.class == Class::Test && is_script(&changed.path)
}
