//! Decides on a phase from the change, the last accepted report and the report of the candidate.
//! Nothing an agent says is an input.

mod claims;
mod ending;
mod files;
mod hidden;
mod index;
mod inheritance;

use std::collections::HashSet;

use crate::change::{Change, ChangedPath, Class, Kind};
use crate::framework;
use crate::path::folder;
use crate::phase::JudgedPhase;
use crate::report::{
    EXIT_CODE_ONLY, Exit, Flag, LoadError, LoadErrorKind, Outcome, Report, Status, Test,
};
use crate::verdict::{Code, Decision, Reason, TestProgress, Verdict};

pub use claims::turned_green;
use claims::{nothing_to_make_pass, turns_green};
pub(crate) use ending::first_line;
use ending::{bounded, contradiction, count, crashed, denied_failures, failure, unfinished};
pub use files::facts;
pub(crate) use files::is_data;
use hidden::{hides, in_changed_test, in_modified_test_file};
use index::IndexedReport;
pub use inheritance::carry;

/// The input of a decision.
#[derive(Clone, Copy, Debug)]
pub struct Evidence<'a> {
    pub change: &'a Change,
    /// The report of the last accepted tree (the baseline before the first cycle).
    pub before: &'a Report,
    pub after: &'a Report,
    /// The tests that RED made fail. Empty in RED, and if they did not compile there.
    pub targets: &'a [String],
}

/// The maximum number of reasons of one kind. The rest is counted.
const REASONS_MAX: usize = 12;

/// Judges a candidate of RED, GREEN or REFACTOR. `test_list` judges PLAN, and COMPLETE needs no
/// verdict.
pub fn judge(phase: JudgedPhase, evidence: Evidence<'_>) -> Verdict {
    // If the framework builds first, tests do not start when the build fails.
    let is_built =
        evidence.after.outcome != Outcome::DidNotCompile || evidence.after.load_errors.is_empty();
    if evidence.after.outcome == Outcome::UsageError
        || evidence.after.exit == Exit::NotStarted && is_built
    {
        let said = telling_line(&evidence.after.output_tail).unwrap_or("nothing");
        let sentence = format!("`{}` could not run: {said}", evidence.after.command);
        // If the step changed a file that the runner reads before any test, its author can fix it.
        let changed = || evidence.change.paths.iter().find(|changed| changed.is_read_first());
        return match (phase == JudgedPhase::Red).then(changed).flatten() {
            Some(changed) => {
                let reason =
                    Reason::new(Code::RedDoesNotLoad, sentence).place(Some(&changed.path), None);
                Verdict {
                    standing: Some(TestProgress { kept: 0, reached: 0 }),
                    ..Verdict::refused(vec![reason])
                }
            }
            None => Verdict::undecided(Reason::new(Code::RunnerBroken, sentence)),
        };
    }
    if let Some(reason) = nothing_loads(evidence.before, evidence.after) {
        return Verdict::undecided(reason);
    }
    // If the runner gave up, its report says nothing about a new test.
    if phase == JudgedPhase::Red && evidence.after.has(Flag::RunnerStopped) {
        return Verdict::undecided(crashed(Code::RunnerBroken, evidence.after));
    }
    let (before, after) = (IndexedReport::of(evidence.before), IndexedReport::of(evidence.after));
    let mut verdict = match phase {
        JudgedPhase::Red => red(evidence.change, &before, &after),
        JudgedPhase::Green => {
            green(evidence.change, &before, &after, &as_told(evidence.targets, &after))
        }
        JudgedPhase::Refactor => refactor(evidence.change, &before, &after),
    };
    if after.has(Flag::ExitCodeAlone) {
        say_exit_code_only(&mut verdict);
    }
    verdict
}

/// If no test file loads before and after the change, the suite is not evidence. Something is
/// missing in the clean room, or was already missing, and a new file fails for the same reason.
fn nothing_loads(before: &Report, after: &Report) -> Option<Reason> {
    let is_known =
        |error: &LoadError| before.load_errors.iter().any(|known| cause(known) == cause(error));
    let error = after.load_errors.first().filter(|_| after.load_errors.iter().all(is_known))?;
    // The tests of an accepted RED may not load until the code exists.
    if !before.tests.is_empty() || !after.tests.is_empty() || !before.owed.is_empty() {
        return None;
    }
    let sentence = format!(
        "no test file loads in the clean room, before or after the change: {}; if a file that is \
         not in git is missing, add it to worktree.copy",
        cause(error)
    );
    Some(Reason::new(Code::RunnerBroken, sentence).place(error.file.as_deref(), error.line))
}

