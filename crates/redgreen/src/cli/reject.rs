//! `redgreen reject`.

use anyhow::Result;

use super::CommandContext;
use super::say::run_and_words;
use crate::failure::Code;
use crate::ops;

/// Reject the test of the current cycle and have a new one written
#[derive(clap::Args, Debug)]
#[command(after_help = "Examples:\n  redgreen reject \"test the total, not the rows\"\n  \
                        redgreen reject k3x9 \"too large: one case at a time\"")]
pub(super) struct Args {
    /// The run [default: the only open one], and the reason
    #[arg(value_names = ["RUN", "WHY"], num_args = 1..=2, required = true)]
    words: Vec<String>,
}

impl Args {
    pub(super) fn perform(self, desk: &CommandContext) -> Result<Code> {
        let (run, why) = run_and_words(&self.words);
        let stopped = ops::reject::reject(&desk.clearing_project()?, run, why, &mut desk.watch())?;
        desk.stopped_with(&stopped, "the test is rejected; `resume` writes a new one");
        Ok(Code::Done)
    }
}
