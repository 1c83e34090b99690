//! Rows of the plan that the checklists do not cover.

use crate::story::Story;
use crate::story::scripts::{DONE, GREEN, PLAN, RED_PYTEST as RED};

const PLAIN: &str = r#"{"phase": "PLAN", "nextPhase": "RED", "cycleNumber": 1, "currentTest": {"description": "adds",
"testFile": "test_add.py", "implFile": "calc.py"}, "completedTests": [], "pendingTests": ["adds"],
"testResult": null, "error": null, "errorDetails": null, "retryCount": 0}"#;

/// 7.2: without a handoff, `resume` starts a new run if it gets a request, and otherwise reports
/// that there is none.
#[test]
fn resume_without_a_handoff_starts_fresh_with_a_request_and_says_so_otherwise() {
    let story = Story::pytest();
    story.script("kata.toml", &["version = 1\n", PLAN, RED, GREEN, DONE].concat());
    story
        .redgreen("resume")
        .exits(2)
        .says("this repository has no run yet")
        .says("found no open run and no handoff note")
        .says("redgreen run");
    let said = story.redgreen("resume --script @kata.toml --or-run \"add numbers\"").exits(3);
    assert!(
        said.stderr.contains("no run or handoff note to resume; starting a new run"),
        "{}",
        said.stderr
    );
    assert_eq!(story.log(&format!("main..{}", story.branch())).len(), 5);
    // If there is a run to resume, `--or-run` resumes it.
    let said = story.redgreen("resume --or-run \"something else\"").exits(3);
    assert!(!said.stderr.contains("starting a new run"), "{}", said.stderr);
    story.branch();
}

/// 7.3: the effective model, wherever it is configured.
#[test]
fn config_shows_the_model_in_force() {
    let model = |story: &Story| {
        let config = story.redgreen("--json config").exits(0).json();
        let rows = config["settings"].as_array().unwrap().clone();
        let row = rows.into_iter().find(|row| row["key"] == "agent.model");
        row.map(|row| {
            (row["value"].as_str().unwrap().to_owned(), row["origin"].as_str().unwrap().to_owned())
        })
    };
    let story = Story::pytest();
    let usual = (
        "claude-opus-4-5-20251101".to_owned(),
        "default, where ANTHROPIC_API_KEY is set".to_owned(),
    );
    assert_eq!(model(&story), Some(usual));
    let story = story.env("TDD_MODEL", "claude-other");
    assert_eq!(model(&story), Some(("claude-other".to_owned(), "TDD_MODEL".to_owned())));
    let story = Story::pytest();
    story.file("redgreen.toml", "[agent]\nname = \"human\"\n");
    assert_eq!(model(&story), None, "somebody else works");
}

/// `rollback` accepts a plain note as its target and leaves the note intact. Its errors name the
/// next step.
#[test]
fn rollback_reads_a_plain_note() {
    let story = Story::pytest();
    story.file("test-list.md", "- [ ] adds\n");
    let commit = story.commit("plan: adds");
    let args = ["notes", "--ref=tdd-handoffs", "add", "-f", "-m", PLAIN, "HEAD"];
    assert!(story.command("git").args(args).output().unwrap().status.success());
    let said = story.redgreen(&format!("rollback {commit}"));
    assert!(!said.stderr.contains("repair-notes"), "{}", said.stderr);
    assert!(
        said.stderr.contains("  next  ") || said.code == Some(0),
        "{} {}",
        said.stdout,
        said.stderr
    );
    assert_eq!(story.git("notes --ref=tdd-handoffs show HEAD").trim(), PLAIN);
}
