//! `redgreen approve` and `redgreen abort`.

use anyhow::Result;
use redgreen_core::event::{Commits, Outcome};

use super::Desk;
use crate::failure::Code;
use crate::ops;

/// Merge a run that waits for you, with your hooks and your signature
#[derive(clap::Args, Debug)]
#[command(after_help = "Examples:\n  redgreen approve\n  redgreen approve k3x9\n  redgreen approve --squash")]
pub(super) struct ApproveArgs {
    /// The run [default: the only one that is open]
    run: Option<String>,
    /// Make one commit of the run; its own commits stay within reach of `redgreen salvage`
    #[arg(long)]
    squash: bool,
}

/// End a run without a merge; its commits stay within reach of `redgreen salvage`
#[derive(clap::Args, Debug)]
#[command(after_help = "Examples:\n  redgreen abort\n  redgreen abort k3x9")]
pub(super) struct AbortArgs {
    /// The run [default: the only one that is open]
    run: Option<String>,
}

impl ApproveArgs {
    pub(super) fn perform(self, desk: &Desk) -> Result<Code> {
        let commits = if self.squash { Commits::Squashed } else { Commits::Merged };
        let project = desk.trusted_project()?;
        let stopped = ops::decide::approve(&project, self.run.as_deref(), commits, &mut desk.watch())?;
        desk.stopped(&stopped);
        Ok(stopped.code())
    }
}

impl AbortArgs {
    pub(super) fn perform(self, desk: &Desk) -> Result<Code> {
        let stopped = ops::decide::abort(&desk.project()?, self.run.as_deref(), &mut desk.watch())?;
        desk.stopped(&stopped);
        // Asked to abort, it aborted: that is a success of this command.
        Ok(if stopped.outcome == Outcome::Aborted { Code::Done } else { stopped.code() })
    }
}
