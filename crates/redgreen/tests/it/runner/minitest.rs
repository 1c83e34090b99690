//! Real minitest, where ruby and minitest are installed.

use std::process::Command;
use std::time::Duration;

use redgreen::process::Stop;
use redgreen::runner::detect;
use redgreen_core::framework::invoke::Selection;
use redgreen_core::report::Outcome;

use super::{Project, check, is_installed, settings, shown};

const CALC: &str = "def add(a, b)\n  a + b\nend\n";
const ADDS: &str = "  def test_adds\n    assert_equal 3, add(1, 2)\n  end\n";

fn has_minitest() -> bool {
    #[expect(clippy::disallowed_methods, reason = "asks for the gem")]
    let loads = || Command::new("ruby").args(["-e", "require 'minitest'"]).output().is_ok_and(|it| it.status.success());
    is_installed("ruby") && loads()
}

fn project(tests: &str) -> Project {
    let tests = format!("require 'minitest/autorun'\nrequire 'calc'\nclass CalcTest < Minitest::Test\n{tests}end\n");
    Project::new(&[("lib/calc.rb", CALC), ("test/calc_test.rb", &tests)])
}

#[test]
fn passes_fails_and_says_where() {
    if !has_minitest() {
        return;
    }
    check(&project(ADDS), &["Passed", "Passed CalcTest#test_adds"]);
    let failing = project(&format!(
        "{ADDS}  def test_wrong\n    assert_equal 4, add(1, 2)\n  end\n  def test_waits\n    skip 'later'\n  end\n"
    ));
    let report = check(
        &failing,
        &["Failed", "Failed CalcTest#test_wrong", "Passed CalcTest#test_adds", "Skipped CalcTest#test_waits"],
    );
    let failed = report.test("CalcTest#test_wrong").unwrap();
    assert_eq!((failed.file.as_deref(), failed.line), (Some("test/calc_test.rb"), Some(7)));
    assert_eq!(failing.one("CalcTest#test_adds"), "Passed\nPassed CalcTest#test_adds");
    assert_eq!(failing.one("CalcTest#test_nothing"), "NoTests");
    assert_eq!(failing.list().len(), 3);
    let file = failing.select(&Selection::Files(vec!["test/calc_test.rb".to_owned()]));
    assert_eq!(file.tests.len(), 3);
}

#[test]
fn what_is_missing_and_what_does_not_parse_are_told_apart() {
    if !has_minitest() {
        return;
    }
    let missing = project(ADDS);
    missing.write("test/new_test.rb", "\nrequire 'roman'\n");
    check(&missing, &["DidNotCompile", "MissingSymbol LoadError test/new_test.rb:2", "Passed CalcTest#test_adds"]);
    let broken = shown(&project("  def test_a(\n  end\n").run());
    assert!(broken.starts_with("DidNotCompile\nSyntax SyntaxError test/calc_test.rb:"), "{broken}");
    check(&project("  def test_sub\n    subtract(2, 1)\n  end\n"), &["Errored", "Errored CalcTest#test_sub"]);
}

#[test]
fn nothing_to_run_an_exit_and_a_hang() {
    if !has_minitest() {
        return;
    }
    check(&project(""), &["NoTests"]);
    for end in ["exit(0)", "exit!(0)", "Process.kill(:KILL, Process.pid)"] {
        let report = project(&format!("{ADDS}  def test_end\n    {end}\n  end\n")).run();
        assert_eq!(report.outcome, Outcome::Crashed, "{end}: {report:#?}");
    }
    let hang = project("  def test_hang\n    sleep\n  end\n");
    assert!(shown(&hang.run_within(Duration::from_secs(5))).starts_with("TimedOut"));
}

#[test]
fn lines_that_were_reached_are_known() {
    if !has_minitest() {
        return;
    }
    let project = project(ADDS);
    let suite = detect(project.0.path()).unwrap();
    let (report, coverage) = suite.coverage(project.0.path(), &settings(), &Stop::default()).unwrap();
    assert_eq!(shown(&report), "Passed\nPassed CalcTest#test_adds");
    let coverage = coverage.unwrap();
    assert_eq!(coverage.files["lib/calc.rb"].lines.get(&2), Some(&1), "{coverage:?}");
}
