//! `redgreen why`.

use anyhow::Result;
use redgreen_core::verdict::{Decision, Side};

use super::{Desk, status};
use crate::failure::Code;
use crate::ops::why;
use crate::view;

/// Explain on one screen why a run is where it is
#[derive(clap::Args, Debug)]
#[command(after_help = "Examples:\n  redgreen why\n  redgreen why k3x9 --json")]
pub(super) struct Args {
    /// The run [default: the only one that is open, or else the last]
    run: Option<String>,
}

impl Args {
    pub(super) fn perform(self, desk: &Desk) -> Result<Code> {
        let why = why::why(&desk.project()?, self.run.as_deref())?;
        let mut text = String::new();
        view::field(&mut text, "gate", why.gate);
        if let Some(last) = &why.verdict {
            let word = match last.verdict.decision {
                Decision::Accepted => "accepted",
                Decision::Refused => "refused",
                Decision::Undecided => "undecided",
            };
            view::field(&mut text, "verdict", &format!("{} {word}\n{}", last.phase, last.verdict.sentences()));
            view::field(&mut text, "ran", last.ran.as_deref().unwrap_or_default());
            view::field(&mut text, "fault", side(last.side));
            view::field(&mut text, "step", last.next_step);
        }
        view::field(&mut text, "doing", why.doing.as_deref().unwrap_or_default());
        view::field(&mut text, "see", &why.artifacts.join("\n"));
        desk.printer.answer(&format!("{}{text}", status::one(&why.run)), &why);
        Ok(Code::Done)
    }
}

fn side(side: Side) -> &'static str {
    match side {
        Side::Nobody => "",
        Side::Plan => "the plan is wrong",
        Side::Test => "the test is wrong",
        Side::Code => "the code is wrong",
        Side::Runner => "the test runner is wrong",
    }
}
