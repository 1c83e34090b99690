//! `redgreen init`.

use std::io::{self, IsTerminal};

use anyhow::Result;
use redgreen_core::hook::Host;
use serde::Serialize;

use super::Desk;
use crate::failure::Code;
use crate::ops::init::with::{self, Edit, Way, With};
use crate::ops::{self, init};
use crate::view;

/// Write a redgreen.toml with all settings, or install hooks for a coding agent or git
#[derive(clap::Args, Debug)]
#[command(
    after_help = "Examples:\n  redgreen init\n  redgreen init --print\n  redgreen init --with claude\n  \
                        redgreen init --with claude --remove\n  redgreen init --with git\n  \
                        redgreen init --hook pre-push"
)]
pub(super) struct Args {
    /// Print the file instead of writing it
    #[arg(long)]
    print: bool,
    /// Install a git hook that runs `redgreen verify` before a push
    #[arg(long, value_name = "HOOK", conflicts_with = "print")]
    hook: Option<Hook>,
    /// Install the hooks and MCP server of redgreen for this agent, or hooks for git; keeps
    /// existing settings
    #[arg(long, value_name = "WHO", conflicts_with = "hook")]
    with: Option<Who>,
    /// Remove them again
    #[arg(long, requires = "with")]
    remove: bool,
    /// Do not ask for confirmation
    #[arg(long, requires = "with")]
    yes: bool,
}

#[derive(Clone, Copy, Debug, clap::ValueEnum)]
enum Who {
    Claude,
    Codex,
    Gemini,
    Copilot,
    Cursor,
    Opencode,
    Git,
}

impl Who {
    fn with(self) -> With {
        match self {
            Who::Claude => With::Agent(Host::Claude),
            Who::Codex => With::Agent(Host::Codex),
            Who::Gemini => With::Agent(Host::Gemini),
            Who::Copilot => With::Agent(Host::Copilot),
            Who::Cursor => With::Agent(Host::Cursor),
            Who::Opencode => With::Agent(Host::Opencode),
            Who::Git => With::Git,
        }
    }

    /// What the user has to do in the agent itself.
    fn next(self) -> &'static str {
        match self {
            Who::Codex => {
                "run /hooks in codex and trust them (codex skips untrusted hooks), then run: \
                 redgreen session start \"<brief>\""
            }
            Who::Gemini => {
                "trust the folder in gemini (it skips untrusted settings), then run: redgreen \
                 session start \"<brief>\""
            }
            Who::Claude | Who::Copilot | Who::Cursor | Who::Opencode | Who::Git => {
                "redgreen session start \"<brief>\""
            }
        }
    }
}

#[derive(Serialize)]
struct Installed {
    version: u32,
    written: bool,
    files: Vec<Edit>,
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
        if let Some(who) = self.with {
            return self.install(desk, who);
        }
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

    fn install(&self, desk: &Desk, who: Who) -> Result<Code> {
        let project = desk.project()?;
        let way = if self.remove { Way::Out } else { Way::In };
        let files = with::plan(&project, who.with(), way)?;
        let shown: String = files.iter().map(|edit| view::patch(&edit.diff, false)).collect();
        if files.is_empty() || self.print {
            let text = if files.is_empty() { "nothing to change\n".to_owned() } else { shown };
            desk.printer.answer(&text, &Installed { version: 1, written: false, files });
            return Ok(Code::Done);
        }
        let is_asked = !self.yes
            && !desk.printer.json
            && io::stdin().is_terminal()
            && io::stderr().is_terminal();
        if is_asked {
            desk.printer.talk(&shown);
            if !desk.agrees("write this?")? {
                return Ok(Code::No);
            }
        }
        with::write(&project, way, &files)?;
        let next = if self.remove { "git status" } else { who.next() };
        let text = format!("{}{}", if is_asked { "" } else { &shown }, view::next_line(next));
        desk.printer.answer(&text, &Installed { version: 1, written: true, files });
        Ok(Code::Done)
    }
}
