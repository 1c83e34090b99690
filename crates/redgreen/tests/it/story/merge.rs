//! The target branch gets the code and the tests, in separate commits, but not the run's test list.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use super::crash::kill_at;
use super::scripts::{DONE, GREEN, PLAN, RED};
use super::{ProgramOutput, Story};

const SIGKILL: i32 = 9;

/// A second feature with its own files and the same list.
fn second() -> String {
    [PLAN, RED, GREEN, DONE]
        .concat()
        .replace("adds", "subtracts")
        .replace("add", "sub")
        .replace("calc", "less")
}

fn run(story: &Story, request: &str, script: &str) -> String {
    story.script("kata.toml", script);
    let said = story.redgreen(&format!("run --json --script @kata.toml \"{request}\"")).exits(3);
    said.json()["runs"][0]["id"].as_str().unwrap().to_owned()
}

/// A run that waits for a human.
fn waiting() -> (Story, String) {
    let story = Story::waiting();
    let id = story.redgreen("status --json").exits(0).json()["runs"][0]["id"].clone();
    (story, id.as_str().unwrap().to_owned())
}

fn files(story: &Story) -> String {
    story.git("ls-tree -r --name-only main")
}

#[test]
fn fault_8_two_features_at_once_are_merged_one_after_the_other() {
    let (story, first) = waiting();
    let second = run(&story, "a subtractor", &second());
    story.redgreen(&format!("approve {first}")).exits(0).says("merged");
    story.redgreen(&format!("approve {second}")).exits(0).says("merged");
    let files = files(&story);
    assert!(files.contains("calc.py") && files.contains("less.py"), "{files}");
    assert!(!files.contains("test-list.md"), "{files}");
    assert_eq!(story.git("status --porcelain"), "");
    // The run's own commits still contain the ticked list.
    assert_eq!(story.git("show HEAD^2~1:test-list.md"), "- [x] subtracts");
}

#[test]
fn fault_8_a_list_of_the_users_own_is_not_touched() {
    let mine = "my own notes\n- [ ] buy milk\n";
    let story = Story::new();
    story.file("test-list.md", mine).commit("mine");
    let first = run(&story, "an adder", &[PLAN, RED, GREEN, DONE].concat());
    let second = run(&story, "a subtractor", &second());
    story.redgreen(&format!("approve {first}")).exits(0);
    assert_eq!(fs::read_to_string(story.root.join("test-list.md")).unwrap(), mine);
    // The user's list survives even with uncommitted changes.
    let changed = format!("{mine}- [ ] and bread\n");
    story.file("test-list.md", &changed);
    story.redgreen(&format!("approve {second}")).exits(0);
    assert_eq!(fs::read_to_string(story.root.join("test-list.md")).unwrap(), changed);
    assert_eq!(story.git("show HEAD:test-list.md"), mine.trim_end());
}

#[test]
fn fault_8_plan_keep_merges_the_list() {
    let story = Story::new();
    story.file("redgreen.toml", "backoff = 0.0\n\n[plan]\nkeep = true\n").commit("keep it");
    run(&story, "an adder", &[PLAN, RED, GREEN, DONE].concat());
    story.redgreen("approve").exits(0);
    assert_eq!(story.git("show HEAD:test-list.md"), "- [x] adds");
    // The next run still starts with its own list.
    story.script("kata.toml", DONE);
    story
        .redgreen("run --script @kata.toml --max-retries 0 \"more\"")
        .exits(1)
        .says("nothing was developed");
    story.redgreen("abort").exits(0);
    let again = run(&story, "a subtractor", &second());
    story.redgreen(&format!("approve {again}")).exits(0);
    assert_eq!(story.git("show HEAD:test-list.md"), "- [x] subtracts");
}

/// The merge must equal the tested state. Code that reads the list would fail in the target branch.
#[test]
fn code_that_needs_the_list_is_not_accepted() {
    let story = Story::new();
    let reads = GREEN.replace("return a + b", "open('test-list.md').close()\\n    return a + b");
    assert_ne!(reads, GREEN);
    story.script("kata.toml", &[PLAN, RED, &reads, GREEN, DONE].concat());
    story.redgreen("run --script @kata.toml \"an adder\"").exits(3).says("[green.still_failing]");
}

