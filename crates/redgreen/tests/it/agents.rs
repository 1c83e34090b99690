//! Real coding agents, each through a whole cycle. `scripts/test --agents` installs them. They run
//! in a private network with a scripted model on loopback. An agent that is not installed is
//! skipped by name.

mod compete;
mod referee;
mod told;

use std::ffi::OsString;
use std::fs;
use std::path::PathBuf;

use redgreen::sandbox::Mechanism;

use crate::sandbox::alone;
use crate::skip::skipped;
use crate::story::{ProgramOutput, Story};

const MODEL: &str = include_str!("agents/model.py");
const CODEX: &str = "model = \"mock-model\"\nmodel_provider = \"mock\"\n[model_providers.mock]\nname = \"mock\"\n\
                     base_url = \"http://127.0.0.1:4010/v1\"\nenv_key = \"CODEX_MOCK_KEY\"\nwire_api = \"responses\"\n";
const GEMINI: &str = "{\"security\": {\"auth\": {\"selectedType\": \"gemini-api-key\"}}}";
const OPENCODE: &str = "{\"model\": \"mock/mock-model\", \"provider\": {\"mock\": {\"npm\": \"@ai-sdk/openai-compatible\", \
                        \"options\": {\"baseURL\": \"http://127.0.0.1:4010/v1\", \"apiKey\": \"x\"}, \
                        \"models\": {\"mock-model\": {}}}}}";

/// An agent that waits for input fails soon and is not retried.
const SETTINGS: &str = "max-retries = 0\n[timeout]\nturn = 240\n";

/// The folder with the agents' programs, or `None` if they are not installed.
fn programs() -> Option<PathBuf> {
    #[expect(clippy::disallowed_methods, reason = "a variable names the tools")]
    std::env::var_os("REDGREEN_TEST_AGENTS").map(PathBuf::from)
}

fn all() -> bool {
    #[expect(clippy::disallowed_methods, reason = "a variable selects the tests")]
    std::env::var_os("REDGREEN_TEST_AGENTS_ALL").is_some()
}

/// Runs one cycle with this agent, from the plan to the refactoring.
#[track_caller]
fn develops(agent: &str, program: &str) {
    develops_by(agent, program, &[]);
}

/// A project where the program can be started and is pointed at the model, or `None` if it is not
/// installed.
fn with_agents(agent: &str, program: &str) -> Option<Story> {
    let Some(folder) = programs() else {
        skipped(&format!("{agent}: scripts/test --agents did not install it"));
        return None;
    };
    let bins = [folder.join("node_modules/.bin"), folder.join("aider/bin")];
    if !bins.iter().any(|bin| bin.join(program).exists()) {
        skipped(&format!("{agent}: its program is not installed"));
        return None;
    }
    let story = Story::pytest();
    let path = story.command("sh").args(["-c", "printf %s \"$PATH\""]).output().unwrap().stdout;
    let path =
        format!("{}:{}:{}", bins[0].display(), bins[1].display(), String::from_utf8(path).unwrap());
    let url = "http://127.0.0.1:4010";
    let story = [
        ("PATH", path.as_str()),
        ("ANTHROPIC_BASE_URL", url),
        ("ANTHROPIC_API_KEY", "k"),
        ("CODEX_MOCK_KEY", "k"),
        ("GEMINI_API_KEY", "k"),
        ("GOOGLE_GEMINI_BASE_URL", url),
        ("OPENAI_API_KEY", "k"),
        ("OPENAI_API_BASE", "http://127.0.0.1:4010/v1"),
        ("OPENAI_BASE_URL", "http://127.0.0.1:4010/v1"),
        ("OPENAI_MODEL", "mock-model"),
        ("COPILOT_OFFLINE", "true"),
        ("COPILOT_PROVIDER_TYPE", "openai"),
        ("COPILOT_PROVIDER_BASE_URL", "http://127.0.0.1:4010/v1"),
        ("COPILOT_PROVIDER_API_KEY", "k"),
        ("COPILOT_MODEL", "mock-model"),
        ("OPENCODE_DISABLE_MODELS_FETCH", "1"),
        ("OPENCODE_CONFIG_CONTENT", OPENCODE),
    ]
    .into_iter()
    .fold(story, |story, (name, value)| story.env(name, value));
    for (file, text) in [(".codex/config.toml", CODEX), (".gemini/settings.json", GEMINI)] {
        let file = story.place("home").join(file);
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(file, text).unwrap();
    }
    Some(story)
}

