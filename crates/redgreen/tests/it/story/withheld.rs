//! Withheld tests: RED writes more examples than GREEN sees. redgreen refuses answers that are
//! hard-coded for the visible values, in every form. It accepts code that works for other values
//! and adds the examples to the tests.

mod tables;

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use serde_json::Value;

use super::recovery::{listening, told, write};
use super::scripts::{DONE, turn};
use super::{ProgramOutput, Story};
use crate::runner::{is_installed, node_modules};
use tables::{Kata, WAYS};

const RUN: &str = "run --script @kata.toml \"roman numerals\"";
const PLAN: &str = r#"
[[plan]]
do = [{ write = "test-list.md", text = "- [ ] small numbers\n" }]
next = { description = "small numbers", test-file = "tests/test_roman.py", impl-file = "roman.py" }
"#;
const TEST: &str = "from roman import to_roman\n\n\ndef test_small_numbers():\n    assert to_roman(1) == 'I'\n    \
                    assert to_roman(2) == 'II'\n    assert to_roman(3) == 'III'\n";
const MORE: &str = "from roman import to_roman\n\n\ndef test_four():\n    assert to_roman(4) == 'IV'\n\n\n\
                    def test_nine():\n    assert to_roman(9) == 'IX'\n";
const TABLE: &str =
    "def to_roman(number):\n    return {1: 'I', 2: 'II', 3: 'III'}.get(number, '?')\n";
const CODE: &str = tables::PYTHON_CODE;
/// Tests one kill point out of this many, unless `is_all()`.
const STRIDE: usize = 3;
const WITHHELD: &str = ".redgreen/withheld/tests/test_more.py";

fn red() -> String {
    turn("red", &format!("{}, {}", write("tests/test_roman.py", TEST), write(WITHHELD, MORE)))
}

fn green(code: &str) -> String {
    turn("green", &write("roman.py", code))
}

fn story(turns: &[&str]) -> Story {
    let story = Story::pytest();
    story.script("kata.toml", &[&["agent = \"kata\"\n", PLAN], turns, &[DONE]].concat().concat());
    story
}

fn run_folder(story: &Story) -> PathBuf {
    fs::read_dir(story.root.join(".git/redgreen/runs")).unwrap().next().unwrap().unwrap().path()
}

fn journal(story: &Story) -> String {
    fs::read_to_string(run_folder(story).join("journal.jsonl")).unwrap()
}

/// The note on the commit with this subject.
fn note(story: &Story, subject: &str) -> Value {
    let commit = story.git(&format!("log -1 --format=%H --grep=^{subject} {}", story.branch()));
    serde_json::from_str(&story.git(&format!("notes --ref=tdd-handoffs show {commit}"))).unwrap()
}

/// A run in which GREEN tries every way of hard-coding the answers, and then writes real code.
fn refused_in_every_way(kata: &Kata, story: &Story) -> ProgramOutput {
    let mut script = format!(
        "\n[[plan]]\ndo = [{{ write = \"test-list.md\", text = \"- [ ] small numbers\\n\" }}]\n\
         next = {{ description = \"small numbers\", test-file = \"{}\", impl-file = \"{}\" }}\n",
        kata.test.0, kata.code.0
    );
    let withheld = format!(".redgreen/withheld/{}", kata.withheld.0);
    script += &turn(
        "red",
        &format!("{}, {}", write(kata.test.0, kata.test.1), write(&withheld, kata.withheld.1)),
    );
    assert_eq!(kata.ways.len(), WAYS);
    for (number, (_, files)) in kata.ways.iter().enumerate() {
        // Every second attempt also knows the example that the agent was told before. The agent is
        // then told another one.
        let known = if number % 2 == 0 { &tables::VISIBLE[..] } else { &tables::TOLD[..] };
        let files = files.iter().map(|(path, text)| write(path, &tables::filled(text, known)));
        script += &turn("green", &files.collect::<Vec<_>>().join(", "));
    }
    script += &turn("green", &write(kata.code.0, kata.code.1));
    script += DONE;
    story.script("kata.toml", &script);
    let said = story.redgreen(&format!("{RUN} --max-iterations {}", WAYS + 1));
    let said = said.says("baseline");
    let all = format!("{}\n{}", said.stdout, said.stderr);
    for (number, (way, _)) in kata.ways.iter().enumerate() {
        let refusal = verdicts(story).get(number).cloned().unwrap_or_default();
        assert_eq!(refusal, "green.overfits", "{way}\n{all}");
    }
    assert_eq!(verdicts(story).len(), WAYS + 1, "{all}");
    let said = said.exits(3).says("2 tests passed that the implementer did not see");
    let branch = story.branch();
    let files = story.git(&format!("ls-tree -r --name-only {branch}"));
    assert!(files.contains(kata.withheld.0) && !files.contains(".redgreen"), "{files}");
    assert_eq!(note(story, "feat:")["withheldTests"], 2);
    said
}

