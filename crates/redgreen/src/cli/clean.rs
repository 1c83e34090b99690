//! `redgreen clean`.

use std::io::{self, IsTerminal};

use anyhow::Result;

use super::CommandContext;
use crate::failure::Code;
use crate::git::Git;
use crate::ops::clean::{self, Clean, Item, Kind};
use crate::view;

/// List and remove files that redgreen can create again, with sizes
///
/// Removes worktrees of finished runs, clean rooms, build output, packages that agents downloaded,
/// and folders of `redgreen demo`. It keeps everything that belongs to an open run or that
/// `redgreen salvage` lists. On a terminal, it asks first. Elsewhere, it only lists unless you use
/// --yes.
#[derive(clap::Args, Debug)]
#[command(
    after_help = "Examples:\n  redgreen clean\n  redgreen clean --dry-run\n  redgreen clean --yes"
)]
pub(super) struct Args {
    /// Remove without asking
    #[arg(long, short)]
    yes: bool,
    /// Only list, even on a terminal
    #[arg(long, short = 'n', conflicts_with = "yes")]
    dry_run: bool,
}

impl Args {
    pub(super) fn perform(self, desk: &CommandContext) -> Result<Code> {
        // People without a project leave demos behind.
        let project =
            if Git::open(&desk.folder).is_ok() { Some(desk.clearing_project()?) } else { None };
        let temporary = std::env::temp_dir();
        let listed = clean::look(project.as_ref(), &temporary)?;
        let here = !desk.printer.json && io::stdin().is_terminal() && io::stderr().is_terminal();
        let asked = here && !self.yes && !self.dry_run && listed.can_go();
        if asked {
            desk.printer.talk(&table(&listed));
        }
        if listed.can_go() && (self.yes || asked && desk.agrees("remove them?")?) {
            let removed = clean::remove(project.as_ref(), &temporary, &listed)?;
            desk.printer.answer(&told(&removed), &removed);
        } else if asked {
            desk.printer.talk("nothing was removed\n");
        } else {
            let next = if listed.can_go() {
                view::next_line("redgreen clean --yes")
            } else {
                String::new()
            };
            desk.printer.answer(&(table(&listed) + &next), &listed);
        }
        Ok(Code::Done)
    }
}

fn table(clean: &Clean) -> String {
    let mut text: String = clean.items.iter().map(line).collect();
    if clean.can_go() {
        text.push_str(&format!("{:>9}  can be removed\n", view::size(clean.bytes)));
    } else {
        text.push_str("nothing to remove\n");
    }
    text
}

fn told(clean: &Clean) -> String {
    let text: String = clean.items.iter().map(line).collect();
    format!("{text}{:>9}  removed\n", view::size(clean.bytes))
}

fn line(item: &Item) -> String {
    let path = item.path.display().to_string();
    let what = match (&item.kept, item.removed) {
        (Some(why), _) => format!("    (kept: {})", view::name(why)),
        (None, true) => "    (removed)".to_owned(),
        (None, false) => String::new(),
    };
    format!("{:>9}  {:<12}  {}{what}\n", view::size(item.bytes), word(item.kind), view::name(&path))
}

fn word(kind: Kind) -> &'static str {
    match kind {
        Kind::Worktree => "worktree",
        Kind::Room => "clean room",
        Kind::BuildOutput => "build output",
        Kind::Packages => "packages",
        Kind::Demo => "demo",
    }
}
