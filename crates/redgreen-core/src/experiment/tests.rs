//! Tables for the controls: how each is built, and how its run is interpreted.

mod built;
mod documented;
mod expectations;
mod oracle;
mod reasons;
mod replaced;
mod reworked_tests;

use super::*;
use crate::change::ChangedPath;
use crate::report::Exit;
use crate::report::{LoadError, LoadErrorKind, Status};
use crate::syntax::Pick;
use crate::verdict::Code;

/// Two trees, and the brief and target tests that go with them. Files are `(path, text)`.
#[derive(Default)]
struct Scene<'a> {
    before: &'a [(&'a str, &'a str)],
    now: &'a [(&'a str, &'a str)],
    brief: &'a str,
    targets: &'a [&'a str],
}

impl Scene<'_> {
    fn ask<T>(&self, phase: JudgedPhase, question: impl FnOnce(&Material<'_>) -> T) -> T {
        let text = |files: &[(&str, &str)], path: &str| {
            files.iter().find(|(known, _)| *known == path).map(|(_, text)| (*text).to_owned())
        };
        let (before, now) =
            (|path: &str| text(self.before, path), |path: &str| text(self.now, path));
        let mut paths: Vec<&str> =
            self.before.iter().chain(self.now).map(|(path, _)| *path).collect();
        paths.sort_unstable();
        paths.dedup();
        let changed =
            paths.iter().filter(|path| before(path) != now(path)).map(|path| ChangedPath {
                path: (*path).to_owned(),
                kind: match (before(path), now(path)) {
                    (None, _) => Kind::Added,
                    (_, None) => Kind::Deleted,
                    (Some(_), Some(_)) => Kind::Modified,
                },
                class: match (path.contains("test"), path.ends_with(".rs")) {
                    (true, _) => Class::Test,
                    (false, true) => Class::Mixed,
                    (false, false) => Class::Implementation,
                },
            });
        let change = Change { paths: changed.collect() };
        let paths: Vec<String> = self.now.iter().map(|(path, _)| (*path).to_owned()).collect();
        let targets: Vec<String> = self.targets.iter().map(|id| (*id).to_owned()).collect();
        let packages = [Package { name: "roman".to_owned(), folder: String::new() }];
        let after = report(&self.targets.iter().map(|id| format!("+{id}")).collect::<Vec<_>>());
        question(&Material {
            phase,
            change: &change,
            after: &after,
            targets: &targets,
            paths: &paths,
            packages: &packages,
            brief: self.brief,
            before: &before,
            now: &now,
        })
    }
}

/// `+id` passes and `-id` fails.
fn report<S: AsRef<str>>(tests: &[S]) -> Report {
    let mut report = Report { finished: true, ..Report::default() };
    for test in tests {
        let (mark, id) = test.as_ref().split_at(1);
        let status = if mark == "+" { Status::Passed } else { Status::Failed };
        let file = id
            .split_once("::")
            .map(|(file, _)| file.to_owned())
            .filter(|file| file.ends_with(".py"));
        report.tests.push(Test { file, ..Test::new(id, status) });
    }
    let red = report.tests.iter().any(|test| test.status.is_failure());
    report.exit = Exit::Code(i32::from(red));
    report.conclude();
    report
}

fn missing(file: &str, message: &str) -> LoadError {
    LoadError {
        stage: crate::report::Stage::Build,
        file: Some(file.to_owned()),
        line: None,
        kind: LoadErrorKind::MissingSymbol,
        code: None,
        message: message.to_owned(),
    }
}

fn observed(report: &Report, log: &str) -> Observation {
    Observation::Ran { report: Box::new(report.clone()), log: log.to_owned() }
}

fn control(question: Question, about: &[(&str, &str)], what: &str) -> Experiment {
    let about = about
        .iter()
        .map(|(file, item)| About { file: (*file).to_owned(), item: (*item).to_owned() });
    Experiment {
        question,
        tree: Tree::Head,
        edits: Vec::new(),
        way: Method::Tests(Selection::All),
        removed: Vec::new(),
        time: 0,
        variables: Vec::new(),
        about: about.collect(),
        what: what.to_owned(),
        otherwise: None,
    }
}