/// The line that says why a file does not load: the last one, without the prefix of pytest.
fn cause(error: &LoadError) -> &str {
    let last =
        error.message.lines().map(str::trim).rfind(|line| !line.is_empty()).unwrap_or("no message");
    last.strip_prefix("E ").unwrap_or(last).trim()
}

/// The most useful line of a runner's output: the last one with an error, otherwise the last one.
fn telling_line(words: &str) -> Option<&str> {
    let lines = || words.lines().map(str::trim).filter(|line| !line.is_empty());
    lines().find(|line| line.to_ascii_lowercase().contains("error")).or_else(|| lines().next_back())
}

/// Makes clear that an exit code is not a report.
fn say_exit_code_only(verdict: &mut Verdict) {
    for reason in
        verdict.reasons.iter_mut().filter(|reason| !reason.sentence.contains(EXIT_CODE_ONLY))
    {
        reason.sentence = format!("{EXIT_CODE_ONLY}{}", reason.sentence);
    }
}

/// The tests of a phase: those that RED made fail; at GREEN, if RED did not compile, the new ones.
pub fn asked_for(
    phase: JudgedPhase,
    before: &Report,
    after: &Report,
    verdict: &Verdict,
    targets: Option<&[String]>,
) -> Vec<String> {
    let mut asked = match (phase, targets) {
        (JudgedPhase::Red, _) => return verdict.targets.clone(),
        (_, Some(targets)) => as_told(targets, &IndexedReport::of(after)),
        (_, None) => Vec::new(),
    };
    if asked.is_empty() || !before.owed.is_empty() {
        let before = IndexedReport::of(before);
        let passed_before =
            |id: &str| before.test(id).is_some_and(|test| !test.status.is_failure());
        let news = after
            .tests
            .iter()
            .filter(|test| test.status == Status::Passed && !passed_before(&test.id));
        let news: Vec<String> =
            news.map(|test| test.id.clone()).filter(|id| !asked.contains(id)).collect();
        asked.extend(news);
    }
    asked
}

/// The targets under the ids of this report. unittest reports a subtest only if it fails; when it
/// passes, its parent test passes instead. A Go test with subtests is reported only through its
/// subtests.
fn as_told(targets: &[String], after: &IndexedReport<'_>) -> Vec<String> {
    let mut known = HashSet::new();
    let names = |id: &'_ String| {
        if after.test(id).is_some() {
            return vec![id.clone()];
        }
        let told = framework::identity(id);
        let whole = told.case.and_then(|case| id.strip_suffix(&format!(" ({case})")));
        if let Some(whole) = whole.filter(|whole| after.test(whole).is_some()) {
            return vec![whole.to_owned()];
        }
        let below: Vec<String> = after.subtests(id).map(|test| test.id.clone()).collect();
        if below.is_empty() { vec![id.clone()] } else { below }
    };
    targets.iter().flat_map(names).filter(|name| known.insert(name.clone())).collect()
}

/// Tests that passed before and fail now, except the targets.
pub fn newly_failing(before: &Report, after: &Report, targets: &[String]) -> Vec<Test> {
    let before = IndexedReport::of(before);
    let passed = |id: &str| before.test(id).is_some_and(|test| test.status == Status::Passed);
    let broken = after.tests.iter().filter(|test| test.status.is_failure() && passed(&test.id));
    broken.filter(|test| !targets.contains(&test.id)).cloned().collect()
}

/// Removes tests from `blamed` that pass in another run of the same tree, and updates the report.
pub fn excuse(after: &mut Report, again: &Report, blamed: &mut Vec<Test>) -> bool {
    let passing =
        |test: &Test| again.test(&test.id).filter(|now| now.status == Status::Passed).cloned();
    let excused: Vec<Test> = blamed.iter().filter_map(passing).collect();
    blamed.retain(|test| !excused.iter().any(|now| now.id == test.id));
    for now in &excused {
        for test in after.tests.iter_mut().filter(|test| test.id == now.id) {
            *test = now.clone();
        }
    }
    if !after.tests.iter().any(|test| test.status.is_failure()) && !excused.is_empty() {
        (after.outcome, after.exit) = (Outcome::Passed, Exit::Code(0));
    }
    !excused.is_empty()
}

