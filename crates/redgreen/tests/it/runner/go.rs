//! Real go test, where go is installed.

use std::time::Duration;

use redgreen_core::framework::invoke::Selection;

use super::{Project, check, is_installed, shown};

const CALC: &str = "package demo\n\nfunc Add(a, b int) int {\n\treturn a + b\n}\n";

fn project(tests: &str) -> Project {
    let tests = format!("package demo\n\nimport \"testing\"\n\n{tests}");
    Project::new(&[("go.mod", "module example.com/demo\n\ngo 1.19\n"), ("calc.go", CALC), ("calc_test.go", &tests)])
}

const ADDS: &str = "func TestAdds(t *testing.T) {\n\tif Add(1, 2) != 3 {\n\t\tt.Fatal(\"no\")\n\t}\n}\n";

#[test]
fn passes_fails_and_says_where() {
    if !is_installed("go") {
        return;
    }
    check(&project(ADDS), &["Passed", "Passed example.com/demo.TestAdds"]);
    let failing = project(&format!(
        "{ADDS}func TestT(t *testing.T) {{\n\tt.Run(\"a b\", func(t *testing.T) {{\n\t\tt.Error(\"wrong\")\n\t}})\n}}\n"
    ));
    let report = check(&failing, &["Failed", "Failed example.com/demo.TestT/a_b", "Passed example.com/demo.TestAdds"]);
    let failed = report.test("example.com/demo.TestT/a_b").unwrap();
    assert_eq!((failed.file.as_deref(), failed.line), (Some("calc_test.go"), Some(12)));
    assert_eq!(failing.one("example.com/demo.TestT/a_b"), "Failed\nFailed example.com/demo.TestT/a_b");
    assert_eq!(failing.one("example.com/demo.TestNothing"), "NoTests");
    assert_eq!(failing.list(), ["example.com/demo.TestAdds", "example.com/demo.TestT"]);
    let file = failing.select(&Selection::Files(vec!["calc_test.go".to_owned()]));
    assert_eq!(file.tests.len(), 2);
}

#[test]
fn what_is_missing_and_what_does_not_parse_are_told_apart() {
    if !is_installed("go") {
        return;
    }
    let missing = project("func TestX(t *testing.T) {\n\tSubtract(2, 1)\n}\n");
    check(&missing, &["DidNotCompile", "MissingSymbol - calc_test.go:6"]);
    let broken = project("func TestX(t *testing.T {\n}\n").run();
    assert!(shown(&broken).starts_with("DidNotCompile\nSyntax - calc_test.go:5"), "{broken:#?}");
}

#[test]
fn nothing_to_run_a_crash_and_a_hang() {
    if !is_installed("go") {
        return;
    }
    check(&project("var _ testing.TB\n"), &["NoTests"]);
    check(&project("func TestZ(t *testing.T) {\n\tpanic(\"no\")\n}\n"), &["Crashed", "Crashed example.com/demo.TestZ"]);
    let hang = project("func TestZ(t *testing.T) {\n\tselect {}\n}\n");
    assert!(shown(&hang.run_within(Duration::from_secs(20))).starts_with("TimedOut"));
}

#[test]
fn lines_that_were_reached_are_known() {
    if !is_installed("go") {
        return;
    }
    assert_eq!(project(ADDS).coverage("example.com/demo/calc.go"), Some((vec![3, 4, 5], vec![])));
}
