//! Which tests fail when a changed place is reverted, or contains a mutant? And which fail when all
//! code does nothing? This works in rounds: mutants that the changed tests miss are tried with all
//! tests.

use std::ops::Range;

use serde::{Deserialize, Serialize};
use similar::{DiffOp, TextDiff};

use super::{Policy, Shard, TestEvidence};
use crate::change::{ChangedPath, Class, Kind};
use crate::experiment::{Experiment, Material, Observation, Question, Tree, do_nothing};
use crate::framework::invoke::Selection;
use crate::judge::reports::red_code;
use crate::report::{Outcome, Report, Status, Test};
use crate::syntax::{self, Item, ItemKind, Language, SOURCE_BYTES_MAX};
use crate::verdict::Code;

/// Changes with fewer unchanged lines between them are one place.
const APART_MIN: usize = 3;
/// The maximum number of places.
pub const HUNKS_MAX: usize = 200;
/// Mutants per place, in addition to the reverted version.
const MUTANTS_OF_HUNK: usize = 2;
/// The maximum number of tests to list for a mutant.
const NOTICED_MAX: usize = 50;

/// A changed place in the code.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Hunk {
    pub file: String,
    /// Lines of the head. For removed lines, the next line or the last one.
    pub first: u32,
    pub last: u32,
    /// Line ranges in the head and in the base.
    #[serde(skip)]
    new: Range<usize>,
    #[serde(skip)]
    old: Range<usize>,
}

/// A mutant, and the tests that killed it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Mutant {
    /// The index of its place. `None` if all code does nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hunk: Option<usize>,
    pub what: String,
    /// The tests that must detect it. Empty if any test may.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub asked: Vec<String>,
    /// Whether it is the old text of its place. Other places may need what is missing then.
    #[serde(skip)]
    pub is_reverted: bool,
    /// Whether only the changed test files ran. If they do not kill it, other tests may.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_partial: bool,
    pub killed: MutantResult,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum MutantResult {
    /// Some of the tests that killed it. Empty if no run with it finished.
    By(Vec<String>),
    ByNone,
    /// The code does not build or load with the mutant, or tests end before they check anything
    /// because something they need is missing. Either says nothing about tests.
    DoesNotBuild,
    NotTried,
}

impl Mutant {
    /// Whether it ran with this test.
    pub(super) fn was_tried_with(&self, test: &str) -> bool {
        let was_tried = matches!(self.killed, MutantResult::By(_) | MutantResult::ByNone);
        was_tried && self.asked.iter().any(|asked| asked == test)
    }

    /// Whether no test of the project kills it.
    pub(super) fn has_survived(&self) -> bool {
        self.killed == MutantResult::ByNone && !self.is_partial
    }

    /// Whether no changed test kills it, and the others have not been tried.
    pub fn is_unsettled(&self) -> bool {
        self.killed == MutantResult::ByNone && self.is_partial
    }

    /// Records the result of another run with all tests, if it has one.
    pub fn retried(&mut self, with_all: Self) {
        if with_all.killed != MutantResult::NotTried {
            (self.killed, self.is_partial) = (with_all.killed, with_all.is_partial);
        }
    }

    /// Records the result of an experiment with the mutant, compared with the run of the head.
    #[must_use]
    pub fn weigh(&mut self, observation: &Observation, head: &Report) -> HunkResult {
        let Some(report) = observation.report() else { return HunkResult::Decided };
        // Code that does nothing has as much time as the whole suite.
        let run = if self.hunk.is_some() { Run::First } else { Run::Patient };
        self.weigh_run(run, report, head)
    }

    /// Records the result of a repeated run, which had more time. A mutant that does not finish is
    /// killed if the unchanged code finished at the same time.
    pub fn weigh_repeated(&mut self, control: &Observation, again: &Observation, head: &Report) {
        let finished = control.report().is_some_and(|report| report.outcome != Outcome::TimedOut);
        if let Some(report) = again.report().filter(|_| finished) {
            self.weigh_run(Run::Patient, report, head);
        }
    }

