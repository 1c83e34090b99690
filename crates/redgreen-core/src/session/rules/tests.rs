//! Tests for objections to edits in each stage.

use super::*;
use crate::framework::{cargo, pytest};

const TEST: &str = "from calc import add\n\n\ndef test_adds():\n    assert add(1, 2) == 3\n";

fn owed() -> Stage {
    Stage::Green { targets: Vec::new() }
}

/// The objections to an edit, as codes.
fn held(
    stage: &Stage,
    path: &str,
    old: Option<&str>,
    new: New<'_>,
    known: &[&str],
) -> Vec<&'static str> {
    let frameworks = [&pytest::FRAMEWORK, &cargo::FRAMEWORK];
    let reasons = objections(stage, FileChange { path, old, new }, &frameworks, known);
    reasons.iter().map(|reason| reason.code.as_str()).collect()
}

#[test]
fn green_freezes_tests_and_configuration() {
    let weaker = TEST.replace("== 3", "!= 9");
    let more = format!("{TEST}\n\ndef test_more():\n    assert add(0, 0) == 0\n");
    let tests = ["green.tests_changed"];
    let config = ["green.config_changed"];
    for (path, old, new, expected) in [
        ("test_calc.py", Some(TEST), New::Text(&weaker), &tests[..]),
        ("test_calc.py", Some(TEST), New::Gone, &tests),
        ("test_calc.py", Some(TEST), New::Unknown, &tests),
        ("test_calc.py", Some(TEST), New::Text(TEST), &[]),
        ("test_calc.py", Some(TEST), New::Text(&more), &[]),
        ("test_new.py", None, New::Text(TEST), &[]),
        ("calc.py", Some(""), New::Text("def add(a, b):\n    return a + b\n"), &[]),
        ("calc.py", Some("x"), New::Gone, &[]),
        ("pytest.ini", Some("[pytest]\n"), New::Text("[pytest]\naddopts = -k no\n"), &config),
        ("pytest.ini", None, New::Text("[pytest]\n"), &config),
        (
            "pyproject.toml",
            Some(""),
            New::Text("[tool.pytest.ini_options]\naddopts = \"-k no\"\n"),
            &config,
        ),
        ("pyproject.toml", Some(""), New::Text("[project]\nname = \"a\"\n"), &[]),
        ("redgreen.toml", Some(""), New::Text("[test]\n"), &config),
        ("conftest.py", None, New::Text("import calc\ncalc.add = 3\n"), &config),
        ("README.md", Some("a"), New::Text("b"), &[]),
        ("test-list.md", Some("- [ ] a"), New::Text("- [x] a"), &[]),
    ] {
        assert_eq!(held(&owed(), path, old, new, &["test_calc.py"]), expected, "{path} {new:?}");
    }
}

#[test]
fn before_red_only_the_configuration_is_frozen() {
    for (path, old, new, expected) in [
        ("test_calc.py", Some(TEST), New::Text(""), &[][..]),
        ("calc.py", Some(""), New::Text("def add(a, b):\n    return a + b\n"), &[]),
        (
            "pytest.ini",
            Some("[pytest]\n"),
            New::Text("[pytest]\naddopts = -k no\n"),
            &["refactor.config_changed"],
        ),
    ] {
        assert_eq!(held(&Stage::Open, path, old, new, &[]), expected, "{path}");
    }
}

#[test]
fn freezes_tests_next_to_the_code_but_not_the_code() {
    let tests = "#[cfg(test)]\nmod tests {\n    #[test]\n    fn adds() { assert_eq!(super::add(1, 2), 3); }\n}\n";
    let old = format!("pub fn add(_: u8, _: u8) -> u8 {{ 0 }}\n{tests}");
    let code = old.replace("{ 0 }", "{ 3 }");
    let weaker = old.replace(", 3)", ", 0)");
    assert!(held(&owed(), "src/lib.rs", Some(&old), New::Text(&code), &[]).is_empty());
    assert_eq!(
        held(&owed(), "src/lib.rs", Some(&old), New::Text(&weaker), &[]),
        ["green.tests_changed"]
    );
}

#[test]
fn an_objection_names_the_test() {
    let weaker = TEST.replace("== 3", "!= 9");
    let changed = FileChange { path: "test_calc.py", old: Some(TEST), new: New::Text(&weaker) };
    let reasons = objections(&owed(), changed, &[&pytest::FRAMEWORK], &[]);
    assert_eq!(reasons[0].sentence, "test_calc.py was changed: test_adds changed");
}

#[test]
fn settings_must_keep_calling_redgreen() {
    let old = "{\"hooks\": {\"Stop\": [{\"command\": \"redgreen hook claude\"}]}}";
    for (new, free) in [("{}", false), (old, true), (&format!("{old}\n"), true)] {
        let found = held(&Stage::Open, ".claude/settings.json", Some(old), New::Text(new), &[]);
        assert_eq!(found.is_empty(), free, "{new}");
    }
    assert!(!held(&Stage::Open, ".claude/settings.json", Some(old), New::Gone, &[]).is_empty());
    assert!(held(&Stage::Open, ".claude/settings.json", None, New::Text("{}"), &[]).is_empty());
}

#[test]
fn changed_files_decide_the_next_phase() {
    let inner = "#[cfg(test)]\nmod tests {\n    #[test]\n    fn adds() { assert_eq!(super::add(1, 2), 3); }\n}\n";
    let code = "pub fn add(_: u8, _: u8) -> u8 { 0 }\n";
    let (with_tests, other) =
        (format!("{code}{inner}"), format!("pub fn add(_: u8, _: u8) -> u8 {{ 1 + 2 }}\n{inner}"));
    let stub = format!("{code}pub fn sub(_: u8, _: u8) -> u8 {{ todo!() }}\n");
    for (path, class, old, new, expected) in [
        ("test_calc.py", Class::Test, "", TEST, (true, true, false)),
        ("test_calc.py", Class::Test, TEST, &TEST.replace("3", "4"), (false, true, false)),
        ("tests/data.json", Class::Test, "1", "2", (false, true, false)),
        ("calc.py", Class::Implementation, "a = 1\n", "a = 2\n", (false, false, true)),
        ("calc.py", Class::Stub, "", "def add(a, b): ...\n", (false, false, false)),
        ("src/lib.rs", Class::Mixed, code, &with_tests, (true, true, false)),
        ("src/lib.rs", Class::Mixed, &with_tests, &other, (false, false, true)),
        ("src/lib.rs", Class::Mixed, code, &other, (true, true, true)),
        ("src/lib.rs", Class::Mixed, code, &stub, (false, false, false)),
        ("README.md", Class::Documentation, "a", "b", (false, false, false)),
    ] {
        let kind = if old.is_empty() { Kind::Added } else { Kind::Modified };
        let changed = ChangedPath { path: path.to_owned(), kind, class };
        let Touched { adds_tests, changes_tests, code } = touched(&changed, Some(old), Some(new));
        assert_eq!((adds_tests, changes_tests, code), expected, "{path}: {new}");
    }
}