#[test]
fn approve_squash_makes_one_commit_and_keeps_the_others_within_reach() {
    let (story, id) = waiting();
    let hook = story.root.join(".git/hooks/commit-msg");
    fs::create_dir_all(hook.parent().unwrap()).unwrap();
    fs::write(&hook, "#!/bin/sh\necho 'Reviewed-by: the hook' >> \"$1\"\n").unwrap();
    fs::set_permissions(&hook, fs::Permissions::from_mode(0o755)).unwrap();
    story.git("config merge.ff false");
    let head = story.git(&format!("rev-parse {}", story.branch()));
    let before = story.git("rev-parse main");
    story.redgreen("approve --squash").exits(0).says("merged");
    assert_eq!(story.git("rev-parse main^"), before, "one commit");
    assert_eq!(story.git("log -1 --format=%P").split(' ').count(), 1);
    let message = story.git("log -1 --format=%B");
    assert!(
        message.starts_with("an adder\n\n") && message.contains("Reviewed-by: the hook"),
        "{message}"
    );
    let files = files(&story);
    assert!(files.contains("calc.py") && !files.contains("test-list.md"), "{files}");
    assert_eq!(
        (story.git("status --porcelain"), story.git("for-each-ref refs/heads/redgreen")),
        <_>::default()
    );
    assert!(story.git("for-each-ref --contains HEAD refs/redgreen/salvage").is_empty());
    let kept = story
        .command("git")
        .args(["for-each-ref", "--contains", &head, "refs/redgreen/salvage"])
        .output()
        .unwrap();
    assert!(String::from_utf8_lossy(&kept.stdout).contains("squashed"), "{kept:?}");
    story.redgreen("history").exits(0).says("plan.finished");
    story.redgreen(&format!("status {id}")).exits(0).says("merged into main");
    story.redgreen("repair-notes").exits(0).says("nothing to repair");
}

#[test]
fn a_squash_is_refused_and_taken_back_like_a_merge() {
    let (story, _) = waiting();
    let hook = story.root.join(".git/hooks/pre-commit");
    fs::create_dir_all(hook.parent().unwrap()).unwrap();
    fs::write(&hook, "#!/bin/sh\necho not on a sunday >&2\nexit 1\n").unwrap();
    fs::set_permissions(&hook, fs::Permissions::from_mode(0o755)).unwrap();
    let before = story.belongings_but_times();
    story.redgreen("approve --squash").exits(3).says("not on a sunday");
    assert_eq!(story.belongings_but_times(), before);
    fs::remove_file(&hook).unwrap();
    // It does not matter that the target branch moved.
    story.file("elsewhere.py", "OTHER = 2\n").commit("meanwhile");
    story.redgreen("approve --squash").exits(0);
    assert!(files(&story).contains("calc.py"));
}

/// A squash that is killed before or after any effect gives the same result. The crash matrix
/// covers merges.
#[test]
fn killed_at_any_effect_a_squash_comes_to_the_same() {
    let (calm, _) = waiting();
    calm.redgreen("approve --squash").exits(0);
    let end = |story: &Story| {
        let parents = story.git("log -1 --format=%P main").split(' ').count();
        (
            parents,
            story.git("rev-parse main^{tree}"),
            story.git("rev-list --count main"),
            story.git("status --porcelain"),
        )
    };
    for at in ["before:1", "after:1", "before:2", "after:2"] {
        let (story, _) = waiting();
        let said: ProgramOutput = kill_at(&story, "approve --squash", at);
        assert_eq!(said.signal, Some(SIGKILL), "{at}: {said:?}");
        // The user does not have to repeat `--squash`.
        story.redgreen("approve").exits(0);
        assert_eq!(end(&story), end(&calm), "{at}");
    }
}
