//! Which old tests may be removed in RED, and what must not change in REFACTOR, as tables of two
//! trees.

use super::*;
use crate::experiment::replaced::{is_unwritten, replaced};
use crate::experiment::surface::changed_surface;

const CODE: (&str, &str) =
    ("shop.py", "def total(items):\n    return 0\n\n\ndef label(item):\n    return \"\"\n");
const OLD: &str = "from shop import label, total\n\n\ndef test_total():\n    assert total([1]) == 1\n\n\n\
                   def test_label():\n    assert label(1) == \"1\"\n";

/// The ids that `new` may remove, if the test run shows `after`.
fn gone(new: &str, after: &[&str]) -> Vec<String> {
    let before = report(&["+tests/test_shop.py::test_total", "+tests/test_shop.py::test_label"]);
    let scene = Scene {
        before: &[CODE, ("tests/test_shop.py", OLD)],
        now: &[CODE, ("tests/test_shop.py", new)],
        ..Scene::default()
    };
    scene.ask(JudgedPhase::Red, |material| replaced(material, &before, &report(after)).ids)
}

#[test]
fn an_old_test_may_go_for_a_new_one_that_fails_and_asks_about_the_same_code() {
    let renamed = OLD.replace("test_total", "test_total_with_tax").replace("== 1\n", "== 2\n");
    let total = "tests/test_shop.py::test_total";
    let failing = ["-tests/test_shop.py::test_total_with_tax", "+tests/test_shop.py::test_label"];
    assert_eq!(gone(&renamed, &failing), [total]);
    // The new test passes, so it does not require the removal of the old one.
    assert!(
        gone(
            &renamed,
            &["+tests/test_shop.py::test_total_with_tax", "+tests/test_shop.py::test_label"]
        )
        .is_empty()
    );
    // The new test covers other code.
    let other = OLD.replace(
        "def test_total():\n    assert total([1]) == 1",
        "def test_big():\n    assert label(2) == \"two\"",
    );
    assert!(
        gone(&other, &["-tests/test_shop.py::test_big", "+tests/test_shop.py::test_label"])
            .is_empty()
    );
    // The old test is unchanged but did not run, so something else removed it.
    let more = format!("{OLD}\n\ndef test_sum():\n    assert total([2]) == 3\n");
    assert!(
        gone(&more, &["-tests/test_shop.py::test_sum", "+tests/test_shop.py::test_label"])
            .is_empty()
    );
}

#[test]
fn what_red_removed_is_not_written_any_more() {
    let scene = Scene {
        before: &[CODE, ("tests/test_shop.py", OLD)],
        now: &[CODE, ("tests/test_shop.py", OLD)],
        ..Scene::default()
    };
    for (id, unwritten) in [
        ("tests/test_shop.py::test_total", false),
        ("tests/test_shop.py::test_sum", true),
        ("other", false),
    ] {
        let told = report(&[&format!("+{id}")]);
        let test = told.tests.first().unwrap();
        assert_eq!(
            scene.ask(JudgedPhase::Green, |material| is_unwritten(material, test)),
            unwritten,
            "{id}"
        );
    }
}

/// Cargo and Go name the function but not its file.
#[test]
fn what_red_removed_is_not_written_any_more_wherever_it_was() {
    let go = "package kata\n\nfunc TestOld(t *testing.T) {\n\tt.Run(\"a::b\", check)\n}\n";
    let rust = "#[cfg(test)]\nmod tests {\n    #[test]\n    fn four() {}\n}\n";
    let files = [("kata/a_test.go", go), ("src/lib.rs", rust)];
    let scene = Scene { before: &files, now: &files, ..Scene::default() };
    for (id, unwritten) in [
        ("example.com/kata.TestOld", false),
        ("example.com/kata.TestOld/a::b", false),
        ("example.com/kata.TestNew", true),
        ("example.com/kata.TestNew/a::b", true),
        ("kata::tests::four", false),
        ("kata::tests::five", true),
        ("demo.CalcTest::adds(int)", false),
    ] {
        let told = report(&[&format!("+{id}")]);
        let test = Test { file: None, ..told.tests.first().unwrap().clone() };
        assert_eq!(
            scene.ask(JudgedPhase::Green, |material| is_unwritten(material, &test)),
            unwritten,
            "{id}"
        );
    }
}

/// Changes one file of a library, and checks the code of the verdict.
#[track_caller]
fn surface(path: &str, old: &str, new: &str, told: &str) {
    let around = [("kit/__init__.py", ""), ("src/lib.rs", "pub mod words;\nmod inner;\n")];
    let before: Vec<(&str, &str)> =
        around.into_iter().filter(|(known, _)| *known != path).chain([(path, old)]).collect();
    let now: Vec<(&str, &str)> =
        around.into_iter().filter(|(known, _)| *known != path).chain([(path, new)]).collect();
    let scene = Scene { before: &before, now: &now, ..Scene::default() };
    let reasons = scene.ask(JudgedPhase::Refactor, changed_surface);
    assert_eq!(
        reasons.first().map_or("", |reason| reason.code.as_str()),
        told,
        "{path}: {old} -> {new}\n{reasons:#?}"
    );
}

