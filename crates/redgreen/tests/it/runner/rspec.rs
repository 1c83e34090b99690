//! Real RSpec, where it is installed.

use std::time::Duration;

use redgreen::process::Stop;
use redgreen::runner::detect;
use redgreen_core::framework::invoke::Selection;
use redgreen_core::report::Outcome;

use super::{Project, check, is_installed, settings, shown};

const CALC: &str = "def add(a, b)\n  a + b\nend\n";
const ADDS: &str = "  it('adds') { expect(add(1, 2)).to eq(3) }\n";

fn project(specs: &str) -> Project {
    let specs = format!("require 'calc'\nRSpec.describe 'calc' do\n{specs}end\n");
    Project::new(&[("lib/calc.rb", CALC), ("spec/calc_spec.rb", &specs)])
}

#[test]
fn passes_fails_and_says_where() {
    if !is_installed("rspec") {
        return;
    }
    check(&project(ADDS), &["Passed", "Passed ./spec/calc_spec.rb[1:1]"]);
    let failing = project(&format!("{ADDS}  it('is wrong') {{ expect(add(1, 2)).to eq(4) }}\n  xit('waits') {{ }}\n"));
    let report = check(
        &failing,
        &[
            "Failed",
            "Failed ./spec/calc_spec.rb[1:2]",
            "Passed ./spec/calc_spec.rb[1:1]",
            "Skipped ./spec/calc_spec.rb[1:3]",
        ],
    );
    let failed = report.test("./spec/calc_spec.rb[1:2]").unwrap();
    assert_eq!((failed.file.as_deref(), failed.line), (Some("spec/calc_spec.rb"), Some(4)));
    assert_eq!(failing.one("./spec/calc_spec.rb[1:1]"), "Passed\nPassed ./spec/calc_spec.rb[1:1]");
    assert_eq!(failing.one("./spec/calc_spec.rb[9:9]"), "NoTests");
    assert_eq!(failing.list().len(), 3);
    let file = failing.select(&Selection::Files(vec!["spec/calc_spec.rb".to_owned()]));
    assert_eq!(file.tests.len(), 3);
    failing.write(".rspec", "--fail-fast\n--failure-exit-code 0\n");
    assert_eq!(failing.run().tests.len(), 3);
}

#[test]
fn what_is_missing_and_what_does_not_parse_are_told_apart() {
    if !is_installed("rspec") {
        return;
    }
    let missing = Project::new(&[("spec/a_spec.rb", "\nrequire 'roman'\n")]);
    check(&missing, &["DidNotCompile", "MissingSymbol LoadError spec/a_spec.rb:2"]);
    let broken = shown(&Project::new(&[("spec/a_spec.rb", "RSpec.describe 'a' do\n  it('b' { }\nend\n")]).run());
    assert!(broken.starts_with("DidNotCompile\nSyntax SyntaxError spec/a_spec.rb:"), "{broken}");
    check(&project("  it('subtracts') { subtract(2, 1) }\n"), &["Errored", "Errored ./spec/calc_spec.rb[1:1]"]);
}

#[test]
fn nothing_to_run_an_exit_and_a_hang() {
    if !is_installed("rspec") {
        return;
    }
    check(&project(""), &["NoTests"]);
    for end in ["exit(0)", "exit!(0)", "abort", "Process.kill(:KILL, Process.pid)"] {
        let report = project(&format!("{ADDS}  it('ends') {{ {end} }}\n")).run();
        assert_eq!(report.outcome, Outcome::Crashed, "{end}: {report:#?}");
    }
    let hang = project("  it('hangs') { sleep }\n");
    assert!(shown(&hang.run_within(Duration::from_secs(5))).starts_with("TimedOut"));
}

#[test]
fn lines_that_were_reached_are_known() {
    if !is_installed("rspec") {
        return;
    }
    let project = project(ADDS);
    let suite = detect(project.0.path()).unwrap();
    let (report, coverage) = suite.coverage(project.0.path(), &settings(), &Stop::default()).unwrap();
    assert_eq!(shown(&report), "Passed\nPassed ./spec/calc_spec.rb[1:1]");
    let coverage = coverage.unwrap();
    assert_eq!(coverage.files["lib/calc.rb"].lines.get(&2), Some(&1), "{coverage:?}");
}
