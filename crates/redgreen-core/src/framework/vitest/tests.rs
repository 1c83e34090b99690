//! Tests for vitest: captured streams and invocation.

use super::*;
use crate::framework::samples::{self, Check};
use crate::report::LoadErrorKind;

#[test]
fn parses_captured_runs_of_4() {
    Check::new("vitest-stream", parse).ids(javascript::name_of).run();
}

#[test]
fn parses_captured_runs_of_5() {
    Check::new("vitest5-stream", parse).ids(javascript::name_of).run();
}

#[test]
fn ids_contain_the_file_and_load_errors_a_place() {
    let report = parse(&samples::one("vitest-stream", "setup_error").captured());
    assert_eq!(report.tests[0].id, "test/calc.test.js > a > t");
    let report = parse(&samples::one("vitest-stream", "missing_module").captured());
    let error = &report.load_errors[0];
    assert_eq!((error.file.as_deref(), error.line), (Some("test/calc.test.js"), Some(2)));
    assert_eq!(
        (error.kind, error.code.as_deref()),
        (LoadErrorKind::MissingSymbol, Some("ERR_MODULE_NOT_FOUND"))
    );
}

#[track_caller]
fn invokes(selection: &Selection, expected: &str) -> Invocation {
    let tools = vec![(PACKAGE.bin.to_owned(), "/p/vitest".to_owned())];
    let facts =
        Facts { root: "/p".to_owned(), scratch: "/s".to_owned(), tools, ..Facts::default() };
    let invocation = invoke(&facts, selection).unwrap();
    let run = "run --reporter=/s/redgreen-vitest.mjs --allowOnly=false --bail=0";
    assert_eq!(
        invocation.call.words.join(" "),
        format!("/p/vitest {}", expected.replace("RUN", run))
    );
    invocation
}

#[test]
fn builds_the_invocation_of_every_selection() {
    invokes(&Selection::All, "RUN --coverage.enabled=false");
    invokes(
        &Selection::Files(vec!["a.test.js".to_owned()]),
        "RUN --coverage.enabled=false a.test.js",
    );
    let one = Selection::One("test/a.test.js > s > 1+1".to_owned());
    let invocation =
        invokes(&one, r"RUN --coverage.enabled=false test/a.test.js -t ^ ?s (> )?1\+1$");
    assert!(invocation.call.env.contains(&("REDGREEN_ONLY".to_owned(), "s > 1+1".to_owned())));
    invokes(&Selection::List, "RUN --coverage.enabled=false -t (?!)");
    let coverage = "RUN --coverage.enabled --coverage.provider=v8 --coverage.reporter=lcovonly \
        --coverage.reportsDirectory=/s/coverage";
    assert_eq!(
        invokes(&Selection::Coverage, coverage).coverage.unwrap().file,
        "coverage/lcov.info"
    );
}

#[test]
fn explains_how_to_install_vitest() {
    let Err(CannotRun::Missing(missing)) = invoke(&Facts::default(), &Selection::All) else {
        panic!("found")
    };
    assert_eq!(missing.next, "npm install -D vitest");
}

#[test]
fn lists_tests_with_their_file() {
    let line =
        r#"{"event":"collected","file":"/project/test/a.test.js","ids":[{"id":"s > a","line":1}]}"#;
    let captured = Capture {
        reports: vec![("stream.jsonl".to_owned(), format!("{line}\n").into_bytes())],
        root: "/project".to_owned(),
        ..Capture::default()
    };
    assert_eq!(list(&captured), ["test/a.test.js > s > a"]);
}
