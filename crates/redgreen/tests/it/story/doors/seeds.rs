//! The examples from redgreen's design documents. Every test, scenario and checklist line in them
//! has a test of the same name that checks the real program. A script or a server plays the model.
//!
//! A run takes seconds and most lines check another side of the same run, so the tests share such
//! runs.

mod arbiter;
mod orchestrator;
mod plan_rows;
mod stage_5;
mod stage_6;
mod stages;
mod task;

use std::sync::OnceLock;

use serde_json::{Value, json};

use super::{SPEC, SPEC_SCRIPT, TASK, TASK_SCRIPT, artifact, json, run_folder};
use crate::server::{SeenRequest, Server, Turn, Wire};
use crate::story::built_in::served;
use crate::story::{ProgramOutput, Story};

pub(super) const RUN_SPEC: &str = "run --script @kata.toml --spec @spec.yaml";
pub(super) const RUN_TASK: &str = "run --script @kata.toml --task @task.json";

/// A finished run and its output.
struct Parameters {
    story: Story,
    said: ProgramOutput,
}

impl Parameters {
    fn new(story: Story, line: &str, code: i32) -> Self {
        let said = story.redgreen(line).exits(code);
        Self { story, said }
    }

    /// The steps of `redgreen report`, one per verdict.
    fn steps(&self) -> Vec<Value> {
        let answer = self.story.redgreen("--json report").exits(0).json();
        answer["steps"].as_array().unwrap().clone()
    }

    /// The commits of the run, oldest first.
    fn commits(&self) -> Vec<String> {
        let commits = self.story.git(&format!("rev-list --reverse main..{}", self.story.branch()));
        commits.lines().map(str::to_owned).collect()
    }

    fn subjects(&self) -> Vec<String> {
        self.story.log(&format!("main..{}", self.story.branch()))
    }

    fn note(&self, commit: &str) -> Value {
        serde_json::from_str(&self.story.git(&format!("notes --ref=tdd-handoffs show {commit}")))
            .unwrap()
    }

    /// A file at the tip of the run's branch.
    fn file(&self, path: &str) -> String {
        self.story.git(&format!("show {}:{path}", self.story.branch()))
    }

    #[track_caller]
    fn shows(&self, words: &str) {
        let all = format!("{}\n{}", self.said.stdout, self.said.stderr);
        assert!(all.contains(words), "{words:?} is not in\n{all}");
    }
}

/// The codes of a step's reasons.
fn codes(step: &Value) -> Vec<&str> {
    step["verdict"]["reasons"]
        .as_array()
        .unwrap()
        .iter()
        .map(|reason| reason["code"].as_str().unwrap())
        .collect()
}

fn names(list: &Value) -> Vec<&str> {
    list.as_array().unwrap().iter().map(|item| item.as_str().unwrap()).collect()
}

/// A run of a specification. RED is accepted at once. GREEN first misses a module, then breaks an
/// old test, then is right.
fn spec_run() -> &'static Parameters {
    static TOLD: OnceLock<Parameters> = OnceLock::new();
    TOLD.get_or_init(|| {
        let (before, last) = SPEC_SCRIPT.rsplit_once("[[green]]").unwrap();
        let breaks =
            last.replacen("do = [{", "do = [{ write = \"old.py\", text = \"ONE = 2\\n\" }, {", 1);
        let story = Story::shared_pytest();
        story.file("old.py", "ONE = 1\n").file(
            "tests/test_old.py",
            "from old import ONE\n\n\ndef test_old():\n    assert ONE == 1\n",
        );
        story.commit("old code");
        let script = format!(
            "{before}[[green]]{breaks}\n[[diagnosis]]\nanswer = \"one is one\"\n\n[[green]]{last}"
        );
        story.script("spec.yaml", SPEC).script("kata.toml", &script);
        Parameters::new(story, RUN_SPEC, 3)
    })
}

