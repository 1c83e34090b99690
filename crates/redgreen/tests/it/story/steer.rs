//! The user steers a run: sends messages, pauses it, changes the plan, rejects a test, adds a case,
//! watches.

mod pauses;
pub(crate) mod watching;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::Value;

use super::doors::{SPEC, SPEC_SCRIPT};
use super::scripts::{DONE, GREEN, PLAN, RED, turn};
use super::{ProgramOutput, Story};

/// Longer than any step takes here, even on a busy machine.
const PATIENCE: Duration = Duration::from_secs(120);

/// An action that blocks the agent until the test lets it continue: it creates the file `at-<name>`
/// and waits for `go-<name>`.
pub(super) fn barrier(story: &Story, name: &str) -> String {
    let place = story.place("");
    let place = place.display();
    format!(
        "{{ shell = \"touch '{place}/at-{name}'; while ! test -e '{place}/go-{name}'; do sleep 0.05; done\" }}"
    )
}

/// An action that saves the user's messages.
pub(super) fn agent_output(story: &Story, name: &str) -> String {
    let place = story.place("");
    format!(
        "{{ shell = \"printf '%s' \\\"$REDGREEN_MESSAGES\\\" > '{}/heard-{name}'\" }}",
        place.display()
    )
}

pub(crate) fn until(what: &str, mut is_so: impl FnMut() -> bool) {
    let started = Instant::now();
    while !is_so() {
        assert!(started.elapsed() < PATIENCE, "{what} takes too long");
        thread::sleep(Duration::from_millis(50));
    }
}

pub(crate) fn until_at(story: &Story, name: &str) {
    until(name, || story.place(&format!("at-{name}")).exists());
}

pub(super) fn let_go(story: &Story, name: &str) {
    fs::write(story.place(&format!("go-{name}")), "").unwrap();
}

pub(super) fn heard(story: &Story, name: &str) -> String {
    fs::read_to_string(story.place(&format!("heard-{name}"))).unwrap_or_default()
}

pub(super) fn start(story: &Story, line: &str) -> Child {
    story.prepare(line).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
}

pub(super) fn ended(line: &str, child: Child) -> ProgramOutput {
    ProgramOutput::of(line, &child.wait_with_output().unwrap())
}

pub(crate) fn run_folder(story: &Story) -> PathBuf {
    let runs = fs::read_dir(story.root.join(".git/redgreen/runs")).unwrap();
    runs.map(|entry| entry.unwrap().path()).next().unwrap()
}

pub(crate) fn events(folder: &Path, name: &str) -> Vec<Value> {
    let journal = fs::read_to_string(folder.join("journal.jsonl")).unwrap();
    let lines = journal.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    lines.filter(|line| line["event"] == name).collect()
}

fn last_note(story: &Story) -> Value {
    let note = story.git(&format!("notes --ref=tdd-handoffs show {}", story.branch()));
    serde_json::from_str(&note).unwrap()
}

/// An editor that replaces the test list with this one.
fn editing(story: Story, list: &str) -> Story {
    story.script("new-list", list);
    let editor = format!("cp '{}'", story.place("new-list").display());
    story.env("EDITOR", &editor)
}

