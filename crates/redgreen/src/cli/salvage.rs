//! `redgreen salvage`.

use std::fmt::Write;

use anyhow::Result;
use redgreen_core::text::shell_word;
use serde::Serialize;

use super::CommandContext;
use crate::failure::Code;
use crate::ops::salvage::{self, Changes, Detail, Lines};
use crate::view;

/// List, show, restore or delete work that redgreen saved before it removed it
#[derive(clap::Args, Debug)]
#[command(after_help = "Examples:\n  redgreen salvage\n  redgreen salvage show k3x9/1-gave-up\n  \
                        redgreen salvage diff k3x9/1-gave-up\n  redgreen salvage restore k3x9/1-gave-up --branch rescued\n  \
                        redgreen salvage drop k3x9/1-gave-up")]
pub(super) struct Args {
    #[command(subcommand)]
    act: Option<Act>,
}

#[derive(clap::Subcommand, Debug)]
enum Act {
    /// List saved work
    List,
    /// Show why it was saved, and which files it changes
    Show {
        /// Its name, or a unique part of it
        name: String,
    },
    /// Show its diff against the commit that the run started from
    Diff {
        /// Its name, or a unique part of it
        name: String,
    },
    /// Restore it to a branch; your checkout does not change
    Restore {
        /// Its name, or a unique part of it
        name: String,
        /// The new branch [default: salvage/<name>]
        #[arg(long, value_name = "NAME")]
        branch: Option<String>,
    },
    /// Delete it permanently
    Drop {
        /// Its name, or a unique part of it
        name: String,
    },
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct SalvageResult {
    version: u32,
    salvage: salvage::Item,
    branch: Option<String>,
}

impl Args {
    pub(super) fn perform(self, desk: &CommandContext) -> Result<Code> {
        let project = desk.project()?;
        match self.act.unwrap_or(Act::List) {
            Act::List => {
                let all = salvage::list(&project)?;
                let mut text = String::new();
                let width =
                    all.salvages.iter().map(|item| item.name.len()).max().unwrap_or_default();
                for item in &all.salvages {
                    // Writing to a String cannot fail.
                    writeln!(
                        text,
                        "{}  {:<width$}  {}",
                        view::date(item.date),
                        view::name(&item.name),
                        view::name(kept(&item.why))
                    )
                    .ok();
                }
                match all.salvages.first() {
                    Some(first) => text.push_str(&view::next_line(&format!(
                        "redgreen salvage show {}",
                        first.name
                    ))),
                    None => text.push_str("nothing is set aside\n"),
                }
                desk.printer.answer(&text, &all);
            }
            Act::Show { name } => {
                let changes = salvage::changes(&project, &name, Detail::Files)?;
                desk.printer.answer(&shown(&changes), &changes);
            }
            Act::Diff { name } => {
                let changes = salvage::changes(&project, &name, Detail::Diff)?;
                let diff = changes.diff.as_deref().unwrap_or_default();
                desk.printer.answer(&view::patch(diff, changes.diff_cut), &changes);
            }
            Act::Restore { name, branch } => {
                let (item, branch) = salvage::restore(&project, &name, branch.as_deref())?;
                let next = view::next_line(&format!("git log -p {}", shell_word(&branch)));
                let text = format!(
                    "restored {} to branch {}\n{next}",
                    view::name(&item.name),
                    view::name(&branch)
                );
                desk.printer.answer(
                    &text,
                    &SalvageResult { version: 1, salvage: item, branch: Some(branch.to_string()) },
                );
            }
            Act::Drop { name } => {
                let item = salvage::drop(&project, &name)?;
                let text = format!(
                    "dropped {}; until git removes it: git show {}\n",
                    view::name(&item.name),
                    item.commit
                );
                desk.printer
                    .answer(&text, &SalvageResult { version: 1, salvage: item, branch: None });
            }
        }
        Ok(Code::Done)
    }
}

fn shown(changes: &Changes) -> String {
    const FILES_MAX: usize = 30;
    let item = &changes.salvage;
    let count =
        |lines: Option<u64>| lines.map_or_else(|| "-".to_owned(), |lines| lines.to_string());
    let row = |file: &Lines| {
        format!("+{:<5} -{:<5} {}", count(file.added), count(file.removed), view::name(&file.path))
    };
    let mut files: Vec<String> = changes.files.iter().take(FILES_MAX).map(row).collect();
    if changes.files.len() > FILES_MAX {
        files.push(format!("and {}", view::count(changes.files.len() - FILES_MAX, "more file")));
    }
    let files = files.join("\n");
    let date = view::date(item.date);
    let next = format!(
        "redgreen salvage diff {0}\nredgreen salvage restore {0} --branch <name>",
        item.name
    );
    let rows = [
        ("why", kept(&item.why)),
        ("date", &date),
        ("commit", &item.commit),
        ("base", &changes.base),
        ("files", &files),
    ];
    let request = changes.request.as_deref().unwrap_or("of an unknown run");
    format!("{}{}", view::title(&item.name, request), view::block(&rows, &next))
}

/// Why something was set aside, for people.
fn kept(why: &str) -> &str {
    match why {
        "gave-up" => "the last attempt of a phase",
        "rolled-back" => "work that was rolled back",
        "interrupted" => "work of an interrupted turn",
        "aborted" => "the commits of an aborted run",
        "undone" => "an undone merge",
        "squashed" => "the commits that `approve --squash` squashed",
        "human" => "manual changes that were not judged before an agent continued",
        "before-your-commits" => "unfinished work when you added commits to the run's branch",
        "branch-moved" => "the commits that the run's branch pointed to after an agent moved it",
        "left-behind" => "files in the worktree of a run that no longer exists",
        "deleted" => "work of the run that was no longer on any branch",
        other => other,
    }
}