#[test]
fn a_refactoring_keeps_what_others_can_use() {
    let (two, one) = ("pub fn a() {}\npub fn b() {}\n", "pub fn a() {}\n");
    for (path, told) in [
        ("src/lib.rs", "refactor.public_removed"),
        ("src/words.rs", "refactor.public_removed"),
        ("src/inner.rs", ""),
        ("src/main.rs", ""),
    ] {
        surface(path, two, one, told);
    }
    surface("src/lib.rs", two, "mod inner;\npub fn a() {}\npub use inner::b;\n", "");
    surface("src/lib.rs", "fn a() {}\n", "", "");
    surface(
        "kit/a.py",
        "def f(): ...\ndef g(): ...\n",
        "def f(): ...\n",
        "refactor.public_removed",
    );
    surface("kit/a.py", "def f(): ...\ndef _g(): ...\n", "def f(): ...\n", "");
    surface("kit/_a.py", "def f(): ...\ndef g(): ...\n", "def f(): ...\n", "");
    surface("scripts/a.py", "def f(): ...\ndef g(): ...\n", "def f(): ...\n", "");
    surface(
        "a.go",
        "package a\n\nfunc F() {}\n\nfunc G() {}\n",
        "package a\n\nfunc F() {}\n",
        "refactor.public_removed",
    );
    surface("a.go", "package main\n\nfunc F() {}\n", "package main\n", "");
    surface(
        "src/index.ts",
        "export function f() {}\nexport const g = 1;\n",
        "export const g = 1;\n",
        "refactor.public_removed",
    );
    surface("src/part.ts", "export function f() {}\n", "export const g = 1;\n", "");
}

#[test]
fn a_type_that_moves_to_another_file_keeps_what_it_derives() {
    let point = "#[derive(Debug, Clone)]\npub struct Point;\n";
    let rest = "mod point;\npub use point::Point;\n";
    for (moved, told) in [
        (point, ""),
        ("#[derive(Clone)]\npub struct Point;\nimpl fmt::Debug for Point {}\n", ""),
        ("#[derive(Clone)]\npub struct Point;\n", "refactor.public_removed"),
    ] {
        let now = [("src/lib.rs", rest), ("src/point.rs", moved)];
        let scene = Scene { before: &[("src/lib.rs", point)], now: &now, ..Scene::default() };
        let reasons = scene.ask(JudgedPhase::Refactor, changed_surface);
        assert_eq!(reasons.first().map_or("", |reason| reason.code.as_str()), told, "{moved}");
    }
}

#[test]
fn a_refactoring_keeps_values_and_the_data_of_tests() {
    surface("kit/a.py", "LIMIT = 80\n", "LIMIT = 8\n", "refactor.behaviour");
    surface("kit/a.py", "LIMIT = 1000\n", "LIMIT = 1_000\n", "");
    surface("kit/a.py", "_LIMIT = 80\n", "_LIMIT = 8\n", "");
    surface("src/lib.rs", "pub const A: u8 = 3;\n", "pub const A: u8 = 4;\n", "refactor.behaviour");
    surface("src/lib.rs", "const A: u8 = 3;\n", "const A: u8 = 4;\n", "");
    surface("tests/test_a.py", "NEAR = 1e-9\n", "NEAR = 100\n", "refactor.tests_weakened");
    let table = |rows: &str| {
        format!(
            "import pytest\n\n\n@pytest.mark.parametrize(\"n\", [{rows}])\ndef test_n(n):\n    assert f(n) == n\n"
        )
    };
    surface("tests/test_a.py", &table("11, 22, 33"), &table("11, 22"), "refactor.tests_weakened");
    surface("tests/test_a.py", &table("11, 22"), &table("11, 22, 33"), "");
}

/// A Rust test's id does not name its file.
#[test]
fn tests_of_a_file_that_does_not_load_are_owed() {
    let error = LoadError {
        stage: crate::report::Stage::Build,
        file: Some("src/map/tests.rs".to_owned()),
        line: None,
        kind: LoadErrorKind::MissingSymbol,
        code: None,
        message: String::new(),
    };
    let read =
        |path: &str| (path == "src/map/tests.rs").then(|| "#[test]\nfn inserts() {}\n".to_owned());
    let before =
        report(&["+kit::map::tests::inserts", "+kit::map::tests::gone", "-kit::map::tests::fails"]);
    let owed = crate::experiment::replaced::owed(&read, &[error], &before);
    assert_eq!(owed, ["kit::map::tests::inserts"]);
}
