//! The output of each command, for people and programs, in every state of a run.

use std::fs;
use std::process::Stdio;
use std::time::{Duration, Instant};

use serde_json::Value;

use super::scripts::{DONE, GREEN, PLAN, RED, RED_PYTEST, WRONG, turn};
use super::{ProgramOutput, Story};

const RUN: &str = "run --script @kata.toml \"an adder\"";
/// How long another process may take to start working.
const START_MAX: Duration = Duration::from_secs(300);

fn story(turns: &[&str]) -> Story {
    let story = Story::new();
    story.script("kata.toml", &turns.concat());
    story
}

/// Asserts that every line of stdout is a versioned object. Returns the last one.
#[track_caller]
fn objects(said: &ProgramOutput) -> Value {
    assert_eq!(said.stderr, "", "JSON is all there is to say");
    for line in said.stdout.lines() {
        let value: Value =
            serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}"));
        assert!(value["version"] == 1 || value["v"] == 1, "{line}");
    }
    said.json()
}

#[track_caller]
fn fits_a_screen(said: &ProgramOutput) {
    assert!(said.stdout.lines().count() <= 24, "more than a screen:\n{}", said.stdout);
    let last = said.stdout.lines().last().unwrap_or_default();
    assert!(last.starts_with("  next "), "the next command is not the last line:\n{}", said.stdout);
}

#[test]
fn every_answer_is_json_when_asked() {
    let story = story(&[PLAN, RED, GREEN, DONE]);
    assert_eq!(
        objects(&story.redgreen("--json status").exits(0))["runs"].as_array().unwrap().len(),
        0
    );
    assert_eq!(objects(&story.redgreen("--json history").exits(0))["more"], false);

    let run = story.redgreen(&format!("--json {RUN}")).exits(3);
    let last = objects(&run);
    let id = last["runs"][0]["id"].as_str().unwrap().to_owned();
    assert_eq!(last["runs"][0]["outcome"]["outcome"], "waiting");
    let journal =
        fs::read_to_string(story.root.join(format!(".git/redgreen/runs/{id}/journal.jsonl")))
            .unwrap();
    let told: Vec<&str> = run.stdout.lines().collect();
    assert_eq!(
        told[..told.len() - 1],
        journal.lines().collect::<Vec<_>>(),
        "the journal's own lines, then the status"
    );

    assert_eq!(objects(&story.redgreen("--json status").exits(0))["runs"][0]["phase"], "COMPLETE");
    assert_eq!(
        objects(&story.redgreen("--json why").exits(0))["verdict"]["verdict"]["decision"],
        "accepted"
    );
    let history = objects(&story.redgreen("--json history --limit 2").exits(0));
    assert_eq!(
        (history["more"].as_bool(), history["handoffs"].as_array().map(Vec::len)),
        (Some(true), Some(2))
    );
    assert_eq!(history["handoffs"][0]["handoff"]["nextPhase"], "COMPLETE");
    assert!(
        objects(&story.redgreen("--json salvage").exits(0))["salvages"]
            .as_array()
            .unwrap()
            .is_empty()
    );
    assert_eq!(objects(&story.redgreen("--json repair-notes").exits(0))["sound"], 5);
    assert_eq!(
        objects(&story.redgreen("--json approve").exits(0))["runs"][0]["outcome"]["outcome"],
        "merged"
    );
    for line in ["completions bash", "man", "man run", "init --print"] {
        assert!(
            objects(&story.redgreen(&format!("--json {line}")).exits(0))["text"]
                .as_str()
                .unwrap()
                .len()
                > 100
        );
    }
    let error = objects(&story.redgreen("--json init").exits(2));
    assert_eq!(error["error"]["next"], "redgreen init --print");
}

#[test]
fn what_shells_and_packagers_need_is_printed_as_it_is() {
    let story = Story::bare_folder();
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        story.redgreen(&format!("completions {shell}")).exits(0).says("redgreen");
    }
    story.redgreen("completions tcsh").exits(2).says("possible values");
    story.redgreen("man").exits(0).says(".TH redgreen");
    story.redgreen("man repair-notes").exits(0).says("repair");
    story
        .redgreen("man nonsense")
        .exits(2)
        .says("there is no command \"nonsense\"")
        .says("next  redgreen --help");
    let verbs = "run resume status why history approve undo abort rollback salvage clean init test doctor bench";
    for verb in verbs.split(' ') {
        story.redgreen(&format!("{verb} --help")).exits(0).says("Example");
    }
    story.redgreen("--version").exits(0).says("redgreen 0");
    story.redgreen("").exits(2).says("Commands:");
}

