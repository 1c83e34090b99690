//! The merge: with the user's hooks, with the branch checked out or not, and after it moved.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::sync::OnceLock;

use super::Story;
use super::scripts::{DONE, GREEN, PLAN, RED, RED_PYTEST};

fn hook(story: &Story, name: &str, text: &str) {
    let path = story.root.join(".git/hooks").join(name);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(&path, format!("#!/bin/sh\n{text}\n")).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
}

fn is_merge(story: &Story, commit: &str) -> bool {
    story.git(&format!("log -1 --format=%P {commit}")).split(' ').count() == 2
}

#[test]
fn hooks_are_asked_and_a_no_leaves_everything_as_it_was() {
    let story = Story::waiting();
    hook(&story, "pre-merge-commit", "echo not on a sunday >&2; exit 1");
    hook(&story, "commit-msg", "echo 'Reviewed-by: the hook' >> \"$1\"");
    let before = story.belongings_but_times();
    let said = story.redgreen("approve").exits(3).says("not on a sunday");
    assert!(said.stdout.lines().last().unwrap().contains("redgreen approve"), "{}", said.stdout);
    assert_eq!(story.belongings_but_times(), before);
    story.redgreen("why").exits(0).says("not on a sunday").says("a human approves");
    hook(&story, "pre-merge-commit", "exit 0");
    story.redgreen("approve").exits(0).says("merged");
    assert!(story.git("log -1 --format=%B").contains("Reviewed-by: the hook"));
}

#[test]
fn a_signature_that_cannot_be_made_blocks_the_merge() {
    let story = Story::waiting();
    story.git("config commit.gpgsign true");
    story.git("config gpg.program false");
    let before = story.belongings_but_times();
    story.redgreen("approve").exits(3).says("signing");
    assert_eq!(story.belongings_but_times(), before);
    story.git("config commit.gpgsign false");
    story.redgreen("approve").exits(0);
}

#[test]
fn a_branch_that_moved_is_tested_together_with_the_run() {
    let story = Story::waiting();
    story.file("elsewhere.py", "OTHER = 2\n");
    story.commit("meanwhile");
    story.redgreen("approve").exits(0).says("merged");
    assert!(is_merge(&story, "main"));

    let story = Story::waiting();
    // In Python, a package takes precedence over a module of the same name.
    story.file("calc/__init__.py", "def add(a, b):\n    return 0\n");
    story.commit("right by itself");
    let before = story.belongings_but_times();
    let said = story
        .redgreen("approve")
        .exits(3)
        .says("main has moved, and the tests fail after merging it");
    assert!(said.stdout.contains("test_add.Tests.test_adds"), "{}", said.stdout);
    assert_eq!(story.belongings_but_times(), before);
    story.git("rm -q -r calc");
    story.commit("out of the way");
    story.redgreen("approve").exits(0);
}

const OLD_TESTS: &str = "import unittest\n\n\nclass Tests(unittest.TestCase):\n    \
                         def test_kept(self):\n        pass\n\n    def test_dropped(self):\n        pass\n";

/// A run that waits for a human, in a project with older tests.
fn waiting_with_old_tests() -> Story {
    static WAITING: OnceLock<Story> = OnceLock::new();
    Story::copy_of(&WAITING, |story| {
        story.file("test_old.py", OLD_TESTS).commit("old tests");
        story.script("kata.toml", &[PLAN, RED, GREEN, DONE].concat());
        story.redgreen("run --script @kata.toml \"an adder\"").exits(3);
    })
}

#[test]
fn a_test_that_others_deleted_on_the_target_branch_is_no_hindrance() {
    let story = waiting_with_old_tests();
    story
        .file("test_old.py", OLD_TESTS.split("\n\n    def").next().unwrap())
        .commit("one test less");
    story.redgreen("approve").exits(0).says("merged");
    assert!(is_merge(&story, "main"));
    assert!(!fs::read_to_string(story.root.join("test_old.py")).unwrap().contains("test_dropped"));

    // The same result if a person merges the target branch into the run's branch, as they must
    // after a conflict.
    let story = waiting_with_old_tests();
    story.git("rm -q test_old.py");
    story.file("calc.py", "# a calculator of mine\n").commit("no old tests, and a file of mine");
    story.redgreen("approve").exits(3).says("git merge main");
    let branch = story.branch();
    let code = story.git(&format!("show {branch}:calc.py"));
    story.git(&format!("switch -q {branch}"));
    assert!(!story.command("git").args(["merge", "-q", "main"]).status().unwrap().success());
    story.file("calc.py", &format!("# a calculator of mine\n{code}\n"));
    story.git("add calc.py");
    story.git("commit -q --no-edit");
    story.git("switch -q main");
    story.redgreen("approve").exits(0).says("merged");
}

#[test]
fn a_test_that_only_the_merge_loses_blocks_it() {
    // The target branch's new settings ignore the run's own test. A test that the target branch
    // deleted is no excuse for that.
    let old = "def test_kept():\n    pass\n\n\ndef test_dropped():\n    pass\n";
    let story = Story::pytest();
    story.file("test_old.py", old).commit("old tests");
    story.script("kata.toml", &[PLAN, RED_PYTEST, GREEN, DONE].concat());
    story.redgreen("run --script @kata.toml \"an adder\"").exits(3);
    story.file("test_old.py", old.split("\n\n\n").next().unwrap());
    story.file("conftest.py", "collect_ignore = ['test_add.py']\n").commit("fewer tests");
    let said = story.redgreen("approve").exits(3).says(
        "test_add.py::test_adds passed before and is now \
                        missing",
    );
    assert!(!said.stdout.contains("test_dropped"), "{}", said.stdout);

    // A test file that the target branch broke does not count as deleted.
    let story = waiting_with_old_tests();
    story
        .file(
            "test_old.py",
            "import unittest\n\n\nclass Tests(unittest.TestCase):\n    \
                               def test_kept(:\n",
        )
        .commit("broken");
    story.redgreen("approve").exits(3).says("the tests fail after merging it");
}

#[test]
fn a_conflict_names_the_paths() {
    let story = Story::waiting();
    story.file("calc.py", "# a calculator of mine\n");
    story.commit("meanwhile");
    let before = story.belongings_but_times();
    story.redgreen("approve").exits(3).says("main has moved, and both sides changed calc.py");
    assert_eq!(story.belongings_but_times(), before);
    story.redgreen("abort").exits(0).says("aborted");
}

#[test]
fn the_branch_may_be_checked_out_elsewhere_or_nowhere() {
    let story = Story::waiting();
    story.git("switch -q -c other");
    let other = story.place("elsewhere").display().to_string();
    let added =
        story.command("git").args(["worktree", "add", "-q", &other, "main"]).output().unwrap();
    assert!(added.status.success(), "{added:?}");
    story.redgreen("approve").exits(0).says("merged");
    assert!(is_merge(&story, "main"));
    assert!(fs::read_to_string(format!("{other}/calc.py")).unwrap().contains("return a + b"));
    assert!(!story.root.join("calc.py").exists(), "this checkout is of another branch");

    let story = Story::waiting();
    story.git("switch -q -c other");
    story.redgreen("approve").exits(0).says("merged");
    assert!(is_merge(&story, "main"));
    assert!(!story.root.join("calc.py").exists());
    assert_eq!(story.git("worktree list --porcelain").matches("worktree ").count(), 1);
}
