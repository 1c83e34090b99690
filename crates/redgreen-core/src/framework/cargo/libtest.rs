//! Parses libtest's JSON of one test binary, or of the doc tests of one library.
//!
//! The JSON is on stdout, which the tests share: a test can print a line that looks like a result.
//! libtest therefore also writes a log file at a separate path, and a result counts only if both
//! agree.

use std::borrow::Cow;
use std::collections::{BTreeSet, HashMap};

use serde::Deserialize;

use crate::format::{bounded_head, bounded_tail};
use crate::report::{Exit, Flag, Status, Test};

/// The start of every libtest event. It can be anywhere in a line, after output of a test without a
/// line end.
const EVENT: &str = "{ \"type\": ";
/// The start of a panic message.
pub const PANICKED: &str = "panicked at ";
const SUITE_STARTED: &[u8] = b"{ \"type\": \"suite\", \"event\": \"started\"";
const TEST_STARTED: &[u8] = b"{ \"type\": \"test\", \"event\": \"started\"";

/// The results of one binary.
#[derive(Debug, Default)]
pub struct Binary {
    pub exit: Exit,
    pub finished: bool,
    pub tests: Vec<Test>,
    pub flags: Vec<Flag>,
}

/// The captured output of a test binary.
#[derive(Clone, Copy, Debug)]
pub struct LibtestOutput<'a> {
    pub exit: Exit,
    pub stdout: &'a [u8],
    /// Part of stdout was dropped.
    pub cut: bool,
}

#[derive(Deserialize)]
struct Event {
    #[serde(rename = "type")]
    kind: String,
    event: Option<String>,
    name: Option<String>,
    test_count: Option<usize>,
    stdout: Option<String>,
    message: Option<String>,
    exec_time: Option<f64>,
}

/// Reads the JSON and the log of a test binary.
pub fn parse(prefix: &str, seen: LibtestOutput<'_>, log: &[u8]) -> Binary {
    let mut binary = read(seen);
    let log = Log::read(log);
    for test in &mut binary.tests {
        if !log.agrees(test) {
            test.message = Some("the result on stdout contradicts the runner's own log".to_owned());
            test.status = Status::Crashed;
            binary.flags.push(Flag::SourcesDisagree);
        }
        test.id = format!("{prefix}::{}", test.id);
    }
    binary
}

/// Reads the JSON of a library's doc tests. Their names contain a line number. The id must not,
/// because it would change with every edit above.
pub fn parse_doc(prefix: &str, seen: LibtestOutput<'_>) -> Binary {
    let mut binary = read(seen);
    let names: BTreeSet<(String, u32)> =
        binary.tests.iter().map(|test| without_line(&test.id)).collect();
    for test in &mut binary.tests {
        let (name, line) = without_line(&test.id);
        test.file = name.split(" -").next().map(str::to_owned);
        test.line = Some(line);
        test.id = doc_id(prefix, &names, (name, line));
    }
    binary
}

/// Numbers the doc tests of one item in the order of their lines.
fn doc_id(prefix: &str, names: &BTreeSet<(String, u32)>, (name, line): (String, u32)) -> String {
    let earlier =
        names.iter().filter(|(other, other_line)| *other == name && *other_line < line).count();
    match earlier {
        0 => format!("{prefix}::{name}"),
        _ => format!("{prefix}::{name} #{}", earlier + 1),
    }
}

/// The ids of the tests that `--list --format terse` prints, one per line: `tests::adds: test`.
pub fn parse_list(prefix: &str, stdout: &[u8]) -> Vec<String> {
    listed(&String::from_utf8_lossy(stdout)).map(|name| format!("{prefix}::{name}")).collect()
}

/// The same for a library's doc tests.
pub fn parse_doc_list(prefix: &str, stdout: &[u8]) -> Vec<String> {
    let names: BTreeSet<(String, u32)> =
        listed(&String::from_utf8_lossy(stdout)).map(without_line).collect();
    names.iter().map(|name| doc_id(prefix, &names, name.clone())).collect()
}

fn listed(text: &str) -> impl Iterator<Item = &str> {
    text.lines().filter_map(|line| line.strip_suffix(": test"))
}

/// Splits the output of several binaries at the start of each.
pub fn suites(stdout: &[u8]) -> Vec<&[u8]> {
    let starts: Vec<usize> = stdout
        .windows(SUITE_STARTED.len())
        .enumerate()
        .filter(|(_, window)| *window == SUITE_STARTED)
        .map(|(at, _)| at)
        .collect();
    let ends = starts.iter().skip(1).copied().chain([stdout.len()]);
    starts.iter().zip(ends).filter_map(|(&start, end)| stdout.get(start..end)).collect()
}

