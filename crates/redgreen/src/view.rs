//! Formats everything for people. Contains no rules; decisions are made elsewhere.

mod live;
mod progress;
mod screen;
mod status_line;
mod words;
mod wrap;

use redgreen_core::text;
use serde::Serialize;

pub use live::Live;
pub use progress::{moment, notice_line};
pub(crate) use screen::{Style, paint, plain};
pub use status_line::StatusLine;
pub use words::{
    POLICY, block, brief, clip, cost, count, date, experiments, next_line, only_there, outcome,
    patch, reachable, readable, sentence, size, spent_so_far, title,
};

use crate::failure::Failure;

pub(crate) const GOOD: Style = Style::Good;
pub(crate) const BAD: Style = Style::Bad;
pub(crate) const DOUBT: Style = Style::Doubt;
pub(crate) const HINT: Style = Style::Hint;
pub(crate) const QUIET: Style = Style::Quiet;
pub(crate) const PLAIN: Style = Style::Plain;
pub(crate) const STRONG: Style = Style::Strong;

/// Where answers and progress go. `screen` makes all text harmless. A closed pipe ends the output,
/// not the work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Printer {
    pub json: bool,
    pub quiet: bool,
}

impl Printer {
    /// The answer: text for a person, one line of JSON for a program.
    pub fn answer(&self, text: &str, value: &impl Serialize) {
        if self.json {
            self.json_line(value);
        } else {
            screen::answer(text);
        }
    }

    /// More text for people, after the answer.
    pub fn more(&self, text: &str) {
        if !self.json {
            screen::answer(text);
        }
    }

    /// One line of JSON, even without `--json`.
    pub fn json_line(&self, value: &impl Serialize) {
        screen::json(&serde_json::to_string(value).unwrap_or_default());
    }

    /// Our own text for other programs: completions, a manual page, a template.
    pub fn raw(&self, text: &str) {
        #[derive(Serialize)]
        struct Raw<'a> {
            version: u32,
            text: &'a str,
        }
        if self.json {
            self.json_line(&Raw { version: 1, text });
        } else {
            screen::raw(text);
        }
    }

    /// Our own text for other programs, or its value as JSON.
    pub fn raw_or(&self, text: &str, value: &impl Serialize) {
        if self.json {
            self.json_line(value);
        } else {
            screen::raw(text);
        }
    }

    /// Progress before the answer.
    pub fn talk(&self, text: &str) {
        if !self.json && !self.quiet {
            screen::talk(text);
        }
    }

    /// The width of the live line, or `None` if it cannot be shown.
    pub fn live_columns(&self) -> Option<usize> {
        if self.json || self.quiet { None } else { screen::talk_columns() }
    }

    /// Shows the current activity in a line that disappears when anything else is printed.
    pub fn live(&self, line: &str) {
        screen::live(line);
    }

    pub fn live_begin(&self) {
        screen::live_begin();
    }

    pub fn live_end(&self) {
        screen::live_end();
    }

    /// Restores the terminal before the program exits immediately.
    pub fn leave_terminal() {
        screen::live_end_at_once();
    }

    /// Why the command failed.
    pub fn failure(&self, failure: &Failure) {
        if self.json {
            #[derive(Serialize)]
            struct FailureJson<'a> {
                version: u32,
                error: Error<'a>,
            }
            #[derive(Serialize)]
            #[serde(rename_all = "camelCase")]
            struct Error<'a> {
                exit_code: i32,
                message: &'a str,
                evidence: &'a [String],
                next: Option<&'a str>,
            }
            self.json_line(&FailureJson {
                version: 1,
                error: Error {
                    exit_code: failure.code as i32,
                    message: &failure.what,
                    evidence: &failure.evidence,
                    next: failure.next.as_deref(),
                },
            });
        } else {
            screen::talk(&words::failure(failure));
        }
    }

    /// A bug in redgreen. The message may quote untrusted text.
    pub fn panicked(&self, panicked: &std::panic::PanicHookInfo<'_>) {
        let backtrace = std::backtrace::Backtrace::capture();
        let told = backtrace.status() == std::backtrace::BacktraceStatus::Captured;
        let below = if told { format!("\n{backtrace}") } else { String::new() };
        screen::talk(&format!("{panicked}{below}\n"));
    }

    /// An error of clap. Its words were made harmless before.
    pub fn usage(error: &clap::Error) {
        screen::clap(error);
    }
}

/// An untrusted name, or other text that must stay on one line.
pub(crate) fn name(text: &str) -> std::borrow::Cow<'_, str> {
    text::on_one_line(text)
}
