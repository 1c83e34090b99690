//! `redgreen init`.

use anyhow::Result;
use serde::Serialize;

use super::Desk;
use crate::failure::Code;
use crate::ops::{self, init};
use crate::view;

/// Write a redgreen.toml with every setting in it, commented out; or a hook for git
#[derive(clap::Args, Debug)]
#[command(after_help = "Examples:\n  redgreen init\n  redgreen init --print\n  redgreen init --hook pre-push")]
pub(super) struct Args {
    /// Print it instead of writing it
    #[arg(long)]
    print: bool,
    /// Write a hook instead, which has `redgreen verify` look at what is pushed
    #[arg(long, value_name = "HOOK", conflicts_with = "print")]
    hook: Option<Hook>,
}

#[derive(Clone, Copy, Debug, clap::ValueEnum)]
enum Hook {
    PrePush,
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
        let project = desk.project()?;
        let (file, next) = match self.hook {
            None => (init::init(&project)?, ops::BEGIN),
            Some(Hook::PrePush) => (init::pre_push(&project)?, "git push"),
        };
        let file = file.display().to_string();
        let text = format!("wrote {}\n{}", view::name(&file), view::next_line(next));
        desk.printer.answer(&text, &Written { version: 1, file });
        Ok(Code::Done)
    }
}
