//! Folders that another program constantly swaps with links, also between a check and the access.

use std::fs;
use std::os::unix::fs::symlink;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use rustix::fs::{CWD, RenameFlags, renameat_with};

use super::Clone;

/// How often a verb runs while the links change. Each try hits the short race window only by
/// chance.
const TRIES: usize = 40;

/// Runs verbs while `repo/out` alternates between a folder and a link to the user's own folder.
/// Afterwards the folder is back.
fn while_swapped(clone: &Clone, act: impl FnOnce()) {
    let (out, link) = (clone.root.join("out"), clone.root.join("link"));
    symlink(clone.place("beside"), &link).unwrap();
    let over = AtomicBool::new(false);
    thread::scope(|scope| {
        scope.spawn(|| {
            let swap = || renameat_with(CWD, &out, CWD, &link, RenameFlags::EXCHANGE).unwrap();
            while !over.load(Ordering::Relaxed) {
                swap();
                swap();
            }
        });
        // Stop the swapping even if an assertion fails: the scope waits for its thread.
        let result = catch_unwind(AssertUnwindSafe(act));
        over.store(true, Ordering::Relaxed);
        result.unwrap_or_else(|panic| resume_unwind(panic));
    });
    fs::remove_file(&link).unwrap();
}

/// The files beside the repository, which belong to the user.
fn diary(clone: &Clone) -> Vec<(String, String)> {
    let entries = fs::read_dir(clone.place("beside")).unwrap().map(|entry| entry.unwrap().path());
    let text = |path: &Path| fs::read_to_string(path).unwrap();
    entries.map(|path| (path.display().to_string(), text(&path))).collect()
}

#[test]
fn reports_are_never_written_through_a_link_that_was_swapped_in() {
    let clone = Clone::new();
    clone.journal(&[clone.started(|_| {}), clone.left(2)]);
    clone.file("out/diary.txt", "theirs\n");
    let before = diary(&clone);
    let mut written = 0;
    while_swapped(&clone, || {
        for _ in 0..TRIES {
            let output = clone.redgreen("report k3x9 --html out/diary.txt");
            assert!(matches!(output.status.code(), Some(0..=6)), "{output:?}");
            written += usize::from(output.status.success());
            assert_eq!(diary(&clone), before, "{output:?}");
        }
    });
    assert!(written > 0, "the folder was never there when it was looked for");
}

#[test]
fn a_file_that_was_swapped_for_a_secret_is_not_sent() {
    let clone = Clone::new();
    clone.file("out/diary.txt", "def theirs():\n    pass\n");
    let theirs = fs::metadata(clone.root.join("out/diary.txt")).unwrap().len();
    while_swapped(&clone, || {
        for _ in 0..TRIES {
            let output = clone.redgreen("context out/diary.txt --script @quick.toml --json");
            let said: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
            let sizes = said["files"]
                .as_array()
                .unwrap()
                .iter()
                .map(|file| file["bytes"].as_u64().unwrap());
            assert!(sizes.into_iter().all(|bytes| bytes == theirs), "{said}");
        }
    });
}

/// Settings of coding agents are written to paths where the project may have planted links.
#[test]
fn settings_are_never_written_through_a_link_that_was_swapped_in() {
    let clone = Clone::new();
    clone.file("out/kept.txt", "theirs\n");
    symlink("out", clone.root.join(".claude")).unwrap();
    let before = diary(&clone);
    while_swapped(&clone, || {
        for _ in 0..TRIES {
            clone.redgreen("init --with claude");
            assert_eq!(diary(&clone), before);
            fs::remove_dir_all(clone.root.join(".claude")).ok();
            fs::remove_file(clone.root.join(".claude")).ok();
            symlink("out", clone.root.join(".claude")).unwrap();
        }
    });
}