/// Adds the results of tests that ran separately to the report.
pub fn with_extra(mut after: Report, extra: Report) -> Report {
    let known: HashSet<String> = after.tests.iter().map(|test| test.id.clone()).collect();
    after.tests.extend(extra.tests.into_iter().filter(|test| !known.contains(&test.id)));
    after.load_errors.extend(extra.load_errors);
    if extra.outcome != Outcome::Passed {
        (after.outcome, after.exit) = (extra.outcome, extra.exit);
    }
    after
}

fn red(change: &Change, before: &IndexedReport<'_>, after: &IndexedReport<'_>) -> Verdict {
    let mut reasons = facts(JudgedPhase::Red, change);
    let disqualified = !reasons.is_empty();

    let new_errors: Vec<&LoadError> =
        after.load_errors.iter().filter(|error| !known_load_error(before, error)).collect();
    let missing: Vec<&LoadError> = new_errors
        .iter()
        .copied()
        .filter(|error| error.kind == LoadErrorKind::MissingSymbol)
        .collect();
    reasons.extend(
        new_errors.iter().filter(|error| error.kind != LoadErrorKind::MissingSymbol).map(|error| {
            let code = if error.kind == LoadErrorKind::Syntax {
                Code::RedSyntax
            } else {
                Code::RedDoesNotLoad
            };
            Reason::new(code, first_line(&error.message)).place(error.file.as_deref(), error.line)
        }),
    );

    let panicked = panicked(change, before, after);
    let cut_short = |test: &Test| {
        after.test(&test.id).is_none()
            && panicked.iter().any(|end| framework::go::share_a_process(&end.id, &test.id))
    };
    let hidden = |test: &Test| hides(&new_errors, change, after, test) || cut_short(test);
    let others = others(before, after, change, hidden);
    let sabotage = !others.is_clean();
    reasons.extend(others.reasons(
        Code::RedOthersFail,
        Code::RedOthersFail,
        Code::RedTestsVanished,
    ));

    reasons.extend(
        unfinished(after, Code::RedTimedOut, Code::RedCrashed).filter(|_| panicked.is_empty()),
    );
    reasons.extend(denied_failures(before, after, Code::RedCrashed));

    let fresh: Vec<&Test> =
        after.tests.iter().filter(|test| is_fresh(before, change, test)).collect();
    let failing: Vec<&Test> =
        fresh.iter().copied().filter(|test| test.status.is_failure()).collect();
    if reasons.is_empty() && failing.is_empty() && missing.is_empty() {
        reasons.push(nothing_red(&fresh));
    }
    if !reasons.is_empty() {
        let mut verdict = Verdict::refused(reasons);
        // A step that only fails its own goal may be fixed in place. A step that broke other tests
        // is rolled back.
        verdict.standing =
            (!disqualified && !sabotage).then_some(TestProgress { kept: 0, reached: 0 });
        return verdict;
    }
    let mut verdict = accepted_red(&failing, &missing);
    // If an old test file does not load, its old tests are owed. They may be all that changed.
    let old = before
        .report
        .tests
        .iter()
        .filter(|test| test.status == Status::Passed && after.test(&test.id).is_none());
    let owed =
        old.filter(|test| missing.iter().any(|error| in_modified_test_file(change, error, test)));
    verdict.targets.extend(owed.map(|test| test.id.clone()));
    verdict
}

/// New tests that ended in a panic, if nothing else ended the run early. Go has no other
/// exceptions, and tests that could not run after a panic are owed at GREEN.
fn panicked<'a>(
    change: &Change,
    before: &IndexedReport<'_>,
    after: &IndexedReport<'a>,
) -> Vec<&'a Test> {
    let is_panic = |test: &Test| test.exception.as_deref() == Some(framework::go::PANIC);
    let crashed: Vec<&Test> =
        after.report.tests.iter().filter(|test| test.status == Status::Crashed).collect();
    let explained = after.finished
        && matches!(after.exit, Exit::Code(_))
        && !after.has(Flag::ResultMissing)
        && !after.has(Flag::SourcesDisagree)
        && crashed.iter().all(|test| is_panic(test) && is_fresh(before, change, test));
    if explained { crashed } else { Vec::new() }
}

