//! Several attempts at a phase, side by side.

use anyhow::Result;
use redgreen_core::attempts::{ATTEMPTS_MAX, JOBS_MAX};
use redgreen_core::phase::Phase;
use redgreen_core::policy;
use serde::Deserialize;

use super::FILE;
use crate::failure::Failure;

#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct Attempts {
    /// How many; by default one, or one for each of the agents.
    pub number: Option<u32>,
    /// Their agents, in turn.
    pub agents: Vec<String>,
    /// The phases; GREEN if none is named.
    pub phases: Vec<AttemptPhase>,
    /// Attempts at work at the same time.
    pub jobs: Option<u32>,
}

/// A phase with evidence that can be compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum AttemptPhase {
    Red,
    Green,
    Refactor,
}

impl Attempts {
    pub(super) fn policy(&self) -> Result<policy::Attempts> {
        let agents = u32::try_from(self.agents.len()).unwrap_or(u32::MAX).max(1);
        let number = within("number", self.number.unwrap_or(agents), ATTEMPTS_MAX)?;
        let jobs = self.jobs.map(|jobs| within("jobs", jobs, JOBS_MAX)).transpose()?;
        let phases: Vec<Phase> = self.phases.iter().map(|named| named.phase()).collect();
        let usual = policy::Attempts::default();
        let phases = if phases.is_empty() { usual.phases } else { phases };
        Ok(policy::Attempts { number, phases, jobs })
    }
}

fn within(key: &str, number: u32, most: u32) -> Result<u32> {
    if (1..=most).contains(&number) {
        return Ok(number);
    }
    Err(Failure::usage(format!("attempts.{key} in {FILE} is {number}; it must be 1 to {most}"))
        .next(format!("correct attempts.{key} in {FILE}"))
        .into())
}

impl AttemptPhase {
    fn phase(self) -> Phase {
        match self {
            AttemptPhase::Red => Phase::Red,
            AttemptPhase::Green => Phase::Green,
            AttemptPhase::Refactor => Phase::Refactor,
        }
    }
}
