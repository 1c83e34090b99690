//! `redgreen resume`.

use std::path::PathBuf;

use anyhow::Result;

use super::Desk;
use super::run::{AgentArgs, LimitArgs, end};
use crate::failure::Code;
use crate::ops;

/// Go on with a run that stopped, was interrupted or killed; or take one over from another clone by its notes
#[derive(clap::Args, Debug)]
#[command(after_help = "Examples:\n  redgreen resume\n  redgreen resume k3x9 --budget-usd 10")]
pub(super) struct Args {
    /// The run: its id, or the beginning or end of it [default: the only one that is open]
    run: Option<String>,
    #[command(flatten)]
    agents: AgentArgs,
    /// Withhold these examples from here on; a run of another clone does not bring its own along
    #[arg(long, value_name = "FILE")]
    examples: Option<PathBuf>,
    /// Do not ask at the end, even on a terminal
    #[arg(long)]
    no_input: bool,
    #[command(flatten)]
    limits: LimitArgs,
}

impl Args {
    pub(super) fn perform(self, desk: &Desk) -> Result<Code> {
        let project = desk.trusted_project()?;
        let Self { run, agents, examples, no_input, limits } = self;
        let request = ops::resume::Request { run, agents: agents.into(), examples, limits: limits.into() };
        let stopped = ops::resume::resume(&project, &request, &mut desk.watch())?;
        end(desk, &project, &stopped, no_input)
    }
}
