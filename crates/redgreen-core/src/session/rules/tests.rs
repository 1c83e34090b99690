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
    new: NextPhase<'_>,
    has_files: bool,
) -> Vec<&'static str> {
    let frameworks = [&pytest::FRAMEWORK, &cargo::FRAMEWORK];
    let reasons = objections(stage, FileChange { path, old, new }, &frameworks, has_files);
    reasons.iter().map(|reason| reason.code.as_str()).collect()
}

#[test]
fn green_freezes_tests_and_configuration() {
    let weaker = TEST.replace("== 3", "!= 9");
    let more = format!("{TEST}\n\ndef test_more():\n    assert add(0, 0) == 0\n");
    let tests = ["green.tests_changed"];
    let config = ["green.config_changed"];
    for (path, old, new, expected) in [
        ("test_calc.py", Some(TEST), NextPhase::Text(&weaker), &tests[..]),
        ("test_calc.py", Some(TEST), NextPhase::Gone, &tests),
        ("test_calc.py", Some(TEST), NextPhase::Unknown, &tests),
        ("test_calc.py", Some(TEST), NextPhase::Text(TEST), &[]),
        ("test_calc.py", Some(TEST), NextPhase::Text(&more), &[]),
        ("test_new.py", None, NextPhase::Text(TEST), &[]),
        ("calc.py", Some(""), NextPhase::Text("def add(a, b):\n    return a + b\n"), &[]),
        ("calc.py", Some("x"), NextPhase::Gone, &[]),
        ("pytest.ini", Some("[pytest]\n"), NextPhase::Text("[pytest]\naddopts = -k no\n"), &config),
        ("pytest.ini", None, NextPhase::Text("[pytest]\n"), &config),
        (
            "pyproject.toml",
            Some(""),
            NextPhase::Text("[tool.pytest.ini_options]\naddopts = \"-k no\"\n"),
            &config,
        ),
        ("pyproject.toml", Some(""), NextPhase::Text("[project]\nname = \"a\"\n"), &[]),
        ("redgreen.toml", Some(""), NextPhase::Text("[test]\n"), &config),
        ("conftest.py", None, NextPhase::Text("import calc\ncalc.add = 3\n"), &config),
        ("README.md", Some("a"), NextPhase::Text("b"), &[]),
        ("test-list.md", Some("- [ ] a"), NextPhase::Text("- [x] a"), &[]),
    ] {
        assert_eq!(held(&owed(), path, old, new, true), expected, "{path} {new:?}");
    }
}

#[test]
fn a_new_file_that_runners_load_affects_the_files_of_its_folder() {
    let config = ["green.config_changed"];
    for (path, folder, has_files, expected) in [
        ("conftest.py", Some(""), true, &config[..]),
        ("conftest.py", Some(""), false, &[]),
        ("tests/unit/conftest.py", Some("tests/unit"), true, &config),
        ("tests/unit/conftest.py", Some("tests/unit"), false, &[]),
        ("src/__mocks__/fs.js", Some("src/__mocks__"), true, &config),
        ("src/__mocks__/fs.js", Some("src/__mocks__"), false, &[]),
        ("src/my_conftest.py", None, true, &[]),
        ("src/a.py", None, true, &[]),
    ] {
        assert_eq!(affected_folder(path), folder, "{path}");
        let found =
            held(&owed(), path, None, NextPhase::Text("import os\nos.umask(0)\n"), has_files);
        assert_eq!(found, expected, "{path} {has_files}");
    }
}

