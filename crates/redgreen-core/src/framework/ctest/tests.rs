//! Tests for CTest: captured runs and invocation.

use super::*;
use crate::framework::samples::{self, Check, Sample};

/// Without GoogleTest's report, CTest cannot detect an exception or a test that exits its process
/// with success.
const ALONE: &[(&str, Outcome)] =
    &[("crash_exit0", Outcome::Failed), ("exception", Outcome::Failed)];
/// The expectations come from the XML. CTest's own lines show how a process exited.
const KNOWN_BETTER: &[(&str, &str)] = &[
    ("crash_abort", "tests"),
    ("crash_segv", "tests"),
    ("hang", "tests"),
    ("hang_own_timeout", "tests"),
];

/// The captures ran the preparation steps together with the tests, and exited with these codes if a
/// step failed.
fn staged(captured: &Capture) -> Capture {
    let failed = match captured.exit {
        Exit::Code(90) => CONFIGURE,
        Exit::Code(91) => BUILD,
        Exit::Code(_) | Exit::Signal(_) | Exit::TimedOut | Exit::NotStarted => {
            let xml = |(name, bytes): &(String, Vec<u8>)| {
                (name.replace("report.xml", JUNIT), bytes.clone())
            };
            return Capture {
                reports: captured.reports.iter().map(xml).collect(),
                ..captured.clone()
            };
        }
    };
    let step = StepEnd {
        name: failed.to_owned(),
        exit: Exit::Code(1),
        stdout: captured.stdout.clone(),
        stderr: vec![],
    };
    Capture { exit: Exit::NotStarted, steps: vec![step], ..captured.clone() }
}

/// CTest repeats a test's name as its class.
fn twice(mut report: Report) -> Report {
    report.tests.iter_mut().for_each(|test| test.id = format!("{0}::{0}", test.id));
    report
}

#[test]
fn parses_captured_runs() {
    Check::new("ctest-gtest", |captured| twice(parse(&staged(captured))))
        .alone(ALONE)
        .skips(KNOWN_BETTER)
        .reads(".xml")
        .run();
}

#[test]
fn classifies_build_failures() {
    use crate::report::LoadErrorKind::{MissingSymbol, Other, Syntax};
    for (situation, kind, line) in [
        ("missing_function", MissingSymbol, 8),
        ("missing_module", MissingSymbol, 5),
        ("link_error", MissingSymbol, 9),
        ("syntax_error", Syntax, 8),
        ("duplicate_name", Other, 8),
    ] {
        let report = parse(&staged(&samples::one("ctest-gtest", situation).captured()));
        let found = report
            .load_errors
            .iter()
            .find(|error| error.kind == kind)
            .unwrap_or_else(|| panic!("{report:#?}"));
        assert_eq!(
            (found.file.as_deref(), found.line),
            (Some("test/calc_test.cpp"), Some(line)),
            "{situation}"
        );
    }
}

#[test]
fn ctest_lines_show_how_a_process_ended() {
    for (situation, status) in [
        ("crash_abort", Status::Crashed),
        ("crash_segv", Status::Crashed),
        ("hang", Status::TimedOut),
        ("hang_own_timeout", Status::TimedOut),
    ] {
        let report = parse(&staged(&samples::one("ctest-gtest", situation).captured()));
        let status_of = |id| report.test(id).map(|test| test.status);
        assert_eq!(
            (status_of("Calc.Z"), status_of("Calc.Adds")),
            (Some(status), Some(Status::Passed)),
            "{situation}"
        );
    }
}

fn json(situation: &str) -> Vec<u8> {
    let sample: Sample = samples::one("gtest", situation);
    sample.reports[0].text.clone().into_bytes()
}

/// A CTest run with the results of the later steps: the tests' commands, and which programs contain
/// GoogleTest.
fn with_gtest(situation: &str, commands: &[(&str, &[&str])], reports: &[&[u8]]) -> Capture {
    let mut captured = staged(&samples::one("ctest-gtest", situation).captured());
    let tests = commands
        .iter()
        .map(|(name, command)| serde_json::json!({"name": name, "command": command}));
    let list = serde_json::json!({"tests": tests.collect::<Vec<_>>()}).to_string();
    let after = |name: &str, stdout: &str| StepEnd {
        name: name.to_owned(),
        exit: Exit::Code(0),
        stdout: stdout.as_bytes().to_vec(),
        stderr: Vec::new(),
    };
    captured.after = vec![after(LIST, &list), after(GTEST, "build/redgreen/calc_test\n")];
    for (number, bytes) in reports.iter().enumerate() {
        captured.reports.push((format!("gtest/calc_test_{number}.json"), bytes.to_vec()));
    }
    captured
}

const PROGRAM: &str = "/elsewhere/build/redgreen/calc_test";

#[test]
fn a_googletest_test_without_a_result_counts_as_crashed() {
    let one = json("all_pass");
    let commands: &[(&str, &[&str])] = &[
        ("Calc.Adds", &[PROGRAM, "--gtest_filter=Calc.Adds"]),
        ("Calc.Z", &[PROGRAM, "--gtest_filter=Calc.Z"]),
        ("Calc.Zz", &[PROGRAM, "--gtest_filter=Calc.Zz"]),
    ];
    let report = parse(&with_gtest("crash_exit0", commands, &[&one]));
    let seen: Vec<_> =
        report.tests.iter().map(|test| (test.id.as_str(), test.status, test.line)).collect();
    assert_eq!(
        seen,
        [
            ("Calc.Adds", Status::Passed, Some(7)),
            ("Calc.Z", Status::Crashed, None),
            ("Calc.Zz", Status::Crashed, None)
        ]
    );
    assert_eq!(report.outcome, Outcome::Crashed);
}

