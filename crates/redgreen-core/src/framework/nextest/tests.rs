//! Tests for cargo-nextest: captured runs and invocation.

use super::*;
use crate::framework::captured::StepEnd;
use crate::framework::samples::{self, Check};
use crate::report::Status;

/// Cases that the report alone cannot decide, and what handles them. An unknown target has the exit
/// code of a failed build (the step before). A project profile with our name leaves no report (the
/// profile's random name). Doc tests do not run (the step after). Without the output of passing
/// tests, a test that ended its process looks passed (our settings).
const ALONE: &[(&str, Outcome)] = &[
    ("filter_bad_target", Outcome::DidNotCompile),
    ("tool_config_repo_overrides", Outcome::Crashed),
    ("doctest_fail", Outcome::Passed),
    ("crash_exit0", Outcome::Failed),
];

#[test]
fn parses_captured_runs() {
    Check::new("cargo-nextest", |captured| named_by_nextest(parse(captured)))
        .alone(ALONE)
        .skips(&[("*", "message")])
        .run();
}

/// The expectations use nextest's own binary names, and the first line of a panic as the message.
fn named_by_nextest(mut report: Report) -> Report {
    report.tests.iter_mut().for_each(|test| test.id = test.id.replace("/tests/", "::"));
    report
}

/// The result of a step after the run.
fn after(name: &str, exit: i32, stdout: &str, stderr: &str) -> StepEnd {
    let (stdout, stderr) = (stdout.as_bytes().to_vec(), stderr.as_bytes().to_vec());
    StepEnd { name: name.to_owned(), exit: Exit::Code(exit), stdout, stderr }
}

#[test]
fn doc_tests_count_and_have_their_package_name() {
    let suite = |event: &str, item: &str| {
        format!(
            r#"{{ "type": "suite", "event": "started", "test_count": 1 }}
{{ "type": "test", "event": "started", "name": "src/lib.rs - {item} (line 3)" }}
{{ "type": "test", "name": "src/lib.rs - {item} (line 3)", "event": "{event}" }}
{{ "type": "suite", "event": "{event}", "passed": 0, "failed": 1, "ignored": 0, "measured": 0, "filtered_out": 0 }}
"#
        )
    };
    let list = r#"{"rust-suites": {"my-lib": {"package-name": "my-lib", "binary-name": "my_lib", "kind": "lib"}}}"#;
    let doc = |exit, stdout: &str, stderr: &str| {
        let mut captured = samples::one("cargo-nextest", "doctest_fail").captured();
        captured.after = vec![after(LIST, 0, list, ""), after(DOC, exit, stdout, stderr)];
        parse(&captured)
    };
    let both = [suite("ok", "add"), suite("failed", "add")].concat();
    let report = doc(101, &both, "   Doc-tests demo\n   Doc-tests my_lib\n");
    assert_eq!(report.outcome, Outcome::Failed, "{report:#?}");
    let status = |id| report.test(id).map(|test| test.status);
    assert_eq!(status("demo/doc::src/lib.rs - add"), Some(Status::Passed));
    assert_eq!(status("my-lib/doc::src/lib.rs - add"), Some(Status::Failed));
    // rustdoc ended before the second library's tests.
    let half = doc(101, &suite("ok", "add"), "   Doc-tests demo\n   Doc-tests my_lib\n");
    assert_eq!(half.outcome, Outcome::Crashed);
    let none = doc(101, "", "error: no library targets found in package `demo`");
    assert_eq!(none.outcome, Outcome::Passed);
}

