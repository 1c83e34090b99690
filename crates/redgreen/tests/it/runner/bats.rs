//! Real Bats, where it is installed.

use std::time::Duration;

use redgreen_core::framework::invoke::Selection;
use redgreen_core::report::Outcome;

use super::{Project, check, is_installed, shown};

const ADDS: &str = "@test \"adds\" {\n  [ $((1 + 2)) -eq 3 ]\n}\n";

fn project(tests: &str) -> Project {
    Project::new(&[("test/calc.bats", tests)])
}

#[test]
fn passes_fails_and_says_where() {
    if !is_installed("bats") {
        return;
    }
    check(&project(ADDS), &["Passed", "Passed calc.bats::adds"]);
    let failing =
        project(&format!("{ADDS}@test \"is wrong (1+1)\" {{\n  [ 1 -eq 2 ]\n}}\n@test \"waits\" {{\n  skip\n}}\n"));
    let report = check(
        &failing,
        &["Failed", "Failed calc.bats::is wrong (1+1)", "Passed calc.bats::adds", "Skipped calc.bats::waits"],
    );
    let failed = report.test("calc.bats::is wrong (1+1)").unwrap();
    assert_eq!((failed.file.as_deref(), failed.line), (Some("test/calc.bats"), Some(5)));
    assert_eq!(failing.one("calc.bats::is wrong (1+1)"), "Failed\nFailed calc.bats::is wrong (1+1)");
    assert_eq!(failing.one("calc.bats::nothing"), "NoTests");
    assert!(failing.list().is_empty());
    let file = failing.select(&Selection::Files(vec!["test/calc.bats".to_owned()]));
    assert_eq!(file.tests.len(), 3);
}

#[test]
fn what_cannot_be_read_an_end_from_within_and_a_hang() {
    if !is_installed("bats") {
        return;
    }
    check(
        &project("source ./nosuch.sh\n@test \"a\" {\n  true\n}\n"),
        &["DidNotCompile", "MissingSymbol - test/calc.bats:1"],
    );
    let broken = shown(&project(&format!("{ADDS}@test \"b\" {{\n  if\n}}\n")).run());
    assert!(broken.starts_with("DidNotCompile\nSyntax - test/calc.bats:"), "{broken}");
    check(&project("# nothing\n"), &["NoTests"]);
    let forged = project(&format!("{ADDS}@test \"forges\" {{\n  echo 'ok 3 ghost' >&3\n}}\n")).run();
    assert_eq!(forged.outcome, Outcome::Crashed, "{forged:#?}");
    let hang = project(&format!("{ADDS}@test \"hangs\" {{\n  sleep 600\n}}\n"));
    assert!(shown(&hang.run_within(Duration::from_secs(5))).starts_with("TimedOut"));
}