fn accepted_red(failing: &[&Test], missing: &[&LoadError]) -> Verdict {
    let mut reasons: Vec<Reason> = failing
        .iter()
        .map(|test| {
            let sentence = format!(
                "{} fails: {}",
                test.id,
                first_line(test.message.as_deref().unwrap_or("no message"))
            );
            Reason::new(red_code(test), sentence)
                .test(&test.id)
                .place(test.file.as_deref(), test.line)
        })
        .collect();
    reasons.extend(missing.iter().map(|error| {
        Reason::new(Code::RedMissingSymbol, first_line(&error.message))
            .place(error.file.as_deref(), error.line)
    }));
    Verdict {
        decision: Decision::Accepted,
        reasons: bounded(reasons),
        targets: failing.iter().map(|test| test.id.clone()).collect(),
        unloaded: Vec::new(),
        standing: None,
        notes: Vec::new(),
        mutants: None,
        experiments: Vec::new(),
    }
}

fn green(
    change: &Change,
    before: &IndexedReport<'_>,
    after: &IndexedReport<'_>,
    targets: &[String],
) -> Verdict {
    let nothing_red = nothing_to_make_pass(before, targets);
    let mut reasons = facts(JudgedPhase::Green, change);
    let tampered = !reasons.is_empty();

    reasons.extend(unfinished(after, Code::GreenTimedOut, Code::GreenReportIncomplete));
    let new_errors: Vec<&LoadError> =
        after.load_errors.iter().filter(|error| !known_load_error(before, error)).collect();
    reasons.extend(bounded(
        new_errors
            .iter()
            .map(|error| {
                Reason::new(Code::GreenDoesNotCompile, first_line(&error.message))
                    .place(error.file.as_deref(), error.line)
            })
            .collect(),
    ));

    let owed: HashSet<&str> = targets.iter().map(String::as_str).collect();
    let excused =
        |test: &Test| owed.contains(test.id.as_str()) || hides(&new_errors, change, after, test);
    let others = others(before, after, &Change::default(), excused);
    let mut reached = reached(before, after, targets, &owed);
    reached.none_new &= new_errors.is_empty() && nothing_red.is_none();
    reasons.extend(others.reasons(
        Code::GreenRegression,
        Code::GreenNewlySkipped,
        Code::GreenTestsVanished,
    ));
    reasons.extend(reached.reasons());
    // It explains the other reasons, so it comes first. If the code does not build, the test
    // results are unknown.
    reasons.splice(0..0, nothing_red.filter(|_| new_errors.is_empty()));
    if reasons.is_empty() {
        reasons.extend(contradiction(before, after, Code::GreenReportIncomplete));
    }

    let standing = TestProgress { kept: kept(before, after), reached: reached.passing };
    let mut verdict = if reasons.is_empty() {
        let counts = after.counts();
        Verdict::accepted(Reason::new(
            Code::GreenPasses,
            format!("{} passed, none is missing", count(counts.passed, "test")),
        ))
    } else {
        Verdict::refused(reasons)
    };
    verdict.standing = (!tampered).then_some(standing);
    verdict
}

