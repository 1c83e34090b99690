//! The scripted agent: what a faulty file tells its author (`faults`), and what each action does (`playing`).

mod faults;
mod playing;

use std::path::Path;
use std::time::Duration;

use redgreen_core::agent::{Assignment, Trouble};
use redgreen_core::phase::{Phase, Role};

use super::Script;
use crate::agent::{Agent, Taken};
use crate::process::Stop;

const LIMIT: Duration = Duration::from_secs(20);

fn assignment(role: Role, turn: u32) -> Assignment {
    Assignment {
        role,
        phase: Phase::Green,
        cycle: 2,
        turn,
        attempt: 3,
        request: "Add\0 zeros".to_owned(),
        current: None,
        completed: Vec::new(),
        pending: Vec::new(),
        trouble: Some(Trouble { kind: "green.still_failing".to_owned(), message: "1 fails".to_owned() }),
        diagnosis: None,
    }
}

fn take(script: &str, role: Role, turn: u32, worktree: &Path, limit: Duration) -> Taken {
    let agent = Agent::Scripted(Script::parse("kata.toml", script).unwrap());
    let env = [("EXTRA".to_owned(), "given".to_owned())];
    agent.take_turn(&assignment(role, turn), worktree, &env, limit, &Stop::default()).unwrap()
}
