//! A run seen from another process, and the command that tells its user.

use std::fs;

use super::{barrier, ended, let_go, start, until_at};
use crate::story::Story;
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
    // A run that has stopped: its outcome at once.
    story.redgreen("watch").exits(3).says("waiting for a human");
    story.redgreen("approve").exits(0);
    story.redgreen("watch").exits(0).says("merged");
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
    // What a project's settings name needs the user's agreement.
    let mut untrusted = story.prepare(RUN);
    untrusted.env_remove("REDGREEN_TRUST");
    let said = super::Said::of(RUN, &untrusted.output().unwrap()).exits(2);
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
