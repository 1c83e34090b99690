//! What a person sees and does in a real browser. Skipped without Chromium, node or the packages
//! from `scripts/test`.

use std::fs;
use std::path::Path;
use std::process::Stdio;

use serde_json::Value;

use super::several::tied;
use super::{Server, id};
use crate::skip::skipped;
use crate::story::scripts::{DONE, GREEN, PLAN, RED, turn};
use crate::story::steer::watching::Talking;
use crate::story::steer::{agent_output, barrier, ended, heard, let_go, start, until, until_at};
use crate::story::{ProgramOutput, Story};

const SCRIPT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/it/story/ui/browser.mjs");
const GREEN_ACT: &str = r#"{ write = "calc.py", text = "def add(a, b):\n    return a + b\n" }"#;

/// The folder of the node packages, or `None` with a message if something that the browser needs is
/// missing.
fn packages() -> Option<String> {
    #[expect(clippy::disallowed_methods, reason = "the lane says where the packages are")]
    let folder = std::env::var("REDGREEN_TEST_NODE_MODULES").unwrap_or_default();
    let has = |name: &str| Path::new(&folder).join(name).is_dir();
    let why = match () {
        () if !Path::new("/usr/bin/chromium").exists() => "chromium is not installed",
        () if !has("playwright-core") || !has("axe-core") => {
            "playwright-core and axe-core are not installed"
        }
        () => return Some(folder),
    };
    skipped(why);
    None
}

/// Plays a scenario. The test calls `meanwhile` once the scenario has seen enough.
fn browse(story: &Story, server: &Server, scenario: &str, meanwhile: impl FnOnce()) -> Value {
    let Some(packages) = packages() else { return Value::Null };
    let pictures = story.place("pictures");
    fs::create_dir_all(&pictures).unwrap();
    let mut node = story.command("node");
    node.env("HOME", story.place("home"))
        .args([SCRIPT, &packages, scenario, &server.url()])
        .arg(&pictures);
    let mut child = node.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    until(scenario, || pictures.join("seen").exists() || child_is_done(&mut child));
    meanwhile();
    let said = ProgramOutput::of(scenario, &child.wait_with_output().unwrap());
    assert_eq!(said.code, Some(0), "{}\n{}", said.stdout, said.stderr);
    serde_json::from_str(said.stdout.trim()).unwrap()
}

fn child_is_done(child: &mut std::process::Child) -> bool {
    child.try_wait().unwrap().is_some()
}

/// The story from the issue: a person follows the run to its end, the agent receives and addresses
/// a comment, and the run is merged.
#[test]
fn a_run_is_followed_commented_on_and_merged() {
    let story = Story::new().quick();
    let item = "review: calc.py:2 `return a + b`: cap it at 100";
    let green = turn("green", &[barrier(&story, "green"), GREEN_ACT.to_owned()].join(", "));
    let plan = format!(
        "\n[[plan]]\ndo = [{}]\nnext = {{ description = \"{item}\", test-file = \"test_cap.py\", impl-file = \"calc.py\" }}\n",
        agent_output(&story, "review")
    );
    let red = r#"
[[red]]
do = [{ write = "test_cap.py", text = "import unittest\nfrom calc import add\n\n\nclass Tests(unittest.TestCase):\n    def test_cap(self):\n        assert add(99, 9) == 100\n" }]
"#;
    let fix = turn(
        "green",
        r#"{ write = "calc.py", text = "def add(a, b):\n    return min(a + b, 100)\n" }"#,
    );
    story.script("kata.toml", &[PLAN, RED, &green, DONE, &plan, red, &fix, DONE].concat());
    let line = "run --script @kata.toml \"an adder\"";
    let run = start(&story, line);
    until_at(&story, "green");
    let server = Server::start(&story, "");
    let seen = browse(&story, &server, "live", || let_go(&story, "green"));
    let_go(&story, "green");
    ended(line, run).exits(3);
    if seen.is_null() {
        return;
    }
    assert!(
        heard(&story, "review").contains("calc.py:2 `return a + b`: cap it at 100"),
        "{}",
        heard(&story, "review")
    );
    let code = fs::read_to_string(story.root.join("calc.py")).unwrap();
    assert!(code.contains("min(a + b, 100)"), "{code}");
    story.redgreen("status").exits(0).says("merged");
}

#[test]
fn the_words_of_a_turn_are_shown_while_it_continues() {
    let talking = Talking::new();
    let run = start(&talking.story, "run \"an adder\"");
    talking.until_it_said_it();
    let server = Server::start(&talking.story, "");
    browse(&talking.story, &server, "words", || talking.go_on());
    if packages().is_none() {
        talking.go_on();
    }
    ended("run", run).exits(3);
    keep_pictures(&talking.story);
}

