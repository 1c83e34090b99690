//! A run that pauses after phases, and the user's changes during a pause.

use std::collections::VecDeque;
use std::fs;
use std::path::PathBuf;
use std::sync::Mutex;
use std::thread;

use serde_json::Value;

use super::{agent_output, editing, events, heard, last_note, run_folder};
use crate::story::Story;
use crate::story::crash::{is_all, kill_at};
use crate::story::scripts::{DONE, GREEN, PLAN, RED, turn};
use crate::story::terminal::on_a_terminal;

const ALL: &str =
    "run --script @kata.toml --pause-after plan,red --pause-after green,refactor \"an adder\"";
const SIGKILL: i32 = 9;
/// Tests one kill point out of this many, unless `is_all()`.
const STRIDE: usize = 5;

fn story() -> Story {
    let story = Story::new().quick();
    story.script("kata.toml", &["agent = \"adder\"\n", PLAN, RED, GREEN, DONE].concat());
    story
}

/// The phases after which a run paused, in order.
fn pauses(story: &Story) -> Vec<String> {
    let left = events(&run_folder(story), "left");
    let after = |event: &Value| event["outcome"]["after"].as_str().map(str::to_owned);
    left.iter().filter_map(after).collect()
}

fn outcome(story: &Story) -> Value {
    story.redgreen("status --json").exits(0).json()["runs"][0]["outcome"].clone()
}

/// The worktree of the agents.
fn worktree(story: &Story) -> PathBuf {
    let prepared = events(&run_folder(story), "prepared");
    PathBuf::from(prepared.last().unwrap()["worktree"].as_str().unwrap())
}

#[test]
fn a_run_pauses_after_each_phase_and_continues_when_it_is_resumed() {
    let story = story();
    let before = story.belongings();
    story
        .redgreen(ALL)
        .exits(3)
        .says("waiting for you: PLAN is accepted and the run is paused")
        .says("change the plan: redgreen plan");
    story.redgreen("why").exits(0).says("you resume it").says("waiting for you");
    story.redgreen("approve").exits(2).says("is not done yet").says("redgreen resume");
    for phase in ["RED", "GREEN", "REFACTOR"] {
        let said = story
            .redgreen("resume")
            .exits(3)
            .says(&format!("waiting for you: {phase} is accepted"));
        said.says("redgreen reject").says("change it by hand");
        assert!(worktree(&story).is_dir());
    }
    story.redgreen("resume").exits(3).says("waiting for a human");
    assert_eq!(pauses(&story), ["PLAN", "RED", "GREEN", "REFACTOR"]);
    assert_eq!(story.belongings(), before);
    assert_eq!(story.salvages(), Vec::<String>::new());
    story.assert_no_worktree();
    story.redgreen("approve").exits(0);
}

#[test]
fn pauses_are_set_in_the_settings_changed_by_resume_and_end_with_none() {
    let story = story();
    let settings = fs::read_to_string(story.root.join("redgreen.toml")).unwrap();
    story.file("redgreen.toml", &format!("pause-after = [\"red\"]\n{settings}"));
    story.commit("pause");
    story.redgreen("run --script @kata.toml \"an adder\"").exits(3).says("RED is accepted");
    story.redgreen("resume --pause-after refactor").exits(3).says("REFACTOR is accepted");
    story.redgreen("resume --pause-after none").exits(3).says("waiting for a human");
    story.redgreen("run --pause-after blue x").exits(2).says("plan, red, green, refactor, none");
    story.file("redgreen.toml", "pause-after = [\"blue\"]\n");
    story
        .redgreen("run --script @kata.toml x")
        .exits(2)
        .says("it must be one of \"plan\", \"red\"");
}

