//! How a user is asked and told while a run goes on.

use redgreen_core::phase::Phase;
use serde::Deserialize;

/// A phase that a run pauses after, in each cycle.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum PauseAfter {
    Plan,
    Red,
    Green,
    Refactor,
}

/// What is run when a run waits for its user.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct Notify {
    /// A program and its arguments; what happened is one more. No shell reads it.
    pub command: Vec<String>,
}

impl PauseAfter {
    pub fn phase(self) -> Phase {
        match self {
            PauseAfter::Plan => Phase::Plan,
            PauseAfter::Red => Phase::Red,
            PauseAfter::Green => Phase::Green,
            PauseAfter::Refactor => Phase::Refactor,
        }
    }
}