#[test]
fn init_writes_every_setting_and_never_over_yours() {
    let story = Story::new();
    fs::remove_file(story.root.join("redgreen.toml")).unwrap();
    story.redgreen("init").exits(0).says("wrote ").says("next  redgreen run");
    let written = fs::read_to_string(story.root.join("redgreen.toml")).unwrap();
    assert_eq!(story.redgreen("init --print").exits(0).stdout, written);
    story.file("redgreen.toml", "# mine\n");
    story.redgreen("init").exits(2).says("already exists").says("next  redgreen init --print");
    assert_eq!(fs::read_to_string(story.root.join("redgreen.toml")).unwrap(), "# mine\n");
}

#[test]
fn status_knows_every_state_of_a_run() {
    let slow = turn(
        "red",
        r#"{ write = "test_add.py", text = "import unittest\n\n\nclass Tests(unittest.TestCase):\n    def test_x(self):\n        assert False\n" }, { wait = 600 }"#,
    );
    let story = story(&[PLAN, &slow]);
    story.redgreen("status").exits(0).says("no run yet").says("next  redgreen run");

    let mut working =
        story.prepare(&format!("{RUN} --quiet")).stdout(Stdio::null()).spawn().unwrap();
    let started = Instant::now();
    let busy = loop {
        let said = story.redgreen("status").exits(0);
        if said.stdout.contains("RED of cycle 1") {
            break said;
        }
        assert!(started.elapsed() < START_MAX, "{}", said.stdout);
    };
    let busy = busy.says("at work").says("redgreen why");
    fits_a_screen(&busy);
    let why = story.redgreen("why").exits(0).says("the agent's turn").says("the new test fails");
    fits_a_screen(&why);
    story
        .redgreen("resume")
        .exits(4)
        .says("another redgreen process is working on run")
        .says("next  redgreen status");
    story.redgreen("abort").exits(4).says("another redgreen process is working on run");
    let interrupt = format!("kill -INT {}", working.id());
    assert!(story.command("sh").args(["-c", &interrupt]).status().unwrap().success());
    assert_eq!(working.wait().unwrap().code(), Some(130));
    story.redgreen("status").exits(0).says("interrupted; nothing is lost").says("redgreen resume");
    story.redgreen("salvage").exits(0).says("work of an interrupted turn");

    story.script("rest.toml", &[PLAN, RED, GREEN, DONE].concat());
    story.redgreen("resume --script @rest.toml").exits(3);
    story
        .redgreen("status")
        .exits(0)
        .says("waiting for a human")
        .says("1 of 1 tests done")
        .says("redgreen approve");
    fits_a_screen(&story.redgreen("why").exits(0).says("a human approves"));
    story.redgreen("approve").exits(0);
    story.redgreen("status").exits(0).says("merged into main").says("redgreen history");
    let all = story.redgreen("status --all").exits(0);
    assert_eq!(all.stdout.matches("an adder").count(), 1);
}

#[test]
fn a_killed_run_is_stopped_in_the_middle() {
    let story = story(&[PLAN, RED, GREEN, DONE]).env("REDGREEN_KILL_AT", "before:9");
    assert_eq!(story.redgreen(RUN).signal, Some(9));
    let story = story.env("REDGREEN_KILL_AT", "");
    story
        .redgreen("status")
        .exits(0)
        .says("stopped early; nothing is lost")
        .says("redgreen resume");
    fits_a_screen(&story.redgreen("why").exits(0).says("doing"));
    story.redgreen("resume").exits(3).says("continues in");
    story.redgreen("approve").exits(0);
}

