//! Tests for `node --test`: captured streams and invocation.

use super::*;
use crate::framework::samples::{self, Check};
use crate::report::LoadErrorKind;

/// A file that exits its own process with 0 looks like a file without tests; only earlier ids
/// reveal it. A missing file to run is an error here, not a run without tests.
const ALONE: &[(&str, Outcome)] =
    &[("crash_exit0", Outcome::NoTests), ("filter_none_file", Outcome::UsageError)];

/// The expectations have only the last name of a test, and absolute paths.
fn last(id: &str) -> String {
    match javascript::split_id(id) {
        Some((_, name)) => name.rsplit(javascript::MARK).next().unwrap_or(name).to_owned(),
        None => format!("/project/{id}"),
    }
}

#[test]
fn parses_captured_runs_of_20() {
    Check::new("node-test-stream", parse).ids(last).alone(ALONE).run();
}

#[test]
fn parses_captured_runs_of_22() {
    Check::new("node-test22-stream", parse).ids(last).alone(ALONE).run();
}

#[test]
fn parses_captured_runs_of_26() {
    Check::new("node-test26-stream", parse).ids(last).alone(ALONE).run();
}

#[test]
fn load_errors_have_a_reason_and_a_place() {
    for (situation, kind, code, place) in [
        ("missing_module", LoadErrorKind::MissingSymbol, "MODULE_NOT_FOUND", "test/calc.test.js:3"),
        ("missing_export_esm", LoadErrorKind::MissingSymbol, "SyntaxError", "test/calc.test.mjs:2"),
        ("syntax_error", LoadErrorKind::Syntax, "SyntaxError", "test/calc.test.js:4"),
        ("file_throws_no_test", LoadErrorKind::Other, "Error", "test/calc.test.js:1"),
    ] {
        let report = parse(&samples::one("node-test-stream", situation).captured());
        let error = &report.load_errors[0];
        let seen = format!(
            "{}:{}",
            error.file.as_deref().unwrap_or_default(),
            error.line.unwrap_or_default()
        );
        assert_eq!(
            (error.kind, error.code.as_deref(), seen.as_str()),
            (kind, Some(code), place),
            "{situation}"
        );
    }
}

#[test]
fn ids_contain_the_file_and_the_suites() {
    let report = parse(&samples::one("node-test-stream", "setup_error").captured());
    assert_eq!(report.tests[0].id, "test/calc.test.js > a > t");
}

#[track_caller]
fn invokes(selection: &Selection, expected: &str) {
    let tools = vec![("node".to_owned(), "node".to_owned())];
    let facts = Facts { scratch: "/s".to_owned(), tools, ..Facts::default() };
    let words = invoke(&facts, selection).unwrap().call.words.join(" ");
    let start = "node --test --test-reporter=/s/redgreen-node.mjs --test-reporter-destination=/s/stream.jsonl";
    assert_eq!(
        words,
        format!("{start}{}", expected.replace("CHILD", "--require=/s/redgreen-node-child.cjs"))
    );
}

#[test]
fn builds_the_invocation_of_every_selection() {
    invokes(&Selection::All, " CHILD");
    invokes(&Selection::Files(vec!["a.test.js".to_owned()]), " CHILD a.test.js");
    invokes(
        &Selection::One("a.test.js > s > 1+1".to_owned()),
        r" CHILD --test-name-pattern=^s$ --test-name-pattern=^1\+1$ a.test.js",
    );
    let coverage = " --experimental-test-coverage --test-reporter=lcov --test-reporter-destination=/s/lcov.info";
    invokes(&Selection::Coverage, coverage);
    invokes(&Selection::List, " CHILD");
}

#[test]
fn keeps_the_arguments_of_the_project_script() {
    let manifest = r#"{"scripts": {"test": "node --import tsx --test src/**/*.test.ts"}}"#;
    let texts = vec![("package.json".to_owned(), manifest.to_owned())];
    let folder = Folder { texts, ..Folder::default() };
    let tools = vec![("node".to_owned(), "/bin/node".to_owned())];
    let facts = Facts { scratch: "/s".to_owned(), tools, folder, ..Facts::default() };
    let words = |selection: &Selection| invoke(&facts, selection).unwrap().call.words.join(" ");
    let start = "sh -c exec \"$0\" \"$@\" src/**/*.test.ts /bin/node --import tsx --test ";
    assert!(words(&Selection::All).starts_with(start), "{}", words(&Selection::All));
    let file = words(&Selection::Files(vec!["src/a.test.ts".to_owned()]));
    assert!(
        file.starts_with("/bin/node --import tsx --test ") && file.ends_with(" src/a.test.ts"),
        "{file}"
    );
}