/// Runs the cycle with a command prefix that changes which sandbox redgreen finds. Returns the
/// story, or `None` if the agent is not installed.
#[track_caller]
fn develops_by(agent: &str, program: &str, before: &[OsString]) -> Option<Story> {
    let story = with_agents(agent, program)?;
    story.script("model.py", MODEL).file("redgreen.toml", SETTINGS);
    story.commit("settings");
    let belongings = story.belongings();
    let namespace = if rustix::process::getuid().is_root() { "--net" } else { "--map-root-user" };
    let mut command = story.command("unshare");
    command.args([namespace, "--net", "python"]).arg(story.place("model.py")).args(before);
    command.arg(env!("CARGO_BIN_EXE_redgreen")).args(["run", "--agent", agent, "a calculator"]);
    let said =
        ProgramOutput::of(agent, &command.stdin(std::process::Stdio::null()).output().unwrap())
            .exits(3);
    let cycle = [
        "plan: adds two numbers",
        "test: adds two numbers",
        "feat: adds two numbers",
        "refactor: no changes needed",
        "plan: every test of the list is done",
    ];
    assert_eq!(story.log(&format!("main..{}", story.branch())), cycle, "{}", said.stderr);
    assert_eq!(story.belongings(), belongings);
    let note = story.git(&format!("notes --ref=tdd-handoffs show {}", story.branch()));
    assert!(note.contains("\"agents\""), "which version worked: {note}");
    // Each phase passed at the first attempt, and the cost is known. Qwen Code does not report it.
    let is_told = said.stdout.contains("tokens") || agent == "qwen";
    assert!(!said.stderr.contains("refused") && is_told, "{}\n{}", said.stderr, said.stdout);
    Some(story)
}

/// Runs one cycle in a sandbox made with exactly this mechanism.
#[track_caller]
fn fenced(agent: &str, program: &str, means: Mechanism) {
    match alone(means) {
        Ok(words) => {
            if let Some(story) = develops_by(agent, program, &words) {
                story.fenced_by(means);
            }
        }
        Err(error) => skipped(&format!("{agent} behind {}: {error:#}", means.as_str())),
    }
}

/// An agent that takes many seconds to start runs only when all agents are requested.
#[track_caller]
fn slowly(agent: &str, program: &str) {
    if all() {
        develops(agent, program);
    } else {
        skipped(&format!("{agent}: it is tried by scripts/test --agents"));
    }
}

#[test]
fn claude() {
    develops("claude", "claude");
}

#[test]
fn codex() {
    develops("codex", "codex");
}

#[test]
fn codex_behind_bubblewrap() {
    fenced("codex", "codex", Mechanism::Bubblewrap);
}

#[test]
fn codex_behind_namespaces() {
    fenced("codex", "codex", Mechanism::Namespaces);
}

#[test]
fn codex_behind_landlock() {
    fenced("codex", "codex", Mechanism::Landlock);
}

#[test]
fn codex_over_acp() {
    develops("codex-acp", "codex-acp");
}

#[test]
fn claude_over_acp() {
    develops("claude-acp", "claude-agent-acp");
}

#[test]
fn opencode_over_acp() {
    slowly("opencode-acp", "opencode");
}

#[test]
fn qwen() {
    slowly("qwen", "qwen");
}

#[test]
fn copilot() {
    slowly("copilot", "copilot");
}

#[test]
fn aider() {
    slowly("aider:openai/mock-model", "aider");
}

#[test]
fn opencode() {
    slowly("opencode", "opencode");
}

#[test]
fn gemini() {
    slowly("gemini:gemini-2.5-pro", "gemini");
}

#[test]
fn gemini_over_acp() {
    slowly("gemini-acp", "gemini");
}
