//! How things are worded for a person. Holds no rules: what is said here was decided elsewhere.

mod live;
mod now;
mod progress;
mod screen;
mod words;
mod wrap;

use redgreen_core::text;
use serde::Serialize;

pub use live::{Live, LiveV1};
pub use now::Now;
pub use progress::{moment, notice_line};
pub(crate) use screen::{Style, paint};
pub use words::{
    POLICY, block, brief, clip, cost, count, date, experiments, next_line, only_there, outcome, patch, reachable,
    readable, sentence, size, spent_so_far, title,
};

use crate::failure::Failure;

pub(crate) const GOOD: Style = Style::Good;
pub(crate) const BAD: Style = Style::Bad;
pub(crate) const DOUBT: Style = Style::Doubt;
pub(crate) const HINT: Style = Style::Hint;
pub(crate) const QUIET: Style = Style::Quiet;
pub(crate) const PLAIN: Style = Style::Plain;
pub(crate) const STRONG: Style = Style::Strong;

/// Where answers and talk go, made harmless by `screen`. A closed pipe ends the talking, not the work.
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

    /// More words for a person, after the answer.
    pub fn more(&self, text: &str) {
        if !self.json {
            screen::answer(text);
        }
    }

    /// One line of JSON, whatever was asked for.
    pub fn json_line(&self, value: &impl Serialize) {
        screen::json(&serde_json::to_string(value).unwrap_or_default());
    }

    /// Text of ours for other programs: completions, a manual page, a template.
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

    /// Text of ours for other programs, or the value it was made from as JSON.
    pub fn raw_or(&self, text: &str, value: &impl Serialize) {
        if self.json {
            self.json_line(value);
        } else {
            screen::raw(text);
        }
    }

    /// Talk on the way to the answer.
    pub fn talk(&self, text: &str) {
        if !self.json && !self.quiet {
            screen::talk(text);
        }
    }

    /// How wide the live line may be; none where there is no place for one.
    pub fn live_columns(&self) -> Option<usize> {
        if self.json || self.quiet { None } else { screen::talk_columns() }
    }

    /// Shows what is going on, in a line that goes when anything else is printed.
    pub fn live(&self, line: &str) {
        screen::live(line);
    }

    pub fn live_begin(&self) {
        screen::live_begin();
    }

    pub fn live_end(&self) {
        screen::live_end();
    }

    /// Leaves the terminal as it was, for a program that ends here and now.
    pub fn leave_terminal() {
        screen::live_end_at_once();
    }

    /// Why the verb could not do its work.
    pub fn failure(&self, failure: &Failure) {
        if self.json {
            #[derive(Serialize)]
            struct Told<'a> {
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
            self.json_line(&Told {
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

    /// A bug of ours, in the words of the code that met it; what it repeats may be anybody's.
    pub fn panicked(&self, panicked: &std::panic::PanicHookInfo<'_>) {
        let backtrace = std::backtrace::Backtrace::capture();
        let told = backtrace.status() == std::backtrace::BacktraceStatus::Captured;
        let below = if told { format!("\n{backtrace}") } else { String::new() };
        screen::talk(&format!("{panicked}{below}\n"));
    }

    /// What clap says of a command line; the words of it were made harmless before.
    pub fn usage(error: &clap::Error) {
        screen::clap(error);
    }
}

/// A name that somebody else chose, or another word that belongs on one line.
pub(crate) fn name(text: &str) -> std::borrow::Cow<'_, str> {
    text::on_one_line(text)
}
