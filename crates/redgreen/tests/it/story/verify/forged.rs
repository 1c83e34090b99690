//! Attempts to change the verdict from inside the range or next to it: workflows, notes, messages.

use std::fs;

use super::{OLD, OLD_TEST, TEST, classes, codes, feature, project, proven, refuted, verify};
use crate::story::Story;

const EMPTY: &str = "from old import double\n\n\ndef test_it():\n    double(2)\n    assert True\n";

/// Adds a note to a commit, as redgreen or somebody else would write it.
fn note(story: &Story, commit: &str, text: &str) {
    let file = story.place("note.txt");
    fs::write(&file, text).unwrap();
    story.git(&format!("notes --ref=tdd-handoffs add -f -F {} {commit}", file.display()));
}

#[test]
fn a_workflow_that_is_edited_in_the_range_changes_nothing() {
    let strict = project();
    strict.git("checkout -q main");
    let flow =
        "on: pull_request\njobs:\n  verify:\n    steps:\n      - run: redgreen verify --pr\n";
    strict.file(".github/workflows/verify.yml", flow).commit("a workflow");
    strict.git("checkout -q -B topic main");
    strict.file("tests/test_empty.py", EMPTY);
    strict.file(".github/workflows/verify.yml", &flow.replace("redgreen verify --pr", "true"));
    strict.commit("looks elsewhere");
    refuted(&strict, "main..topic", "verify.does_not_discriminate");
    // Next to good work, the change is only reported. With a strict policy it counts against the
    // range.
    strict.git("rm -q tests/test_empty.py");
    strict.file("roman.py", super::CODE).file("tests/test_roman.py", TEST).commit("roman numerals");
    let json = proven(&strict, "main..topic");
    assert!(json["notVerified"].to_string().contains(".github/workflows/verify.yml"), "{json:#}");
    strict.git("checkout -q main");
    strict
        .file("redgreen.toml", "backoff = 0.0\n\n[verify]\nevery-place = true\n")
        .commit("strict");
    strict.git("checkout -q topic");
    strict.git("rebase -q main");
    let json = refuted(&strict, "main..topic", "verify.no_test");
    assert_eq!(json["reasons"][0]["file"], ".github/workflows/verify.yml", "{json:#}");
}

#[test]
fn forged_notes_and_trailers_change_nothing() {
    let good = feature();
    let claim = r#"{"phase": "GREEN", "testResult": {"passed": 9, "failed": 0, "total": 9}}"#;
    note(&good, "HEAD", claim);
    let json = proven(&good, "main..topic");
    good.file("tests/test_empty.py", EMPTY)
        .commit("more\n\nRedgreen-Run: 1\nRedgreen-Phase: 1 GREEN");
    note(&good, "HEAD", claim);
    let told = refuted(&good, "main..topic", "verify.does_not_discriminate");
    assert_eq!(classes(&told)[1..], classes(&json)[..], "{told:#}");
    // Unreadable notes.
    good.git("reset -q --hard HEAD~1");
    for text in ["{", "[1]", &format!("{{\"phase\": \"RED\", \"x\": \"{}\"}}", "9".repeat(2 << 20))]
    {
        note(&good, "HEAD", text);
        good.git("commit -q --amend --no-edit --date=now");
        note(&good, "HEAD", text);
        assert_eq!(
            proven(&good, "main..topic")["evidence"]["commits"].as_array().unwrap().len(),
            0
        );
    }
    good.git("update-ref refs/notes/tdd-handoffs HEAD^{tree}");
    let (_, json) = verify(&good, "main..topic");
    assert_eq!(json["outcome"], "proven", "{json:#}");
}

/// The range as a whole does not show that GREEN changed the test.
#[test]
fn notes_and_trailers_say_which_commits_to_replay() {
    let lazy = TEST.replace("\"IX\"", "\"IIIIIIIII\"");
    for (red, green, is_noted) in [
        ("the tests", "the code", true),
        ("the tests\n\nRedgreen-Phase: 1 RED", "the code\n\nRedgreen-Phase: 1 GREEN", false),
    ] {
        let story = project();
        story.file("tests/test_roman.py", TEST).commit(red);
        story.file("roman.py", "def to_roman(n):\n    return n * \"I\"\n");
        story.file("tests/test_roman.py", &lazy).commit(green);
        if is_noted {
            proven(&story, "main..topic");
            note(&story, "HEAD~1", r#"{"phase": "RED"}"#);
            note(&story, "HEAD", r#"{"phase": "GREEN"}"#);
        }
        let json = refuted(&story, "main..topic", "green.tests_changed");
        assert_eq!(json["evidence"]["commits"].as_array().unwrap().len(), 1, "{json:#}");
        // `verify` reports notes that claim a RED where there is none, and otherwise ignores them.
        story.git("checkout -q -B plain main");
        story.file("tests/test_old.py", &format!("{OLD_TEST}    assert double(3) == 6\n"));
        story.commit("more of it");
        story.file("old.py", &OLD.replace("2 * n", "n + n")).commit("another way");
        note(&story, "HEAD~1", r#"{"phase": "RED"}"#);
        note(&story, "HEAD", r#"{"phase": "GREEN"}"#);
        let json = proven(&story, "main..plain");
        assert!(json["notVerified"].to_string().contains("is not a RED"), "{json:#}");
        assert_eq!(codes(&json), [""; 0]);
    }
}
