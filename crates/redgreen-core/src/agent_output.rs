//! Parses the output of coding agent programs, line by line as it arrives. Each program has a
//! dialect. All dialects yield the same data: the session, the messages and tool calls, the cost,
//! and the error.
//!
//! None of this is evidence. An agent that exits successfully has only stopped.

mod claude;
mod codex;
mod error;
mod gemini;
mod opencode;
mod plain;

use std::collections::BTreeMap;
use std::time::Duration;

use serde_json::Value;

use crate::agent::{AgentActivity, Cost, Failure, Turn};
use crate::report::Exit;

pub use claude::message;
pub use error::{AgentError, failure};

/// Maximum length of an answer; longer answers are rejected.
const ANSWER_BYTES_MAX: usize = 256 << 10;
/// Maximum size of the transcript that is kept for the user.
const TRANSCRIPT_BYTES_MAX: usize = 2 << 20;
/// How many of a program's last lines explain its exit.
const LAST_LINES_MAX: usize = 6;
/// Maximum length of a tool call's description.
const WHAT_CHARS_MAX: usize = 120;

/// The output format of a program.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Dialect {
    /// Plain text. All of it is the answer.
    #[default]
    Text,
    /// aider's plain text, which mixes the answer with token counts and errors.
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
    /// Whether the program reports the cost of a turn in dollars.
    pub fn tells_price(self) -> bool {
        match self {
            Dialect::Aider | Dialect::Claude | Dialect::Opencode => true,
            Dialect::Text | Dialect::Codex | Dialect::Gemini => false,
        }
    }
}

/// The output so far.
#[derive(Clone, Debug, Default)]
pub struct AgentOutput {
    dialect: Dialect,
    pub session: Option<String>,
    /// The last message; a planner's answer.
    answer: String,
    /// The next piece of text starts a new message.
    message_over: bool,
    transcript: String,
    cost: Cost,
    /// Tokens by message, for programs that report the same message twice.
    by_message: BTreeMap<String, u64>,
    error: Option<AgentError>,
    over: bool,
}

impl AgentOutput {
    pub fn new(dialect: Dialect) -> Self {
        Self { dialect, ..Self::default() }
    }

    /// Reads a line of output and returns what to show to the user.
    pub fn line(&mut self, line: &str) -> Vec<AgentActivity> {
        let before = self.cost;
        let mut said = match self.dialect {
            Dialect::Text => plain::text(self, line),
            Dialect::Aider => plain::aider(self, line),
            Dialect::Claude | Dialect::Codex | Dialect::Gemini | Dialect::Opencode => {
                match serde_json::from_str::<Value>(line.trim()) {
                    Ok(event @ Value::Object(_)) => self.event(&event),
                    // Programs also print warnings to standard output. They are not part of the
                    // answer.
                    Ok(_) | Err(_) => {
                        self.note(line);
                        Vec::new()
                    }
                }
            }
        };
        if self.cost != before {
            said.push(AgentActivity::Cost(self.cost));
        }
        said
    }

    /// Whether the program reported the end of its turn. Later output is ignored.
    pub fn is_over(&self) -> bool {
        self.over
    }

    pub fn cost(&self) -> Cost {
        self.cost
    }

    pub fn transcript(&self) -> &str {
        &self.transcript
    }

    /// The result of the turn, after the program exited. `stderr` is the end of its standard error.
    pub fn end(&self, exit: Exit, stderr: &str) -> Turn {
        if let Some(error) = &self.error {
            return error.turn();
        }
        match exit {
            Exit::Signal(_) | Exit::Code(_) if self.over => Turn::Done { answer: self.answer() },
            Exit::Code(0) => Turn::Done { answer: self.answer() },
            Exit::TimedOut => Turn::Failed {
                failure: Failure::Timeout,
                message: "it did not stop in time and was killed with its child processes"
                    .to_owned(),
            },
            Exit::Code(_) | Exit::Signal(_) | Exit::NotStarted => {
                let words =
                    last_lines(if stderr.trim().is_empty() { &self.transcript } else { stderr });
                AgentError::new(format!("it ended with {exit}: {words}")).turn()
            }
        }
    }