#[test]
fn words_said_in_any_phase_reach_the_next_turn_and_all_later_ones() {
    let story = Story::new().quick();
    let mut script = String::new();
    for (role, phase, act) in [
        ("plan", "plan", r#"{ write = "test-list.md", text = "- [ ] adds\n" }"#),
        (
            "red",
            "red",
            r#"{ write = "test_add.py", text = "import unittest\nfrom calc import add\n\n\nclass Tests(unittest.TestCase):\n    def test_adds(self):\n        assert add(1, 2) == 3\n" }"#,
        ),
        ("green", "green", r#"{ write = "calc.py", text = "def add(a, b):\n    return a + b\n" }"#),
        ("refactor", "refactor", r#"{ append = "calc.py", text = "\nTOTAL = None\n" }"#),
    ] {
        script += &turn(
            role,
            &[agent_output(&story, phase), barrier(&story, phase), act.to_owned()].join(", "),
        );
        if role == "plan" {
            script += "next = { description = \"adds\", test-file = \"test_add.py\", impl-file = \"calc.py\" }\n";
        }
    }
    script += &format!("\n[[plan]]\ndo = [{}]\ndone = true\n", agent_output(&story, "end"));
    story.script("kata.toml", &script);
    let line = "run --script @kata.toml \"an adder\"";
    let run = start(&story, line);
    for phase in ["plan", "red", "green", "refactor"] {
        until_at(&story, phase);
        story
            .redgreen(&format!("say \"words in {phase}\""))
            .exits(0)
            .says("gets the message during this turn, or at its next one")
            .says(&format!("words in {phase}"));
        story.redgreen("status").exits(0).says("1 message for the next turn");
        let_go(&story, phase);
    }
    ended(line, run).exits(3).says("you said   words in green");
    for (turn, words) in [
        ("plan", ""),
        ("red", "- words in plan"),
        ("green", "- words in plan\n- words in red"),
        ("refactor", "- words in plan\n- words in red\n- words in green"),
        ("end", "- words in plan\n- words in red\n- words in green\n- words in refactor"),
    ] {
        assert_eq!(heard(&story, turn), words, "{turn}");
    }
    let folder = run_folder(&story);
    assert_eq!(events(&folder, "user-said").len(), 4);
    assert_eq!(fs::read_dir(folder.join("mailbox")).unwrap().count(), 0);
    let all = ["words in plan", "words in red", "words in green", "words in refactor"];
    assert_eq!(last_note(&story)["userMessages"], serde_json::json!(all));
    let status = story.redgreen("status --json").exits(0).json();
    assert_eq!(status["runs"][0]["messages"], serde_json::json!(all));
    story.redgreen("why").exits(0).says("words in refactor");
    story.redgreen("history --json").exits(0).says("words in refactor");
    story.redgreen("report --html run.html").exits(0);
    let page = fs::read_to_string(story.root.join("run.html")).unwrap();
    assert!(page.contains("The user said: words in green"), "{page}");
    let transcripts = fs::read_dir(folder.join("transcripts")).unwrap();
    let told = transcripts.map(|file| fs::read_to_string(file.unwrap().path()).unwrap());
    assert_eq!(told.filter(|text| text.contains("The user says")).count(), 4);
    fs::remove_file(story.root.join("run.html")).unwrap();
    story.redgreen("approve").exits(0);
    story.redgreen("say \"too late\"").exits(2).says("no run is open");
}

#[test]
fn hostile_messages_are_bounded_made_visible_or_left_out() {
    let story = Story::new().quick();
    let green = turn("green", &[agent_output(&story, "green"), GREEN_ACT.to_owned()].join(", "));
    story.script("kata.toml", &[PLAN, RED, &green, DONE].concat());
    story
        .redgreen("run --script @kata.toml --pause-after red \"an adder\"")
        .exits(3)
        .says("waiting for you");
    story.redgreen(&format!("say \"{}\"", "x".repeat(5000))).exits(2).says("the limit is 4096");
    story.redgreen("say \"   \"").exits(2).says("the message is empty");
    story.redgreen("say nosuchrun words").exits(2).says("no run \"nosuchrun\" here");
    story.redgreen("say \"bell \u{7} and \u{1b}[2J clear\"").exits(0);
    let mailbox = run_folder(&story).join("mailbox");
    fs::write(mailbox.join("1-rubbish.json"), "{ not json").unwrap();
    fs::write(mailbox.join("2-large.json"), "x".repeat(1 << 20)).unwrap();
    let long = serde_json::json!({ "version": 1, "kind": "say", "text": "y".repeat(5000) });
    fs::write(mailbox.join("3-long.json"), long.to_string()).unwrap();
    fs::write(mailbox.join(".tmp-half"), "half").unwrap();
    fs::write(mailbox.join("-- option.json"), "{}").unwrap();
    story.redgreen("resume").exits(3).says("a message to this run was not used");
    assert_eq!(heard(&story, "green"), "- bell ␇ and ␛[2J clear");
    let mut left: Vec<_> = fs::read_dir(&mailbox)
        .unwrap()
        .map(|file| file.unwrap().file_name().into_string().unwrap())
        .collect();
    left.sort();
    assert_eq!(left, ["-- option.json", ".tmp-half"]);
}

const GREEN_ACT: &str = r#"{ write = "calc.py", text = "def add(a, b):\n    return a + b\n" }"#;

#[test]
fn a_plan_edited_while_an_agent_works_is_taken_at_the_next_planning() {
    let story = Story::new().quick();
    let red = [barrier(&story, "red"), RED_ACT.to_owned()].join(", ");
    let second = r#"
[[plan]]
do = [{ shell = "grep -q 'doubles' test-list.md" }]
next = { description = "doubles", test-file = "test_double.py", impl-file = "calc.py" }

[[red]]
do = [{ write = "test_double.py", text = "import unittest\nfrom calc import double\n\n\nclass Tests(unittest.TestCase):\n    def test_doubles(self):\n        assert double(4) == 8\n" }]

[[green]]
do = [{ append = "calc.py", text = "\n\ndef double(a):\n    return 2 * a\n" }]
"#;
    let plan = PLAN.replace("- [ ] adds\\n", "- [ ] adds\\n- [ ] subtracts\\n");
    story.script("kata.toml", &[&plan, &turn("red", &red), GREEN, second, DONE].concat());
    let story = editing(story, "- [ ] adds\n- [ ] doubles\n");
    let line = "run --script @kata.toml \"an adder\"";
    let run = start(&story, line);
    until_at(&story, "red");
    let said = story.redgreen("plan").exits(0).says("takes effect in the next PLAN");
    said.says("added    doubles").says("removed  subtracts");
    let_go(&story, "red");
    ended(line, run).exits(3).says("your plan  2 open items").says("waiting for a human");
    let status = story.redgreen("status --json").exits(0).json();
    assert_eq!(status["runs"][0]["completedTests"], serde_json::json!(["adds", "doubles"]));
    assert_eq!(status["runs"][0]["pendingTests"], serde_json::json!([]));
    assert!(status["runs"][0].get("planEdited").is_none(), "{status}");
    assert_eq!(events(&run_folder(&story), "plan-edited").len(), 1);
}

const RED_ACT: &str = r#"{ write = "test_add.py", text = "import unittest\nfrom calc import add\n\n\nclass Tests(unittest.TestCase):\n    def test_adds(self):\n        assert add(1, 2) == 3\n" }"#;

#[test]
fn a_plan_that_cannot_be_used_is_refused_and_the_old_one_stays() {
    let story = Story::new().quick();
    story.script("kata.toml", &[PLAN, RED, GREEN, DONE].concat());
    story.redgreen("plan").exits(2).says("this repository has no run yet");
    story
        .redgreen("run --script @kata.toml --pause-after plan \"an adder\"")
        .exits(3)
        .says("redgreen plan");
    story.redgreen("plan").exits(2).says("VISUAL and EDITOR are not set");
    for (list, words) in
        [("- [x] adds\n", "delete its line"), ("nothing\n", "the list has no items")]
    {
        story.script("new-list", list);
        let mut plan = story.prepare("plan");
        plan.env("EDITOR", format!("cp '{}'", story.place("new-list").display()));
        ProgramOutput::of("plan", &plan.output().unwrap())
            .exits(2)
            .says("this list is not valid")
            .says(words);
    }
    let mut broken = story.prepare("plan");
    broken.env("EDITOR", "false");
    ProgramOutput::of("plan", &broken.output().unwrap()).exits(4).says("the plan is unchanged");
    let mut unchanged = story.prepare("plan");
    unchanged.env("EDITOR", "true");
    ProgramOutput::of("plan", &unchanged.output().unwrap()).exits(0).says("the plan is unchanged");
    story.redgreen("resume").exits(3).says("waiting for a human");
}

#[test]
fn a_finished_run_continues_with_another_case() {
    let story = Story::new().quick();
    let more = r#"
[[plan]]
do = [{ shell = "grep -q -- '- \\[ \\] doubles a number' test-list.md" }]
next = { description = "doubles a number", test-file = "test_double.py", impl-file = "calc.py" }

[[red]]
do = [{ write = "test_double.py", text = "import unittest\nfrom calc import double\n\n\nclass Tests(unittest.TestCase):\n    def test_doubles(self):\n        assert double(4) == 8\n" }]

[[green]]
do = [{ append = "calc.py", text = "\n\ndef double(a):\n    return 2 * a\n" }]
"#;
    story.script("kata.toml", &[PLAN, RED, GREEN, DONE, more, DONE].concat());
    story.redgreen("run --script @kata.toml \"an adder\"").exits(3);
    story.redgreen("resume --more \" \"").exits(2).says("the message is empty");
    story.redgreen("resume --more \"doubles a number\"").exits(3).says("waiting for a human");
    let status = story.redgreen("status --json").exits(0).json();
    assert_eq!(
        status["runs"][0]["completedTests"],
        serde_json::json!(["adds", "doubles a number"])
    );
    story.redgreen("approve").exits(0);
    assert!(story.root.join("test_double.py").exists());
    story.redgreen("resume --more \"another\"").exits(2);
}

/// A specification has no plan until its tests are done. After that, the run continues item by item.
#[test]
fn a_finished_specification_continues_with_another_case() {
    let more = r#"
[[plan]]
next = { description = "doubles", test-file = "test_double.py", impl-file = "double.py" }

[[red]]
do = [{ write = "test_double.py", text = "import unittest\nfrom double import double\n\n\nclass Tests(unittest.TestCase):\n    def test_doubles(self):\n        assert double(4) == 8\n" }]

[[green]]
do = [{ write = "double.py", text = "def double(a):\n    return 2 * a\n" }]
"#;
    let story = Story::new().quick().env("EDITOR", "true");
    story.script("kata.toml", &[SPEC_SCRIPT, more, DONE].concat()).script("spec.yaml", SPEC);
    story
        .redgreen("run --script @kata.toml --spec @spec.yaml --pause-after red")
        .exits(3)
        .says("RED is accepted");
    story.redgreen("plan").exits(2).says("its input file lists all tests");
    story.redgreen("resume").exits(3).says("TASK COMPLETE");
    story
        .redgreen("resume --pause-after none --more \"doubles\"")
        .exits(3)
        .says("doubles [plan.selected]")
        .says("waiting for a human");
    let subjects = story.log(&format!("main..{}", story.branch()));
    assert!(subjects.iter().any(|subject| subject == "feat: doubles"), "{subjects:?}");
    story.redgreen("approve").exits(0);
}
