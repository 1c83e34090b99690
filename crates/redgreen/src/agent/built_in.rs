//! The built-in agent: each turn a fresh conversation with a model, with tools that cannot leave the worktree, and
//! every limit checked before the request that would cross it.

mod ledger;
mod minutes;
mod place;
mod talk;
mod tools;

use std::time::{Duration, Instant};

use anyhow::Result;
use redgreen_core::phase::Role;
use redgreen_core::policy::Policy;

use crate::agent::{Orders, Taken};
use crate::config::{self, Environment};
use ledger::Price;
use place::Place;
use talk::{Ask, Talk};
use tools::Workbench;

/// For one command.
const BASH_TIME: Duration = Duration::from_secs(120);
const MAX_TOKENS: u32 = 16_000;
const REQUESTS_MAX: u32 = 60;
/// What every current model has room for, less an answer.
const WINDOW: u64 = 150_000;

/// How the built-in agent works, whatever the model.
#[derive(Clone, Debug)]
pub struct Settings {
    /// How the tests are run: as the user says, not as the worktree does.
    pub test: config::Test,
    pub environment: Environment,
    pub bash_time: Duration,
    pub red_time: Duration,
    pub green_time: Duration,
    /// Tokens of one answer.
    pub max_tokens: u32,
    /// Requests in one turn.
    pub requests_max: u32,
    /// Tokens of a conversation, before it is begun anew.
    pub window: u64,
    price: Price,
}

impl Settings {
    /// The usual limits.
    pub fn plain(test: config::Test, environment: Environment) -> Self {
        let policy = Policy::default();
        Self {
            test,
            environment,
            bash_time: BASH_TIME,
            red_time: Duration::from_millis(policy.red_timeout_ms),
            green_time: Duration::from_millis(policy.green_timeout_ms),
            max_tokens: MAX_TOKENS,
            requests_max: REQUESTS_MAX,
            window: WINDOW,
            price: |_, _| None,
        }
    }
}

/// Holds a turn's conversation with whoever answers.
fn converse(model: &str, settings: &Settings, orders: &mut Orders<'_>, ask: Ask<'_>) -> Result<Taken> {
    let time =
        orders.allowance.work_ms.map_or(orders.time_limit, |ms| Duration::from_millis(ms).min(orders.time_limit));
    let bench = Workbench {
        place: Place::new(orders.worktree)?,
        settings,
        env: orders.env,
        repository: orders.repository,
        private: orders.private,
        test_time: match orders.assignment.role {
            Role::TestList | Role::Test => settings.red_time,
            Role::Implementing | Role::Diagnosis | Role::Refactor => settings.green_time,
        },
        deadline: Instant::now() + time,
        stop: orders.stop,
        edited: false,
        tests: None,
    };
    Talk::new(model, settings, orders, bench, ask).hold()
}
