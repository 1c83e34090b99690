//! The ruling on a phase: from the change, the report accepted last and the report of the candidate, nothing else. No
//! word of any agent is an input.

mod carried;
mod claimed;
mod seen;
mod touched;

use std::collections::HashSet;

use crate::change::{Change, ChangedPath, Class, Kind};
use crate::framework;
use crate::path::folder;
use crate::phase::JudgedPhase;
use crate::report::{EXIT_CODE_ONLY, Exit, Flag, LoadError, LoadErrorKind, Outcome, Report, Status, Test};
use crate::verdict::{Code, Decision, Reason, Standing, Verdict};

pub use carried::carry;
pub use claimed::turned_green;
use claimed::{nothing_to_make_pass, turns_green};
use seen::Seen;
pub use touched::facts;
pub(crate) use touched::is_data;

/// What a ruling rests on.
#[derive(Clone, Copy, Debug)]
pub struct Evidence<'a> {
    pub change: &'a Change,
    /// The report of the state accepted last (the baseline before the first cycle).
    pub before: &'a Report,
    pub after: &'a Report,
    /// The tests RED made fail. Empty in RED, and when they did not compile there.
    pub targets: &'a [String],
}

/// At most so many reasons of one kind; the rest is counted.
const REASONS_MAX: usize = 12;

/// Rules on a candidate of RED, GREEN or REFACTOR. The plan is ruled on by `test_list`; nothing is left to rule on when
/// the run is complete.
pub fn judge(phase: JudgedPhase, evidence: Evidence<'_>) -> Verdict {
    // Where a build of its own comes first, what does not compile is never started.
    let is_built = evidence.after.outcome != Outcome::DidNotCompile || evidence.after.load_errors.is_empty();
    if evidence.after.outcome == Outcome::UsageError || evidence.after.exit == Exit::NotStarted && is_built {
        let said = telling_line(&evidence.after.output_tail).unwrap_or("nothing");
        let sentence = format!("`{}` could not work; it said: {said}", evidence.after.command);
        // Whoever changed what the runner reads before any test can put that right.
        let changed = || evidence.change.paths.iter().find(|changed| changed.is_read_first());
        return match (phase == JudgedPhase::Red).then(changed).flatten() {
            Some(changed) => {
                let reason = Reason::new(Code::RedDoesNotLoad, sentence).place(Some(&changed.path), None);
                Verdict { standing: Some(Standing { kept: 0, reached: 0 }), ..Verdict::refused(vec![reason]) }
            }
            None => Verdict::undecided(Reason::new(Code::RunnerBroken, sentence)),
        };
    }
    // A runner that gave up says nothing about a new test, whatever it reported until then.
    if phase == JudgedPhase::Red && evidence.after.has(Flag::RunnerStopped) {
        return Verdict::undecided(crashed(Code::RunnerBroken, evidence.after));
    }
    let (before, after) = (Seen::of(evidence.before), Seen::of(evidence.after));
    let mut verdict = match phase {
        JudgedPhase::Red => red(evidence.change, &before, &after),
        JudgedPhase::Green => green(evidence.change, &before, &after, &as_told(evidence.targets, &after)),
        JudgedPhase::Refactor => refactor(evidence.change, &before, &after),
    };
    if after.has(Flag::ExitCodeAlone) {
        say_exit_code_only(&mut verdict);
    }
    verdict
}

/// The line of a runner's last words that says most: where it speaks of an error, else the last one.
fn telling_line(words: &str) -> Option<&str> {
    let lines = || words.lines().map(str::trim).filter(|line| !line.is_empty());
    lines().find(|line| line.to_ascii_lowercase().contains("error")).or_else(|| lines().next_back())
}

/// Nobody is to take an exit code for a report.
fn say_exit_code_only(verdict: &mut Verdict) {
    for reason in verdict.reasons.iter_mut().filter(|reason| !reason.sentence.contains(EXIT_CODE_ONLY)) {
        reason.sentence = format!("{EXIT_CODE_ONLY}{}", reason.sentence);
    }
}

