//! Tests for Maven: captured runs and invocation.

use super::*;
use crate::framework::captured::StepEnd;
use crate::framework::samples::{self, Check};
use crate::report::LoadErrorKind;

#[test]
fn parses_captured_runs() {
    Check::new("maven-junit5", parse).reads(".xml").run();
}

#[test]
fn compiler_lines_separate_missing_symbols_from_syntax_errors() {
    for (situation, kind, file, line) in [
        ("missing_function", LoadErrorKind::MissingSymbol, "src/test/java/demo/CalcTest.java", 13),
        ("missing_module", LoadErrorKind::MissingSymbol, "src/test/java/demo/CalcTest.java", 5),
        ("syntax_error", LoadErrorKind::Syntax, "src/test/java/demo/CalcTest.java", 12),
        ("main_compile_error", LoadErrorKind::MissingSymbol, "src/main/java/demo/Calc.java", 3),
    ] {
        let report = parse(&samples::one("maven-junit5", situation).captured());
        let [error] = report.load_errors.as_slice() else { panic!("{situation}: {report:#?}") };
        assert_eq!(
            (error.kind, error.file.as_deref(), error.line),
            (kind, Some(file), Some(line)),
            "{situation}"
        );
    }
}

/// Captured phase by phase, with all logs in one file.
#[test]
fn a_failed_build_step_has_a_reason() {
    for (situation, expected) in [
        ("main_compile_error", Outcome::DidNotCompile),
        ("missing_function", Outcome::DidNotCompile),
        ("syntax_error", Outcome::DidNotCompile),
        ("missing_dependency", Outcome::UsageError),
    ] {
        let phases = samples::one("maven-junit5-phases", situation);
        let stdout = phases.reports[0].text.clone().into_bytes();
        let step =
            StepEnd { name: BUILD.to_owned(), exit: Exit::Code(1), stdout, stderr: Vec::new() };
        let captured =
            Capture { steps: vec![step], root: "/project".to_owned(), ..Capture::default() };
        let report = parse(&captured);
        assert_eq!(report.outcome, expected, "{situation}: {report:#?}");
    }
}

#[test]
fn failures_are_placed_at_the_frame_in_their_class() {
    let mut captured = samples::one("maven-junit5", "one_fail").captured();
    captured.reports[0].0 = format!("core/{}", captured.reports[0].0);
    let report = parse(&captured);
    let wrong = report.test("demo.CalcTest::wrong").unwrap();
    assert_eq!(
        (wrong.file.as_deref(), wrong.line),
        (Some("core/src/test/java/demo/CalcTest.java"), Some(13))
    );
}

/// The goal failed, but every reported test passed: the process ended in the class without a
/// report.
#[test]
fn a_process_that_ends_within_a_class_is_a_crash() {
    let mut captured = samples::one("maven-junit5", "crash_exit0_two_classes").captured();
    captured.reports = samples::one("maven-junit5", "all_pass").captured().reports;
    assert_eq!(parse(&captured).outcome, Outcome::Crashed);
}

#[track_caller]
fn invokes(tools: &[&str], selection: &Selection, expected: &str) {
    let words =
        samples::invoked(invoke, tools, selection, |invocation| invocation.call.words.join(" "));
    assert_eq!(words, expected);
}

#[test]
fn prefers_the_wrapper_and_selects_by_class_and_method() {
    let base = "mvn --batch-mode -Dstyle.color=never --fail-at-end test";
    let lenient = "-DfailIfNoTests=false -Dsurefire.failIfNoSpecifiedTests=false";
    let one = |id: &str, test: &str| {
        invokes(
            &["mvn"],
            &Selection::One(id.to_owned()),
            &format!("{base} -Dtest={test} {lenient}"),
        );
    };
    invokes(&["mvn"], &Selection::All, base);
    invokes(&["./mvnw", "mvn"], &Selection::All, &format!("./{}", base.replacen("mvn", "mvnw", 1)));
    invokes(&[], &Selection::All, "Maven is not installed");
    one("demo.CalcTest::adds", "demo.CalcTest#adds");
    one("demo.CalcTest$Inner::adds", "demo.CalcTest$Inner#adds");
    one("demo.CalcTest::table{int, int, int}[2]", "demo.CalcTest#table*");
    one("demo.DbTest::demo.DbTest", "demo.DbTest");
    let files = ["src/test/java/demo/CalcTest.java", "core/src/test/kotlin/demo/b/BTest.kt"]
        .map(str::to_owned);
    let expected = format!("{base} -Dtest=demo.CalcTest,demo.b.BTest {lenient}");
    invokes(&["mvn"], &Selection::Files(files.to_vec()), &expected);
    invokes(&["mvn"], &Selection::List, "");
    invokes(
        &["mvn"],
        &Selection::Coverage,
        "no coverage tool: the pom.xml does not name jacoco-maven-plugin",
    );
}

fn with_pom(pom: &str, selection: &Selection) -> Result<Invocation, CannotRun> {
    let texts = vec![("pom.xml".to_owned(), pom.to_owned())];
    let folder = Folder { texts, ..Folder::default() };
    invoke(
        &Facts { folder, tools: vec![("mvn".to_owned(), "mvn".to_owned())], ..Facts::default() },
        selection,
    )
}

#[test]
fn listing_and_coverage_depend_on_the_pom() {
    let chooses =
        with_pom("<excludes><exclude>**/SlowTest*</exclude></excludes>", &Selection::List);
    assert!(matches!(chooses, Err(CannotRun::Unsupported(_))));
    let covers =
        with_pom("<artifactId>jacoco-maven-plugin</artifactId>", &Selection::Coverage).unwrap();
    assert!(covers.call.words.ends_with(&["test", "jacoco:report"].map(str::to_owned)));
    assert_eq!(covers.coverage.unwrap().built_in, Some("target/"));
    for (class, expected) in
        [("CalcTest", true), ("TestCalc", true), ("CalcTests", true), ("CalcChecks", false)]
    {
        assert_eq!(is_run(class), expected, "{class}");
    }
}

#[test]
fn builds_in_a_separate_step() {
    let facts = Facts { tools: vec![("mvn".to_owned(), "mvn".to_owned())], ..Facts::default() };
    let invocation = invoke(&facts, &Selection::All).unwrap();
    let steps: Vec<String> =
        invocation.before.iter().map(|step| step.call.words.join(" ")).collect();
    assert_eq!(steps, ["mvn --batch-mode -Dstyle.color=never --fail-at-end --quiet test-compile"]);
}
