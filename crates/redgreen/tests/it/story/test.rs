//! `redgreen test`: its output for a person and for a script.

use std::fs;

use super::Story;

const MIXED: &str = "import pytest, time\n\
                     def test_adds():\n    time.sleep(0.15)\n\
                     def test_subtracts():\n    assert 3 - 1 == 1, 'bad \\x1b[31msum'\n\
                     @pytest.mark.skip(reason='later')\n\
                     def test_divides():\n    pass\n";

fn story() -> Story {
    let story = Story::pytest();
    story
        .file("tests/test_calc.py", MIXED)
        .file("tests/test_more.py", "def test_more():\n    pass\n");
    story.commit("tests");
    story
}

#[test]
fn failures_come_first_and_the_counts_last() {
    let story = story();
    let before = story.belongings();
    let said = story.redgreen("test").exits(1);
    assert!(
        said.stdout
            .starts_with("failed  tests/test_calc.py::test_subtracts\n  tests/test_calc.py:"),
        "{}",
        said.stdout
    );
    assert!(!said.stdout.contains('\u{1b}'), "no colour where no terminal is: {:?}", said.stdout);
    let last: Vec<&str> = said.stdout.lines().rev().take(2).collect();
    assert_eq!(last[0], "  next  redgreen test tests/test_calc.py::test_subtracts");
    assert!(last[1].starts_with("1 failed, 2 passed, 1 skipped in "), "{}", last[1]);
    said.says("slowest    0.").says("skipped  1 (--verbose names them)").says("bad sum");
    story
        .redgreen("test --verbose")
        .exits(1)
        .says("skipped tests/test_calc.py::test_divides  Skipped: later");
    let mut after = story.belongings();
    // The runner's own caches, which redgreen does not control.
    after.retain(|path, _| !path.contains("__pycache__"));
    assert_eq!(before, after, "the checkout is as it was");
}

#[test]
fn a_file_a_folder_or_an_id_is_enough() {
    let story = story();
    story.redgreen("test tests/test_more.py").exits(0).says("1 passed in ");
    story.redgreen("test tests").exits(1).says("1 failed, 2 passed, 1 skipped in ");
    story
        .redgreen("test tests/test_calc.py::test_adds tests/test_more.py")
        .exits(0)
        .says("2 passed in ");
    story.redgreen("-C tests test test_more.py").exits(0).says("1 passed in ");
}

#[test]
fn what_matches_nothing_is_not_a_success() {
    let story = story();
    let unknown =
        story.redgreen("test tests/test_calc.py::test_add").exits(2).says("no tests matched");
    unknown.says("did you mean tests/test_calc.py::test_adds").says("next  redgreen test --list");
    story
        .redgreen("test nonsense")
        .exits(2)
        .says("no tests matched: pytest has no test \"nonsense\"");
    story
        .redgreen("test pytest.ini")
        .exits(2)
        .says("no tests matched: pytest runs none in pytest.ini");
    story.redgreen("test --list tests").exits(2);
}

#[test]
fn what_could_not_run_is_told_from_what_failed() {
    let story = Story::bare_folder();
    story.redgreen("test").exits(4).says("no test framework found");
    story.file("pytest.ini", "[pytest]\n");
    story.redgreen("test").exits(4).says("no tests found");
    story.file("test_a.py", "import nowhere\n");
    story
        .redgreen("test")
        .exits(1)
        .says("test_a.py could not be loaded")
        .says("No module named 'nowhere'");
    story.file("test_a.py", "import time\ndef test_hangs():\n    time.sleep(600)\n");
    let hangs = |limit: &u32| {
        let said = story.redgreen(&format!("test --timeout {limit}")).exits(1);
        said.stdout.contains("hung    test_a.py::test_hangs")
            && said.stdout.contains("timed out, 1 failed")
    };
    assert!(super::LIMITS.iter().any(hangs), "the test that hangs is never named");
    story.redgreen("test --timeout -1").exits(2);
}

#[test]
fn programs_get_json_or_junit() {
    let story = story();
    let answer = story.redgreen("--json test").exits(1).json();
    assert_eq!((&answer["version"], &answer["outcome"]), (&1.into(), &"failed".into()));
    assert_eq!((&answer["counts"]["passed"], &answer["counts"]["failed"]), (&2.into(), &1.into()));
    assert_eq!(answer["report"]["tests"][1]["id"], "tests/test_calc.py::test_subtracts");
    let listed = story.redgreen("--json test --list").exits(0).json();
    assert_eq!(listed["tests"].as_array().map(Vec::len), Some(4));
    let file = story.place("report.xml");
    story.redgreen("test --junit @report.xml").exits(1);
    let xml = fs::read_to_string(file).unwrap();
    assert!(xml.contains("tests=\"4\" failures=\"1\" errors=\"0\" skipped=\"1\""), "{xml}");
    assert_eq!(story.redgreen("--json test nonsense").exits(2).json()["error"]["exitCode"], 2);
}

#[test]
fn several_frameworks_give_one_report() {
    let story = Story::bare_folder();
    story
        .file("pytest.ini", "[pytest]\n")
        .file("test_a.py", "def test_a():\n    pass\n")
        .file(
            "Cargo.toml",
            "[package]\nname = \"demo\"\nversion = \"0.1.0\"\nedition = \"2021\"\n[workspace]\n",
        )
        .file(
            "src/lib.rs",
            "#[test]\nfn works() {}\n#[test]\nfn fails() { panic!(\"not yet\") }\n",
        );
    let said = story.redgreen("test").exits(1).says("1 failed, 2 passed in ").says("not yet");
    said.says("redgreen test demo::fails");
    story.redgreen("test demo::works test_a.py").exits(0).says("2 passed in ");
    story.redgreen("test --list").exits(0).says("test_a.py::test_a").says("demo::works");
}

#[test]
fn a_command_of_the_settings_is_what_runs() {
    let story = story();
    story.file("redgreen.toml", "[test]\ncommand = \"test -f ready\"\n");
    story.redgreen("test").exits(1).says("exit code only: test -f ready").says("1 failed in ");
    story.redgreen("test --list").exits(4).says("command lists no tests");
    story.file("ready", "");
    story.redgreen("test").exits(0).says("1 passed in ");
}
