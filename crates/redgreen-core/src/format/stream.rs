//! The stream of the reporters that we load into a runner: one JSON object per line, written and flushed as things
//! happen, so that it survives a crash.
//!
//! The words they share; a reporter leaves out what its runner cannot say, and may say more:
//!
//! | event | fields |
//! |---|---|
//! | `start` | `runner`, `version`, `root`; `total`; `hasOnly` when the source focuses on some tests |
//! | `collected` | `ids`, the tests that are planned; with `file` when it comes once per file |
//! | `load-error` | `file`, `line`, `exception` (the class and its causes, outermost first), `code`, `message` |
//! | `test-start` | `id`, `file`, `line` |
//! | `result` | `id`, `file`, `line`, `outcome`, `exception` (the class, then its bases), `message`, `seconds` or `ms` |
//! | `file-end` | `file`, `errors`, `tests`: the runner's last word on a file |
//! | `outside` | `message`: a failure that belongs to no test |
//! | `finish` | the run came to its end; `unhandled` errors |

use std::collections::BTreeMap;

use serde::Deserialize;
use serde::de::DeserializeOwned;

use super::{bounded_head, lines};
use crate::report::{Exit, Status, Test};

/// Every line that is a whole event. One that is cut short is passed over: what it would have said is then missing.
pub fn events<T: DeserializeOwned>(bytes: &[u8]) -> impl Iterator<Item = T> {
    lines(bytes).filter_map(|line| serde_json::from_slice(line).ok())
}

/// One event, whatever it is.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct Line {
    pub event: String,
    pub id: Option<String>,
    pub file: Option<String>,
    pub line: Option<u32>,
    pub root: Option<String>,
    pub outcome: Option<String>,
    pub exception: Words,
    pub name: Option<String>,
    pub code: Option<serde_json::Value>,
    pub message: Option<String>,
    pub errors: Option<Vec<Fault>>,
    pub error: Option<Fault>,
    pub unhandled: Option<Vec<Fault>>,
    pub ids: Option<Vec<Planned>>,
    /// The planned tests, for a runner that knows them when it starts.
    pub collected: Option<Vec<Planned>>,
    pub tests: Option<Vec<Line>>,
    /// How many tests will run.
    pub total: Option<usize>,
    pub seconds: Option<f64>,
    pub ms: Option<f64>,
    pub has_only: bool,
    /// What only one framework says.
    #[serde(flatten)]
    pub more: serde_json::Map<String, serde_json::Value>,
}

/// How far a run got, as far as its stream tells while it goes on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    pub done: usize,
    pub failed: usize,
    /// Absent where a runner finds its tests as it goes.
    pub total: Option<usize>,
}

impl Tally {
    /// Counts one line; one that is not ours counts nothing.
    pub fn take(&mut self, line: &[u8]) {
        let Ok(line) = serde_json::from_slice::<Line>(line) else { return };
        let failed = line.outcome.as_deref().is_some_and(|word| word.starts_with("fail") || word.starts_with("error"));
        match line.event.as_str() {
            "start" => self.total = line.total.or(line.collected.map(|ids| ids.len())),
            // Once per file, it does not say how many files will follow.
            "collected" if line.file.is_none() => self.total = line.ids.map(|ids| ids.len()).or(self.total),
            "result" | "passed" => self.count(failed),
            // Of pytest: a test that fails or is skipped, by its parts; the others say `passed`.
            "phase" => match line.more.get("when").and_then(|when| when.as_str()) {
                Some("call") => self.count(failed),
                Some("setup") if line.outcome.as_deref() != Some("passed") => self.count(failed),
                Some(_) | None => {}
            },
            _ => {}
        }
    }

    fn count(&mut self, failed: bool) {
        self.done += 1;
        self.failed += usize::from(failed);
    }
}

/// An error as JavaScript's runners describe it.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct Fault {
    pub name: Option<String>,
    pub code: Option<serde_json::Value>,
    pub message: Option<String>,
    /// The error is a matcher's: an assertion.
    pub matcher: bool,
    pub frame: Option<Frame>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct Frame {
    pub file: Option<String>,
    pub line: Option<u32>,
}

