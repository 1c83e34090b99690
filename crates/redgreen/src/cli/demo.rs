//! `redgreen demo`.

use std::path::PathBuf;

use anyhow::Result;
use redgreen_core::event::Outcome;
use redgreen_core::text::shell_word;
use serde::Serialize;

use super::Desk;
use crate::failure::Code;
use crate::ops::{demo, exit_code, status};
use crate::view;

/// See how it works: develop a kata in a temporary folder, with a scripted agent and the real `cargo test`
#[derive(clap::Args, Debug)]
#[command(after_help = "Needs git and cargo; no key, no network.\n\nExample:\n  redgreen demo --folder /tmp/kata")]
pub(super) struct Args {
    /// A new or empty folder [default: a temporary one]
    #[arg(long, value_name = "DIR")]
    folder: Option<PathBuf>,
}

#[derive(Serialize)]
struct Answer {
    version: u32,
    folder: String,
    run: status::Overview,
}

impl Args {
    pub(super) fn perform(self, desk: &Desk) -> Result<Code> {
        let folder = self.folder.map(|folder| desk.folder.join(folder));
        let demo = demo::demo(folder.as_deref(), &desk.environment, &desk.stop, &mut desk.watch())?;
        let folder = demo.folder.display().to_string();
        let place = shell_word(&folder);
        // The last commit of the branch may be the one that leaves out the list, which has no note.
        let trail = &demo.stopped.state.trail;
        let noted = trail.iter().rev().find(|waypoint| waypoint.progress.handoff.is_some());
        let noted = noted.map_or("HEAD", |waypoint| waypoint.progress.head.commit.as_str());
        let rows = [
            ("commits", format!("git -C {place} log --graph --oneline")),
            ("a note", format!("git -C {place} notes --ref=tdd-handoffs show {noted}")),
            ("handoffs", format!("redgreen -C {place} history")),
            ("set aside", format!("redgreen -C {place} salvage")),
        ];
        let rows = rows.each_ref().map(|(name, value)| (*name, value.as_str()));
        let outcome = view::outcome(&demo.stopped.outcome);
        let text = format!("demo  {outcome}\n{}", view::block(&rows, "cd <your project> && redgreen init"));
        let run = status::overview(&demo.stopped.folder, &demo.stopped.state);
        desk.printer.answer(&text, &Answer { version: 1, folder, run });
        Ok(if demo.stopped.outcome == Outcome::Merged { Code::Done } else { exit_code(&demo.stopped.outcome) })
    }
}
