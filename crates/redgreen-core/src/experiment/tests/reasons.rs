//! Tables of tests whose text speaks for or against them.

use super::*;
use crate::experiment::reworked::is_silent;

#[test]
fn a_new_test_that_sleeps_by_its_own_will_is_known() {
    const HOOK: &str = "def pytest_collection_modifyitems(config, items):\n    for item in items:\n        if 'slow' in item.keywords:\n            item.add_marker(pytest.mark.skip())\n";
    const PYTHON: &str =
        "import pytest\n\n\n@pytest.mark.slow\ndef test_a():\n    assert f() == 1\n";
    const JAVA: &str = "package kit;\nclass ATest {\n  @Disabled(\"slow\") @Test void later() {}\n  @Test void now() {}\n}\n";
    let go = |body: &str| format!("package a\n\nfunc TestA(t *testing.T) {{\n{body}\n}}\n");
    let by_setting = go("\tif os.Getenv(\"SLOW\") == \"\" {\n\t\tt.Skip(\"slow\")\n\t}");
    let by_code = go("\tif !Ready() {\n\t\tt.Skip(\"slow\")\n\t}");
    let awake = go("\tReady()");
    for (files, id, expected) in [
        (
            &[("tests/conftest.py", HOOK), ("tests/test_a.py", PYTHON)][..],
            "tests/test_a.py::test_a",
            true,
        ),
        (
            &[("tests/conftest.py", ""), ("tests/test_a.py", PYTHON)],
            "tests/test_a.py::test_a",
            false,
        ),
        (&[("tests/test_a.py", PYTHON)], "tests/test_a.py::test_a", false),
        (&[("tests/test_a.py", &PYTHON.replace("slow", "skip"))], "tests/test_a.py::test_a", true),
        (&[("a_test.go", &by_setting)], "example.com/kit.TestA", true),
        (&[("src/test/java/kit/ATest.java", JAVA)], "kit.ATest::later", true),
        (&[("src/test/java/kit/ATest.java", JAVA)], "kit.ATest::now", false),
        (&[("a_test.go", &by_code)], "example.com/kit.TestA", false),
        (&[("a_test.go", &awake)], "example.com/kit.TestA", false),
    ] {
        let scene = Scene { before: files, now: files, ..Scene::default() };
        let mut after = report(&[format!("+{id}")]);
        for test in &mut after.tests {
            test.status = Status::Skipped;
            test.file =
                files.last().map(|(file, _)| (*file).to_owned()).filter(|_| !id.contains("ATest"));
        }
        let seen =
            scene.ask(JudgedPhase::Green, |material| asleep(material, &Report::default(), &after));
        assert_eq!(!seen.is_empty(), expected, "{files:?}");
        let known = scene.ask(JudgedPhase::Green, |material| asleep(material, &after, &after));
        assert!(known.is_empty());
    }
}

#[test]
fn what_fails_without_a_fault_says_nothing_of_it() {
    let known = report(&["+a", "-b"]);
    assert!(is_silent(&report(&["+a", "-b"]), &known));
    assert!(is_silent(&report(&["+a"]), &known));
    assert!(!is_silent(&report(&["-a", "-b"]), &known));
}

#[test]
fn an_old_test_that_wavers_beside_a_new_one_is_excused() {
    const OLD: &str = "def test_old():\n    assert f() == 1\n";
    let both = format!("{OLD}\n\ndef test_new():\n    assert g() == 1\n");
    let id = |name: &str| format!("tests/test_a.py::{name}");
    let (old, new) = (id("test_old"), id("test_new"));
    for (targets, passing, expected) in [
        (&[old.as_str(), &new][..], &old, None),
        (&[old.as_str(), &new], &new, Some(Code::RedFlaky)),
        (&[old.as_str()], &old, Some(Code::RedFlaky)),
    ] {
        let now = [("tests/test_a.py", both.as_str())];
        let scene =
            Scene { before: &[("tests/test_a.py", OLD)], now: &now, targets, ..Scene::default() };
        let mut second = report(&targets.iter().map(|id| format!("+{id}")).collect::<Vec<_>>());
        for test in second.tests.iter_mut().filter(|test| test.id != **passing) {
            test.status = Status::Failed;
        }
        let answer = scene.ask(JudgedPhase::Red, |material| repeat::again(material, &second));
        let code = match answer {
            Answer::Wrong(reasons) => reasons.first().map(|reason| reason.code),
            Answer::Right | Answer::Ask(_) | Answer::Unnoticed(_) | Answer::Unknown(_) => None,
        };
        assert_eq!(code, expected, "{targets:?} {passing}");
    }
}