/// The tests a phase is about: what RED found to fail, and at GREEN, where RED did not compile, what is new since.
pub fn asked_for(
    phase: JudgedPhase,
    before: &Report,
    after: &Report,
    verdict: &Verdict,
    targets: Option<&[String]>,
) -> Vec<String> {
    match (phase, targets) {
        (JudgedPhase::Red, _) => verdict.targets.clone(),
        (_, Some(targets)) if !targets.is_empty() => as_told(targets, &Seen::of(after)),
        _ => {
            let before = Seen::of(before);
            let passed_before = |id: &str| before.test(id).is_some_and(|test| !test.status.is_failure());
            let news = after.tests.iter().filter(|test| test.status == Status::Passed && !passed_before(&test.id));
            news.map(|test| test.id.clone()).collect()
        }
    }
}

/// The targets by the names that a report has for them. unittest tells of a subtest only when it fails; once it passes, it
/// is the test that it is a part of which does. A test of Go that has got subtests is told by them alone.
fn as_told(targets: &[String], after: &Seen<'_>) -> Vec<String> {
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

/// Tests that passed before and fail now, and that nobody asked for.
pub fn newly_failing(before: &Report, after: &Report, targets: &[String]) -> Vec<Test> {
    let before = Seen::of(before);
    let passed = |id: &str| before.test(id).is_some_and(|test| test.status == Status::Passed);
    let broken = after.tests.iter().filter(|test| test.status.is_failure() && passed(&test.id));
    broken.filter(|test| !targets.contains(&test.id)).cloned().collect()
}

/// Takes from `blamed` what passes in another run of the same tree, and writes that into the report.
pub fn excuse(after: &mut Report, again: &Report, blamed: &mut Vec<Test>) -> bool {
    let passing = |test: &Test| again.test(&test.id).filter(|now| now.status == Status::Passed).cloned();
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

/// The report with the tests that were run on their own beside it.
pub fn with_extra(mut after: Report, extra: Report) -> Report {
    let known: HashSet<String> = after.tests.iter().map(|test| test.id.clone()).collect();
    after.tests.extend(extra.tests.into_iter().filter(|test| !known.contains(&test.id)));
    after.load_errors.extend(extra.load_errors);
    if extra.outcome != Outcome::Passed {
        (after.outcome, after.exit) = (extra.outcome, extra.exit);
    }
    after
}

fn red(change: &Change, before: &Seen<'_>, after: &Seen<'_>) -> Verdict {
    let mut reasons = facts(JudgedPhase::Red, change);
    let disqualified = !reasons.is_empty();

    let new_errors: Vec<&LoadError> =
        after.load_errors.iter().filter(|error| !known_load_error(before, error)).collect();
    let missing: Vec<&LoadError> =
        new_errors.iter().copied().filter(|error| error.kind == LoadErrorKind::MissingSymbol).collect();
    reasons.extend(new_errors.iter().filter(|error| error.kind != LoadErrorKind::MissingSymbol).map(|error| {
        let code = if error.kind == LoadErrorKind::Syntax { Code::RedSyntax } else { Code::RedDoesNotLoad };
        Reason::new(code, first_line(&error.message)).place(error.file.as_deref(), error.line)
    }));

    let panicked = panicked(change, before, after);
    let cut_short = |test: &Test| {
        after.test(&test.id).is_none() && panicked.iter().any(|end| framework::go::share_a_process(&end.id, &test.id))
    };
    let hidden = |test: &Test| hides(&new_errors, change, after, test) || cut_short(test);
    let others = others(before, after, change, hidden);
    let sabotage = !others.is_clean();
    reasons.extend(others.reasons(Code::RedOthersFail, Code::RedOthersFail, Code::RedTestsVanished));

    reasons.extend(unfinished(after, Code::RedTimedOut, Code::RedCrashed).filter(|_| panicked.is_empty()));
    reasons.extend(denied_failures(before, after, Code::RedCrashed));

    let fresh: Vec<&Test> = after.tests.iter().filter(|test| is_fresh(before, change, test)).collect();
    let failing: Vec<&Test> = fresh.iter().copied().filter(|test| test.status.is_failure()).collect();
    if reasons.is_empty() && failing.is_empty() && missing.is_empty() {
        reasons.push(nothing_red(&fresh));
    }
    if !reasons.is_empty() {
        let mut verdict = Verdict::refused(reasons);
        // What is only wrong in itself may be mended where it stands; what harmed others is rolled back.
        verdict.standing = (!disqualified && !sabotage).then_some(Standing { kept: 0, reached: 0 });
        return verdict;
    }
    let mut verdict = accepted_red(&failing, &missing);
    // An old test file that does not load owes its old tests; they may be all that was changed.
    let old = before.report.tests.iter().filter(|test| test.status == Status::Passed && after.test(&test.id).is_none());
    let owed = old.filter(|test| missing.iter().any(|error| in_modified_test_file(change, error, test)));
    verdict.targets.extend(owed.map(|test| test.id.clone()));
    verdict
}

/// The new tests that a panic ended, where nothing else cut the run short. Go knows no other exception, and what it could
/// not run after one is owed at GREEN.
fn panicked<'a>(change: &Change, before: &Seen<'_>, after: &Seen<'a>) -> Vec<&'a Test> {
    let is_panic = |test: &Test| test.exception.as_deref() == Some(framework::go::PANIC);
    let crashed: Vec<&Test> = after.report.tests.iter().filter(|test| test.status == Status::Crashed).collect();
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
            let sentence =
                format!("{} fails: {}", test.id, first_line(test.message.as_deref().unwrap_or("no message")));
            Reason::new(red_code(test), sentence).test(&test.id).place(test.file.as_deref(), test.line)
        })
        .collect();
    reasons.extend(missing.iter().map(|error| {
        Reason::new(Code::RedMissingSymbol, first_line(&error.message)).place(error.file.as_deref(), error.line)
    }));
    Verdict {
        decision: Decision::Accepted,
        reasons: bounded(reasons),
        targets: failing.iter().map(|test| test.id.clone()).collect(),
        standing: None,
        notes: Vec::new(),
        faults: None,
        experiments: Vec::new(),
    }
}