fn shown(answer: &Answer) -> String {
    let told = |word: &str, reasons: &[Reason]| {
        let reasons: Vec<String> = reasons
            .iter()
            .map(|reason| {
                format!("{} {}", reason.code.as_str(), reason.test.as_deref().unwrap_or("-"))
            })
            .collect();
        format!("{word}: {}", reasons.join(", "))
    };
    match answer {
        Answer::Right => "right".to_owned(),
        Answer::Wrong(reasons) => told("wrong", reasons),
        Answer::Ask(reasons) => told("ask", reasons),
        Answer::Unnoticed(what) => format!("unnoticed: {what}"),
        Answer::Unknown(what) => format!("unknown: {what}"),
    }
}

#[test]
fn what_a_run_says_of_the_suite() {
    const A: &str = "tests/test_a.py::a";
    const B: &str = "tests/test_a.py::b";
    let about = [("tests/test_a.py", "a"), ("tests/test_a.py", "b")];
    for (question, what, ran, calls, expected) in [
        (Question::Again, "", vec!["-a", "-b"], "", "right".to_owned()),
        (Question::Again, "", vec!["-a", "+b"], "", format!("wrong: red.flaky {B}")),
        (Question::Recording, "", vec!["+a", "-b"], "", "right".to_owned()),
        (Question::Recording, "", vec!["+a", "+b"], "", format!("wrong: red.passes {A}")),
        (Question::Inert, "", vec!["-a", "+b"], "f", "right".to_owned()),
        (Question::Inert, "", vec!["+a", "+b"], "f", format!("wrong: red.no_assertion {A}")),
        (Question::Inert, "", vec!["-a", "-b"], "\n", format!("wrong: red.no_call {A}")),
        (Question::Inert, stand_in::EVERYTHING, vec!["-a"], "", format!("ask: red.no_call {A}")),
        (Question::Inert, "stubs", vec!["-c"], "f", "unknown: stubs".to_owned()),
        (Question::OldCode, "", vec!["-a", "+b"], "", "right".to_owned()),
        (
            Question::OldCode,
            "",
            vec!["+a", "+b"],
            "",
            format!("wrong: green.not_discriminating {A}"),
        ),
        (Question::Impossible, "", vec!["-a", "-b"], "", "right".to_owned()),
        (
            Question::Impossible,
            "",
            vec!["-a", "+b"],
            "",
            format!("wrong: green.not_discriminating {B}"),
        ),
        (Question::Impossible, "", vec!["-a[1]", "+a[2]", "-b"], "", "right".to_owned()),
        // None of the tests ran, so there is no answer.
        (Question::OldCode, "", vec![], "", "ask: green.suspicious -".to_owned()),
        (Question::Impossible, "", vec!["+c"], "", "ask: green.suspicious -".to_owned()),
        (Question::Mutant, "< became >", vec![], "", "ask: green.suspicious -".to_owned()),
        (Question::Exceptions, "", vec!["+a", "-b"], "", "right".to_owned()),
        (Question::Exceptions, "", vec!["+a", "+b"], "", "ask: green.suspicious -".to_owned()),
        (Question::Mutant, "< became >", vec!["-a", "+b"], "", "right".to_owned()),
        (Question::Mutant, "< became >", vec!["+a", "+b"], "", "unnoticed: < became >".to_owned()),
    ] {
        let ids = ran.iter().map(|test| format!("{}tests/test_a.py::{}", &test[..1], &test[1..]));
        let ran_report = report(&ids.collect::<Vec<_>>());
        let scene = Scene { targets: &[A, B], ..Scene::default() };
        let phase = if matches!(question, Question::OldCode | Question::Impossible) {
            JudgedPhase::Green
        } else {
            JudgedPhase::Red
        };
        let answer = scene.ask(phase, |material| {
            control(question, &about, what).weigh(material, &observed(&ran_report, calls))
        });
        assert_eq!(shown(&answer), expected, "{question:?} {ran:?}");
    }
}

