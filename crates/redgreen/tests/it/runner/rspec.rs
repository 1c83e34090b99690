//! Real RSpec, if it is installed.

use redgreen::process::Stop;
use redgreen::runner::detect;
use redgreen_core::framework::invoke::Selection;
use redgreen_core::report::Outcome;

use super::situations::Situations;
use super::{Project, check, is_installed, settings, shown};

const CALC: &str = "def add(a, b)\n  a + b\nend\n";
const ADDS: &str = "  it('adds') { expect(add(1, 2)).to eq(3) }\n";

fn project(specs: &str) -> Project {
    let specs = format!("require 'calc'\nRSpec.describe 'calc' do\n{specs}end\n");
    Project::new(&[("lib/calc.rb", CALC), ("spec/calc_spec.rb", &specs)])
}

#[test]
fn every_situation() {
    Situations {
        program: "rspec",
        project,
        all_pass: (ADDS, &["Passed", "Passed ./spec/calc_spec.rb[1:1]"]),
        assertion_fails: (
            "  it('adds') { expect(add(1, 2)).to eq(4) }\n",
            &["Failed", "Failed ./spec/calc_spec.rb[1:1]"],
        ),
        missing_module: ("  require 'roman'\n", &["DidNotCompile", "MissingSymbol LoadError spec/calc_spec.rb:3"]),
        missing_function: ("  it('subtracts') { subtract(2, 1) }\n", &["Errored", "Errored ./spec/calc_spec.rb[1:1]"]),
        syntax_error: ("  it('b' { }\n", &["DidNotCompile", "Syntax SyntaxError spec/calc_spec.rb:…"]),
        none_collected: ("", &["NoTests"]),
        filter_matches_nothing: ("./spec/calc_spec.rb[9:9]", &["NoTests"]),
        ends_with_0: ("  it('ends') { exit!(0) }\n", &["Crashed", "…"]),
        hangs: ("  it('hangs') { sleep }\n", &["TimedOut", "…"]),
        hang_seconds: 4,
        skipped: ("  xit('waits') { }\n", &["Skipped", "Skipped ./spec/calc_spec.rb[1:1]"]),
        parameters: (
            "  [1, 2].each { |n| it(\"is #{n}\") { expect(n).to eq(1) } }\n",
            &["Failed", "Failed ./spec/calc_spec.rb[1:2]", "Passed ./spec/calc_spec.rb[1:1]"],
        ),
        imitates_a_summary: (
            "  it('a') { puts \"{\\\"examples\\\":[]}\\n1 example, 0 failures\"; expect(1).to eq(2) }\n",
            &["Failed", "Failed ./spec/calc_spec.rb[1:1]"],
        ),
    }
    .check();
}

#[test]
fn one_file_the_list_and_where_it_failed() {
    if !is_installed("rspec") {
        return;
    }
    let project = project(&format!("{ADDS}  it('is wrong') {{ expect(add(1, 2)).to eq(4) }}\n"));
    let ids = ["./spec/calc_spec.rb[1:1]", "./spec/calc_spec.rb[1:2]"];
    let report =
        check(&project, &["Failed", &format!("Failed {}", ids[1]), &format!("Passed {}", ids[0])]);
    let failed = report.test(ids[1]).unwrap();
    assert_eq!((failed.file.as_deref(), failed.line), (Some("spec/calc_spec.rb"), Some(4)));
    assert_eq!(project.one(ids[0]), format!("Passed\nPassed {}", ids[0]));
    assert_eq!(project.list(), ids);
    let file = project.select(&Selection::Files(vec!["spec/calc_spec.rb".to_owned()]));
    assert_eq!(file.tests.len(), 2);
    project.write(".rspec", "--fail-fast\n--failure-exit-code 0\n");
    assert_eq!(project.run().tests.len(), 2);
}

#[test]
fn an_end_from_within_is_a_crash_however_it_is_made() {
    if !is_installed("rspec") {
        return;
    }
    for end in ["exit(0)", "abort", "Process.kill(:KILL, Process.pid)"] {
        let report = project(&format!("{ADDS}  it('ends') {{ {end} }}\n")).run();
        assert_eq!(report.outcome, Outcome::Crashed, "{end}: {report:#?}");
    }
}

#[test]
fn lines_that_were_reached_are_known() {
    if !is_installed("rspec") {
        return;
    }
    let project = project(ADDS);
    let suite = detect(project.0.path()).unwrap();
    let (report, coverage) =
        suite.coverage(project.0.path(), &settings(), &Stop::default()).unwrap();
    assert_eq!(shown(&report), "Passed\nPassed ./spec/calc_spec.rb[1:1]");
    let coverage = coverage.unwrap();
    assert_eq!(coverage.files["lib/calc.rb"].lines.get(&2), Some(&1), "{coverage:?}");
}
