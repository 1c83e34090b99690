//! What the program of a coding agent prints while it works, read line by line as it comes. Each program has a dialect;
//! all of them are heard as one thing: who is speaking, what was said and done, what it cost, what went wrong.
//!
//! Nothing that is heard here is evidence. A program that ends well has stopped, and that is all that is known.

mod claude;
mod codex;
mod fault;
mod gemini;
mod opencode;
mod plain;

use std::collections::BTreeMap;
use std::time::Duration;

use serde_json::Value;

use crate::agent::{Cost, Failure, Said, Turn};
use crate::report::Exit;

pub use fault::{Fault, failure};

/// So much of an answer is kept; a longer one is no answer.
const ANSWER_BYTES_MAX: usize = 256 << 10;
/// So much of what was said and done is kept for people to read.
const TRANSCRIPT_BYTES_MAX: usize = 2 << 20;
/// How many of a program's last words explain why it ended.
const LAST_LINES_MAX: usize = 6;
/// A tool's object in a few words.
const WHAT_CHARS_MAX: usize = 120;

/// How a program tells what it does.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Dialect {
    /// Words for people. All of them are the answer.
    #[default]
    Text,
    /// aider's words for people: the answer is among them, and so are tokens and faults.
    Aider,
    /// `claude --output-format stream-json`.
    Claude,
    /// `codex exec --json`.
    Codex,
    /// `gemini -o stream-json`.
    Gemini,
    /// `opencode run --format json`.
    Opencode,
}

impl Dialect {
    /// Whether it says what a turn cost in dollars.
    pub fn tells_price(self) -> bool {
        match self {
            Dialect::Aider | Dialect::Claude | Dialect::Opencode => true,
            Dialect::Text | Dialect::Codex | Dialect::Gemini => false,
        }
    }
}

/// What was heard so far.
#[derive(Clone, Debug, Default)]
pub struct Hearing {
    dialect: Dialect,
    pub session: Option<String>,
    /// The last message; what a planner answers with.
    answer: String,
    /// A new message begins with the next piece of text.
    message_over: bool,
    transcript: String,
    cost: Cost,
    /// Tokens by message, where a program tells of the same message twice.
    by_message: BTreeMap<String, u64>,
    fault: Option<Fault>,
    over: bool,
}

impl Hearing {
    pub fn new(dialect: Dialect) -> Self {
        Self { dialect, ..Self::default() }
    }

    /// A line of its output; what of it is worth showing to whoever watches.
    pub fn line(&mut self, line: &str) -> Vec<Said> {
        let before = self.cost;
        let mut said = match self.dialect {
            Dialect::Text => plain::text(self, line),
            Dialect::Aider => plain::aider(self, line),
            Dialect::Claude | Dialect::Codex | Dialect::Gemini | Dialect::Opencode => {
                match serde_json::from_str::<Value>(line.trim()) {
                    Ok(event @ Value::Object(_)) => self.event(&event),
                    // Warnings go to standard output too: words for people, and no answer.
                    Ok(_) | Err(_) => {
                        self.note(line);
                        Vec::new()
                    }
                }
            }
        };
        if self.cost != before {
            said.push(Said::Cost(self.cost));
        }
        said
    }

    /// The program has told how its turn ended; what it does from here on is of no interest.
    pub fn is_over(&self) -> bool {
        self.over
    }

    pub fn cost(&self) -> Cost {
        self.cost
    }

    pub fn transcript(&self) -> &str {
        &self.transcript
    }

    /// How the turn ended, once the program has. `stderr` is the end of its other words.
    pub fn end(&self, exit: Exit, stderr: &str) -> Turn {
        if let Some(fault) = &self.fault {
            return fault.turn();
        }
        match exit {
            Exit::Signal(_) | Exit::Code(_) if self.over => Turn::Done { answer: self.answer() },
            Exit::Code(0) => Turn::Done { answer: self.answer() },
            Exit::TimedOut => Turn::Failed {
                failure: Failure::Timeout,
                message: "it did not stop in time, and was ended with all that it had started".to_owned(),
            },
            Exit::Code(_) | Exit::Signal(_) | Exit::NotStarted => {
                let words = last_lines(if stderr.trim().is_empty() { &self.transcript } else { stderr });
                Fault::new(format!("it ended with {exit}: {words}")).turn()
            }
        }
    }

    /// The last message; of a program that said nothing in its own dialect, whatever it said.
    fn answer(&self) -> String {
        if self.answer.trim().is_empty() {
            bounded(&self.transcript, ANSWER_BYTES_MAX).to_owned()
        } else {
            self.answer.clone()
        }
    }

