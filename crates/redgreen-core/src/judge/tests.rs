//! Tables for the order of the rules: which experiments a case requests, and the verdict. Nothing
//! is run.

use super::*;
use crate::change::{ChangedPath, Class, Kind};
use crate::report::{Exit, LoadError, LoadErrorKind, Stage, Test};

/// `+id` passed, `-id` failed.
fn report(words: &str) -> Report {
    let test = |word: &str| {
        let (status, id) = word.split_at(1);
        let status = if status == "+" { Status::Passed } else { Status::Failed };
        Test { file: id.split("::").next().map(str::to_owned), ..Test::new(id, status) }
    };
    let tests: Vec<Test> = words.split_whitespace().map(test).collect();
    let failed = tests.iter().any(|test| test.status.is_failure());
    Report {
        exit: Exit::Code(i32::from(failed)),
        finished: true,
        outcome: if failed { Outcome::Failed } else { Outcome::Passed },
        tests,
        ..Report::default()
    }
}

const TEST: &str = "tests/test_roman.py";
const CODE: &str = "roman.py";

/// A case that adds a test of `to_roman` (RED), writes its code (GREEN) or changes the code
/// (REFACTOR).
struct Row {
    phase: JudgedPhase,
    before: Option<&'static str>,
    targets: &'static [&'static str],
    facts: Vec<Reason>,
    /// A changed file that configures the test runner.
    config: Option<&'static str>,
    /// The result of each experiment, by its question. The last result of a question also applies
    /// to all later ones.
    shows: &'static [(&'static str, &'static str)],
}

fn name(experiment: &Experiment) -> String {
    let tree = match experiment.tree {
        Tree::Base => "base",
        Tree::Earlier => "earlier",
        Tree::Head => "head",
        Tree::AsIs => "as-is",
    };
    format!("{:?}@{tree}", experiment.question)
}

/// The experiments in order, and the verdict.
fn play(row: &Row) -> (Vec<String>, Verdict) {
    let test =
        "from roman import to_roman\n\n\ndef test_four():\n    assert to_roman(4) == \"IV\"\n";
    let (old, new) =
        ("def to_roman(n):\n    return \"\"\n", "def to_roman(n):\n    return \"I\" * n\n");
    let path =
        |path: &str, class| ChangedPath { path: path.to_owned(), kind: Kind::Modified, class };
    let change = match row.phase {
        JudgedPhase::Red => {
            Change { paths: vec![ChangedPath { kind: Kind::Added, ..path(TEST, Class::Test) }] }
        }
        JudgedPhase::Green | JudgedPhase::Refactor => {
            Change { paths: vec![path(CODE, Class::Implementation)] }
        }
    };
    let mut change = change;
    change.paths.extend(row.config.map(|config| path(config, Class::RunnerConfig)));
    let is_red = row.phase == JudgedPhase::Red;
    let read_old = |path: &str| match path {
        CODE => Some(old.to_owned()),
        TEST if !is_red => Some(test.to_owned()),
        config if row.config == Some(config) => Some("old".to_owned()),
        _ => None,
    };
    let read_new = |path: &str| match path {
        CODE => Some(if is_red { old } else { new }.to_owned()),
        TEST => Some(test.to_owned()),
        _ => None,
    };
    let paths = [CODE.to_owned(), TEST.to_owned()];
    let mut case = Case {
        phase: row.phase,
        change: &change,
        facts: row.facts.clone(),
        before: row.before.map(report),
        targets: row.before.map(|_| row.targets.iter().map(|id| (*id).to_owned()).collect()),
        has_earlier: true,
        extra: Vec::new(),
        withheld: WithheldSet::default(),
        only: Vec::new(),
        mutants_max: 1,
        paths: &paths,
        packages: &[],
        runs_files: true,
        brief: "Add to_roman(n).",
        old: &read_old,
        new: &read_new,
        seen: Vec::new(),
        plans: Plans::default(),
    };
    let mut asked = Vec::new();
    for _ in 0..100 {
        match next(&case) {
            Step::Done(ruling) => return (asked, ruling.verdict),
            Step::Run { now, .. } => {
                let name = name(&now);
                let times = asked.iter().filter(|known| **known == name).count();
                let shown: Vec<&str> = row
                    .shows
                    .iter()
                    .filter(|(known, _)| *known == name)
                    .map(|(_, words)| *words)
                    .collect();
                let words = shown.get(times).or(shown.last());
                let observation = match words {
                    Some(words) => Observation::Ran {
                        report: Box::new(report(words)),
                        log: "to_roman\n".to_owned(),
                    },
                    None => Observation::Nothing,
                };
                asked.push(name);
                apply(&mut case, *now, observation);
            }
        }
    }
    panic!("the judge asks forever: {asked:?}");
}