/// A planned test: its id alone, or with its place.
#[derive(Clone, Debug, Deserialize)]
#[serde(untagged)]
pub enum Planned {
    Id(String),
    At { id: String, file: Option<String> },
}

/// One word or several.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(untagged)]
pub enum Words {
    #[default]
    None,
    One(String),
    Many(Vec<String>),
}

impl Words {
    pub fn first(&self) -> Option<&str> {
        self.all().next()
    }

    pub fn all(&self) -> impl Iterator<Item = &str> {
        let (one, many) = match self {
            Words::None => (None, &[][..]),
            Words::One(word) => (Some(word), &[][..]),
            Words::Many(words) => (None, words.as_slice()),
        };
        one.into_iter().chain(many).map(String::as_str).filter(|word| !word.is_empty())
    }
}

/// A test by the file and the id it was announced with; an id alone need not be unique.
pub type Key = (Option<String>, String);

/// What the shared words of a stream say.
#[derive(Clone, Debug, Default)]
pub struct Stream {
    /// At least one event came.
    pub opened: bool,
    pub finished: bool,
    pub root: Option<String>,
    pub focused: bool,
    pub planned: Option<Vec<Key>>,
    /// How many of them the runner says it will run, where it can.
    pub total: Option<usize>,
    /// In the order of their start.
    pub started: Vec<Line>,
    pub results: Vec<Line>,
    pub load_errors: Vec<Line>,
    pub files: Vec<Line>,
    pub outside: Vec<String>,
    /// Events that are not among the shared words.
    pub others: Vec<Line>,
}

impl Stream {
    pub fn read(bytes: &[u8]) -> Stream {
        let mut stream = Stream::default();
        for line in events::<Line>(bytes) {
            stream.opened = true;
            stream.take(line);
        }
        stream
    }

    fn take(&mut self, mut line: Line) {
        let planned = line.ids.take().or(line.collected.take());
        if let Some(planned) = planned {
            let file = &line.file;
            let keys = planned.into_iter().map(|planned| match planned {
                Planned::Id(id) => (file.clone(), id),
                Planned::At { id, file: own } => (own.or_else(|| file.clone()), id),
            });
            self.planned.get_or_insert_default().extend(keys);
        }
        match line.event.as_str() {
            "start" => (self.root, self.focused, self.total) = (line.root, line.has_only, line.total),
            "collected" => {}
            "test-start" => self.started.push(line),
            "result" => self.results.push(line),
            "load-error" => self.load_errors.push(line),
            "file-end" => self.files.push(line),
            "outside" => self.outside.push(bounded_head(line.message.as_deref().unwrap_or_default())),
            "finish" => {
                self.finished = true;
                let unhandled = line.unhandled.unwrap_or_default();
                self.outside.extend(unhandled.iter().filter_map(|fault| fault.message.as_deref()).map(bounded_head));
            }
            _ => self.others.push(line),
        }
    }

    /// A test for every result, in the order they came, and for every test that was started and never ended.
    pub fn tests(&self, exit: Exit, status: impl Fn(&Line) -> Status) -> Vec<Test> {
        let mut tests: Vec<Test> = self.results.iter().filter_map(|line| line.test(status(line))).collect();
        let unfinished = if exit == Exit::TimedOut { Status::TimedOut } else { Status::Crashed };
        tests.extend(self.lost().filter_map(|line| line.test(unfinished)));
        tests
    }

    /// The tests that were started and have no result. A result may name the file in which the test broke instead of
    /// its own, or none; so of the tests with its id, it ends the one with its file if there is one.
    pub fn lost(&self) -> impl Iterator<Item = &Line> {
        let mut open: BTreeMap<&str, Vec<(usize, &Line)>> = BTreeMap::new();
        for (number, line) in self.started.iter().enumerate() {
            open.entry(line.id.as_deref().unwrap_or_default()).or_default().push((number, line));
        }
        for result in &self.results {
            let Some(same) = result.id.as_deref().and_then(|id| open.get_mut(id)) else { continue };
            let here = same.iter().position(|(_, line)| line.file == result.file).unwrap_or(0);
            if here < same.len() {
                same.remove(here);
            }
        }
        let lost: BTreeMap<usize, &Line> = open.into_values().flatten().collect();
        lost.into_values()
    }
}

