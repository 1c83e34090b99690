//! `redgreen doctor`: says whether a run could start, what it looked at, and how to put right what is wrong.

use serde_json::Value;

use super::{Said, Story};

/// The findings of every check of a name.
fn findings(answer: &Value, name: &str) -> Vec<String> {
    let checks = answer["checks"].as_array().unwrap();
    let named = checks.iter().filter(|check| check["name"] == name);
    named.map(|check| format!("{}: {}", check["finding"].as_str().unwrap(), check["saw"].as_str().unwrap())).collect()
}

#[track_caller]
fn finds(said: &Said, name: &str, words: &str) {
    let found = findings(&said.json(), name);
    assert!(found.len() == 1 && found[0].contains(words), "{name}: {found:?} instead of {words:?}");
}

#[test]
fn a_project_that_works_is_proved_to_work() {
    let story = Story::new();
    story.file("test_a.py", "def test_one():\n    pass\ndef test_two():\n    assert False\n");
    story.commit("tests");
    let before = story.belongings();
    let said = story.redgreen("--json doctor").exits(0);
    assert_eq!(said.json()["ready"], true);
    finds(&said, "git", "good: git version 2.");
    finds(&said, "repository", "good: on main at ");
    finds(&said, "identity", "good: Ada <ada@example.com>");
    finds(&said, "settings", "good: every key is known");
    finds(&said, "framework", "good: pytest in the root");
    finds(&said, "suite", "note: red: 1 passed, 1 failed, 0 skipped; fails before any work: test_a.py::test_two");
    finds(&said, "one test", "good: exactly this one ran");
    finds(&said, "no test", "good: zero ran");
    finds(&said, "list", "good: 2 named, 2 ran");
    finds(&said, "worktrees", "good: ");
    assert_eq!(findings(&said.json(), "coverage").len(), 1);
    assert_eq!(before, story.belongings(), "the checkout is as it was");
}

#[test]
fn what_is_wrong_comes_with_the_fix() {
    let story = Story::bare_folder();
    let said = story.redgreen("doctor").exits(4);
    let said = said.says("is not in a git repository").says("fix  git init && git add -A");
    said.says("no test framework found").says("no run could start: 2 things to put right");

    let story = Story::new();
    story.file("redgreen.toml", "max-retrys = 3\n").file("conftest.py", "import nowhere\n");
    story.git("config --unset user.email");
    let said = story.redgreen("doctor").exits(4).says("did you mean `max-retries`?");
    said.says("fix  git config user.name").says("the runner refused to start");
}
