//! The scripted agent: errors in a script (`problems`), and the effect of each action (`playing`).

mod playing;
mod problems;

use std::path::Path;
use std::time::Duration;

use redgreen_core::agent::{AgentActivity, Assignment, AttemptFailure, Strategy};
use redgreen_core::phase::{Phase, Role};
use redgreen_core::policy::Budget;

use super::Script;
use crate::agent::{Agent, TurnInput, TurnOutput};
use crate::process::Stop;

const LIMIT: Duration = Duration::from_secs(20);

fn assignment(role: Role, turn: u32) -> Assignment {
    Assignment {
        role,
        phase: Phase::Green,
        cycle: 2,
        turn,
        attempt: 3,
        candidate: None,
        request: "Add\0 zeros".to_owned(),
        brief: None,
        current: None,
        completed: Vec::new(),
        pending: Vec::new(),
        trouble: Some(AttemptFailure {
            kind: "green.still_failing".to_owned(),
            message: "1 fails".to_owned(),
        }),
        diagnosis: None,
        remarks: Vec::new(),
        messages: Vec::new(),
        more: false,
        withhold: false,
        strategy: Strategy::New,
    }
}

fn orders<'a>(
    assignment: &'a Assignment,
    worktree: &'a Path,
    env: &'a [(String, String)],
    time_limit: Duration,
    stop: &'a Stop,
    live: &'a mut dyn FnMut(&AgentActivity),
) -> TurnInput<'a> {
    TurnInput {
        assignment,
        worktree,
        env,
        time_limit,
        allowance: Budget::default(),
        desk: worktree,
        report: None,
        tests: &[],
        changes: &|| Ok(String::new()),
        repository: worktree,
        private: worktree,
        aside: worktree,
        packages: &[],
        stop,
        live,
        messages: Box::leak(Box::new(Vec::new)),
    }
}

fn take(script: &str, role: Role, turn: u32, worktree: &Path, limit: Duration) -> TurnOutput {
    let agent = Agent::Scripted(Script::parse("kata.toml", script).unwrap());
    let env = [("EXTRA".to_owned(), "given".to_owned())];
    agent
        .take_turn(&mut orders(
            &assignment(role, turn),
            worktree,
            &env,
            limit,
            &Stop::default(),
            &mut |_| {},
        ))
        .unwrap()
}