const FOUR: &str = "tests/test_roman.py::test_four";

#[track_caller]
fn check(row: &Row, asked: &[&str], verdict: &str) {
    let (seen, ruled) = play(row);
    assert_eq!(seen, asked);
    let code = ruled.first().map_or("", |reason| reason.code.as_str());
    assert_eq!(format!("{:?} {code}", ruled.decision), verdict, "{ruled:#?}");
}

#[test]
fn a_test_that_passes_whatever_it_expects_asks_for_nothing() {
    let row = Row {
        phase: JudgedPhase::Red,
        before: Some(""),
        targets: &[],
        facts: Vec::new(),
        config: None,
        shows: &[
            ("Suite@head", "-tests/test_roman.py::test_four"),
            ("Again@head", "-tests/test_roman.py::test_four"),
            ("Inert@head", "-tests/test_roman.py::test_four"),
            ("Lenient@head", "+tests/test_roman.py::test_four"),
        ],
    };
    check(
        &row,
        &["Suite@head", "Again@head", "Inert@head", "Lenient@head"],
        "Refused red.no_assertion",
    );
}

#[test]
fn a_red_is_repeated_and_tried_with_code_that_does_nothing() {
    let row = Row {
        phase: JudgedPhase::Red,
        before: Some(""),
        targets: &[],
        facts: Vec::new(),
        config: None,
        shows: &[
            ("Suite@head", "-tests/test_roman.py::test_four"),
            ("Again@head", "-tests/test_roman.py::test_four"),
            ("Inert@head", "-tests/test_roman.py::test_four"),
        ],
    };
    check(
        &row,
        &["Suite@head", "Again@head", "Inert@head", "Lenient@head", "Inert@head", "Inert@head"],
        "Accepted red.assertion",
    );
}

#[test]
fn what_fails_at_one_time_only_is_no_red() {
    let row = Row {
        phase: JudgedPhase::Red,
        before: Some(""),
        targets: &[],
        facts: Vec::new(),
        config: None,
        shows: &[
            ("Suite@head", "-tests/test_roman.py::test_four"),
            ("Again@head", "+tests/test_roman.py::test_four"),
        ],
    };
    check(&row, &["Suite@head", "Again@head"], "Refused red.flaky");
}

#[test]
fn a_test_that_passes_with_code_that_does_nothing_is_asked_twice() {
    let row = Row {
        phase: JudgedPhase::Red,
        before: Some(""),
        targets: &[],
        facts: Vec::new(),
        config: None,
        shows: &[
            ("Suite@head", "-tests/test_roman.py::test_four"),
            ("Again@head", "-tests/test_roman.py::test_four"),
            ("Inert@head", "+tests/test_roman.py::test_four"),
        ],
    };
    check(
        &row,
        &["Suite@head", "Again@head", "Inert@head", "Inert@head"],
        "Refused red.no_assertion",
    );
}