fn green(change: &Change, before: &Seen<'_>, after: &Seen<'_>, targets: &[String]) -> Verdict {
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
    let excused = |test: &Test| owed.contains(test.id.as_str()) || hides(&new_errors, change, after, test);
    let others = others(before, after, &Change::default(), excused);
    let mut reached = reached(before, after, targets, &owed);
    reached.none_new &= new_errors.is_empty() && nothing_red.is_none();
    reasons.extend(others.reasons(Code::GreenRegression, Code::GreenNewlySkipped, Code::GreenTestsVanished));
    reasons.extend(reached.reasons());
    // It explains what else is wrong, and is said first. Of code that does not build nobody knows what it would show.
    reasons.splice(0..0, nothing_red.filter(|_| new_errors.is_empty()));
    if reasons.is_empty() {
        reasons.extend(contradiction(before, after, Code::GreenReportIncomplete));
    }

    let standing = Standing { kept: kept(before, after), reached: reached.passing };
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

fn refactor(change: &Change, before: &Seen<'_>, after: &Seen<'_>) -> Verdict {
    if change.paths.is_empty() {
        let failing = before.counts().failed;
        return Verdict::accepted(match failing {
            0 => Reason::plain(Code::RefactorNothing),
            _ => {
                let verb = if failing == 1 { "fails" } else { "fail" };
                let sentence = format!("nothing changed; {} {verb} now as before", count(failing, "test"));
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
    let new_failures = after.tests.iter().filter(|test| test.status.is_failure() && before.test(&test.id).is_none());
    reasons.extend(bounded(new_failures.map(|test| failure(Code::RefactorRegression, test)).collect()));
    reasons.extend(turns_green(before, after));
    reasons.extend(unfinished(after, Code::RefactorReportIncomplete, Code::RefactorReportIncomplete));
    if reasons.is_empty() {
        reasons.extend(contradiction(before, after, Code::RefactorReportIncomplete));
    }
    if reasons.is_empty() {
        Verdict::accepted(Reason::new(
            Code::RefactorKept,
            format!(
                "{} changed, and {} still passing",
                count(change.paths.len(), "file"),
                count(after.counts().passed, "test")
            ),
        ))
    } else {
        Verdict::refused(reasons)
    }
}

/// What became of the tests that did not fail before and are not this phase's business.
struct Others<'a> {
    failing: Vec<&'a Test>,
    skipped: Vec<&'a Test>,
    vanished: Vec<&'a Test>,
}

fn others<'a>(before: &Seen<'a>, after: &Seen<'a>, change: &Change, excused: impl Fn(&Test) -> bool) -> Others<'a> {
    let mut others = Others { failing: Vec::new(), skipped: Vec::new(), vanished: Vec::new() };
    for test in &before.report.tests {
        let passed = test.status == Status::Passed;
        match after.result(&test.id) {
            // A test that slept and now fails makes the suite as red as one that passed.
            _ if !passed && !test.status.is_idle() || excused(test) => {}
            None if passed => others.vanished.push(test),
            // A test whose file this phase changed is its business, so long as it still runs.
            Some(now) if now.status.is_failure() && in_changed_test(change, now) => {}
            Some(now) if now.status.is_failure() => others.failing.push(now),
            // Declared to fail, it may fail from now on.
            Some(now) if passed && (is_waived(now.status) || now.status == Status::Xpassed) => {
                others.skipped.push(now);
            }
            None | Some(_) => {}
        }
    }
    others
}

impl Others<'_> {
    fn is_clean(&self) -> bool {
        self.failing.is_empty() && self.skipped.is_empty() && self.vanished.is_empty()
    }

    fn reasons(&self, failing: Code, skipped: Code, vanished: Code) -> Vec<Reason> {
        let told = |tests: &[&Test], code: Code, what: &str| {
            let rows = tests.iter().map(|test| Reason::new(code, format!("{} {what}", test.id)).test(&test.id));
            bounded(rows.collect())
        };
        let mut reasons = bounded(self.failing.iter().map(|test| failure(failing, test)).collect());
        reasons.extend(told(&self.skipped, skipped, "passed before, and is skipped or expected to fail now"));
        reasons.extend(told(&self.vanished, vanished, "passed before and is gone"));
        reasons
    }
}

/// What became of the tests RED asked for.
struct Reached<'a> {
    passing: usize,
    failing: Vec<&'a Test>,
    skipped: Vec<&'a Test>,
    vanished: Vec<&'a str>,
    none_new: bool,
}

fn reached<'a>(before: &Seen<'_>, after: &Seen<'a>, targets: &'a [String], owed: &HashSet<&str>) -> Reached<'a> {
    let mut reached =
        Reached { passing: 0, failing: Vec::new(), skipped: Vec::new(), vanished: Vec::new(), none_new: false };
    let mut sort = |test: &'a Test| match test.status {
        Status::Passed => reached.passing += 1,
        Status::Skipped | Status::Todo | Status::NotRun | Status::Xfailed => reached.skipped.push(test),
        Status::Failed | Status::Errored | Status::TimedOut | Status::Crashed | Status::Flaky | Status::Xpassed => {
            reached.failing.push(test);
        }
    };
    let new: Vec<&'a Test> = after.report.tests.iter().filter(|test| before.test(&test.id).is_none()).collect();
    let compiled_late = targets.is_empty();
    for test in targets.iter().filter_map(|id| after.test(id)) {
        sort(test);
    }
    // Tests nobody saw at RED (they did not compile, or came along in GREEN) have to pass as well.
    for test in new.iter().copied().filter(|test| !owed.contains(test.id.as_str())) {
        if compiled_late || test.status.is_failure() {
            sort(test);
        }
    }
    reached.vanished = targets.iter().map(String::as_str).filter(|id| after.test(id).is_none()).collect();
    reached.none_new = compiled_late && new.is_empty();
    reached
}

