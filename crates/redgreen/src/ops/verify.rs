//! `redgreen verify`: whether the tests of a range of commits prove its code, for any author.

mod commits;
mod measured;
mod range;
mod weakened;

use std::cell::RefCell;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::Result;
use redgreen_core::change::{Change, ChangedPath, Class, Kind};
use redgreen_core::framework::FRAMEWORKS;
use redgreen_core::names::Oid;
use redgreen_core::phase::{JudgedPhase, Phase};
use redgreen_core::proof::mutants::Depth;
use redgreen_core::proof::parts::{PartFiles, Take, tests_of};
use redgreen_core::proof::range::RangeSpec;
use redgreen_core::proof::{
    self, Evidence, Exception, Policy, Proof, Shard, StepVerdict, conclude,
};
use redgreen_core::report::{Report, Status, Test};
use redgreen_core::syntax::{self, Language};
use redgreen_core::verdict::{Code, Decision, Reason};

use super::trust;
use crate::config;
use crate::engine::Project;
use crate::failure::{self, Failure};
use crate::foreign;
use crate::git::{Git, PathChange};
use crate::trial::{
    self, Candidate, EarlySuite, EnvironmentRecord, Known, Later, Range, TrialContext, TrialResult,
    WithheldSet,
};

pub use range::asked_by_ci;

/// The maximum number of unchecked files to list. The rest is counted.
const NAMED_MAX: usize = 20;
/// The maximum size of the file of one part.
const PART_BYTES_MAX: u64 = 64 << 20;

/// The arguments.
#[derive(Clone, Debug)]
pub struct Question {
    /// `None` for the checked-out branch.
    pub range: Option<RangeSpec>,
    /// Whether to judge pairs of RED and GREEN commits too.
    pub commits: bool,
    pub shard: Option<Shard>,
    /// Runs the tests, instead of a detected framework.
    pub test_command: Option<String>,
    pub timeout: Option<Duration>,
}

pub fn exit_code(proof: &Proof) -> failure::Code {
    use redgreen_core::proof::Outcome;
    match proof.outcome {
        Outcome::Proven => failure::Code::Done,
        Outcome::Refuted => failure::Code::No,
        Outcome::Inconclusive => failure::Code::Human,
    }
}

/// Verifies the range. If that is impossible, the result says why.
pub fn verify(project: &Project, question: &Question) -> Result<Proof> {
    let started = Instant::now();
    let git = &project.git;
    let mut evidence = Evidence { shard: question.shard, ..Evidence::default() };
    let ends = match range::resolve(git, question.range.as_ref())? {
        Ok(ends) => ends,
        Err(reason) => return Ok(conclude(Evidence { inconclusive: Some(reason), ..evidence })),
    };
    (evidence.base, evidence.head) = (ends.base.to_string(), ends.head.to_string());
    let trees = trees(git, &ends)?;
    let mut file = trust::settings_of(git, &trees.base, &project.environment)?;
    if let Some(problem) = file.verify.problem() {
        return Err(Failure::usage(problem)
            .next(format!("fix {} at the base", config::FILE))
            .into());
    }
    evidence.policy = file.verify.clone();
    // Mutants of the changed lines are tried separately.
    file.test.mutants = Some(0);
    let environment = RefCell::new(None);
    let case = Case { project, question, file: &file, trees, environment };
    let looked = case.look(&mut evidence, &ends);
    if let Err(error) = looked {
        evidence.inconclusive = Some(unable(error)?);
    }
    let total = u64::try_from(started.elapsed().as_millis()).unwrap_or(u64::MAX);
    evidence.own_ms = total.saturating_sub(evidence.tests_ms);
    Ok(conclude(evidence))
}