#[test]
fn killed_at_any_effect_a_run_pauses_where_it_would_have_and_comes_to_the_same() {
    let whole = story();
    whole.redgreen(ALL).exits(3);
    for _ in 0..4 {
        whole.redgreen("resume").exits(3);
    }
    let (work, expected) = (whole.work(), pauses(&whole));
    // Each start has at most this many effects.
    let points = (0..5).flat_map(|command| {
        (1..=8).flat_map(move |effect| ["before", "after"].map(|moment| (command, moment, effect)))
    });
    let stride = if is_all() { 1 } else { STRIDE };
    let queue = Mutex::new(points.step_by(stride).collect::<VecDeque<_>>());
    let workers = thread::available_parallelism().map_or(2, usize::from);
    thread::scope(|scope| {
        for _ in 0..workers {
            scope.spawn(|| {
                loop {
                    let next = queue.lock().unwrap().pop_front();
                    let Some((command, moment, effect)) = next else { break };
                    let point = format!("{moment}:{effect} of command {command}");
                    let story = story();
                    let mut line = ALL;
                    for _ in 0..command {
                        story.redgreen(line).exits(3);
                        line = "resume";
                    }
                    let said = kill_at(&story, line, &format!("{moment}:{effect}"));
                    assert!(
                        said.signal == Some(SIGKILL) || said.code == Some(3),
                        "{point}: {}",
                        said.stderr
                    );
                    for _ in 0..6 {
                        if outcome(&story)["outcome"] == "waiting" {
                            break;
                        }
                        story.redgreen("resume").exits(3);
                    }
                    assert_eq!(pauses(&story), expected, "{point}");
                    assert_eq!(story.work(), work, "{point}");
                    story.redgreen("approve").exits(0);
                }
            });
        }
    });
}

#[test]
fn a_rejected_test_is_written_anew_with_the_words() {
    let story = Story::new().quick();
    let again = turn(
        "red",
        &[
            agent_output(&story, "red"),
            r#"{ write = "test_sum.py", text = "import unittest\nfrom calc import add\n\n\nclass Tests(unittest.TestCase):\n    def test_sums(self):\n        assert add(3, 4) == 7\n" }"#
                .to_owned(),
        ]
        .join(", "),
    );
    story.script("kata.toml", &[PLAN, RED, &again, GREEN, DONE].concat());
    story.redgreen("run --script @kata.toml --pause-after plan,red \"an adder\"").exits(3);
    story.redgreen("reject \"no test yet\"").exits(2).says("no test to reject now");
    story.redgreen("resume").exits(3);
    story.redgreen("reject \"  \"").exits(2).says("requires a reason");
    let kill = kill_at(&story, "reject \"use larger numbers\"", "after:1");
    assert_eq!(kill.signal, Some(SIGKILL), "{}", kill.stderr);
    let said =
        story.redgreen("reject \"use larger numbers\"").exits(0).says("the test is rejected");
    said.says("redgreen resume");
    story.redgreen("why").exits(0).says("use larger numbers");
    story.redgreen("resume --pause-after none").exits(3).says("waiting for a human");
    assert_eq!(
        heard(&story, "red"),
        "- I rejected the test that was accepted for this: use larger numbers"
    );
    assert_eq!(
        last_note(&story)["userMessages"][0],
        "I rejected the test that was accepted for this: use larger numbers"
    );
    let files = story.git(&format!("ls-tree -r --name-only {}", story.branch()));
    assert!(files.contains("test_sum.py") && !files.contains("test_add.py"), "{files}");
    assert!(
        story.salvages().iter().any(|name| name.ends_with("-rolled-back")),
        "{:?}",
        story.salvages()
    );
}