fn refactor(change: &Change, before: &IndexedReport<'_>, after: &IndexedReport<'_>) -> Verdict {
    if change.paths.is_empty() {
        let failing = before.counts().failed;
        return Verdict::accepted(match failing {
            0 => Reason::plain(Code::RefactorNothing),
            _ => {
                let verb = if failing == 1 { "fails" } else { "fail" };
                let sentence = format!("nothing changed; {} still {verb}", count(failing, "test"));
                Reason::new(Code::RefactorNothing, sentence)
            }
        });
    }
    let mut reasons = facts(JudgedPhase::Refactor, change);
    reasons.extend(others(before, after, &Change::default(), |_| false).reasons(
        Code::RefactorRegression,
        Code::RefactorTestsVanished,
        Code::RefactorTestsVanished,
    ));
    reasons.extend(bounded(
        after
            .load_errors
            .iter()
            .filter(|error| !known_load_error(before, error))
            .map(|error| {
                Reason::new(Code::RefactorRegression, first_line(&error.message))
                    .place(error.file.as_deref(), error.line)
            })
            .collect(),
    ));
    let new_failures = after
        .tests
        .iter()
        .filter(|test| test.status.is_failure() && before.test(&test.id).is_none());
    reasons.extend(bounded(
        new_failures.map(|test| failure(Code::RefactorRegression, test)).collect(),
    ));
    reasons.extend(turns_green(before, after));
    reasons.extend(unfinished(
        after,
        Code::RefactorReportIncomplete,
        Code::RefactorReportIncomplete,
    ));
    if reasons.is_empty() {
        reasons.extend(contradiction(before, after, Code::RefactorReportIncomplete));
    }
    if reasons.is_empty() {
        let passed = after.counts().passed;
        let verb = if passed == 1 { "passes" } else { "pass" };
        let files = count(change.paths.len(), "file");
        let sentence = format!("{files} changed, and {} still {verb}", count(passed, "test"));
        Verdict::accepted(Reason::new(Code::RefactorKept, sentence))
    } else {
        Verdict::refused(reasons)
    }
}

/// Results of tests that did not fail before and are not targets of this phase.
struct OtherTests<'a> {
    failing: Vec<&'a Test>,
    skipped: Vec<&'a Test>,
    vanished: Vec<&'a Test>,
}

fn others<'a>(
    before: &IndexedReport<'a>,
    after: &IndexedReport<'a>,
    change: &Change,
    excused: impl Fn(&Test) -> bool,
) -> OtherTests<'a> {
    let mut others = OtherTests { failing: Vec::new(), skipped: Vec::new(), vanished: Vec::new() };
    for test in &before.report.tests {
        let passed = test.status == Status::Passed;
        match after.result(&test.id) {
            // A skipped test that now fails breaks the suite just like one that passed.
            _ if !passed && !test.status.is_idle() || excused(test) => {}
            None if passed => others.vanished.push(test),
            // A test in a file that this phase changed may fail, as long as it runs.
            Some(now) if now.status.is_failure() && in_changed_test(change, now) => {}
            Some(now) if now.status.is_failure() => others.failing.push(now),
            // It is marked as expected to fail, so it may fail from now on.
            Some(now) if passed && (is_waived(now.status) || now.status == Status::Xpassed) => {
                others.skipped.push(now);
            }
            None | Some(_) => {}
        }
    }
    others
}

impl OtherTests<'_> {
    fn is_clean(&self) -> bool {
        self.failing.is_empty() && self.skipped.is_empty() && self.vanished.is_empty()
    }

    fn reasons(&self, failing: Code, skipped: Code, vanished: Code) -> Vec<Reason> {
        let told = |tests: &[&Test], code: Code, what: &str| {
            let rows = tests
                .iter()
                .map(|test| Reason::new(code, format!("{} {what}", test.id)).test(&test.id));
            bounded(rows.collect())
        };
        let mut reasons = bounded(self.failing.iter().map(|test| failure(failing, test)).collect());
        reasons.extend(told(
            &self.skipped,
            skipped,
            "passed before and is now skipped or expected to fail",
        ));
        reasons.extend(told(&self.vanished, vanished, "passed before and is now missing"));
        reasons
    }
}

/// Results of the tests that RED wrote.
struct TargetTests<'a> {
    passing: usize,
    failing: Vec<&'a Test>,
    skipped: Vec<&'a Test>,
    vanished: Vec<&'a str>,
    none_new: bool,
}

