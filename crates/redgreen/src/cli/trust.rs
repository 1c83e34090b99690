//! `redgreen trust`.

use anyhow::Result;

use super::CommandContext;
use crate::failure::Code;
use crate::ops::trust::{self, Trust};
use crate::view;

/// Allow the commands in this project's settings to run
#[derive(clap::Args, Debug)]
#[command(
    after_help = "Examples:\n  redgreen trust --show\n  redgreen trust\n  redgreen trust --revoke"
)]
pub(super) struct Args {
    /// Only show the commands
    #[arg(long, conflicts_with = "revoke")]
    show: bool,
    /// Withdraw your agreement
    #[arg(long)]
    revoke: bool,
}

impl Args {
    pub(super) fn perform(&self, desk: &CommandContext) -> Result<Code> {
        let project = desk.project()?;
        let (root, environment) = (&project.git.root, &project.environment);
        let trust = match (self.show, self.revoke) {
            (true, _) => trust::look(root, environment)?,
            (false, true) => trust::revoke(root, environment)?,
            (false, false) => trust::agree(root, environment)?,
        };
        desk.printer.answer(&words(&trust), &trust);
        Ok(Code::Done)
    }
}

pub(super) fn words(trust: &Trust) -> String {
    if trust.commands.is_empty() {
        return "this project's settings contain no commands\n".to_owned();
    }
    let mut text = String::new();
    for command in &trust.commands {
        text.push_str(&format!("  {}  {}\n", view::name(&command.key), view::name(&command.line)));
    }
    let word = if trust.trusted {
        view::paint(view::GOOD, "trusted")
    } else {
        view::paint(view::DOUBT, "not trusted")
    };
    format!("{text}{word}\n")
}
