//! The stream of the reporters that redgreen loads into a runner: one JSON object per line, flushed
//! after each event, so that it survives a crash.
//!
//! The shared events. A reporter omits fields that its runner does not know, and can add others:
//!
//! | event | fields |
//! |---|---|
//! | `start` | `runner`, `version`, `root`; `total`; `hasOnly` if the source focuses on some tests |
//! | `collected` | `ids`, the planned tests; with `file` if it is sent once per file |
//! | `load-error` | `file`, `line`, `exception` (the class and its causes, outermost first), `code`, `message` |
//! | `test-start` | `id`, `file`, `line` |
//! | `result` | `id`, `file`, `line`, `outcome`, `exception` (the class, then its bases), `message`, `seconds` or `ms` |
//! | `file-end` | `file`, `errors`, `tests`: the runner's final results of a file |
//! | `outside` | `message`: a failure that belongs to no test |
//! | `finish` | the run ended normally; `unhandled` errors |

use std::collections::BTreeMap;

use serde::Deserialize;
use serde::de::DeserializeOwned;

use super::{bounded_head, lines};
use crate::report::{Exit, Status, Test};

/// All complete events. Truncated lines are skipped, so their results are missing.
pub fn events<T: DeserializeOwned>(bytes: &[u8]) -> impl Iterator<Item = T> {
    lines(bytes).filter_map(|line| serde_json::from_slice(line).ok())
}

/// Any event.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct Line {
    pub event: String,
    pub id: Option<String>,
    pub file: Option<String>,
    pub line: Option<u32>,
    pub root: Option<String>,
    pub outcome: Option<String>,
    pub exception: Strings,
    pub name: Option<String>,
    pub code: Option<serde_json::Value>,
    pub message: Option<String>,
    pub errors: Option<Vec<JsError>>,
    pub error: Option<JsError>,
    pub unhandled: Option<Vec<JsError>>,
    pub ids: Option<Vec<PlannedTest>>,
    /// The planned tests, for a runner that knows them at the start.
    pub collected: Option<Vec<PlannedTest>>,
    pub tests: Option<Vec<Line>>,
    /// How many tests will run.
    pub total: Option<usize>,
    pub seconds: Option<f64>,
    pub ms: Option<f64>,
    pub has_only: bool,
    /// Fields of a single framework.
    #[serde(flatten)]
    pub more: serde_json::Map<String, serde_json::Value>,
}

/// The progress of a run, read from its stream.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    pub done: usize,
    pub failed: usize,
    /// `None` if the runner discovers tests while it runs.
    pub total: Option<usize>,
}

