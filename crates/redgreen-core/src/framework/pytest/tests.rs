//! Tests for pytest: captured streams, statuses and invocation.

use serde_json::json;

use super::*;
use crate::framework::facts::Folder;
use crate::framework::samples::{Check, JUNK};
use crate::report::LoadErrorKind;

const FINISH: &str = r#"{"event":"finish","exitstatus":0}"#;

fn read(stream: &[u8], exit: Exit) -> Report {
    parse(&Capture {
        exit,
        reports: vec![(python::STREAM.to_owned(), stream.to_vec())],
        ..Capture::default()
    })
}

#[test]
fn parses_captured_runs() {
    // A strict xfail that passed has no exception.
    Check::new("pytest-stream", parse).skips(&[("skipped", "exception")]).run();
}

#[test]
fn junk_is_a_crash() {
    for junk in JUNK {
        assert_eq!(read(junk, Exit::Code(0)).outcome, Outcome::Crashed);
    }
}

/// Each row is a phase `when outcome [exception]`; `xfail` marks the outcome as an expected
/// failure.
#[track_caller]
fn check(phases: &[(&str, &str, Option<&str>)], expected: Status) {
    let mut stream = String::from(
        "{\"event\":\"test-start\",\"id\":\"t.py::a\",\"file\":\"t.py\",\"line\":1}\n",
    );
    for (when, outcome, exception) in phases {
        let exception = exception.map(|class| json!([class, "Exception"]));
        let phase = json!({"event": "phase", "id": "t.py::a", "when": when, "outcome": outcome, "exception": exception});
        stream.push_str(&format!("{phase}\n"));
    }
    let report = read(format!("{stream}{FINISH}\n").as_bytes(), Exit::Code(0));
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
    check(
        &[("call", "failed", Some("AssertionError")), ("call", "passed", None), down],
        Status::Failed,
    );
    check(&[("call", "skipped", Some("Skipped")), ("call", "passed", None), down], Status::Passed);
}

#[test]
fn one_event_is_enough_for_a_passed_test() {
    let start = r#"{"event":"test-start","id":"t.py::a","file":"t.py","line":4}"#;
    let failed = r#"{"event":"phase","id":"t.py::a","when":"call","outcome":"failed","exception":["AssertionError"],"line":5}"#;
    let passed = r#"{"event":"passed","id":"t.py::a","seconds":0.002}"#;
    let stream = |lines: &[&str]| read(lines.join("\n").as_bytes(), Exit::Code(0)).tests.remove(0);
    let test = stream(&[start, passed, FINISH]);
    assert_eq!((test.status, test.line, test.duration_ms), (Status::Passed, Some(4), Some(2.0)));
    // A failed subtest, then its parent.
    assert_eq!(stream(&[start, failed, passed, FINISH]).status, Status::Failed);
    assert_eq!(stream(&[start, FINISH]).status, Status::Crashed);
}

#[test]
fn a_test_that_passes_only_on_rerun_is_flaky() {
    check(
        &[("call", "rerun", None), ("call", "passed", None), ("teardown", "passed", None)],
        Status::Flaky,
    );
}

#[track_caller]
fn load_kind(chain: &[&str], expected: LoadErrorKind) {
    let event = json!({"event": "collect", "id": "t.py", "outcome": "failed", "exception": chain, "message": "m"});
    let report = read(format!("{event}\n").as_bytes(), Exit::Code(1));
    assert_eq!(report.load_errors[0].kind, expected, "{chain:?}");
}

#[test]
fn finds_the_cause_of_a_load_error_anywhere_in_the_chain() {
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
    let stream =
        format!("{{\"event\":\"collect\",\"id\":\"t.py\",\"outcome\":\"skipped\"}}\n{FINISH}\n");
    let report = read(stream.as_bytes(), Exit::Code(5));
    assert_eq!((report.outcome, report.counts().skipped), (Outcome::Skipped, 1));
}

#[track_caller]
fn invokes(tools: &[&str], files: &[&str], selection: &Selection, expected: &str) {
    let tools = tools.iter().map(|tool| ((*tool).to_owned(), format!("/bin/{tool}"))).collect();
    let folder = Folder {
        files: files.iter().map(|file| (*file).to_owned()).collect(),
        ..Folder::default()
    };
    let facts = Facts {
        folder,
        root: "/p".to_owned(),
        scratch: "/s".to_owned(),
        tools,
        ..Facts::default()
    };
    assert_eq!(invoke(&facts, selection).unwrap().call.words.join(" "), expected);
}

#[test]
fn prefers_the_project_interpreter() {
    let rest = "-m pytest -p redgreen_pytest --continue-on-collection-errors --maxfail=0 -o cache_dir=/s/pytest-cache --rootdir=/p";
    let all = &Selection::All;
    invokes(
        &["python3", ".venv/bin/python"],
        &["uv.lock"],
        all,
        &format!("/bin/.venv/bin/python {rest}"),
    );
    invokes(&["python3", "uv"], &["uv.lock"], all, &format!("/bin/uv run python {rest}"));
    invokes(
        &["python3", "poetry"],
        &["poetry.lock"],
        all,
        &format!("/bin/poetry run python {rest}"),
    );
    invokes(&["python3", "uv"], &[], all, &format!("/bin/python3 {rest}"));
    invokes(
        &["python"],
        &[],
        &Selection::One("t.py::a[1 2]".to_owned()),
        &format!("/bin/python {rest} t.py::a[1 2]"),
    );
    invokes(
        &["python"],
        &[],
        &Selection::Files(vec!["t.py".to_owned()]),
        &format!("/bin/python {rest} t.py"),
    );
    invokes(&["python"], &[], &Selection::List, &format!("/bin/python {rest} --collect-only -q"));
    let missing = invoke(&Facts::default(), all).unwrap_err();
    assert!(
        matches!(missing, CannotRun::Missing(missing) if missing.what == "no python found to run pytest")
    );
}

#[test]
fn coverage_wraps_the_run_and_is_converted_afterwards() {
    let tools = vec![("python3".to_owned(), "python3".to_owned())];
    let facts = Facts { scratch: "/s".to_owned(), tools, ..Facts::default() };
    let invocation = invoke(&facts, &Selection::Coverage).unwrap();
    assert!(
        invocation.call.words.starts_with(&["python3", "-m", "coverage", "run"].map(str::to_owned))
    );
    assert_eq!(invocation.after[0].call.words.last().unwrap(), "/s/coverage.lcov");
}
