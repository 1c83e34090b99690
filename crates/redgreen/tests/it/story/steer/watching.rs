//! Watching a run from another process, and the command that notifies the user.

use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::process::Child;
use std::sync::{Mutex, mpsc};

use serde_json::json;

use super::{barrier, ended, events, let_go, run_folder, start, until_at};
use crate::server::{SeenRequest, Server, Turn, Wire};
use crate::story::Story;
use crate::story::built_in::{adder, role, served};
use crate::story::scripts::{DONE, GREEN, PLAN, turn};

const RUN: &str = "run --script @kata.toml \"an adder\"";

fn story() -> Story {
    let story = Story::new().quick();
    let red = [barrier(&story, "red"), super::RED_ACT.to_owned()].join(", ");
    story.script("kata.toml", &[PLAN, &turn("red", &red), GREEN, DONE].concat());
    story
}

#[test]
fn a_run_is_followed_from_another_process_until_it_stops() {
    let story = story();
    story.redgreen("watch").exits(2).says("this repository has no run yet");
    let run = start(&story, RUN);
    until_at(&story, "red");
    let watches = [start(&story, "watch"), start(&story, "watch --json")];
    story.redgreen("say \"hello\"").exits(0).says("redgreen watch");
    let_go(&story, "red");
    let [plain, json] = watches.map(|watch| ended("watch", watch).exits(3));
    ended(RUN, run).exits(3);
    for words in
        ["1 PLAN      accepted", "1 RED       accepted", "1 GREEN     accepted", "you said   hello"]
    {
        assert!(plain.stderr.contains(words), "{words}: {}", plain.stderr);
    }
    assert!(plain.stdout.contains("waiting for a human"), "{}", plain.stdout);
    assert!(
        json.stdout.lines().any(|line| line.contains("\"event\":\"committed\"")),
        "{}",
        json.stdout
    );
    assert_eq!(json.json()["runs"][0]["outcome"]["outcome"], "waiting");
    // For a stopped run, `watch` prints the outcome at once.
    story.redgreen("watch").exits(3).says("waiting for a human");
    story.redgreen("approve").exits(0);
    story.redgreen("watch").exits(0).says("merged");
}

/// A model that prints a message in GREEN and then waits, so that its turn continues.
pub(crate) struct Talking {
    server: Server,
    pub(crate) story: Story,
    asked: mpsc::Receiver<()>,
    go: mpsc::Sender<()>,
}

pub(crate) const SPOKEN: &str = "I will write <b>the adder</b> now.";

impl Talking {
    pub(crate) fn new() -> Self {
        let (asks, asked) = mpsc::channel();
        let (go, may_go) = mpsc::channel();
        let may_go = Mutex::new(may_go);
        let server =
            Server::answering(move |seen: &SeenRequest| match (role(seen), seen.answers()) {
                ("green", 0) => {
                    let code = "def add(a, b):\n    return a + b\n";
                    let write = json!({ "file_path": "calc.py", "content": code });
                    Turn::say(SPOKEN).and_call("Write", write)
                }
                ("green", _) => {
                    asks.send(()).unwrap();
                    may_go.lock().unwrap().recv().unwrap();
                    adder(seen)
                }
                _ => adder(seen),
            });
        let story = served(Story::pytest(), &server, Wire::Anthropic);
        Self { server, story, asked, go }
    }

    pub(crate) fn until_it_said_it(&self) {
        self.asked.recv().unwrap();
    }

    pub(crate) fn go_on(&self) {
        self.go.send(()).unwrap();
    }
}

/// Reads a program's output until it contains these words. Returns the output so far.
fn heard_from(stream: &mut impl BufRead, words: &str) -> String {
    let mut text = String::new();
    while !text.contains(words) {
        assert_ne!(stream.read_line(&mut text).unwrap(), 0, "it never said {words:?}: {text}");
    }
    text
}