impl Tally {
    /// Counts one line. Foreign lines are ignored.
    pub fn take(&mut self, line: &[u8]) {
        let Ok(line) = serde_json::from_slice::<Line>(line) else { return };
        let failed = line
            .outcome
            .as_deref()
            .is_some_and(|word| word.starts_with("fail") || word.starts_with("error"));
        match line.event.as_str() {
            "start" => self.total = line.total.or(line.collected.map(|ids| ids.len())),
            // If it is sent once per file, the number of files is unknown.
            "collected" if line.file.is_none() => {
                self.total = line.ids.map(|ids| ids.len()).or(self.total);
            }
            "result" | "passed" => self.count(failed),
            // pytest reports failed and skipped tests by phase, and the others as `passed`.
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

/// An error as JavaScript runners describe it.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct JsError {
    pub name: Option<String>,
    pub code: Option<serde_json::Value>,
    pub message: Option<String>,
    /// The error comes from a matcher, so it is an assertion.
    pub matcher: bool,
    pub frame: Option<Frame>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct Frame {
    pub file: Option<String>,
    pub line: Option<u32>,
}

/// A planned test: only its id, or with its file.
#[derive(Clone, Debug, Deserialize)]
#[serde(untagged)]
pub enum PlannedTest {
    Id(String),
    At { id: String, file: Option<String> },
}

/// One string or several.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(untagged)]
pub enum Strings {
    #[default]
    None,
    One(String),
    Many(Vec<String>),
}

impl Strings {
    pub fn first(&self) -> Option<&str> {
        self.all().next()
    }

    pub fn all(&self) -> impl Iterator<Item = &str> {
        let (one, many) = match self {
            Strings::None => (None, &[][..]),
            Strings::One(word) => (Some(word), &[][..]),
            Strings::Many(words) => (None, words.as_slice()),
        };
        one.into_iter().chain(many).map(String::as_str).filter(|word| !word.is_empty())
    }
}

/// Identifies a test by its file and id; the id alone may not be unique.
pub type Key = (Option<String>, String);

/// The shared events of a stream.
#[derive(Clone, Debug, Default)]
pub struct Stream {
    /// At least one event arrived.
    pub opened: bool,
    pub finished: bool,
    pub root: Option<String>,
    pub focused: bool,
    pub planned: Option<Vec<Key>>,
    /// How many of the planned tests will run, if the runner knows.
    pub total: Option<usize>,
    /// In the order of their start.
    pub started: Vec<Line>,
    pub results: Vec<Line>,
    pub load_errors: Vec<Line>,
    pub files: Vec<Line>,
    pub outside: Vec<String>,
    /// All other events.
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
                PlannedTest::Id(id) => (file.clone(), id),
                PlannedTest::At { id, file: own } => (own.or_else(|| file.clone()), id),
            });
            self.planned.get_or_insert_default().extend(keys);
        }
        match line.event.as_str() {
            "start" => {
                (self.root, self.focused, self.total) = (line.root, line.has_only, line.total);
            }
            "collected" => {}
            "test-start" => self.started.push(line),
            "result" => self.results.push(line),
            "load-error" => self.load_errors.push(line),
            "file-end" => self.files.push(line),
            "outside" => {
                self.outside.push(bounded_head(line.message.as_deref().unwrap_or_default()));
            }
            "finish" => {
                self.finished = true;
                let unhandled = line.unhandled.unwrap_or_default();
                self.outside.extend(
                    unhandled.iter().filter_map(|error| error.message.as_deref()).map(bounded_head),
                );
            }
            _ => self.others.push(line),
        }
    }

    /// A test for every result, in the order of arrival, and for every test that started and never
    /// ended.
    pub fn tests(&self, exit: Exit, status: impl Fn(&Line) -> Status) -> Vec<Test> {
        let mut tests: Vec<Test> =
            self.results.iter().filter_map(|line| line.test(status(line))).collect();
        let unfinished = if exit == Exit::TimedOut { Status::TimedOut } else { Status::Crashed };
        tests.extend(self.lost().filter_map(|line| line.test(unfinished)));
        tests
    }

    /// The tests that started and have no result. A result can name the file in which the test
    /// failed instead of the test's own, or none. Among tests with its id, it ends the one with the
    /// same file if there is one.
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
    pub fn error(&self) -> Option<&JsError> {
        self.errors.as_ref().and_then(|errors| errors.first()).or(self.error.as_ref())
    }

    /// The class of the exception; reporters use different fields for it.
    pub fn class(&self) -> Option<&str> {
        let error = self.error().and_then(|error| error.name.as_deref());
        error.or(self.name.as_deref()).or(self.exception.first())
    }

    pub fn words(&self) -> Option<&str> {
        self.error().and_then(|error| error.message.as_deref()).or(self.message.as_deref())
    }

    /// Converts the event to a test.
    pub fn test(&self, status: Status) -> Option<Test> {
        let frame = self.error().and_then(|error| error.frame.as_ref());
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
    fn reports_tests_that_never_ended_as_lost() {
        let stream = Stream::read(
            br#"{"event":"start","root":"/p","hasOnly":true}
{"event":"collected","file":"a.js","ids":["one",{"id":"two","line":3}]}
{"event":"test-start","file":"a.js","id":"one"}
{"event":"result","file":"a.js","id":"one","outcome":"failed","errors":[{"name":"AssertionError","message":"no","frame":{"line":4}}],"ms":2}
{"event":"test-start","file":"a.js","id":"two"}
{"event":"resu"#,
        );
        assert!(
            stream.focused
                && !stream.finished
                && stream.planned.as_ref().is_some_and(|ids| ids.len() == 2)
        );
        let tests = stream.tests(Exit::Code(0), |_| Status::Failed);
        assert_eq!(
            (tests[0].line, tests[0].exception.as_deref(), tests[0].message.as_deref()),
            (Some(4), Some("AssertionError"), Some("no"))
        );
        assert_eq!((tests[1].id.as_str(), tests[1].status), ("two", Status::Crashed));
    }

    #[test]
    fn counts_finished_tests_during_the_run() {
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
