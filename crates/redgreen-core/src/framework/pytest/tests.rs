//! Rows over captured streams of pytest: what was collected, what ran, what it amounts to.

use serde_json::{Value, json};

use super::*;
use crate::framework::samples::{JUNK, Sample, beginnings};

const FINISH: &str = r#"{"event":"finish","exitstatus":0}"#;

#[test]
fn captured_runs_are_read_as_a_person_would() {
    for sample in Sample::all("pytest") {
        let report = parse(&sample.bytes("report.jsonl"), sample.exit());
        let expected = sample.expected();
        assert_eq!(json!(report.outcome), expected["outcome"], "{}", sample.name);
        let tests: Value =
            report.tests.iter().map(|test| (test.id.clone(), json!([test.status, test.file, test.line]))).collect();
        assert_eq!(tests, expected["tests"], "{}", sample.name);
        let loads: Value = report.load_errors.iter().map(|error| json!([error.file, error.kind, error.code])).collect();
        assert_eq!(loads, expected["load_errors"], "{}", sample.name);
    }
}

#[test]
fn a_stream_that_breaks_off_is_never_a_pass() {
    for name in ["all_pass", "skipped", "missing_module"] {
        let stream = Sample::one("pytest", name).bytes("report.jsonl");
        for beginning in beginnings(&stream) {
            let report = parse(beginning, Exit::Code(0));
            assert_ne!(report.outcome, Outcome::Passed, "{} bytes of {name}", beginning.len());
        }
    }
    for junk in JUNK {
        assert_eq!(parse(junk, Exit::Code(0)).outcome, Outcome::Crashed);
    }
}

/// Rows are phases `when outcome [exception]`; `xfail` makes the outcome an expected failure's.
#[track_caller]
fn check(phases: &[(&str, &str, Option<&str>)], expected: Status) {
    let mut stream = String::from("{\"event\":\"test-start\",\"id\":\"t.py::a\",\"file\":\"t.py\",\"line\":1}\n");
    for (when, outcome, exception) in phases {
        let exception = exception.map(|class| json!([class, "Exception"]));
        let phase =
            json!({"event": "phase", "id": "t.py::a", "when": when, "outcome": outcome, "exception": exception});
        stream.push_str(&format!("{phase}\n"));
    }
    let report = parse(format!("{stream}{FINISH}\n").as_bytes(), Exit::Code(0));
    assert_eq!(report.test("t.py::a").unwrap().status, expected, "{phases:?}");
}

#[test]
fn phases_add_up_to_a_status() {
    let down = ("teardown", "passed", None);
    check(&[("call", "passed", None), down], Status::Passed);
    check(&[("call", "failed", Some("AssertionError")), down], Status::Failed);
    check(&[("call", "failed", Some("Failed")), down], Status::Failed);
    check(&[("call", "failed", Some("NameError")), down], Status::Errored);
    check(&[("setup", "failed", Some("AssertionError")), down], Status::Errored);
    check(&[("call", "passed", None), ("teardown", "failed", Some("OSError"))], Status::Errored);
    check(&[("setup", "skipped", Some("Skipped")), down], Status::Skipped);
    check(&[("call", "passed", None)], Status::Crashed);
}

#[test]
fn a_failed_subtest_sticks_and_a_skipped_one_does_not() {
    let down = ("teardown", "passed", None);
    check(&[("call", "failed", Some("AssertionError")), ("call", "passed", None), down], Status::Failed);
    check(&[("call", "skipped", Some("Skipped")), ("call", "passed", None), down], Status::Passed);
}

#[test]
fn a_test_that_passed_only_when_run_again_is_flaky() {
    check(&[("call", "rerun", None), ("call", "passed", None), ("teardown", "passed", None)], Status::Flaky);
}

#[track_caller]
fn load_kind(chain: &[&str], expected: LoadErrorKind) {
    let event = json!({"event": "collect", "id": "t.py", "outcome": "failed", "exception": chain, "message": "m"});
    let report = parse(format!("{event}\n").as_bytes(), Exit::Code(1));
    assert_eq!(report.load_errors[0].kind, expected, "{chain:?}");
}

#[test]
fn the_cause_of_a_load_error_may_be_anywhere_in_the_chain() {
    load_kind(&["CollectError", "ModuleNotFoundError"], LoadErrorKind::MissingSymbol);
    load_kind(&["RuntimeError", "ImportError", "KeyError"], LoadErrorKind::MissingSymbol);
    load_kind(&["AttributeError"], LoadErrorKind::MissingSymbol);
    load_kind(&["CollectError", "IndentationError"], LoadErrorKind::Syntax);
    load_kind(&["CollectError", "ImportError", "SyntaxError"], LoadErrorKind::Syntax);
    load_kind(&["ValueError"], LoadErrorKind::Other);
    load_kind(&[], LoadErrorKind::Other);
}

#[test]
fn a_file_that_skips_itself_is_shown_as_skipped() {
    let stream = format!("{{\"event\":\"collect\",\"id\":\"t.py\",\"outcome\":\"skipped\"}}\n{FINISH}\n");
    let report = parse(stream.as_bytes(), Exit::Code(5));
    assert_eq!((report.outcome, report.counts().skipped), (Outcome::Skipped, 1));
}
