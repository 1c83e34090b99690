//! `redgreen undo`.

use anyhow::Result;
use redgreen_core::event::Outcome;

use super::CommandContext;
use crate::failure::Code;
use crate::ops;
use crate::view;

/// Undo the last merge of `approve`; the run is open again
///
/// The merge must be the last commit of the branch, and not pushed yet. Files that you changed
/// since then stay as they are; if they conflict, nothing happens. `redgreen salvage` keeps the
/// merge.
#[derive(clap::Args, Debug)]
#[command(after_help = "Examples:\n  redgreen undo\n  redgreen undo k3x9")]
pub(super) struct Args {
    /// The run [default: the last approved one]
    run: Option<String>,
}

impl Args {
    pub(super) fn perform(self, desk: &CommandContext) -> Result<Code> {
        let stopped =
            ops::undo::undo(&desk.clearing_project()?, self.run.as_deref(), &mut desk.watch())?;
        let target = view::name(&stopped.state.run.target).into_owned();
        desk.stopped_with(
            &stopped,
            &format!("undone: {target} is restored, and the run waits for a human"),
        );
        // The user asked to undo, so the command succeeds.
        Ok(if stopped.outcome == Outcome::Waiting { Code::Done } else { stopped.code() })
    }
}
