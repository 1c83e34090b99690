//! Real Bats, if it is installed.

use redgreen_core::framework::invoke::Selection;

use super::situations::Situations;
use super::{Project, check, is_installed};

const ADDS: &str = "@test \"adds\" {\n  [ $((1 + 2)) -eq 3 ]\n}\n";

fn project(tests: &str) -> Project {
    Project::new(&[("test/calc.bats", tests)])
}

#[test]
fn every_situation() {
    Situations {
        program: "bats",
        project,
        all_pass: (ADDS, &["Passed", "Passed calc.bats::adds"]),
        assertion_fails: (
            "@test \"adds\" {\n  [ 1 -eq 2 ]\n}\n",
            &["Failed", "Failed calc.bats::adds"],
        ),
        missing_module: (
            "source ./nosuch.sh\n@test \"a\" {\n  true\n}\n",
            &["DidNotCompile", "MissingSymbol - test/calc.bats:1"],
        ),
        // To bash this is a failing command.
        missing_function: (
            "@test \"a\" {\n  subtract 2 1\n}\n",
            &["Failed", "Failed calc.bats::a"],
        ),
        syntax_error: ("@test \"b\" {\n  if\n}\n", &["DidNotCompile", "Syntax - test/calc.bats:…"]),
        none_collected: ("# nothing\n", &["NoTests"]),
        filter_matches_nothing: ("calc.bats::nothing", &["NoTests"]),
        // Each test is a process. One that exits early has failed.
        ends_with_0: (
            "@test \"ends\" {\n  exit 0\n  false\n}\n",
            &["Failed", "Failed calc.bats::ends"],
        ),
        hangs: ("@test \"hangs\" {\n  sleep 600\n}\n", &["TimedOut", "…"]),
        hang_seconds: 4,
        skipped: ("@test \"waits\" {\n  skip\n}\n", &["Skipped", "Skipped calc.bats::waits"]),
        parameters: (
            "@test \"is (1+1) [a*]\" {\n  true\n}\n@test \"is <2>\" {\n  false\n}\n",
            &["Failed", "Failed calc.bats::is <2>", "Passed calc.bats::is (1+1) [a*]"],
        ),
        // Bats cannot tell which lines are its own.
        imitates_a_summary: (
            "@test \"forges\" {\n  echo 'ok 2 ghost' >&3\n  false\n}\n",
            &["Crashed", "Failed calc.bats::forges"],
        ),
    }
    .check();
}

#[test]
fn one_file_and_where_it_failed() {
    if !is_installed("bats") {
        return;
    }
    let project = project(&format!("{ADDS}@test \"is wrong (1+1)\" {{\n  [ 1 -eq 2 ]\n}}\n"));
    let report =
        check(&project, &["Failed", "Failed calc.bats::is wrong (1+1)", "Passed calc.bats::adds"]);
    let failed = report.test("calc.bats::is wrong (1+1)").unwrap();
    assert_eq!((failed.file.as_deref(), failed.line), (Some("test/calc.bats"), Some(5)));
    assert_eq!(
        project.one("calc.bats::is wrong (1+1)"),
        "Failed\nFailed calc.bats::is wrong (1+1)"
    );
    assert_eq!(project.list(), ["calc.bats::adds", "calc.bats::is wrong (1+1)"]);
    let file = project.select(&Selection::Files(vec!["test/calc.bats".to_owned()]));
    assert_eq!(file.tests.len(), 2);
}
