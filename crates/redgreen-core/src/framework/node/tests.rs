//! Rows over captured streams of `node --test`, and how it is started.

use super::*;
use crate::framework::samples::{self, Check};
use crate::report::LoadErrorKind;

/// A file that ends its own process with 0 looks like one without tests: only ids that were known before can tell. That
/// a file to run does not exist is an error here, not a run without tests.
const ALONE: &[(&str, Outcome)] = &[("crash_exit0", Outcome::NoTests), ("filter_none_file", Outcome::UsageError)];

/// The expectations know only the last name of a test, and files by their whole path.
fn last(id: &str) -> String {
    match javascript::split_id(id) {
        Some((_, name)) => name.rsplit(javascript::MARK).next().unwrap_or(name).to_owned(),
        None => format!("/project/{id}"),
    }
}

#[test]
fn captured_runs_of_20_are_read_as_a_person_would() {
    Check::new("node-test-stream", parse).ids(last).alone(ALONE).run();
}

#[test]
fn captured_runs_of_22_are_read_as_a_person_would() {
    Check::new("node-test22-stream", parse).ids(last).alone(ALONE).run();
}

#[test]
fn captured_runs_of_26_are_read_as_a_person_would() {
    Check::new("node-test26-stream", parse).ids(last).alone(ALONE).run();
}

#[test]
fn a_file_that_does_not_load_says_why_and_where() {
    for (situation, kind, code, place) in [
        ("missing_module", LoadErrorKind::MissingSymbol, "MODULE_NOT_FOUND", "test/calc.test.js:3"),
        ("missing_export_esm", LoadErrorKind::MissingSymbol, "SyntaxError", "test/calc.test.mjs:2"),
        ("syntax_error", LoadErrorKind::Syntax, "SyntaxError", "test/calc.test.js:4"),
        ("file_throws_no_test", LoadErrorKind::Other, "Error", "test/calc.test.js:1"),
    ] {
        let report = parse(&samples::one("node-test-stream", situation).captured());
        let error = &report.load_errors[0];
        let seen = format!("{}:{}", error.file.as_deref().unwrap_or_default(), error.line.unwrap_or_default());
        assert_eq!((error.kind, error.code.as_deref(), seen.as_str()), (kind, Some(code), place), "{situation}");
    }
}

#[test]
fn an_id_has_the_file_and_the_suites() {
    let report = parse(&samples::one("node-test-stream", "setup_error").captured());
    assert_eq!(report.tests[0].id, "test/calc.test.js > a > t");
}

#[track_caller]
fn invokes(selection: &Selection, expected: &str) {
    let tools = vec![("node".to_owned(), "node".to_owned())];
    let facts = Facts { scratch: "/s".to_owned(), tools, ..Facts::default() };
    let words = invoke(&facts, selection).unwrap().call.words.join(" ");
    let start = "node --test --test-reporter=/s/redgreen-node.mjs --test-reporter-destination=/s/stream.jsonl";
    assert_eq!(words, format!("{start}{}", expected.replace("CHILD", "--require=/s/redgreen-node-child.cjs")));
}

#[test]
fn all_files_one_and_coverage() {
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
fn what_the_projects_script_says_is_kept() {
    let manifest = r#"{"scripts": {"test": "node --import tsx --test src/**/*.test.ts"}}"#;
    let texts = vec![("package.json".to_owned(), manifest.to_owned())];
    let folder = Folder { texts, ..Folder::default() };
    let tools = vec![("node".to_owned(), "/bin/node".to_owned())];
    let facts = Facts { scratch: "/s".to_owned(), tools, folder, ..Facts::default() };
    let words = |selection: &Selection| invoke(&facts, selection).unwrap().call.words.join(" ");
    let start = "sh -c exec \"$0\" \"$@\" src/**/*.test.ts /bin/node --import tsx --test ";
    assert!(words(&Selection::All).starts_with(start), "{}", words(&Selection::All));
    let file = words(&Selection::Files(vec!["src/a.test.ts".to_owned()]));
    assert!(file.starts_with("/bin/node --import tsx --test ") && file.ends_with(" src/a.test.ts"), "{file}");
}
