//! `redgreen demo`.

use std::path::PathBuf;

use anyhow::Result;
use redgreen_core::event::Outcome;
use serde::Serialize;

use super::Desk;
use crate::failure::Code;
use crate::ops::{demo, exit_code, status};
use crate::view;

/// See it work: develop a kata in a scratch folder with a scripted agent and the real `cargo test`
#[derive(clap::Args, Debug)]
#[command(after_help = "Needs git and cargo; no key, no network.\n\nExample:\n  redgreen demo --folder /tmp/kata")]
pub(super) struct Args {
    /// Where to play; a new or empty folder [default: a temporary one]
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
        let place = demo.folder.display().to_string();
        let mut text = format!("demo  {}\n", view::outcome(&demo.stopped.outcome));
        view::field(&mut text, "commits", &format!("git -C {place} log --graph --oneline"));
        view::field(&mut text, "a note", &format!("git -C {place} notes --ref=tdd-handoffs show HEAD^2"));
        view::field(&mut text, "handoffs", &format!("redgreen -C {place} history"));
        view::field(&mut text, "set aside", &format!("redgreen -C {place} salvage"));
        text.push_str(&view::next_line("cd <your project> && redgreen init"));
        let run = status::overview(&demo.stopped.folder, &demo.stopped.state);
        desk.printer.answer(&text, &Answer { version: 1, folder: place, run });
        Ok(if demo.stopped.outcome == Outcome::Merged { Code::Done } else { exit_code(&demo.stopped.outcome) })
    }
}
