//! `redgreen pause`.

use anyhow::Result;

use super::CommandContext;
use crate::failure::Code;
use crate::ops;
use crate::view;

/// Pause a run of another process when the current phase is accepted
#[derive(clap::Args, Debug)]
#[command(after_help = "Examples:\n  redgreen pause\n  redgreen pause k3x9")]
pub(super) struct Args {
    /// The run [default: the only open one]
    run: Option<String>,
}

impl Args {
    pub(super) fn perform(self, desk: &CommandContext) -> Result<Code> {
        let asked = ops::pause::pause(&desk.project()?, self.run.as_deref())?;
        let id = asked.run.tail();
        let next = view::next_line(&format!("redgreen watch {id}"));
        desk.printer.answer(
            &format!("run {} will pause when {} is accepted\n{next}", asked.run, asked.phase),
            &asked,
        );
        Ok(Code::Done)
    }
}
