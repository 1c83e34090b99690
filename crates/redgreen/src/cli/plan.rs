//! `redgreen plan`.

use std::fs;
use std::io::{self, IsTerminal};
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use redgreen_core::report::Exit;
use redgreen_core::test_list;

use super::CommandContext;
use crate::failure::{Code, Failure};
use crate::foreign;
use crate::ops;
use crate::ops::plan::PlanEdit;
use crate::process::Program;
use crate::view;

/// The maximum time to edit a list.
const EDITING_MAX: Duration = Duration::from_secs(24 * 3_600);
const LIST_BYTES_MAX: u64 = 1 << 20;
const EDITS_MAX: u32 = 20;

/// Edit the test list of a run in your editor (VISUAL or EDITOR)
#[derive(clap::Args, Debug)]
#[command(
    after_help = "Examples:\n  redgreen plan\n  redgreen plan k3x9\n  EDITOR=nano redgreen plan\n\n\
                        One line `- [ ] <behaviour>` for each test. You can add, reword, reorder \
                        and delete open items. Ticked items are done and stay.\nTo see the plan before work starts: redgreen run --pause-after plan \"<what to build>\""
)]
pub(super) struct Args {
    /// The run [default: the only open one]
    run: Option<String>,
}

impl Args {
    pub(super) fn perform(self, desk: &CommandContext) -> Result<Code> {
        let project = desk.project()?;
        let edited = edit(desk, &project, self.run.as_deref())?;
        let text = match &edited {
            Some(edited) => answer(edited),
            None => "the plan is unchanged\n".to_owned(),
        };
        match &edited {
            Some(edited) => desk.printer.answer(&text, edited),
            None => desk.printer.talk(&text),
        }
        Ok(Code::Done)
    }
}

/// Opens the editor until the list is valid. `None` if nothing changed.
pub(super) fn edit(
    desk: &CommandContext,
    project: &crate::engine::Project,
    run: Option<&str>,
) -> Result<Option<PlanEdit>> {
    let draft = ops::plan::draft(project, run)?;
    let Some(editor) = &desk.environment.editor else {
        return Err(Failure::usage("no editor: VISUAL and EDITOR are not set")
            .next("EDITOR=nano redgreen plan")
            .into());
    };
    let folder = tempfile::tempdir().context("make a folder for the list")?;
    let file = folder.path().join(test_list::FILE);
    let mut text = draft.text.clone();
    for _ in 0..EDITS_MAX {
        fs::write(&file, &text).with_context(|| format!("write {}", file.display()))?;
        open(editor, &file)?;
        let bytes = foreign::read(&file, LIST_BYTES_MAX)
            .context("read the edited list")?
            .unwrap_or_default();
        text = String::from_utf8_lossy(&bytes).into_owned();
        if text == draft.text {
            return Ok(None);
        }
        let why = match ops::plan::edit(&draft, &text)? {
            Ok(edited) => return Ok(Some(edited)),
            Err(why) => why,
        };
        let here = !desk.printer.json && io::stdin().is_terminal() && io::stderr().is_terminal();
        let failure = Failure::usage("this list is not valid").evidence(why.to_string());
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

/// VISUAL may contain a whole command line, such as `code --wait`.
fn open(editor: &str, file: &std::path::Path) -> Result<()> {
    let program = Program::new("sh").args(["-c", &format!("{editor} \"$@\""), "sh"]).arg(file);
    match program.on_the_terminal(Instant::now() + EDITING_MAX)? {
        Exit::Code(0) => Ok(()),
        exit => Err(Failure::environment(format!("the editor {editor} ended with {exit}"))
            .evidence("the plan is unchanged")
            .next("EDITOR=nano redgreen plan")
            .into()),
    }
}

pub(super) fn answer(edited: &PlanEdit) -> String {
    let id = edited.run.tail();
    let (when, next) = match edited.at_work {
        true => ("in the next PLAN", format!("redgreen watch {id}")),
        false => ("when the run resumes", format!("redgreen resume {id}")),
    };
    let items = |word: &str, items: &[String]| -> String {
        items.iter().map(|item| format!("  {word}  {}\n", view::name(item))).collect()
    };
    format!(
        "the plan of run {} has {}; it takes effect {when}\n{}{}{}",
        edited.run,
        view::count(edited.pending_tests.len(), "open item"),
        items("added  ", &edited.added),
        items("removed", &edited.removed),
        view::next_line(&next)
    )
}
