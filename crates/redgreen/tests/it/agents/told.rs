//! Messages from the user reach real coding agents while they work.

use std::fs;
use std::process::Stdio;

use serde_json::Value;

use super::{MODEL, SETTINGS, with_agents};
use crate::story::ProgramOutput;
use crate::story::steer::{events, run_folder, until};

const WORDS: &str = "call the numbers a and b";

/// When an agent gets a message sent during its turn.
#[derive(Clone, Copy, PartialEq)]
enum Told {
    AtOnce,
    NextTurn,
}

/// Sends a message in the middle of GREEN.
#[track_caller]
fn told(agent: &str, program: &str, when: Told) {
    let Some(story) = with_agents(agent, program) else { return };
    story.script("model.py", MODEL).file("redgreen.toml", SETTINGS);
    story.commit("settings");
    let gate = story.place("gate");
    fs::create_dir_all(&gate).unwrap();
    let story = story.env("MODEL_GATE", &gate.display().to_string());
    let namespace = if rustix::process::getuid().is_root() { "--net" } else { "--map-root-user" };
    let mut command = story.command("unshare");
    command.args([namespace, "--net", "python"]).arg(story.place("model.py"));
    command.arg(env!("CARGO_BIN_EXE_redgreen")).args(["run", "--agent", agent, "a calculator"]);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut run = command.spawn().unwrap();
    until("GREEN", || gate.join("at").exists() || run.try_wait().unwrap().is_some());
    story.redgreen(&format!("say \"{WORDS}\"")).exits(0);
    if when == Told::AtOnce {
        until("the message", || events(&run_folder(&story), "user-said").len() == 1);
    }
    fs::write(gate.join("go"), "").unwrap();
    let said = ProgramOutput::of(agent, &run.wait_with_output().unwrap()).exits(3);
    let asked = fs::read_to_string(gate.join("asked")).unwrap();
    let asked: Vec<Value> = asked.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let heard = |phase: &str| {
        let body = |one: &Value| one[2].as_str().unwrap().contains(WORDS);
        asked.iter().any(|one| one[0] == phase && body(one))
    };
    assert_eq!(heard("GREEN"), when == Told::AtOnce, "{agent}: {}", said.stderr);
    assert!(heard("REFACTOR"), "{agent}: every later turn gets it: {}", said.stderr);
    assert_eq!(events(&run_folder(&story), "user-said").len(), 1);
    let note = story.git(&format!("notes --ref=tdd-handoffs show {}", story.branch()));
    assert!(note.contains(WORDS), "{note}");
}

#[test]
fn claude_gets_messages_during_its_turn() {
    told("claude", "claude", Told::AtOnce);
}

#[test]
fn claude_over_acp_gets_messages_during_its_turn() {
    told("claude-acp", "claude-agent-acp", Told::AtOnce);
}

#[test]
fn codex_over_acp_gets_messages_during_its_turn() {
    told("codex-acp", "codex-acp", Told::AtOnce);
}

/// `codex exec` reads its prompt and no further input.
#[test]
fn codex_gets_messages_at_its_next_turn() {
    told("codex", "codex", Told::NextTurn);
}
