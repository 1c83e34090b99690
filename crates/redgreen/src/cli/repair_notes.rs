//! `redgreen repair-notes`.

use anyhow::Result;

use super::CommandContext;
use crate::failure::Code;
use crate::ops::notes;
use crate::view;

/// Repair damaged handoff notes from the journals; keeps a copy of notes that it cannot repair
#[derive(clap::Args, Debug)]
#[command(after_help = "Example:\n  redgreen repair-notes")]
pub(super) struct Args {}

impl Args {
    pub(super) fn perform(self, desk: &CommandContext) -> Result<Code> {
        let repaired = notes::repair(&desk.project()?)?;
        let written = view::count(repaired.rewritten.len(), "note");
        let aside = view::count(repaired.set_aside.len(), "damaged text");
        let sound = view::count(repaired.sound, "note");
        let what = if repaired.rewritten.is_empty() && repaired.set_aside.is_empty() {
            format!("nothing to repair: checked {sound}")
        } else {
            format!("restored {written} from the journals, set {aside} aside, {sound} intact")
        };
        let elsewhere = if repaired.ref_was_dangling {
            "the notes ref was broken and was created again; to fetch notes of runs on other \
             machines:\ngit fetch <remote> refs/notes/tdd-handoffs:refs/notes/tdd-handoffs"
        } else {
            ""
        };
        let rows = [("notice", elsewhere), ("set aside", &repaired.set_aside.join("\n"))];
        let text = format!("{what}\n{}", view::block(&rows, "redgreen status"));
        desk.printer.answer(&text, &repaired);
        Ok(Code::Done)
    }
}