#[test]
fn a_green_is_tried_on_the_old_code_and_with_expectations_that_cannot_be_met() {
    let row = Row {
        phase: JudgedPhase::Green,
        before: Some("-tests/test_roman.py::test_four"),
        targets: &[FOUR],
        facts: Vec::new(),
        config: None,
        shows: &[
            ("Suite@head", "+tests/test_roman.py::test_four"),
            ("OldCode@base", "-tests/test_roman.py::test_four"),
            ("Impossible@head", "-tests/test_roman.py::test_four"),
            ("Mutant@head", "-tests/test_roman.py::test_four"),
        ],
    };
    let asked = [
        "Suite@head",
        "OldCode@base",
        "Impossible@head",
        "Impossible@head",
        "Contents@head",
        "Calls@head",
        "Calls@head",
        "Mutant@head",
    ];
    check(&row, &asked, "Accepted green.passes");
}

#[test]
fn tests_that_pass_only_after_others_are_tried_alone_more_than_once() {
    let row = |alone: &'static [(&'static str, &'static str)]| Row {
        phase: JudgedPhase::Green,
        before: Some("-tests/test_roman.py::test_one -tests/test_roman.py::test_four"),
        targets: &["tests/test_roman.py::test_one", FOUR],
        facts: Vec::new(),
        config: None,
        shows: alone,
    };
    let usual = [
        "Suite@head",
        "OldCode@base",
        "Impossible@head",
        "Impossible@head",
        "Contents@head",
        "Calls@head",
        "Calls@head",
        "Order@head",
        "Order@head",
        "Mutant@head",
    ];
    let and = |more: &[&'static str]| usual.iter().chain(more).copied().collect::<Vec<_>>();
    const SUITE: (&str, &str) =
        ("Suite@head", "+tests/test_roman.py::test_one +tests/test_roman.py::test_four");
    const OLD: (&str, &str) =
        ("OldCode@base", "-tests/test_roman.py::test_one -tests/test_roman.py::test_four");
    const UNMET: (&str, &str) = ("Impossible@head", "-tests/test_roman.py::test_four");
    const MUTANT: (&str, &str) = ("Mutant@head", "-tests/test_roman.py::test_four");
    let honest =
        row(&[SUITE, OLD, UNMET, MUTANT, ("Order@head", "+tests/test_roman.py::test_four")]);
    check(&honest, &and(&[]), "Accepted green.passes");
    let counting =
        row(&[SUITE, OLD, UNMET, MUTANT, ("Order@head", "-tests/test_roman.py::test_four")]);
    check(&counting, &and(&["Order@head", "Order@head"]), "Undecided green.suspicious");
    let flaky = row(&[
        SUITE,
        OLD,
        UNMET,
        MUTANT,
        ("Order@head", "-tests/test_roman.py::test_four"),
        ("Order@head", "+tests/test_roman.py::test_four"),
    ]);
    check(&flaky, &and(&["Order@head", "Order@head"]), "Accepted green.passes");
}

#[test]
fn a_test_that_passes_on_the_old_code_decides_at_once() {
    let row = Row {
        phase: JudgedPhase::Green,
        before: Some("-tests/test_roman.py::test_four"),
        targets: &[FOUR],
        facts: Vec::new(),
        config: None,
        shows: &[
            ("Suite@head", "+tests/test_roman.py::test_four"),
            ("OldCode@base", "+tests/test_roman.py::test_four"),
        ],
    };
    check(&row, &["Suite@head", "OldCode@base"], "Refused green.not_discriminating");
}

#[test]
fn where_nobody_remembers_the_base_and_what_was_before_it_are_run() {
    let row = Row {
        phase: JudgedPhase::Green,
        before: None,
        targets: &[],
        facts: Vec::new(),
        config: None,
        shows: &[
            ("Suite@base", "-tests/test_roman.py::test_four +tests/test_roman.py::test_one"),
            ("Suite@earlier", "+tests/test_roman.py::test_one"),
            ("Suite@head", "-tests/test_roman.py::test_four +tests/test_roman.py::test_one"),
        ],
    };
    check(&row, &["Suite@base", "Suite@earlier", "Suite@head"], "Refused green.still_failing");
}

