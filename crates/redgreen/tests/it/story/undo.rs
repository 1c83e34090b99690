//! `redgreen undo` reverts the last merge if that loses nothing. Otherwise it names the command to
//! type.

use std::fs;
use std::sync::OnceLock;

use super::Story;
use super::scripts::{DONE, GREEN, PLAN, RED, turn};

const SIGKILL: i32 = 9;

/// A merged run, in a project with one file that the run changes and one that it does not.
fn merged() -> Story {
    static MERGED: OnceLock<Story> = OnceLock::new();
    Story::copy_of(&MERGED, |story| {
        story
            .file("calc.py", "# nothing yet\n")
            .file("mine.py", "VALUE = 1\n")
            .file("old.py", "OLD = 1\n");
        story.commit("shared code");
        let tidy = turn("refactor", r#"{ delete = "old.py" }"#);
        story.script("kata.toml", &[PLAN, RED, GREEN, &tidy, DONE].concat());
        story.redgreen("run --script @kata.toml an adder").exits(3);
        story.redgreen("approve").exits(0).says("redgreen undo");
        assert!(!story.root.join("old.py").exists());
    })
}

#[test]
fn fault_16_undo_takes_the_last_approve_back_and_keeps_every_change_of_yours() {
    let story = merged();
    let merge = story.git("rev-parse main");
    story.file("mine.py", "VALUE = 2\n").file("untracked.txt", "mine\n");
    story.redgreen("undo").exits(0).says("undone: main is restored").says("redgreen approve");
    assert_eq!(story.git("rev-parse main"), story.git(&format!("rev-parse {merge}^1")));
    assert_eq!(fs::read_to_string(story.root.join("calc.py")).unwrap(), "# nothing yet\n");
    assert_eq!(fs::read_to_string(story.root.join("mine.py")).unwrap(), "VALUE = 2\n");
    assert!(story.root.join("untracked.txt").exists() && story.root.join("old.py").exists());
    assert_eq!(story.git("status --porcelain"), " M mine.py\n?? untracked.txt");
    story.redgreen("salvage").exits(0).says("an undone merge");
    // The run waits again, with all its work.
    story.redgreen("status").exits(0).says("waiting for a human").says("redgreen approve");
    story.redgreen("why").exits(0).says("waiting for a human");
    story.branch();
    story.redgreen("approve").exits(0).says("merged");
    assert_eq!(
        story.git("rev-parse main^2"),
        story.git(&format!("rev-parse {merge}^2")),
        "the same work"
    );
    story.redgreen("undo").exits(0);
    story.redgreen("abort").exits(0);
    story.redgreen("undo").exits(2).says("this repository has no merged run");
}

#[test]
fn fault_16_undo_takes_a_squash_back_too() {
    let story = Story::waiting();
    let before = story.git("rev-parse main");
    story.redgreen("approve --squash").exits(0).says("redgreen undo");
    assert_eq!(story.git("rev-parse main^"), before);
    story.redgreen("salvage").exits(0).says("the commits that `approve --squash` squashed");
    story.redgreen("undo").exits(0).says("undone: main is restored");
    assert_eq!(
        (story.git("rev-parse main"), story.git("status --porcelain")),
        (before.clone(), String::new())
    );
    assert!(!story.root.join("calc.py").exists());
    story.redgreen("status").exits(0).says("waiting for a human");
    // An undone merge can be repeated in another form.
    story.redgreen("approve").exits(0).says("merged");
    assert_eq!(story.git("log -1 --format=%P").split(' ').count(), 2);
    story.redgreen("undo").exits(0);
    story.redgreen("approve --squash").exits(0).says("merged");
    assert_eq!(story.git("rev-parse main^"), before);
}

#[test]
fn fault_16_undo_does_nothing_where_it_is_not_safe() {
    let story = merged();
    let merge = story.git("rev-parse main");
    let revert = format!("next  git revert -m 1 {merge}");

    story.file("calc.py", "# changed by me\n");
    let before = story.belongings_but_times();
    story.redgreen("undo").exits(1).says("git refuses to overwrite your changes").says("calc.py");
    assert_eq!(story.belongings_but_times(), before);
    story.git("checkout -q calc.py");

    story.file("mine.py", "VALUE = 3\n");
    story.git("add mine.py");
    let before = story.belongings_but_times();
    story.redgreen("undo").exits(1).says("changes are staged");
    assert_eq!(story.belongings_but_times(), before);
    story.git("reset -q --hard");

    fs::write(story.root.join(".git/info/exclude"), "old.py\n").unwrap();
    story.file("old.py", "ignored, and mine\n");
    let before = story.belongings_but_times();
    story.redgreen("undo").exits(1).says("your files block files to restore").says("old.py");
    assert_eq!(story.belongings_but_times(), before);
    fs::remove_file(story.root.join("old.py")).unwrap();
    story.redgreen("status").exits(0).says("merged into main");
    assert_eq!(
        story.git("for-each-ref refs/heads/redgreen refs/redgreen"),
        "",
        "nothing is left of the tries"
    );

    let remote = story.place("remote.git").display().to_string();
    story.git(&format!("init -q --bare {remote}"));
    story.git(&format!("remote add origin {remote}"));
    story.git("push -q -u origin main");
    story.redgreen("undo").exits(1).says("it is already pushed: origin/main").says(&revert);
    story.git("update-ref -d refs/remotes/origin/main");

    story.file("more.py", "");
    story.commit("more");
    story.redgreen("undo").exits(1).says("main has newer commits").says(&revert);
    assert_eq!(story.git("log -1 --format=%s"), "more");
    story.redgreen("approve").exits(2).says("no run is open");
}

#[test]
fn fault_16_undo_works_where_the_branch_is_not_checked_out() {
    let story = merged();
    let merge = story.git("rev-parse main");
    story.git("switch -q -c other");
    let before = story.belongings();
    story.redgreen("undo").exits(0);
    assert_eq!(story.git("rev-parse main"), story.git(&format!("rev-parse {merge}^1")));
    let mut after = story.belongings();
    after.insert("refs/heads/main".to_owned(), before["refs/heads/main"].clone());
    assert_eq!(after, before, "only the branch moved");
}

#[test]
fn fault_16_undo_that_was_killed_is_finished_by_the_next_one() {
    for at in ["before:1", "after:1", "before:2", "after:2"] {
        let story = merged();
        let merge = story.git("rev-parse main");
        let story = story.env("REDGREEN_KILL_AT", at);
        assert_eq!(story.redgreen("undo").signal, Some(SIGKILL), "{at}");
        let story = story.env("REDGREEN_KILL_AT", "");
        story.redgreen("status").exits(0);
        story.redgreen("undo").exits(0);
        assert_eq!(story.git("rev-parse main"), story.git(&format!("rev-parse {merge}^1")), "{at}");
        assert_eq!(story.git("status --porcelain"), "", "{at}");
        story.redgreen("status").exits(0).says("waiting for a human");
        story.redgreen("approve").exits(0).says("merged");
    }
}

#[test]
fn fault_16_undo_continues_from_a_checkout_that_git_left_half_way() {
    for half in ["files", "index"] {
        let story = merged();
        let merge = story.git("rev-parse main");
        let story = story.env("REDGREEN_KILL_AT", "before:1");
        assert_eq!(story.redgreen("undo").signal, Some(SIGKILL));
        let story = story.env("REDGREEN_KILL_AT", "");
        // Git was killed after it had written some files, or all of them and the index.
        match half {
            "files" => {
                story.file("calc.py", "# nothing yet\n");
                fs::remove_file(story.root.join("test_add.py")).unwrap();
            }
            _ => drop(story.git(&format!("read-tree -u -m {merge} {merge}^1"))),
        }
        story.redgreen("undo").exits(0);
        assert_eq!(
            story.git("rev-parse main"),
            story.git(&format!("rev-parse {merge}^1")),
            "{half}"
        );
        assert_eq!(story.git("status --porcelain"), "", "{half}");
    }
}
