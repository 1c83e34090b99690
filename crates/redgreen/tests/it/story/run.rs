//! A run from request to merge.

use super::Story;

#[test]
fn a_run_ends_with_four_commits_a_cycle_a_note_on_each_and_a_question() {
    let story = Story::calculator();
    let before = story.belongings();
    let said = story
        .redgreen("run --script @kata.toml \"a calculator\"")
        .exits(3)
        .says("waiting for a human");
    let last = said.stdout.lines().last().unwrap();
    assert!(
        last.trim_start().starts_with("next ") && last.contains("redgreen approve"),
        "{}",
        said.stdout
    );
    assert_eq!(story.belongings(), before, "the user's checkout was touched");

    let branch = story.branch();
    assert_eq!(
        story.log(&format!("main..{branch}")),
        [
            "plan: adds two numbers",
            "test: adds two numbers",
            "feat: adds two numbers",
            "refactor: no changes needed",
            "plan: subtracts",
            "test: subtracts",
            "feat: subtracts",
            "refactor: subtracts",
            "plan: multiplies",
            "test: multiplies",
            "feat: multiplies",
            "refactor: no changes needed",
            "plan: every test of the list is done",
        ]
    );
    for commit in story.git(&format!("rev-list main..{branch}")).lines() {
        let note = story.git(&format!("notes --ref=tdd-handoffs show {commit}"));
        let note: serde_json::Value = serde_json::from_str(&note).unwrap();
        assert_eq!(note["version"], 1);
    }

    story.redgreen("approve").exits(0).says("merged");
    assert_eq!(story.git("status --porcelain"), "");
    assert_eq!(story.git("log -1 --format=%P").split(' ').count(), 2, "a merge commit");
    assert_eq!(story.git("show HEAD^2~1:test-list.md").matches("- [x]").count(), 3);
    assert!(
        !story.git("ls-tree --name-only HEAD").contains("test-list.md"),
        "the list stays in the run's commits"
    );
    assert_eq!(story.git("for-each-ref refs/heads/redgreen refs/redgreen/work"), "");
    assert_eq!(story.git("worktree list --porcelain").matches("worktree ").count(), 1);
}

#[test]
fn what_tests_leave_lying_about_is_in_no_commit() {
    let story = Story::calculator();
    story
        .file("tests/test_litter.py", "import unittest\n\n\nclass Tests(unittest.TestCase):\n    \
                                       def test_litters(self):\n        open('litter.txt', 'w').close()\n");
    story.commit("a test that litters");
    story.redgreen("run --script @kata.toml \"a calculator\"").exits(3);
    let files = story.git(&format!("ls-tree -r --name-only {}", story.branch()));
    assert!(files.contains("calc.py") && !files.contains("litter.txt"), "{files}");
}

#[test]
fn work_that_was_not_accepted_yet_outlives_an_abort_and_a_rollback() {
    // The second GREEN never starts: the wrong first one uses up the budget.
    let script = crate::story::CALCULATOR
        .replacen("return a + b", "return a - b", 1)
        .replace("[[refactor]]\n\n", "");
    let script = script.replacen("[[green]]\n", "[[green]]\ntokens = 1000\n", 1);
    for (verb, wanted) in [("abort", "aborted"), ("rollback", "rolled-back")] {
        let story = Story::new();
        story.script("kata.toml", &script);
        story.redgreen("run --script @kata.toml --budget-tokens 1000 \"a calculator\"").exits(5);
        let line = match verb {
            "rollback" => format!("rollback {}~1", story.branch()),
            _ => verb.to_owned(),
        };
        story.redgreen(&line).exits(0);
        let salvages = story.redgreen("salvage --json").json();
        let names: Vec<&str> = salvages["salvages"]
            .as_array()
            .unwrap()
            .iter()
            .map(|item| item["name"].as_str().unwrap())
            .collect();
        let kept = names.iter().any(|name| {
            name.ends_with(wanted)
                && story
                    .git(&format!("ls-tree --name-only refs/redgreen/salvage/{name}"))
                    .contains("calc.py")
        });
        assert!(kept, "{verb}: {names:?}");
    }
}

/// The baseline has a longer time limit than GREEN. A suite that was slow before is not the code's
/// fault.
#[test]
fn a_slow_suite_is_not_held_against_the_code() {
    let story = Story::calculator();
    story.file("redgreen.toml", "[timeout]\ngreen = 0.5\n");
    story
        .file(
            "test_slow.py",
            "import unittest\nimport time\n\n\nclass Tests(unittest.TestCase):\n    \
                               def test_slow(self):\n        time.sleep(0.8)\n",
        )
        .commit("slow");
    story.redgreen("run --script @kata.toml --max-cycles 1 \"a calculator\"").exits(5);
    let status = story.redgreen("status --json").json();
    assert_eq!(status["runs"][0]["completedTests"][0], "adds two numbers", "{status}");
}
