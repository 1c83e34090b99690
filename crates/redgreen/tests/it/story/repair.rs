//! Damaged notes stop every command before it does anything; `repair-notes` repairs them.

use std::fs;

use super::Story;

const NOTES: &str = "refs/notes/tdd-handoffs";
const NOTHING: &str = "1111111111111111111111111111111111111111";

/// The commit and the text of every note of the run.
fn notes(story: &Story) -> Vec<(String, String)> {
    let commits = story.git(&format!("rev-list main..{}", story.branch()));
    let note = |commit: &str| {
        let shown = story
            .command("git")
            .args(["notes", "--ref=tdd-handoffs", "show", commit])
            .output()
            .unwrap();
        (commit.to_owned(), String::from_utf8(shown.stdout).unwrap())
    };
    commits.lines().map(note).collect()
}

/// Asserts that every verb names the repair command and changes nothing.
#[track_caller]
fn every_verb_stops(story: &Story, words: &str) {
    let branch = story.branch();
    let refs = || {
        let loose = fs::read(story.root.join(".git").join(NOTES)).unwrap_or_default();
        (story.git("for-each-ref refs/heads refs/redgreen"), loose, story.belongings())
    };
    let before = refs();
    let rollback = format!("rollback {branch}~2");
    let run = "run --script @kata.toml again";
    for line in ["status", "history", "why", "resume", run, "approve", "abort", &rollback] {
        let said = story.redgreen(line).exits(4).says(words).says("nothing was changed");
        assert!(
            said.stderr.ends_with("  next  redgreen repair-notes\n"),
            "{line}: {}",
            said.stderr
        );
        assert_eq!(refs(), before, "{line}");
        assert_eq!(
            fs::read_dir(story.root.join(".git/redgreen/runs")).unwrap().count(),
            1,
            "{line}"
        );
    }
}

/// Asserts that everything works after the repair and that the notes are the original ones.
#[track_caller]
fn repaired(story: &Story, originals: &[(String, String)], words: &str) {
    story.redgreen("repair-notes").exits(0).says(words).says("next");
    assert_eq!(notes(story), originals, "byte for byte");
    story.redgreen("repair-notes").exits(0).says("nothing to repair");
    for line in ["status", "history", "why"] {
        story.redgreen(line).exits(0);
    }
    story.redgreen("approve").exits(0).says("merged");
}

#[track_caller]
fn damage(story: &Story, commit: &str, text: &str) {
    let done = story
        .command("git")
        .args(["notes", "--ref=tdd-handoffs", "add", "-f", "-m", text, commit])
        .output();
    assert!(done.unwrap().status.success());
}

#[test]
fn the_ref_is_gone() {
    let story = Story::waiting();
    let originals = notes(&story);
    story.git(&format!("update-ref -d {NOTES}"));
    every_verb_stops(&story, "refs/notes/tdd-handoffs is missing");
    repaired(&story, &originals, "restored 5 notes");
}

#[test]
fn the_ref_points_to_nothing() {
    let story = Story::waiting();
    let originals = notes(&story);
    fs::write(story.root.join(".git").join(NOTES), format!("{NOTHING}\n")).unwrap();
    every_verb_stops(&story, "points to a missing object");
    repaired(&story, &originals, "restored 5 notes");
}

#[test]
fn a_note_is_not_json() {
    let story = Story::waiting();
    let originals = notes(&story);
    damage(&story, &originals[0].0, "what a lovely commit");
    every_verb_stops(&story, "cannot use the note of commit");
    repaired(&story, &originals, "restored 1 note from the journals, set 1 damaged text aside");
    let aside = story.root.join(format!(".git/redgreen/notes-set-aside/{}.txt", originals[0].0));
    assert_eq!(fs::read_to_string(aside).unwrap(), "what a lovely commit\n");
}

#[test]
fn a_note_in_the_middle_is_of_a_newer_version() {
    let story = Story::waiting();
    let originals = notes(&story);
    let newer = originals[2].1.replacen("\"version\":1", "\"version\":9", 1).replacen(
        "\"version\": 1",
        "\"version\": 9",
        1,
    );
    assert_ne!(newer, originals[2].1);
    damage(&story, &originals[2].0, &newer);
    every_verb_stops(&story, "cannot use the note of commit");
    repaired(&story, &originals, "restored 1 note");
}

#[test]
fn one_note_is_gone() {
    let story = Story::waiting();
    let originals = notes(&story);
    story.git(&format!("notes --ref=tdd-handoffs remove {}", originals[1].0));
    every_verb_stops(&story, "is missing");
    repaired(
        &story,
        &originals,
        "restored 1 note from the journals, set 0 damaged texts aside, 4 notes intact",
    );
}

#[test]
fn a_foreign_note_is_set_aside_and_not_lost() {
    let story = Story::waiting();
    let originals = notes(&story);
    let base = story.git("rev-parse main");
    damage(&story, &base, "a reminder of mine");
    story.redgreen("status").exits(0);
    let said = story.redgreen("repair-notes").exits(0).says("set 1 damaged text aside");
    let aside = story.root.join(format!(".git/redgreen/notes-set-aside/{base}.txt"));
    assert!(said.stdout.contains(&aside.display().to_string()), "{}", said.stdout);
    assert_eq!(fs::read_to_string(&aside).unwrap(), "a reminder of mine\n");
    damage(&story, &base, "another");
    story.redgreen("repair-notes").exits(0);
    let kept = fs::read_dir(aside.parent().unwrap()).unwrap().count();
    assert_eq!(kept, 2, "the first text was not written over");
    assert_eq!(notes(&story), originals);
    story.redgreen("approve").exits(0);
}
