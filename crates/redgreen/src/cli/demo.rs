//! `redgreen demo`.

use std::path::PathBuf;

use anyhow::Result;
use clap::builder::PossibleValuesParser;
use redgreen_core::event::Outcome;
use redgreen_core::text::shell_word;
use serde::Serialize;

use super::CommandContext;
use crate::failure::Code;
use crate::ops::demo::stack::STACKS;
use crate::ops::{demo, exit_code, status};
use crate::view;

/// See how it works: develop a kata in a temporary folder, with a scripted agent and a real test
/// runner
#[derive(clap::Args, Debug)]
#[command(after_help = "Needs git and one of Python, Node.js and cargo; no key, no network.\n\n\
                        Examples:\n  redgreen demo\n  redgreen demo --lang rust --folder /tmp/kata")]
pub(super) struct Args {
    /// The language of the kata: Python with unittest, Node.js with `node --test`, Rust with
    /// `cargo test` [default: the first of them that is installed]
    #[arg(long, value_name = "LANG", value_parser = PossibleValuesParser::new(STACKS.iter().map(|stack| stack.name)))]
    lang: Option<String>,
    /// A new or empty folder [default: a temporary one]
    #[arg(long, value_name = "DIR")]
    folder: Option<PathBuf>,
}

#[derive(Serialize)]
struct Answer {
    version: u32,
    language: &'static str,
    folder: String,
    run: status::Overview,
}

impl Args {
    pub(super) fn perform(self, desk: &CommandContext) -> Result<Code> {
        let folder = self.folder.map(|folder| desk.folder.join(folder));
        let stack = demo::stack(self.lang.as_deref(), &desk.environment)?;
        let demo =
            demo::demo(stack, folder.as_deref(), &desk.environment, &desk.stop, &mut desk.watch())?;
        let folder = demo.folder.display().to_string();
        let place = shell_word(&folder);
        // The last commit of the branch may be the one that removes the list, which has no note.
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
        let text = format!(
            "demo  {outcome}\n{}",
            view::block(&rows, "cd <your project> && redgreen init")
        );
        let run = status::overview(&demo.stopped.folder, &demo.stopped.state);
        desk.printer.answer(&text, &Answer { version: 1, language: stack.name, folder, run });
        Ok(if demo.stopped.outcome == Outcome::Merged {
            Code::Done
        } else {
            exit_code(&demo.stopped.outcome)
        })
    }
}