/// Combines parts from several machines.
pub fn merge(files: &[PathBuf]) -> Result<Proof> {
    let mut parts = Vec::new();
    for path in files {
        let unusable = |why: String| {
            Failure::usage(format!("{} is not part of a proof", path.display()))
                .evidence(why)
                .next("redgreen verify <range> --shard K/N --json > part-K.json")
        };
        let text = foreign::read_named(path, PART_BYTES_MAX)
            .map_err(|error| unusable(error.to_string()))?;
        let part: Proof =
            serde_json::from_str(&text).map_err(|error| unusable(error.to_string()))?;
        parts.push(part.evidence);
    }
    let whole = proof::merge(parts)
        .map_err(|problem| Failure::usage(problem).next("redgreen verify --merge <all parts>"))?;
    Ok(conclude(whole))
}

fn no_test() -> Reason {
    Reason::new(Code::VerifyNoTest, "no test ran with the change")
}

/// A problem of the environment is a result. Any other error is not.
fn unable(error: anyhow::Error) -> Result<Reason> {
    match error.downcast_ref::<Failure>() {
        Some(failure) if failure.code == failure::Code::Environment => {
            let evidence = failure.evidence.iter().map(String::as_str);
            let words: Vec<&str> = std::iter::once(failure.what.as_str()).chain(evidence).collect();
            Ok(Reason::new(Code::VerifyUnable, words.join("; ")))
        }
        Some(_) | None => Err(error),
    }
}

/// The compared trees.
struct Trees {
    base: Oid,
    /// With the submodules of the base: they are not checked, and a room has none.
    head: Oid,
    submodules: Vec<String>,
}

fn trees(git: &Git, ends: &range::RangeEnds) -> Result<Trees> {
    let (base, head) = (git.tree_of(&ends.base)?, git.tree_of(&ends.head)?);
    let changed = git.diff(&base, &head)?;
    let submodules: Vec<String> =
        changed.into_iter().filter(PathChange::is_submodule).map(|one| one.path).collect();
    let names: Vec<&str> = submodules.iter().map(String::as_str).collect();
    let head = if names.is_empty() { head } else { git.with_paths_of(&head, &base, &names)? };
    Ok(Trees { base, head, submodules })
}

struct Case<'a> {
    project: &'a Project,
    question: &'a Question,
    /// The settings of the base.
    file: &'a config::File,
    trees: Trees,
    /// The latest scan of the environment.
    environment: RefCell<Option<EnvironmentRecord>>,
}

/// The reports of the parts of the range.
#[derive(Default)]
struct Reports {
    base: Report,
    between: Report,
    head: Report,
}

/// The contents of a range.
struct Parts {
    has_tests: bool,
    has_code: bool,
    /// The changed test files, if they can run separately.
    files: Vec<String>,
}

/// A step for the judge.
struct Step<'a> {
    phase: JudgedPhase,
    /// Trees.
    base: &'a str,
    head: &'a str,
    before: &'a Report,
    targets: Option<Vec<String>>,
    only: &'a [String],
    /// The suite of `head`, if it already runs.
    early: Option<&'a EarlySuite>,
}

impl<'a> Step<'a> {
    fn new(phase: JudgedPhase, base: &'a str, head: &'a str, before: &'a Report) -> Self {
        Self { phase, base, head, before, targets: None, only: &[], early: None }
    }
}

