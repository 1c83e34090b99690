//! `redgreen plan`.

use std::fs;
use std::io::{self, IsTerminal};
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use redgreen_core::report::Exit;
use redgreen_core::test_list;

use super::Desk;
use crate::failure::{Code, Failure};
use crate::foreign;
use crate::ops;
use crate::ops::plan::Edited;
use crate::process::Program;
use crate::view;

/// Nobody thinks about a list for longer.
const EDITING_MAX: Duration = Duration::from_secs(24 * 3_600);
const LIST_BYTES_MAX: u64 = 1 << 20;
const EDITS_MAX: u32 = 20;

/// Edit the test list of a run in your editor (VISUAL or EDITOR)
#[derive(clap::Args, Debug)]
#[command(after_help = "Examples:\n  redgreen plan\n  redgreen plan k3x9\n  EDITOR=nano redgreen plan\n\n\
                        One line `- [ ] <behaviour>` for each test. Add, reword, reorder and delete open items; ticked \
                        ones are done and stay.\n\
                        To see the plan before work starts: redgreen run --pause-after plan \"<what to build>\"")]
pub(super) struct Args {
    /// The run [default: the only open one]
    run: Option<String>,
}

impl Args {
    pub(super) fn perform(self, desk: &Desk) -> Result<Code> {
        let project = desk.project()?;
        let edited = edit(desk, &project, self.run.as_deref())?;
        let text = match &edited {
            Some(edited) => answer(edited),
            None => "the plan stays as it is\n".to_owned(),
        };
        match &edited {
            Some(edited) => desk.printer.answer(&text, edited),
            None => desk.printer.talk(&text),
        }
        Ok(Code::Done)
    }
}

/// Has the user edit the list until it can be used; `None` when they change nothing.
pub(super) fn edit(desk: &Desk, project: &crate::engine::Project, run: Option<&str>) -> Result<Option<Edited>> {
    let draft = ops::plan::draft(project, run)?;
    let Some(editor) = &desk.environment.editor else {
        return Err(Failure::usage("neither VISUAL nor EDITOR names an editor")
            .next("EDITOR=nano redgreen plan")
            .into());
    };
    let folder = tempfile::tempdir().context("make a folder for the list")?;
    let file = folder.path().join(test_list::FILE);
    let mut text = draft.text.clone();
    for _ in 0..EDITS_MAX {
        fs::write(&file, &text).with_context(|| format!("write {}", file.display()))?;
        open(editor, &file)?;
        let bytes = foreign::read(&file, LIST_BYTES_MAX).context("read the edited list")?.unwrap_or_default();
        text = String::from_utf8_lossy(&bytes).into_owned();
        if text == draft.text {
            return Ok(None);
        }
        let why = match ops::plan::edit(&draft, &text)? {
            Ok(edited) => return Ok(Some(edited)),
            Err(why) => why,
        };
        let here = !desk.printer.json && io::stdin().is_terminal() && io::stderr().is_terminal();
        let failure = Failure::usage("this list cannot be used").evidence(why.to_string());
        if !here {
            return Err(failure.next("redgreen plan").into());
        }
        desk.printer.failure(&failure);
        if !desk.agrees("edit it again?")? {
            return Ok(None);
        }
    }
    Ok(None)
}

/// What VISUAL holds may be a whole line, such as `code --wait`.
fn open(editor: &str, file: &std::path::Path) -> Result<()> {
    let program = Program::new("sh").args(["-c", &format!("{editor} \"$@\""), "sh"]).arg(file);
    match program.on_the_terminal(Instant::now() + EDITING_MAX)? {
        Exit::Code(0) => Ok(()),
        exit => Err(Failure::environment(format!("the editor {editor} ended with {exit}"))
            .evidence("the plan stays as it is")
            .next("EDITOR=nano redgreen plan")
            .into()),
    }
}

pub(super) fn answer(edited: &Edited) -> String {
    let id = edited.run.tail();
    let (when, next) = match edited.at_work {
        true => ("at the next planning", format!("redgreen watch {id}")),
        false => ("when the run goes on", format!("redgreen resume {id}")),
    };
    let items = |word: &str, items: &[String]| -> String {
        items.iter().map(|item| format!("  {word}  {}\n", view::name(item))).collect()
    };
    format!(
        "the plan of run {} has {}; it is taken up {when}\n{}{}{}",
        edited.run,
        view::count(edited.pending_tests.len(), "open item"),
        items("added  ", &edited.added),
        items("removed", &edited.removed),
        view::next_line(&next)
    )
}
