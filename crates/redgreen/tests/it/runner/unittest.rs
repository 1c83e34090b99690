//! Real unittest, with the interpreter that runs pytest in the other tests.

use redgreen_core::framework::invoke::Selection;
use redgreen_core::report::Report;

use super::situations::Situations;
use super::{Project, check};

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
fn every_situation() {
    Situations {
        program: "python3",
        project,
        all_pass: (ADDS, &["Passed", "Passed tests.test_calc.Calc.test_adds"]),
        assertion_fails: (
            "    def test_a(self):\n        self.assertEqual(1, 2)\n",
            &["Failed", "Failed tests.test_calc.Calc.test_a"],
        ),
        missing_module: (
            "    import roman\n",
            &["DidNotCompile", "MissingSymbol ModuleNotFoundError tests/test_calc.py:3"],
        ),
        missing_function: (
            "    def test_a(self):\n        calc.subtract(1, 2)\n",
            &["Errored", "Errored tests.test_calc.Calc.test_a"],
        ),
        syntax_error: ("    def x(:\n", &["DidNotCompile", "Syntax SyntaxError tests/test_calc.py:3"]),
        none_collected: ("    pass\n", &["NoTests"]),
        filter_matches_nothing: ("tests.test_calc.Calc.test_nothing", &["UsageError"]),
        ends_with_0: (
            "    def test_a(self):\n        import os\n        os._exit(0)\n",
            &["Crashed", "Crashed tests.test_calc.Calc.test_a"],
        ),
        hangs: (
            "    def test_a(self):\n        import time\n        time.sleep(60)\n",
            &["TimedOut", "TimedOut tests.test_calc.Calc.test_a"],
        ),
        hang_seconds: 4,
        skipped: (
            "    @unittest.skip('later')\n    def test_a(self):\n        pass\n",
            &["Skipped", "Skipped tests.test_calc.Calc.test_a"],
        ),
        parameters: (
            "    def test_a(self):\n        for i in (1, 2):\n            with self.subTest(i=i):\n                self.assertEqual(i, 1)\n",
            &["Failed", "Failed tests.test_calc.Calc.test_a (i=2)"],
        ),
        imitates_a_summary: (
            "    def test_a(self):\n        import os\n        os.write(1, b'{\"event\": \"finish\"}\\nOK\\n')\n        self.fail()\n",
            &["Failed", "Failed tests.test_calc.Calc.test_a"],
        ),
    }
    .check();
}

#[test]
fn an_assertion_fails_with_its_line() {
    let body =
        format!("{ADDS}    def test_bad(self):\n        x = 1\n        self.assertEqual(x, 2)\n");
    let report = unittest(
        &body,
        &[
            "Failed",
            "Failed tests.test_calc.Calc.test_bad",
            "Passed tests.test_calc.Calc.test_adds",
        ],
    );
    assert_eq!(
        (report.runner.as_str(), report.command.as_str()),
        ("unittest", "python -m unittest")
    );
    let bad = report.test("tests.test_calc.Calc.test_bad").unwrap();
    assert_eq!((bad.file.as_deref(), bad.line), (Some("tests/test_calc.py"), Some(7)));
    assert_eq!(
        (bad.message.as_deref(), bad.exception.as_deref()),
        (Some("1 != 2"), Some("AssertionError"))
    );
}

#[test]
fn files_that_do_not_load_stand_beside_tests_that_run() {
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
fn expected_failures() {
    unittest(
        "    @unittest.expectedFailure\n    def test_xfail(self):\n        self.fail()\n",
        &["Passed", "Xfailed tests.test_calc.Calc.test_xfail"],
    );
}

#[test]
fn a_folder_that_is_no_package_is_found_too() {
    let test =
        "import unittest\nclass A(unittest.TestCase):\n    def test_a(self):\n        pass\n";
    let project = Project::new(&[("tests/test_a.py", test)]);
    check(&project, &["Passed", "Passed test_a.A.test_a"]);
    assert_eq!(project.one("test_a.A.test_a"), "Passed\nPassed test_a.A.test_a");
}

#[test]
fn one_test_one_file_and_the_list() {
    let project = project(&format!("{ADDS}    def test_bad(self):\n        self.fail()\n"));
    assert_eq!(
        project.one("tests.test_calc.Calc.test_adds"),
        "Passed\nPassed tests.test_calc.Calc.test_adds"
    );
    assert_eq!(project.one("tests.test_calc.Calc.test_nothing"), "UsageError");
    let file = project.select(&Selection::Files(vec!["tests/test_calc.py".to_owned()]));
    assert_eq!(file.tests.len(), 2);
    assert_eq!(project.list(), ["tests.test_calc.Calc.test_adds", "tests.test_calc.Calc.test_bad"]);
}