impl Case<'_> {
    fn ground(&self) -> TrialContext<'_> {
        let project = self.project;
        TrialContext {
            git: &project.git,
            checkout: &project.git.root,
            private: None,
            workshop: &project.workshop,
            environment: &project.environment,
            file: self.file,
            command: self.question.test_command.as_deref(),
            stop: &project.stop,
        }
    }

    fn timeout(&self, phase: JudgedPhase) -> Result<Duration> {
        let policy = self.file.policy(&self.project.environment)?;
        let usual = Duration::from_millis(policy.suite_timeout_ms(phase.into()));
        Ok(self.question.timeout.unwrap_or(usual))
    }

    fn look(&self, evidence: &mut Evidence, ends: &range::RangeEnds) -> Result<()> {
        let git = &self.project.git;
        let (base, head) = (&self.trees.base, &self.trees.head);
        let change = trial::change(
            git,
            Phase::Refactor,
            base,
            head,
            &FRAMEWORKS.iter().collect::<Vec<_>>(),
        )?;
        tell_what_is_left_out(&change, evidence);
        tell_submodules(&self.trees.submodules, evidence);
        let taken = parts(git, &change, &evidence.policy, base, head)?;
        for one in &taken {
            let is_exempt = |changed: &&ChangedPath| {
                changed.path == one.path
                    && matches!(changed.class, Class::RunnerConfig | Class::Manifest)
            };
            let exemption = evidence.policy.exemption(Some(&one.path), None);
            if let (Some(_), Some(exemption)) = (change.paths.iter().find(is_exempt), exemption) {
                let what = format!("{} was changed", one.path);
                evidence.exempted.push(Exception { what, reason: exemption.reason.clone() });
            }
        }
        let between = between(git, base, head, &taken)?;
        let rest = trial::change(
            git,
            Phase::Refactor,
            &between,
            head,
            &FRAMEWORKS.iter().collect::<Vec<_>>(),
        )?;
        let is_code = |changed: &ChangedPath| {
            !matches!(changed.class, Class::Documentation | Class::TestList)
        };
        let (has_tests, has_code) = (between != *base, rest.paths.iter().any(is_code));
        if !has_tests && !has_code {
            return Ok(());
        }
        let mut seen = Reports { base: self.base_report(evidence)?, ..Reports::default() };
        if !has_tests && seen.base.tests.is_empty() {
            evidence.inconclusive.get_or_insert_with(no_test);
            return Ok(());
        }
        let is_first = self.question.shard.is_none_or(Shard::is_first);
        if is_first {
            let files = files_of_tests(git, &change, head, &seen.base);
            self.judge_parts(evidence, &mut seen, &between, &Parts { has_tests, has_code, files })?;
        } else {
            seen.head = self.measured(head, &[], evidence)?;
            if has_tests {
                seen.between = self.measured(&between, &[], evidence)?;
            }
        }
        evidence.ran = seen.head.command.clone();
        let is_open = evidence.steps.iter().all(|step| step.decision != Decision::Refused);
        if is_open && !seen.head.tests.is_empty() {
            // If nothing failed, REFACTOR already compared old and new tests.
            if evidence.steps.iter().any(|step| step.phase == JudgedPhase::Green) {
                weakened::compare(self, evidence, &change, &seen.head)?;
            }
            self.search(evidence, &seen, &between)?;
        }
        if is_open && seen.head.tests.is_empty() {
            evidence.inconclusive.get_or_insert_with(no_test);
        }
        self.keep_head(evidence, &seen)?;
        let gone = seen
            .base
            .tests
            .iter()
            .filter(|test| test.status == Status::Passed && !seen.head.tests.is_empty());
        let gone = gone.filter(|test| seen.head.test(&test.id).is_none());
        evidence.removed = gone.map(|test| test.id.clone()).collect();
        if self.question.commits {
            commits::judge_pairs(self, evidence, ends, &between, seen)?;
        }
        Ok(())
    }

    /// Judges the step from the base to the third tree, and the step from there to the head.
    fn judge_parts(
        &self,
        evidence: &mut Evidence,
        seen: &mut Reports,
        between: &Oid,
        parts: &Parts,
    ) -> Result<()> {
        let (base, head) = (&self.trees.base, &self.trees.head);
        let known = seen.base.clone();
        if !parts.has_tests {
            let step = Step::new(JudgedPhase::Refactor, base, head, &known);
            seen.head = self.kept_or_fixed(&step, "the new code, with the old tests", evidence)?;
            return Ok(());
        }
        let scanned = self.environment.borrow().clone();
        let later = Later { base: between, head, timeout: self.timeout(JudgedPhase::Green)? };
        thread::scope(|scope| {
            let scanned = scanned.as_ref().filter(|_| parts.has_code);
            let early = scanned.and_then(|scanned| {
                EarlySuite::start(scope, self.ground(), later, &known, scanned)
            });
            self.judge_tests_first(evidence, seen, between, parts, early.as_ref())
        })
    }

    /// The same for a range with tests. `early` is the suite of the head.
    fn judge_tests_first(
        &self,
        evidence: &mut Evidence,
        seen: &mut Reports,
        between: &Oid,
        parts: &Parts,
        early: Option<&EarlySuite>,
    ) -> Result<()> {
        let (base, head) = (&self.trees.base, &self.trees.head);
        let known = seen.base.clone();
        let red = self.red(base, between, &known, &parts.files, evidence)?;
        seen.between = red.shown.clone();
        if red.verdict.decision == Decision::Accepted {
            let report = report_of_red(&red, &known, &parts.files);
            let targets = Some(red.verdict.targets.clone());
            evidence.steps.push(judged(JudgedPhase::Red, "the new tests, with the old code", red));
            let step = Step::new(JudgedPhase::Green, between, head, &report);
            let green = self.hold(&Step { targets, early, ..step }, evidence)?;
            seen.head = green.shown.clone();
            evidence.steps.push(judged(JudgedPhase::Green, "the code that makes them pass", green));
            return Ok(());
        }
        if !is_nothing_red(&red) {
            evidence.steps.push(judged(JudgedPhase::Red, "the new tests, with the old code", red));
            return Ok(());
        }
        // No test fails without the change: the tests describe existing behaviour, and the code
        // must keep it.
        let tests =
            self.hold(&Step::new(JudgedPhase::Refactor, base, between, &known), evidence)?;
        let report = tests.shown.clone();
        evidence.steps.push(judged(
            JudgedPhase::Refactor,
            "the new tests, with the old code",
            tests,
        ));
        seen.head = report.clone();
        if parts.has_code {
            let what = "the code, with the tests of the range";
            let step = Step::new(JudgedPhase::Refactor, between, head, &report);
            seen.head = self.kept_or_fixed(&Step { early, ..step }, what, evidence)?;
        }
        Ok(())
    }

    /// Code that no test of the range requires must keep the behaviour, or make a test pass that
    /// already failed, which is a GREEN. Returns the report.
    fn kept_or_fixed(
        &self,
        step: &Step<'_>,
        what: &str,
        evidence: &mut Evidence,
    ) -> Result<Report> {
        let known = step.before;
        let tried = self.hold(step, evidence)?;
        let turns_green = |reason: &Reason| reason.code == Code::RefactorTurnsGreen;
        let verdict = &tried.verdict;
        if verdict.decision != Decision::Refused || !verdict.reasons.iter().all(turns_green) {
            let shown = tried.shown.clone();
            evidence.steps.push(judged(JudgedPhase::Refactor, what, tried));
            return Ok(shown);
        }
        let passes =
            |id: &str| tried.shown.test(id).is_some_and(|test| test.status == Status::Passed);
        let fixed = known.tests.iter().filter(|test| test.status.is_failure() && passes(&test.id));
        let targets = Some(fixed.map(|test| test.id.clone()).collect());
        let green = self
            .hold(&Step { phase: JudgedPhase::Green, targets, early: None, ..*step }, evidence)?;
        let shown = green.shown.clone();
        evidence.steps.push(judged(
            JudgedPhase::Green,
            "the code that makes failing tests pass",
            green,
        ));
        Ok(shown)
    }

    /// The tests of the range on the code of the base. This tree never existed, so tests may fail
    /// in it only because one of their helpers is new. They count as tests that the change makes
    /// pass.
    fn red(
        &self,
        base: &str,
        between: &str,
        report: &Report,
        files: &[String],
        evidence: &mut Evidence,
    ) -> Result<TrialResult> {
        let mut known = report.clone();
        known.tests.retain(|test| files.is_empty() || is_in(test, files));
        let red = self.hold(
            &Step { only: files, ..Step::new(JudgedPhase::Red, base, between, &known) },
            evidence,
        )?;
        let of_others = |reason: &Reason| reason.code == Code::RedOthersFail;
        if red.verdict.decision != Decision::Refused || !red.verdict.reasons.iter().all(of_others) {
            return Ok(red);
        }
        let fails = |id: &str| red.shown.test(id).is_some_and(|test| test.status.is_failure());
        known.tests.retain(|test| !fails(&test.id));
        self.hold(
            &Step { only: files, ..Step::new(JudgedPhase::Red, base, between, &known) },
            evidence,
        )
    }

    fn hold(&self, step: &Step<'_>, evidence: &mut Evidence) -> Result<TrialResult> {
        let candidate = Candidate {
            phase: step.phase,
            base: step.base,
            head: step.head,
            earlier: None,
            before: Some(step.before.clone()),
            targets: step.targets.clone(),
            surroundings: None,
            brief: "",
            withheld: WithheldSet::default(),
            only: step.only,
            timeout: self.timeout(step.phase)?,
            explain: false,
        };
        let scanned = self.environment.borrow().clone();
        let known = Known { environment: scanned.as_ref(), suite: step.early };
        let tried = trial::hold_with(self.ground(), &candidate, known)?;
        self.environment.replace(Some(tried.surroundings.clone()));
        evidence.tests_ms += u64::try_from(tried.tests.as_millis()).unwrap_or(u64::MAX);
        evidence.fence.clone_from(&tried.fence);
        Ok(tried)
    }

    /// Reverts the changed places, and inserts mutants.
    fn search(&self, evidence: &mut Evidence, seen: &Reports, between: &Oid) -> Result<()> {
        let scanned = self.environment.borrow().clone();
        let range = Range {
            base: &self.trees.base,
            between,
            head: &self.trees.head,
            base_report: &seen.base,
            between_report: &seen.between,
            head_report: &seen.head,
            // Only the first part has the steps of the judge, so they do not decide.
            is_asked_for: proof::is_asked_for(&seen.base, &seen.between, &seen.head),
            limit: evidence.policy.mutants,
            shard: self.question.shard,
            depth: Depth::of(&evidence.policy),
            timeout: self.timeout(JudgedPhase::Green)?,
            environment: scanned.as_ref(),
        };
        let found = trial::search(self.ground(), range)?;
        evidence.tests_ms += u64::try_from(found.running.as_millis()).unwrap_or(u64::MAX);
        (evidence.tests, evidence.hunks, evidence.mutants) =
            (found.tests, found.hunks, found.mutants);
        let unseen = found.unseen.iter().take(NAMED_MAX);
        let unseen =
            unseen.map(|one| format!("{}: {} changed, but did not run", one.file, one.item));
        evidence.not_verified.extend(unseen);
        if found.more {
            let most = proof::mutants::HUNKS_MAX;
            evidence.not_verified.push(format!(
                "more than {most} places in the code changed; only the first ones were tried"
            ));
        }
        Ok(())
    }
}

