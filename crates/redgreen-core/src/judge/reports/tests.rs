//! Rows for every code: the results of the suite before and after, and the verdict.
//!
//! A report is a line of words. `+a` passes, `-a` fails (`-a:KeyError` with that exception), `!a`
//! errors, `?a` is skipped, `xa` fails as expected, `Xa` passes although it should fail, `~a` is
//! flaky, `%a` crashed (`%demo.TestA:panic` by a Go panic). `load:FILE`, `syntax:FILE` and
//! `broken:FILE` could not be loaded (a missing name, bad syntax, any other error). `exit=N`, `cut`
//! (the run did not finish), `hung` (our time limit) and `unstarted` say how the run ended; without
//! them it ends as an honest runner would. A name without `::` is a test of `tests/test_a.py`. A
//! pytest name begins with its file, and a cargo name (`roman::…`, `roman/…`) has no known file.
//!
//! A change is a line of words as well: `test+FILE` adds, `test~FILE` changes and `test-FILE`
//! deletes a test file; `impl`, `mixed`, `stub`, `config`, `manifest` and `module` are the other
//! classes.

mod go;
mod honest;
mod refused;
mod stopped;

use super::hidden::hidden_by;
use super::*;
use crate::framework::captured::Capture;
use crate::framework::command::Command;
use crate::report::Stage;
use crate::verdict::VOCABULARY;
use JudgedPhase::{Green, Red, Refactor};
use honest::HONEST;
use refused::REFUSED;

fn report(words: &str) -> Report {
    let mut report = Report {
        runner: "pytest".to_owned(),
        command: "pytest -q".to_owned(),
        exit: Exit::Code(0),
        finished: true,
        ..Report::default()
    };
    let mut exit = None;
    for word in words.split_whitespace() {
        let load = |kind: LoadErrorKind, file: &str| LoadError {
            stage: Stage::Collect,
            file: (file != "?").then(|| file.to_owned()),
            line: None,
            kind,
            code: None,
            message: format!("cannot load {file}"),
        };
        if let Some(file) = word.strip_prefix("load:") {
            report.load_errors.push(load(LoadErrorKind::MissingSymbol, file));
        } else if let Some(file) = word.strip_prefix("syntax:") {
            report.load_errors.push(load(LoadErrorKind::Syntax, file));
        } else if let Some(file) = word.strip_prefix("broken:") {
            report.load_errors.push(load(LoadErrorKind::Other, file));
        } else if let Some(code) = word.strip_prefix("exit=") {
            exit = Some(Exit::Code(code.parse().unwrap()));
        } else if word == "cut" {
            report.finished = false;
        } else if word == "hung" {
            exit = Some(Exit::TimedOut);
        } else if word == "unstarted" {
            exit = Some(Exit::NotStarted);
        } else if word == "stopped" {
            report.flag(Flag::RunnerStopped);
        } else if word == "usage" {
            report.decided = Some(Outcome::UsageError);
            report.output_tail = "no such option: -q\n".to_owned();
        } else {
            report.tests.push(test(word));
        }
    }
    let red =
        !report.load_errors.is_empty() || report.tests.iter().any(|test| test.status.is_failure());
    report.exit = exit.unwrap_or(Exit::Code(i32::from(red)));
    report.conclude();
    report
}

fn test(word: &str) -> Test {
    let (mark, name) = word.split_at(1);
    let status = match mark {
        "+" => Status::Passed,
        "-" => Status::Failed,
        "!" => Status::Errored,
        "?" => Status::Skipped,
        "x" => Status::Xfailed,
        "X" => Status::Xpassed,
        "~" => Status::Flaky,
        "%" => Status::Crashed,
        "o" => Status::TimedOut,
        other => panic!("no such mark: {other} in {word}"),
    };
    let (name, exception) = match name
        .rsplit_once(':')
        .filter(|(_, class)| class.ends_with("Error") || *class == "panic")
    {
        Some((name, class)) => (name, Some(class.to_owned())),
        None => (name, None),
    };
    let go = name.contains(".Test");
    let id = if name.contains("::") || go {
        name.to_owned()
    } else {
        format!("tests/test_a.py::{name}")
    };
    let home = id.split_once("::").map_or("", |(home, _)| home);
    let file = (home.ends_with(".py") || home.ends_with(".rb")).then(|| home.to_owned());
    Test { file, exception, ..Test::new(id, status) }
}

