//! `redgreen completions` and `redgreen man`, for shells and packagers.

use anyhow::{Context, Result};
use clap_complete::Shell;

use super::CommandContext;
use crate::failure::Code;

/// Print shell completions
#[derive(clap::Args, Debug)]
#[command(
    after_help = "Example:\n  redgreen completions bash > ~/.local/share/bash-completion/completions/redgreen"
)]
pub(super) struct CompletionsArgs {
    /// The shell
    shell: Shell,
}

/// Print the manual page
#[derive(clap::Args, Debug)]
#[command(after_help = "Example:\n  redgreen man > redgreen.1 && man ./redgreen.1")]
pub(super) struct ManArgs {
    /// The page of one command
    verb: Option<String>,
}

impl CompletionsArgs {
    pub(super) fn perform(self, desk: &CommandContext, mut command: clap::Command) -> Code {
        let mut script = Vec::new();
        clap_complete::generate(self.shell, &mut command, "redgreen", &mut script);
        desk.printer.raw(&String::from_utf8_lossy(&script));
        Code::Done
    }
}

impl ManArgs {
    pub(super) fn perform(self, desk: &CommandContext, mut command: clap::Command) -> Result<Code> {
        command.build();
        let command = match &self.verb {
            None => command,
            Some(verb) => command.find_subcommand(verb).cloned().ok_or_else(|| {
                crate::failure::Failure::usage(format!("there is no command {verb:?}"))
                    .next("redgreen --help")
            })?,
        };
        let mut page = Vec::new();
        clap_mangen::Man::new(command).render(&mut page).context("write the manual page")?;
        desk.printer.raw(&String::from_utf8_lossy(&page));
        Ok(Code::Done)
    }
}