#[test]
fn tests_within_one_ctest_program_have_nested_ids() {
    let all: &[(&str, &[&str])] = &[("Calc.Adds", &[PROGRAM])];
    let report = parse(&with_gtest("all_pass", all, &[&json("one_fail")]));
    let seen: Vec<_> = report.tests.iter().map(|test| (test.id.as_str(), test.status)).collect();
    assert_eq!(
        seen,
        [("Calc.Adds > Calc.Adds", Status::Passed), ("Calc.Adds > Calc.Wrong", Status::Failed)]
    );
    assert_eq!(report.outcome, Outcome::Failed);
    let report = parse(&with_gtest("all_pass", all, &[&json("no_tests")]));
    assert_eq!((report.outcome, report.tests.len()), (Outcome::NoTests, 0));
    let report = parse(&with_gtest("all_pass", all, &[]));
    assert_eq!(report.outcome, Outcome::Crashed);
    // The tests passed, but the process failed.
    let report =
        parse(&with_gtest("one_fail", &[("Calc.Wrong", &[PROGRAM])], &[&json("all_pass")]));
    assert_eq!(report.test("Calc.Wrong").map(|test| test.status), Some(Status::Errored));
}

#[test]
fn lists_tests() {
    assert_eq!(list(&samples::one("ctest-gtest", "list").captured()), ["Calc.Adds"]);
}

#[track_caller]
fn invokes(tools: &[&str], selection: &Selection, expected: &str) {
    let words = samples::invoked(invoke, tools, selection, |invocation| {
        let filter = invocation.call.env.iter().filter(|(name, _)| name == "GTEST_FILTER");
        let filter: String = filter.map(|(_, value)| format!(" with {value}")).collect();
        invocation.call.words.join(" ") + &filter
    });
    assert_eq!(words, expected);
}

#[test]
fn selects_tests_by_name() {
    let tools = &["cmake", "ctest"];
    let call = |folder: &str| {
        format!(
            "ctest --test-dir {folder} --output-junit /s/ctest.xml --test-output-size-passed 65536 \
             --test-output-size-failed 65536"
        )
    };
    let one = |id: &str| Selection::One(id.to_owned());
    let base = call(BUILD_IN);
    invokes(tools, &Selection::All, &base);
    // The tests of a file are known only after the build.
    invokes(tools, &Selection::Files(vec!["tests/a_test.cpp".to_owned()]), &base);
    invokes(tools, &one("Nums/P.Small/1"), &format!("{base} -R ^Nums/P\\.Small/1$"));
    invokes(tools, &one("Calc::add"), &format!("{base} -R ^Calc::add$"));
    invokes(tools, &one("adds (two)"), &format!("{base} -R ^adds \\(two\\)$"));
    invokes(tools, &one("all > Calc.Adds"), &format!("{base} -R ^all$ with Calc.Adds"));
    invokes(tools, &Selection::List, "ctest --test-dir build/redgreen --show-only=json-v1");
    invokes(tools, &Selection::Coverage, "gcovr is not installed");
    invokes(&["cmake", "ctest", "gcovr"], &Selection::Coverage, &call(COVERAGE_IN));
    invokes(&["cmake"], &Selection::All, "CMake is not installed");
}

#[test]
fn files_select_the_tests_of_their_programs() {
    let step = |name: &str, stdout: &str| StepEnd {
        name: name.to_owned(),
        stdout: stdout.as_bytes().to_vec(),
        ..StepEnd::default()
    };
    let listed = r#"{"tests":[{"name":"Calc.Adds","command":["/p/build/redgreen/calc_test","--gtest_filter=Calc.Adds"]},
        {"name":"all","command":["/p/build/redgreen/sub/other"]},{"name":"script","command":["/bin/false"]}]}"#;
    let target = |file: &str, program: &str| {
        format!(
            r#"{{"id":"{program}","sources":[{{"path":"{file}"}}],"artifacts":[{{"path":"{program}"}}]}}"#
        )
    };
    let answer = [
        target("tests/a.cpp", "calc_test"),
        target("b.cpp", "sub/other"),
        target("c.cpp", "unused"),
    ]
    .concat();
    let steps = vec![step(LIST, listed), step(targets::ANSWER, &answer)];
    let captured = Capture { steps, ..Capture::default() };
    let chosen = |files: &[&str]| {
        let files: Vec<String> = files.iter().map(|file| (*file).to_owned()).collect();
        chosen(&captured, &files).join(" ")
    };
    assert_eq!(chosen(&["tests/a.cpp"]), r"-R ^(Calc\.Adds)$");
    assert_eq!(chosen(&["tests/a.cpp", "b.cpp"]), r"-R ^(Calc\.Adds|all)$");
    assert_eq!(chosen(&["c.cpp"]), "-R ^$");
    assert_eq!(chosen(&["tests/a.cpp", "a.h"]), "");
}
