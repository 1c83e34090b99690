//! `redgreen history`.

use std::fmt::Write;

use anyhow::Result;

use super::CommandContext;
use crate::failure::Code;
use crate::ops::history;
use crate::view;

/// A longer subject does not move the next column.
const SUBJECT_CHARS_MAX: usize = 60;

/// List the handoffs, newest first
#[derive(clap::Args, Debug)]
#[command(after_help = "Examples:\n  redgreen history\n  redgreen history --limit 100 --json\n  \
                        git notes --ref=tdd-handoffs show <commit>")]
pub(super) struct Args {
    /// Maximum number of entries
    #[arg(long, value_name = "N", default_value_t = 20)]
    limit: usize,
}

impl Args {
    pub(super) fn perform(self, desk: &CommandContext) -> Result<Code> {
        let history = history::history(&desk.project()?, self.limit)?;
        let mut text = String::new();
        let subject = |entry: &history::Entry| {
            view::name(&entry.subject).chars().count().min(SUBJECT_CHARS_MAX)
        };
        let width = history.handoffs.iter().map(subject).max().unwrap_or_default();
        for entry in &history.handoffs {
            let handoff = &entry.handoff;
            let short = entry.commit.get(..10).unwrap_or(&entry.commit);
            let result = handoff.result();
            let result = view::name(&result);
            // Writing to a String cannot fail.
            writeln!(
                text,
                "{short}  {}  {:>3} {:<8}  {:<width$}  {result}",
                view::date(entry.date),
                handoff.cycle_number(),
                handoff.phase(),
                view::name(&entry.subject)
            )
            .ok();
        }
        if history.handoffs.is_empty() {
            text.push_str("no handoff yet\n");
        }
        if history.more {
            text.push_str(&view::next_line(&format!(
                "redgreen history --limit {}",
                self.limit.saturating_mul(5)
            )));
        }
        desk.printer.answer(&text, &history);
        Ok(Code::Done)
    }
}
