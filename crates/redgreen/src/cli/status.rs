//! `redgreen status`.

use anyhow::Result;

use super::Desk;
use crate::failure::Code;
use crate::ops::status::{self, Overview};
use crate::view;

/// Show the runs that are not over, and the last one
#[derive(clap::Args, Debug)]
#[command(after_help = "Examples:\n  redgreen status\n  redgreen status --all --json")]
pub(super) struct Args {
    /// Only this run
    run: Option<String>,
    /// Every run there ever was
    #[arg(long, conflicts_with = "run")]
    all: bool,
}

impl Args {
    pub(super) fn perform(self, desk: &Desk) -> Result<Code> {
        let status = status::status(&desk.project()?, self.run.as_deref(), self.all)?;
        let text = if status.runs.is_empty() {
            format!(
                "no run yet\n{}",
                view::next_line("redgreen run \"<what to build>\", or see it work: redgreen demo")
            )
        } else {
            status.runs.iter().map(one).collect::<Vec<_>>().join("\n")
        };
        desk.printer.answer(&text, &status);
        Ok(Code::Done)
    }
}

pub(super) fn one(run: &Overview) -> String {
    let mut text = view::title(&run.id, &run.request);
    let done = run.completed_tests.len();
    let all = done + run.pending_tests.len();
    view::field(&mut text, "phase", &format!("{} of cycle {}, {done} of {all} tests done", run.phase, run.cycle));
    view::field(&mut text, "test", run.current_test.as_ref().map_or("", |test| &test.description));
    let state = match (&run.outcome, run.at_work) {
        (_, true) => "at work".to_owned(),
        (Some(outcome), false) => view::outcome(outcome),
        (None, false) => "stopped in the middle".to_owned(),
    };
    view::field(&mut text, "state", &state);
    view::field(&mut text, "branch", &format!("{} for {}", run.branch, run.target));
    view::field(&mut text, "spent", &view::cost(run.spent.tokens, run.spent.microdollars, run.spent.unknown_turns));
    text.push_str(&view::next_line(&run.next));
    text
}
