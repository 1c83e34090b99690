//! Rows over captured runs of cargo-nextest, and how it is started.

use super::*;
use crate::framework::captured::StepEnd;
use crate::framework::samples::{self, Check};
use crate::report::Status;

/// What the report cannot tell alone: an unknown target has the code of a failed build; a profile of the project's with
/// our name leaves no report; doc tests are not run; without the output of tests that pass, one that ended its process
/// looks like them. The step before, the profile's name, the step after and our settings see to these.
const ALONE: &[(&str, Outcome)] = &[
    ("filter_bad_target", Outcome::DidNotCompile),
    ("tool_config_repo_overrides", Outcome::Crashed),
    ("doctest_fail", Outcome::Passed),
    ("crash_exit0", Outcome::Failed),
];

#[test]
fn captured_runs_are_read_as_a_person_would() {
    Check::new("cargo-nextest", parse).alone(ALONE).run();
}

#[test]
fn doc_tests_count() {
    let mut captured = samples::one("cargo-nextest", "doctest_fail").captured();
    let stdout = br#"{ "type": "suite", "event": "started", "test_count": 1 }
{ "type": "test", "event": "started", "name": "src/lib.rs - add (line 3)" }
{ "type": "test", "name": "src/lib.rs - add (line 3)", "event": "failed", "stdout": "no" }
{ "type": "suite", "event": "failed", "passed": 0, "failed": 1, "ignored": 0, "measured": 0, "filtered_out": 0, "exec_time": 0.1 }
"#;
    let step = |exit: i32, stdout: &[u8], stderr: &[u8]| {
        let (stdout, stderr) = (stdout.to_vec(), stderr.to_vec());
        StepEnd { name: DOC.to_owned(), exit: Exit::Code(exit), stdout, stderr }
    };
    captured.after = vec![step(101, stdout, b"")];
    let report = parse(&captured);
    assert_eq!(report.outcome, Outcome::Failed, "{report:#?}");
    assert_eq!(report.test("doc::src/lib.rs - add").map(|test| test.status), Some(Status::Failed));
    captured.after = vec![step(101, b"", b"error: no library targets found in package `demo`")];
    assert_eq!(parse(&captured).outcome, Outcome::Passed);
}

#[test]
fn tests_are_listed_with_their_binary() {
    let ids = list(&samples::one("cargo-nextest", "list").captured());
    assert_eq!(ids, ["demo::tests::unit_adds", "demo::calc::adds"]);
}

#[track_caller]
fn invokes(selection: &Selection, expected: &str) {
    let tools = ["cargo", "cargo-nextest"].map(|tool| (tool.to_owned(), tool.to_owned())).to_vec();
    let facts = Facts { scratch: "/s".to_owned(), tools, ..Facts::default() };
    let words = match invoke(&facts, selection) {
        Ok(invocation) => invocation.call.words.join(" "),
        Err(Unable::Missing(missing)) => missing.what,
        Err(Unable::Unsupported(why)) => why.to_owned(),
    };
    assert_eq!(words, expected);
}

#[test]
fn tests_are_chosen_by_target_and_expression() {
    let base = format!("cargo nextest run --workspace --tool-config-file redgreen:/s/nextest.toml --profile {PROFILE}");
    let files = |paths: &[&str]| Selection::Files(paths.iter().map(|path| (*path).to_owned()).collect());
    let one = |id: &str| Selection::One(id.to_owned());
    invokes(&Selection::All, &base);
    invokes(
        &one("demo::calc::adds"),
        &format!("{base} -E package(=demo) and (test(=calc::adds) or test(=adds))"),
    );
    invokes(&one("demo::adds"), &format!("{base} -E package(=demo) and test(=adds)"));
    invokes(&one("doc::src/lib.rs - add"), &format!("{base} -E none()"));
    invokes(&files(&["tests/calc.rs", "a/tests/b.rs"]), &format!("{base} --test calc --test b"));
    invokes(&files(&["tests/it/main.rs"]), &base);
    invokes(
        &Selection::List,
        "cargo nextest list --workspace --tool-config-file redgreen:/s/nextest.toml --message-format json",
    );
    invokes(&Selection::Coverage, "coverage of a run by nextest is not measured");
    assert!(REPORT.contains(PROFILE) && SETTINGS.text.contains(PROFILE));
}