#[test]
fn a_run_is_aborted_and_cleaned() {
    let story = Story::new().quick();
    story.script("kata.toml", &[PLAN, RED, GREEN, DONE].concat());
    story.redgreen("run --script @kata.toml --pause-after red \"an adder\"").exits(3);
    let server = Server::start(&story, "");
    if browse(&story, &server, "abort", || ()).is_null() {
        return;
    }
    story.redgreen("status").exits(0).says("aborted");
    assert_eq!(story.git("branch --list redgreen/*"), "");
    assert_eq!(story.git("worktree list").lines().count(), 1);
}

#[test]
fn one_of_two_equal_attempts_is_chosen() {
    let story = tied();
    let server = Server::start(&story, "");
    if !browse(&story, &server, "choose", || ()).is_null() {
        let code = story.git(&format!("show {}:calc.py", story.branch()));
        assert!(code.contains("b + a"), "{code}");
    }
    keep_pictures(&story);
}

#[test]
fn a_run_at_work_is_paused_and_continues() {
    let story = Story::new().quick();
    let red = turn(
        "red",
        &[barrier(&story, "red"), r#"{ write = "test_add.py", text = "import unittest\nfrom calc import add\n\n\nclass Tests(unittest.TestCase):\n    def test_adds(self):\n        assert add(1, 2) == 3\n" }"#.to_owned()].join(", "),
    );
    story.script("kata.toml", &[PLAN, &red, GREEN, DONE].concat());
    let line = "run --script @kata.toml \"an adder\"";
    let run = start(&story, line);
    until_at(&story, "red");
    let server = Server::start(&story, "");
    let seen = browse(&story, &server, "pause", || let_go(&story, "red"));
    let_go(&story, "red");
    let said = ended(line, run).exits(3);
    if !seen.is_null() {
        said.says("you said   pause after this phase").says(
            "RED is accepted and the run is \
                   paused",
        );
        story.redgreen("status").exits(0).says("waiting for a human");
    }
}

#[test]
fn a_change_of_five_thousand_lines_is_shown_and_scrolled() {
    let story = Story::new().quick();
    let long = r#"{ shell = "seq 1 5000 | sed 's/.*/NUMBER_& = &  # the number &/' > table.py" }"#;
    let green = turn("green", &[long, GREEN_ACT].join(", "));
    story.script("kata.toml", &[PLAN, RED, &green, DONE].concat());
    story.redgreen("run --script @kata.toml \"an adder\"").exits(3);
    let server = Server::start(&story, "");
    let seen = browse(&story, &server, "large", || ());
    if !seen.is_null() {
        #[expect(clippy::print_stderr, reason = "a figure for people")]
        {
            eprintln!("5,000 lines: first paint after {} ms", seen["painted"]);
        }
    }
}

#[test]
fn pages_are_accessible_in_light_and_dark_at_a_desk_and_on_a_phone() {
    let story = Story::new().quick();
    let wrong = r#"
[[green]]
do = [{ write = "calc.py", text = "def add(a, b):\n    return a - b\n" }]
"#;
    story.file("calc.py", "# Sums.\n\nVERSION = 'one'\n");
    story.commit("code");
    let green = r##"
[[green]]
do = [{ write = "calc.py", text = "# Sums and more.\n\n\ndef add(a, b):\n    \"\"\"Adds two numbers.\"\"\"\n    return a + b\n" }]
"##;
    story.script("kata.toml", &[PLAN, RED, wrong, green, DONE].concat());
    story
        .redgreen(
            "run --script @kata.toml \"an adder with a rather long name that has to be wrapped\"",
        )
        .exits(3);
    let server = Server::start(&story, "");
    let page = server.get(&format!("/runs/{}", id(&story)));
    let tree = page.split("data-to=\"").nth(1).unwrap().split('"').next().unwrap().to_owned();
    let comment =
        format!("id=0&file=calc.py&side=new&line=6&code=x&tree={tree}&body=why+not+sum%3F");
    server.post(&format!("/runs/{}/comments", id(&story)), &comment);
    browse(&story, &server, "looks", || ());
    let seen = browse(&story, &server, "removed", || ());
    assert!(seen.is_null() || seen["comments"] == 2, "{seen}");
    keep_pictures(&story);
}

#[test]
fn a_page_of_another_person_cannot_drive_it() {
    let story = Story::new().quick();
    story.script("kata.toml", &[PLAN, RED, GREEN, DONE].concat());
    story.redgreen("run --script @kata.toml --pause-after red \"an adder\"").exits(3);
    let server = Server::start(&story, "");
    browse(&story, &server, "strangers", || ());
    story.redgreen("status").exits(0).says("waiting for you");
}

/// Keeps the screenshots for people who want to look at them.
fn keep_pictures(story: &Story) {
    #[expect(clippy::disallowed_methods, reason = "a person says where")]
    let Some(place) = std::env::var_os("REDGREEN_TEST_PICTURES") else { return };
    fs::create_dir_all(&place).unwrap();
    for entry in fs::read_dir(story.place("pictures")).unwrap() {
        let entry = entry.unwrap();
        fs::copy(entry.path(), Path::new(&place).join(entry.file_name())).unwrap();
    }
}
