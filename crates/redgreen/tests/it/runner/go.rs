//! Real `go test`, if Go is installed.

use redgreen_core::framework::invoke::Selection;

use super::situations::Situations;
use super::{Project, check, is_installed};

const CALC: &str = "package demo\n\nfunc Add(a, b int) int {\n\treturn a + b\n}\n";

fn project(tests: &str) -> Project {
    let tests = format!("package demo\n\nimport \"testing\"\n\n{tests}");
    Project::new(&[
        ("go.mod", "module example.com/demo\n\ngo 1.19\n"),
        ("calc.go", CALC),
        ("calc_test.go", &tests),
    ])
}

const ADDS: &str =
    "func TestAdds(t *testing.T) {\n\tif Add(1, 2) != 3 {\n\t\tt.Fatal(\"no\")\n\t}\n}\n";

#[test]
fn every_situation() {
    Situations {
        program: "go",
        project,
        all_pass: (ADDS, &["Passed", "Passed example.com/demo.TestAdds"]),
        assertion_fails: (
            "func TestA(t *testing.T) {\n\tt.Error(\"wrong\")\n}\n",
            &["Failed", "Failed example.com/demo.TestA"],
        ),
        missing_module: ("import \"example.com/demo/roman\"\n", &["DidNotCompile", "…"]),
        missing_function: (
            "func TestA(t *testing.T) {\n\tSubtract(2, 1)\n}\n",
            &["DidNotCompile", "MissingSymbol - calc_test.go:6"],
        ),
        syntax_error: ("func TestA(t *testing.T {\n}\n", &["DidNotCompile", "Syntax - calc_test.go:5", "…"]),
        none_collected: ("var _ testing.TB\n", &["NoTests"]),
        filter_matches_nothing: ("example.com/demo.TestNothing", &["NoTests"]),
        // Go itself reports a failure of the package.
        ends_with_0: (
            "import \"os\"\n\nfunc TestA(t *testing.T) {\n\tos.Exit(0)\n}\n",
            &["Crashed", "Crashed example.com/demo.TestA"],
        ),
        hangs: ("func TestA(t *testing.T) {\n\tselect {}\n}\n", &["TimedOut", "…"]),
        hang_seconds: 10,
        skipped: (
            "func TestA(t *testing.T) {\n\tt.Skip(\"later\")\n}\n",
            &["Skipped", "Skipped example.com/demo.TestA"],
        ),
        parameters: (
            "func TestA(t *testing.T) {\n\tt.Run(\"a b\", func(t *testing.T) {\n\t\tt.Error(\"wrong\")\n\t})\n}\n",
            &["Failed", "Failed example.com/demo.TestA/a_b"],
        ),
        imitates_a_summary: (
            "func TestA(t *testing.T) {\n\tprintln(\"ok  \\texample.com/demo\\t0.1s\\nPASS\")\n\tt.Fail()\n}\n",
            &["Failed", "Failed example.com/demo.TestA"],
        ),
    }
    .check();
}

#[test]
fn one_file_the_list_and_where_it_failed() {
    if !is_installed("go") {
        return;
    }
    let failing = project(&format!(
        "{ADDS}func TestT(t *testing.T) {{\n\tt.Run(\"a b\", func(t *testing.T) {{\n\t\tt.Error(\"wrong\")\n\t}})\n}}\n"
    ));
    let report = check(
        &failing,
        &["Failed", "Failed example.com/demo.TestT/a_b", "Passed example.com/demo.TestAdds"],
    );
    let failed = report.test("example.com/demo.TestT/a_b").unwrap();
    assert_eq!((failed.file.as_deref(), failed.line), (Some("calc_test.go"), Some(12)));
    assert_eq!(
        failing.one("example.com/demo.TestT/a_b"),
        "Failed\nFailed example.com/demo.TestT/a_b"
    );
    assert_eq!(failing.list(), ["example.com/demo.TestAdds", "example.com/demo.TestT"]);
    let file = failing.select(&Selection::Files(vec!["calc_test.go".to_owned()]));
    assert_eq!(file.tests.len(), 2);
}

#[test]
fn lines_that_were_reached_are_known() {
    if !is_installed("go") {
        return;
    }
    assert_eq!(project(ADDS).coverage("calc.go"), Some((vec![3, 4, 5], vec![])));
}