    fn weigh_run(&mut self, run: Run, report: &Report, head: &Report) -> HunkResult {
        // A process that ended early did not run the others.
        self.asked.retain(|id| report.test(id).is_some_and(|test| !test.status.is_idle()));
        let passed = |id: &str| head.test(id).is_some_and(|test| test.status == Status::Passed);
        let failing =
            || report.tests.iter().filter(|test| test.status.is_failure() && passed(&test.id));
        let is_cut = report.outcome == Outcome::TimedOut;
        let is_told = |test: &&Test| match (run, test.status) {
            (Run::Patient, _) | (Run::First, Status::Failed | Status::Errored) => true,
            // The test that was running ended with the process.
            (Run::First, Status::Crashed) => !is_cut,
            (
                Run::First,
                Status::TimedOut
                | Status::Passed
                | Status::Xfailed
                | Status::Todo
                | Status::Skipped
                | Status::NotRun
                | Status::Flaky
                | Status::Xpassed,
            ) => false,
        };
        // An empty test fails too if the function that it calls is missing.
        let counts = |test: &&Test| !self.is_reverted || red_code(test) == Code::RedAssertion;
        let by = failing().filter(is_told).filter(counts);
        let by: Vec<String> = by.map(|test| test.id.clone()).take(NOTICED_MAX).collect();
        let is_late = is_cut || failing().any(|test| !is_told(&test));
        if by.is_empty() && is_late && run == Run::First {
            return HunkResult::OutOfTime;
        }
        let ran = report.tests.iter().any(|test| test.status == Status::Passed);
        self.killed = match report.outcome {
            _ if !by.is_empty() => MutantResult::By(by),
            Outcome::TimedOut => MutantResult::By(Vec::new()),
            _ if failing().next().is_some() => MutantResult::DoesNotBuild,
            Outcome::Passed => MutantResult::ByNone,
            // Tests that failed before still fail.
            Outcome::Failed if ran && report.load_errors.is_empty() => MutantResult::ByNone,
            Outcome::Failed
            | Outcome::Errored
            | Outcome::Skipped
            | Outcome::DidNotCompile
            | Outcome::NoTests
            | Outcome::Crashed
            | Outcome::UsageError => MutantResult::DoesNotBuild,
        };
        HunkResult::Decided
    }
}

/// Whether a run of a mutant has a result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HunkResult {
    Decided,
    /// The mutant may never end, or the machine may be busy: repeat it, beside the unchanged code.
    OutOfTime,
}

/// The time limit of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Run {
    /// Little more than usual.
    First,
    /// A multiple of what the unchanged code needed at the same time.
    Patient,
}

/// The input of a search.
pub struct Search<'a> {
    /// From the third tree to the head.
    pub material: &'a Material<'a>,
    pub hunks: &'a [Hunk],
    pub tests: &'a [TestEvidence],
    /// The files of these tests.
    pub files: &'a [String],
    /// Whether a test requires the change. If it only keeps the behaviour, no test fails when it is
    /// reverted.
    pub is_asked_for: bool,
    /// The maximum number of mutants in total.
    pub limit: usize,
    /// Plans only the experiments of this part.
    pub shard: Option<Shard>,
    pub depth: Depth,
}

/// What the tests that did not change must show.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Depth {
    /// As much as there is time for.
    Sample,
    /// Whether any test detects each place.
    EveryPlace,
    /// Whether any test kills each mutant.
    EveryMutant,
}

