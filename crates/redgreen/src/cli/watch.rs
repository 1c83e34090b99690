//! `redgreen watch`.

use anyhow::Result;

use super::CommandContext;
use crate::failure::Code;
use crate::ops;

/// Follow a run of another process until it stops
#[derive(clap::Args, Debug)]
#[command(after_help = "Examples:\n  redgreen watch\n  redgreen watch k3x9 --json\n\n\
                        Exits with the exit code of the run: 3 when it waits for you.")]
pub(super) struct Args {
    /// The run [default: the only open one, or the last one]
    run: Option<String>,
}

impl Args {
    pub(super) fn perform(self, desk: &CommandContext) -> Result<Code> {
        let stopped = ops::watch::watch(&desk.project()?, self.run.as_deref(), &mut desk.watch())?;
        desk.stopped(&stopped);
        Ok(stopped.code())
    }
}