impl Line {
    pub fn fault(&self) -> Option<&Fault> {
        self.errors.as_ref().and_then(|errors| errors.first()).or(self.error.as_ref())
    }

    /// The class of the exception, by whichever name the reporter gives it.
    pub fn class(&self) -> Option<&str> {
        let fault = self.fault().and_then(|fault| fault.name.as_deref());
        fault.or(self.name.as_deref()).or(self.exception.first())
    }

    pub fn words(&self) -> Option<&str> {
        self.fault().and_then(|fault| fault.message.as_deref()).or(self.message.as_deref())
    }

    /// What the event says of a test.
    pub fn test(&self, status: Status) -> Option<Test> {
        let frame = self.fault().and_then(|fault| fault.frame.as_ref());
        Some(Test {
            id: self.id.clone()?,
            status,
            file: self.file.clone(),
            line: self.line.or(frame.and_then(|frame| frame.line)),
            message: self.words().map(bounded_head).filter(|words| !words.is_empty()),
            exception: self.class().map(str::to_owned),
            duration_ms: self.ms.or(self.seconds.map(|seconds| seconds * 1000.0)),
            outside: false,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_started_and_never_ended_is_lost() {
        let stream = Stream::read(
            br#"{"event":"start","root":"/p","hasOnly":true}
{"event":"collected","file":"a.js","ids":["one",{"id":"two","line":3}]}
{"event":"test-start","file":"a.js","id":"one"}
{"event":"result","file":"a.js","id":"one","outcome":"failed","errors":[{"name":"AssertionError","message":"no","frame":{"line":4}}],"ms":2}
{"event":"test-start","file":"a.js","id":"two"}
{"event":"resu"#,
        );
        assert!(stream.focused && !stream.finished && stream.planned.as_ref().is_some_and(|ids| ids.len() == 2));
        let tests = stream.tests(Exit::Code(0), |_| Status::Failed);
        assert_eq!(
            (tests[0].line, tests[0].exception.as_deref(), tests[0].message.as_deref()),
            (Some(4), Some("AssertionError"), Some("no"))
        );
        assert_eq!((tests[1].id.as_str(), tests[1].status), ("two", Status::Crashed));
    }

    #[test]
    fn counts_what_is_done_while_it_runs() {
        let check = |stream: &str, done: usize, failed: usize, total: Option<usize>| {
            let mut tally = Tally::default();
            stream.lines().for_each(|line| tally.take(line.as_bytes()));
            assert_eq!(tally, Tally { done, failed, total }, "{stream}");
        };
        let of_pytest = r#"{"event":"collected","ids":["a","b","c"]}
{"event":"test-start","id":"a","file":"t.py","line":1}
{"event":"passed","id":"a","seconds":0.1}
{"event":"phase","id":"b","when":"call","outcome":"failed","exception":["E"],"seconds":0.1}
{"event":"phase","id":"b","when":"teardown","outcome":"passed","seconds":0.1}
{"event":"phase","id":"c","when":"setup","outcome":"skipped","seconds":0.1}
{"event":"phase","id":"c","when":"teardown","outcome":"passed","seconds":0.1}"#;
        check(of_pytest, 3, 1, Some(3));
        let by_files = r#"{"event":"start","runner":"vitest"}
{"event":"collected","file":"a.js","ids":["one","two"]}
{"event":"result","file":"a.js","id":"one","outcome":"failed","ms":2}"#;
        check(by_files, 1, 1, None);
        check(r#"{"event":"start","total":7}"#, 0, 0, Some(7));
        check("noise\n{\"event\":\"resu\n{}", 0, 0, None);
    }
}