impl Depth {
    /// The depth at which the policy can be decided.
    pub fn of(policy: &Policy) -> Self {
        match (policy.min_kill, policy.every_place) {
            (1.., _) => Self::EveryMutant,
            (0, true) => Self::EveryPlace,
            (0, false) => Self::Sample,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Round {
    /// Reverts each place.
    Reverted,
    /// Mutants in places where reverting showed nothing.
    Mutants,
    /// Mutants that no changed test detects, with all tests.
    AllTests,
    /// Tests that killed nothing so far, with code that does nothing.
    Nothing,
}

pub const ROUNDS: [Round; 4] = [Round::Reverted, Round::Mutants, Round::AllTests, Round::Nothing];

/// The changed places in the code, in the order of the diff, and whether there are more.
pub fn hunks(material: &Material<'_>) -> (Vec<Hunk>, bool) {
    let mut all = Vec::new();
    for changed in material.change.paths.iter().filter(|changed| is_code(changed)) {
        let Some((old, new)) = texts(material, &changed.path) else { continue };
        all.extend(hunks_of(&changed.path, &old, &new));
    }
    let more = all.len() > HUNKS_MAX;
    all.truncate(HUNKS_MAX);
    (all, more)
}

fn is_code(changed: &ChangedPath) -> bool {
    matches!(changed.class, Class::Implementation | Class::Mixed | Class::Stub)
        && changed.kind != Kind::Deleted
}

fn texts(material: &Material<'_>, path: &str) -> Option<(String, String)> {
    let new = (material.now)(path)?;
    let old = (material.before)(path).unwrap_or_default();
    (new.len() <= SOURCE_BYTES_MAX && old.len() <= SOURCE_BYTES_MAX).then_some((old, new))
}

fn hunks_of(path: &str, old: &str, new: &str) -> Vec<Hunk> {
    let diff = TextDiff::from_lines(old, new);
    let mut hunks: Vec<Hunk> = Vec::new();
    for op in diff.ops().iter().filter(|op| !matches!(op, DiffOp::Equal { .. })) {
        let (old, new) = (op.old_range(), op.new_range());
        match hunks.last_mut().filter(|last| new.start < last.new.end + APART_MIN) {
            Some(last) => (last.old.end, last.new.end) = (old.end, new.end),
            None => hunks.push(Hunk { file: path.to_owned(), first: 0, last: 0, new, old }),
        }
    }
    let language = Language::of_path(path);
    let means_something =
        |hunk: &Hunk| !syntax::runs_alike(language, &hunk.reverted(old, new), new);
    hunks.retain(|hunk| language == Language::Other || means_something(hunk));
    let lines = new.lines().count().max(1);
    for hunk in &mut hunks {
        let line = |number: usize| u32::try_from(number).unwrap_or(u32::MAX);
        let first = (hunk.new.start + 1).min(lines);
        hunk.first = line(first);
        hunk.last = line(hunk.new.end.max(first));
    }
    hunks
}

impl Hunk {
    /// The text of the head with this place as in the base.
    fn reverted(&self, old: &str, new: &str) -> String {
        let lines = |text: &str, range: Range<usize>| -> String {
            text.split_inclusive('\n').skip(range.start).take(range.len()).collect()
        };
        let (before, after) = (lines(new, 0..self.new.start), lines(new, self.new.end..usize::MAX));
        let middle = lines(old, self.old.clone());
        format!("{before}{middle}{after}")
    }

    fn is_whole_file(&self, old: &str) -> bool {
        self.old.is_empty() && old.is_empty()
    }
}

/// The mutants of a round, given those of earlier rounds. Their results are still unknown.
pub fn plan(round: Round, search: &Search<'_>, so_far: &[Mutant]) -> Vec<(Mutant, Experiment)> {
    let changed = Selection::Files(search.files.to_vec());
    let selection = if search.files.is_empty() { Selection::All } else { changed };
    let room = search.limit.saturating_sub(so_far.len());
    let open = |at: usize| {
        !so_far
            .iter()
            .any(|mutant| mutant.hunk == Some(at) && matches!(mutant.killed, MutantResult::By(_)))
    };
    // The others would use up the room.
    let is_own = |(at, _): &(usize, &Hunk)| search.shard.is_none_or(|shard| shard.has(*at));
    let own = || search.hunks.iter().enumerate().filter(is_own);
    let mut planned: Vec<(Mutant, Experiment)> = Vec::new();
    match round {
        Round::Reverted if !search.is_asked_for => {}
        Round::Reverted => {
            for (at, hunk) in own().take(room) {
                planned.extend(as_before(search, at, hunk, &selection));
            }
        }
        Round::Mutants => {
            // A test that passes without the change may notice a mutant in a place of other tests.
            let is_needed = !unproven(search, so_far).is_empty();
            for (at, hunk) in own().filter(|(at, _)| is_needed || open(*at)) {
                planned.extend(mutants(search, at, hunk, &selection));
            }
        }
        Round::AllTests if search.files.is_empty() => {}
        Round::AllTests => {
            let (is_every, most) = match search.depth {
                Depth::EveryMutant => (true, usize::MAX),
                Depth::Sample | Depth::EveryPlace => (false, 1),
            };
            for (at, hunk) in own().filter(|(at, _)| is_every || open(*at)) {
                let is_unnoticed = |what: &str| {
                    so_far.iter().any(|mutant| {
                        mutant.hunk == Some(at) && mutant.what == what && mutant.is_unsettled()
                    })
                };
                let all = as_before(search, at, hunk, &Selection::All).into_iter();
                let all = all.chain(mutants(search, at, hunk, &Selection::All));
                planned.extend(all.filter(|(mutant, _)| is_unnoticed(&mutant.what)).take(most));
            }
        }
        Round::Nothing if search.shard.is_none_or(Shard::is_first) => {
            planned.extend(nothing(search, so_far));
        }
        Round::Nothing => {}
    }
    match round {
        Round::Reverted | Round::Mutants => planned.truncate(room),
        // No other mutants.
        Round::AllTests | Round::Nothing => {}
    }
    planned
}

fn as_before(
    search: &Search<'_>,
    at: usize,
    hunk: &Hunk,
    selection: &Selection,
) -> Option<(Mutant, Experiment)> {
    let (old, new) = texts(search.material, &hunk.file)?;
    // A new file cannot be reverted: without it, nothing loads.
    if hunk.is_whole_file(&old) {
        return None;
    }
    let what = format!("the old {}", place(hunk));
    let edit = (hunk.file.clone(), hunk.reverted(&old, &new));
    let (mutant, experiment) = planned(at, what, edit, selection);
    Some((Mutant { is_reverted: true, ..mutant }, experiment))
}

fn mutants(
    search: &Search<'_>,
    at: usize,
    hunk: &Hunk,
    selection: &Selection,
) -> Vec<(Mutant, Experiment)> {
    let Some((_, new)) = texts(search.material, &hunk.file) else { return Vec::new() };
    let language = Language::of_path(&hunk.file);
    let mut mutants =
        syntax::mutants(language, &hunk.file, &new, &[hunk.first..=hunk.last], MUTANTS_OF_HUNK);
    if mutants.is_empty() {
        // The function around these lines shows what they do.
        let items = syntax::items(language, &hunk.file, &new);
        let holds = |item: &&Item| {
            item.lines.0 <= hunk.last && hunk.first <= item.lines.1 && !item.in_tests
        };
        let around = items
            .iter()
            .filter(holds)
            .filter(|item| item.kind == ItemKind::Function)
            .map(|item| item.lines);
        let lines: Vec<_> = around.map(|(first, last)| first..=last).collect();
        mutants = syntax::mutants(language, &hunk.file, &new, &lines, MUTANTS_OF_HUNK);
    }
    let of = |mutant: &syntax::Mutant| {
        let what = format!("{}:{}: {}", hunk.file, mutant.line, mutant.description);
        Some(planned(at, what, (hunk.file.clone(), mutant.apply(&new)?), selection))
    };
    mutants.iter().filter_map(of).collect()
}

fn planned(
    at: usize,
    what: String,
    edit: (String, String),
    selection: &Selection,
) -> (Mutant, Experiment) {
    let experiment = Experiment {
        edits: vec![edit],
        ..Experiment::of_tests(Question::Mutant, Tree::Head, selection.clone(), &what)
    };
    let (asked, killed) = (Vec::new(), MutantResult::NotTried);
    let is_partial = *selection != Selection::All;
    (Mutant { hunk: Some(at), what, asked, is_reverted: false, is_partial, killed }, experiment)
}

/// Tests that no assertion failed without the change, and that killed nothing so far.
fn unproven(search: &Search<'_>, so_far: &[Mutant]) -> Vec<String> {
    let has_noticed = |id: &String| {
        so_far
            .iter()
            .any(|mutant| matches!(&mutant.killed, MutantResult::By(by) if by.contains(id)))
    };
    let is_open =
        |test: &&TestEvidence| test.passes && !test.without.is_asserted() && !has_noticed(&test.id);
    search.tests.iter().filter(is_open).map(|test| test.id.clone()).collect()
}

/// Do these tests fail when everything they call does nothing?
fn nothing(search: &Search<'_>, so_far: &[Mutant]) -> Vec<(Mutant, Experiment)> {
    let asked = unproven(search, so_far);
    if asked.is_empty() {
        return Vec::new();
    }
    let experiments = do_nothing(search.material, search.files, &asked).into_iter();
    experiments
        .map(|experiment| {
            let what = "code that does nothing".to_owned();
            let (asked, killed) = (asked.clone(), MutantResult::NotTried);
            let is_reverted = false;
            (Mutant { hunk: None, what, asked, is_reverted, is_partial: false, killed }, experiment)
        })
        .collect()
}

fn place(hunk: &Hunk) -> String {
    let Hunk { file, first, last, .. } = hunk;
    if first == last { format!("{file}:{first}") } else { format!("{file}:{first}-{last}") }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::change::Change;
    use crate::phase::JudgedPhase;

    #[test]
    fn a_place_is_put_back_and_others_are_left() {
        let old = "a\nb\nc\nd\ne\nf\ng\n";
        let new = "a\nB\nc\nd\ne\nf\nG\nh\n";
        let hunks = hunks_of("x.conf", old, new);
        let lines: Vec<(u32, u32)> = hunks.iter().map(|hunk| (hunk.first, hunk.last)).collect();
        assert_eq!(lines, [(2, 2), (7, 8)]);
        assert_eq!(hunks[0].reverted(old, new), "a\nb\nc\nd\ne\nf\nG\nh\n");
        assert_eq!(hunks[1].reverted(old, new), "a\nB\nc\nd\ne\nf\ng\n");
    }

    #[test]
    fn layout_and_comments_are_no_places() {
        let old = "def f(a):\n    return a\n";
        let hunks = hunks_of("x.py", old, "# says what\ndef f(a):\n    return  a\n");
        assert_eq!(hunks, []);
        let hunks = hunks_of("x.py", old, "# says what\ndef f(a):\n    return a + 1\n");
        assert_eq!(hunks.len(), 1, "{hunks:?}");
    }

    #[test]
    fn lines_that_were_taken_out_are_a_place() {
        let hunks = hunks_of("x.rb", "a\nb\nc\n", "a\nc\n");
        assert_eq!((hunks[0].first, hunks[0].last), (2, 2));
        assert_eq!(hunks[0].reverted("a\nb\nc\n", "a\nc\n"), "a\nb\nc\n");
        let hunks = hunks_of("x.rb", "a\nb\n", "a\n");
        assert_eq!((hunks[0].first, hunks[0].last), (1, 1), "there is no line after the last one");
    }

    fn report(outcome: Outcome, tests: &[(&str, Status, &str)]) -> Report {
        let test = |(id, status, exception): &(&str, Status, &str)| Test {
            exception: (!exception.is_empty()).then(|| (*exception).to_owned()),
            ..Test::new(*id, *status)
        };
        Report { outcome, tests: tests.iter().map(test).collect(), ..Report::default() }
    }

    /// With the unchanged code and the mutant again, where the first run has no result.
    fn weighed(is_reverted: bool, report: Report, more: Option<[Report; 2]>) -> MutantResult {
        let mut mutant = Mutant {
            hunk: Some(0),
            what: String::new(),
            asked: Vec::new(),
            is_reverted,
            is_partial: false,
            killed: MutantResult::NotTried,
        };
        let passed = |test: &str| Test::new(test, Status::Passed);
        let head = Report { tests: ["a", "b"].map(passed).to_vec(), ..Report::default() };
        let ran = |report| Observation::Ran { report: Box::new(report), log: String::new() };
        let weighed = mutant.weigh(&ran(report), &head);
        if let Some([control, again]) = more {
            assert_eq!(weighed, HunkResult::OutOfTime);
            mutant.weigh_repeated(&ran(control), &ran(again), &head);
        } else {
            assert_eq!(weighed, HunkResult::Decided);
        }
        mutant.killed
    }

    #[test]
    fn a_place_that_is_put_back_is_noticed_by_assertions_alone() {
        let by = |id: &str| MutantResult::By(vec![id.to_owned()]);
        let asserts = ("a", Status::Failed, "AssertionError");
        for (test, reverted, mutated) in [
            (asserts, by("a"), by("a")),
            (("a", Status::Errored, "AttributeError"), MutantResult::DoesNotBuild, by("a")),
            (("a", Status::Failed, "NameError"), MutantResult::DoesNotBuild, by("a")),
            // A function that is missing is a TypeError in JavaScript.
            (("a", Status::Errored, "TypeError"), MutantResult::DoesNotBuild, by("a")),
            (("a", Status::Failed, "NotImplementedError"), MutantResult::DoesNotBuild, by("a")),
            (("a", Status::Passed, ""), MutantResult::ByNone, MutantResult::ByNone),
            // It failed with the change as well.
            (("old", Status::Failed, ""), MutantResult::ByNone, MutantResult::ByNone),
        ] {
            let ran = || report(Outcome::Failed, &[test, ("b", Status::Passed, "")]);
            assert_eq!(weighed(true, ran(), None), reverted, "{test:?}");
            assert_eq!(weighed(false, ran(), None), mutated, "{test:?}");
        }
        let both = report(Outcome::Failed, &[asserts, ("b", Status::Errored, "NameError")]);
        assert_eq!(weighed(true, both, None), by("a"), "the test that only errs noticed nothing");
    }

    #[test]
    fn a_mutant_that_does_not_finish_is_killed_where_the_unchanged_code_finishes() {
        let late = || report(Outcome::TimedOut, &[]);
        let fine = || report(Outcome::Passed, &[("a", Status::Passed, "")]);
        let fails = || report(Outcome::Failed, &[("a", Status::Failed, "AssertionError")]);
        let slow = || report(Outcome::Failed, &[("a", Status::TimedOut, "")]);
        let cut = || report(Outcome::TimedOut, &[("a", Status::Crashed, "")]);
        let by = || MutantResult::By(vec!["a".to_owned()]);
        for (first, control, again, killed) in [
            (late(), fine(), late(), MutantResult::By(Vec::new())),
            (late(), fine(), fine(), MutantResult::ByNone),
            (late(), fine(), fails(), by()),
            (late(), late(), late(), MutantResult::NotTried),
            (slow(), fine(), fine(), MutantResult::ByNone),
            (slow(), fine(), slow(), by()),
            (cut(), fine(), fine(), MutantResult::ByNone),
        ] {
            let what = format!("{first:?}");
            assert_eq!(weighed(false, first, Some([control, again])), killed, "{what}");
        }
        let named = report(Outcome::TimedOut, &[("a", Status::Failed, "AssertionError")]);
        assert_eq!(weighed(false, named, None), by(), "a test failed before the time ran out");
    }

    #[test]
    fn parts_plan_all_that_the_whole_does() {
        let function = |at: usize, sign: &str| {
            format!("def f{at}(n):\n    # {at}\n    # {at}\n    # {at}\n    return n {sign} {at}\n")
        };
        let text = |sign: &str| -> String { (0..9).map(|at| function(at, sign)).collect() };
        let (old, new) = (text("+"), text("*"));
        let (hunks, change, after) =
            (hunks_of("x.py", &old, &new), Change::default(), Report::default());
        assert_eq!(hunks.len(), 9);
        let material = Material {
            phase: JudgedPhase::Green,
            change: &change,
            after: &after,
            targets: &[],
            paths: &[],
            packages: &[],
            brief: "",
            before: &|_| Some(old.clone()),
            now: &|_| Some(new.clone()),
        };
        // All rounds, where reverting is noticed in the first places alone.
        let all = |shard: Option<Shard>| {
            let files = &["test_x.py".to_owned()];
            let search = Search {
                material: &material,
                hunks: &hunks,
                tests: &[],
                files,
                is_asked_for: true,
                limit: 12,
                shard,
                depth: Depth::Sample,
            };
            let mut found: Vec<Mutant> = Vec::new();
            for round in [Round::Reverted, Round::Mutants] {
                for (mut mutant, _) in plan(round, &search, &found) {
                    let is_seen = mutant.hunk < Some(7);
                    mutant.killed =
                        if is_seen { MutantResult::By(Vec::new()) } else { MutantResult::ByNone };
                    found.push(mutant);
                }
            }
            found.into_iter().map(|mutant| mutant.what).collect::<Vec<String>>()
        };
        let whole = all(None);
        assert_eq!(whole.len(), 12, "{whole:?}");
        for of in 1..=9 {
            let parts: Vec<String> =
                (1..=of).flat_map(|number| all(Some(Shard { number, of }))).collect();
            let left: Vec<&String> = whole.iter().filter(|one| !parts.contains(one)).collect();
            assert!(left.is_empty(), "{of} parts: {left:?}");
        }
    }

    /// The changed tests notice nothing. How often each mutant is tried with all tests.
    fn with_all_tests(depth: Depth) -> Vec<usize> {
        let (old, new) = ("def f(n):\n    return n + 1\n", "def f(n):\n    return n * 2 - 1\n");
        let (hunks, change, after) =
            (hunks_of("x.py", old, new), Change::default(), Report::default());
        let material = Material {
            phase: JudgedPhase::Green,
            change: &change,
            after: &after,
            targets: &[],
            paths: &[],
            packages: &[],
            brief: "",
            before: &|_| Some(old.to_owned()),
            now: &|_| Some(new.to_owned()),
        };
        let search = Search {
            material: &material,
            hunks: &hunks,
            tests: &[],
            files: &["test_x.py".to_owned()],
            is_asked_for: true,
            limit: 3,
            shard: None,
            depth,
        };
        let mut found: Vec<Mutant> = Vec::new();
        for round in [Round::Reverted, Round::Mutants] {
            for (mut mutant, _) in plan(round, &search, &found) {
                mutant.killed = MutantResult::ByNone;
                found.push(mutant);
            }
        }
        assert!(found.len() == 3 && !found.iter().any(Mutant::has_survived), "{found:?}");
        let mut tries = Vec::new();
        loop {
            let planned = plan(Round::AllTests, &search, &found);
            if planned.is_empty() {
                return tries;
            }
            tries.push(planned.len());
            for (with_all, _) in planned {
                let known = found.iter_mut().find(|known| known.what == with_all.what).unwrap();
                known.retried(with_all.clone());
                assert!(known.is_partial, "no result changes nothing");
                known.retried(Mutant { killed: MutantResult::ByNone, ..with_all });
            }
        }
    }

    #[test]
    fn mutants_that_changed_tests_miss_are_tried_with_all_tests() {
        assert_eq!(with_all_tests(Depth::Sample)[0], 1);
        assert_eq!(with_all_tests(Depth::EveryPlace), [1, 1, 1], "one after another");
        assert_eq!(with_all_tests(Depth::EveryMutant), [3]);
    }
}
