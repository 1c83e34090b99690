//! The cost of a turn of an external agent, without the agent: instructions, sandbox, output, and
//! ending its processes.

use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use redgreen_core::agent::{Assignment, Strategy, Turn};
use redgreen_core::phase::{Phase, Role};
use redgreen_core::policy::Budget;

use super::{Measure, median_ms, timed};
use crate::agent::external::{AgentSandbox, External};
use crate::agent::visible::Visible;
use crate::agent::{Agent, TurnInput};
use crate::config::{Environment, Fence, File};
use crate::git::Git;
use crate::process::{self, Program, Stop};

/// An agent that reads its instructions, prints one word, and ends.
const SETTINGS: &str = "[agent.custom.brief]\ncommand = \"cat > /dev/null; echo Done.\"\n";
const LIMIT: Duration = Duration::from_secs(60);

pub(super) fn measures(
    folder: &Path,
    turns: usize,
    environment: &Environment,
    stop: &Stop,
) -> Result<Vec<Measure>> {
    let root = folder.join("agents");
    let git = Git::create_scratch(
        &root.join("checkout"),
        &[("README.md", "A project.\n")],
        "chore: a project",
    )?;
    let (worktree, desk) = (root.join("worktree"), root.join("desk"));
    for folder in [&worktree, &desk] {
        fs::create_dir_all(folder).with_context(|| format!("create {}", folder.display()))?;
    }
    let visible = Visible::new(environment, Some(&git), &[]);
    let agent_sandbox = AgentSandbox::new(environment, &root, Fence::Auto, visible);
    let row = File::parse(SETTINGS)?
        .agent
        .custom
        .remove("brief")
        .context("find the agent of the bench")?;
    let agent = Agent::External(Box::new(External::new("brief", row, None, None, agent_sandbox)));
    let bare = Program::shell("cat > /dev/null; echo Done.").cwd(&worktree);
    let assignment = assignment();
    let (mut ours, mut theirs) = (Vec::new(), Vec::new());
    let mut peak_memory_bytes = None;
    // The first turn detects what the machine supports, and does not count.
    for turn in 0..=turns {
        let started = Instant::now();
        process::peak_memory_restart();
        let taken = agent.take_turn(&mut TurnInput {
            assignment: &assignment,
            worktree: &worktree,
            env: &[],
            time_limit: LIMIT,
            allowance: Budget::default(),
            desk: &desk,
            report: None,
            tests: &[],
            changes: &|| Ok(String::new()),
            repository: &git.common_dir,
            private: &git.common_dir.join("redgreen"),
            aside: &desk,
            packages: &[],
            stop,
            live: &mut |_| {},
            messages: &mut Vec::new,
        })?;
        let took = started.elapsed();
        peak_memory_bytes = peak_memory_bytes.max(process::peak_memory_bytes());
        ensure!(
            matches!(taken.turn, Turn::Done { .. }),
            "the agent of the bench failed: {:?}",
            taken.turn
        );
        let other = timed(&bare, stop)?;
        if turn > 0 {
            ours.push(took);
            theirs.push(other);
        }
    }
    let bare_ms = median_ms(theirs);
    let own_ms = median_ms(ours) - bare_ms;
    let measure =
        Measure { peak_memory_bytes, ..Measure::new("an external turn, own time", own_ms) };
    Ok(vec![measure.against("the agent's program alone", bare_ms)])
}

fn assignment() -> Assignment {
    Assignment {
        role: Role::Implementing,
        phase: Phase::Green,
        cycle: 1,
        turn: 0,
        attempt: 1,
        candidate: None,
        request: "a calculator".to_owned(),
        brief: None,
        current: None,
        completed: Vec::new(),
        pending: Vec::new(),
        trouble: None,
        diagnosis: None,
        remarks: Vec::new(),
        messages: Vec::new(),
        more: false,
        withhold: false,
        strategy: Strategy::New,
    }
}
