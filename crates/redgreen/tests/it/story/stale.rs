//! Leftovers of killed runs and of manual changes: worktrees, torn and damaged journals, incomplete
//! folders.

use std::fs;
use std::path::PathBuf;

use super::{ProgramOutput, Story};

const RUN: &str = "run --script @kata.toml \"a calculator\"";
/// The effect that writes the first test.
const ASK_RED: &str = "after:7";

#[test]
fn resume_and_abort_remove_the_worktree_of_a_killed_run() {
    for (verb, code, salvages) in
        [("resume", 3, &["1-interrupted"][..]), ("abort", 0, &["1-aborted"])]
    {
        let story = killed(ASK_RED);
        assert_eq!(story.worktrees().len(), 1);
        story.redgreen(verb).exits(code);
        story.assert_no_worktree();
        assert_eq!(story.salvages(), salvages, "{verb}");
        let test = story.git("log -1 --format=%H --all -- tests/test_add.py");
        assert_ne!(test, "", "the half-done test is kept");
    }
}

#[test]
fn a_worktree_whose_git_file_was_taken_away_is_salvaged_anyway() {
    let story = killed(ASK_RED);
    fs::remove_file(worktree(&story).join(".git")).unwrap();
    story.redgreen("resume").exits(3);
    assert_eq!(story.salvages(), ["1-interrupted"]);
}

