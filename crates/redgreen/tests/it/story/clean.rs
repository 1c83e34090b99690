//! `redgreen clean` lists what it can remove, with sizes. It never removes parts of an open run, a
//! working run, or salvage.

use std::fs;
use std::path::PathBuf;

use serde_json::Value;

use super::Story;
use super::scripts::{DONE, GREEN, PLAN, RED};
use super::terminal::on_a_terminal;

const RUN: &str = "run --script @kata.toml an adder";

/// A run that waits for a human, with its own folder for temporary files.
fn waiting() -> Story {
    let story = Story::new();
    let temporary = story.place("tmp").display().to_string();
    fs::create_dir(&temporary).unwrap();
    let story = story.env("TMPDIR", &temporary);
    story.script("kata.toml", &[PLAN, RED, GREEN, DONE].concat());
    story.redgreen(RUN).exits(3);
    story
}

/// The folder that holds the repository's worktrees and build output.
fn workshop(story: &Story) -> PathBuf {
    let mut all = fs::read_dir(story.place("home/worktrees")).unwrap();
    all.next().unwrap().unwrap().path()
}

fn items(story: &Story, line: &str) -> Vec<Value> {
    story.redgreen(line).exits(0).json()["items"].as_array().unwrap().clone()
}

#[test]
fn fault_16_clean_lists_with_sizes_and_removes_only_when_told() {
    let story = waiting();
    let workshop = workshop(&story);
    let (room, build) = (workshop.join("rooms/0"), workshop.join("builds/abc"));
    fs::create_dir_all(&room).unwrap();
    fs::create_dir_all(&build).unwrap();
    fs::write(build.join("big"), vec![1; 3_000_000]).unwrap();
    let said = story.redgreen("clean").exits(0).says("clean room").says("3.0 MB  build output");
    let said = said.says("can be removed").says("next  redgreen clean --yes");
    assert!(!said.stdout.contains("stays"), "{}", said.stdout);
    story.redgreen("clean --dry-run").exits(0);
    assert!(room.exists() && build.exists(), "listing removes nothing");

    // A test run holds its room's lock.
    let lock = fs::File::create(workshop.join("rooms/0.lock")).unwrap();
    lock.lock().unwrap();
    let kept = items(&story, "--json clean --yes");
    assert!(
        kept.iter().all(|item| item["removed"] == false && item["kept"].is_string()),
        "{kept:?}"
    );
    story.redgreen("clean").exits(0).says("kept: a test run is").says("nothing to remove");
    assert!(room.exists() && build.exists());
    drop(lock);

    let gone = items(&story, "--json clean --yes");
    assert!(gone.iter().all(|item| item["removed"] == true), "{gone:?}");
    assert!(!room.exists() && !build.exists());
    story.redgreen("clean").exits(0).says("nothing to remove");
    // The run is unchanged.
    story.redgreen("approve").exits(0).says("merged");
}

#[test]
fn fault_16_clean_asks_on_a_terminal() {
    let story = waiting();
    let build = workshop(&story).join("cargo-target");
    fs::create_dir_all(&build).unwrap();
    let (code, screen) = on_a_terminal(&story, "clean", &[("[yes/no] ", "no\n")]);
    assert_eq!(code, Some(0), "{screen}");
    assert!(screen.contains("nothing was removed") && build.exists(), "{screen}");
    let (_, screen) = on_a_terminal(&story, "clean", &[("[yes/no] ", "yes\n")]);
    assert!(screen.contains("(removed)") && !build.exists(), "{screen}");
}

#[test]
fn fault_16_clean_spares_open_runs_and_salvages_what_it_removes() {
    let story = waiting();
    let workshop = workshop(&story);
    let id = fs::read_dir(story.root.join(".git/redgreen/open"))
        .unwrap()
        .next()
        .unwrap()
        .unwrap()
        .file_name();
    let worktree = workshop.join(&id);
    let added = story
        .command("git")
        .args(["worktree", "add", "-q", "--detach"])
        .arg(&worktree)
        .output()
        .unwrap();
    assert!(added.status.success(), "{added:?}");
    fs::write(worktree.join("unsaved.py"), "WORK = 1\n").unwrap();
    let unknown = workshop.join("20200101-000000-gone");
    fs::create_dir_all(&unknown).unwrap();
    fs::write(unknown.join("notes"), "mine").unwrap();
    story.redgreen("clean --yes").exits(0);
    story.redgreen("clean").exits(0).says("is open: redgreen resume").says("git does not know it");
    assert!(worktree.join("unsaved.py").exists() && unknown.join("notes").exists());

    // `clean` salvages the work of a run that has no records any more.
    fs::remove_dir_all(story.root.join(".git/redgreen/runs").join(&id)).unwrap();
    let gone = items(&story, "--json clean --yes");
    assert!(
        gone.iter().any(|item| item["kind"] == "worktree" && item["removed"] == true),
        "{gone:?}"
    );
    assert!(!worktree.exists());
    story.redgreen("salvage diff left-behind").exits(0).says("+WORK = 1");
}

#[test]
fn fault_16_clean_removes_demo_folders_as_the_demo_left_them() {
    let story = Story::bare_folder();
    let temporary = story.place("tmp").display().to_string();
    fs::create_dir(&temporary).unwrap();
    let story = story.env("TMPDIR", &temporary);
    story.redgreen("demo").exits(0);
    let demo = fs::read_dir(&temporary).unwrap().map(|entry| entry.unwrap().path());
    let demo = demo.into_iter().find(|path| path.join("roman").exists()).unwrap();
    fs::write(demo.join("roman/mine.py"), "# mine\n").unwrap();
    story.redgreen("clean --yes").exits(0).says("kept: it was changed since the demo");
    assert!(demo.join("roman/mine.py").exists());
    fs::remove_file(demo.join("roman/mine.py")).unwrap();
    story.redgreen("clean").exits(0).says("demo  ").says("can be removed");
    story.redgreen("clean --yes").exits(0).says("(removed)");
    assert!(!demo.exists());
}