fn change(words: &str) -> Change {
    let paths = words.split_whitespace().map(|word| {
        let at = word.find(['+', '~', '-']).unwrap();
        let (class, rest) = word.split_at(at);
        let (kind, path) = rest.split_at(1);
        ChangedPath {
            path: path.to_owned(),
            kind: match kind {
                "+" => Kind::Added,
                "~" => Kind::Modified,
                _ => Kind::Deleted,
            },
            class: match class {
                "test" => Class::Test,
                "impl" => Class::Implementation,
                "mixed" => Class::Mixed,
                "stub" => Class::Stub,
                "config" => Class::RunnerConfig,
                "manifest" => Class::Manifest,
                "module" => Class::Submodule,
                other => panic!("no such class: {other}"),
            },
        }
    });
    Change { paths: paths.collect() }
}

struct Row(JudgedPhase, &'static str, &'static str, &'static str, &'static str);

/// Judges a change. `told` shows the decision and each code once: `accepted red.assertion`.
fn ruled(phase: JudgedPhase, changed: &str, before: &str, after: &str) -> Verdict {
    let (changed, after) = (change(changed), report(after));
    // GREEN is compared with the state after RED: `before => red`.
    let (before, targets) = match before.split_once("=>") {
        Some((base, red)) => {
            let (base, (how, red)) = (report(base), red.split_once("=>").unwrap());
            let (how, red) = (change(how), report(red));
            let verdict =
                judge(Red, Evidence { change: &how, before: &base, after: &red, targets: &[] });
            assert_eq!(verdict.decision, Decision::Accepted, "{verdict:?}");
            (carry(&base, &red), verdict.targets)
        }
        None => (report(before), Vec::new()),
    };
    judge(phase, Evidence { change: &changed, before: &before, after: &after, targets: &targets })
}

fn told(verdict: &Verdict) -> String {
    let decision = match verdict.decision {
        Decision::Accepted => "accepted",
        Decision::Refused => "refused",
        Decision::Undecided => "undecided",
    };
    let mut words = vec![decision];
    for reason in &verdict.reasons {
        if !words.contains(&reason.code.as_str()) {
            words.push(reason.code.as_str());
        }
    }
    words.join(" ")
}

fn check(rows: &[Row]) {
    let wrong: Vec<String> = rows
        .iter()
        .filter_map(|Row(phase, changed, before, after, expected)| {
            let verdict = ruled(*phase, changed, before, after);
            let told = told(&verdict);
            (told != *expected).then(|| {
                format!("{phase} [{changed}] [{before}] -> [{after}]\n  {told}, not {expected}")
            })
        })
        .collect();
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
}

const NEW_PY: &str = "test+tests/test_n.py";
const OLD_PY: &str = "test~tests/test_a.py";

#[test]
fn honest_work_is_accepted() {
    check(HONEST);
}

#[test]
fn what_is_not_honest_work_is_refused() {
    check(REFUSED);
}

/// Codes that no report produces: they come from the controls, examples, the brief or the agent's
/// claims.
const CONTROLS: &[Code] = &[
    Code::RedWrongCount,
    Code::RedCaseMissing,
    Code::TaskPoint,
    Code::GreenCoverage,
    Code::TaskCriteria,
    Code::RedUnrelatedSymbol,
    Code::RedNoCall,
    Code::RedNoAssertion,
    Code::RedFlaky,
    Code::GreenNotDiscriminating,
    Code::GreenSuspicious,
    Code::GreenExamplesDiffer,
    Code::GreenOverfits,
    Code::GreenExamplesUnasked,
    Code::GreenContested,
    Code::RefactorTestsWeakened,
    Code::RefactorBehaviour,
    Code::RefactorPublicRemoved,
    Code::RefactorNewFeature,
];

#[test]
fn the_rows_reach_every_code_a_judge_can_give() {
    let told: Vec<&str> =
        HONEST.iter().chain(REFUSED).flat_map(|row| row.4.split_whitespace()).collect();
    for meaning in VOCABULARY {
        // PLAN has its own judge, the state machine handles linters and abandoned refactorings, and
        // `verify` asks more of a range.
        let elsewhere = ["plan.", "environment.", "verify."]
            .iter()
            .any(|start| meaning.name.starts_with(start))
            || meaning.name.ends_with(".lint")
            || meaning.code == Code::RefactorGivenUp
            || CONTROLS.contains(&meaning.code);
        assert_eq!(!elsewhere, told.contains(&meaning.name), "{}", meaning.name);
    }
}

