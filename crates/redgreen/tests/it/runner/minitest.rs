//! Real minitest, if Ruby has it.

use redgreen::process::Stop;
use redgreen::runner::detect;
use redgreen_core::framework::invoke::Selection;
use redgreen_core::report::Outcome;

use super::situations::Situations;
use super::{Project, check, is_installed, settings, shown};

const CALC: &str = "def add(a, b)\n  a + b\nend\n";
const ADDS: &str = "  def test_adds\n    assert_equal 3, add(1, 2)\n  end\n";

fn project(tests: &str) -> Project {
    let tests = format!(
        "require 'minitest/autorun'\nrequire 'calc'\nclass CalcTest < Minitest::Test\n{tests}end\n"
    );
    Project::new(&[("lib/calc.rb", CALC), ("test/calc_test.rb", &tests)])
}

#[test]
fn every_situation() {
    Situations {
        program: "ruby",
        project,
        all_pass: (ADDS, &["Passed", "Passed CalcTest#test_adds"]),
        assertion_fails: ("  def test_a\n    assert_equal 4, add(1, 2)\n  end\n", &["Failed", "Failed CalcTest#test_a"]),
        missing_module: ("  require 'roman'\n", &["DidNotCompile", "MissingSymbol LoadError test/calc_test.rb:4"]),
        missing_function: ("  def test_a\n    subtract(2, 1)\n  end\n", &["Errored", "Errored CalcTest#test_a"]),
        syntax_error: ("  def test_a(\n  end\n", &["DidNotCompile", "Syntax SyntaxError test/calc_test.rb:…"]),
        none_collected: ("", &["NoTests"]),
        filter_matches_nothing: ("CalcTest#test_nothing", &["NoTests"]),
        ends_with_0: ("  def test_end\n    exit!(0)\n  end\n", &["Crashed", "Crashed CalcTest#test_end"]),
        hangs: ("  def test_hang\n    sleep\n  end\n", &["TimedOut", "TimedOut CalcTest#test_hang"]),
        hang_seconds: 4,
        skipped: ("  def test_waits\n    skip 'later'\n  end\n", &["Skipped", "Skipped CalcTest#test_waits"]),
        parameters: (
            "  [1, 2].each { |n| define_method(\"test_is_#{n}\") { assert_equal 1, n } }\n",
            &["Failed", "Failed CalcTest#test_is_2", "Passed CalcTest#test_is_1"],
        ),
        imitates_a_summary: (
            "  def test_a\n    puts \"{\\\"event\\\":\\\"finish\\\"}\\n1 runs, 1 assertions, 0 failures\"\n    assert false\n  end\n",
            &["Failed", "Failed CalcTest#test_a"],
        ),
    }
    .check();
}

#[test]
fn one_file_the_list_and_where_it_failed() {
    if !is_installed("ruby") {
        return;
    }
    let project =
        project(&format!("{ADDS}  def test_wrong\n    assert_equal 4, add(1, 2)\n  end\n"));
    let report =
        check(&project, &["Failed", "Failed CalcTest#test_wrong", "Passed CalcTest#test_adds"]);
    let failed = report.test("CalcTest#test_wrong").unwrap();
    assert_eq!((failed.file.as_deref(), failed.line), (Some("test/calc_test.rb"), Some(7)));
    assert_eq!(project.one("CalcTest#test_adds"), "Passed\nPassed CalcTest#test_adds");
    assert_eq!(project.list().len(), 2);
    project.write("test/new_test.rb", "\nrequire 'roman'\n");
    let broken = shown(&project.run());
    assert!(
        broken.starts_with("DidNotCompile\nFailed CalcTest#test_wrong\nMissingSymbol LoadError"),
        "{broken}"
    );
    let file = project.select(&Selection::Files(vec!["test/calc_test.rb".to_owned()]));
    assert_eq!((file.outcome, file.tests.len()), (Outcome::Failed, 2));
}

#[test]
fn an_end_from_within_is_a_crash_however_it_is_made() {
    if !is_installed("ruby") {
        return;
    }
    for end in ["exit(0)", "Process.kill(:KILL, Process.pid)"] {
        let report = project(&format!("{ADDS}  def test_end\n    {end}\n  end\n")).run();
        assert_eq!(report.outcome, Outcome::Crashed, "{end}: {report:#?}");
    }
}

#[test]
fn lines_that_were_reached_are_known() {
    if !is_installed("ruby") {
        return;
    }
    let project = project(ADDS);
    let suite = detect(project.0.path()).unwrap();
    let (report, coverage) =
        suite.coverage(project.0.path(), &settings(), &Stop::default()).unwrap();
    assert_eq!(shown(&report), "Passed\nPassed CalcTest#test_adds");
    let coverage = coverage.unwrap();
    assert_eq!(coverage.files["lib/calc.rb"].lines.get(&2), Some(&1), "{coverage:?}");
}