impl Reached<'_> {
    fn reasons(&self) -> Vec<Reason> {
        let mut reasons = bounded(self.failing.iter().map(|test| failure(Code::GreenStillFailing, test)).collect());
        reasons.extend(self.skipped.iter().map(|test| {
            Reason::new(Code::GreenNewlySkipped, format!("{} has to pass and is skipped", test.id)).test(&test.id)
        }));
        reasons.extend(
            self.vanished
                .iter()
                .map(|id| Reason::new(Code::GreenTestsVanished, format!("{id} has to pass and is gone")).test(id)),
        );
        if self.none_new {
            reasons.push(Reason::new(Code::GreenTestsVanished, "the test written in RED was not run"));
        }
        reasons
    }
}

fn kept(before: &Seen<'_>, after: &Seen<'_>) -> usize {
    let passing = |id: &str| after.test(id).is_some_and(|test| test.status == Status::Passed);
    before.tests.iter().filter(|test| test.status == Status::Passed && passing(&test.id)).count()
}

fn is_fresh(before: &Seen<'_>, change: &Change, test: &Test) -> bool {
    match before.test(&test.id) {
        None => true,
        Some(known) => !known.status.is_failure() && test.status.is_failure() && in_changed_test(change, test),
    }
}

/// Whether the test lives in a test file that changed.
fn in_changed_test(change: &Change, test: &Test) -> bool {
    let tests = change.paths.iter().filter(|changed| matches!(changed.class, Class::Test | Class::Mixed));
    tests.into_iter().any(|changed| lives_in(test, &changed.path))
}