#[test]
fn what_may_be_built_upon_has_a_standing() {
    let red = "+a +b => test~tests/test_a.py => +a +b -m -n";
    for (phase, changed, before, after, expected) in [
        (Red, OLD_PY, "+a", "+a +n", Some((0, 0))),
        (Red, NEW_PY, "+a", "-a -tests/test_n.py::n", None),
        (Red, "impl~calc.py", "+a", "+a -n", None),
        (Green, "impl~calc.py", red, "+a +b -m -n", Some((2, 0))),
        (Green, "impl~calc.py", red, "+a +b +m -n", Some((2, 1))),
        (Green, "impl~calc.py", red, "-a +b +m +n", Some((1, 2))),
        (Green, OLD_PY, red, "+a +b +m +n", None),
    ] {
        let standing = ruled(phase, changed, before, after).standing;
        assert_eq!(
            standing.map(|standing| (standing.kept, standing.reached)),
            expected,
            "{phase} {changed} {after}"
        );
    }
}

#[test]
fn red_says_what_green_owes() {
    for (changed, before, after, targets) in [
        (OLD_PY, "+a", "+a -n +m", "tests/test_a.py::n"),
        (OLD_PY, "+a +b", "-a +b", "tests/test_a.py::a"),
        (NEW_PY, "+a", "+a load:tests/test_n.py", ""),
        (OLD_PY, "+a +tests/test_b.py::b", "load:tests/test_a.py", "tests/test_a.py::a"),
        (
            "test~tests/it.rs",
            "+roman/tests/it::x +roman::y",
            "+roman::y load:tests/it.rs",
            "roman/tests/it::x",
        ),
        ("mixed~src/lib.rs", "+roman::y", "load:src/lib.rs", ""),
    ] {
        assert_eq!(
            ruled(Red, changed, before, after).targets.join(" "),
            targets,
            "{changed} {after}"
        );
    }
}

#[test]
fn a_broken_file_hides_its_own_tests_and_the_doubtful() {
    for (broken, changed, test_word, hidden) in [
        ("tests/test_x.py", "", "+tests/test_x.py::test_a[1-2]", true),
        ("tests/test_x.py", "", "+tests/test_xy.py::test_a", false),
        ("tests/new.rs", "test+tests/new.rs", "+roman/tests/new::one", true),
        (
            "crates/roman/tests/new.rs",
            "test+crates/roman/tests/new.rs",
            "+roman/tests/new::one",
            true,
        ),
        ("tests/new.rs", "test+tests/new.rs", "+roman/tests/renew::one", false),
        ("tests/new.rs", "test+tests/new.rs", "+roman/tests/old::one", false),
        ("tests/new.rs", "test+tests/new.rs", "+roman::tests::one", false),
        ("tests/new.rs", "test+tests/new.rs test~tests/old.rs", "+roman/tests/old::one", true),
        ("tests/old.rs", "test~tests/old.rs", "+roman/tests/other::one", true),
        ("src/tests.rs", "test+src/tests.rs", "+roman::tests::one", true),
        ("src/lib.rs", "mixed~src/lib.rs", "+roman/tests/old::one", true),
        ("?", "", "+tests/test_x.py::test_a", true),
    ] {
        let report = report(&format!("load:{broken}"));
        let errors: Vec<&LoadError> = report.load_errors.iter().collect();
        assert_eq!(
            hidden_by(&errors, &change(changed), &test(test_word)),
            hidden,
            "{broken} {changed} {test_word}"
        );
    }
}

#[test]
fn a_suite_that_never_loads_proves_nothing_unless_an_accepted_red_explains_it() {
    let change = change("impl~calc.py");
    let after = report("load:tests/test_n.py");
    for (owed, code) in [(false, Code::RunnerBroken), (true, Code::RefactorKept)] {
        let mut before = report("load:tests/test_n.py");
        if owed {
            before.owed = before.load_errors.clone();
        }
        let evidence = Evidence { change: &change, before: &before, after: &after, targets: &[] };
        assert_eq!(judge(Refactor, evidence).reasons[0].code, code, "owed: {owed}");
    }
}

#[test]
fn what_could_not_be_seen_is_carried_on() {
    let carried = carry(
        &report("+a +b -c load:tests/old.py"),
        &report("+a load:tests/old.py load:tests/test_n.py"),
    );
    let statuses: Vec<_> = carried.statuses().into_iter().collect();
    assert_eq!(
        statuses,
        [
            ("tests/test_a.py::a", Status::Passed),
            ("tests/test_a.py::b", Status::Passed),
            ("tests/test_a.py::c", Status::Failed)
        ]
    );
    assert_eq!(carried.load_errors.len(), 1, "what the new test broke excuses nothing");
    assert_eq!(
        carried.owed[0].file.as_deref(),
        Some("tests/test_n.py"),
        "and is told to who has to mend it"
    );
    for (before, after, outcome) in [
        ("+a", "+a -n", Outcome::Passed),
        ("+a -b", "+a -b -n", Outcome::Failed),
        ("+a exit=1", "+a -n", Outcome::Errored),
        ("-a", "+a", Outcome::Passed),
    ] {
        assert_eq!(carry(&report(before), &report(after)).outcome, outcome, "{before} -> {after}");
    }
}

