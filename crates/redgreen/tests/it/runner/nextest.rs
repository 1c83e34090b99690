//! Real cargo-nextest, if it is installed.

use std::time::Duration;

use redgreen_core::framework::invoke::Selection;

use super::{ADD, Project, check, is_installed, shown};

/// A package that configures nextest, or `None` and a message if nextest is not installed.
fn project(lib: &str, tests: &str) -> Option<Project> {
    is_installed("cargo-nextest").then(|| {
        let config = "[profile.default]\nretries = 2\nfail-fast = true\n";
        Project::rust(lib, &[(".config/nextest.toml", config), ("tests/calc.rs", tests)])
    })
}

const ADDS: &str = "#[test]\nfn adds() { assert_eq!(demo::add(1, 2), 3); }\n";

#[test]
fn passes_and_runs_one_a_file_or_none() {
    let lib = format!(
        "/// ```\n/// assert_eq!(demo::add(1, 2), 3);\n/// ```\n{ADD}#[test]\nfn adds() {{}}\n"
    );
    let Some(project) = project(&lib, ADDS) else { return };
    let doc = "Passed demo/doc::src/lib.rs - add";
    let report =
        check(&project, &["Passed", doc, "Passed demo/tests/calc::adds", "Passed demo::adds"]);
    assert_eq!((report.runner.as_str(), report.command.as_str()), ("nextest", "cargo nextest run"));
    assert_eq!(project.one("demo/tests/calc::adds"), "Passed\nPassed demo/tests/calc::adds");
    assert_eq!(project.one("demo/doc::src/lib.rs - add"), format!("Passed\n{doc}"));
    assert_eq!(project.one("demo/tests/calc::nothing"), "NoTests");
    assert_eq!(project.one("demo/tests/nothing::adds"), "UsageError");
    let file = project.select(&Selection::Files(vec!["tests/calc.rs".to_owned()]));
    assert_eq!(shown(&file), "Passed\nPassed demo/tests/calc::adds");
    assert_eq!(project.list(), ["demo::adds", "demo/tests/calc::adds"]);
}

#[test]
fn what_fails_is_reported_apart() {
    let tests = format!(
        "{ADDS}#[test]\nfn wrong() {{\n    assert_eq!(demo::add(1, 2), 4);\n}}\n\
         #[test]\nfn leaves() {{ std::process::exit(0) }}\n#[test]\nfn aborts() {{ std::process::abort() }}\n\
         #[test]\n#[ignore = \"later\"]\nfn later() {{}}\n#[test]\n#[should_panic]\nfn panics() {{ panic!() }}\n\
         #[test]\nfn noise() {{ println!(\"test noise ... ok\\ntest result: ok. 1 passed\"); panic!(\"no\") }}\n\
         mod table {{ #[test]\nfn case_1() {{}} }}\n"
    );
    let Some(project) = project(ADD, &tests) else { return };
    let report = check(
        &project,
        &[
            "Crashed",
            "Crashed demo/tests/calc::aborts",
            "Crashed demo/tests/calc::leaves",
            "Failed demo/tests/calc::noise",
            "Failed demo/tests/calc::wrong",
            "Passed demo/tests/calc::adds",
            "Passed demo/tests/calc::panics",
            "Passed demo/tests/calc::table::case_1",
            "Skipped demo/tests/calc::later",
        ],
    );
    let wrong = report.test("demo/tests/calc::wrong").unwrap();
    assert_eq!((wrong.file.as_deref(), wrong.line), (Some("tests/calc.rs"), Some(5)));
    assert_eq!(
        wrong.message.as_deref(),
        Some("assertion `left == right` failed\n  left: 3\n right: 4")
    );
    assert_eq!(
        project.one("demo/tests/calc::table::case_1"),
        "Passed\nPassed demo/tests/calc::table::case_1"
    );
    assert_eq!(project.one("demo/tests/calc::later"), "Skipped\nSkipped demo/tests/calc::later");
    assert_eq!(project.one("demo/tests/calc::nothing"), "NoTests");
}

#[test]
fn what_does_not_compile_is_reported_apart() {
    let Some(project) = project(ADD, "#[test]\nfn x() { demo::subtract(2, 1); }\n") else { return };
    check(&project, &["DidNotCompile", "MissingSymbol E0425 tests/calc.rs:2"]);
    project.write("tests/calc.rs", "#[test]\nfn x() {\n    let = 1;\n}\n");
    check(&project, &["DidNotCompile", "Syntax - tests/calc.rs:3"]);
}

#[test]
fn without_tests_and_with_a_hang() {
    let Some(project) = project(ADD, "") else { return };
    check(&project, &["NoTests"]);
    project.write("tests/calc.rs", "#[test]\nfn hangs() { loop { std::thread::park() } }\n");
    assert!(shown(&project.run_within(Duration::from_secs(8))).starts_with("TimedOut"));
}