#[test]
fn a_test_that_the_user_changes_by_hand_is_judged_again() {
    let story = story();
    story.redgreen("run --script @kata.toml --pause-after red \"an adder\"").exits(3);
    let place = worktree(&story);
    let test = "import unittest\nfrom calc import add\n\n\nclass Tests(unittest.TestCase):\n    \
                def test_adds(self):\n        assert add(10, 20) == 30\n";
    // A test that passes at once is not a RED. The user's change stays in place.
    fs::write(
        place.join("test_add.py"),
        "import unittest\n\n\nclass Tests(unittest.TestCase):\n    \
         def test_adds(self):\n        assert 1 + 1 == 2\n",
    )
    .unwrap();
    let said = story
        .redgreen("resume")
        .exits(3)
        .says("your changes in RED are refused")
        .says("change it again in");
    said.says("judging them again");
    assert!(fs::read_to_string(place.join("test_add.py")).unwrap().contains("1 + 1"));
    fs::write(place.join("test_add.py"), test).unwrap();
    assert_eq!(kill_at(&story, "resume", "after:1").signal, Some(SIGKILL));
    assert_eq!(fs::read_to_string(place.join("test_add.py")).unwrap(), test);
    story.redgreen("resume").exits(3).says("waiting for a human");
    assert_eq!(story.git(&format!("show {}:test_add.py", story.branch())), test.trim_end());
    let subjects = story.log(&format!("main..{}", story.branch()));
    let tests = subjects.iter().filter(|subject| *subject == "test: adds").count();
    assert_eq!(tests, 1, "one commit for RED: {subjects:?}");
    assert!(
        story.salvages().iter().any(|name| name.ends_with("-edited")),
        "{:?}",
        story.salvages()
    );
    story.redgreen("approve").exits(0);
}

#[test]
fn code_that_the_user_changes_by_hand_is_judged_again() {
    for (phase, file) in [("green", "calc.py"), ("refactor", "calc.py")] {
        let story = story();
        story
            .redgreen(&format!("run --script @kata.toml --pause-after {phase} \"an adder\""))
            .exits(3);
        let code = "def add(a, b):\n    \"\"\"The sum.\"\"\"\n    return a + b\n";
        let mine = worktree(&story).join(file);
        fs::write(&mine, code).unwrap();
        assert_eq!(kill_at(&story, "resume", "after:1").signal, Some(SIGKILL), "{phase}");
        assert_eq!(fs::read_to_string(&mine).unwrap(), code, "{phase}");
        story.redgreen("resume").exits(3).says("waiting for a human");
        assert_eq!(
            story.git(&format!("show {}:{file}", story.branch())),
            code.trim_end(),
            "{phase}"
        );
        story.redgreen("approve").exits(0);
    }
}

#[test]
fn what_the_user_changes_is_tried_with_the_withheld_tests_as_well() {
    let red = r#"
[[red]]
do = [
  { write = "test_add.py", text = "import unittest\nfrom calc import add\n\n\nclass Tests(unittest.TestCase):\n    def test_adds(self):\n        assert add(1, 2) == 3\n" },
  { write = ".redgreen/withheld/test_more.py", text = "import unittest\nfrom calc import add\n\n\nclass Tests(unittest.TestCase):\n    def test_more(self):\n        assert add(4, 5) == 9\n" },
]
"#;
    let story = Story::new().quick();
    story.script("kata.toml", &[PLAN, red, GREEN, DONE].concat());
    story
        .redgreen("run --script @kata.toml --pause-after red,green \"an adder\"")
        .exits(3)
        .says("1 test withheld");
    let place = worktree(&story);
    fs::write(
        place.join("test_add.py"),
        "import unittest\nfrom calc import add\n\n\nclass Tests(unittest.TestCase):\n    \
         def test_adds(self):\n        assert add(2, 2) == 4\n",
    )
    .unwrap();
    story.redgreen("resume").exits(3).says("1 test withheld").says("GREEN is accepted");
    assert!(place.join("test_more.py").exists(), "it joined the tests");
    fs::write(place.join("calc.py"), "def add(a, b):\n    return 4\n").unwrap();
    story
        .redgreen("resume")
        .exits(3)
        .says("your changes in GREEN are refused")
        .says("green.overfits");
    fs::write(place.join("calc.py"), "def add(a, b):\n    return b + a\n").unwrap();
    story.redgreen("resume").exits(3).says("waiting for a human");
    let files = story.git(&format!("ls-tree -r --name-only {}", story.branch()));
    assert!(files.contains("test_more.py"), "{files}");
}