/// The changed test files, if their results depend on nothing else: no helper changed, no test
/// moved away, and every result has its file. Otherwise empty.
fn files_of_tests(git: &Git, change: &Change, head: &str, base: &Report) -> Vec<String> {
    let mut files = Vec::new();
    for changed in change.paths.iter().filter(|changed| changed.class == Class::Test) {
        let language = Language::of_path(&changed.path);
        if changed.kind == Kind::Deleted
            || matches!(language, Language::Other | Language::Rust | Language::Go | Language::Java)
        {
            return Vec::new();
        }
        let text = git
            .read_file(head, &changed.path)
            .ok()
            .flatten()
            .and_then(|bytes| String::from_utf8(bytes).ok());
        let items = syntax::items(language, &changed.path, &text.unwrap_or_default());
        if !items.iter().any(|item| item.is_test) {
            return Vec::new();
        }
        files.push(changed.path.clone());
    }
    let is_inside =
        change.paths.iter().any(|changed| matches!(changed.class, Class::Mixed | Class::Snapshot));
    let is_told = base.tests.iter().all(|test| test.file.is_some());
    if is_inside || !is_told { Vec::new() } else { files }
}

/// What GREEN is compared with: the report of RED, and the known results of the tests that did not
/// run in it.
fn report_of_red(red: &TrialResult, known: &Report, files: &[String]) -> Report {
    let mut report = red.report.clone();
    if !files.is_empty() {
        report.tests.extend(known.tests.iter().filter(|test| !is_in(test, files)).cloned());
    }
    report
}

