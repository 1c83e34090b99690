//! Real ExUnit, if Elixir is installed.

use redgreen::process::Stop;
use redgreen::runner::detect;
use redgreen_core::framework::invoke::Selection;
use redgreen_core::report::Outcome;

use super::situations::Situations;
use super::{Project, check, is_installed, settings, shown};

const MIX: &str = "defmodule Demo.MixProject do\n  use Mix.Project\n  def project, do: [app: :demo, version: \"0.1.0\"]\nend\n";
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
fn every_situation() {
    Situations {
        program: "mix",
        project,
        all_pass: (ADDS, &["Passed", "Passed CalcTest test adds"]),
        assertion_fails: (
            "  test \"is \\\"wrong\\\"\" do\n    assert Calc.add(1, 2) == 4\n  end\n",
            &["Failed", "Failed CalcTest test is \"wrong\""],
        ),
        missing_module: (
            "  import NoSuch\n  test \"a\" do\n  end\n",
            &["DidNotCompile", "MissingSymbol CompileError test/calc_test.exs:…"],
        ),
        missing_function: (
            "  test \"a\" do\n    assert Calc.subtract(2, 1) == 1\n  end\n",
            &["Errored", "Errored CalcTest test a"],
        ),
        syntax_error: ("  test \"a\" do\n    foo(\n  end\n", &["DidNotCompile", "Syntax …"]),
        none_collected: ("", &["NoTests"]),
        filter_matches_nothing: ("CalcTest test nothing", &["NoTests", "NotRun CalcTest test adds"]),
        ends_with_0: ("  test \"halts\" do\n    System.halt(0)\n  end\n", &["Crashed", "…"]),
        hangs: (
            "  test \"hangs\" do\n    Process.sleep(:infinity)\n  end\n",
            &["TimedOut", "…"],
        ),
        hang_seconds: 8,
        skipped: ("  @tag :skip\n  test \"waits\" do\n  end\n", &["Skipped", "Skipped CalcTest test waits"]),
        parameters: (
            "  for n <- [1, 2] do\n    test \"is #{n}\" do\n      assert unquote(n) == 1\n    end\n  end\n",
            &["Failed", "Failed CalcTest test is 2", "Passed CalcTest test is 1"],
        ),
        imitates_a_summary: (
            "  test \"a\" do\n    IO.puts(\"{\\\"event\\\":\\\"finish\\\"}\\n1 test, 0 failures\")\n    assert false\n  end\n",
            &["Failed", "Failed CalcTest test a"],
        ),
    }
    .check();
}

#[test]
fn one_file_the_list_and_where_it_failed() {
    if !is_installed("mix") {
        return;
    }
    let project =
        project(&format!("{ADDS}  test \"wrong\" do\n    assert Calc.add(1, 2) == 4\n  end\n"));
    let report =
        check(&project, &["Failed", "Failed CalcTest test wrong", "Passed CalcTest test adds"]);
    let failed = report.test("CalcTest test wrong").unwrap();
    assert_eq!((failed.file.as_deref(), failed.line), (Some("test/calc_test.exs"), Some(6)));
    let one = project.select(&Selection::One("CalcTest test adds".to_owned()));
    assert_eq!(
        (one.outcome, one.counts().passed, one.counts().failed),
        (Outcome::Passed, 1, 0),
        "{one:#?}"
    );
    let file = project.select(&Selection::Files(vec!["test/calc_test.exs".to_owned()]));
    assert_eq!(file.tests.len(), 2);
    assert_eq!(project.list().len(), 2);
}

#[test]
fn lines_that_were_reached_are_known() {
    if !is_installed("mix") {
        return;
    }
    let project = project(ADDS);
    project.write(
        "lib/calc.ex",
        "defmodule Calc do\n  def add(a, b), do: a + b\n  def other, do: 1\nend\n",
    );
    let suite = detect(project.0.path()).unwrap();
    let (report, coverage) =
        suite.coverage(project.0.path(), &settings(), &Stop::default()).unwrap();
    assert_eq!(shown(&report), "Passed\nPassed CalcTest test adds");
    let lines = &coverage.unwrap().files["lib/calc.ex"].lines;
    assert_eq!((lines.get(&2), lines.get(&3)), (Some(&1), Some(&0)), "{lines:?}");
}
