//! A task for an external agent names the conversation to continue. The test agent is a real
//! program that stores conversations.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use serde_json::Value;

use super::TASK;
use crate::story::Story;

const PROGRAM: &str = include_str!("sessions.py");

/// A project whose agent imitates Claude Code's command line and output.
fn story() -> Story {
    let story = Story::pytest();
    let home = story.place("home");
    fs::create_dir_all(home.join(".fake")).unwrap();
    fs::create_dir_all(story.place("bin")).unwrap();
    let program = story.place("bin/claude");
    fs::write(&program, PROGRAM).unwrap();
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
    let row = "[agent]\nname = \"mine\"\n[agent.custom.mine]\ncommand = [\"claude\"]\nspeaks = \"claude\"\n\
               new = [\"--session-id\", \"{session}\"]\nresume = [\"--resume\", \"{session}\"]\n\
               fork = [\"--resume\", \"{session}\", \"--fork-session\"]\nfolders = [\".fake\"]\n";
    story.file("redgreen.toml", &format!("backoff = 0.0\n[test]\nmutants = 0\n{row}"));
    story.commit("an agent");
    let path = story.command("sh").args(["-c", "printf %s \"$PATH\""]).output().unwrap().stdout;
    let path = format!("{}:{}", story.place("bin").display(), String::from_utf8(path).unwrap());
    story.env("PATH", &path)
}

fn task(id: &str, strategy: &str, from: &Value) -> String {
    let mut task: Value = serde_json::from_str(TASK).unwrap();
    task["meta"]["execution_config"]["method"] = "cli".into();
    task["meta"]["tdd_cycles"][0].as_object_mut().unwrap().remove("expected_coverage");
    task["cli_execution"] = serde_json::json!({ "id": id, "strategy": strategy });
    if !from.is_null() {
        task["cli_execution"]["resume_from"] = from.clone();
    }
    task.to_string()
}

/// The conversations of each role after a run of a task. The note and the journal agree on them.
struct Sessions {
    test: String,
    implementing: String,
    /// The command lines that started the program, one per turn.
    calls: Vec<String>,
}

fn run(story: &Story, id: &str, strategy: &str, from: &Value) -> Sessions {
    story.script("task.json", &task(id, strategy, from));
    fs::remove_file(story.place("home/.fake/calls")).ok();
    let status = story.redgreen("--json run --task @task.json").exits(3).json()["runs"][0].clone();
    let branch = status["branch"].as_str().unwrap();
    let note: Value =
        serde_json::from_str(&story.git(&format!("notes --ref=tdd-handoffs show {branch}")))
            .unwrap();
    assert_eq!(note["run"]["brief"]["execution"]["id"], id, "{note}");
    let folder = story.root.join(".git/redgreen/runs").join(status["id"].as_str().unwrap());
    let journal = fs::read_to_string(folder.join("journal.jsonl")).unwrap();
    let turned = journal.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    for turn in turned.filter(|line| line["event"] == "turned") {
        assert_eq!(
            turn["session"],
            note["sessions"][turn["role"].as_str().unwrap()],
            "{turn} {note}"
        );
    }
    let session = |role: &str| note["sessions"][role].as_str().unwrap().to_owned();
    let calls = fs::read_to_string(story.place("home/.fake/calls")).unwrap();
    Sessions {
        test: session("test"),
        implementing: session("implementing"),
        calls: calls.lines().map(str::to_owned).collect(),
    }
}

#[test]
fn a_task_begins_continues_forks_and_merges_conversations_by_its_ids() {
    let story = story();
    let first = run(&story, "S1-IMPL-1", "new", &Value::Null);
    assert_ne!(first.test, first.implementing, "a conversation for each role");
    assert_eq!(first.calls[0], format!("RED --session-id {}", first.test));
    assert_eq!(first.calls[1], format!("GREEN --session-id {}", first.implementing));

    let resumed = run(&story, "S1-IMPL-2", "resume", &"S1-IMPL-1".into());
    assert_eq!(
        (&resumed.test, &resumed.implementing),
        (&first.test, &first.implementing),
        "the same conversations"
    );
    assert_eq!(resumed.calls[1], format!("GREEN --resume {}", first.implementing));

    let forked = run(&story, "S1-IMPL-3", "fork", &"S1-IMPL-1".into());
    assert_eq!(forked.calls[0], format!("RED --resume {} --fork-session", first.test));
    assert_ne!(forked.test, first.test, "a copy has a name of its own");

    let both = serde_json::json!(["S1-IMPL-3", "S1-IMPL-2"]);
    let merged = run(&story, "S1-IMPL-4", "merge_fork", &both);
    assert_eq!(
        merged.calls[0],
        format!("RED --resume {} --fork-session", forked.test),
        "a copy of the first"
    );
    assert_ne!(merged.test, forked.test);

    // The agent's own conversation id works too. A missing conversation starts again.
    let own = run(&story, "S1-IMPL-5", "resume", &merged.test.clone().into());
    assert_eq!(own.calls[0], format!("RED --resume {}", merged.test));
    let gone = run(&story, "S1-IMPL-6", "resume", &"nobody-knows-it".into());
    assert_eq!(
        gone.calls[..2],
        ["RED --resume nobody-knows-it".to_owned(), format!("RED --session-id {}", gone.test)]
    );
}

#[test]
fn a_task_for_the_command_line_takes_an_agent_that_is_installed_or_says_that_none_is() {
    let story = story();
    story.file("redgreen.toml", "backoff = 0.0\n[test]\nmutants = 0\n");
    story.commit("nobody is named");
    story.script("task.json", &task("S1-IMPL-1", "new", &Value::Null));
    // The task needs an external program even though a model's API key is set.
    let story = story.env("ANTHROPIC_API_KEY", "k").env("CLAUDE_CODE_OAUTH_TOKEN", "k");
    let said = story.redgreen("run --task @task.json");
    assert!(said.stderr.contains("by claude"), "{}{}", said.stdout, said.stderr);
    let path = story.command("sh").args(["-c", "dirname $(command -v git)"]).output().unwrap();
    let bare = story.env("PATH", String::from_utf8(path.stdout).unwrap().trim());
    bare.redgreen("run --task @task.json")
        .exits(2)
        .says("method is \"cli\"")
        .says("redgreen agents");
}
