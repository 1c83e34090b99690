//! `approve --push`, and the URL to open a pull request.

use super::Story;
use super::scripts::{DONE, GREEN, PLAN, RED};

/// A run for `feature` that waits for approval, in a repository whose remote is next to it.
fn waiting() -> Story {
    let story = Story::new();
    let remote = story.place("remote.git").display().to_string();
    story.git(&format!("init -q --bare -b main {remote}"));
    story.git(&format!("remote add origin {remote}"));
    story.git("push -q -u origin main");
    story.git("remote set-head origin main");
    story.git("switch -q -c feature");
    story.script("kata.toml", &[PLAN, RED, GREEN, DONE].concat());
    story.redgreen("run --script @kata.toml an adder").exits(3);
    story
}

fn there(story: &Story, branch: &str) -> String {
    let remote = story.place("remote.git").display().to_string();
    story
        .git(&format!("--git-dir={remote} for-each-ref --format=%(objectname) refs/heads/{branch}"))
}

/// The remote's URL points to GitHub, but `git push` goes to the folder.
fn on_github(story: &Story) {
    let remote = story.place("remote.git").display().to_string();
    story.git("remote set-url origin git@github.com:ada/calc.git");
    story.git(&format!("remote set-url --push origin {remote}"));
}

#[test]
fn fault_16_approve_push_pushes_the_target_and_names_the_page_for_a_pull_request() {
    let story = waiting();
    story
        .redgreen("approve --push")
        .exits(2)
        .says("feature has no upstream")
        .says("nothing was merged");
    story.redgreen("status").exits(0).says("waiting for a human");
    story.git("push -q -u origin feature");
    on_github(&story);
    let said =
        story.redgreen("approve --push").exits(0).says("pushed").says("feature to origin/feature");
    said.says("https://github.com/ada/calc/compare/feature?expand=1");
    assert_eq!(there(&story, "feature"), story.git("rev-parse feature"));
    story.redgreen("undo").exits(1).says("it is already pushed");
}

#[test]
fn fault_16_approve_without_push_says_how_to_push() {
    let story = waiting();
    story.git("push -q -u origin feature");
    on_github(&story);
    let before = there(&story, "feature");
    let said = story
        .redgreen("approve")
        .exits(0)
        .says("git push origin feature")
        .says("(once it is pushed)");
    said.says("https://github.com/ada/calc/compare/feature?expand=1").says("redgreen undo");
    assert_eq!(there(&story, "feature"), before, "nothing is pushed without being asked for");
}

#[test]
fn fault_16_a_push_that_is_refused_leaves_the_merge_and_says_so() {
    let story = waiting();
    story.git("push -q -u origin feature");
    let hook = story.place("remote.git/hooks/pre-receive");
    std::fs::create_dir_all(hook.parent().unwrap()).unwrap();
    std::fs::write(&hook, "#!/bin/sh\necho not on a sunday\nexit 1\n").unwrap();
    assert!(story.command("chmod").arg("755").arg(&hook).status().unwrap().success());
    let said = story
        .redgreen("approve --push")
        .exits(4)
        .says("feature is merged, but could not be pushed");
    said.says("not on a sunday").says("git push origin feature").says("redgreen undo");
    story.redgreen("undo").exits(0).says("undone");
    let run = story.redgreen("--json approve --push").exits(4).json();
    assert_eq!(run["error"]["exitCode"], 4);
}