    fn event(&mut self, event: &Value) -> Vec<Said> {
        match self.dialect {
            Dialect::Claude => claude::event(self, event),
            Dialect::Codex => codex::event(self, event),
            Dialect::Gemini => gemini::event(self, event),
            Dialect::Opencode => opencode::event(self, event),
            Dialect::Text | Dialect::Aider => Vec::new(),
        }
    }

    /// The first one counts: whoever goes on after it is the same.
    pub(crate) fn met(&mut self, session: Option<&str>) {
        if self.session.is_none() {
            self.session = session.filter(|session| !session.is_empty()).map(str::to_owned);
        }
    }

    /// A piece of the message that is being said.
    pub(crate) fn says(&mut self, text: &str) -> Option<Said> {
        if text.is_empty() {
            return None;
        }
        if std::mem::take(&mut self.message_over) {
            self.answer.clear();
        }
        let room = ANSWER_BYTES_MAX.saturating_sub(self.answer.len());
        self.answer.push_str(bounded(text, room));
        let room = TRANSCRIPT_BYTES_MAX.saturating_sub(self.transcript.len());
        self.transcript.push_str(bounded(text, room));
        Some(Said::Text(text.to_owned()))
    }

    /// A whole message.
    fn says_all(&mut self, text: &str) -> Option<Said> {
        self.message_over = true;
        let said = self.says(text);
        self.message_over = true;
        self.note("");
        said
    }

    /// Uses a tool; what is said next is a new message.
    pub(crate) fn does(&mut self, name: &str, what: &str) -> Said {
        self.message_over = true;
        let what = what.lines().next().unwrap_or_default();
        let what: String = what.chars().take(WHAT_CHARS_MAX).collect();
        self.note(&format!("[{name}] {what}"));
        Said::Tool { name: name.to_owned(), what }
    }

    /// A line of the transcript.
    pub(crate) fn note(&mut self, line: &str) {
        if !self.transcript.is_empty() && !self.transcript.ends_with('\n') {
            self.transcript.push('\n');
        }
        if self.transcript.len() + line.len() < TRANSCRIPT_BYTES_MAX && !line.is_empty() {
            self.transcript.push_str(line);
            self.transcript.push('\n');
        }
    }

    pub(crate) fn spent(&mut self, tokens: Option<u64>, usd: Option<f64>) {
        self.cost.tokens = tokens.or(self.cost.tokens);
        self.cost.microdollars = usd.and_then(microdollars).or(self.cost.microdollars);
    }

    fn spent_more(&mut self, tokens: Option<u64>, usd: Option<f64>) {
        let add = |sum: &mut Option<u64>, more: Option<u64>| {
            *sum = more.map(|more| sum.unwrap_or(0).saturating_add(more)).or(*sum);
        };
        add(&mut self.cost.tokens, tokens);
        add(&mut self.cost.microdollars, usd.and_then(microdollars));
    }

    pub(crate) fn fails(&mut self, fault: Fault) {
        self.note(&fault.message);
        self.fault = Some(fault);
    }
}

/// A text at the end of a path of keys.
pub(crate) fn text<'a>(value: &'a Value, pointer: &str) -> Option<&'a str> {
    value.pointer(pointer).and_then(Value::as_str)
}

pub(crate) fn number(value: &Value, pointer: &str) -> Option<u64> {
    value.pointer(pointer).and_then(Value::as_u64)
}

/// Several numbers as one; absent when all of them are.
pub(crate) fn sum(value: &Value, pointers: &[&str]) -> Option<u64> {
    let found: Vec<u64> = pointers.iter().filter_map(|pointer| number(value, pointer)).collect();
    (!found.is_empty()).then(|| found.iter().fold(0u64, |sum, more| sum.saturating_add(*more)))
}

/// What a tool is used on: the first of these that its input has.
pub(crate) fn object(input: &Value) -> &str {
    const KEYS: [&str; 8] =
        ["/file_path", "/filePath", "/path", "/command", "/pattern", "/query", "/url", "/description"];
    KEYS.iter().find_map(|key| text(input, key)).unwrap_or_default()
}

/// A dollar has as many microdollars as a second has microseconds, and `Duration` converts without a bare cast.
pub(crate) fn microdollars(usd: f64) -> Option<u64> {
    Duration::try_from_secs_f64(usd).ok().and_then(|time| u64::try_from(time.as_micros()).ok())
}

/// The beginning of a text, so many bytes or a letter less.
pub(crate) fn bounded(text: &str, bytes_max: usize) -> &str {
    let mut end = text.len().min(bytes_max);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    text.get(..end).unwrap_or_default()
}

pub(crate) fn last_lines(text: &str) -> String {
    let lines: Vec<&str> = text.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    let last = lines.get(lines.len().saturating_sub(LAST_LINES_MAX)..).unwrap_or_default();
    if last.is_empty() { "it said nothing".to_owned() } else { last.join("\n") }
}

#[cfg(test)]
mod tests;