#[test]
fn what_does_not_load_with_stand_ins_is_missing_or_foreign() {
    for (file, message, expected) in [
        ("tests/test_a.py", "No module named 'numpi'", "wrong: red.unrelated_symbol -"),
        (
            "tests/a.rs",
            "unresolved import `chrono`: use of unresolved module or unlinked crate `chrono`",
            "wrong: red.unrelated_symbol -",
        ),
        (
            "a_test.go",
            "no required module provides package github.com/nobody/nothing; to add it:",
            "wrong: red.unrelated_symbol -",
        ),
        (
            "a_test.go",
            "no required module provides package roman/sub; to add it:",
            "unknown: stubs",
        ),
        ("a_test.go", "undefined: Title", "unknown: stubs"),
        (
            "a_test.go",
            "invalid argument: got (variable of type interface{}) for len",
            "unknown: stubs",
        ),
        ("src/lib.rs", "use of unresolved module or unlinked crate `basket`", "unknown: stubs"),
        ("tests/a.rs", "no method named `pop` found for struct `Queue`", "unknown: stubs"),
        (
            "tests/a.rs",
            "unresolved import `roman::basket`: could not find `basket` in `roman`",
            "unknown: stubs",
        ),
    ] {
        let broken = Report { load_errors: vec![missing(file, message)], ..report::<&str>(&[]) };
        let scene = Scene { brief: "Add a basket", ..Scene::default() };
        let answer = scene.ask(JudgedPhase::Red, |material| {
            let material = Material { after: &broken, ..*material };
            control(Question::Inert, &[(file, "a")], "stubs")
                .weigh(&material, &observed(&broken, ""))
        });
        assert_eq!(shown(&answer), expected, "{message}");
    }
}

#[test]
fn wrong_is_what_is_wrong_both_times() {
    let wrong = |tests: &[&str]| {
        Answer::Wrong(
            tests
                .iter()
                .map(|test| Reason::plain(Code::GreenNotDiscriminating).test(test))
                .collect(),
        )
    };
    for (one, other, expected) in [
        (wrong(&["a", "b"]), wrong(&["b", "c"]), wrong(&["b"])),
        (wrong(&["a"]), wrong(&["b"]), Answer::Right),
        (wrong(&["a"]), Answer::Right, Answer::Right),
        (wrong(&["a"]), Answer::Unknown("b".to_owned()), wrong(&["a"])),
        (Answer::Right, wrong(&["a"]), Answer::Right),
    ] {
        assert_eq!(one.and(other), expected);
    }
}

#[test]
fn results_belong_to_items() {
    for (file, item, id, known_file, expected) in [
        ("tests/test_a.py", "test_one", "tests/test_a.py::test_one", Some("tests/test_a.py"), true),
        (
            "tests/test_a.py",
            "test_one",
            "tests/test_a.py::test_one[a-1]",
            Some("tests/test_a.py"),
            true,
        ),
        (
            "tests/test_a.py",
            "test_one",
            "tests/test_a.py::T::test_one",
            Some("tests/test_a.py"),
            true,
        ),
        (
            "tests/test_a.py",
            "test_one",
            "tests/test_a.py::also_test_one",
            Some("tests/test_a.py"),
            false,
        ),
        (
            "tests/test_a.py",
            "test_one",
            "tests/test_b.py::test_one",
            Some("tests/test_b.py"),
            false,
        ),
        ("src/lib.rs", "tests::four", "roman::tests::four", None, true),
        ("src/lib.rs", "tests::four", "roman::tests::fourteen", None, false),
        ("tests/roman.rs", "four", "roman/tests/roman::four", None, true),
        ("src/lib.rs", "to_roman::(doc)", "roman/doc::src/lib.rs - to_roman", None, true),
        ("src/lib.rs", "to_roman::(doc)", "roman/doc::src/lib.rs - to_roman #2", None, true),
        ("src/lib.rs", "to_roman::(doc)", "roman/doc::src/lib.rs - from_roman", None, false),
        ("a.test.ts", "roman > four", "a.test.ts > roman > four", Some("a.test.ts"), true),
        ("a.test.ts", "four", "b.test.ts > four", Some("b.test.ts"), false),
        (
            "a.test.ts",
            "wrap > wraps %j at %i",
            "a.test.ts > wrap > wraps \"a\" at 5",
            Some("a.test.ts"),
            true,
        ),
        (
            "a.test.ts",
            "$n minutes > are ${words}",
            "a.test.ts > 5 minutes > are [five]",
            Some("a.test.ts"),
            true,
        ),
        ("a.test.ts", "wraps %j at %i", "a.test.ts > wraps nothing", Some("a.test.ts"), false),
    ] {
        let about = About { file: file.to_owned(), item: item.to_owned() };
        let test = Test { file: known_file.map(str::to_owned), ..Test::new(id, Status::Passed) };
        assert_eq!(about.is(&test), expected, "{item} of {file}, {id}");
    }
}

