//! `redgreen resume`.

use std::path::PathBuf;

use anyhow::Result;

use super::CommandContext;
use super::prompt::end;
use super::run::{AgentArgs, AttemptArgs, LimitArgs};
use crate::agent::choice::Choice;
use crate::failure::Code;
use crate::ops;
use crate::ops::brief::BriefSource;
use crate::ops::run::Limits;
use crate::view;

/// Continue a run that stopped or was killed, or a run from another clone
#[derive(clap::Args, Debug)]
#[command(after_help = "Examples:\n  redgreen resume\n  redgreen resume k3x9 --budget-usd 10\n  \
                        redgreen resume --more \"negative numbers\"\n  \
                        redgreen resume --or-run \"add roman numerals\"")]
pub(super) struct Args {
    /// The run: its id, or the start or end of it [default: the only open one]
    run: Option<String>,
    /// The request for a new run, if there is no run to resume
    #[arg(long, value_name = "REQUEST", conflicts_with = "run")]
    or_run: Option<String>,
    /// Develop another case, in your own words; also if the run is finished but not merged yet
    #[arg(long, value_name = "CASE", conflicts_with = "or_run")]
    more: Option<String>,
    #[command(flatten)]
    agents: AgentArgs,
    /// Use these withheld examples from now on; a run from another clone does not include its own
    #[arg(long, value_name = "FILE")]
    examples: Option<PathBuf>,
    /// Do not ask for approval at the end
    #[arg(long)]
    no_input: bool,
    /// Take this attempt, where the evidence about several attempts is equal
    #[arg(long, value_name = "N", conflicts_with = "or_run")]
    choose: Option<u32>,
    #[command(flatten)]
    attempts: AttemptArgs,
    #[command(flatten)]
    limits: LimitArgs,
}

impl Args {
    pub(super) fn perform(self, desk: &CommandContext) -> Result<Code> {
        let project = desk.trusted_project()?;
        let Self { run, or_run, more, agents, examples, no_input, choose, attempts, limits } = self;
        let (mut agents, mut limits): (Choice, Limits) = (agents.into(), limits.into());
        attempts.apply(&mut agents, &mut limits);
        if let Some(request) = or_run.filter(|_| run.is_none())
            && !ops::resume::is_there(&project)?
        {
            desk.printer
                .talk(&view::notice_line("no run or handoff note to resume; starting a new run"));
            let here = Some(desk.folder.clone());
            let request = ops::run::Request {
                wish: BriefSource::Request(request),
                here,
                agents,
                examples,
                limits,
                ..Default::default()
            };
            let stopped = ops::run::run(&project, &request, &mut desk.watch())?;
            return end(desk, &project, &stopped, no_input);
        }
        let request = ops::resume::Request { run, agents, examples, more, choose, limits };
        let stopped = ops::resume::resume(&project, &request, &mut desk.watch())?;
        end(desk, &project, &stopped, no_input)
    }
}
