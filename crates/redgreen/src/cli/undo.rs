//! `redgreen undo`.

use anyhow::Result;
use redgreen_core::event::Outcome;

use super::Desk;
use crate::failure::Code;
use crate::ops;
use crate::view;

/// Take back the last merge that `approve` made; the run waits for you again
///
/// This works while the branch still ends with that merge and the merge is not pushed. Files you changed since are not
/// touched; if they are in the way, nothing is done. The merge itself stays within reach of `redgreen salvage`.
#[derive(clap::Args, Debug)]
#[command(after_help = "Examples:\n  redgreen undo\n  redgreen undo k3x9")]
pub(super) struct Args {
    /// The run [default: the one that was approved last]
    run: Option<String>,
}

impl Args {
    pub(super) fn perform(self, desk: &Desk) -> Result<Code> {
        let stopped = ops::undo::undo(&desk.clearing_project()?, self.run.as_deref(), &mut desk.watch())?;
        let target = view::name(&stopped.state.run.target).into_owned();
        desk.stopped_with(&stopped, &format!("undone: {target} is as it was, and the run waits for a human"));
        // Asked to undo, it undid: that is a success of this command.
        Ok(if stopped.outcome == Outcome::Waiting { Code::Done } else { stopped.code() })
    }
}
