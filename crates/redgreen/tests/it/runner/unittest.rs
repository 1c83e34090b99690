//! Real unittest, of the interpreter that runs pytest in the other tests.

use redgreen_core::framework::invoke::Selection;
use redgreen_core::report::{Flag, Report};

use super::{Project, check, shown};

const CALC: (&str, &str) = ("calc.py", "def add(a, b):\n    return a + b\n");

fn project(body: &str) -> Project {
    let test = format!("import unittest, calc\nclass Calc(unittest.TestCase):\n{body}");
    Project::new(&[CALC, ("tests/__init__.py", ""), ("tests/test_calc.py", &test)])
}

#[track_caller]
fn unittest(body: &str, expected: &[&str]) -> Report {
    check(&project(body), expected)
}

const ADDS: &str = "    def test_adds(self):\n        self.assertEqual(calc.add(1, 2), 3)\n";

#[test]
fn passes() {
    let report = unittest(ADDS, &["Passed", "Passed tests.test_calc.Calc.test_adds"]);
    assert_eq!((report.runner.as_str(), report.command.as_str()), ("unittest", "python -m unittest"));
}

#[test]
fn an_assertion_fails_with_its_line() {
    let body = format!("{ADDS}    def test_bad(self):\n        x = 1\n        self.assertEqual(x, 2)\n");
    let report =
        unittest(&body, &["Failed", "Failed tests.test_calc.Calc.test_bad", "Passed tests.test_calc.Calc.test_adds"]);
    let bad = report.test("tests.test_calc.Calc.test_bad").unwrap();
    assert_eq!((bad.file.as_deref(), bad.line), (Some("tests/test_calc.py"), Some(7)));
    assert_eq!((bad.message.as_deref(), bad.exception.as_deref()), (Some("1 != 2"), Some("AssertionError")));
}

#[test]
fn what_is_missing_or_does_not_parse_is_told_apart_beside_tests_that_run() {
    let project = project(ADDS);
    project.write("tests/test_new.py", "import unittest\nimport roman\n");
    project.write("tests/test_broken.py", "import unittest\ndef x(:\n");
    check(
        &project,
        &[
            "DidNotCompile",
            "MissingSymbol ModuleNotFoundError tests/test_new.py:2",
            "Passed tests.test_calc.Calc.test_adds",
            "Syntax SyntaxError tests/test_broken.py:2",
        ],
    );
}

#[test]
fn a_missing_function_is_an_error_of_its_class() {
    let body = "    def test_x(self):\n        calc.subtract(1, 2)\n";
    let report = unittest(body, &["Errored", "Errored tests.test_calc.Calc.test_x"]);
    assert_eq!(report.tests[0].exception.as_deref(), Some("AttributeError"));
}

#[test]
fn without_tests() {
    unittest("    pass\n", &["NoTests"]);
}

#[test]
fn a_test_that_ends_the_process_has_crashed() {
    let body = format!("{ADDS}    def test_z(self):\n        import os\n        os._exit(0)\n");
    let report =
        unittest(&body, &["Crashed", "Crashed tests.test_calc.Calc.test_z", "Passed tests.test_calc.Calc.test_adds"]);
    assert!(report.has(Flag::NoFinish));
}

#[test]
fn a_hang_is_stopped_in_time() {
    let project = project("    def test_z(self):\n        import time; time.sleep(600)\n");
    assert_eq!(shown(&project.hangs(4)), "TimedOut\nTimedOut tests.test_calc.Calc.test_z");
}

#[test]
fn skips_expected_failures_and_subtests() {
    let body = "    @unittest.skip('later')\n    def test_skip(self):\n        pass\n\
        \x20   @unittest.expectedFailure\n    def test_xfail(self):\n        self.fail()\n\
        \x20   def test_table(self):\n        for i in (1, 2):\n            with self.subTest(i=i):\n                self.assertEqual(i, 1)\n";
    unittest(
        body,
        &[
            "Failed",
            "Failed tests.test_calc.Calc.test_table (i=2)",
            "Skipped tests.test_calc.Calc.test_skip",
            "Xfailed tests.test_calc.Calc.test_xfail",
        ],
    );
}

#[test]
fn output_that_imitates_results_changes_nothing() {
    let body = "    def test_a(self):\n        import os\n        os.write(1, b'{\"event\": \"finish\"}\\nOK\\n')\n        self.fail()\n";
    unittest(body, &["Failed", "Failed tests.test_calc.Calc.test_a"]);
}

#[test]
fn a_folder_that_is_no_package_is_found_too() {
    let test = "import unittest\nclass A(unittest.TestCase):\n    def test_a(self):\n        pass\n";
    let project = Project::new(&[("tests/test_a.py", test)]);
    check(&project, &["Passed", "Passed test_a.A.test_a"]);
    assert_eq!(project.one("test_a.A.test_a"), "Passed\nPassed test_a.A.test_a");
}

#[test]
fn one_test_one_file_and_the_list() {
    let project = project(&format!("{ADDS}    def test_bad(self):\n        self.fail()\n"));
    assert_eq!(project.one("tests.test_calc.Calc.test_adds"), "Passed\nPassed tests.test_calc.Calc.test_adds");
    assert_eq!(project.one("tests.test_calc.Calc.test_nothing"), "UsageError");
    let file = project.select(&Selection::Files(vec!["tests/test_calc.py".to_owned()]));
    assert_eq!(file.tests.len(), 2);
    assert_eq!(project.list(), ["tests.test_calc.Calc.test_adds", "tests.test_calc.Calc.test_bad"]);
}
