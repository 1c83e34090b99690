//! Tests for jest: captured streams and invocation.

use super::*;
use crate::framework::samples::{self, Check};
use crate::report::{Flag, LoadErrorKind, Status};

/// Only a reporter that knows the name can tell that it matches nothing. The captured run without a
/// file was started wrongly: jest took its pattern for a reporter.
const ALONE: &[(&str, Outcome)] =
    &[("filter_none", Outcome::Skipped), ("filter_none_file", Outcome::UsageError)];

#[test]
fn parses_captured_runs() {
    Check::new("jest-stream", parse).ids(javascript::name_of).alone(ALONE).run();
}

#[test]
fn load_errors_have_a_reason() {
    for (situation, kind, code) in [
        ("missing_module", LoadErrorKind::MissingSymbol, "MODULE_NOT_FOUND"),
        ("syntax_error", LoadErrorKind::Syntax, "BABEL_PARSE_ERROR"),
        ("esm_import", LoadErrorKind::Other, "ERR_REQUIRE_ESM"),
    ] {
        let report = parse(&samples::one("jest-stream", situation).captured());
        let error = &report.load_errors[0];
        let seen = (error.kind, error.code.as_deref(), error.file.as_deref());
        assert_eq!(seen, (kind, Some(code), Some("test/calc.test.js")), "{situation}");
    }
}

fn read(lines: &str) -> Report {
    let reports = vec![("stream.jsonl".to_owned(), lines.as_bytes().to_vec())];
    parse(&Capture {
        exit: crate::report::Exit::Code(0),
        reports,
        root: "/p".to_owned(),
        ..Capture::default()
    })
}

#[test]
fn a_retried_test_is_flaky_and_counts_once() {
    let report = read(
        r#"{"event":"test-start","file":"/p/a.test.js","id":"a"}
{"event":"result","file":"/p/a.test.js","id":"a","outcome":"failed","invocations":1}
{"event":"test-start","file":"/p/a.test.js","id":"a"}
{"event":"result","file":"/p/a.test.js","id":"a","outcome":"passed","invocations":2}
{"event":"file-end","file":"/p/a.test.js","tests":[{"id":"a","outcome":"passed","messages":[]}]}
{"event":"finish"}"#,
    );
    assert_eq!(
        report.statuses().into_iter().collect::<Vec<_>>(),
        [("a.test.js > a", Status::Flaky)]
    );
    assert_eq!((report.outcome, report.flags), (Outcome::Passed, vec![Flag::Flaky]));
}

#[test]
fn reports_left_out_tests_and_focus() {
    let report = read(
        r#"{"event":"test-start","file":"/p/a.test.js","id":"a","mode":"only"}
{"event":"result","file":"/p/a.test.js","id":"a","outcome":"passed"}
{"event":"file-end","file":"/p/a.test.js","tests":[{"id":"a","outcome":"passed"},{"id":"b","outcome":"excluded"}]}
{"event":"finish"}"#,
    );
    assert_eq!(report.test("a.test.js > b").unwrap().status, Status::NotRun);
    assert!(report.has(Flag::Focused));
}

#[track_caller]
fn invokes(selection: &Selection, expected: &str) -> Invocation {
    let tools = vec![(PACKAGE.bin.to_owned(), "/p/jest".to_owned())];
    let facts =
        Facts { root: "/p".to_owned(), scratch: "/s".to_owned(), tools, ..Facts::default() };
    let invocation = invoke(&facts, selection).unwrap();
    let start = format!("/p/jest --reporters=/s/redgreen-jest.cjs {}", OPTIONS.join(" "));
    assert_eq!(invocation.call.words.join(" "), format!("{start} {expected}"));
    invocation
}

#[test]
fn builds_the_invocation_of_every_selection() {
    invokes(&Selection::All, "--coverage=false");
    let files = Selection::Files(vec!["a.test.js".to_owned()]);
    invokes(&files, "--coverage=false --runTestsByPath a.test.js");
    let one = Selection::One("test/a.test.js > s > 1+1".to_owned());
    let invocation =
        invokes(&one, r"--coverage=false --runTestsByPath test/a.test.js -t ^s (> )?1\+1$");
    assert!(invocation.call.env.contains(&("REDGREEN_ONLY".to_owned(), "s > 1+1".to_owned())));
    invokes(&Selection::List, "--coverage=false -t (?!)");
    let coverage = "--coverage --coverageReporters=lcovonly --coverageDirectory=/s/coverage --coverageThreshold={}";
    assert_eq!(
        invokes(&Selection::Coverage, coverage).coverage.unwrap().file,
        "coverage/lcov.info"
    );
}
