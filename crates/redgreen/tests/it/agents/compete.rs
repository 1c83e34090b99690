//! Real coding agents compete with attempts in parallel: one cheats, one overfits, one is right.

use std::process::Stdio;

use serde_json::json;

use super::{MODEL, SETTINGS, with_agents};
use crate::story::ProgramOutput;
use crate::story::side_by_side::{CHEAT, MORE, RIGHT, TABLE, TEST, the_third_wins};

#[track_caller]
fn compete(agents: [&str; 3], programs: [&str; 3]) {
    for (agent, program) in agents.iter().zip(programs) {
        if with_agents(agent, program).is_none() {
            return;
        }
    }
    let Some(story) = with_agents(agents[0], programs[0]) else { return };
    let test = "tests/test_roman.py";
    let files = json!({
        "choice": { "description": "small numbers", "testFile": test, "implFile": "roman.py" },
        "RED": [[test, TEST], [".redgreen/withheld/tests/test_more.py", MORE]],
        "GREEN-1": [[test, CHEAT], ["roman.py", TABLE]],
        "GREEN-2": [["roman.py", TABLE]],
        "GREEN-3": [["roman.py", RIGHT]],
    });
    story.script("model.py", MODEL).script("files.json", &files.to_string());
    story.file("redgreen.toml", SETTINGS);
    story.commit("settings");
    let place = story.place("files.json").display().to_string();
    let story = story.env("MODEL_FILES", &place);
    let namespace = if rustix::process::getuid().is_root() { "--net" } else { "--map-root-user" };
    let mut command = story.command("unshare");
    command.args([namespace, "--net", "python"]).arg(story.place("model.py"));
    command.arg(env!("CARGO_BIN_EXE_redgreen")).args(["run", "--agents", &agents.join(",")]);
    command.args(["--attempts", "3", "roman numerals"]).stdin(Stdio::null());
    let said = ProgramOutput::of("run", &command.output().unwrap());
    the_third_wins(&story, said, agents);
}

#[test]
fn claude_is_right_and_wins() {
    compete(["codex", "codex-acp", "claude"], ["codex", "codex-acp", "claude"]);
}

#[test]
fn codex_is_right_and_wins() {
    compete(["claude", "claude-acp", "codex"], ["claude", "claude-agent-acp", "codex"]);
}
