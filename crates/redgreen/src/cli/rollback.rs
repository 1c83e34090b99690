//! `redgreen rollback`.

use anyhow::Result;

use super::CommandContext;
use crate::failure::Code;
use crate::ops;

/// Return an open run to one of its accepted commits; `redgreen salvage` keeps the later ones
#[derive(clap::Args, Debug)]
#[command(after_help = "Examples:\n  redgreen history\n  redgreen rollback 3fa94c1b20")]
pub(super) struct Args {
    /// A commit of the run
    commit: String,
}

impl Args {
    pub(super) fn perform(self, desk: &CommandContext) -> Result<Code> {
        let stopped =
            ops::rollback::rollback(&desk.clearing_project()?, &self.commit, &mut desk.watch())?;
        desk.stopped_with(&stopped, "rolled back; `redgreen resume` continues from there");
        Ok(Code::Done)
    }
}
