//! Tests for Bats: captured runs and invocation.

use super::*;
use crate::framework::captured::StepEnd;
use crate::framework::samples::{self, Check, beginnings};

/// Differences from the expectations:
/// - `bad_usage` is expected as errored, because nothing was written. An unknown flag is a usage
///   error, as for all other runners.
/// - `stdout_noise` is expected as failed. The test printed TAP of its own, so the plan and the
///   executed tests differ, and Bats' own lines cannot be identified.
const ALONE: &[(&str, Outcome)] =
    &[("bad_usage", Outcome::UsageError), ("stdout_noise", Outcome::Crashed)];

/// The expectation comes from the XML, where the hung test passed. TAP has no line for it.
const SKIPS: &[(&str, &str)] = &[("hang", "tests")];

#[test]
fn parses_captured_runs() {
    Check::new("bats", parse).alone(ALONE).skips(SKIPS).run();
}

#[test]
fn an_incomplete_plan_never_passes() {
    let whole = samples::one("bats", "all_pass").captured();
    assert_eq!(parse(&whole).outcome, Outcome::Passed);
    for end in
        beginnings(&whole.stdout).filter(|end| *end + " # in 9 ms".len() * 2 < whole.stdout.len())
    {
        let cut = Capture { stdout: whole.stdout[..end].to_vec(), ..whole.clone() };
        assert_ne!(parse(&cut).outcome, Outcome::Passed, "{end} bytes");
    }
    let hang = parse(&samples::one("bats", "hang").captured());
    assert_eq!(hang.test("calc.bats::z").unwrap().status, Status::TimedOut);
}

#[test]
fn failures_have_a_place() {
    let report = parse(&samples::one("bats", "one_fail").captured());
    let failed = report.test("calc.bats::wrong").unwrap();
    assert_eq!((failed.file.as_deref(), failed.line), (Some("test/calc.bats"), Some(14)));
    let report = parse(&samples::one("bats", "syntax_error").captured());
    let error = &report.load_errors[0];
    assert_eq!((error.file.as_deref(), error.line), (Some("test/calc.bats"), Some(14)));
}

#[track_caller]
fn invokes(files: &[&str], selection: &Selection, expected: &str) {
    let tools = vec![("bats".to_owned(), "bats".to_owned())];
    let folder = Folder {
        files: files.iter().map(|file| (*file).to_owned()).collect(),
        ..Folder::default()
    };
    let facts = Facts {
        folder,
        root: "/p".to_owned(),
        scratch: "/s".to_owned(),
        tools,
        ..Facts::default()
    };
    let words = invoke(&facts, selection).unwrap().call.words[4..].join(" ");
    assert_eq!(
        words,
        format!("bats --formatter tap --report-formatter junit --output /s {expected}")
    );
}

#[test]
fn runs_folders_and_files_with_tests() {
    let one = Selection::One("calc.bats::adds 1+1".to_owned());
    invokes(&["test/calc.bats"], &Selection::All, "--recursive test");
    invokes(&["a.bats", "tests/calc.bats"], &Selection::All, "--recursive a.bats tests");
    invokes(&["test/calc.bats"], &one, r"--filter ^adds 1\+1$ test/calc.bats");
    let files = Selection::Files(vec!["test/calc.bats".to_owned(), "test/helper.bash".to_owned()]);
    invokes(&["test/calc.bats"], &files, "test/calc.bats");
    let tools = vec![("bats".to_owned(), "bats".to_owned())];
    let facts = Facts { tools, ..Facts::default() };
    assert!(matches!(invoke(&facts, &Selection::Coverage), Err(CannotRun::Unsupported(_))));
}

#[test]
fn lists_source_names_if_the_count_matches() {
    let list = |count: &str, lines: &str| {
        let names = StepEnd {
            name: NAMES.to_owned(),
            stdout: lines.as_bytes().to_vec(),
            ..StepEnd::default()
        };
        let captured =
            Capture { stdout: count.as_bytes().to_vec(), after: vec![names], ..Capture::default() };
        list(&captured).join(", ")
    };
    let lines = "test/calc.bats:@test \"adds {1}\" {\ntest/calc.bats:  @test 'is (a*)'  { true; }\n\
        test/b.bats:also_this() { # @test\ntest/b.bats:# no @test here\n";
    assert_eq!(list("3\n", lines), "calc.bats::adds {1}, calc.bats::is (a*), b.bats::also_this");
    // A test that only Bats recognizes, and a test whose name bash must expand.
    assert_eq!(list("4\n", lines), "");
    assert_eq!(list("1\n", "a.bats:@test \"is $x\" {\n"), "");
    assert_eq!(list("", ""), "");
}

#[test]
fn listing_asks_bats_for_the_count() {
    let tools = vec![("bats".to_owned(), "bats".to_owned())];
    let folder = Folder { files: vec!["test/calc.bats".to_owned()], ..Folder::default() };
    let listing = invoke(&Facts { folder, tools, ..Facts::default() }, &Selection::List).unwrap();
    assert_eq!(listing.call.words.join(" "), "bats --count --recursive test");
    assert_eq!(
        listing.after[0].call.words.join(" "),
        "find test -name *.bats -exec grep -H @test {} +"
    );
}