#[test]
fn the_words_of_a_turn_are_shown_while_it_continues() {
    let talking = Talking::new();
    let story = &talking.story;
    let run = start(story, "run \"an adder\"");
    talking.until_it_said_it();
    let mut watches: [Child; 2] = [start(story, "watch"), start(story, "watch --json")];
    let mut plain = BufReader::new(watches[0].stderr.take().unwrap());
    let mut json = BufReader::new(watches[1].stdout.take().unwrap());
    let mut text = heard_from(&mut plain, "Write calc.py");
    let lines = heard_from(&mut json, "\"live\":\"tool\",\"name\":\"Write\"");
    // The turn continues only now.
    talking.go_on();
    plain.read_to_string(&mut text).unwrap();
    for watch in &mut watches {
        assert_eq!(watch.wait().unwrap().code(), Some(3));
    }
    ended("run", run).exits(3);
    let at = |words: &str| text.find(words).unwrap_or_else(|| panic!("{words}: {text}"));
    assert!(at("1 RED ") < at(SPOKEN), "{text}");
    assert!(at(SPOKEN) < at("· Write calc.py"), "{text}");
    assert!(at("· Complete it adds") < at("1 GREEN "), "{text}");
    assert_eq!(text.matches(SPOKEN).count(), 1, "{text}");
    assert!(lines.contains("\"role\":\"implementing\""), "{lines}");
    assert!(!run_folder(story).join("live.jsonl").exists());
}

#[test]
fn words_said_during_a_turn_count_once_after_a_kill() {
    let talking = Talking::new();
    let story = &talking.story;
    let mut run = start(story, "run \"an adder\"");
    talking.until_it_said_it();
    story.redgreen("say \"be brief\"").exits(0);
    talking.go_on();
    // The model wanted to end its turn and got the message instead.
    talking.until_it_said_it();
    run.kill().unwrap();
    run.wait().unwrap();
    talking.go_on();
    let resumed = start(story, "resume");
    talking.until_it_said_it();
    talking.go_on();
    ended("resume", resumed).exits(3);
    let green = talking.server.requests().into_iter().filter(|seen| role(seen) == "green");
    let green: Vec<String> = green.map(|seen| seen.body.to_string()).collect();
    let heard: Vec<usize> = green.iter().map(|body| body.matches("- be brief").count()).collect();
    assert_eq!(heard, [0, 0, 1, 1, 1], "{green:?}");
    assert!(green[2].contains("The user says, while you work."), "{}", green[2]);
    assert!(green[3].contains("The user says, newest last."), "{}", green[3]);
    assert_eq!(events(&run_folder(story), "user-said").len(), 1);
}

#[test]
fn a_run_that_is_killed_ends_the_watch() {
    let story = story();
    let mut run = start(&story, RUN);
    until_at(&story, "red");
    let watch = start(&story, "watch");
    run.kill().unwrap();
    run.wait().unwrap();
    ended("watch", watch).exits(130).says("stopped early").says("redgreen resume");
    let_go(&story, "red");
    story.redgreen("resume").exits(3);
}

#[test]
fn a_command_tells_the_user_that_a_run_waits() {
    let story = story();
    let_go(&story, "red");
    let settings = fs::read_to_string(story.root.join("redgreen.toml")).unwrap();
    let told = story.place("told");
    let command = format!(
        "[\"sh\", \"-c\", \"printf '%s\\\\n' \\\"$1\\\" >> '{}'\", \"sh\"]",
        told.display()
    );
    story.file("redgreen.toml", &format!("{settings}\n[notify]\ncommand = {command}\n"));
    story.commit("notify");
    // A command from the project's settings needs the user's agreement.
    let mut untrusted = story.prepare(RUN);
    untrusted.env_remove("REDGREEN_TRUST");
    let said = super::ProgramOutput::of(RUN, &untrusted.output().unwrap()).exits(2);
    said.says("notify.command: sh -c");
    story.redgreen("run --script @kata.toml --pause-after red \"an adder\"").exits(3);
    story.redgreen("resume").exits(3);
    story.redgreen("approve").exits(0);
    let lines = fs::read_to_string(&told).unwrap();
    let lines: Vec<&str> = lines.lines().collect();
    assert_eq!(lines.len(), 2, "{lines:?}");
    assert!(lines[0].contains(", waiting for you: RED is accepted"), "{lines:?}");
    assert!(lines[1].contains(", waiting for a human: all phases are accepted"), "{lines:?}");
}

#[test]
fn a_command_that_does_not_work_is_only_told() {
    let story = story();
    let_go(&story, "red");
    let settings = fs::read_to_string(story.root.join("redgreen.toml")).unwrap();
    story
        .file("redgreen.toml", &format!("{settings}\n[notify]\ncommand = [\"no-such-program\"]\n"));
    story.commit("notify");
    story.redgreen(RUN).exits(3).says("notify.command no-such-program failed");
}