#[test]
fn a_stand_in_can_be_loaded_as_the_test_loads_the_module() {
    for (source, expected) in [
        ("const { f } = require(\"../src/a.js\");", "module.exports.f"),
        ("import { f } from \"../src/a.js\";", "export const f"),
    ] {
        let scene = Scene { now: &[("tests/a.test.js", source)], ..Scene::default() };
        let texts = scene.ask(JudgedPhase::Red, |material| {
            stand_in::stand_ins(material, &["tests/a.test.js".to_owned()]).0
        });
        assert!(texts.len() == 1 && texts[0].1.contains(expected), "{source}: {texts:?}");
    }
}

#[test]
fn stand_ins_are_put_where_a_module_will_be() {
    const NONE: &[&str] = &[];
    const FLAT: &[&str] = &["shop/__init__.py"];
    const SLUG: &[&str] = &["shop/__init__.py", "shop/slug.py"];
    for (others, test, source, brief, expected) in [
        (FLAT, "tests/test_a.py", "from shop.basket import Basket", "", &["shop/basket.py"][..]),
        (
            &["src/shop/__init__.py"][..],
            "tests/test_a.py",
            "import shop.basket",
            "",
            &["src/shop/basket.py"],
        ),
        (
            &["services/b/shop/__init__.py"],
            "services/b/tests/test_a.py",
            "from shop.basket import Basket",
            "",
            &["services/b/shop/basket.py"],
        ),
        (NONE, "tests/test_a.py", "from basket import Basket", "", &["basket.py"]),
        (NONE, "tests/test_a.py", "import basket", "", &[]),
        (NONE, "tests/test_a.py", "from pytest import Basket", "pytest", &[]),
        (FLAT, "tests/test_a.py", "from basket import Basket", "", &[]),
        (NONE, "tests/test_a.py", "import basket", "Add a basket", &["basket.py"]),
        (FLAT, "tests/test_a.py", "import basket", "Add a basket", &["basket.py"]),
        (FLAT, "tests/test_a.py", "from datetime import date", "tell the date and time", &[]),
        (FLAT, "shop/tests/test_a.py", "from ..basket import Basket", "", &["shop/basket.py"]),
        (NONE, "tests/a.test.ts", "import { f } from \"../src/a\";", "", &["src/a.ts"]),
        (NONE, "tests/a.test.ts", "import { f } from \"../src/a.js\";", "", &["src/a.ts"]),
        (NONE, "tests/a.test.js", "import { f } from \"../src/a.js\";", "", &["src/a.js"]),
        (NONE, "tests/a.test.ts", "import { f } from \"elsewhere\";", "", &[]),
        (NONE, "tests/a.rs", "use roman::to_roman;", "", &[]),
        (SLUG, "tests/test_a.py", "from shopp.slug import slug", "Add wrap to shop", &[]),
        (SLUG, "tests/test_a.py", "from shop.slugs import many", "", &["shop/slugs.py"]),
    ] {
        let mut now: Vec<(&str, &str)> =
            others.iter().map(|path| (*path, "def slug(): ...\n")).collect();
        now.push((test, source));
        let scene = Scene { now: &now, brief, ..Scene::default() };
        let planned = scene.ask(JudgedPhase::Red, |material| {
            let after = Report {
                load_errors: vec![missing(test, "No module named 'basket'")],
                ..report::<&str>(&[])
            };
            let (stand_ins, what) =
                stand_in::stand_ins(&Material { after: &after, ..*material }, &[test.to_owned()]);
            stand_ins
                .into_iter()
                .filter(|_| what != stand_in::EVERYTHING)
                .map(|(path, _)| path)
                .collect::<Vec<_>>()
        });
        assert_eq!(planned, expected, "{source} in {test}");
    }
}

/// The experiment that changes every expectation of the file.
fn everything_changed(material: &Material<'_>, path: &str, pick: Pick) -> Experiment {
    let first = impossible::impossible(material, &[path.to_owned()]).into_iter().next().unwrap();
    match pick {
        Pick::Last => first,
        Pick::First => *first.otherwise.unwrap(),
    }
}

#[test]
fn a_question_is_asked_once() {
    const ONE: &str = "def test_a():\n    assert f(1) == 2\n";
    const TWO: &str = "def test_a():\n    assert f(1) == 2\n    assert f(2) == 3\n";
    for (source, expected) in [(ONE, 1), (TWO, 2)] {
        let scene = Scene {
            now: &[("test_a.py", source)],
            targets: &["test_a.py::test_a"],
            ..Scene::default()
        };
        let asked =
            scene.ask(JudgedPhase::Green, |material| experiments(material, mutants::MUTANTS_MAX));
        let asked = asked.iter().filter(|control| control.question == Question::Impossible);
        assert_eq!(asked.count(), expected, "{source}");
    }
}

