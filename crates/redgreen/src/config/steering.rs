//! Pauses and notifications of a run.

use redgreen_core::phase::Phase;
use serde::Deserialize;

/// A phase after which a run pauses, in each cycle.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum PauseAfter {
    Plan,
    Red,
    Green,
    Refactor,
}

/// The command that runs when a run waits for its user.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct Notify {
    /// A program and its arguments. The reason is appended as the last argument. It is not a shell
    /// command.
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