#[test]
fn the_list_names_selected_and_ignored_tests() {
    let case = |ignored, status| {
        format!(r#"{{"ignored": {ignored}, "filter-match": {{"status": "{status}"}}}}"#)
    };
    let (run, ignored) = (case(false, "matches"), case(true, "matches"));
    let calc = r#""package-name": "demo", "binary-name": "calc", "kind": "test""#;
    let list = format!(
        r#"{{"rust-suites": {{"demo::calc": {{{calc}, "testcases": {{"adds": {run}, "later": {ignored}}}}}}}}}"#
    );
    let mut captured = samples::one("cargo-nextest", "all_pass").captured();
    captured.after = vec![after(LIST, 0, &list, "")];
    let report = parse(&captured);
    assert_eq!(report.planned.as_deref(), Some(&["demo/tests/calc::adds".to_owned()][..]));
    assert_eq!(
        report.test("demo/tests/calc::later").map(|test| test.status),
        Some(Status::Skipped)
    );
    assert_eq!(report.outcome, Outcome::Passed, "{report:#?}");
    captured.after = vec![after(LIST, 0, &list.replace(&ignored, &case(true, "mismatch")), "")];
    assert_eq!(parse(&captured).test("demo/tests/calc::later"), None);
    captured.after = vec![after(LIST, 0, &list.replace("adds", "lost"), "")];
    assert_eq!(parse(&captured).outcome, Outcome::Crashed);
    let mut none = samples::one("cargo-nextest", "all_ignored").captured();
    none.after = vec![after(LIST, 0, &list.replace(&run, &ignored), "")];
    assert_eq!(parse(&none).outcome, Outcome::Skipped);
}

#[test]
fn failures_have_the_place_and_message_of_the_panic() {
    let report = parse(&samples::one("cargo-nextest", "one_fail").captured());
    let failed = report.tests.iter().find(|test| test.status == Status::Failed).unwrap();
    assert_eq!((failed.file.as_deref(), failed.line), (Some("tests/calc.rs"), Some(10)));
    assert_eq!(
        failed.message.as_deref().and_then(|words| words.lines().next()),
        Some("assertion `left == right` failed: sum is off")
    );
}

#[test]
fn separates_unknown_targets_from_compile_errors() {
    let mut captured = samples::one("cargo-nextest", "filter_bad_target").captured();
    captured.steps = vec![after(BUILD, 0, "", "")];
    assert_eq!(parse(&captured).outcome, Outcome::UsageError);
}

#[test]
fn lists_tests_with_their_binary() {
    let ids = list(&samples::one("cargo-nextest", "list").captured());
    assert_eq!(ids, ["demo::ig", "demo::tests::unit_adds", "demo/tests/calc::adds"]);
}

#[test]
fn binaries_have_the_same_names_as_in_cargo_test() {
    for (binary, prefixed) in [
        ("demo", "demo"),
        ("demo::calc", "demo/tests/calc"),
        ("demo::bin/calc", "demo/bin/calc"),
        ("demo::example/calc", "demo/examples/calc"),
        ("demo::bench/calc", "demo/benches/calc"),
    ] {
        assert_eq!(prefix(binary), prefixed);
        assert_eq!(
            expression(&format!("{prefixed}::a::b")),
            format!("binary_id(={binary}) and test(=a::b)")
        );
    }
    assert_eq!(expression(r"demo::a, (b\)"), r"binary_id(=demo) and test(=a\, (b\\\))");
}

#[track_caller]
fn invokes(tools: &[&str], selection: &Selection, expected: &str) {
    let words = samples::invoked(invoke, tools, selection, |invocation| {
        let after = invocation.after.iter().map(|step| format!(" + {}", step.name));
        invocation.call.words.join(" ") + &after.collect::<String>()
    });
    assert_eq!(words, expected);
}

#[test]
fn selects_tests_by_target_and_expression() {
    let all = &["cargo", "cargo-nextest", "cargo-llvm-cov"];
    let common =
        format!("--workspace --tool-config-file redgreen:/s/nextest.toml --profile {PROFILE}");
    let base = format!("cargo nextest run {common} --no-fail-fast");
    let files =
        |paths: &[&str]| Selection::Files(paths.iter().map(|path| (*path).to_owned()).collect());
    let one = |id: &str| Selection::One(id.to_owned());
    invokes(all, &Selection::All, &format!("{base} + list + doc"));
    invokes(all, &one("demo::adds"), &format!("{base} -E binary_id(=demo) and test(=adds) + list"));
    invokes(all, &one("demo/doc::src/lib.rs - add"), &format!("{base} -E none() + list + doc"));
    invokes(
        all,
        &files(&["tests/calc.rs", "a/tests/b.rs"]),
        &format!("{base} --test=calc --test=b + list"),
    );
    invokes(all, &files(&["tests/it/main.rs"]), &format!("{base} + list"));
    invokes(
        all,
        &Selection::List,
        &format!("cargo nextest list {common} --run-ignored all --message-format json"),
    );
    invokes(all, &Selection::Coverage, &format!("{base} + list + doc + coverage"));
    invokes(&all[..2], &Selection::Coverage, "cargo-llvm-cov is not installed");
    invokes(&all[..1], &Selection::All, "cargo-nextest is not installed");
    assert!(SETTINGS.text.contains(PROFILE) && SETTINGS.text.contains(REPORT));
}