#[test]
fn one_canary_has_to_fail_and_the_other_to_pass() {
    for (path, source) in [
        ("test_a.py", "def test_a():\n    assert f(1) == 2\n"),
        ("a.test.ts", "test(\"test_a\", () => {\n  expect(f(1)).toBe(2);\n});\n"),
        ("tests/a.rs", "#[test]\nfn test_a() {\n    assert_eq!(f(1), 2);\n}\n"),
    ] {
        let id = |item: &str| match path.rsplit_once('.') {
            Some((_, "ts")) => format!("{path} > {item}"),
            Some((stem, "rs")) => format!("roman/{stem}::{item}"),
            _ => format!("{path}::{item}"),
        };
        let scene = Scene { now: &[(path, source)], targets: &[&id("test_a")], ..Scene::default() };
        for (fails, sound, expected) in [
            ("-", "+", "right".to_owned()),
            ("+", "+", format!("wrong: green.not_discriminating {}", id(canary::NAME))),
            ("-", "-", format!("ask: green.not_discriminating {}", id(canary::SOUND))),
        ] {
            let ran = report(&[
                format!("-{}", id("test_a")),
                fails.to_owned() + &id(canary::NAME),
                sound.to_owned() + &id(canary::SOUND),
            ]);
            let answer = scene.ask(JudgedPhase::Green, |material| {
                let control = everything_changed(material, path, Pick::Last);
                assert!(control.edits[0].1.contains(canary::SOUND));
                control.weigh(material, &observed(&ran, ""))
            });
            assert_eq!(shown(&answer), expected, "{path} {fails}{sound}");
        }
    }
}

#[test]
fn fixtures_that_wait_to_be_asked_for_are_told_from_hooks() {
    for (source, expected) in [
        ("import pytest\n\n\n@pytest.fixture\ndef basket():\n    return []\n", true),
        (
            "\"\"\"Fixtures.\"\"\"\nimport pytest\n\n\n@pytest.fixture(scope=\"module\")\ndef a():\n    return b()\n\n\ndef b():\n    return 1\n",
            true,
        ),
        ("import pytest\n\n\n@pytest.fixture(autouse=True)\ndef a():\n    return 1\n", false),
        ("import pytest\n\n\n@pytest.fixture\ndef tmp_path():\n    return 1\n", false),
        ("def pytest_collection_modifyitems(items):\n    items.clear()\n", false),
        ("collect_ignore = [\"test_a.py\"]\n", false),
        ("import builtins\nbuiltins.len = lambda x: 3\n", false),
        ("import a\n\nif True:\n    a.f = 1\n", false),
    ] {
        assert_eq!(syntax::only_fixtures(source), expected, "{source}");
    }
}

#[test]
fn more_tests_are_told_from_changed_ones() {
    const PYTHON: &str = "import a\n\n\ndef test_a():\n    assert a.f() == 1\n";
    const SCRIPT: &str =
        "import { f } from \"./a\";\n\ntest(\"a\", () => {\n  expect(f()).toBe(1);\n});\n";
    for (path, old, new, expected) in [
        ("test_a.py", PYTHON, format!("{PYTHON}\n\ndef test_b():\n    assert a.f() != 2\n"), true),
        (
            "test_a.py",
            PYTHON,
            format!("import b\n{PYTHON}\n\ndef test_b():\n    assert b.f()\n"),
            true,
        ),
        ("test_a.py", PYTHON, format!("{PYTHON}\n\ndef helper():\n    return 1\n"), true),
        ("test_a.py", PYTHON, PYTHON.replace("== 1", "!= 2"), false),
        ("test_a.py", PYTHON, PYTHON.replace("test_a", "check_a"), false),
        ("test_a.py", PYTHON, format!("{PYTHON}\n\npytestmark = skip\n"), false),
        ("test_a.py", PYTHON, format!("{PYTHON}\n\na.f = lambda: 1\n"), false),
        (
            "a.test.ts",
            SCRIPT,
            format!("{SCRIPT}\ntest(\"b\", () => {{\n  expect(f()).not.toBe(2);\n}});\n"),
            true,
        ),
        ("a.test.ts", SCRIPT, SCRIPT.replace("toBe(1)", "toBeDefined()"), false),
        ("a.test.ts", SCRIPT, format!("{SCRIPT}\nexpect.extend({{}});\n"), false),
    ] {
        assert_eq!(
            syntax::only_adds_tests(Language::of_path(path), path, old, &new),
            expected,
            "{new}"
        );
    }
}

