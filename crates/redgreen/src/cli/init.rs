//! `redgreen init`.

use std::io::{self, IsTerminal};

use anyhow::Result;
use redgreen_core::hook::Host;
use serde::Serialize;

use super::CommandContext;
use crate::failure::Code;
use crate::ops::init::integration::{self, Caller, Direction, Edit};
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
    with: Option<Integration>,
    /// Remove them again
    #[arg(long, requires = "with")]
    remove: bool,
    /// Do not ask for confirmation
    #[arg(long, requires = "with")]
    yes: bool,
}

#[derive(Clone, Copy, Debug, clap::ValueEnum)]
enum Integration {
    Claude,
    Codex,
    Gemini,
    Copilot,
    Cursor,
    Opencode,
    Git,
}

impl Integration {
    fn with(self) -> Caller {
        match self {
            Integration::Claude => Caller::Agent(Host::Claude),
            Integration::Codex => Caller::Agent(Host::Codex),
            Integration::Gemini => Caller::Agent(Host::Gemini),
            Integration::Copilot => Caller::Agent(Host::Copilot),
            Integration::Cursor => Caller::Agent(Host::Cursor),
            Integration::Opencode => Caller::Agent(Host::Opencode),
            Integration::Git => Caller::Git,
        }
    }

    /// What the user has to do in the agent itself.
    fn next(self) -> &'static str {
        match self {
            Integration::Codex => {
                "run /hooks in codex and trust them (codex skips untrusted hooks), then run: \
                 redgreen session start \"<brief>\""
            }
            Integration::Gemini => {
                "trust the folder in gemini (it skips untrusted settings), then run: redgreen \
                 session start \"<brief>\""
            }
            Integration::Claude
            | Integration::Copilot
            | Integration::Cursor
            | Integration::Opencode
            | Integration::Git => "redgreen session start \"<brief>\"",
        }
    }
}

/// The name by which the installed hooks start redgreen.
const PROGRAM: &str = "redgreen";

/// What happened to a file. The diff alone does not say that it was written.
fn done(edit: &Edit) -> String {
    let act = if edit.new.is_some() { "wrote" } else { "removed" };
    format!("{act} {}\n", view::name(&edit.path))
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
struct WrittenFile {
    version: u32,
    file: String,
}

impl Args {
    pub(super) fn perform(self, desk: &CommandContext) -> Result<Code> {
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
        desk.printer.answer(&text, &WrittenFile { version: 1, file });
        Ok(Code::Done)
    }

    fn install(&self, desk: &CommandContext, who: Integration) -> Result<Code> {
        let project = desk.project()?;
        let way = if self.remove { Direction::Out } else { Direction::In };
        let files = integration::plan(&project, who.with(), way)?;
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
        integration::write(&project, way, &files)?;
        let next = if self.remove {
            "git status".to_owned()
        } else if desk.environment.has_program(PROGRAM) {
            who.next().to_owned()
        } else {
            format!(
                "put {PROGRAM} on your PATH, because hooks start it by name, then: {}",
                who.next()
            )
        };
        let done: String = files.iter().map(done).collect();
        let text =
            format!("{}{done}{}", if is_asked { "" } else { &shown }, view::next_line(&next));
        desk.printer.answer(&text, &Installed { version: 1, written: true, files });
        Ok(Code::Done)
    }
}
