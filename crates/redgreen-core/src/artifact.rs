//! The artifacts of RED and GREEN for other tools, with the field names that those tools know. YAML
//! and JSON.

use serde::{Deserialize, Serialize};

use crate::batch::{self, CaseCoverage, TestSource};
use crate::brief::{Brief, Component, Criterion};
use crate::framework;
use crate::report::{Exit, Report, Status, Test};
use crate::text;

/// Limits of a test's message and of the runner's output.
const MESSAGE_CHARS_MAX: usize = 2_000;
const OUTPUT_CHARS_MAX: usize = 20_000;

/// The written tests, and their results before there was any code.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Red {
    pub spec_id: String,
    pub request_id: String,
    pub test_files: Vec<TestFile>,
    /// The number of written tests, including those that do not load yet.
    #[serde(default)]
    pub test_count: u64,
    /// The tests for each case of the brief.
    #[serde(default)]
    pub test_cases: Vec<CaseCoverage>,
    pub test_results: Results,
    pub failing_tests: Vec<String>,
    pub unexpected_passes: Vec<String>,
    pub warnings: Vec<String>,
    #[serde(default)]
    pub components: Vec<Component>,
    #[serde(default)]
    pub acceptance_criteria: Vec<Criterion>,
}

/// The written code and its results.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Green {
    pub spec_id: String,
    pub request_id: String,
    pub implementation_files: Vec<String>,
    pub test_results: Results,
    pub passing_tests: u64,
    pub all_tests_pass: bool,
    pub iterations: u32,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// Why the last attempt was refused.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub reasons: Vec<String>,
    /// Line coverage in percent; absent if not requested or not measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub coverage: Option<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<String>,
    #[serde(default)]
    pub components: Vec<Component>,
    #[serde(default)]
    pub test_files: Vec<String>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TestFile {
    pub path: String,
    pub content: String,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Results {
    pub passed: u64,
    pub failed: u64,
    pub errors: u64,
    pub skipped: u64,
    pub total: u64,
    /// `null` if the runner did not exit by itself.
    pub exit_code: Option<i32>,
    pub output: String,
    pub test_details: Vec<Detail>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Detail {
    pub name: String,
    pub status: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
}

/// Creates the artifact of RED.
pub fn red(
    brief: &Brief,
    run: &str,
    files: Vec<TestFile>,
    written: TestSource<'_>,
    warnings: &[String],
) -> Red {
    let TestSource { before, after, in_source, tests } = written;
    let fresh = batch::fresh(before, after);
    let loaded = after.load_errors.is_empty();
    let count = in_source.filter(|_| !loaded).unwrap_or(fresh.len());
    let named = |wanted: fn(Status) -> bool| {
        fresh
            .iter()
            .filter(|test| wanted(test.status))
            .map(|test| test.id.clone())
            .collect::<Vec<_>>()
    };
    let mut failing = named(Status::is_failure);
    for error in &after.load_errors {
        // Tests in a file that does not load yet still have names.
        let names = |file: &String| {
            tests.iter().filter(|test| test.file == *file).map(batch::SourceTest::id).collect()
        };
        let named: Vec<String> = error.file.as_ref().map(names).unwrap_or_default();
        let unnamed = || vec![error.file.clone().unwrap_or_else(|| first_line(&error.message))];
        failing.extend(if named.is_empty() { unnamed() } else { named });
    }
    failing.dedup();
    Red {
        spec_id: spec_id(brief, run),
        request_id: brief.request_id.clone().unwrap_or_else(|| run.to_owned()),
        test_files: files,
        test_count: u64::try_from(count).unwrap_or(u64::MAX),
        test_cases: batch::covered(&brief.test_cases, tests),
        failing_tests: failing,
        unexpected_passes: named(|status| status == Status::Passed),
        test_results: results(&fresh, after),
        warnings: warnings.to_vec(),
        components: brief.components.clone(),
        acceptance_criteria: brief.acceptance_criteria.clone(),
    }
}

/// Creates the artifact of GREEN with all tests, because a broken test counts as much as one that
/// does not pass yet.
pub fn green(brief: &Brief, run: &str, after: &Report) -> Green {
    let all: Vec<&Test> = after.tests.iter().collect();
    let test_results = results(&all, after);
    Green {
        spec_id: spec_id(brief, run),
        request_id: brief.request_id.clone().unwrap_or_else(|| run.to_owned()),
        passing_tests: test_results.passed,
        all_tests_pass: test_results.failed == 0
            && test_results.errors == 0
            && test_results.passed > 0,
        test_results,
        components: brief.components.clone(),
        ..Green::default()
    }
}

/// Why GREEN is not done, in the wording of other tools.
pub fn green_error(iterations: u32, iterations_max: u32) -> String {
    if iterations >= iterations_max {
        format!("Max iterations ({iterations_max}) reached")
    } else {
        "Implementation incomplete".to_owned()
    }
}

/// The artifact as YAML and as JSON.
pub fn render(artifact: &impl Serialize) -> (String, String) {
    let yaml = serde_saphyr::to_string(artifact).unwrap_or_default();
    let mut json = serde_json::to_string_pretty(artifact).unwrap_or_default();
    json.push('\n');
    let json = text::json(&json).into_owned();
    // If the YAML would contain deceptive characters, use the JSON form, which escapes them.
    let yaml = if text::visible(&yaml) == yaml { yaml } else { json.clone() };
    (yaml, json)
}

fn spec_id(brief: &Brief, run: &str) -> String {
    if brief.id.is_empty() { run.to_owned() } else { brief.id.clone() }
}

fn results(tests: &[&Test], report: &Report) -> Results {
    let mut results = Results::default();
    for test in tests {
        let status = match test.status {
            Status::Passed => "passed",
            Status::Skipped | Status::Todo | Status::NotRun | Status::Xfailed => "skipped",
            // In pytest, an exception in a test's own body is a failure; an error occurs outside of
            // it.
            Status::Errored
                if report.runner == framework::pytest::FRAMEWORK.name && !test.outside =>
            {
                "failed"
            }
            Status::Errored | Status::Crashed | Status::TimedOut => "error",
            Status::Failed | Status::Flaky | Status::Xpassed => "failed",
        };
        *match status {
            "passed" => &mut results.passed,
            "skipped" => &mut results.skipped,
            "error" => &mut results.errors,
            _ => &mut results.failed,
        } += 1;
        let message = test.message.as_deref().map(|message| cut(message, MESSAGE_CHARS_MAX));
        results.test_details.push(Detail {
            name: test.id.clone(),
            status: status.to_owned(),
            message,
        });
    }
    for error in &report.load_errors {
        results.errors += 1;
        results.test_details.push(Detail {
            name: error.file.clone().unwrap_or_else(|| "the suite".to_owned()),
            status: "error".to_owned(),
            message: Some(cut(&error.message, MESSAGE_CHARS_MAX)),
        });
    }
    results.total = results.passed + results.failed + results.errors + results.skipped;
    results.exit_code = match report.exit {
        Exit::Code(code) => Some(code),
        Exit::NotStarted | Exit::Signal(_) | Exit::TimedOut => None,
    };
    results.output = cut(&report.output_tail, OUTPUT_CHARS_MAX);
    results
}

fn first_line(text: &str) -> String {
    text.lines().next().unwrap_or_default().to_owned()
}

fn cut(text: &str, chars_max: usize) -> String {
    text.char_indices()
        .nth(chars_max)
        .map_or_else(|| text.to_owned(), |(end, _)| text.get(..end).unwrap_or_default().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn yaml_and_json_have_the_same_content() {
        let mut failed = Test::new("tests/test_a.py::test_b", Status::Failed);
        failed.message = Some("assert 1 == 2\n- # odd: \"text\" \u{1F600}".to_owned());
        let before = Report::default();
        let after = Report {
            tests: vec![failed, Test::new("c", Status::Passed), Test::new("d", Status::Skipped)],
            exit: Exit::Code(1),
            output_tail: "yes\nno: 1\n---\n".to_owned(),
            ..Report::default()
        };
        let files = vec![TestFile {
            path: "tests/test_a.py".to_owned(),
            content: "import x\n\n\ndef test_b():\n    pass\n".to_owned(),
        }];
        let written = TestSource { before: &before, after: &after, in_source: None, tests: &[] };
        let red = red(&Brief::of("a"), "r1", files, written, &["take care".to_owned()]);
        assert_eq!(
            (red.test_results.failed, red.test_results.passed, red.test_results.total),
            (1, 1, 3)
        );
        assert_eq!(red.unexpected_passes, ["c"]);
        let (yaml, json) = render(&red);
        assert_eq!(serde_json::from_str::<Red>(&json).unwrap(), red);
        assert_eq!(serde_saphyr::from_str::<Red>(&yaml).unwrap(), red, "{yaml}");
    }
}
