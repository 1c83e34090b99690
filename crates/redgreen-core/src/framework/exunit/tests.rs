//! Tests for ExUnit: captured streams and invocation.

use super::*;
use crate::framework::captured::StepEnd;
use crate::framework::samples::{self, Check};

/// A missing file is expected as no tests. Mix rejects it, which is a usage error, as for all other
/// runners.
const ALONE: &[(&str, Outcome)] = &[("filter_none_file", Outcome::UsageError)];

#[test]
fn parses_captured_runs() {
    Check::new("exunit", parse).alone(ALONE).run();
}

#[test]
fn compiler_lines_separate_missing_symbols_from_syntax_errors() {
    for (situation, kind, place) in [
        ("missing_import", LoadErrorKind::MissingSymbol, ("test/calc_test.exs", Some(3))),
        ("lib_compile_error", LoadErrorKind::MissingSymbol, ("lib/calc.ex", Some(2))),
        ("syntax_error", LoadErrorKind::Syntax, ("test/calc_test.exs", Some(10))),
        ("duplicate_name", LoadErrorKind::Other, ("test/calc_test.exs", None)),
    ] {
        let report = parse(&samples::one("exunit", situation).captured());
        let error = report.load_errors.first().unwrap();
        assert_eq!(
            (error.kind, (error.file.as_deref().unwrap(), error.line)),
            (kind, place),
            "{situation}"
        );
    }
}

#[test]
fn a_failed_build_is_its_own_stage() {
    let sample = samples::one("exunit", "lib_compile_error").captured();
    let step = StepEnd {
        name: COMPILE.to_owned(),
        exit: Exit::Code(1),
        stdout: sample.stdout,
        stderr: sample.stderr,
    };
    let report = parse(&Capture { steps: vec![step], ..Capture::default() });
    assert_eq!(
        (report.outcome, report.load_errors[0].stage),
        (Outcome::DidNotCompile, Stage::Build)
    );
}

#[test]
fn every_application_of_an_umbrella_has_to_finish() {
    let one = "{\"event\":\"start\"}\n{\"event\":\"result\",\"id\":\"A test a\",\"outcome\":\"passed\"}\n";
    for (stream, expected) in [
        (format!("{one}{{\"event\":\"finish\"}}\n"), Outcome::Passed),
        (format!("{one}{{\"event\":\"finish\"}}\n{one}"), Outcome::Crashed),
    ] {
        let reports = vec![(STREAM.to_owned(), stream.into_bytes())];
        let captured = Capture { exit: Exit::Code(0), reports, ..Capture::default() };
        assert_eq!(parse(&captured).outcome, expected);
    }
}

#[track_caller]
fn invokes(selection: &Selection, expected: &str) {
    let tools = ["elixir", "mix"].map(|name| (name.to_owned(), name.to_owned())).to_vec();
    let facts = Facts { scratch: "/s".to_owned(), tools, ..Facts::default() };
    let words = invoke(&facts, selection).unwrap().call.words.join(" ");
    let ours = "elixir -r /s/redgreen_exunit.exs -S mix test --formatter RedgreenExUnit --formatter ExUnit.CLIFormatter";
    assert_eq!(words, format!("{ours}{expected}"));
}

#[test]
fn runs_with_our_formatter() {
    invokes(&Selection::All, "");
    invokes(
        &Selection::Files(vec!["test/a_test.exs".to_owned(), "test/support/b.ex".to_owned()]),
        " test/a_test.exs",
    );
    invokes(&Selection::One("CalcTest test adds two".to_owned()), " --only test:test adds two");
    invokes(&Selection::List, " --only redgreen_none");
    assert!(matches!(invoke(&Facts::default(), &Selection::All), Err(CannotRun::Missing(_))));
}
