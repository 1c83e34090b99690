//! The same turn with other installed coding agents: read, edit, run the tests, done. The server of
//! the bench drives each of them, with its own home and none of the user's keys, so that nothing is
//! spent and nothing is left behind.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result};
use serde_json::json;

use super::server::{Answer, Server};
use super::suites::write;
use super::turns::{RIGHT, TEST, WRONG};
use super::{Measure, Memory, median_ms, watched};
use crate::config::Environment;
use crate::process::{Limits, Program, Stop};

const TASK: &str =
    "The test in test_calc.py fails. Change calc.py so that it passes, and run the tests.";
const DONE: &str = "Done.";
/// A turn takes seconds. One that does not finish is not compared.
const LIMITS: Limits = Limits { wall: Duration::from_secs(180), output_bytes_max: 1 << 20 };
/// The key for all agents.
const KEY: &str = "bench";

/// Variables that would lead to settings and logins of the user.
const USERS: &[&str] = &[
    "XDG_CONFIG_HOME",
    "XDG_DATA_HOME",
    "XDG_STATE_HOME",
    "XDG_CACHE_HOME",
    "ANTHROPIC_AUTH_TOKEN",
    "GOOGLE_API_KEY",
    "GOOGLE_GENAI_USE_VERTEXAI",
];

/// An agent to compare with.
struct Peer {
    name: &'static str,
    program: &'static str,
    /// Its command line for the task.
    args: fn(&Task) -> Vec<String>,
    /// The actions of the model, one answer per request.
    answers: fn(&Task) -> Vec<Answer>,
}

/// The task, as an agent needs it.
struct Task {
    root: PathBuf,
    /// The command that runs the tests.
    tests: String,
    url: String,
}

const PEERS: &[Peer] = &[
    Peer {
        name: "claude -p",
        program: "claude",
        args: |_| claude(&[]),
        answers: with_claudes_tools,
    },
    Peer {
        name: "claude -p --bare",
        program: "claude",
        args: |_| claude(&["--bare"]),
        answers: with_claudes_tools,
    },
    Peer { name: "codex exec", program: "codex", args: codex, answers: with_a_shell },
    Peer { name: "gemini -p", program: "gemini", args: |_| gemini(), answers: with_geminis_tools },
    Peer {
        name: "opencode run",
        program: "opencode",
        args: |_| opencode(),
        answers: with_opencodes_tools,
    },
    Peer { name: "mini-swe-agent", program: "mini-swe-agent", args: mini, answers: with_bash },
    Peer { name: "aider", program: "aider", args: aider, answers: in_words },
];

/// Each installed peer. One that fails is reported and left out.
pub(super) fn measures(
    folder: &Path,
    turns: usize,
    environment: &Environment,
    own_ms: f64,
    stop: &Stop,
    tell: &mut dyn FnMut(&str),
) -> Result<Vec<Measure>> {
    let python = environment
        .virtual_env
        .as_ref()
        .map_or(PathBuf::from("python3"), |venv| venv.join("bin/python"));
    let mut measures = Vec::new();
    for peer in PEERS.iter().filter(|peer| environment.has_program(peer.program)) {
        tell(&format!("the same by {}", peer.name));
        let root = folder.join("peers").join(peer.name.replace(' ', "-"));
        let tests = format!("{} -m pytest -q", python.display());
        let mut task = Task { root: root.join("project"), tests, url: String::new() };
        let answers = Arc::new((peer.answers)(&task));
        let server = Server::start(move |asked| {
            let due = match asked.has_tools() {
                true => asked.answers(),
                // An agent without tools, which shows the model an example conversation.
                false if answers.len() == 1 => 0,
                // A request for a title, or something else outside the task.
                false => usize::MAX,
            };
            answers.get(due).cloned().unwrap_or_else(|| Answer::say(DONE))
        })?;
        task.url.clone_from(&server.url);
        let (mut walls, mut memory, mut counted) = (Vec::new(), None, None);
        // The first turn fills caches and does not count.
        for turn in 0..=turns {
            let files = [("test_calc.py", TEST), ("calc.py", WRONG)];
            write(&task.root, &files.map(|(path, text)| (path.to_owned(), text.to_owned())))?;
            server.take();
            let (output, peak) =
                watched(&program(peer, &task, &root)?, LIMITS, Memory::Group, stop)?;
            let code =
                fs::read_to_string(task.root.join("calc.py")).context("read what a peer left")?;
            if code != RIGHT {
                tell(&format!(
                    "{} did not complete the task: {} {}",
                    peer.name,
                    output.exit,
                    output.stderr_text().trim()
                ));
                counted = None;
                break;
            }
            let took = server.take();
            if turn > 0 {
                walls.push(output.wall.saturating_sub(took.busy));
                memory = memory.max(peak);
                counted = Some(took);
            }
        }
        if let Some(counted) = counted {
            let measure = Measure {
                requests: Some(counted.requests),
                bytes_sent: Some(counted.bytes),
                peak_memory_bytes: memory,
                ..Measure::new(format!("  by {}", peer.name), median_ms(walls))
            };
            measures.push(measure.against("the built-in agent", own_ms));
        }
    }
    Ok(measures)
}

