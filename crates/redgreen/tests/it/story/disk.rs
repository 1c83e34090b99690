//! A full disk and a read-only git folder: redgreen names the cause, loses nothing, and continues
//! once there is space again. Each story runs in its own mount namespace.

use std::fs::{self, OpenOptions};
use std::io::Write;
use std::process::Command;

use super::{CALCULATOR, Story};
use crate::skip::skipped;

const RUN: &str = "run --script @kata.toml \"a calculator\"";
/// The free space when the run starts. Each value lets the run get a little further.
const FREE_KIB: &[u64] = &[0, 8, 16, 24, 32, 48, 64, 80, 100, 130, 160, 200, 250, 300];

#[test]
fn a_full_disk_stops_a_run_and_room_lets_it_continue() {
    in_a_namespace("story::disk::on_a_small_disk");
}

#[test]
fn a_read_only_git_folder_is_reported_and_can_be_looked_at() {
    in_a_namespace("story::disk::with_a_read_only_git_folder");
}

#[test]
#[ignore = "mounts things, and is played in a namespace of its own: scripts/test"]
fn on_a_small_disk() {
    let undisturbed = story();
    undisturbed.redgreen(RUN).exits(3);
    let work = undisturbed.work();
    drop(undisturbed);
    let sizes = FREE_KIB.iter();
    let mut stopped = 0;
    for free in sizes {
        let story = story();
        let before = story.belongings();
        let ballast = story.place("ballast");
        fill(&ballast, *free << 10);
        let said = story.redgreen(RUN);
        assert_eq!(story.belongings(), before, "{free} KiB: the user's checkout was touched");
        let all = format!("{}{}", said.stdout, said.stderr);
        assert_eq!(said.code, Some(4), "{free} KiB: {all}");
        assert!(all.contains("No space left on device"), "{free} KiB: {all}");
        fs::remove_file(ballast).unwrap();
        let begun = story.redgreen("status").exits(0).stdout.contains("a calculator");
        assert_eq!(all.contains("redgreen resume"), begun, "{free} KiB: {all}");
        story.redgreen(if begun { "resume" } else { RUN }).exits(3);
        assert_eq!(story.work(), work, "{free} KiB");
        story.redgreen("approve").exits(0);
        story.merged();
        stopped += usize::from(begun);
    }
    assert!(stopped > 0, "no run came far enough");
}

#[test]
#[ignore = "mounts things, and is played in a namespace of its own: scripts/test"]
fn with_a_read_only_git_folder() {
    let story = story();
    let mut killed = story.prepare(RUN);
    killed.env("REDGREEN_KILL_AT", "before:12").output().unwrap();
    let commit = story
        .git(&format!("rev-list --reverse main..{}", story.branch()))
        .lines()
        .next()
        .unwrap()
        .to_owned();
    let verbs = [RUN, "resume", "approve", "abort", &format!("rollback {commit}")];
    for finished in [false, true] {
        if finished {
            story.redgreen("resume").exits(3);
        }
        let before = files(&story);
        read_only(&story, true);
        for verb in verbs {
            story.redgreen(verb).exits(4).says("Read-only file system");
        }
        for verb in ["status", "history", "why"] {
            story.redgreen(verb).exits(0);
        }
        read_only(&story, false);
        assert_eq!(files(&story), before);
    }
    let notes = story.git("rev-parse refs/notes/tdd-handoffs");
    story.git("update-ref -d refs/notes/tdd-handoffs");
    read_only(&story, true);
    story.redgreen("repair-notes").exits(4).says("Read-only file system");
    read_only(&story, false);
    story.git(&format!("update-ref refs/notes/tdd-handoffs {notes}"));
    story.redgreen("approve").exits(0);
    story.merged();
}

/// Runs an ignored story on its own small disk, as a user who may mount. Skips it with a message
/// where that is impossible.
fn in_a_namespace(name: &str) {
    let folder = tempfile::tempdir().unwrap();
    let mount = "mount -t tmpfs -o size=4m tmpfs \"$0\" || exit 99; [ $# = 0 ] || TMPDIR=\"$0\" exec \"$@\"";
    let namespace = || {
        #[expect(clippy::disallowed_methods, reason = "a story starts programs as a user does")]
        let mut command = Command::new("unshare");
        command
            .args(["--user", "--map-root-user", "--mount", "sh", "-c", mount])
            .arg(folder.path());
        command
    };
    let reason = match namespace().output() {
        Ok(tried) if tried.status.success() => None,
        Ok(tried) => Some(String::from_utf8_lossy(&tried.stderr).trim().to_owned()),
        Err(error) => Some(error.to_string()),
    };
    if let Some(reason) = reason {
        return skipped(&format!("no namespace to mount in: {reason}"));
    }
    let this = std::env::current_exe().unwrap();
    let played = namespace().arg(this).args(["--ignored", "--exact", name]).output().unwrap();
    let said = String::from_utf8_lossy(&played.stdout);
    assert!(played.status.success() && said.contains("1 passed"), "{said}");
}

/// The calculator on the small disk. pytest's temporary files are on another disk.
fn story() -> Story {
    let story = Story::new().quick().env("TMPDIR", env!("CARGO_TARGET_TMPDIR"));
    story.script("kata.toml", CALCULATOR);
    story
}

/// Fills the disk, then frees `free` KiB.
fn fill(ballast: &std::path::Path, free: u64) {
    const CHUNK: &[u8] = &[0; 4096];
    let mut file = OpenOptions::new().create(true).append(true).open(ballast).unwrap();
    while file.write_all(CHUNK).is_ok() {}
    let length = file.metadata().unwrap().len();
    file.set_len(length.checked_sub(free).unwrap()).unwrap();
}

fn read_only(story: &Story, on: bool) {
    let steps: &[&[&str]] = if on {
        &[&["mount", "--bind", ".git", ".git"], &["mount", "-o", "remount,ro,bind", ".git"]]
    } else {
        &[&["umount", ".git"]]
    };
    for step in steps {
        let done = story.command(step[0]).args(&step[1..]).output().unwrap();
        assert!(done.status.success(), "{step:?}: {}", String::from_utf8_lossy(&done.stderr));
    }
}

/// Every file in the git folder, with its length.
fn files(story: &Story) -> String {
    let list =
        story.command("find").args([".git", "-type", "f", "-printf", "%p %s\n"]).output().unwrap();
    String::from_utf8_lossy(&list.stdout).into_owned()
}