#[test]
fn before_red_only_the_configuration_is_frozen() {
    let config = &["refactor.config_changed"][..];
    for (path, old, new, expected) in [
        ("test_calc.py", Some(TEST), NextPhase::Text(""), &[][..]),
        ("calc.py", Some(""), NextPhase::Text("def add(a, b):\n    return a + b\n"), &[]),
        ("pytest.ini", Some("[pytest]\n"), NextPhase::Text("[pytest]\naddopts = -k no\n"), config),
        ("redgreen.toml", None, NextPhase::Text("[test]\nmutants = 0\n"), config),
        // The new test may need it, and RED runs all tests.
        ("conftest.py", None, NextPhase::Text("import os\nos.umask(0)\n"), &[]),
        ("src/__mocks__/fs.js", None, NextPhase::Text("export default 1\n"), &[]),
    ] {
        assert_eq!(held(&Stage::Open, path, old, new, true), expected, "{path}");
    }
}

#[test]
fn freezes_tests_next_to_the_code_but_not_the_code() {
    let tests = "#[cfg(test)]\nmod tests {\n    #[test]\n    fn adds() { assert_eq!(super::add(1, 2), 3); }\n}\n";
    let old = format!("pub fn add(_: u8, _: u8) -> u8 {{ 0 }}\n{tests}");
    let code = old.replace("{ 0 }", "{ 3 }");
    let weaker = old.replace(", 3)", ", 0)");
    assert!(held(&owed(), "src/lib.rs", Some(&old), NextPhase::Text(&code), false).is_empty());
    assert_eq!(
        held(&owed(), "src/lib.rs", Some(&old), NextPhase::Text(&weaker), false),
        ["green.tests_changed"]
    );
}

#[test]
fn an_objection_names_the_test() {
    let weaker = TEST.replace("== 3", "!= 9");
    let changed =
        FileChange { path: "test_calc.py", old: Some(TEST), new: NextPhase::Text(&weaker) };
    let reasons = objections(&owed(), changed, &[&pytest::FRAMEWORK], false);
    assert_eq!(reasons[0].sentence, "test_calc.py was changed: test_adds changed");
}

#[test]
fn settings_must_keep_calling_redgreen() {
    let claude = ".claude/settings.json";
    let call = r#"{"type":"command","command":"redgreen hook claude","timeout":30}"#;
    let with = |more: &str| {
        format!(
            r#"{{"model":"opus",{more}"hooks":{{"Stop":[{{"hooks":[{call}]}}],"Other":[{{"hooks":[{{"command":"lint"}}]}}]}}}}"#
        )
    };
    let old = with("");
    let js = "// calls redgreen\n";
    let toml = "model = \"x\"\n[features]\nhooks = true\n";
    for (path, old, new, free) in [
        (claude, Some(old.as_str()), old.clone(), true),
        (claude, Some(&old), format!("{old}\n"), true),
        (claude, Some(&old), old.replace("opus", "sonnet"), true),
        (claude, Some(&old), old.replace("lint", "format"), true),
        (claude, Some(&old), old.replace(call, &format!("{call},{{\"command\":\"x\"}}")), true),
        (claude, Some(&old), with("\"permissions\":{\"allow\":[\"Bash(ls)\"]},"), true),
        (claude, Some(&old), "{}".to_owned(), false),
        (claude, Some(&old), old.replace(call, "{\"command\":\"true\"}"), false),
        (claude, Some(&old), old.replace("30", "1"), false),
        (claude, Some(&old), old.replace("\"Stop\"", "\"SessionEnd\""), false),
        (
            claude,
            Some(&old),
            old.replace("{\"hooks\":[{\"type", "{\"matcher\":\"x\",\"hooks\":[{\"type"),
            false,
        ),
        (claude, Some(&old), with("\"disableAllHooks\":true,"), false),
        (
            claude,
            Some(&old),
            "{\"a\":\"redgreen redgreen redgreen hook redgreen\"}".to_owned(),
            false,
        ),
        (claude, Some(&old), "{".to_owned(), false),
        (claude, Some("// mine\n{}"), "{}".to_owned(), false),
        (claude, None, "{}".to_owned(), true),
        (claude, None, "{\"model\":\"opus\"}".to_owned(), true),
        (claude, None, with(""), true),
        (".claude/settings.local.json", None, "{\"disableAllHooks\": true}".to_owned(), false),
        ("pkg/.claude/settings.local.json", None, "{\"disableAllHooks\": true}".to_owned(), false),
        ("my.claude/settings.json", None, "{\"disableAllHooks\": true}".to_owned(), true),
        (
            ".gemini/settings.json",
            Some("{}"),
            "{\"hooks\":{\"disabled\":[\"redgreen\"]}}".to_owned(),
            false,
        ),
        (
            ".gemini/settings.json",
            Some("{}"),
            "{\"hooksConfig\":{\"enabled\":false}}".to_owned(),
            false,
        ),
        (
            ".gemini/settings.json",
            Some("{}"),
            "{\"tools\":{\"enableHooks\":false}}".to_owned(),
            false,
        ),
        (".codex/config.toml", Some(toml), toml.replace("\"x\"", "\"y\""), true),
        (".codex/config.toml", Some(toml), toml.replace("true", "false"), false),
        (".codex/config.toml", Some(toml), "[".to_owned(), false),
        (".opencode/plugin/redgreen.js", Some(js), js.to_owned(), true),
        (".opencode/plugin/redgreen.js", Some(js), format!("{js}process.exit()"), false),
        (".opencode/plugin/redgreen.js", None, js.to_owned(), true),
    ] {
        let found = held(&Stage::Open, path, old, NextPhase::Text(&new), false);
        assert_eq!(found.is_empty(), free, "{path}: {new}");
    }
    for new in [NextPhase::Gone, NextPhase::Unknown] {
        assert!(!held(&Stage::Open, claude, Some(&old), new, false).is_empty(), "{new:?}");
    }
}

