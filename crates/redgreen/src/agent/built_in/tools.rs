//! The tools of a model, limited to the worktree. A call that fails is an answer to the model. An
//! error means that the result is unknown, or that the user asked to stop.

mod edit;
mod run;
mod search;

use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::Result;
use redgreen_core::tool::{self, Call, digest};

use super::Settings;
use crate::agent::place::{NoText, Place};
use crate::agent::visible::Places;
use crate::process::Stop;
use crate::runner;

/// The result of a call as a text for the model.
pub(super) type Answer = Result<String, String>;

/// Files with instructions for agents.
const NOTES: [&str; 2] = ["AGENTS.md", "CLAUDE.md"];
/// The part of a file shown at once.
const READ_LINES_MAX: usize = 600;
const READ_BYTES_MAX: usize = 24 << 10;
/// Longer lines are truncated.
const LINE_CHARS_MAX: usize = 1000;

/// The worktree and the context of the tools.
pub(super) struct Workbench<'a> {
    pub(super) place: Place,
    pub(super) settings: &'a Settings,
    /// Set for every program.
    pub(super) env: &'a [(String, String)],
    pub(super) places: Places<'a>,
    /// The turn's folder.
    pub(super) desk: &'a Path,
    pub(super) test_time: Duration,
    pub(super) deadline: Instant,
    pub(super) stop: &'a Stop,
    /// Whether something may have changed.
    pub(super) edited: bool,
    /// Refused connections of commands.
    pub(super) refused: Vec<String>,
    /// The last test results.
    pub(super) tests: Option<String>,
}

impl Workbench<'_> {
    pub(super) fn perform(&mut self, call: &Call) -> Result<Answer> {
        Ok(match call {
            Call::Read(read) => self.read(read),
            Call::Write(write) => self.write(&write.file_path, &write.content),
            Call::Edit(edit) => self.edit(edit),
            Call::Bash(bash) => self.bash(bash)?,
            Call::Glob(glob) => search::glob(&self.place, glob),
            Call::Grep(grep) => search::grep(&self.place, grep),
            Call::RunTests(tests) => self.run_tests(tests)?,
            Call::Complete(_) => Ok("done".to_owned()),
        })
    }

    /// A file's text, if it exists and is visible.
    pub(super) fn look(&self, named: &str) -> Option<String> {
        self.place.text(named).ok()
    }

    /// The first test framework of the project, and all files that a model may see.
    pub(super) fn ground(&self) -> Result<(Option<&'static str>, Vec<String>)> {
        let files = search::all(&self.place);
        let suite = runner::suite(self.place.root(), &self.settings.test)?;
        Ok((suite.frameworks().next().map(|framework| framework.name), files))
    }

    /// The project's instructions for agents, without duplicates.
    pub(super) fn notes(&self) -> Vec<(String, String)> {
        let mut notes: Vec<(String, String)> = Vec::new();
        for name in NOTES {
            if let Some(text) =
                self.look(name).filter(|text| notes.iter().all(|(_, known)| known != text))
            {
                notes.push((name.to_owned(), text));
            }
        }
        notes
    }

    fn read(&self, read: &tool::ReadArgs) -> Answer {
        let path = self.place.find(&read.file_path)?;
        if path.is_dir() {
            return Err(format!("{} is a folder; Glob lists its files", read.file_path));
        }
        let text = self.text(&read.file_path)?;
        let first = read.offset.unwrap_or(1).max(1);
        let count = read.limit.unwrap_or(READ_LINES_MAX).min(READ_LINES_MAX);
        let all = text.lines().count();
        let mut shown = String::new();
        let mut last = first - 1;
        for line in text.lines().skip(first - 1).take(count) {
            if shown.len() + line.len() > READ_BYTES_MAX && !shown.is_empty() {
                break;
            }
            shown.extend(line.chars().take(LINE_CHARS_MAX));
            shown.push('\n');
            last += 1;
        }
        if all == 0 {
            return Ok("(the file is empty)".to_owned());
        }
        if first > all {
            return Err(format!("{} has {all} lines", read.file_path));
        }
        if first > 1 || last < all {
            shown.push_str(&format!(
                "[lines {first} to {last} of {all}; offset and limit show others]\n"
            ));
        }
        Ok(shown)
    }

    /// Creates or replaces a file.
    pub(super) fn write(&mut self, named: &str, content: &str) -> Answer {
        self.place.write(named, content)?;
        self.edited = true;
        Ok(format!("{} lines written", content.lines().count()))
    }

    fn text(&self, named: &str) -> Answer {
        self.place.text(named).map_err(|why| match why {
            NoText::Missing(why) | NoText::Refused(why) => why,
        })
    }

    fn edit(&mut self, edit: &tool::Edit) -> Answer {
        let text = self.text(&edit.file_path)?;
        let changed = edit::edited(&text, edit)?;
        self.place.write(&edit.file_path, &changed)?;
        self.edited = true;
        Ok("edited".to_owned())
    }
}

/// Truncates an answer.
fn bounded(text: &str, bytes_max: usize) -> String {
    digest::head_and_tail(text, bytes_max)
}

#[cfg(test)]
mod tests;