#[test]
fn why_explains_what_was_refused_given_up_and_undecided() {
    let passes = turn(
        "red",
        r#"{ write = "test_add.py", text = "import unittest\n\n\nclass Tests(unittest.TestCase):\n    def test_x(self):\n        assert True\n" }"#,
    );
    let refused = story(&[PLAN, &passes]);
    refused.redgreen(&format!("{RUN} --max-retries 0")).exits(1);
    let why = refused
        .redgreen("why")
        .exits(0)
        .says("gave up in RED")
        .says("red.passes")
        .says("with the test");
    let why = why.says("change the assertion").says("red-phase-failure.md").says("redgreen resume");
    fits_a_screen(&why);

    let failing = Story::pytest();
    failing.script("kata.toml", &[PLAN, RED_PYTEST, WRONG].concat());
    failing.redgreen(&format!("{RUN} --max-iterations 1")).exits(1);
    let why =
        failing.redgreen("why").exits(0).says("gave up in GREEN").says("1 iteration is used up");
    let why = why
        .says("green.still_failing: test_add.py::test_adds fails: assert -1 == 3")
        .says("with the code");
    let why = why.says("pytest: 0 passed, 1 failed (exit 1").says("green-phase-failure.md");
    fits_a_screen(&why);
}

#[test]
fn rollback_to_every_phase_and_resume_from_it() {
    let story = story(&[PLAN, &RED.repeat(2), &GREEN.repeat(3), &DONE.repeat(5)]);
    story.redgreen(RUN).exits(3);
    for phase in ["refactor: ", "feat: ", "test: ", "plan: adds"] {
        let branch = story.branch();
        let tip = story.git(&format!("rev-parse {branch}"));
        let tree = story.git(&format!("rev-parse {branch}^{{tree}}"));
        let back =
            story.git(&format!("log -1 --format=%H --grep=^{} {branch}", phase.replace(' ', ".")));
        let said = story
            .redgreen(&format!("rollback {back}"))
            .exits(0)
            .says("rolled back")
            .says("redgreen resume");
        assert!(said.stderr.contains("rolled-back"), "{}", said.stderr);
        assert_eq!(story.git(&format!("rev-parse {branch}")), back);
        let why = story.redgreen("why").exits(0);
        assert!(
            !why.stdout.contains("verdict"),
            "a verdict on commits that are gone:\n{}",
            why.stdout
        );

        let kept = story.redgreen("--json salvage").exits(0).json()["salvages"][0].clone();
        let name = kept["name"].as_str().unwrap();
        story
            .redgreen(&format!("salvage restore {name} --branch rescued"))
            .exits(0)
            .says("git log -p rescued");
        assert_eq!(story.git("rev-parse rescued^{tree}"), tree, "the exact tree");
        assert!(
            story
                .command("git")
                .args(["merge-base", "--is-ancestor", &tip, "rescued"])
                .status()
                .unwrap()
                .success()
        );
        story
            .redgreen(&format!("salvage restore {name} --branch rescued"))
            .exits(2)
            .says("already a branch rescued");
        story.redgreen(&format!("salvage drop {name}")).exits(0).says("dropped ");
        story
            .redgreen(&format!("salvage drop {name}"))
            .exits(2)
            .says("there is no salvage")
            .says("next");
        story.git("branch -q -D rescued");
        story.redgreen("resume").exits(3);
    }
    story.redgreen("rollback main").exits(2).says("no handoff note");
    story.redgreen("approve").exits(0);
}

#[test]
fn another_clone_continues_from_the_branch_and_its_notes() {
    let story = story(&[PLAN, RED]);
    story.redgreen(RUN).exits(4).says("no turns for green");
    let branch = story.branch();
    let there = Story::bare_folder();
    let from = story.root.display().to_string();
    let clone = there.command("git").args(["clone", "-q", &from, "."]).output().unwrap();
    assert!(clone.status.success(), "{clone:?}");
    there.git("config user.name Grace");
    there.git("config user.email grace@example.com");
    there.script("rest.toml", &[GREEN, DONE].concat());
    there.redgreen("resume --script @rest.toml").exits(2).says("this repository has no run yet");
    there.git("fetch -q origin refs/notes/tdd-handoffs:refs/notes/tdd-handoffs");
    let said = there
        .redgreen("resume --script @rest.toml")
        .exits(3)
        .says("continued after RED of cycle 1");
    assert!(said.stdout.contains("waiting for a human"), "{}", said.stdout);
    assert_eq!(
        there.log(&format!("main..{branch}")),
        [
            "plan: adds",
            "test: adds",
            "feat: adds",
            "refactor: no changes needed",
            "plan: every test of the list is done"
        ]
    );
    there.redgreen("approve").exits(0).says("merged");
    assert_eq!(there.git("show HEAD:calc.py"), "def add(a, b):\n    return a + b");
}
