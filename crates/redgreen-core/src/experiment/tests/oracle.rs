//! Code that only tests use, code that imports tests, and changed functions that no test calls.

use super::*;
use crate::experiment::calls::{Recording, Speaker, read};
use crate::experiment::oracle::helpers;
use crate::experiment::outside::imports_of_tests;

const TEST: &str = "from roman import to_roman\nfrom checks import same\n\n\ndef test_four():\n    same(to_roman(4), 'IV')\n";
const TARGET: &str = "tests/test_roman.py::test_four";

fn recording(module: &str, name: &str, gives: &str) -> Recording {
    let outcome = format!(r#"{{"gives": {{"is": "{gives}"}}}}"#);
    read(
        Speaker::Python,
        &format!(
            r#"{{"number": 1, "module": "{module}", "name": "{name}", "outcome": {outcome}}}"#
        ),
    )
}

#[test]
fn code_that_only_tests_use_is_a_helper_unless_it_gives_values() {
    let before = [("tests/test_roman.py", TEST), ("roman.py", "1"), ("checks.py", "2")];
    let alone = [("tests/test_roman.py", TEST), ("roman.py", "1"), ("checks.py", "3")];
    let both = [("tests/test_roman.py", TEST), ("roman.py", "2"), ("checks.py", "3")];
    let used = [("tests/test_roman.py", TEST), ("roman.py", "import checks\n"), ("checks.py", "3")];
    let index = [
        ("tests/test_roman.py", TEST),
        ("roman.py", "2"),
        ("checks.py", "from roman import to_roman\n"),
    ];
    for (now, expected) in [
        // If only one file changes, the tests are about that file.
        (&alone, vec![]),
        (&both, vec!["roman.py", "checks.py"]),
        // The tests are about code that uses other changed code.
        (&used, vec![]),
        (&index, vec![]),
    ] {
        let scene = Scene { before: &before, now, targets: &[TARGET], ..Scene::default() };
        let mut found = scene.ask(JudgedPhase::Green, |material| {
            helpers(material).into_iter().map(|helper| helper.path).collect::<Vec<_>>()
        });
        found.sort_by_key(|path| !path.starts_with("roman"));
        assert_eq!(found, expected);
    }
}

#[test]
fn a_helper_decides_where_a_test_fails_without_its_change_and_without_what_it_is_about() {
    let before = [("tests/test_roman.py", TEST), ("roman.py", "1"), ("checks.py", "2")];
    let now = [("tests/test_roman.py", TEST), ("roman.py", "2"), ("checks.py", "3")];
    let (pass, fail) = (format!("+{TARGET}"), format!("-{TARGET}"));
    for (gives, alone, others, expected) in [
        ("NoneType", &fail, &fail, true),
        ("bool", &fail, &fail, true),
        // A test can check a returned value, so this is ordinary code.
        ("str", &fail, &fail, false),
        // The test passes without the helper's change, or without all other changes.
        ("NoneType", &pass, &fail, false),
        ("NoneType", &fail, &pass, false),
    ] {
        let scene = Scene { before: &before, now: &now, targets: &[TARGET], ..Scene::default() };
        let decided = scene.ask(JudgedPhase::Green, |material| {
            let helper =
                helpers(material).into_iter().find(|helper| helper.path == "checks.py").unwrap();
            let calls = recording("checks", "same", gives);
            helper
                .decides(material, &calls, &report(&[alone]), &report(&[others]))
                .map(|reason| reason.code)
        });
        assert_eq!(
            decided,
            expected.then_some(Code::GreenTestsChanged),
            "{gives} {alone} {others}"
        );
    }
}

#[test]
fn code_may_not_begin_to_import_tests() {
    let test = ("tests/test_roman.py", TEST);
    for (old, new, expected) in [
        ("", "from tests.test_roman import CASES\n", 1),
        ("", "def f():\n    from tests.test_roman import CASES\n", 1),
        ("from tests.test_roman import CASES\n", "from tests.test_roman import CASES\nX = 1\n", 0),
        ("", "from roman_tests import CASES\n", 0),
    ] {
        let (before, now) = ([test, ("roman.py", old)], [test, ("roman.py", new)]);
        let scene = Scene { before: &before, now: &now, targets: &[TARGET], ..Scene::default() };
        assert_eq!(scene.ask(JudgedPhase::Green, imports_of_tests).len(), expected, "{new}");
    }
    // A test in the same package does not count as an import.
    let java = ("src/test/java/demo/AddTest.java", "package demo;\n\nclass AddTest {}\n");
    let now = [java, ("src/main/java/demo/Calc.java", "package demo;\n\nclass Calc {}\n")];
    let scene = Scene { before: &[java], now: &now, ..Scene::default() };
    assert!(scene.ask(JudgedPhase::Green, imports_of_tests).is_empty());
}

#[test]
fn code_that_replaces_a_function_of_the_language_is_seen() {
    let test = "import \"./list.js\";\ntest(\"last\", () => [1].finalItem());\n";
    let code = "Array.prototype.finalItem = last;\nNumber.prototype.toString = shown;\n";
    for (old, replaced, added, expected) in [
        ("", "Number.prototype.toString", false, true),
        // A new method is a feature if a test names it. Otherwise it affects tests that do not know
        // about it.
        ("", "Array.prototype.finalItem", true, false),
        ("", "Number.prototype.toString", true, true),
        // The code replaced it before, or other code replaced it.
        (code, "Number.prototype.toString", false, false),
        ("", "Array.prototype.flat", false, false),
    ] {
        let before = [("list.test.js", test), ("list.js", old)];
        let now = [("list.test.js", test), ("list.js", &format!("{code}// more\n"))];
        let scene = Scene { before: &before, now: &now, ..Scene::default() };
        let log = format!(r#"{{"replaces": "{replaced}", "added": {added}}}"#);
        let reason = scene.ask(JudgedPhase::Green, |material| {
            read(Speaker::Script, &log).changed_language(material)
        });
        assert_eq!(reason.is_some(), expected, "{replaced} {added}: {reason:?}");
    }
}

#[test]
fn a_changed_function_that_no_test_calls_is_named() {
    let before = [("roman.py", "def f(n):\n    return n + 1\n\n\ndef g(n):\n    return n\n")];
    let now = [("roman.py", "def f(n):\n    return 1 + n\n\n\ndef g(n):\n    return n\n")];
    let scene = Scene { before: &before, now: &now, ..Scene::default() };
    let uncalled = |name: &str| {
        scene.ask(JudgedPhase::Refactor, |material| {
            recording("roman", name, "int").uncalled(material)
        })
    };
    assert_eq!(uncalled("g"), [("roman.py".to_owned(), "f".to_owned())]);
    assert!(uncalled("f").is_empty());
}

#[test]
fn a_row_that_needs_other_tests_is_no_news_where_rows_did_before() {
    let [old, new] = ["tests/test_a.py::test_a[1]", "tests/test_a.py::test_a[2]"];
    let scene = Scene { targets: &[old, new], ..Scene::default() };
    for (tree, rows, expected) in [
        (Tree::Earlier, format!("-{old}"), true),
        (Tree::Earlier, format!("+{old}"), false),
        // RED's tests fail on RED's own tree because the code is missing.
        (Tree::Base, format!("-{old}"), false),
    ] {
        let was = scene.ask(JudgedPhase::Green, |material| {
            order::was_so_before(material, tree, &report(&[&rows]))
        });
        assert_eq!(was, expected, "{tree:?} {rows}");
    }
    assert!(order::rows_before("tests/test_a.py::test_a", Tree::Base).is_none());
}
