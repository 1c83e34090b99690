//! GoogleTest's JSON, which a test program writes when it finishes.

use serde::Deserialize;

use super::bounded_head;
use crate::report::{Status, Test};

/// GoogleTest's place for an uncaught exception.
const NO_PLACE: &str = "unknown file";

#[derive(Deserialize)]
struct Document {
    testsuites: Vec<Suite>,
}

#[derive(Deserialize)]
struct Suite {
    name: String,
    testsuite: Vec<Case>,
}

#[derive(Deserialize)]
struct Case {
    name: String,
    file: Option<String>,
    line: Option<u32>,
    /// `RUN` or `NOTRUN`.
    #[serde(default)]
    status: String,
    /// `COMPLETED`, `SKIPPED` or `SUPPRESSED`; old versions have none.
    #[serde(default)]
    result: String,
    #[serde(default)]
    time: String,
    #[serde(default)]
    failures: Vec<Failure>,
}

#[derive(Deserialize)]
struct Failure {
    failure: String,
}

/// The tests of one program, as `Suite.Name`; `None` if the document is incomplete.
pub fn parse(bytes: &[u8], relative: impl Fn(&str) -> String) -> Option<Vec<Test>> {
    let document: Document = serde_json::from_slice(bytes).ok()?;
    let suites = document.testsuites.iter();
    Some(
        suites
            .flat_map(|suite| suite.testsuite.iter().map(|case| test(suite, case, &relative)))
            .collect(),
    )
}

fn test(suite: &Suite, case: &Case, relative: &impl Fn(&str) -> String) -> Test {
    let mut test = Test::new(bounded_head(&format!("{}.{}", suite.name, case.name)), status(case));
    test.file = case.file.as_deref().map(relative);
    test.line = case.line;
    test.duration_ms = case
        .time
        .strip_suffix('s')
        .and_then(|time| time.parse::<f64>().ok())
        .map(|time| time * 1000.0);
    // The first of several failures is the cause: `/p/calc_test.cpp:8`, then the expectation.
    if let Some((place, words)) =
        case.failures.first().and_then(|first| first.failure.split_once('\n'))
    {
        let place = place
            .rsplit_once(':')
            .and_then(|(file, line)| Some((relative(file), line.parse().ok()?)));
        if let Some((file, line)) = place {
            (test.file, test.line) = (Some(file), Some(line));
        }
        test.message = Some(bounded_head(words));
    }
    test
}

fn status(case: &Case) -> Status {
    match (case.failures.first(), case.result.as_str()) {
        (Some(first), _) if first.failure.starts_with(NO_PLACE) => Status::Errored,
        (Some(_), _) => Status::Failed,
        (None, "SKIPPED" | "SUPPRESSED") => Status::Skipped,
        (None, "COMPLETED") => Status::Passed,
        (None, _) if case.status == "NOTRUN" => Status::Skipped,
        (None, _) if case.status == "RUN" && case.result.is_empty() => Status::Passed,
        (None, _) => Status::Crashed,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::framework::captured::Capture;
    use crate::framework::samples::{self, Check};
    use crate::report::Report;

    /// The document alone contains less: an unknown flag leaves no document, like a crash. Its
    /// messages start with the place, and lines are where the test starts.
    const KNOWN_BETTER: &[(&str, &str)] =
        &[("bad_usage", "outcome"), ("*", "message"), ("*", "line")];

    fn read(captured: &Capture) -> Report {
        let mut report = captured.report("gtest", &[]);
        if let Some(tests) =
            captured.file(".json").and_then(|json| parse(json, |path| captured.relative(path)))
        {
            (report.tests, report.finished) = (tests, true);
        }
        report.conclude();
        report
    }

    #[test]
    fn parses_captured_runs() {
        Check::new("gtest", read).skips(KNOWN_BETTER).run();
    }

    #[test]
    fn failures_have_a_place_and_a_message() {
        let report = read(&samples::one("gtest", "stdout_noise").captured());
        let noise = report.test("Calc.Noise").unwrap();
        assert_eq!((noise.file.as_deref(), noise.line), (Some("test/calc_test.cpp"), Some(12)));
        assert!(
            noise.message.as_deref().is_some_and(|words| words.starts_with("Expected equality")),
            "{noise:?}"
        );
        let thrown = read(&samples::one("gtest", "exception").captured());
        let thrown = thrown.test("Calc.Z").unwrap();
        assert_eq!((thrown.status, thrown.line), (Status::Errored, Some(9)));
    }
}
