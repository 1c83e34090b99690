//! Captured runs of real runners, with the expected results of their parser. Each runner has one
//! file of JSON lines in `testdata/samples`; each line is one situation.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde::Deserialize;
use serde_json::json;

use super::captured::Capture;
use super::facts::Facts;
use super::invoke::{CannotRun, Invocation, Selection};
use crate::format::fuzz::{Random, flipped};
use crate::report::{Exit, LoadErrorKind, Outcome, Report, Status, Test};

/// The folder in which all samples were captured.
const ROOT: &str = "/project";
/// How many truncations of each report to try.
const BEGINNINGS: usize = 40;
/// How many copies of each report with one wrong byte to try.
const FLIPS: usize = 20;
/// How much of a message has to match: expectations are truncated and wrapped differently.
const MESSAGE_CHARS: usize = 60;

/// One captured run.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Sample {
    pub(crate) situation: String,
    exit: i32,
    /// Our time limit ended the run.
    timed_out: bool,
    pub(crate) stdout: String,
    stderr: String,
    pub(crate) reports: Vec<ReportFile>,
    expected: Option<Expected>,
}

#[derive(Deserialize)]
pub(crate) struct ReportFile {
    pub(crate) name: String,
    pub(crate) text: String,
}

/// The expected reading of the run.
#[derive(Deserialize)]
struct Expected {
    outcome: Outcome,
    load_errors: Vec<ExpectedLoad>,
    tests: Vec<ExpectedTest>,
}

#[derive(Deserialize)]
struct ExpectedLoad {
    kind: Option<String>,
}

#[derive(Clone, Deserialize)]
struct ExpectedTest {
    id: String,
    file: Option<String>,
    status: Status,
    line: Option<u32>,
    message: Option<String>,
    exception: Option<String>,
}

/// Reads the runner's samples with `parse` and compares them with the expectations.
pub(crate) struct Check {
    runner: &'static str,
    parse: fn(&Capture) -> Report,
    alone: &'static [(&'static str, Outcome)],
    reads: &'static str,
    skips: &'static [(&'static str, &'static str)],
    id: fn(&str) -> String,
}

pub(crate) fn all(runner: &str) -> Vec<Sample> {
    let path = folder().join(format!("{runner}.jsonl"));
    #[expect(clippy::disallowed_methods, reason = "samples are files")]
    let text = std::fs::read_to_string(&path)
        .unwrap_or_else(|error| panic!("read {}: {error}", path.display()));
    text.lines()
        .map(|line| serde_json::from_str(line).unwrap_or_else(|error| panic!("{runner}: {error}")))
        .collect()
}

pub(crate) fn one(runner: &str, situation: &str) -> Sample {
    let found = all(runner).into_iter().find(|sample| sample.situation == situation);
    found.unwrap_or_else(|| panic!("no sample {runner}/{situation}"))
}

/// The invocation of a framework with these tools, as `shown`, or the reason why there is none.
pub(crate) fn invoked(
    invoke: fn(&Facts, &Selection) -> Result<Invocation, CannotRun>,
    tools: &[&str],
    selection: &Selection,
    shown: impl Fn(Invocation) -> String,
) -> String {
    let tools = tools.iter().map(|tool| ((*tool).to_owned(), (*tool).to_owned())).collect();
    match invoke(&Facts { scratch: "/s".to_owned(), tools, ..Facts::default() }, selection) {
        Ok(invocation) => shown(invocation),
        Err(CannotRun::Missing(missing)) => missing.what,
        Err(CannotRun::Unsupported(why)) => why.to_owned(),
    }
}

/// Every sample of every runner.
pub(crate) fn every() -> Vec<Sample> {
    #[expect(clippy::disallowed_methods, reason = "samples are files")]
    let entries = std::fs::read_dir(folder()).unwrap();
    let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    names.filter_map(|name| name.strip_suffix(".jsonl").map(all)).flatten().collect()
}

fn folder() -> PathBuf {
    PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/testdata/samples"))
}

impl Sample {
    /// Captures use the shell's convention for signals.
    pub(crate) fn exit(&self) -> Exit {
        match self.exit {
            _ if self.timed_out => Exit::TimedOut,
            code @ 129..=159 => Exit::Signal(code - 128),
            code => Exit::Code(code),
        }
    }

    /// If our time limit ended the run, runners differ in what they call the running test.
    fn stopped(&self, status: Status) -> Status {
        if self.timed_out && status == Status::Crashed { Status::TimedOut } else { status }
    }