fn is_in(test: &Test, files: &[String]) -> bool {
    test.file.as_ref().is_some_and(|file| files.contains(file))
}

/// Whether RED is refused only because no test fails.
fn is_nothing_red(tried: &TrialResult) -> bool {
    let none = |reason: &Reason| {
        matches!(reason.code, Code::RedPasses | Code::RedNoTests | Code::RedSkipped)
    };
    tried.verdict.decision == Decision::Refused && tried.verdict.reasons.iter().all(none)
}

fn judged(phase: JudgedPhase, what: &str, tried: TrialResult) -> StepVerdict {
    let verdict = tried.verdict;
    let (reasons, notes, experiments) = (verdict.reasons, verdict.notes, verdict.experiments);
    StepVerdict {
        phase,
        what: what.to_owned(),
        decision: verdict.decision,
        reasons,
        notes,
        experiments,
    }
}

/// The tests of the range.
fn parts(
    git: &Git,
    change: &Change,
    policy: &Policy,
    base: &str,
    head: &str,
) -> Result<Vec<PartFiles>> {
    let read = |tree: &str, path: &str| String::from_utf8(git.read_file(tree, path).ok()??).ok();
    Ok(tests_of(change, policy, &|path| read(base, path), &|path| read(head, path)))
}

/// The base with the tests of the head.
fn between(git: &Git, base: &Oid, head: &str, taken: &[PartFiles]) -> Result<Oid> {
    let whole = taken.iter().filter(|one| one.take == Take::AsInHead).map(|one| one.path.as_str());
    let whole: Vec<&str> = whole.collect();
    let mut tree =
        if whole.is_empty() { base.clone() } else { git.with_paths_of(base, head, &whole)? };
    let texts: Vec<(&Path, &str)> = taken
        .iter()
        .filter_map(|one| match &one.take {
            Take::Text(text) => Some((Path::new(&one.path), text.as_str())),
            Take::AsInHead => None,
        })
        .collect();
    if !texts.is_empty() {
        tree = git.with_files(&tree, &texts)?;
    }
    Ok(tree)
}

