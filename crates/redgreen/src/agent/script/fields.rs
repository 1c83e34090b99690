//! Typed access to the tables of a TOML file. Continues after a problem, so that a user sees all of
//! them at once, each with its line and column.

use std::time::Duration;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// More than a day is a typo.
const SECONDS_MAX: f64 = 86_400.0;
/// A larger value is a typo, too. It fits into a count of microdollars.
const DOLLARS_MAX: f64 = 1_000_000.0;
const MICRODOLLARS: f64 = 1_000_000.0;
/// The maximum edit distance of a suggested key.
const TYPOS_MAX: usize = 2;

pub(super) type Value<'a> = Spanned<DeValue<'a>>;

/// A problem and its position, counted from 1, columns in characters.
#[derive(Debug)]
pub(super) struct Problem {
    pub(super) line: usize,
    pub(super) column: usize,
    pub(super) message: String,
}

/// The file and its problems so far. A getter returns `None` for a missing or invalid value and
/// records the problem.
pub(super) struct Reader<'a> {
    text: &'a str,
    problems: Vec<(usize, String)>,
}

impl Problem {
    pub(super) fn new(text: &str, at: usize, message: impl Into<String>) -> Self {
        let before = text.get(..at).unwrap_or(text);
        let line_start = before.rfind('\n').map_or(0, |newline| newline + 1);
        Self {
            line: before.matches('\n').count() + 1,
            column: before.chars().count()
                - before.get(..line_start).map_or(0, |lines| lines.chars().count())
                + 1,
            message: message.into(),
        }
    }
}

impl<'a> Reader<'a> {
    pub(super) fn new(text: &'a str) -> Self {
        Self { text, problems: Vec::new() }
    }

    pub(super) fn problem(&mut self, at: usize, message: impl Into<String>) {
        self.problems.push((at, message.into()));
    }

    /// All problems, in the order of the file.
    pub(super) fn into_problems(mut self) -> Vec<Problem> {
        self.problems.sort_by_key(|(at, _)| *at);
        self.problems
            .into_iter()
            .map(|(at, message)| Problem::new(self.text, at, message))
            .collect()
    }

    /// Reports every key that is not one of `known`.
    pub(super) fn only(&mut self, table: &DeTable<'_>, known: &[&str]) {
        for key in table.keys().filter(|key| !known.contains(&key.get_ref().as_ref())) {
            let name = key.get_ref();
            let message = match meant(name, known) {
                Some(meant) => format!("unknown key \"{name}\"; did you mean \"{meant}\"?"),
                None => format!("unknown key \"{name}\"; expected {}", or(known)),
            };
            self.problem(key.span().start, message);
        }
    }

    pub(super) fn list<'t, 'i>(
        &mut self,
        table: &'t DeTable<'i>,
        key: &str,
        expected: &str,
    ) -> &'t [Value<'i>] {
        let list = self.get(table, key, expected, |value| value.as_array());
        list.map_or(&[], |list| list.as_ref())
    }

    pub(super) fn table<'t, 'i>(
        &mut self,
        value: &'t Value<'i>,
        what: &str,
    ) -> Option<&'t DeTable<'i>> {
        let table = value.get_ref().as_table();
        if table.is_none() {
            self.problem(value.span().start, format!("{what}, not {}", self.shown(value)));
        }
        table
    }

    pub(super) fn string(&mut self, table: &DeTable<'_>, key: &str) -> Option<String> {
        self.get(table, key, "a string", |value| value.as_str().map(str::to_owned))
    }

    /// A string that is not empty.
    pub(super) fn words(&mut self, table: &DeTable<'_>, key: &str) -> Option<String> {
        self.get(table, key, "a string that is not empty", |value| {
            value.as_str().filter(|text| !text.is_empty()).map(str::to_owned)
        })
    }

    pub(super) fn flag(&mut self, table: &DeTable<'_>, key: &str) -> bool {
        self.get(table, key, "true or false", |value| value.as_bool()).unwrap_or_default()
    }

    /// A key that can only be true.
    pub(super) fn mark(&mut self, table: &DeTable<'_>, key: &str) -> Option<()> {
        self.get(table, key, "true", |value| value.as_bool().filter(|set| *set)).map(|_| ())
    }

    pub(super) fn count(&mut self, table: &DeTable<'_>, key: &str) -> Option<u64> {
        self.get(table, key, "a whole number from 0", |value| {
            let number = value.as_integer()?;
            u64::from_str_radix(number.as_str(), number.radix()).ok()
        })
    }

    pub(super) fn seconds(&mut self, table: &DeTable<'_>, key: &str) -> Option<Duration> {
        self.get(table, key, "seconds from 0 to 86400", |value| {
            number(value, SECONDS_MAX).and_then(|seconds| Duration::try_from_secs_f64(seconds).ok())
        })
    }

    pub(super) fn microdollars(&mut self, table: &DeTable<'_>, key: &str) -> Option<u64> {
        self.get(table, key, "dollars from 0 to 1000000", |value| {
            let micros = (number(value, DOLLARS_MAX)? * MICRODOLLARS).round();
            #[expect(
                clippy::cast_possible_truncation,
                clippy::cast_sign_loss,
                reason = "whole, and between 0 and 10^12"
            )]
            Some(micros as u64)
        })
    }

    /// A value accepted by `take`, or a problem that names what was expected.
    pub(super) fn get<'t, 'i, T>(
        &mut self,
        table: &'t DeTable<'i>,
        key: &str,
        expected: &str,
        take: impl FnOnce(&'t DeValue<'i>) -> Option<T>,
    ) -> Option<T> {
        let value = table.get(key)?;
        let taken = take(value.get_ref());
        if taken.is_none() {
            let message = format!("\"{key}\" must be {expected}, not {}", self.shown(value));
            self.problem(value.span().start, message);
        }
        taken
    }

    /// A value in a message: as written if it is short, otherwise its type.
    fn shown(&self, value: &Value<'_>) -> String {
        const SHOWN_CHARS_MAX: usize = 40;
        let written = self.text.get(value.span()).unwrap_or_default();
        match value.get_ref() {
            DeValue::Array(_) => "a list".to_owned(),
            DeValue::Table(_) => "a table".to_owned(),
            _ if written.contains('\n') || written.chars().count() > SHOWN_CHARS_MAX => {
                "this".to_owned()
            }
            _ => written.to_owned(),
        }
    }
}

/// A list in a sentence.
pub(super) fn or(words: &[&str]) -> String {
    match words {
        [] => "nothing".to_owned(),
        [word] => (*word).to_owned(),
        [rest @ .., last] => format!("{} or {last}", rest.join(", ")),
    }
}

pub(super) fn meant<'k>(name: &str, known: &[&'k str]) -> Option<&'k str> {
    let typos = |key: &&str| strsim::osa_distance(name, key);
    // A short key is similar to everything: at least half of it must match.
    let near = |key: &&str| typos(key) <= TYPOS_MAX.min(key.len() / 2);
    known.iter().copied().filter(near).min_by_key(typos)
}

fn number(value: &DeValue<'_>, max: f64) -> Option<f64> {
    let written = match value {
        DeValue::Integer(number) if number.radix() == 10 => number.as_str(),
        DeValue::Float(number) => number.as_str(),
        _ => return None,
    };
    written.parse().ok().filter(|number| (0.0..=max).contains(number))
}