    /// The last message. If the program never used its own dialect, all of its output.
    fn answer(&self) -> String {
        if self.answer.trim().is_empty() {
            bounded(&self.transcript, ANSWER_BYTES_MAX).to_owned()
        } else {
            self.answer.clone()
        }
    }

    fn event(&mut self, event: &Value) -> Vec<AgentActivity> {
        match self.dialect {
            Dialect::Claude => claude::event(self, event),
            Dialect::Codex => codex::event(self, event),
            Dialect::Gemini => gemini::event(self, event),
            Dialect::Opencode => opencode::event(self, event),
            Dialect::Text | Dialect::Aider => Vec::new(),
        }
    }

    /// Only the first session id counts; later ones belong to the same session.
    pub(crate) fn met(&mut self, session: Option<&str>) {
        if self.session.is_none() {
            self.session = session.filter(|session| !session.is_empty()).map(str::to_owned);
        }
    }

    /// A piece of the current message.
    pub(crate) fn says(&mut self, text: &str) -> Option<AgentActivity> {
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
        Some(AgentActivity::Text(text.to_owned()))
    }

    /// A complete message.
    fn says_all(&mut self, text: &str) -> Option<AgentActivity> {
        self.message_over = true;
        let said = self.says(text);
        self.message_over = true;
        self.note("");
        said
    }

    /// A tool call. The next text starts a new message.
    pub(crate) fn does(&mut self, name: &str, what: &str) -> AgentActivity {
        self.message_over = true;
        let what = what.lines().next().unwrap_or_default();
        let what: String = what.chars().take(WHAT_CHARS_MAX).collect();
        self.note(&format!("[{name}] {what}"));
        AgentActivity::Tool { name: name.to_owned(), what }
    }

    /// A message of the user reached the program during its turn.
    pub fn told(&mut self, text: &str) {
        self.note(text);
    }

    /// Adds a line to the transcript.
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

    pub(crate) fn fails(&mut self, error: AgentError) {
        self.note(&error.message);
        self.error = Some(error);
    }
}

/// The text at a JSON pointer.
pub(crate) fn text<'a>(value: &'a Value, pointer: &str) -> Option<&'a str> {
    value.pointer(pointer).and_then(Value::as_str)
}

pub(crate) fn number(value: &Value, pointer: &str) -> Option<u64> {
    value.pointer(pointer).and_then(Value::as_u64)
}

/// The sum of several numbers; `None` if all are absent.
pub(crate) fn sum(value: &Value, pointers: &[&str]) -> Option<u64> {
    let found: Vec<u64> = pointers.iter().filter_map(|pointer| number(value, pointer)).collect();
    (!found.is_empty()).then(|| found.iter().fold(0u64, |sum, more| sum.saturating_add(*more)))
}

/// The object of a tool call: the first of these keys in its input.
pub(crate) fn object(input: &Value) -> &str {
    const KEYS: [&str; 8] = [
        "/file_path",
        "/filePath",
        "/path",
        "/command",
        "/pattern",
        "/query",
        "/url",
        "/description",
    ];
    KEYS.iter().find_map(|key| text(input, key)).unwrap_or_default()
}

/// `Duration` converts seconds to microseconds, and so dollars to microdollars, without a numeric
/// cast.
pub(crate) fn microdollars(usd: f64) -> Option<u64> {
    Duration::try_from_secs_f64(usd).ok().and_then(|time| u64::try_from(time.as_micros()).ok())
}

/// The beginning of a text, at most this many bytes, cut between characters.
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
    if last.is_empty() { "no output".to_owned() } else { last.join("\n") }
}

#[cfg(test)]
mod tests;