    pub(crate) fn captured(&self) -> Capture {
        let reports = self
            .reports
            .iter()
            .map(|report| (report.name.clone(), report.text.clone().into_bytes()));
        Capture {
            exit: self.exit(),
            stdout: self.stdout.clone().into_bytes(),
            stderr: self.stderr.clone().into_bytes(),
            reports: reports.collect(),
            root: ROOT.to_owned(),
            ..Capture::default()
        }
    }
}

impl Check {
    pub(crate) fn new(runner: &'static str, parse: fn(&Capture) -> Report) -> Self {
        Self { runner, parse, alone: &[], reads: "", skips: &[], id: str::to_owned }
    }

    /// Situations that need a second source (a build phase, a syntax check, the baseline's ids),
    /// and the outcome from this report alone.
    pub(crate) fn alone(mut self, alone: &'static [(&'static str, Outcome)]) -> Self {
        self.alone = alone;
        self
    }

    /// The ending of the name of the report that the parser needs. Without it, all reports are
    /// used, or stdout if there are none.
    pub(crate) fn reads(mut self, ending: &'static str) -> Self {
        self.reads = ending;
        self
    }

    /// Fields where this parser knows more than the expectation, or where the expectation uses
    /// another source, by situation (`*` for all) and name: `outcome`, `tests`, `file`, `line`,
    /// `message`, `exception`, `kinds`, `flips`.
    pub(crate) fn skips(mut self, skips: &'static [(&'static str, &'static str)]) -> Self {
        self.skips = skips;
        self
    }

    /// Maps a parser's id to the id in the expectations.
    pub(crate) fn ids(mut self, id: fn(&str) -> String) -> Self {
        self.id = id;
        self
    }

    /// Compares all samples and reports every difference, then damages them.
    #[track_caller]
    pub(crate) fn run(&self) {
        let samples = all(self.runner);
        let wrong: Vec<String> =
            samples.iter().flat_map(|sample| self.differences(sample)).collect();
        assert!(
            wrong.is_empty(),
            "{} of {} differ:\n{}",
            wrong.len(),
            self.runner,
            wrong.join("\n")
        );
        for (situation, _) in self.alone {
            assert!(
                samples.iter().any(|sample| sample.situation == *situation),
                "no sample {situation}"
            );
        }
        for sample in &samples {
            self.damage(sample);
        }
    }

    fn differences(&self, sample: &Sample) -> Vec<String> {
        let Some(expected) = &sample.expected else { return Vec::new() };
        let report = (self.parse)(&sample.captured());
        let mut wrong = Vec::new();
        let mut compare = |what: &str, field: &str, seen: String, wanted: String| {
            if seen != wanted && !self.is_skipped(sample, field) {
                wrong.push(format!("  {}: {what}: {seen} instead of {wanted}", sample.situation));
            }
        };
        let alone = self.alone.iter().find(|(situation, _)| *situation == sample.situation);
        let outcome = alone.map_or(expected.outcome, |&(_, outcome)| outcome);
        compare("outcome", "outcome", format!("{:?}", report.outcome), format!("{outcome:?}"));
        let wanted = Self::expected_tests(sample, expected);
        let ids = |tests: &mut dyn Iterator<Item = (&String, Status)>| {
            tests
                .map(|(id, status)| format!("{id}={}", json!(status).as_str().unwrap()))
                .collect::<Vec<_>>()
                .join(", ")
        };
        let mut seen: BTreeMap<String, &Test> = BTreeMap::new();
        for test in &report.tests {
            let known = seen.entry((self.id)(&test.id)).or_insert(test);
            if test.status > known.status {
                *known = test;
            }
        }
        compare(
            "tests",
            "tests",
            ids(&mut seen.iter().map(|(id, test)| (id, sample.stopped(test.status)))),
            ids(&mut wanted.iter().map(|(id, test)| (id, test.status))),
        );
        for (id, wanted) in &wanted {
            let Some(test) = seen.get(id) else { continue };
            let mut field = |name: &str, seen: Option<String>, wanted: Option<String>| {
                if let Some(wanted) = wanted {
                    compare(&format!("{name} of {id}"), name, seen.unwrap_or_default(), wanted);
                }
            };
            let inside = |file: &String| {
                let rest = file.strip_prefix(ROOT).map_or(file.as_str(), |rest| &rest[1..]);
                rest.strip_prefix("./").unwrap_or(rest).to_owned()
            };
            field("file", test.file.clone(), wanted.file.as_ref().map(inside));
            field(
                "line",
                test.line.map(|line| line.to_string()),
                wanted.line.map(|line| line.to_string()),
            );
            field("exception", test.exception.clone(), wanted.exception.clone());
            let start = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
            let beginning: Option<String> = wanted
                .message
                .as_deref()
                .map(|text| start(text).chars().take(MESSAGE_CHARS).collect());
            let length = beginning.as_ref().map_or(0, |text| text.chars().count());
            let seen =
                test.message.as_deref().map(|text| start(text).chars().take(length).collect());
            field("message", seen, beginning);
        }
        let kinds = |kind: LoadErrorKind| report.load_errors.iter().any(|error| error.kind == kind);
        for load in &expected.load_errors {
            match load.kind.as_deref() {
                Some("syntax") if !kinds(LoadErrorKind::Syntax) => {
                    compare(
                        "kinds",
                        "kinds",
                        format!("{:?}", report.load_errors),
                        "syntax".to_owned(),
                    );
                }
                Some("missing-symbol") if !kinds(LoadErrorKind::MissingSymbol) => {
                    compare(
                        "kinds",
                        "kinds",
                        format!("{:?}", report.load_errors),
                        "missing-symbol".to_owned(),
                    );
                }
                Some(_) | None => {}
            }
        }
        wrong
    }

    fn is_skipped(&self, sample: &Sample, field: &str) -> bool {
        let meant = |situation: &str| situation == "*" || situation == sample.situation;
        self.skips.iter().any(|(situation, name)| meant(situation) && *name == field)
    }

    /// The worst expected result for each of the parser's ids.
    fn expected_tests(sample: &Sample, expected: &Expected) -> BTreeMap<String, ExpectedTest> {
        let mut tests: BTreeMap<String, ExpectedTest> = BTreeMap::new();
        for test in &expected.tests {
            let mut test = test.clone();
            test.status = sample.stopped(test.status);
            if tests.get(&test.id).is_none_or(|known| test.status > known.status) {
                tests.insert(test.id.clone(), test);
            }
        }
        tests
    }

    /// A truncated report never passes, and a wrong byte never turns a failure into a pass.
    fn damage(&self, sample: &Sample) {
        let whole = sample.captured();
        let failed = !matches!(
            (self.parse)(&whole).outcome,
            Outcome::Passed | Outcome::Skipped | Outcome::NoTests
        ) && !self.is_skipped(sample, "flips");
        let fits = |name: &str| name.ends_with(self.reads);
        let places: Vec<Option<usize>> = match whole.reports.len() {
            0 => vec![None],
            count => (0..count).filter(|&at| fits(&whole.reports[at].0)).map(Some).collect(),
        };
        let mut random = Random::new(sample.situation.len() as u64 + 1);
        for place in places {
            let bytes = match place {
                Some(at) => whole.reports[at].1.clone(),
                None => whole.stdout.clone(),
            };
            let with = |bytes: Vec<u8>| {
                let mut damaged = whole.clone();
                match place {
                    Some(at) => damaged.reports[at].1 = bytes,
                    None => damaged.stdout = bytes,
                }
                (self.parse)(&damaged).outcome
            };
            for end in beginnings(&bytes) {
                let outcome = with(bytes[..end].to_vec());
                assert_ne!(
                    outcome,
                    Outcome::Passed,
                    "{}/{}: {end} bytes",
                    self.runner,
                    sample.situation
                );
            }
            for _ in 0..FLIPS {
                let outcome = with(flipped(&bytes, &mut random));
                assert!(
                    !failed || outcome != Outcome::Passed,
                    "{}/{}: flipped",
                    self.runner,
                    sample.situation
                );
            }
        }
    }
}

/// Positions to truncate a report, as a crash or a full disk would. Trailing space does not count.
pub(crate) fn beginnings(bytes: &[u8]) -> impl Iterator<Item = usize> {
    let length = bytes.trim_ascii_end().len();
    (0..length).step_by((length / BEGINNINGS).max(1)).chain(length.checked_sub(1))
}

/// Bytes that are not a report.
pub(crate) const JUNK: &[&[u8]] = &[
    b"",
    b"\n\n\n",
    b"null\n[]\n{}\n\"text\"\n7\n",
    b"\xff\xfe\x00{\"event\":",
    b"{\"event\":\"phase\"}\n{\"event\":\"phase\",\"id\":7}\n",
    b"{ \"type\": \"suite\" }\n{ \"type\": \"test\", \"event\": \"ok\" }\n{ \"type\": \"test\", \"event\": \"ok\", \"name\": 1 }",
    b"{ \"type\": \"suite\", \"event\": \"started\", \"test_count\": 18446744073709551615 }\n{ \"type\": \"suite\", \"event\": \"started\", \"test_count\": 1 }",
    b"{\"reason\":\"compiler-message\",\"message\":{}}\n{\"reason\":\"compiler-artifact\"}",
];