#[test]
fn a_plan_changed_in_its_pause_is_planned_anew_also_after_a_kill() {
    let story = Story::new().quick();
    let plan = PLAN.replace("- [ ] adds\\n", "- [ ] adds\\n- [ ] subtracts\\n");
    let second = "\n[[plan]]\nnext = { description = \"adds numbers\", test-file = \"test_add.py\", impl-file = \"calc.py\" }\n";
    story.script("kata.toml", &[&plan, second, RED, GREEN, DONE].concat());
    story.redgreen("run --script @kata.toml --pause-after plan \"an adder\"").exits(3);
    let story = editing(story, "- [ ] adds numbers\n");
    story.redgreen("plan").exits(0).says("when the run resumes");
    // Killed after the edit was journalled and before its file was removed: it counts once.
    assert_eq!(kill_at(&story, "resume --pause-after none", "before:2").signal, Some(SIGKILL));
    story.redgreen("status").exits(0).says("edited by you");
    story.redgreen("resume --pause-after none").exits(3).says("waiting for a human");
    let status = story.redgreen("status --json").exits(0).json();
    assert_eq!(status["runs"][0]["completedTests"], serde_json::json!(["adds numbers"]));
    assert_eq!(events(&run_folder(&story), "plan-edited").len(), 1);
}

#[test]
fn at_a_terminal_the_pause_asks() {
    let story = story();
    let paused = "reject WHY, Enter to decide later] ";
    let (code, screen) = on_a_terminal(
        &story,
        "run --script @kata.toml --pause-after red \"an adder\"",
        &[
            (paused, "say keep it short\ndiff\nyes\n"),
            ("for another case, Enter to decide later] ", "approve\n"),
        ],
    );
    assert_eq!(code, Some(0), "{screen}");
    assert!(
        screen.contains("gets the message when it resumes")
            && screen.contains("+    def test_adds(self):"),
        "{screen}"
    );
    assert!(screen.contains("you said") && screen.contains("merged"), "{screen}");
    let (code, screen) = on_a_terminal(
        &story,
        "run --script @kata.toml --pause-after plan \"another adder\"",
        &[(paused, "what\nabort\n")],
    );
    assert!(screen.contains("expected `yes`") && screen.contains("aborted"), "{code:?} {screen}");
}

#[test]
fn a_paused_run_can_be_aborted_and_nothing_is_lost() {
    let story = story();
    story.redgreen("run --script @kata.toml --pause-after red \"an adder\"").exits(3);
    fs::write(worktree(&story).join("mine.txt"), "mine\n").unwrap();
    story.redgreen("abort").exits(0);
    story.assert_no_worktree();
    assert!(
        story.salvages().iter().any(|name| name.ends_with("-aborted")),
        "{:?}",
        story.salvages()
    );
}

/// The journals of such runs match the published schema.
#[test]
fn every_line_of_a_steered_run_fits_the_schema() {
    let story = story();
    story.redgreen("run --script @kata.toml --pause-after red \"an adder\"").exits(3);
    story.redgreen("say \"words\"").exits(0);
    story.redgreen("reject \"no\"").exits(0);
    let text = story.redgreen("schema event").exits(0).stdout;
    let schema = jsonschema::validator_for(&serde_json::from_str(&text).unwrap()).unwrap();
    let journal = fs::read_to_string(run_folder(&story).join("journal.jsonl")).unwrap();
    for line in journal.lines() {
        let line: Value = serde_json::from_str(line).unwrap();
        let faults: Vec<String> =
            schema.iter_errors(&line).map(|error| error.to_string()).collect();
        assert_eq!(faults, Vec::<String>::new(), "{line}");
    }
}