/// A range that changes the version of a submodule is inconclusive, unless the policy exempts it.
fn tell_submodules(submodules: &[String], evidence: &mut Evidence) {
    for path in submodules {
        let what = format!("{path} is a separate repository and was not checked");
        match evidence.policy.exemption(Some(path), None) {
            Some(exemption) => {
                evidence.exempted.push(Exception { what, reason: exemption.reason.clone() });
            }
            None => {
                let reason = Reason::new(Code::ChangeSubmodule, what).place(Some(path), None);
                evidence.inconclusive.get_or_insert(reason);
            }
        }
    }
}

/// Lists files that no test can cover.
fn tell_what_is_left_out(change: &Change, evidence: &mut Evidence) {
    let mut left: Vec<String> = Vec::new();
    for changed in &change.paths {
        let path = &changed.path;
        match changed.class {
            Class::Documentation => left.push(format!("{path}: documentation")),
            Class::Manifest => left.push(format!("{path}: installed packages were not compared")),
            Class::Implementation | Class::Mixed | Class::Stub if changed.kind == Kind::Deleted => {
                left.push(format!("{path}: deleted; checked only by the remaining tests"));
            }
            Class::Implementation
            | Class::Mixed
            | Class::Stub
            | Class::Test
            | Class::MoreTests
            | Class::Snapshot
            | Class::RunnerConfig
            | Class::Submodule
            | Class::TestList => {}
        }
    }
    let more = left.len().saturating_sub(NAMED_MAX);
    left.truncate(NAMED_MAX);
    left.extend((more > 0).then(|| format!("{more} more documentation and dependency files")));
    evidence.not_verified.extend(left);
}
