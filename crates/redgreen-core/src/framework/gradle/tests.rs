//! Tests for Gradle: captured runs and invocation.

use super::*;
use crate::framework::captured::StepEnd;
use crate::framework::samples::{self, Check};
use crate::report::LoadErrorKind;

/// Gradle treats a test that exits with success as the end of all tests, and it replays old
/// results. Only the ids of an earlier run reveal the first; only `--rerun-tasks` and removed
/// reports prevent the second.
const ALONE: &[(&str, Outcome)] =
    &[("crash_exit0", Outcome::Passed), ("up_to_date", Outcome::Passed)];

#[test]
fn parses_captured_runs() {
    Check::new("gradle-junit4", parse).alone(ALONE).reads(".xml").run();
}

#[test]
fn compiler_lines_separate_missing_symbols_from_syntax_errors() {
    for (situation, kind, line) in [
        ("missing_function", LoadErrorKind::MissingSymbol, 13),
        ("missing_module", LoadErrorKind::MissingSymbol, 5),
        ("syntax_error", LoadErrorKind::Syntax, 12),
    ] {
        let captured = samples::one("gradle-junit4", situation).captured();
        // A separate build step reports the same.
        let stderr = captured.stderr.clone();
        let step =
            StepEnd { name: BUILD.to_owned(), exit: Exit::Code(1), stdout: Vec::new(), stderr };
        let apart =
            Capture { steps: vec![step], root: captured.root.clone(), ..Capture::default() };
        for captured in [captured, apart] {
            let report = parse(&captured);
            assert_eq!(report.outcome, Outcome::DidNotCompile, "{situation}");
            let [error] = report.load_errors.as_slice() else { panic!("{situation}: {report:#?}") };
            assert_eq!((error.kind, error.line), (kind, Some(line)), "{situation}");
            assert_eq!(error.file.as_deref(), Some("src/test/java/demo/CalcTest.java"));
        }
    }
}

#[test]
fn failures_are_placed_at_the_frame_in_their_class() {
    let mut captured = samples::one("gradle-junit4", "one_fail").captured();
    captured.reports[0].0 = format!("app/{}", captured.reports[0].0);
    let report = parse(&captured);
    let wrong = report.test("demo.CalcTest::wrong").unwrap();
    assert_eq!(
        (wrong.file.as_deref(), wrong.line),
        (Some("app/src/test/java/demo/CalcTest.java"), Some(13))
    );
}

#[test]
fn a_process_that_ends_within_a_class_is_a_crash() {
    let mut captured = samples::one("gradle-junit4", "crash_abort").captured();
    captured.reports = samples::one("gradle-junit4", "all_pass").captured().reports;
    assert_eq!(parse(&captured).outcome, Outcome::Crashed);
}

#[track_caller]
fn invokes(tools: &[&str], selection: &Selection, expected: &str) {
    let words = samples::invoked(invoke, tools, selection, |invocation| {
        let steps = invocation.before.iter().map(|step| step.call.words.join(" "));
        steps.chain([invocation.call.words.join(" ")]).collect::<Vec<_>>().join(" && ")
    });
    assert_eq!(words, expected);
}

#[test]
fn prefers_the_wrapper_and_selects_by_class_and_method() {
    let options = "--no-daemon --console=plain";
    let base = |program: &str| {
        format!(
            "{program} {options} testClasses && {program} {options} --rerun-tasks --continue test"
        )
    };
    let with = |more: &str| format!("{} {more}", base("gradle"));
    let one = |id: &str| Selection::One(id.to_owned());
    invokes(&["gradle"], &Selection::All, &base("gradle"));
    invokes(&["./gradlew", "gradle"], &Selection::All, &base("./gradlew"));
    invokes(&[], &Selection::All, "Gradle is not installed");
    invokes(&["gradle"], &one("demo.CalcTest::adds"), &with("--tests demo.CalcTest.adds"));
    invokes(&["gradle"], &one("demo.CalcTest::adds()[2]"), &with("--tests demo.CalcTest.adds*"));
    invokes(&["gradle"], &one("demo.CalcTest::classMethod"), &with("--tests demo.CalcTest"));
    let files =
        ["src/test/java/demo/ATest.java", "app/src/test/kotlin/demo/BTest.kt"].map(str::to_owned);
    invokes(
        &["gradle"],
        &Selection::Files(files.to_vec()),
        &with("--tests demo.ATest --tests demo.BTest"),
    );
    invokes(&["gradle"], &Selection::List, "");
    invokes(
        &["gradle"],
        &Selection::Coverage,
        "no coverage tool: the build does not apply the plugin jacoco",
    );
}

#[test]
fn listing_and_coverage_depend_on_the_build() {
    let with = |script: &str, selection: &Selection| {
        let texts = vec![("build.gradle".to_owned(), script.to_owned())];
        let folder = Folder { texts, ..Folder::default() };
        let tools = vec![("gradle".to_owned(), "gradle".to_owned())];
        invoke(&Facts { folder, tools, scratch: "/s".to_owned(), ..Facts::default() }, selection)
    };
    assert!(matches!(
        with("test { exclude '**/Slow*' }", &Selection::List),
        Err(CannotRun::Unsupported(_))
    ));
    let covers = with("apply plugin: 'jacoco'", &Selection::Coverage).unwrap();
    let words = covers.call.words.join(" ");
    assert!(words.ends_with("test jacocoTestReport --init-script /s/xml.gradle"), "{words}");
    assert_eq!((covers.inject.len(), covers.coverage.unwrap().built_in), (1, Some("build/")));
}

#[test]
fn compiler_paths_can_contain_blanks() {
    let told = |line: &str| {
        let captured = Capture { root: "/my p".to_owned(), ..Capture::default() };
        java::diagnostics(&captured, line)
            .into_iter()
            .map(|error| (error.file.unwrap(), error.line))
            .collect::<Vec<_>>()
    };
    let java = [("src/ATest.java".to_owned(), Some(6))];
    assert_eq!(told("/my p/src/ATest.java:6: error: cannot find symbol"), java);
    assert_eq!(told("[ERROR] /my p/src/ATest.java:[6,21] cannot find symbol"), java);
    assert_eq!(
        told("e: file:///my%20p/src/ATest.kt:6:21 Unresolved reference: add"),
        [("src/ATest.kt".to_owned(), Some(6))]
    );
    assert_eq!(told("    at demo.ATest (ATest.java:6: error: none)"), []);
}
