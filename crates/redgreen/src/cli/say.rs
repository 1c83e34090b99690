//! `redgreen say`.

use anyhow::Result;

use super::Desk;
use crate::failure::Code;
use crate::ops;
use crate::ops::say::Told;
use crate::view;

/// Send a message to the agents of a run; they get it with their next turn
#[derive(clap::Args, Debug)]
#[command(after_help = "Examples:\n  redgreen say \"use a dataclass\"\n  redgreen say k3x9 \"use a dataclass\"")]
pub(super) struct Args {
    /// The run [default: the only open one], and the words
    #[arg(value_names = ["RUN", "WORDS"], num_args = 1..=2, required = true)]
    words: Vec<String>,
}

impl Args {
    pub(super) fn perform(self, desk: &Desk) -> Result<Code> {
        let (run, words) = run_and_words(&self.words);
        let told = ops::say::say(&desk.project()?, run, words)?;
        desk.printer.answer(&answer(&told), &told);
        Ok(Code::Done)
    }
}

/// What was said, and when it is heard.
pub(super) fn answer(told: &Told) -> String {
    let id = told.run.tail();
    let (when, next) = match told.at_work {
        true => ("at its next turn", format!("redgreen watch {id}")),
        false => ("when it goes on", format!("redgreen resume {id}")),
    };
    let words = view::sentence(&told.message, 0, "  ");
    format!("run {} is told {when}:\n  {words}\n{}", told.run, view::next_line(&next))
}

/// The words come last; what comes before names the run.
pub(super) fn run_and_words(words: &[String]) -> (Option<&str>, &str) {
    match words {
        [run, words, ..] => (Some(run), words),
        [words] => (None, words),
        [] => (None, ""),
    }
}
