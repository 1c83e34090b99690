//! `redgreen doctor` reports whether a run can start, what it checked, and how to fix each problem.

use serde_json::Value;

use super::{ProgramOutput, Story};

/// The findings of all checks with this name.
fn findings(answer: &Value, name: &str) -> Vec<String> {
    let checks = answer["checks"].as_array().unwrap();
    let named = checks.iter().filter(|check| check["name"] == name);
    named
        .map(|check| {
            format!("{}: {}", check["finding"].as_str().unwrap(), check["saw"].as_str().unwrap())
        })
        .collect()
}

#[track_caller]
fn finds(said: &ProgramOutput, name: &str, words: &str) {
    let found = findings(&said.json(), name);
    assert!(found.len() == 1 && found[0].contains(words), "{name}: {found:?} instead of {words:?}");
}

#[test]
fn a_project_that_works_is_proved_to_work() {
    let story = Story::pytest();
    story.file("test_a.py", "def test_one():\n    pass\ndef test_two():\n    assert False\n");
    story.commit("tests");
    let before = story.belongings();
    let said = story.redgreen("--json doctor").exits(0);
    assert_eq!(said.json()["ready"], true);
    finds(&said, "git", "good: git version 2.");
    finds(&said, "repository", "good: on main at ");
    finds(&said, "identity", "good: Ada <ada@example.com>");
    finds(&said, "settings", "good: all keys and values are valid");
    finds(&said, "framework", "good: pytest in the root");
    finds(
        &said,
        "suite",
        "note: red: 1 passed, 1 failed, 0 skipped\nfails before any change: test_a.py::test_two",
    );
    finds(&said, "one test", "good: only this test ran");
    finds(&said, "no test", "good: no test ran");
    finds(&said, "list", "good: 2 listed, 2 ran");
    finds(&said, "worktrees", "good: ");
    finds(&said, "linter", "good: none");
    finds(&said, "agents", "good: ");
    finds(&said, "worker", "note: no agent is configured, and no usable one was found");
    finds(&said, "sandbox", "tests and agents run in: ");
    assert_eq!(findings(&said.json(), "coverage").len(), 1);
    assert_eq!(before, story.belongings(), "the checkout is as it was");
}

#[test]
fn who_would_work_is_reported_as_the_run_finds_out() {
    let story = Story::pytest();
    story.file("test_a.py", "def test_one():\n    pass\n").commit("tests");
    let said = story.redgreen("doctor").exits(0).says("ready, but no agent is configured");
    said.says("fix  log in to an agent (redgreen agents)").says("next  redgreen agents");

    let story = story.env("ANTHROPIC_API_KEY", "sk-ant-test");
    let said = story.redgreen("doctor").exits(0).says("ready: a run would use built-in (");
    said.says("next  redgreen run");
}

#[test]
fn what_is_wrong_comes_with_the_fix() {
    let story = Story::bare_folder();
    let said = story.redgreen("doctor").exits(4);
    let said = said.says("is not in a git repository").says("fix  git init && git add -A");
    said.says("no test framework found").says("a run cannot start: 2 problems to fix");

    story.redgreen("-C nowhere doctor").exits(4).says("there is no folder nowhere");

    let story = Story::pytest();
    story.file("redgreen.toml", "max-retrys = 3\n").file("conftest.py", "import nowhere\n");
    story.git("config --unset user.email");
    let said = story.redgreen("doctor").exits(4).says("did you mean `max-retries`?");
    said.says("fix  git config user.name")
        .says("the test runner could not start")
        .says("No module named 'nowhere'");
}

#[test]
fn what_only_running_can_show_is_shown() {
    let story = Story::pytest();
    story.file("test_a.py", "import time\ndef test_hangs():\n    time.sleep(600)\n");
    let names_the_test = |limit: &u32| {
        let settings = format!(
            "[timeout]\nred = {limit}\n[agent]\nscript = \"nowhere.toml\"\n[lint]\ncommands = [\"nolint --all\"]\n"
        );
        story.file("redgreen.toml", &settings);
        let said = story.redgreen("doctor").exits(4).says(&format!("not finished after {limit} s"));
        let said = said.says("how  python -m pytest (timed out, ");
        let said = said.says(&format!("timeout.red = {} in redgreen.toml", limit * 5));
        let said = said
            .says("nolint not found")
            .says("fix  correct agent.script")
            .says("3 problems to fix");
        said.stdout.contains("did not finish: test_a.py::test_hangs")
    };
    assert!(super::LIMITS.iter().any(names_the_test), "the test that hangs is never named");

    story
        .file("redgreen.toml", "")
        .file("test_a.py", "import os\ndef test_exits():\n    os._exit(0)\n");
    story
        .redgreen("doctor")
        .exits(4)
        .says("suite      did not finish: ")
        .says("did not finish: test_a.py::test_exits");

    story.file("test_a.py", "def test_fails():\n    assert False\n").file("ruff.toml", "");
    let said = story.redgreen("--json doctor").exits(0);
    finds(&said, "one test", "good: only this test ran");
    let story = story.env("PATH", "/usr/bin:/bin");
    story.redgreen("doctor").says("fix  pip install ruff");
}

#[test]
fn agents_on_the_path_are_asked_who_they_are() {
    let story = Story::bare_folder();
    let bin = story.place("bin");
    std::fs::create_dir_all(&bin).unwrap();
    for (name, text) in
        [("codex", "#!/bin/sh\necho codex-cli 9.9\n"), ("aider", "#!/bin/sh\nexit 1\n")]
    {
        std::fs::write(bin.join(name), text).unwrap();
        std::fs::set_permissions(
            bin.join(name),
            std::os::unix::fs::PermissionsExt::from_mode(0o755),
        )
        .unwrap();
    }
    let path = format!("{}:/usr/bin:/bin", bin.display());
    let said = story.env("PATH", &path).redgreen("--json doctor").exits(4);
    finds(&said, "agents", "codex: codex-cli 9.9; not logged in: codex login\n");
    finds(&said, "agents", "aider: ");
}

#[test]
fn a_command_of_the_settings_is_what_is_proved() {
    let story = Story::pytest();
    story.file("redgreen.toml", "[test]\ncommand = \"true\"\n");
    let said = story.redgreen("--json doctor").exits(0);
    finds(&said, "framework", "good: command in the root");
    finds(&said, "suite", "good: green: 1 passed");
    finds(&said, "one test", "good: only this test ran");
    finds(&said, "no test", "good: no test ran");
    let report = "<testsuite><testcase name='a'/></testsuite>";
    story
        .file("redgreen.toml", "[test]\ncommand = \"cp one.xml out.xml\"\nreport = \"out.xml\"\n")
        .file("one.xml", report);
    // The clean room contains only committed files.
    story.redgreen("doctor").exits(4).says(
        "it contains the last commit, not your uncommitted \
                    changes",
    );
    story.commit("a report");
    finds(
        &story.redgreen("--json doctor").exits(0),
        "one test",
        "note: the runner cannot run a \
                           single test",
    );
}
