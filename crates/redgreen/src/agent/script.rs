//! The scripted agent: plays a file of turns, one list per role. Used for demos and to test a
//! set-up: it works, fails and misbehaves on command. `docs/book/scripted-agent.md` documents the
//! format.

mod fields;
mod place;
mod play;
mod read;
mod verbs;

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::Result;
use redgreen_core::agent::{Assignment, Cost, Failure as Ended, Turn};
use redgreen_core::phase::Role;

use crate::agent::{TurnInput, TurnOutput};
use crate::failure::Failure;
use crate::foreign;

/// A larger file is not a script.
const SCRIPT_BYTES_MAX: u64 = 16 << 20;

/// The lists of a script and their roles.
const SECTIONS: [(&str, Role); 5] = [
    ("plan", Role::TestList),
    ("red", Role::Test),
    ("green", Role::Implementing),
    ("diagnosis", Role::Diagnosis),
    ("refactor", Role::Refactor),
];

/// A valid script.
#[derive(Clone, Debug)]
pub struct Script {
    /// The file as named by the user.
    name: String,
    text: String,
    agent: Option<String>,
    turns: BTreeMap<Role, Vec<Entry>>,
}

/// One turn of the file.
#[derive(Clone, Debug)]
struct Entry {
    note: Option<String>,
    /// The one of several attempts that it is for; all if `None`.
    candidate: Option<u64>,
    actions: Vec<Action>,
    end: End,
    cost: Cost,
}

/// How a turn ends after its actions.
#[derive(Clone, Debug)]
enum End {
    Answer(String),
    Fail { failure: Ended, message: String },
}

/// One action of the agent.
#[derive(Clone, Debug, PartialEq)]
enum Action {
    Write { path: PathBuf, text: String, mode: Mode },
    Append { path: PathBuf, text: String },
    Edit { path: PathBuf, old: String, new: String },
    Delete { path: PathBuf },
    Shell { line: String, on_error: OnError },
    Commit { message: String },
    Wait(Duration),
    Print(String),
    Hang,
    Flood { bytes: u64 },
    Daemon { line: String },
    WriteOutside { path: PathBuf, text: String },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mode {
    Plain,
    Executable,
}

/// Whether a failing command ends the turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum OnError {
    GoOn,
    Crash,
}

impl Script {
    /// Reads a script. The error contains all problems.
    pub fn read(path: &Path) -> Result<Self> {
        let name = path.display().to_string();
        let mut bytes = Vec::new();
        foreign::open_named(path)
            .and_then(|file| file.take(SCRIPT_BYTES_MAX + 1).read_to_end(&mut bytes))
            .map_err(|error| {
                Failure::usage(format!("cannot read the script {name}"))
                    .evidence(error.to_string())
                    .next("name an existing file: --script FILE")
            })?;
        if bytes.len() as u64 > SCRIPT_BYTES_MAX {
            let limit = format!("it is larger than {} MiB", SCRIPT_BYTES_MAX >> 20);
            let failure = Failure::usage(format!("cannot read the script {name}")).evidence(limit);
            return Err(failure.into());
        }
        let text = String::from_utf8(bytes).map_err(|error| {
            let valid_up_to = error.utf8_error().valid_up_to();
            let text = String::from_utf8_lossy(error.as_bytes());
            faulty(&name, &[fields::Problem::new(&text, valid_up_to, "not UTF-8")])
        })?;
        Self::parse(&name, &text)
    }

    /// Like [`Script::read`], for a text that is called `name` in messages.
    pub fn parse(name: &str, text: &str) -> Result<Self> {
        match read::script(name, text) {
            Ok(script) => Ok(Self { text: text.to_owned(), ..script }),
            Err(problems) => Err(faulty(name, &problems).into()),
        }
    }

    /// The source, to store it with a run.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The agent's name: from the script, or the file.
    pub(super) fn agent(&self) -> String {
        self.agent.clone().unwrap_or_else(|| format!("script {}", self.name))
    }

    pub(super) fn take_turn(&self, orders: &TurnInput<'_>) -> Result<TurnOutput> {
        let assignment = orders.assignment;
        let number = u64::from(assignment.candidate.unwrap_or(1));
        let is_own = |entry: &&Entry| entry.candidate.is_none_or(|own| own == number);
        let list: Vec<&Entry> =
            self.turns.get(&assignment.role).into_iter().flatten().filter(is_own).collect();
        let index = usize::try_from(assignment.turn).unwrap_or(usize::MAX);
        match list.get(index) {
            Some(entry) => play::entry(entry, &assignment.messages, play::Stage::new(orders)),
            None => Ok(self.without_entry(assignment, list.len())),
        }
    }

    /// The result if a list has no more turns.
    fn without_entry(&self, assignment: &Assignment, count: usize) -> TurnOutput {
        let turn = match assignment.role {
            // Both can do nothing, so a script may omit them.
            Role::Refactor | Role::Diagnosis => Turn::Done { answer: String::new() },
            Role::TestList | Role::Test | Role::Implementing => {
                let turns = match count {
                    0 => "no turns".to_owned(),
                    1 => "1 turn".to_owned(),
                    _ => format!("{count} turns"),
                };
                let (name, section) = (&self.name, section(assignment.role));
                let asked = u64::from(assignment.turn) + 1;
                let message = format!(
                    "the script {name} has {turns} for {section}; this run asked for turn {asked}"
                );
                Turn::Failed { failure: Ended::Unusable, message }
            }
        };
        let transcript = match &turn {
            Turn::Done { .. } => "nothing in the script for this turn\n".to_owned(),
            Turn::Failed { message, .. } => format!("{message}\n"),
        };
        TurnOutput {
            turn,
            cost: Cost { tokens: Some(0), microdollars: Some(0), ..Cost::default() },
            transcript,
            session: None,
            notices: Vec::new(),
        }
    }
}

fn section(role: Role) -> &'static str {
    SECTIONS.iter().find(|(_, player)| *player == role).map_or("", |(section, _)| section)
}

fn faulty(name: &str, problems: &[fields::Problem]) -> Failure {
    let count = match problems.len() {
        1 => "a problem".to_owned(),
        many => format!("{many} problems"),
    };
    let failure =
        Failure::usage(format!("the script {name} has {count}")).next(format!("correct {name}"));
    problems.iter().fold(failure, |failure, problem| {
        failure.evidence(format!("{name}:{}:{}: {}", problem.line, problem.column, problem.message))
    })
}