#[test]
fn changed_files_decide_the_next_phase() {
    let inner = "#[cfg(test)]\nmod tests {\n    #[test]\n    fn adds() { assert_eq!(super::add(1, 2), 3); }\n}\n";
    let code = "pub fn add(_: u8, _: u8) -> u8 { 0 }\n";
    let (with_tests, other) =
        (format!("{code}{inner}"), format!("pub fn add(_: u8, _: u8) -> u8 {{ 1 + 2 }}\n{inner}"));
    let stub = format!("{code}pub fn sub(_: u8, _: u8) -> u8 {{ todo!() }}\n");
    let (none, changed, added) = (TestChange::None, TestChange::Existing, TestChange::New);
    for (path, class, old, new, expected) in [
        ("test_calc.py", Class::Test, "", TEST, (added, false)),
        ("test_calc.py", Class::Test, TEST, &TEST.replace("3", "4"), (changed, false)),
        ("tests/data.json", Class::Test, "1", "2", (changed, false)),
        ("calc.py", Class::Implementation, "a = 1\n", "a = 2\n", (none, true)),
        ("calc.py", Class::Stub, "", "def add(a, b): ...\n", (none, false)),
        ("src/lib.rs", Class::Mixed, code, &with_tests, (added, false)),
        ("src/lib.rs", Class::Mixed, &with_tests, &other, (none, true)),
        ("src/lib.rs", Class::Mixed, code, &other, (added, true)),
        ("src/lib.rs", Class::Mixed, code, &stub, (none, false)),
        ("README.md", Class::Documentation, "a", "b", (none, false)),
        ("pytest.ini", Class::RunnerConfig, "", "[pytest]\n", (none, false)),
        ("redgreen.toml", Class::RunnerConfig, "", "[test]\nmutants = 0\n", (none, false)),
    ] {
        let kind = if old.is_empty() { Kind::Added } else { Kind::Modified };
        let changed = ChangedPath { path: path.to_owned(), kind, class };
        let CandidateParts { tests, code, settings } = touched(&changed, Some(old), Some(new));
        assert_eq!((tests, code), expected, "{path}: {new}");
        assert_eq!(settings, path == "redgreen.toml", "{path}");
    }
}