/// A target with its own `main` (`harness = false`) is one test, and its exit code is the only
/// result.
pub fn without_harness(prefix: &str, exit: Exit) -> Binary {
    let status = match exit {
        Exit::Code(0) => Status::Passed,
        Exit::Code(_) => Status::Failed,
        Exit::TimedOut => Status::TimedOut,
        Exit::Signal(_) | Exit::NotStarted => Status::Crashed,
    };
    Binary { exit, finished: true, tests: vec![Test::new(prefix, status)], flags: Vec::new() }
}

fn read(seen: LibtestOutput<'_>) -> Binary {
    let mut tests: Vec<Test> = Vec::new();
    let (mut planned, mut opened, mut closed) = (0_usize, 0, 0);
    let lines = || seen.stdout.split(|&byte| byte == b'\n');
    for line in lines().filter(|line| !line.starts_with(TEST_STARTED)) {
        let Some(event) = event_in(line) else { continue };
        match (event.kind.as_str(), event.event.as_deref()) {
            ("suite", Some("started")) => {
                opened += 1;
                planned = planned.saturating_add(event.test_count.unwrap_or_default());
            }
            ("suite", Some(_)) => closed += 1,
            ("test", Some(word)) => tests.extend(result(word, &event)),
            _ => {}
        }
    }
    let mut binary = Binary { exit: seen.exit, ..Binary::default() };
    binary.finished = opened > 0 && opened == closed && !seen.cut;
    binary.tests = one_each(tests);
    // Start events are needed only if a test has no result. Skipping them halves the work for long
    // reports.
    if binary.tests.len() != planned {
        let started = lines().filter(|line| line.starts_with(TEST_STARTED)).filter_map(event_in);
        binary.tests.extend(started.filter_map(|event| result("started", &event)));
        binary.tests = one_each(binary.tests);
    }
    let unfinished = if seen.exit == Exit::TimedOut { Status::TimedOut } else { Status::Crashed };
    for test in binary.tests.iter_mut().filter(|test| test.status == Status::NotRun) {
        test.status = unfinished;
    }
    if binary.tests.len() != planned {
        binary.flags.push(Flag::ResultMissing);
    }
    binary
}

fn event_in(line: &[u8]) -> Option<Event> {
    // Most lines are valid UTF-8, and checking is cheaper than a lossy conversion.
    let text =
        std::str::from_utf8(line).map_or_else(|_| String::from_utf8_lossy(line), Cow::Borrowed);
    let event = if text.starts_with(EVENT) { &text } else { text.get(text.find(EVENT)?..)? };
    // Only the first value: output of another test can follow on the same line.
    serde_json::Deserializer::from_str(event).into_iter().next()?.ok()
}

fn result(word: &str, event: &Event) -> Option<Test> {
    let status = match word {
        "started" => Status::NotRun,
        "ok" => Status::Passed,
        "ignored" => Status::Skipped,
        "failed" => Status::Failed,
        // "timeout" only warns that a test is slow; its result follows.
        _ => return None,
    };
    let mut test = Test::new(event.name.clone()?, status);
    test.duration_ms = event.exec_time.map(|seconds| seconds * 1000.0);
    if let Some(output) = event.stdout.as_deref().filter(|_| status == Status::Failed) {
        explain(&mut test, output);
    }
    if let Some(message) = &event.message {
        test.message = Some(bounded_head(message));
    }
    Some(test)
}

/// Sorts the tests by name, one entry each. A result replaces "started"; of two results the worse
/// one counts.
fn one_each(mut tests: Vec<Test>) -> Vec<Test> {
    let rank = |test: &Test| (test.status != Status::NotRun, test.status);
    tests.sort_by(|one, other| one.id.cmp(&other.id).then_with(|| rank(other).cmp(&rank(one))));
    tests.dedup_by(|later, kept| later.id == kept.id);
    tests
}