#[test]
fn snapshots_are_filled_and_nothing_else() {
    const EMPTY: &str =
        "expect(f(1)).toMatchInlineSnapshot();\nexpect(f(2)).toMatchInlineSnapshot();\n";
    for (new, expected) in [
        (EMPTY.replace("Snapshot()", "Snapshot(`\"a\"`)"), true),
        (EMPTY.replacen("Snapshot()", "Snapshot(\n  `\n  a\n  `\n)", 1), true),
        (EMPTY.to_owned(), false),
        (EMPTY.replace("Snapshot()", "Snapshot(`${f(1)}`)"), false),
        (EMPTY.replace("Snapshot()", "Snapshot(f(1))"), false),
        (EMPTY.replace("f(1)", "f(3)").replace("Snapshot()", "Snapshot(`a`)"), false),
        (EMPTY.replace(";\n", ";\nf();\n").replace("Snapshot()", "Snapshot(`a`)"), false),
    ] {
        assert_eq!(syntax::fills_snapshots(EMPTY, &new), expected, "{new}");
    }
    let filled = EMPTY.replace("Snapshot()", "Snapshot(`a`)");
    assert!(!syntax::fills_snapshots(&filled, &filled.replace("`a`", "`b`")));
}

#[test]
fn a_constant_is_looked_at_and_a_function_is_called() {
    for (text, expected) in [
        ("assert more", true),
        ("expect(more).toBe(3)", true),
        ("assert more == 3", true),
        ("assert more(1) == 3", false),
        ("assert calc.more", false),
        ("patch('more')", false),
        ("assert moreover", false),
    ] {
        assert_eq!(stub::is_value(text, "more"), expected, "{text}");
    }
}

#[test]
fn a_name_that_nothing_brings_is_reported() {
    const HEAD: &str = "from kit import f\n\n\ndef test_a():\n";
    for (body, line, exception, message, expected) in [
        (
            "    assert f() == wanted\n",
            5,
            "NameError",
            "name 'wanted' is not defined",
            Some(Code::RedUnrelatedSymbol),
        ),
        ("    assert f() == 4\n", 5, "AssertionError", "assert 3 == 4", None),
        ("    assert f() == 4\n", 5, "NameError", "name 'f' is not defined", None),
    ] {
        let source = format!("{HEAD}{body}");
        let scene = Scene {
            now: &[("tests/test_a.py", &source)],
            targets: &["tests/test_a.py::test_a"],
            ..Scene::default()
        };
        let told = scene.ask(JudgedPhase::Red, |material| {
            let mut after = material.after.clone();
            for test in &mut after.tests {
                (test.file, test.line) = (Some("tests/test_a.py".to_owned()), Some(line));
                (test.exception, test.message) =
                    (Some(exception.to_owned()), Some(message.to_owned()));
            }
            unknown_names(&Material { after: &after, ..*material })
        });
        assert_eq!(told.first().map(|reason| reason.code), expected, "{body}");
    }
}

#[test]
fn a_helper_of_the_project_checks_where_the_test_fails_in_another_way() {
    const A: &str = "tests/test_a.py::a";
    let scene = Scene { targets: &[A], ..Scene::default() };
    for (status, message, calls, expected) in [
        ("-", "'x' is not 'IV'", "to_roman", "right"),
        // The message only shows that the code is missing, or the test called nothing.
        ("-", "not implemented", "to_roman", "wrong: red.no_assertion tests/test_a.py::a"),
        ("-", "'x' is not 'IV'", "", "wrong: red.no_assertion tests/test_a.py::a"),
        ("+", "", "to_roman", "wrong: red.no_assertion tests/test_a.py::a"),
    ] {
        let answer = scene.ask(JudgedPhase::Red, |material| {
            let (mut after, mut ran) = (material.after.clone(), report(&[format!("{status}{A}")]));
            for (report, said) in [(&mut after, "not implemented"), (&mut ran, message)] {
                report.tests.iter_mut().for_each(|test| test.message = Some(said.to_owned()));
            }
            let checked = control(Question::Checked, &[("tests/test_a.py", "a")], "checked");
            checked.weigh(&Material { after: &after, ..*material }, &observed(&ran, calls))
        });
        assert_eq!(shown(&answer), expected, "{message}");
    }
}