#[test]
fn a_set_up_that_was_killed_half_way_is_done_again() {
    let story = Story::calculator().quick();
    let marker = story.place("set-up");
    let line = format!("echo x >> '{}'; sleep 60", marker.display());
    story.file("redgreen.toml", &format!("backoff = 0.0\n[worktree]\nsetup = [{line:?}]\n"));
    story.commit("a set-up");
    let mut child = story.prepare(RUN).spawn().unwrap();
    let deadline = std::time::Instant::now() + std::time::Duration::from_secs(300);
    while !marker.exists() {
        assert!(std::time::Instant::now() < deadline, "the set-up did not start");
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
    child.kill().unwrap();
    child.wait().unwrap();
    story.file(
        "redgreen.toml",
        &format!("backoff = 0.0\n[worktree]\nsetup = [{:?}]\n", line.replace("sleep 60", ":")),
    );
    story.redgreen("resume").exits(3);
    assert_eq!(fs::read_to_string(marker).unwrap(), "x\nx\n");
    assert_eq!(story.salvages(), Vec::<String>::new());
}

#[test]
fn the_next_run_removes_the_worktree_of_a_missing_run() {
    let story = killed(ASK_RED);
    let theirs = story.place("home/theirs");
    story.git(&format!("worktree add -q --detach {}", theirs.display()));
    let folder = worktree(&story);
    let beside = folder.with_file_name("20200101-000000-note");
    fs::create_dir(&beside).unwrap();
    fs::remove_dir_all(run_folder(&story)).unwrap();
    story.redgreen(RUN).exits(3);
    assert!(!folder.exists());
    assert_eq!(story.salvages(), ["1-left-behind"]);
    assert!(beside.exists() && theirs.join(".git").exists(), "only worktrees of runs are ours");
}

#[test]
fn a_run_killed_at_its_very_end_is_ended_by_the_next_verb() {
    let story = killed("before:200");
    let mut command = story.prepare("approve");
    command.env("REDGREEN_KILL_AT", "before:2");
    assert_eq!(ProgramOutput::of("approve", &command.output().unwrap()).signal, Some(9));
    assert_eq!(open_runs(&story), 1);
    story.redgreen("run --script @kata.toml --max-retries 0 \"it is all there\"");
    assert_eq!(open_runs(&story), 1, "only the new one");
    story.redgreen("abort").exits(0);
    story.assert_no_worktree();
}

#[test]
fn a_torn_end_of_the_journal_is_cut() {
    let story = killed("before:12");
    let journal = run_folder(&story).join("journal.jsonl");
    let text = fs::read_to_string(&journal).unwrap();
    fs::write(&journal, format!("{text}{{\"v\":1,\"seq\":99,\"at\":17,\"eve")).unwrap();
    story.redgreen("status").exits(0);
    story.redgreen("resume").exits(3);
    story.redgreen("approve").exits(0);
    story.merged();
}

#[test]
fn a_damaged_journal_is_reported_and_the_way_out_works() {
    let story = killed("before:16");
    let folder = run_folder(&story);
    let journal = folder.join("journal.jsonl");
    let text = fs::read_to_string(&journal).unwrap();
    fs::write(&journal, text.replacen("\"prepare\"", "prep", 1)).unwrap();
    for verb in ["resume", "approve", "abort"] {
        story
            .redgreen(verb)
            .exits(4)
            .says("is damaged in line 2")
            .says("its last note")
            .says("mv '");
    }
    let id = folder.file_name().unwrap().to_str().unwrap().to_owned();
    story.redgreen("run --script @kata.toml \"beside it\"").exits(3);
    let both = story
        .redgreen("status")
        .exits(4)
        .says("beside it")
        .says(&id)
        .says("is damaged in line 2")
        .says("mv '");
    assert!(both.stdout.find("beside it") < both.stdout.find("is damaged"), "{}", both.stdout);
    let both = story.redgreen("--json status").exits(4).json();
    assert_eq!(
        (both["runs"][0]["request"].as_str(), both["unreadable"][0]["id"].as_str()),
        (Some("beside it"), Some(&*id))
    );
    story.redgreen(&format!("status {id}")).exits(4).says("is damaged in line 2");
    let other = both["runs"][0]["id"].as_str().unwrap();
    story.redgreen(&format!("abort {other}")).exits(0);
    fs::rename(&folder, story.place("home").join(format!("{id}.damaged"))).unwrap();
    // According to the last note the first refactoring is next, so the script starts there.
    let mut parts = super::CALCULATOR.split("\n[[").collect::<Vec<_>>();
    for role in ["plan]]", "red]]", "green]]"] {
        let first = parts.iter().position(|part| part.starts_with(role)).unwrap();
        parts.remove(first);
    }
    story.script("rest.toml", &parts.join("\n[["));
    story.redgreen(&format!("resume {id} --script @rest.toml")).exits(3).says("REFACTOR");
    story.redgreen("approve").exits(0);
    story.merged();
}

#[test]
fn without_the_name_of_the_latest_run_everything_works() {
    let story = killed("before:12");
    fs::remove_file(story.root.join(".git/redgreen/latest")).unwrap();
    for verb in ["status", "why", "history"] {
        story.redgreen(verb).exits(0);
    }
    story.redgreen("resume").exits(3);
    story.redgreen("approve").exits(0);
    story.redgreen("status").exits(0);
}

#[test]
fn a_run_that_never_began_is_removed_by_abort() {
    let story = killed("after:0");
    let id = run_folder(&story).file_name().unwrap().to_str().unwrap().to_owned();
    story.redgreen("status").exits(0);
    story.redgreen("resume").exits(4).says("never started").says(&format!("redgreen abort {id}"));
    story.redgreen("abort").exits(1).says("never started");
    assert_eq!(open_runs(&story), 0);
    assert!(!story.root.join(".git/redgreen/runs").join(id).exists());
    story.redgreen(RUN).exits(3);
}

/// A calculator run, killed at this point.
fn killed(point: &str) -> Story {
    let story = Story::calculator().quick();
    let mut command = story.prepare(RUN);
    command.env("REDGREEN_KILL_AT", point);
    command.output().unwrap();
    story
}

fn run_folder(story: &Story) -> PathBuf {
    let mut runs = fs::read_dir(story.root.join(".git/redgreen/runs")).unwrap();
    runs.next().unwrap().unwrap().path()
}

fn worktree(story: &Story) -> PathBuf {
    let list = story.git("worktree list --porcelain");
    let last = list.lines().filter_map(|line| line.strip_prefix("worktree ")).next_back().unwrap();
    PathBuf::from(last)
}

fn open_runs(story: &Story) -> usize {
    fs::read_dir(story.root.join(".git/redgreen/open")).unwrap().count()
}
