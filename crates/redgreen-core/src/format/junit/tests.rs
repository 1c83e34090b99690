//! Tests over captured documents in every dialect.

use super::*;
use crate::framework::captured::Capture;
use crate::framework::samples::Check;

/// The report of the document alone. Normally the framework concludes the outcome.
fn read(captured: &Capture, dialect: &Dialect) -> Report {
    let documents: Vec<Document> = captured.files(".xml").map(parse).collect();
    let mut report = captured.report("junit", &[]);
    add(&mut report, dialect, &documents, |path| captured.relative(path));
    report.conclude();
    report
}

macro_rules! dialects {
    ($($test:ident: $runner:literal, $dialect:expr, $skips:expr;)*) => {$(
        #[test]
        fn $test() {
            let skips: &'static [(&'static str, &'static str)] = $skips;
            Check::new($runner, |captured| read(captured, &$dialect)).reads(".xml").skips(skips).run();
        }
    )*};
}

const ALL: &[(&str, &str)] = &[("*", "outcome"), ("*", "kinds")];
/// Runs that ended before there was a document: compile errors and an unknown flag.
const CONSOLE: &[(&str, &str)] = &[
    ("bad_usage", "outcome"),
    ("missing_function", "outcome"),
    ("missing_function", "kinds"),
    ("syntax_error", "outcome"),
    ("syntax_error", "kinds"),
];

dialects! {
    surefire: "maven-junit5", SUREFIRE, ALL;
    gradle: "gradle-junit4", GRADLE, ALL;
    junit_console: "junit-console", JUNIT_CONSOLE, CONSOLE;
    nextest: "cargo-nextest", NEXTEST, ALL;
    phpunit: "phpunit", PHPUNIT, ALL;
    bats: "bats", BATS, ALL;
    catch2: "catch2", CATCH2, &[];
    ctest: "ctest-gtest", CTEST, ALL;
    bun: "bun-test", BUN, ALL;
    deno: "deno-test", DENO, ALL;
    // An interrupted test is a case without a name, in a run that exits with 0.
    pytest: "pytest", PYTEST, &[("*", "outcome"), ("*", "kinds"), ("pytest_exit0", "flips")];
    xmlrunner: "unittest-xmlrunner", XMLRUNNER, ALL;
}

#[test]
fn a_truncated_document_is_not_complete() {
    let whole = "<testsuites><testsuite><testcase name=\"a\"/></testsuite></testsuites>";
    assert!(parse(whole.as_bytes()).complete);
    for end in 0..whole.len() {
        assert!(!parse(&whole.as_bytes()[..end]).complete, "{end}");
    }
    assert!(!parse(b"<html></html>").complete);
}