/// The first code of each verdict on GREEN.
fn verdicts(story: &Story) -> Vec<String> {
    let lines = journal(story);
    let lines = lines.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let judged = lines.filter(|line| line["event"] == "judged" && line["phase"] == "GREEN");
    judged
        .map(|line| line["verdict"]["reasons"][0]["code"].as_str().unwrap_or_default().to_owned())
        .collect()
}

#[test]
fn answers_written_out_are_refused_in_python() {
    refused_in_every_way(&tables::PYTHON, &Story::pytest());
}

#[test]
fn answers_written_out_are_refused_in_typescript() {
    let story = Story::pytest();
    story.git("rm -q pytest.ini");
    story.file("package.json", r#"{"type": "module", "scripts": {"test": "vitest run"}}"#);
    story.file(".gitignore", "node_modules\n").commit("vitest");
    symlink(node_modules(), story.root.join("node_modules")).unwrap();
    refused_in_every_way(&tables::TYPESCRIPT, &story);
}

#[test]
fn answers_written_out_are_refused_in_rust() {
    let story = Story::pytest();
    story.git("rm -q pytest.ini");
    let manifest = "[package]\nname = \"numerals\"\nversion = \"0.1.0\"\nedition = \"2021\"\n";
    story.file("Cargo.toml", manifest).file(".gitignore", "target\nCargo.lock\n");
    story.file("src/lib.rs", "//! Numerals.\n").commit("start");
    refused_in_every_way(&tables::RUST, &story);
}

#[test]
fn answers_written_out_are_refused_in_go() {
    if !is_installed("go") {
        return;
    }
    let story = Story::pytest();
    story.git("rm -q pytest.ini");
    story.file("go.mod", "module example.com/numerals\n\ngo 1.19\n");
    story.file("roman/doc.go", "// Package roman writes numbers.\npackage roman\n").commit("start");
    refused_in_every_way(&tables::GO, &story);
}

#[test]
fn the_implementer_is_reported_one_example_and_sees_no_other() {
    let look = r#"{ shell = 'ls -aR . > "$HOME/seen"; git log -p --all >> "$HOME/seen"; cat tests/*.py >> "$HOME/seen"' }"#;
    let story = story(&[
        &red(),
        &turn("green", &format!("{look}, {}", write("roman.py", TABLE))),
        &listening("green", &format!("{look}, {}", write("roman.py", CODE))),
    ]);
    let before = story.belongings();
    let said =
        story.redgreen(RUN).exits(3).says("[green.overfits]").says("2 of 2 withheld tests fail");
    said.says("2 tests withheld from the implementer");
    assert_eq!(story.belongings(), before);
    let told = told(&story, 2);
    assert!(
        told.contains("tests/test_more.py::test_four") && told.contains("to_roman(4)"),
        "{told}"
    );
    assert!(!told.contains("nine") && !told.contains("IX"), "{told}");
    let seen = fs::read_to_string(story.place("home/seen")).unwrap();
    assert!(seen.contains("test_roman.py") && seen.contains("to_roman(3)"), "{seen}");
    for unseen in [".redgreen", "test_more", "'IV'", "'IX'"] {
        assert!(!seen.contains(unseen), "{unseen}: {seen}");
    }
    // From GREEN on they are ordinary tests.
    let branch = story.branch();
    assert_eq!(story.git(&format!("show {branch}:tests/test_more.py")), MORE.trim_end());
    let red = story.git(&format!("log -1 --format=%H --grep=^test: {branch}"));
    assert!(!story.git(&format!("ls-tree -r --name-only {red}")).contains("test_more"));
    assert_eq!(note(&story, "test:")["withheldTests"], 2);
    assert_eq!(note(&story, "feat:")["withheldTests"], 2);
    assert_eq!(note(&story, "feat:")["tests"]["passed"], 3);
    let status = story.redgreen("status --json").json();
    assert_eq!(
        (&status["runs"][0]["testsWithheld"], &status["runs"][0]["testsJoined"]),
        (&0.into(), &2.into())
    );
    story.redgreen("why").exits(0).says("2 tests of accepted cycles, now part of the test suite");
    story.redgreen("report").exits(0).says("Withheld Tests: 2 passed").says("3/3 passed");
    // `judge` gives the same verdict on the branch's commits.
    let green = story.git(&format!("log -1 --format=%H --grep=^feat: {branch}"));
    story.redgreen(&format!("judge green --base {green}~1 --head {green}")).exits(0);
    story.redgreen("approve").exits(0);
    assert!(story.root.join("tests/test_more.py").is_file());
    story.redgreen("undo").exits(0);
    assert!(!story.root.join("tests/test_more.py").exists());
}

#[test]
fn nothing_is_withheld_where_the_settings_say_so() {
    let off = story(&[&red(), &green(TABLE)]);
    off.file("redgreen.toml", "withhold = false\n").commit("settings");
    off.redgreen(RUN).exits(3);
    let files = off.git(&format!("ls-tree -r --name-only {}", off.branch()));
    assert!(!files.contains("test_more") && !journal(&off).contains("test_more"), "{files}");

    let flag = story(&[&red(), &green(TABLE)]);
    flag.redgreen(&format!("{RUN} --no-withhold")).exits(3);
    assert!(!flag.git(&format!("ls-tree -r --name-only {}", flag.branch())).contains("test_more"));
}

#[test]
fn what_cannot_be_withheld_is_dropped_and_told_and_red_is_accepted() {
    let passes = "def test_nothing():\n    assert True\n";
    let files = [
        (".redgreen/withheld/tests/test_passes.py", passes),
        (".redgreen/withheld/tests/test_roman.py", MORE),
        (".redgreen/withheld/tests/test_broken.py", "def test_four(:\n"),
        (
            ".redgreen/withheld/conftest.py",
            "def pytest_collection_modifyitems(items):\n    items.clear()\n",
        ),
        (".redgreen/withheld/helper.py", passes),
    ];
    let more = files.map(|(path, text)| write(path, text)).join(", ");
    let link = r#"{ shell = 'ln -s /etc/passwd .redgreen/withheld/test_link.py' }"#;
    let red = turn("red", &format!("{}, {more}, {link}", write("tests/test_roman.py", TEST)));
    let story = story(&[&red, &green(CODE)]);
    let mut said = story.redgreen(RUN).exits(3);
    for words in [
        "tests/test_passes.py is not used: tests/test_passes.py::test_nothing already passes",
        "tests/test_broken.py is not used: it does not load",
        "tests/test_roman.py already exists in the project",
        "conftest.py is not a test file",
        "helper.py is not a test file",
        "test_link.py is not a text file",
    ] {
        said = said.says(words);
    }
    let files = story.git(&format!("ls-tree -r --name-only {}", story.branch()));
    assert_eq!(files.lines().filter(|file| file.contains("test_")).count(), 1, "{files}");
    assert!(note(&story, "test:").get("withheldTests").is_none());
}

/// A faulty withheld test does not lead to a refusal. Nobody could notice the fault while the code
/// was missing.
#[test]
fn a_withheld_file_that_asks_for_something_else_is_dropped_and_the_others_join() {
    let wrong = MORE.replace("to_roman", "from_roman");
    let both =
        [write(WITHHELD, MORE), write(".redgreen/withheld/tests/test_wrong.py", &wrong)].join(", ");
    let red = turn("red", &format!("{}, {both}", write("tests/test_roman.py", TEST)));
    let story = story(&[&red, &green(CODE)]);
    story.redgreen(RUN).exits(3).says("tests/test_wrong.py is not used: they do not load");
    let files = story.git(&format!("ls-tree -r --name-only {}", story.branch()));
    assert!(files.contains("tests/test_more.py") && !files.contains("test_wrong"), "{files}");
}

/// The implementer is told the name of one of them. A file of the implementer at the same path does
/// not replace the test.
#[test]
fn a_withheld_test_is_not_replaced_by_the_implementer() {
    let own = write("tests/test_more.py", "def test_four():\n    pass\n");
    let taken = turn("green", &format!("{}, {own}", write("roman.py", TABLE)));
    let given_back = turn(
        "green",
        &format!("{{ delete = \"tests/test_more.py\" }}, {}", write("roman.py", CODE)),
    );
    let story = story(&[&red(), &taken, &given_back]);
    let said =
        story.redgreen(RUN).exits(3).says("tests/test_more.py is reserved for a withheld test");
    said.says("[green.tests_changed]").says("2 tests passed that the implementer did not see");
    assert_eq!(story.git(&format!("show {}:tests/test_more.py", story.branch())), MORE.trim_end());
}

#[test]
fn red_finds_its_withheld_tests_again_when_it_is_asked_again() {
    let passes = "def test_small_numbers():\n    assert True\n";
    let first = turn(
        "red",
        &format!("{}, {}", write("tests/test_roman.py", passes), write(WITHHELD, MORE)),
    );
    let again = turn(
        "red",
        &format!(
            "{{ shell = 'cp {WITHHELD} \"$HOME/found\"' }}, {}",
            write("tests/test_roman.py", TEST)
        ),
    );
    let story = story(&[&first, &again, &green(CODE)]);
    story.redgreen(RUN).exits(3).says("[red.passes]");
    assert_eq!(fs::read_to_string(story.place("home/found")).unwrap(), MORE);
    assert!(
        story
            .git(&format!("ls-tree -r --name-only {}", story.branch()))
            .contains("tests/test_more.py")
    );
}

#[test]
fn a_withheld_test_can_be_contested_and_rolled_back() {
    let contest = r#"
[[green]]
answer = '{"contest": {"test": "tests/test_more.py::test_four", "why": "4 is IIII"}}'
"#;
    let story = story(&[&red(), &green(TABLE), contest, &green(CODE), DONE, DONE]);
    story.redgreen(RUN).exits(3).says("[green.contested]").says("assert to_roman(4) == 'IV'");
    let red = story.git(&format!("log -1 --format=%H --grep=^test: {}", story.branch()));
    story.redgreen(&format!("rollback {red}")).exits(0);
    story.redgreen("status").exits(0).says("2 tests until GREEN is accepted");
    story.redgreen("resume").exits(3).says("2 tests passed that the implementer did not see");
}

/// The withheld files stay on the machine that started the run. Taking over the run elsewhere
/// prints a message about that.
#[test]
fn a_run_that_is_taken_over_elsewhere_continues_without_them() {
    let here = story(&[&red()]);
    here.redgreen(RUN).exits(4);
    let there = Story::bare_folder();
    let from = here.root.display().to_string();
    let clone = there.command("git").args(["clone", "-q", &from, "."]).output().unwrap();
    assert!(clone.status.success(), "{clone:?}");
    there.git("config user.name Grace");
    there.git("config user.email grace@example.com");
    there.git("fetch -q origin refs/notes/tdd-handoffs:refs/notes/tdd-handoffs");
    there.script("rest.toml", &[&green(TABLE), DONE].concat());
    there
        .redgreen("resume --script @rest.toml")
        .exits(3)
        .says("2 withheld tests are on the machine that started the run");
    assert!(
        !there.git(&format!("ls-tree -r --name-only {}", there.branch())).contains("test_more")
    );
}

/// A run that is killed before or after any effect, from RED to the commit of GREEN, gives the same
/// result.
#[test]
fn killed_between_any_two_steps_nothing_is_lost_or_done_twice() {
    let turns = [red(), green(TABLE), green(CODE)];
    let turns: Vec<&str> = turns.iter().map(String::as_str).collect();
    let undisturbed = story(&turns).quick();
    undisturbed.redgreen(RUN).exits(3);
    let (work, effects) = (undisturbed.work(), intents(&undisturbed));
    let from = effects.iter().position(|intent| intent == "note").unwrap();
    let to = effects.len() - effects.iter().rev().position(|intent| intent == "commit").unwrap();
    let points = (from + 2..=to + 1).flat_map(|effect| [(effect, "before"), (effect, "after")]);
    for (effect, moment) in points.step_by(if super::crash::is_all() { 1 } else { STRIDE }) {
        let story = story(&turns).quick();
        let point = format!("{moment}:{effect}");
        assert_eq!(kill(&story, RUN, &point).signal, Some(9), "{point}");
        story.redgreen("resume").exits(3);
        assert_eq!(story.work(), work, "{point} {:?}", effects.get(effect - 1));
        let salvages = story.salvages();
        let asked =
            effects.get(effect - 1).is_some_and(|intent| intent == "ask") && moment == "after";
        assert!(asked || salvages == undisturbed.salvages(), "{point}: {salvages:?}");
    }
}

/// If a person writes the code, their files stay, and the withheld tests are added to them.
#[test]
fn the_tests_join_the_files_of_a_person() {
    let story = story(&[&red()]);
    let script = story.place("kata.toml").display().to_string();
    let story = story.env("REDGREEN_SCRIPT", &script);
    story
        .file("redgreen.toml", "[agent]\non-save = true\n[agents]\ngreen = \"human\"\n")
        .commit("settings");
    let run = story
        .prepare("run \"roman numerals\"")
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let worktree = await_worktree(&story);
    fs::write(worktree.join("roman.py"), CODE).unwrap();
    let output = run.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(3), "{}", journal(&story));
    let files = story.git(&format!("ls-tree -r --name-only {}", story.branch()));
    assert!(files.contains("tests/test_more.py") && files.contains("roman.py"), "{files}");
}

fn kill(story: &Story, line: &str, point: &str) -> ProgramOutput {
    super::crash::kill_at(story, line, point)
}

fn intents(story: &Story) -> Vec<String> {
    let lines = journal(story);
    let lines = lines.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    lines.filter_map(|line| Some(line["intent"].as_str()?.to_owned())).collect()
}

/// Waits until a person is asked for GREEN. Returns the worktree.
fn await_worktree(story: &Story) -> PathBuf {
    const WAIT: std::time::Duration = std::time::Duration::from_millis(50);
    const TRIES: usize = 1200;
    for _ in 0..TRIES {
        std::thread::sleep(WAIT);
        let marked = fs::read_dir(story.root.join(".git/redgreen/runs")).into_iter().flatten();
        if !marked.filter_map(Result::ok).any(|run| run.path().join("worktree/human").exists()) {
            // Git cannot list a worktree while it is being created.
            continue;
        }
        let listed = story.git("worktree list --porcelain");
        if let Some(place) =
            listed.lines().filter_map(|line| line.strip_prefix("worktree ")).nth(1).map(Path::new)
        {
            return place.to_owned();
        }
    }
    panic!("nobody was asked: {}", journal(story));
}
