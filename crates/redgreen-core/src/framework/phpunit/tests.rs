//! Rows over captured runs of PHPUnit, and how it is started.

use super::*;
use crate::framework::samples::{self, Check};

/// The expectations are from the XML, which is empty after a crash; the lines know what was running. A test without an
/// assertion is an error there, in a run that is expected to pass: here it is one that shows nothing. A message there has
/// the test's name before it, and a line is where the test begins.
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
fn captured_runs_are_read_as_a_person_would() {
    Check::new("phpunit", parse).reads(".xml").skips(KNOWN_BETTER).run();
}

#[test]
fn after_a_crash_the_lines_tell_what_was_running() {
    for (situation, status) in [
        ("crash_abort", Status::Crashed),
        ("crash_exit0", Status::Crashed),
        ("crash_oom", Status::Crashed),
        ("hang", Status::TimedOut),
    ] {
        let report = parse(&samples::one("phpunit", situation).captured());
        let seen: Vec<_> = report.tests.iter().filter(|test| test.status != Status::Passed).collect();
        let [test] = seen.as_slice() else { panic!("{situation}: {report:#?}") };
        assert_eq!((test.status, test.file.as_deref()), (status, Some("tests/CalcTest.php")), "{situation}");
        assert_eq!(report.test("CalcTest::testAdds").map(|test| test.status), Some(Status::Passed), "{situation}");
    }
}

#[test]
fn a_failure_has_its_own_line_and_words() {
    let report = parse(&samples::one("phpunit", "one_fail").captured());
    let wrong = report.test("CalcTest::testWrong").unwrap();
    assert_eq!((wrong.file.as_deref(), wrong.line), (Some("tests/CalcTest.php"), Some(13)));
    assert_eq!(wrong.message.as_deref(), Some("Failed asserting that 3 is identical to 4."));
    assert_eq!(report.test("CalcTest::testAdds").unwrap().line, Some(7));
}

#[test]
fn a_test_without_an_assertion_is_no_pass() {
    let report = parse(&samples::one("phpunit", "skipped").captured());
    assert_eq!(report.test("CalcTest::testRisky").map(|test| test.status), Some(Status::Skipped));
}

#[test]
fn what_php_could_not_load_is_told_apart() {
    for (situation, kind, line) in [
        ("syntax_error", LoadErrorKind::Syntax, 11),
        ("missing_parent_class", LoadErrorKind::MissingSymbol, 2),
        ("missing_require", LoadErrorKind::MissingSymbol, 2),
    ] {
        let report = parse(&samples::one("phpunit", situation).captured());
        let [error] = report.load_errors.as_slice() else { panic!("{situation}: {report:#?}") };
        let place = (error.file.as_deref(), error.line);
        assert_eq!((error.kind, place), (kind, (Some("tests/CalcTest.php"), Some(line))), "{situation}: {error:?}");
    }
}

#[test]
fn tests_are_listed_with_their_class() {
    assert_eq!(list(&samples::one("phpunit", "list").captured()), ["CalcTest::testAdds"]);
}

#[track_caller]
fn invokes(tools: &[&str], selection: &Selection, expected: &str) {
    let words = samples::invoked(invoke, tools, selection, |invocation| invocation.call.words.join(" "));
    assert_eq!(words, expected);
}

#[test]
fn the_projects_own_comes_first_and_tests_are_chosen_by_pattern() {
    let base = "phpunit --log-junit /s/junit.xml --log-teamcity /s/run.teamcity";
    let own = &["phpunit"];
    let files = |paths: &[&str]| Selection::Files(paths.iter().map(|path| (*path).to_owned()).collect());
    let one = |id: &str| Selection::One(id.to_owned());
    invokes(own, &Selection::All, base);
    invokes(&["phpunit", "vendor/bin/phpunit"], &Selection::All, &format!("vendor/bin/{base}"));
    invokes(&[], &Selection::All, "PHPUnit is not installed");
    invokes(own, &one("CalcTest::testAdds"), &format!("{base} --filter /^CalcTest::testAdds$/"));
    let data = one(r#"A\CalcTest::testTable with data set "1+1""#);
    invokes(own, &data, &format!(r#"{base} --filter /^A\\CalcTest::testTable with data set "1\+1"$/"#));
    invokes(own, &files(&["tests/CalcTest.php"]), &format!("{base} tests/CalcTest.php"));
    let two = files(&["tests/CalcTest.php", "tests/B/DbTest.php"]);
    invokes(own, &two, &format!(r"{base} --filter /(^|\\)(CalcTest|DbTest)::/"));
    invokes(own, &Selection::List, "phpunit --list-tests-xml /s/list.xml");
    invokes(own, &Selection::Coverage, &format!("{base} --coverage-cobertura /s/cobertura.xml"));
}