fn reached<'a>(
    before: &IndexedReport<'_>,
    after: &IndexedReport<'a>,
    targets: &'a [String],
    owed: &HashSet<&str>,
) -> TargetTests<'a> {
    let mut reached = TargetTests {
        passing: 0,
        failing: Vec::new(),
        skipped: Vec::new(),
        vanished: Vec::new(),
        none_new: false,
    };
    let mut sort = |test: &'a Test| match test.status {
        Status::Passed => reached.passing += 1,
        Status::Skipped | Status::Todo | Status::NotRun | Status::Xfailed => {
            reached.skipped.push(test);
        }
        Status::Failed
        | Status::Errored
        | Status::TimedOut
        | Status::Crashed
        | Status::Flaky
        | Status::Xpassed => {
            reached.failing.push(test);
        }
    };
    let new: Vec<&'a Test> =
        after.report.tests.iter().filter(|test| before.test(&test.id).is_none()).collect();
    let compiled_late = targets.is_empty() || !before.owed.is_empty();
    for test in targets.iter().filter_map(|id| after.test(id)) {
        sort(test);
    }
    // Tests that did not run at RED (they did not compile, or GREEN added them) must pass too.
    for test in new.iter().copied().filter(|test| !owed.contains(test.id.as_str())) {
        if compiled_late || test.status.is_failure() {
            sort(test);
        }
    }
    reached.vanished =
        targets.iter().map(String::as_str).filter(|id| after.test(id).is_none()).collect();
    reached.none_new = targets.is_empty() && new.is_empty();
    reached
}

impl TargetTests<'_> {
    fn reasons(&self) -> Vec<Reason> {
        let mut reasons = bounded(
            self.failing.iter().map(|test| failure(Code::GreenStillFailing, test)).collect(),
        );
        reasons.extend(self.skipped.iter().map(|test| {
            Reason::new(Code::GreenNewlySkipped, format!("{} must pass but is skipped", test.id))
                .test(&test.id)
        }));
        reasons.extend(self.vanished.iter().map(|id| {
            Reason::new(Code::GreenTestsVanished, format!("{id} must pass but is missing")).test(id)
        }));
        if self.none_new {
            reasons
                .push(Reason::new(Code::GreenTestsVanished, "the test written in RED did not run"));
        }
        reasons
    }
}

fn kept(before: &IndexedReport<'_>, after: &IndexedReport<'_>) -> usize {
    let passing = |id: &str| after.test(id).is_some_and(|test| test.status == Status::Passed);
    before.tests.iter().filter(|test| test.status == Status::Passed && passing(&test.id)).count()
}

fn is_fresh(before: &IndexedReport<'_>, change: &Change, test: &Test) -> bool {
    match before.test(&test.id) {
        None => true,
        Some(known) => {
            !known.status.is_failure() && test.status.is_failure() && in_changed_test(change, test)
        }
    }
}

pub(crate) fn known_load_error(before: &Report, error: &LoadError) -> bool {
    before
        .load_errors
        .iter()
        .any(|known| known.file == error.file && known.message == error.message)
}

/// The test did not have to pass: it did not run, or it is expected to fail.
fn is_waived(status: Status) -> bool {
    status.is_idle() || status == Status::Xfailed
}

/// Why a new test fails, according to its message.
pub(crate) fn red_code(test: &Test) -> Code {
    const MISSING: [&str; 8] = [
        "NameError",
        "AttributeError",
        "ImportError",
        "ModuleNotFoundError",
        "ReferenceError",
        "NoMethodError",
        "UndefinedFunctionError",
        "UnboundLocalError",
    ];
    match (test.status, test.exception.as_deref()) {
        (_, Some(class)) if class.ends_with("NotImplementedError") => Code::RedNotImplemented,
        (_, Some(class)) if MISSING.contains(&class) => Code::RedMissingSymbol,
        (Status::Failed, _) if !test.id.starts_with(EXIT_CODE_ONLY) => Code::RedAssertion,
        (
            Status::Passed
            | Status::Xfailed
            | Status::Todo
            | Status::Skipped
            | Status::NotRun
            | Status::Flaky
            | Status::Xpassed
            | Status::Failed
            | Status::Errored
            | Status::TimedOut
            | Status::Crashed,
            _,
        ) => Code::RedError,
    }
}

fn nothing_red(fresh: &[&Test]) -> Reason {
    let passing: Vec<&str> =
        fresh.iter().filter(|test| !is_waived(test.status)).map(|test| test.id.as_str()).collect();
    match (fresh.first(), passing.first()) {
        (None, _) => Reason::plain(Code::RedNoTests),
        (Some(idle), None) => {
            Reason::new(Code::RedSkipped, format!("{} is skipped", idle.id)).test(&idle.id)
        }
        (Some(_), Some(first)) => {
            Reason::new(Code::RedPasses, format!("{} already passes", passing.join(", ")))
                .test(first)
        }
    }
}

#[cfg(test)]
mod tests;
