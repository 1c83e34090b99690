//! `redgreen init`.

use anyhow::Result;
use serde::Serialize;

use super::Desk;
use crate::failure::Code;
use crate::ops::{self, init};
use crate::view;

/// Write a redgreen.toml with every setting in it, commented out
#[derive(clap::Args, Debug)]
#[command(after_help = "Examples:\n  redgreen init\n  redgreen init --print")]
pub(super) struct Args {
    /// Print it instead of writing it
    #[arg(long)]
    print: bool,
}

#[derive(Serialize)]
struct Written {
    version: u32,
    file: String,
}

impl Args {
    pub(super) fn perform(self, desk: &Desk) -> Result<Code> {
        if self.print {
            desk.printer.raw(init::TEMPLATE);
            return Ok(Code::Done);
        }
        let file = init::init(&desk.project()?)?.display().to_string();
        let text = format!("wrote {}\n{}", view::name(&file), view::next_line(ops::BEGIN));
        desk.printer.answer(&text, &Written { version: 1, file });
        Ok(Code::Done)
    }
}
