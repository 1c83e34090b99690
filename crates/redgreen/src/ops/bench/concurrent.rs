//! Many runs in parallel, in worktrees of one repository, with a model that answers at once:
//! whether all finish, how much memory each needs, and how long they take compared with one alone.

use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use redgreen_core::phase::Role;
use redgreen_core::prompt;
use redgreen_core::report::Exit;
use serde_json::json;

use super::server::{Answer, ModelRequest, Server};
use super::{Measure, Memory, watched};
use crate::failure::Code;
use crate::git::Git;
use crate::process::{Limits, Program, Stop};

/// The suite is tiny, so the time is ours.
const FILES: [(&str, &str); 2] =
    [("README.md", "An adder.\n"), ("test_stands.py", "def test_stands():\n    pass\n")];
const TEST: &str = "from calc import add\n\n\ndef test_adds():\n    assert add(2, 3) == 5\n    assert add(-1, 1) == 0\n";
const CODE: &str = "def add(a, b):\n    return a + b\n";
/// With many runs in parallel, each mostly waits for the others.
const LIMITS: Limits = Limits { wall: Duration::from_secs(3600), output_bytes_max: 1 << 20 };
const OPEN: &str = "- [ ] adds two numbers\n";
const DONE: &str = "- [x] adds two numbers";

pub(super) fn measures(
    folder: &Path,
    runs: usize,
    ours: &Program,
    stop: &Stop,
    tell: &mut dyn FnMut(&str),
) -> Result<Vec<Measure>> {
    let server = Server::start(adder)?;
    let git = Git::create_scratch(&folder.join("at-once"), &FILES, "chore: a project")?;
    let run = |number: usize| {
        ours.clone()
            .cwd(&git.root)
            .args(["run", "--quiet", "--no-input", "--model", "claude-bench"])
            .arg(format!("an adder, number {number}"))
            .env("ANTHROPIC_API_KEY", "bench")
            .env("ANTHROPIC_BASE_URL", &server.url)
            .env("REDGREEN_WORKTREES", folder.join("at-once-worktrees"))
            // Ignores the settings of the user.
            .env("XDG_CONFIG_HOME", folder.join("nothing"))
            .env_remove("REDGREEN_SCRIPT")
    };
    tell("one run alone");
    let begun = Instant::now();
    let (output, _) = watched(&run(0), LIMITS, Memory::Own, stop)?;
    let alone = begun.elapsed();
    ensure!(
        is_finished(&output.exit),
        "the run of the bench ended by {}: {}",
        output.exit,
        output.stderr_text()
    );

    tell(&format!("{runs} runs at once"));
    let begun = Instant::now();
    let ended = thread::scope(|scope| {
        let started: Vec<_> = (1..=runs)
            .map(|number| {
                let program = run(number);
                scope.spawn(move || watched(&program, LIMITS, Memory::Own, stop))
            })
            .collect();
        started
            .into_iter()
            .map(|run| run.join().ok().context("watch a run")?)
            .collect::<Result<Vec<_>>>()
    })?;
    let together = begun.elapsed();
    let finished = ended.iter().filter(|(output, _)| is_finished(&output.exit)).count();
    if let Some((output, _)) = ended.iter().find(|(output, _)| !is_finished(&output.exit)) {
        tell(&format!("of a run that did not finish: {}", output.stderr_text().trim()));
    }
    let milliseconds = |time: Duration| time.as_secs_f64() * 1_000.0;
    let measure = Measure {
        finished: Some(u64::try_from(finished).unwrap_or(u64::MAX)),
        peak_memory_bytes: ended.iter().filter_map(|(_, peak)| *peak).max(),
        ..Measure::new(format!("{runs} runs at once"), milliseconds(together))
    };
    Ok(vec![measure.against("one alone", milliseconds(alone))])
}

/// A finished run waits for a human.
fn is_finished(exit: &Exit) -> bool {
    *exit == Exit::Code(Code::Human as i32)
}

/// Develops an adder in one cycle.
fn adder(asked: &ModelRequest) -> Answer {
    let system = &asked.body["system"];
    let system = system.as_str().or(system[0]["text"].as_str()).unwrap_or_default();
    let roles = [Role::TestList, Role::Test, Role::Implementing, Role::Refactor, Role::Diagnosis];
    let role = roles.into_iter().find(|role| system.contains(prompt::task(*role).trim_end()));
    let is_done = asked.body["messages"].to_string().contains(DONE);
    match (role, asked.answers()) {
        (Some(Role::TestList), _) if is_done => {
            Answer::say(json!({ "currentTest": null }).to_string())
        }
        (Some(Role::TestList), 0) => {
            Answer::call("Write", json!({ "file_path": "test-list.md", "content": OPEN }))
        }
        (Some(Role::TestList), _) => {
            let next = json!({ "description": "adds two numbers", "testFile": "test_calc.py", "implFile": "calc.py" });
            Answer::say(json!({ "currentTest": next }).to_string())
        }
        (Some(Role::Test), _) => {
            Answer::call("Write", json!({ "file_path": "test_calc.py", "content": TEST }))
                .and_call("Complete", json!({ "implementation_files": [] }))
        }
        (Some(Role::Implementing), 0) => {
            Answer::call("Write", json!({ "file_path": "calc.py", "content": CODE }))
                .and_call("RunTests", json!({}))
        }
        (Some(Role::Implementing), _) => {
            Answer::call("Complete", json!({ "implementation_files": ["calc.py"] }))
        }
        (Some(Role::Refactor | Role::Diagnosis) | None, _) => {
            Answer::say("Nothing is worth changing.")
        }
    }
}
