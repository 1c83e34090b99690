//! Notes in the plain form, without `version` and `run`, as other orchestrators write them.

use super::Story;
use super::scripts::{DONE, GREEN, RED, turn};

const LIST: &str = "- [x] stands\n- [ ] adds\n";

fn note(phase: &str, next: &str, result: &str) -> String {
    format!(
        r#"{{"phase": "{phase}", "nextPhase": "{next}", "cycleNumber": 2, "currentTest": {{"description": "adds",
        "testFile": "test_add.py", "implFile": "calc.py"}}, "completedTests": ["stands"], "pendingTests": ["adds"],
        "testResult": {result}, "error": null, "errorDetails": null, "retryCount": 0}}"#
    )
}

/// A repository whose last commit has this note.
fn noted(text: &str) -> Story {
    let story = Story::new();
    story.file("test-list.md", LIST).file(
        "test_stands.py",
        "import unittest\n\n\nclass Tests(unittest.TestCase):\n    \
                                 def test_stands(self):\n        assert 1 == 1\n",
    );
    story.commit("plan: adds");
    add_note(&story, text);
    story
}

fn add_note(story: &Story, text: &str) {
    let args = ["notes", "--ref=tdd-handoffs", "add", "-f", "-m", text, "HEAD"];
    assert!(story.command("git").args(args).output().unwrap().status.success());
}

#[test]
fn fault_14_history_reads_a_plain_note_and_repair_keeps_it() {
    let story = noted(&note("PLAN", "RED", "null"));
    story.redgreen("history").exits(0).says("  2 PLAN").says("plan: adds");
    let shown = story.redgreen("history --json").exits(0).json();
    assert_eq!(shown["handoffs"][0]["handoff"]["completedTests"][0], "stands", "{shown}");
    let before = story.git("notes --ref=tdd-handoffs show HEAD");
    let repaired = story.redgreen("repair-notes --json").exits(0).json();
    assert_eq!(
        (&repaired["sound"], &repaired["setAside"]),
        (&1.into(), &serde_json::json!([])),
        "{repaired}"
    );
    assert_eq!(story.git("notes --ref=tdd-handoffs show HEAD"), before);
    for verb in ["status", "history"] {
        story.redgreen(verb).exits(0);
    }
}

#[test]
fn fault_14_resume_continues_from_a_plain_note_and_reports_what_it_uses() {
    let story = noted(&note("PLAN", "RED", "null"));
    let from = story.git("rev-parse HEAD");
    story.script("kata.toml", &[RED, GREEN, DONE].concat());
    let said = story.redgreen("resume --script @kata.toml").exits(3);
    let said =
        said.says("does not describe its run").says("using its open tests as the request (adds)");
    assert!(
        !said.stdout.contains("unticked"),
        "what the note says is done is done: {}",
        said.stdout
    );
    let status = story.redgreen("status --json").exits(0).json();
    assert_eq!(
        status["runs"][0]["completedTests"],
        serde_json::json!(["stands", "adds"]),
        "{status}"
    );
    // The journal contains the commit, so the run can go back to it.
    story.redgreen(&format!("rollback {from}")).exits(0).says("back at");
    story.redgreen("status").exits(0).says("rolled back to");
    story.script("kata.toml", &[RED, RED, GREEN, GREEN, DONE, DONE].concat());
    story.redgreen("resume --script @kata.toml").exits(3);
    story.redgreen("approve").exits(0);
    assert_eq!(
        story.git("show HEAD:test-list.md"),
        LIST.trim_end(),
        "the user's own list is as it was"
    );
}

#[test]
fn fault_14_green_owes_what_fails_where_a_plain_note_does_not_say() {
    let story = noted(&note("PLAN", "RED", "null"));
    story.file("calc.py", "def add(a, b):\n    return 0\n");
    story.file(
        "test_add.py",
        "import unittest\nfrom calc import add\n\n\nclass Tests(unittest.TestCase):\n    \
         def test_adds(self):\n        assert add(1, 2) == 3\n",
    );
    story.commit("test: adds");
    add_note(&story, &note("RED", "GREEN", "\"FAIL\""));
    let idle = turn("green", "{ append = \"calc.py\", text = \"\\n\" }");
    story.script("kata.toml", &[&idle, GREEN, DONE].concat());
    story.redgreen("resume --script @kata.toml").exits(3).says("[green.still_failing]");
}

#[test]
fn fault_14_what_a_plain_note_lacks_is_said_with_the_next_command() {
    let story = noted(&note("PLAN", "RED", "null"));
    let commit = story.git("rev-parse HEAD");
    story
        .redgreen(&format!("rollback {commit}"))
        .exits(2)
        .says("the note has no `run`")
        .says("redgreen resume");
    story.file("more.py", "").commit("more");
    story
        .redgreen("resume")
        .exits(2)
        .says("is not on the checked-out commit")
        .says("git switch -c");
    let story = noted(r#"{"phase": "PLAN", "nextPhase": "RED"}"#);
    story.redgreen("resume").exits(2).says("does not say what to build").says("redgreen run");
    let story = noted(&note("PLAN", "COMPLETE", "null"));
    story.redgreen("resume").exits(2).says("says that the run is complete");
    story.git("checkout -q --detach");
    add_note(&story, &note("PLAN", "RED", "null"));
    story
        .redgreen("resume --script @nothing.toml")
        .exits(4)
        .says("HEAD is detached")
        .says("git switch -c");
}