/// The agent with the task, in its own environment.
fn program(peer: &Peer, task: &Task, root: &Path) -> Result<Program> {
    let own = |name: &str| {
        let folder = root.join(name);
        fs::create_dir_all(&folder).with_context(|| format!("create {}", folder.display()))?;
        Ok::<_, anyhow::Error>(folder)
    };
    let program = Program::new(peer.program).args((peer.args)(task)).cwd(&task.root);
    // Settings that it would otherwise ask for at its first start.
    let gemini = json!({ "security": { "auth": { "selectedType": "gemini-api-key" } } });
    write(&own("home")?, &[(".gemini/settings.json".to_owned(), gemini.to_string())])?;
    let program = program
        .env("HOME", own("home")?)
        .env("TMPDIR", own("tmp")?)
        .env("CODEX_HOME", own("codex")?);
    let openai = format!("{}/v1", task.url);
    let options = json!({ "baseURL": openai, "apiKey": KEY });
    let provider = json!({ "npm": "@ai-sdk/openai-compatible", "options": options, "models": { "bench": {} } });
    let opencode = json!({ "provider": { "bench": provider } }).to_string();
    let settings = [
        ("ANTHROPIC_BASE_URL", task.url.as_str()),
        ("ANTHROPIC_API_KEY", KEY),
        ("OPENAI_API_KEY", KEY),
        ("OPENAI_API_BASE", &openai),
        ("GEMINI_API_KEY", KEY),
        ("GOOGLE_GEMINI_BASE_URL", &task.url),
        ("OPENCODE_CONFIG_CONTENT", &opencode),
        ("OPENCODE_DISABLE_AUTOUPDATE", "1"),
        ("OPENCODE_DISABLE_MODELS_FETCH", "1"),
        ("MSWEA_CONFIGURED", "true"),
        ("MSWEA_COST_TRACKING", "ignore_errors"),
        ("DISABLE_AUTOUPDATER", "1"),
        ("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1"),
        ("CLAUDE_CODE_MAX_RETRIES", "1"),
        // Otherwise it looks for prices on the network first.
        ("LITELLM_LOCAL_MODEL_COST_MAP", "True"),
    ];
    let program = USERS.iter().fold(program, |program, name| program.env_remove(*name));
    Ok(settings.into_iter().fold(program, |program, (name, value)| program.env(name, value)))
}

fn words<const N: usize>(words: [&str; N]) -> Vec<String> {
    words.map(str::to_owned).to_vec()
}

fn claude(more: &[&str]) -> Vec<String> {
    let mut all = words([
        "-p",
        TASK,
        "--output-format",
        "stream-json",
        "--verbose",
        "--permission-mode",
        "acceptEdits",
    ]);
    all.extend(words(["--allowedTools", "Bash"]));
    all.extend(more.iter().map(|word| (*word).to_owned()));
    all
}