#[test]
fn a_great_suite_is_judged_in_one_go() {
    const TESTS: usize = 20_000;
    let words = |mark: &str, new: &str| -> String {
        let old = (0..TESTS).map(|number| format!("{mark}t{number} "));
        old.chain((0..TESTS).map(|number| format!("{new}n{number} "))).collect()
    };
    let (before, red, green) =
        (report(&words("+", "?")), report(&words("+", "-")), report(&words("+", "+")));
    let tests = change(OLD_PY);
    let verdict =
        judge(Red, Evidence { change: &tests, before: &before, after: &red, targets: &[] });
    assert_eq!((verdict.targets.len(), verdict.reasons.len()), (TESTS, REASONS_MAX));
    let code = change("impl~calc.py");
    let before = carry(&before, &red);
    let verdict = judge(
        Green,
        Evidence { change: &code, before: &before, after: &green, targets: &verdict.targets },
    );
    assert_eq!(told(&verdict), "accepted green.passes");
    let verdict =
        judge(Refactor, Evidence { change: &code, before: &green, after: &red, targets: &[] });
    assert_eq!(verdict.reasons.len(), REASONS_MAX);
    assert!(verdict.reasons[REASONS_MAX - 1].sentence.ends_with("(and 19988 more)"));
}

#[test]
fn the_deciding_line_shows_what_was_compared() {
    for (message, line) in [
        (
            "assertion `left == right` failed\n  left: 3\n right: 4\n",
            "assertion `left == right` failed (left: 3, right: 4)",
        ),
        ("assert 3 == 4\n +  where 3 = add(1, 2)", "assert 3 == 4"),
        ("\n\n", "no message"),
    ] {
        assert_eq!(first_line(message), line);
    }
}

#[test]
fn an_exit_code_alone_rules_as_far_as_it_can_and_says_so() {
    let command = Command::new("make test", None, None).unwrap();
    let ended =
        |code: i32| command.parse(&Capture { exit: Exit::Code(code), ..Capture::default() });
    let id = ["exit code only: make test".to_owned()];
    for (phase, changed, before, after, targets, expected) in [
        (Red, NEW_PY, 0, 2, &[][..], "accepted red.error"),
        (Red, NEW_PY, 0, 0, &[], "refused red.no_tests"),
        (Red, "impl~calc.py", 0, 2, &[], "refused red.touches_implementation red.others_fail"),
        (Red, NEW_PY, 2, 2, &[], "refused red.no_tests"),
        (Green, "impl~calc.py", 2, 0, &id, "accepted green.passes"),
        (Green, "impl~calc.py", 2, 1, &id, "refused green.still_failing"),
        (Green, OLD_PY, 2, 0, &id, "refused green.tests_changed"),
        (Refactor, "impl~calc.py", 0, 0, &[], "accepted refactor.kept"),
        (Refactor, "impl~calc.py", 0, 1, &[], "refused refactor.regression"),
    ] {
        let (change, before, after) = (change(changed), ended(before), ended(after));
        let verdict =
            judge(phase, Evidence { change: &change, before: &before, after: &after, targets });
        assert_eq!(told(&verdict), expected, "{phase} {changed}");
        assert!(
            verdict.reasons.iter().all(|reason| reason.sentence.contains("exit code only")),
            "{verdict:?}"
        );
    }
}

#[test]
fn a_subtest_that_passes_is_reported_as_its_test() {
    let shown = |words: &[(&str, Status)]| {
        let mut report = report("");
        report.tests.extend(words.iter().map(|(id, status)| Test::new(*id, *status)));
        report
    };
    let before = shown(&[]);
    let targets = ["a.T.test_x (n=1)", "a.T.test_x (n=2)"].map(str::to_owned);
    let change = change("impl~calc.py");
    for (after, expected) in [
        (shown(&[("a.T.test_x", Status::Passed)]), "accepted green.passes"),
        (shown(&[("a.T.test_y", Status::Passed)]), "refused green.tests_vanished"),
        (shown(&[("a.T.test_x", Status::Skipped)]), "refused green.newly_skipped"),
    ] {
        let verdict = judge(
            Green,
            Evidence { change: &change, before: &before, after: &after, targets: &targets },
        );
        assert_eq!(told(&verdict), expected);
    }
}
