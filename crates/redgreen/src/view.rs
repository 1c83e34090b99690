//! How things are worded for a person. Holds no rules: what is said here was decided elsewhere.

mod live;
mod progress;
mod words;

use std::io::{self, Write};

use anstyle::{AnsiColor, Style};
use serde::Serialize;

pub use live::{Live, LiveV1};
pub use progress::{moment, notice_line};
pub use words::{
    POLICY, block, brief, clip, cost, count, date, next_line, only_there, outcome, reachable, readable, title,
};

use crate::failure::Failure;

pub(crate) const GOOD: Style = AnsiColor::Green.on_default();
pub(crate) const BAD: Style = AnsiColor::Red.on_default();
pub(crate) const DOUBT: Style = AnsiColor::Yellow.on_default();
pub(crate) const HINT: Style = AnsiColor::Cyan.on_default();
pub(crate) const QUIET: Style = Style::new().dimmed();
pub(crate) const PLAIN: Style = Style::new();
pub(crate) const STRONG: Style = Style::new().bold();

/// Where answers and talk go. A closed pipe ends the talking, not the work.
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
            write_all(&mut anstream::stdout(), text);
        }
    }

    /// One line of JSON, whatever was asked for.
    pub fn json_line(&self, value: &impl Serialize) {
        let mut text = serde_json::to_string(value).unwrap_or_default();
        text.push('\n');
        write_all(&mut io::stdout(), &text);
    }

    /// Text as it is, for other programs: completions, a manual page, a template.
    pub fn raw(&self, text: &str) {
        #[derive(Serialize)]
        struct Raw<'a> {
            version: u32,
            text: &'a str,
        }
        if self.json {
            self.json_line(&Raw { version: 1, text });
        } else {
            write_all(&mut io::stdout(), text);
        }
    }

    /// Talk on the way to the answer.
    pub fn talk(&self, text: &str) {
        if !self.json && !self.quiet {
            write_all(&mut anstream::stderr(), text);
        }
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
            write_all(&mut anstream::stderr(), &words::failure(failure));
        }
    }
}

fn write_all(out: &mut impl Write, text: &str) {
    // Nobody reads any more (a closed pipe): there is no one to tell about it either.
    out.write_all(text.as_bytes()).and_then(|()| out.flush()).ok();
}

/// The text in a colour; `anstream` takes it out where it does not belong.
pub(crate) fn paint(style: Style, text: &str) -> String {
    format!("{style}{text}{style:#}")
}