/// Whether the test is in that file. An exit code stands for all tests, wherever they are.
fn lives_in(test: &Test, path: &str) -> bool {
    test.is_in(path) || test.id.starts_with(EXIT_CODE_ONLY)
}

fn in_modified_test_file(change: &Change, error: &LoadError, test: &Test) -> bool {
    error.file.as_deref().is_some_and(|broken| {
        let modified =
            |path: &ChangedPath| path.path == broken && path.class == Class::Test && path.kind == Kind::Modified;
        lives_in(test, broken) && change.paths.iter().any(modified)
    })
}

/// Whether the broken files explain that a test has no result. A runner that ran nothing at all hides everything it would
/// have run.
fn hides(errors: &[&LoadError], change: &Change, after: &Report, test: &Test) -> bool {
    let stopped = |error: &&LoadError| stops_runner_of(error, after, test);
    !errors.is_empty() && (after.tests.is_empty() || errors.iter().any(stopped) || hidden_by(errors, change, test))
}

/// Where several frameworks run, whether the one of this test ran nothing because of a broken file of its own.
fn stops_runner_of(error: &LoadError, after: &Report, test: &Test) -> bool {
    let Some((folder, extension)) = kin(test) else { return false };
    let own = |file: &str| file.starts_with(folder) && extension_of(file) == Some(extension);
    error.file.as_deref().is_some_and(own) && !after.tests.iter().any(|other| kin(other) == Some((folder, extension)))
}

/// The folder and the language a test shares with those that are run together with it.
fn kin(test: &Test) -> Option<(&str, &str)> {
    let file = test.file.as_deref()?;
    Some((test.identity().folder, extension_of(file)?))
}

fn extension_of(path: &str) -> Option<&str> {
    path.rsplit_once('.').map(|(_, extension)| extension)
}

/// Whether one of the broken files explains that a test could not run. Where the test's file is unknown, the doubt is in
/// its favour: it is owed at GREEN all the same.
fn hidden_by(errors: &[&LoadError], change: &Change, test: &Test) -> bool {
    errors.iter().any(|error| match (&error.file, &test.file) {
        (None, _) => true,
        (Some(broken), _) if lives_in(test, broken) => true,
        // Go builds a package as a whole.
        (Some(broken), Some(file)) => broken.ends_with(".go") && folder(broken) == folder(file),
        // A new file in `tests` is a program of its own: no other one needs it, unless that one was changed as well.
        (Some(broken), None) => !is_new_test_target(change, broken) || in_changed_test(change, test),
    })
}

fn is_new_test_target(change: &Change, path: &str) -> bool {
    let place = folder(path);
    let in_tests = (place == "tests" || place.ends_with("/tests")) && !path.split('/').any(|part| part == "src");
    in_tests && change.paths.iter().any(|changed| changed.path == path && changed.kind == Kind::Added)
}

pub(crate) fn known_load_error(before: &Report, error: &LoadError) -> bool {
    before.load_errors.iter().any(|known| known.file == error.file && known.message == error.message)
}

/// The test did not have to pass: it was not run, or its failure is declared to be expected.
fn is_waived(status: Status) -> bool {
    status.is_idle() || status == Status::Xfailed
}

/// Why a new test fails, as far as its own words tell.
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
    let passing: Vec<&str> = fresh.iter().filter(|test| !is_waived(test.status)).map(|test| test.id.as_str()).collect();
    match (fresh.first(), passing.first()) {
        (None, _) => Reason::plain(Code::RedNoTests),
        (Some(idle), None) => Reason::new(Code::RedSkipped, format!("{} is skipped", idle.id)).test(&idle.id),
        (Some(_), Some(first)) => {
            Reason::new(Code::RedPasses, format!("{} passes already", passing.join(", "))).test(first)
        }
    }
}

