//! `redgreen config`.

use anyhow::Result;

use super::CommandContext;
use crate::failure::Code;
use crate::ops::config;
use crate::view;

/// Show every setting in effect and where it comes from
#[derive(clap::Args, Debug)]
#[command(after_help = "Examples:\n  redgreen config\n  redgreen config --json")]
pub(super) struct Args {}

impl Args {
    pub(super) fn perform(&self, desk: &CommandContext) -> Result<Code> {
        let config = config::config(&desk.project()?)?;
        let mut text = String::new();
        let width = config.settings.iter().map(|row| row.key.len()).max().unwrap_or_default();
        for row in &config.settings {
            let origin = view::paint(view::QUIET, &format!("({})", view::name(&row.origin)));
            text.push_str(&format!(
                "{:<width$}  {}  {origin}\n",
                view::name(&row.key),
                view::name(&row.value.to_string())
            ));
        }
        for row in &config.unused {
            text.push_str(&format!(
                "{:<width$}  not used  ({})\n",
                view::name(&row.key),
                view::name(&row.origin)
            ));
        }
        desk.printer.answer(&text, &config);
        Ok(Code::Done)
    }
}