#[test]
fn an_old_test_that_breaks_is_tried_again_before_it_is_blamed() {
    let old = "+tests/test_roman.py::test_one -tests/test_roman.py::test_four";
    let shows: &[(&str, &str)] = &[
        ("Suite@head", "-tests/test_roman.py::test_one +tests/test_roman.py::test_four"),
        ("Again@head", "-tests/test_roman.py::test_one +tests/test_roman.py::test_four"),
    ];
    let row = Row {
        phase: JudgedPhase::Green,
        before: Some(old),
        targets: &[FOUR],
        facts: Vec::new(),
        config: None,
        shows,
    };
    let asked =
        ["Suite@head", "Again@head", "Again@head", "Again@head", "Again@head", "Again@head"];
    check(&row, &asked, "Refused green.regression");
}

#[test]
fn a_fact_of_the_trees_refuses_whatever_the_tests_say() {
    let row = Row {
        phase: JudgedPhase::Green,
        before: Some("-tests/test_roman.py::test_four"),
        targets: &[FOUR],
        facts: vec![Reason::plain(Code::EnvironmentPlanted)],
        config: None,
        shows: &[("Suite@head", "+tests/test_roman.py::test_four")],
    };
    check(&row, &["Suite@head"], "Refused environment.planted");
}

#[test]
fn a_refactoring_calls_the_code_on_both_trees() {
    let row = Row {
        phase: JudgedPhase::Refactor,
        before: Some("+tests/test_roman.py::test_four"),
        targets: &[],
        facts: Vec::new(),
        config: None,
        shows: &[
            ("Suite@head", "+tests/test_roman.py::test_four"),
            ("Calls@base", "+tests/test_roman.py::test_four"),
        ],
    };
    // The old tests are recorded, and the calls they make are repeated on both trees.
    check(
        &row,
        &["Suite@head", "Calls@base", "Calls@base", "Calls@head"],
        "Accepted refactor.kept",
    );
}

#[test]
fn where_watching_disturbs_the_tests_nothing_is_called() {
    let row = Row {
        phase: JudgedPhase::Refactor,
        before: Some("+tests/test_roman.py::test_four"),
        targets: &[],
        facts: Vec::new(),
        config: None,
        shows: &[
            ("Suite@head", "+tests/test_roman.py::test_four"),
            ("Calls@base", "-tests/test_roman.py::test_four"),
        ],
    };
    check(&row, &["Suite@head", "Calls@base"], "Accepted refactor.kept");
}

/// Checks the targets of a RED that changes a file with an old test so that it does not load.
#[track_caller]
fn is_about(new: &str, targets: &[&str], unloaded: &[&str]) {
    const OLD: &str =
        "from roman import to_roman\n\n\ndef test_one():\n    assert to_roman(1) == \"I\"\n";
    let change = Change {
        paths: vec![ChangedPath {
            path: TEST.to_owned(),
            kind: Kind::Modified,
            class: Class::Test,
        }],
    };
    let (old, new) = (
        |path: &str| (path == TEST).then(|| OLD.to_owned()),
        |path: &str| (path == TEST).then(|| new.to_owned()),
    );
    let error = LoadError {
        stage: Stage::Collect,
        file: Some(TEST.to_owned()),
        line: Some(1),
        kind: LoadErrorKind::MissingSymbol,
        code: None,
        message: "ImportError: cannot import name 'from_roman'".to_owned(),
    };
    let unread = Report {
        exit: Exit::Code(2),
        finished: true,
        outcome: Outcome::DidNotCompile,
        load_errors: vec![error],
        ..Report::default()
    };
    let paths = [TEST.to_owned()];
    let mut case = Case {
        phase: JudgedPhase::Red,
        change: &change,
        facts: Vec::new(),
        before: Some(report("+tests/test_roman.py::test_one")),
        targets: Some(Vec::new()),
        has_earlier: false,
        extra: Vec::new(),
        withheld: WithheldSet::default(),
        only: Vec::new(),
        mutants_max: 0,
        paths: &paths,
        packages: &[],
        runs_files: true,
        brief: "Add from_roman(text).",
        old: &old,
        new: &new,
        seen: Vec::new(),
        plans: Plans::default(),
    };
    for _ in 0..20 {
        match next(&case) {
            Step::Done(ruling) => {
                assert_eq!(ruling.verdict.decision, Decision::Accepted, "{:#?}", ruling.verdict);
                assert_eq!(
                    (ruling.verdict.targets, ruling.verdict.unloaded),
                    (words(targets), words(unloaded))
                );
                return;
            }
            Step::Run { now, .. } => {
                let observation =
                    Observation::Ran { report: Box::new(unread.clone()), log: String::new() };
                apply(&mut case, *now, observation);
            }
        }
    }
    panic!("the judge asks forever");
}