/// Everything looks well, but the pieces do not agree; a suite that was not clean before may stay as it was.
fn contradiction(before: &Report, after: &Report, code: Code) -> Option<Reason> {
    let clean_before = matches!(before.outcome, Outcome::Passed | Outcome::NoTests | Outcome::Skipped);
    if let Some(denied) = denied_failures(before, after, code) {
        return Some(denied);
    }
    let failures_now = after.tests.iter().any(|test| test.status.is_failure());
    if clean_before && after.tests.is_empty() && after.exit != Exit::Code(0) {
        return Some(Reason::new(code, format!("no test was found: `{}` ended with {}", after.command, after.exit)));
    }
    if clean_before && !failures_now && after.exit != Exit::Code(0) {
        let outside = after.errors_outside.first().map_or("no test says why", String::as_str);
        return Some(Reason::new(code, format!("every test passes, and the run ends with {}: {outside}", after.exit)));
    }
    None
}

fn denied_failures(before: &Report, after: &Report, code: Code) -> Option<Reason> {
    (after.has(Flag::ExitCodeContradicts) && !before.has(Flag::ExitCodeContradicts))
        .then(|| Reason::new(code, "the report holds failures, and the exit code says there are none"))
}

/// The run did not come to its end.
fn unfinished(after: &Report, timed_out: Code, ended_early: Code) -> Option<Reason> {
    match after.outcome {
        Outcome::TimedOut => {
            let setting = if timed_out == Code::RedTimedOut { "timeout.red" } else { "timeout.green" };
            let sentence = format!(
                "the suite did not end within {} s: {}; a longer limit is `{setting}` in the settings, or `--timeout` of \
                 `redgreen judge`",
                after.wall_ms / 1000,
                after.command
            );
            Some(Reason::new(timed_out, sentence))
        }
        Outcome::Crashed => Some(crashed(ended_early, after)),
        Outcome::Passed
        | Outcome::Failed
        | Outcome::Errored
        | Outcome::Skipped
        | Outcome::DidNotCompile
        | Outcome::NoTests
        | Outcome::UsageError => None,
    }
}

fn crashed(code: Code, after: &Report) -> Reason {
    let unfinished: Vec<&str> = after
        .tests
        .iter()
        .filter(|test| test.status == Status::Crashed)
        .map(|test| test.id.as_str())
        .take(REASONS_MAX)
        .collect();
    let who = if unfinished.is_empty() { String::new() } else { format!(", in {}", unfinished.join(", ")) };
    let why = after.errors_outside.first().map(|words| format!(": {}", first_line(words))).unwrap_or_default();
    Reason::new(code, format!("the run ended early ({}){who}{why}", after.exit))
}

fn failure(code: Code, test: &Test) -> Reason {
    let message = first_line(test.message.as_deref().unwrap_or("no message"));
    Reason::new(code, format!("{} fails: {message}", test.id)).test(&test.id).place(test.file.as_deref(), test.line)
}

fn bounded(mut reasons: Vec<Reason>) -> Vec<Reason> {
    let more = reasons.len().saturating_sub(REASONS_MAX);
    reasons.truncate(REASONS_MAX);
    if more > 0
        && let Some(last) = reasons.last_mut()
    {
        last.sentence.push_str(&format!(" (and {more} more)"));
    }
    reasons
}

/// `1 test`, `2 tests`.
fn count(number: usize, thing: &str) -> String {
    format!("{number} {thing}{}", if number == 1 { "" } else { "s" })
}

/// The line that decides: the first one, with what was compared where the runner puts that below it.
pub(crate) fn first_line(message: &str) -> String {
    const LINE_CHARS_MAX: usize = 200;
    let mut lines = message.lines().map(str::trim).filter(|line| !line.is_empty());
    let first = lines.next().unwrap_or("no message");
    let compared: Vec<&str> = lines.filter(|line| line.starts_with("left:") || line.starts_with("right:")).collect();
    let line = if compared.is_empty() { first.to_owned() } else { format!("{first} ({})", compared.join(", ")) };
    line.chars().take(LINE_CHARS_MAX).collect()
}

#[cfg(test)]
mod tests;
