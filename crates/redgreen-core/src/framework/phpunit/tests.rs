//! Tests for PHPUnit: captured runs and invocation.

use super::*;
use crate::framework::samples::{self, Check};

/// The expectations come from the XML, which is empty after a crash; the TeamCity lines show the
/// running test. The XML reports a test without assertions as an error in a run that is expected to
/// pass; here it counts as skipped. Messages in the XML start with the test's name, and lines are
/// where the test starts.
const KNOWN_BETTER: &[(&str, &str)] = &[
    ("*", "message"),
    ("*", "line"),
    ("warning_deprecation", "tests"),
    ("crash_abort", "tests"),
    ("crash_exit0", "tests"),
    ("crash_oom", "tests"),
    ("hang", "tests"),
    ("skipped", "tests"),
];

#[test]
fn parses_captured_runs() {
    Check::new("phpunit", parse).reads(".xml").skips(KNOWN_BETTER).run();
}

#[test]
fn teamcity_lines_show_the_running_test_after_a_crash() {
    for (situation, status) in [
        ("crash_abort", Status::Crashed),
        ("crash_exit0", Status::Crashed),
        ("crash_oom", Status::Crashed),
        ("hang", Status::TimedOut),
    ] {
        let report = parse(&samples::one("phpunit", situation).captured());
        let seen: Vec<_> =
            report.tests.iter().filter(|test| test.status != Status::Passed).collect();
        let [test] = seen.as_slice() else { panic!("{situation}: {report:#?}") };
        assert_eq!(
            (test.status, test.file.as_deref()),
            (status, Some("tests/CalcTest.php")),
            "{situation}"
        );
        assert_eq!(
            report.test("CalcTest::testAdds").map(|test| test.status),
            Some(Status::Passed),
            "{situation}"
        );
    }
}

#[test]
fn failures_have_their_own_line_and_message() {
    let report = parse(&samples::one("phpunit", "one_fail").captured());
    let wrong = report.test("CalcTest::testWrong").unwrap();
    assert_eq!((wrong.file.as_deref(), wrong.line), (Some("tests/CalcTest.php"), Some(13)));
    assert_eq!(wrong.message.as_deref(), Some("Failed asserting that 3 is identical to 4."));
    assert_eq!(report.test("CalcTest::testAdds").unwrap().line, Some(7));
}

#[test]
fn a_test_without_assertions_does_not_pass() {
    let report = parse(&samples::one("phpunit", "skipped").captured());
    assert_eq!(report.test("CalcTest::testRisky").map(|test| test.status), Some(Status::Skipped));
}

#[test]
fn classifies_load_errors() {
    for (situation, kind, line) in [
        ("syntax_error", LoadErrorKind::Syntax, 11),
        ("missing_parent_class", LoadErrorKind::MissingSymbol, 2),
        ("missing_require", LoadErrorKind::MissingSymbol, 2),
    ] {
        let report = parse(&samples::one("phpunit", situation).captured());
        let [error] = report.load_errors.as_slice() else { panic!("{situation}: {report:#?}") };
        let place = (error.file.as_deref(), error.line);
        assert_eq!(
            (error.kind, place),
            (kind, (Some("tests/CalcTest.php"), Some(line))),
            "{situation}: {error:?}"
        );
    }
}

#[test]
fn lists_tests_with_their_class() {
    assert_eq!(list(&samples::one("phpunit", "list").captured()), ["CalcTest::testAdds"]);
}

#[track_caller]
fn invokes(tools: &[&str], selection: &Selection, expected: &str) {
    let words =
        samples::invoked(invoke, tools, selection, |invocation| invocation.call.words.join(" "));
    assert_eq!(words, expected);
}

#[test]
fn prefers_the_project_runner_and_selects_by_pattern() {
    let base = "phpunit --log-junit /s/junit.xml --log-teamcity /s/run.teamcity";
    let own = &["phpunit"];
    let files =
        |paths: &[&str]| Selection::Files(paths.iter().map(|path| (*path).to_owned()).collect());
    let one = |id: &str| Selection::One(id.to_owned());
    invokes(own, &Selection::All, base);
    invokes(&["phpunit", "vendor/bin/phpunit"], &Selection::All, &format!("vendor/bin/{base}"));
    invokes(&[], &Selection::All, "PHPUnit is not installed");
    invokes(own, &one("CalcTest::testAdds"), &format!("{base} --filter /^CalcTest::testAdds$/"));
    let data = one(r#"A\CalcTest::testTable with data set "1+1""#);
    invokes(
        own,
        &data,
        &format!(r#"{base} --filter /^A\\CalcTest::testTable with data set "1\+1"$/"#),
    );
    invokes(own, &files(&["tests/CalcTest.php"]), &format!("{base} tests/CalcTest.php"));
    let two = files(&["tests/CalcTest.php", "tests/B/DbTest.php"]);
    invokes(own, &two, &format!(r"{base} --filter /(^|\\)(CalcTest|DbTest)::/"));
    invokes(own, &Selection::List, "phpunit --list-tests-xml /s/list.xml");
    invokes(own, &Selection::Coverage, &format!("{base} --coverage-cobertura /s/cobertura.xml"));
}