fn words(words: &[&str]) -> Vec<String> {
    words.iter().map(|word| (*word).to_owned()).collect()
}

#[test]
fn a_red_that_does_not_load_is_about_what_it_wrote() {
    const ONE: &str = "def test_one():\n    assert to_roman(1) == \"I\"\n";
    let file = |rest: &str| format!("from roman import from_roman, to_roman\n\n\n{rest}");
    let four = "\n\ndef test_four():\n    assert from_roman(\"IV\") == 4\n";
    is_about(&file(&format!("{ONE}{four}")), &[], &["test_four of tests/test_roman.py"]);
    let changed = "def test_one():\n    assert from_roman(\"I\") == 1\n";
    is_about(
        &file(changed),
        &["tests/test_roman.py::test_one"],
        &["test_one of tests/test_roman.py"],
    );
    is_about(&file(ONE), &["tests/test_roman.py::test_one"], &[]);
}

/// Runner settings may change together with the code only if they change no result.
#[test]
fn changed_settings_are_tried_against_the_old_ones() {
    let row = |phase, config, shown: &'static [(&'static str, &'static str)]| Row {
        phase,
        before: Some(if phase == JudgedPhase::Green {
            "-tests/test_roman.py::test_four"
        } else {
            "+tests/test_roman.py::test_four"
        }),
        targets: if phase == JudgedPhase::Green { &[FOUR] } else { &[] },
        facts: Vec::new(),
        config: Some(config),
        shows: shown,
    };
    const SAME: &[(&str, &str)] = &[
        ("Suite@head", "+tests/test_roman.py::test_four"),
        ("Configuration@head", "+tests/test_roman.py::test_four"),
    ];
    const FAILS: &[(&str, &str)] = &[
        ("Suite@head", "+tests/test_roman.py::test_four"),
        ("Configuration@head", "-tests/test_roman.py::test_four"),
    ];
    const MORE: &[(&str, &str)] = &[
        ("Suite@head", "+tests/test_roman.py::test_four"),
        ("Configuration@head", "+tests/test_roman.py::test_four +tests/test_old.py::test_one"),
    ];
    const BROKEN: &[(&str, &str)] = &[("Suite@head", "-tests/test_roman.py::test_four")];
    for (phase, config, shown, tried, code) in [
        (JudgedPhase::Green, "tsconfig.json", SAME, true, "green.passes"),
        (JudgedPhase::Refactor, "tsconfig.json", SAME, true, "refactor.kept"),
        (JudgedPhase::Green, "pytest.ini", FAILS, true, "green.config_changed"),
        (JudgedPhase::Refactor, "pytest.ini", MORE, true, "refactor.config_changed"),
        // Code that the runner loads, and redgreen's own settings.
        (JudgedPhase::Green, "conftest.py", SAME, false, "green.config_changed"),
        (JudgedPhase::Green, "redgreen.toml", SAME, false, "green.config_changed"),
        // The settings are not the only problem.
        (JudgedPhase::Green, "pytest.ini", BROKEN, false, "green.config_changed"),
    ] {
        let (asked, verdict) = play(&row(phase, config, shown));
        assert_eq!(
            asked.iter().any(|name| name == "Configuration@head"),
            tried,
            "{config}: {asked:?}"
        );
        assert_eq!(verdict.first().unwrap().code.as_str(), code, "{config}: {verdict:#?}");
        let noted = verdict.notes.iter().any(|note| note.contains(config));
        assert_eq!(noted, tried && verdict.decision == Decision::Accepted, "{:?}", verdict.notes);
    }
}
