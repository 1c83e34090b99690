//! The same turn by the coding agents that are installed: read, edit, run the tests, done. Each one is led by the server
//! of the bench, with a home of its own and no key of the user's, so that nothing is spent and nothing is left.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result};
use serde_json::{Value, json};

use super::server::{Answer, Server};
use super::suites::write;
use super::turns::{RIGHT, TEST, WRONG};
use super::{Measure, Memory, median_ms, watched};
use crate::config::Environment;
use crate::process::{Limits, Program, Stop};

const TASK: &str = "The test in test_calc.py fails. Change calc.py so that it passes, and run the tests.";
const DONE: &str = "Done.";
/// A turn takes seconds; one that does not end is not worth a comparison.
const LIMITS: Limits = Limits { wall: Duration::from_secs(180), output_bytes_max: 1 << 20 };
/// Every key the agents are given.
const KEY: &str = "bench";

/// An agent that is compared with.
struct Peer {
    name: &'static str,
    program: &'static str,
    /// Its own words for the task.
    args: fn(&Task) -> Vec<String>,
    /// What the model has it do, one answer a request.
    answers: fn(&Task) -> Vec<Answer>,
}

/// What an agent has to know of the task.
struct Task {
    root: PathBuf,
    /// Runs the tests.
    tests: String,
    url: String,
}

const PEERS: &[Peer] = &[
    Peer { name: "claude -p", program: "claude", args: |_| claude(&[]), answers: with_claudes_tools },
    Peer { name: "claude -p --bare", program: "claude", args: |_| claude(&["--bare"]), answers: with_claudes_tools },
    Peer { name: "codex exec", program: "codex", args: codex, answers: with_a_shell },
    Peer { name: "aider", program: "aider", args: aider, answers: in_words },
];

/// Each peer that is installed; one that does not get it done is told, and left out.
pub(super) fn measures(
    folder: &Path,
    turns: usize,
    environment: &Environment,
    own_ms: f64,
    stop: &Stop,
    tell: &mut dyn FnMut(&str),
) -> Result<Vec<Measure>> {
    let python = environment.virtual_env.as_ref().map_or(PathBuf::from("python3"), |venv| venv.join("bin/python"));
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
                // An agent that has none, and shows the model a conversation as an example.
                false if answers.len() == 1 => 0,
                // A title is asked for, or something else that is beside the task.
                false => usize::MAX,
            };
            answers.get(due).cloned().unwrap_or_else(|| Answer::say(DONE))
        })?;
        task.url.clone_from(&server.url);
        let (mut walls, mut memory, mut counted) = (Vec::new(), None, None);
        // The first turn fills the caches and does not count.
        for turn in 0..=turns {
            let files = [("test_calc.py", TEST), ("calc.py", WRONG)];
            write(&task.root, &files.map(|(path, text)| (path.to_owned(), text.to_owned())))?;
            server.take();
            let (output, peak) = watched(&program(peer, &task, &root)?, LIMITS, Memory::OfGroup, stop)?;
            let code = fs::read_to_string(task.root.join("calc.py")).context("read what a peer left")?;
            if code != RIGHT {
                tell(&format!("{} did not get it done: {} {}", peer.name, output.exit, output.stderr_text().trim()));
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

/// The agent with the task, in surroundings of its own.
fn program(peer: &Peer, task: &Task, root: &Path) -> Result<Program> {
    let own = |name: &str| {
        let folder = root.join(name);
        fs::create_dir_all(&folder).with_context(|| format!("create {}", folder.display()))?;
        Ok::<_, anyhow::Error>(folder)
    };
    let program = Program::new(peer.program).args((peer.args)(task)).cwd(&task.root);
    let program = program.env("HOME", own("home")?).env("TMPDIR", own("tmp")?).env("CODEX_HOME", own("codex")?);
    let openai = format!("{}/v1", task.url);
    let settings = [
        ("ANTHROPIC_BASE_URL", task.url.as_str()),
        ("ANTHROPIC_API_KEY", KEY),
        ("OPENAI_API_KEY", KEY),
        ("OPENAI_API_BASE", &openai),
        ("DISABLE_AUTOUPDATER", "1"),
        ("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1"),
        ("CLAUDE_CODE_MAX_RETRIES", "1"),
        // Otherwise prices are looked for on the network first.
        ("LITELLM_LOCAL_MODEL_COST_MAP", "True"),
    ];
    let program =
        ["XDG_CONFIG_HOME", "ANTHROPIC_AUTH_TOKEN"].iter().fold(program, |program, name| program.env_remove(*name));
    Ok(settings.into_iter().fold(program, |program, (name, value)| program.env(name, value)))
}

fn words<const N: usize>(words: [&str; N]) -> Vec<String> {
    words.map(str::to_owned).to_vec()
}

fn claude(more: &[&str]) -> Vec<String> {
    let mut all =
        words(["-p", TASK, "--output-format", "stream-json", "--verbose", "--permission-mode", "acceptEdits"]);
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
    for setting in
        ["model=\"bench\"", "model_provider=\"bench\"", &provider, "analytics.enabled=false", "features.plugins=false"]
    {
        all.extend(words(["-c", setting]));
    }
    all.push(TASK.to_owned());
    all
}

/// It is given both files: it has no tools to read them with.
fn aider(task: &Task) -> Vec<String> {
    let mut all = words(["--model", "openai/bench", "--yes-always", "--no-check-update", "--analytics-disable"]);
    all.extend(words(["--no-show-model-warnings", "--no-show-release-notes", "--no-pretty", "--no-fancy-input"]));
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
    let edit = json!({ "file_path": path, "old_string": "return a - b", "new_string": "return a + b" });
    vec![
        Answer::call("Read", json!({ "file_path": path })),
        Answer::call("Edit", edit),
        Answer::call("Bash", json!({ "command": task.tests, "description": "Run the tests" })),
        Answer::say(DONE),
    ]
}

fn with_a_shell(task: &Task) -> Vec<Answer> {
    let run = |command: &str| -> (&'static str, Value) { ("exec_command", json!({ "cmd": command })) };
    let commands = ["cat calc.py", "sed -i 's/a - b/a + b/' calc.py", &task.tests];
    let calls = commands.map(|command| Answer { text: String::new(), calls: vec![run(command)] });
    calls.into_iter().chain([Answer::say(DONE)]).collect()
}

fn in_words(_: &Task) -> Vec<Answer> {
    vec![Answer::say(format!("calc.py\n```\n{RIGHT}```\n"))]
}