/// A run of a task in which every first try is right.
fn task_run() -> &'static Parameters {
    static TOLD: OnceLock<Parameters> = OnceLock::new();
    TOLD.get_or_init(|| {
        let story = Story::shared_pytest();
        let refactored = "\n[[refactor]]\ndo = [{ edit = \"temperature.py\", old = \"celsius * 9 // 5 + 32\", new = \"32 + celsius * 9 // 5\" }]\n";
        story.script("task.json", TASK).script("kata.toml", &format!("{TASK_SCRIPT}{refactored}"));
        Parameters::new(story, RUN_TASK, 3)
    })
}

/// A run of a specification through the built-in agent, and the server that plays its model.
fn model_run() -> &'static (Parameters, Server) {
    static TOLD: OnceLock<(Parameters, Server)> = OnceLock::new();
    TOLD.get_or_init(|| {
        let server = Server::answering(shopkeeper);
        let story = served(Story::shared_pytest(), &server, Wire::Anthropic);
        story.file("notes.txt", "first line\na needle in it\n").script("spec.yaml", SPEC);
        story.commit("notes");
        (Parameters::new(story, "run --spec @spec.yaml", 3), server)
    })
}

/// The role that sent the request, recognised by its instructions.
fn role(seen: &SeenRequest) -> &'static str {
    let text = seen.body["system"].to_string();
    let roles = [
        ("Write every test of the brief", "red"),
        ("Make the failing tests pass", "green"),
        ("All tests pass.", "refactor"),
    ];
    roles.into_iter().find(|(words, _)| text.contains(words)).map_or("nobody", |(_, role)| role)
}

/// Plays the script of the specification as tool calls. It uses every tool, and several of them in
/// one answer.
fn shopkeeper(seen: &SeenRequest) -> Turn {
    let script: toml::Value = toml::from_str(SPEC_SCRIPT).unwrap();
    let wrote = |role: &str, turn: usize, index: usize| {
        let action = &script[role][turn]["do"][index];
        json!({ "file_path": action["write"].as_str().unwrap(), "content": action["text"].as_str().unwrap() })
    };
    let wrong = |mut file: Value| {
        file["content"] = file["content"].as_str().unwrap().replace("total 5", "total 6").into();
        file
    };
    match (role(seen), seen.answers()) {
        ("red", 0) => Turn::call("Read", json!({ "file_path": "notes.txt" }))
            .and_call("Glob", json!({ "pattern": "**/*.txt" }))
            .and_call("Grep", json!({ "pattern": "need[l]e" }))
            .and_call("Bash", json!({ "command": "echo out; echo err >&2; exit 3" })),
        ("red", 1) => Turn::call("Write", wrote("red", 0, 0))
            .and_call("Write", json!({ "file_path": "tests/test_receipt.py", "content": "to be overwritten\n" }))
            .and_call("Write", wrong(wrote("red", 0, 1)))
            .and_call(
                "Edit",
                json!({ "file_path": "tests/test_receipt.py", "old_string": "total 6", "new_string": "total 5" }),
            ),
        ("red", _) => Turn::call("Complete", json!({ "implementation_files": [] })),
        ("green", 0) => Turn::call("Read", json!({ "file_path": "tests/test_till.py" }))
            .and_call("Read", json!({ "file_path": "tests/test_receipt.py" })),
        ("green", 1) => Turn::call("Write", wrote("green", 0, 0))
            .and_call("Write", wrote("green", 0, 1))
            .and_call("RunTests", json!({})),
        ("green", 2) => Turn::call("Write", wrote("green", 1, 0)).and_call("RunTests", json!({})),
        ("green", _) => {
            let files = ["shop/__init__.py", "shop/till.py", "shop/receipt.py"];
            Turn::call("Complete", json!({ "implementation_files": files, "summary": "the till adds up" }))
        }
        ("refactor", _) => Turn::say("Nothing is worth changing."),
        _ => Turn::status(400).body("what is this about?"),
    }
}

/// The tool results after the model's n-th message in a role.
fn tool_results(server: &Server, of: &str, answers: usize) -> Vec<String> {
    let requests = server.requests();
    let seen = requests.iter().find(|seen| role(seen) == of && seen.answers() == answers).unwrap();
    let last = seen.body["messages"].as_array().unwrap().last().unwrap().clone();
    let results =
        last["content"].as_array().unwrap().iter().filter(|block| block["type"] == "tool_result");
    results.map(|block| block["content"].to_string()).collect()
}