/// Extracts place and message from a panic: `thread 'x' panicked at tests/calc.rs:10:5:` and the
/// following text.
pub fn explain(test: &mut Test, output: &str) {
    let Some((_, panic)) = output.rsplit_once(PANICKED) else {
        test.message = Some(bounded_tail(output));
        return;
    };
    let (place, rest) = panic.split_once('\n').unwrap_or((panic, ""));
    let mut parts = place.trim_end_matches(':').rsplitn(3, ':');
    let (_column, line, file) = (parts.next(), parts.next(), parts.next());
    // An absolute path is in the standard library or a dependency, so it is not useful to the user.
    if let Some(file) = file.filter(|file| !file.starts_with('/')) {
        test.file = Some(file.to_owned());
        test.line = line.and_then(|line| line.parse().ok());
    }
    let end = ["note: run with `RUST_BACKTRACE", "stack backtrace:"]
        .iter()
        .filter_map(|mark| rest.find(mark))
        .min();
    test.message = Some(bounded_head(rest.get(..end.unwrap_or(rest.len())).unwrap_or(rest)));
}

/// Removes the line from `src/lib.rs - add (line 3) - compile fail` and returns it.
fn without_line(name: &str) -> (String, u32) {
    let split = name.rsplit_once(" (line ").and_then(|(before, rest)| {
        let (line, after) = rest.split_once(')')?;
        Some((format!("{before}{after}"), line.parse().ok()?))
    });
    split.unwrap_or((name.to_owned(), 0))
}

/// libtest's log file, one entry for each test: `ok NAME <0.000s>`, `failed NAME <0.000s>`,
/// `failed: WHY NAME <0.000s>`, `ignored NAME`, `ignored: WHY NAME`. A reason can have several
/// lines: for an unexpected panic it also contains the expected one.
struct Log<'a> {
    results: HashMap<&'a str, LogResult>,
    /// Entries that end with the name, after a reason.
    failed: Vec<&'a str>,
    ignored: Vec<&'a str>,
}

/// The log's results for one name.
#[derive(Clone, Copy, Eq, PartialEq)]
enum LogResult {
    Ok,
    Failed,
    Both,
}

impl<'a> Log<'a> {
    fn read(log: &'a [u8]) -> Self {
        let mut read = Log { results: HashMap::new(), failed: Vec::new(), ignored: Vec::new() };
        for entry in entries(std::str::from_utf8(log).unwrap_or_default()) {
            let entry = entry
                .rsplit_once(" <")
                .filter(|(_, time)| time.ends_with("s>"))
                .map_or(entry, |(rest, _)| rest);
            match entry.split_once(' ') {
                Some(("ok", name)) => read.note(name, LogResult::Ok),
                Some(("failed", name)) => read.note(name, LogResult::Failed),
                Some(("failed:", rest)) => read.failed.push(rest),
                Some(("ignored" | "ignored:", rest)) => read.ignored.push(rest),
                Some(_) | None => {}
            }
        }
        read
    }

    fn note(&mut self, name: &'a str, said: LogResult) {
        let known = self.results.entry(name).or_insert(said);
        if *known != said {
            *known = LogResult::Both;
        }
    }

    /// Whether the log agrees with the result of a test. A test that never ended is not in the log.
    fn agrees(&self, test: &Test) -> bool {
        let names = |rest: &&&str| {
            rest.strip_suffix(test.id.as_str())
                .is_some_and(|why| why.is_empty() || why.ends_with(' '))
        };
        let with_reason = self.failed.iter().find(names).map(|_| LogResult::Failed);
        let said = match (self.results.get(test.id.as_str()).copied(), with_reason) {
            (Some(LogResult::Ok), Some(_)) => Some(LogResult::Both),
            (said, with_reason) => said.or(with_reason),
        };
        match test.status {
            Status::Passed => said == Some(LogResult::Ok),
            Status::Failed => said == Some(LogResult::Failed),
            Status::Skipped => said.is_none() && self.ignored.iter().find(names).is_some(),
            Status::Crashed | Status::TimedOut => said.is_none(),
            Status::Xfailed
            | Status::Todo
            | Status::NotRun
            | Status::Flaky
            | Status::Xpassed
            | Status::Errored => false,
        }
    }
}

/// The entries of a log. A line that starts with none of these words continues the entry before it.
fn entries(log: &str) -> Vec<&str> {
    const WORDS: [&str; 5] = ["ok ", "failed ", "failed: ", "ignored ", "ignored: "];
    let mut starts = Vec::new();
    let mut at = 0;
    for line in log.split_inclusive('\n') {
        if WORDS.iter().any(|word| line.starts_with(word)) {
            starts.push(at);
        }
        at += line.len();
    }
    let ends = starts.iter().skip(1).copied().chain([log.len()]);
    starts
        .iter()
        .zip(ends)
        .filter_map(|(&start, end)| log.get(start..end))
        .map(str::trim_end)
        .collect()
}
