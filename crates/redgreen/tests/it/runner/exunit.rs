//! Real ExUnit, where Elixir is installed.

use std::time::Duration;

use redgreen_core::framework::invoke::Selection;
use redgreen_core::report::Outcome;

use super::{Project, check, is_installed, shown};

const MIX: &str =
    "defmodule Demo.MixProject do\n  use Mix.Project\n  def project, do: [app: :demo, version: \"0.1.0\"]\nend\n";
const CALC: &str = "defmodule Calc do\n  def add(a, b), do: a + b\nend\n";
const ADDS: &str = "  test \"adds\" do\n    assert Calc.add(1, 2) == 3\n  end\n";

fn project(tests: &str) -> Project {
    let tests = format!("defmodule CalcTest do\n  use ExUnit.Case\n{tests}end\n");
    Project::new(&[
        ("mix.exs", MIX),
        ("lib/calc.ex", CALC),
        ("test/test_helper.exs", "ExUnit.start()\n"),
        ("test/calc_test.exs", &tests),
    ])
}

#[test]
fn passes_fails_and_says_where() {
    if !is_installed("mix") {
        return;
    }
    check(&project(ADDS), &["Passed", "Passed CalcTest test adds"]);
    let failing = project(&format!(
        "{ADDS}  test \"is \\\"wrong\\\"\" do\n    assert Calc.add(1, 2) == 4\n  end\n  @tag :skip\n  test \"waits\" do\n  end\n"
    ));
    let report = check(
        &failing,
        &["Failed", "Failed CalcTest test is \"wrong\"", "Passed CalcTest test adds", "Skipped CalcTest test waits"],
    );
    let failed = report.test("CalcTest test is \"wrong\"").unwrap();
    assert_eq!((failed.file.as_deref(), failed.line), (Some("test/calc_test.exs"), Some(6)));
    let one = failing.select(&Selection::One("CalcTest test adds".to_owned()));
    assert_eq!((one.outcome, one.counts().passed, one.counts().failed), (Outcome::Passed, 1, 0), "{one:#?}");
    let none = failing.select(&Selection::One("CalcTest test nothing".to_owned()));
    assert_eq!(none.outcome, Outcome::NoTests, "{none:#?}");
    assert_eq!(failing.list().len(), 3);
}

#[test]
fn what_is_missing_and_what_does_not_parse_are_told_apart() {
    if !is_installed("mix") {
        return;
    }
    let missing = shown(&project("  import NoSuch\n  test \"a\" do\n  end\n").run());
    assert!(missing.starts_with("DidNotCompile\nMissingSymbol CompileError test/calc_test.exs:"), "{missing}");
    let broken = shown(&project("  test \"a\" do\n    foo(\n  end\n").run());
    assert!(broken.starts_with("DidNotCompile\nSyntax ") && broken.contains("test/calc_test.exs:"), "{broken}");
}

#[test]
fn an_end_from_within_and_a_hang() {
    if !is_installed("mix") {
        return;
    }
    let halt = project(&format!("{ADDS}  test \"halts\" do\n    System.halt(0)\n  end\n")).run();
    assert_eq!(halt.outcome, Outcome::Crashed, "{halt:#?}");
    let hang = project("  test \"hangs\" do\n    Process.sleep(:infinity)\n  end\n");
    assert!(shown(&hang.run_within(Duration::from_secs(15))).starts_with("TimedOut"));
}
