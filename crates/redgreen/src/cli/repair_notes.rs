//! `redgreen repair-notes`.

use anyhow::Result;

use super::Desk;
use crate::failure::Code;
use crate::ops::notes;
use crate::view;

/// Put damaged handoff notes right from the journals; what cannot be put right is moved aside, never thrown away
#[derive(clap::Args, Debug)]
#[command(after_help = "Example:\n  redgreen repair-notes")]
pub(super) struct Args {}

impl Args {
    pub(super) fn perform(self, desk: &Desk) -> Result<Code> {
        let repaired = notes::repair(&desk.project()?)?;
        let mut text = format!(
            "{} notes are sound, {} were written again, {} were set aside\n",
            repaired.sound,
            repaired.rewritten.len(),
            repaired.set_aside.len()
        );
        if repaired.ref_was_dangling {
            text.push_str(
                "the notes ref pointed to nothing and was made anew; notes of runs made elsewhere are gone\n",
            );
            text.push_str(&view::next_line("git fetch <remote> refs/notes/tdd-handoffs:refs/notes/tdd-handoffs"));
        }
        view::field(&mut text, "aside", &repaired.set_aside.join("\n"));
        text.push_str(&view::next_line("redgreen status"));
        desk.printer.answer(&text, &repaired);
        Ok(Code::Done)
    }
}