#[test]
fn a_go_test_without_a_result_asks_for_nothing_unless_the_run_was_cut_short() {
    let file = "a_test.go";
    let source = "package a\n\nimport \"testing\"\n\nfunc TestA(t *testing.T) { F() }\n";
    let scene = Scene { now: &[(file, source)], ..Scene::default() };
    for (tests, expected) in [
        (&["+a::TestOld"][..], "wrong: red.no_tests -"),
        // If the code does nothing, another test may end the process.
        (&["-a::TestOld"], "unknown: stubs"),
    ] {
        let ran = report(tests);
        let answer = scene.ask(JudgedPhase::Red, |material| {
            control(Question::Inert, &[(file, "TestA")], "stubs")
                .weigh(material, &observed(&ran, "F"))
        });
        assert_eq!(shown(&answer), expected);
    }
}

#[test]
fn what_is_new_in_a_refactoring_is_used() {
    const OLD: (&str, &str) = ("kit/a.py", "def f(n):\n    return n + 1\n");
    for (now, expected) in [
        (
            &[("kit/a.py", "def f(n):\n    return g(n)\n\n\ndef g(n):\n    return n + 1\n")][..],
            None,
        ),
        (
            &[("kit/a.py", "def f(n):\n    return n + 1\n\n\ndef g(n):\n    return n + 2\n")],
            Some("g"),
        ),
        (&[("kit/a.py", "def f(n):\n    return n + 1\n\n\ndef _g(n):\n    return n + 2\n")], None),
        (&[("kit/a.py", "def add(n):\n    return n + 1\n")], None),
        (&[OLD, ("kit/b.py", "class B:\n    def go(self):\n        pass\n")], Some("B")),
    ] {
        let scene = Scene { before: &[OLD], now, ..Scene::default() };
        let told = scene.ask(JudgedPhase::Refactor, new_features);
        let named =
            told.first().and_then(|reason| reason.sentence.split('`').nth(1).map(str::to_owned));
        assert_eq!(named.as_deref(), expected, "{now:?}");
    }
}

#[test]
fn a_call_counts_for_the_test_that_makes_it() {
    for (file, item, id, log, expected) in [
        ("test_a.py", "test_a", "test_a.py::test_a", "f\ttest_a.py::test_a", "right"),
        (
            "test_a.py",
            "test_a",
            "test_a.py::test_a",
            "f\ttest_b.py::test_b",
            "wrong: red.no_call test_a.py::test_a",
        ),
        ("src/lib.rs", "tests::a", "kit::tests::a", "f\tcrate::tests::a", "right"),
        (
            "src/lib.rs",
            "tests::a",
            "kit::tests::a",
            "f\tcrate::tests::b",
            "wrong: red.no_call kit::tests::a",
        ),
        ("kit_test.go", "TestA", "example.com/kit.TestA", "F\texample.com/kit.TestA", "right"),
        ("a.test.js", "a", "a.test.js > a", "f", "right"),
    ] {
        let scene = Scene { now: &[(file, "")], ..Scene::default() };
        let ran = report(&[format!("-{id}")]);
        let answer = scene.ask(JudgedPhase::Red, |material| {
            control(Question::Inert, &[(file, item)], "stubs").weigh(material, &observed(&ran, log))
        });
        assert_eq!(shown(&answer), expected, "{log}");
    }
    let stub =
        syntax::inert_stub(Language::Rust, "src/lib.rs", &[], Some("pub fn f() {}\n")).unwrap();
    assert!(stub.contains("crate::{name}"), "{stub}");
}

#[test]
fn data_of_tests_is_not_run() {
    for (files, expected) in [
        (&["slug_test.go", "testdata/slug/a.golden"][..], &["slug_test.go"][..]),
        (&["tests/data/a.json", "tests/test_a.py"], &["tests/test_a.py"]),
    ] {
        let now: Vec<(&str, &str)> = files.iter().map(|file| (*file, "text")).collect();
        let scene = Scene { now: &now, ..Scene::default() };
        assert_eq!(scene.ask(JudgedPhase::Red, changed_test_files), expected);
    }
}