fn codex(task: &Task) -> Vec<String> {
    let provider = format!(
        "model_providers.bench={{name=\"bench\", base_url=\"{}/v1\", env_key=\"OPENAI_API_KEY\", wire_api=\"responses\"}}",
        task.url
    );
    let mut all = words(["exec", "--json", "--skip-git-repo-check", "-s", "workspace-write"]);
    for setting in [
        "model=\"bench\"",
        "model_provider=\"bench\"",
        &provider,
        "analytics.enabled=false",
        "features.plugins=false",
    ] {
        all.extend(words(["-c", setting]));
    }
    all.push(TASK.to_owned());
    all
}

/// With a model of its vendor, it does not ask another one which to use.
fn gemini() -> Vec<String> {
    let mut all =
        words(["-p", TASK, "-o", "stream-json", "--approval-mode", "yolo", "--skip-trust"]);
    all.extend(words(["-m", "gemini-2.5-pro"]));
    all
}

fn opencode() -> Vec<String> {
    words(["run", "--format", "json", "--title", "bench", "--model", "bench/bench", TASK])
}

fn mini(task: &Task) -> Vec<String> {
    let trajectory = task.root.with_file_name("trajectory.json").display().to_string();
    words(["-m", "openai/bench", "-t", TASK, "-y", "--exit-immediately", "-o", &trajectory])
}

/// It gets both files, because it has no tools to read them.
fn aider(task: &Task) -> Vec<String> {
    let mut all = words([
        "--model",
        "openai/bench",
        "--yes-always",
        "--no-check-update",
        "--analytics-disable",
    ]);
    all.extend(words([
        "--no-show-model-warnings",
        "--no-show-release-notes",
        "--no-pretty",
        "--no-fancy-input",
    ]));
    all.extend(words([
        "--no-git",
        "--no-gitignore",
        "--edit-format",
        "whole",
        "--auto-test",
        "--test-cmd",
        &task.tests,
    ]));
    all.extend(words(["--message", TASK, "calc.py", "--read", "test_calc.py"]));
    all
}

fn with_claudes_tools(task: &Task) -> Vec<Answer> {
    let path = task.root.join("calc.py").display().to_string();
    let edit =
        json!({ "file_path": path, "old_string": "return a - b", "new_string": "return a + b" });
    vec![
        Answer::call("Read", json!({ "file_path": path })),
        Answer::call("Edit", edit),
        Answer::call("Bash", json!({ "command": task.tests, "description": "Run the tests" })),
        Answer::say(DONE),
    ]
}

fn with_geminis_tools(task: &Task) -> Vec<Answer> {
    let path = task.root.join("calc.py").display().to_string();
    let edit = json!({ "file_path": path, "instruction": "Add the numbers", "old_string": "return a - b",
        "new_string": "return a + b" });
    vec![
        Answer::call("read_file", json!({ "file_path": path })),
        Answer::call("replace", edit),
        Answer::call(
            "run_shell_command",
            json!({ "command": task.tests, "description": "Run the tests" }),
        ),
        Answer::say(DONE),
    ]
}

fn with_opencodes_tools(task: &Task) -> Vec<Answer> {
    let path = task.root.join("calc.py").display().to_string();
    let edit =
        json!({ "filePath": path, "oldString": "return a - b", "newString": "return a + b" });
    vec![
        Answer::call("read", json!({ "filePath": path })),
        Answer::call("edit", edit),
        Answer::call("bash", json!({ "command": task.tests, "description": "Run the tests" })),
        Answer::say(DONE),
    ]
}

const READ: &str = "cat calc.py";
const EDIT: &str = "sed -i 's/a - b/a + b/' calc.py";

fn with_a_shell(task: &Task) -> Vec<Answer> {
    let calls = [READ, EDIT, &task.tests]
        .map(|command| Answer::call("exec_command", json!({ "cmd": command })));
    calls.into_iter().chain([Answer::say(DONE)]).collect()
}

/// It ends when one of its commands says so.
fn with_bash(task: &Task) -> Vec<Answer> {
    let commands = [READ, EDIT, &task.tests, "echo COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT"];
    commands.map(|command| Answer::call("bash", json!({ "command": command }))).to_vec()
}

fn in_words(_: &Task) -> Vec<Answer> {
    vec![Answer::say(format!("calc.py\n```\n{RIGHT}```\n"))]
}
