//! `redgreen say`.

use anyhow::Result;

use super::CommandContext;
use super::queue::QueueArgs;
use crate::failure::Code;
use crate::ops;
use crate::ops::say::SentMessage;
use crate::view;

/// Send a message to the agents of a run, during their turn or with the next one
#[derive(clap::Args, Debug)]
#[command(
    after_help = "Examples:\n  redgreen say \"use a dataclass\"\n  redgreen say k3x9 \"use a dataclass\""
)]
pub(super) struct Args {
    /// The run [default: the only open one] or a job of the queue, and the words
    #[arg(value_names = ["RUN", "WORDS"], num_args = 1..=2, required = true)]
    words: Vec<String>,
    #[command(flatten)]
    queue: QueueArgs,
}

impl Args {
    pub(super) fn perform(self, desk: &CommandContext) -> Result<Code> {
        let (run, words) = run_and_words(&self.words);
        if let Some(queue) = self.queue.of_job(desk, run)? {
            let status = ops::fleet::say(&queue, run.unwrap_or_default(), words)?;
            desk.printer
                .answer(&format!("job {} gets the message at its next turn\n", status.id), &status);
            return Ok(Code::Done);
        }
        let told = ops::say::say(&desk.project()?, run, words)?;
        desk.printer.answer(&answer(&told), &told);
        Ok(Code::Done)
    }
}

/// The message, and when the agents get it.
pub(super) fn answer(told: &SentMessage) -> String {
    let id = told.run.tail();
    let (when, next) = match told.at_work {
        true => ("during this turn, or at its next one", format!("redgreen watch {id}")),
        false => ("when it resumes", format!("redgreen resume {id}")),
    };
    let words = view::sentence(&told.message, 0, "  ");
    format!("run {} gets the message {when}:\n  {words}\n{}", told.run, view::next_line(&next))
}

/// The last word is the message; an earlier one names the run.
pub(super) fn run_and_words(words: &[String]) -> (Option<&str>, &str) {
    match words {
        [run, words, ..] => (Some(run), words),
        [words] => (None, words),
        [] => (None, ""),
    }
}
