//! A run from request to merge.

use super::Story;

#[test]
fn a_run_ends_with_four_commits_a_cycle_a_note_on_each_and_a_question() {
    let story = Story::calculator();
    let before = story.belongings();
    let said = story.redgreen("run --script @kata.toml \"a calculator\"").exits(3).says("waiting for a human");
    let last = said.stdout.lines().last().unwrap();
    assert!(last.trim_start().starts_with("next ") && last.contains("redgreen approve"), "{}", said.stdout);
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
    assert_eq!(story.git("show HEAD:test-list.md").matches("- [x]").count(), 3);
    assert_eq!(story.git("for-each-ref refs/heads/redgreen refs/redgreen/work"), "");
    assert_eq!(story.git("worktree list --porcelain").matches("worktree ").count(), 1);
}
