//! Whether the agents of a run can keep its limits, before anything starts.

use anyhow::Result;
use redgreen_core::policy::{Policy, dollars};
use redgreen_core::state::role_of;

use crate::agent::{Agent, Team};
use crate::engine::{Observer, Progress};
use crate::failure::Failure;

/// Whether a budget in dollars can be enforced. A model without a known price is refused. Other
/// agents may or may not report their cost, which is unknown before their turn.
pub(in crate::ops) fn check_price(
    policy: &Policy,
    team: &Team,
    observe: Observer<'_>,
) -> Result<()> {
    let Some(limit) = policy.budget.microdollars else { return Ok(()) };
    if let Some(model) = team.unpriced() {
        return Err(Failure::environment(format!(
            "--budget-usd needs a price, but the price of the model {model:?} is unknown"
        ))
        .evidence(format!(
            "set it in redgreen.toml: [model.prices.{model:?}] with input and output"
        ))
        .next("redgreen run --budget-tokens N …, to limit tokens instead of dollars")
        .into());
    }
    let untold = team.untold_prices();
    if !untold.is_empty() {
        let remark = format!(
            "{} may not report the cost of a turn: the budget of {} limits only known costs; use \
             --budget-tokens N or --deadline SECONDS to limit all turns",
            untold.join(" and "),
            dollars(limit)
        );
        observe(Progress::Remark(&remark));
    }
    Ok(())
}

/// Whether the agents can make several attempts side by side.
pub(in crate::ops) fn check_attempts(policy: &Policy, team: &Team) -> Result<()> {
    let number = policy.attempts.number;
    if number < 2 {
        return Ok(());
    }
    for phase in &policy.attempts.phases {
        let agents = team.attempting(role_of(*phase));
        if agents.iter().any(|agent| matches!(agent, Agent::Human(_))) {
            return Err(Failure::usage(format!(
                "{number} attempts at {phase} cannot be made side by side by a human"
            ))
            .next("name other agents: --agents NAME,NAME, or make one attempt: --attempts 1")
            .into());
        }
        if agents.len() > usize::try_from(number).unwrap_or(usize::MAX) {
            let names: Vec<String> = agents.iter().map(|agent| agent.name()).collect();
            return Err(Failure::usage(format!(
                "{} agents are named for {number} attempts: {}",
                agents.len(),
                names.join(", ")
            ))
            .next(format!("redgreen run --attempts {} …", agents.len()))
            .into());
        }
    }
    Ok(())
}
