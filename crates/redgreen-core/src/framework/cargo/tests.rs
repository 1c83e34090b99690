//! Tests for cargo: captured builds, results and reports.

use super::*;
use crate::framework::samples::{self, JUNK, beginnings};
use crate::report::{Flag, LoadErrorKind, Status};
use libtest::LibtestOutput;

/// Checks a captured build: `ok` or its errors as `kind code file:line`.
#[track_caller]
fn builds(name: &str, expected: &[&str]) {
    let sample = samples::one("cargo-build", name);
    let build = build::parse(sample.stdout.as_bytes(), "words", sample.exit());
    let succeeded = build.succeeded;
    let report = report(build, Vec::new());
    let mut seen: Vec<String> = report.load_errors.iter().map(error_line).collect();
    match succeeded {
        Some(true) => seen.push("ok".to_owned()),
        Some(false) => assert_eq!(report.outcome, Outcome::DidNotCompile, "{name}"),
        None => seen.push(format!("{:?}", report.outcome)),
    }
    assert_eq!(seen, expected, "{name}");
}

fn error_line(error: &crate::report::LoadError) -> String {
    let kind = match error.kind {
        LoadErrorKind::Syntax => "syntax",
        LoadErrorKind::MissingSymbol => "missing",
        LoadErrorKind::Other => "other",
    };
    let place =
        error.file.as_deref().map(|file| format!("{file}:{}", error.line.unwrap_or_default()));
    format!("{kind} {} {}", error.code.as_deref().unwrap_or("-"), place.as_deref().unwrap_or("-"))
}

#[test]
fn captured_builds_separate_missing_symbols_from_syntax_errors() {
    builds("build_json", &["ok"]);
    builds("build_json_error", &["missing E0432 tests/calc.rs:1"]);
    builds("build_json_syntax", &["syntax - tests/calc.rs:4"]);
    builds("all_pass", &["ok"]);
    builds("missing_crate", &["missing E0432 tests/calc.rs:1"]);
    builds("missing_function", &["missing E0432 tests/calc.rs:1"]);
    builds("missing_module", &["missing E0432 tests/calc.rs:1"]);
    builds("syntax_error", &["syntax - tests/calc.rs:4"]);
    builds("type_error", &["missing E0308 tests/calc.rs:10"]);
    builds("compile_error_hides_good", &["missing E0432 tests/other.rs:1"]);
    builds("build_script_fail", &["other - -"]);
    builds("bad_config", &["UsageError"]);
    builds("bad_usage", &["UsageError"]);
}

/// The log that libtest would have written for a captured stdout.
fn log_of(tests: &[(&str, &str)]) -> Vec<u8> {
    tests
        .iter()
        .map(|(word, name)| format!("{word} {name} <0.001s>\n"))
        .collect::<String>()
        .into_bytes()
}

fn sample(name: &str, log: &[(&str, &str)]) -> Report {
    let sample = samples::one("libtest", name);
    let seen = LibtestOutput { exit: sample.exit(), stdout: sample.stdout.as_bytes(), cut: false };
    report(built(), vec![libtest::parse("demo/tests/calc", seen, &log_of(log))])
}

fn built() -> Build {
    Build { exit: Exit::Code(0), succeeded: Some(true), ..Build::default() }
}

fn statuses(report: &Report) -> Vec<(&str, Status)> {
    report.tests.iter().map(|test| (test.id.as_str(), test.status)).collect()
}

#[test]
fn captured_results_have_place_and_message() {
    let log = [("ok", "adds"), ("ignored: not yet", "ig"), ("failed", "wrong")];
    for name in ["bootstrap_run_only", "libtest_json_bootstrap", "libtest_json_nightly"] {
        let report = sample(name, &log);
        assert_eq!(report.outcome, Outcome::Failed, "{name}");
        assert_eq!(
            statuses(&report),
            [
                ("demo/tests/calc::adds", Status::Passed),
                ("demo/tests/calc::ig", Status::Skipped),
                ("demo/tests/calc::wrong", Status::Failed)
            ],
            "{name}"
        );
        let wrong = report.test("demo/tests/calc::wrong").unwrap();
        assert_eq!((wrong.file.as_deref(), wrong.line), (Some("tests/calc.rs"), Some(10)));
        assert_eq!(
            wrong.message.as_deref(),
            Some("assertion `left == right` failed\n  left: 3\n right: 4")
        );
    }
}

#[test]
fn a_test_that_exits_with_success_counts_as_crashed() {
    let report = sample("bootstrap_exit0", &[("ok", "adds")]);
    assert_eq!(report.outcome, Outcome::Crashed);
    assert_eq!(report.test("demo/tests/calc::z_exit").unwrap().status, Status::Crashed);
}

#[test]
fn a_printed_result_does_not_replace_the_real_one() {
    let report = sample("libtest_json_noise_direct", &[("ok", "adds"), ("failed", "noise_direct")]);
    assert_eq!(report.outcome, Outcome::Failed);
    assert_eq!(report.test("demo/tests/calc::noise_direct").unwrap().status, Status::Failed);
}

#[test]
fn a_result_missing_from_the_log_does_not_count() {
    let report =
        sample("bootstrap_run_only", &[("ok", "adds"), ("ignored", "ig"), ("ok", "wrong")]);
    assert_eq!(report.outcome, Outcome::Crashed);
    assert!(report.has(Flag::SourcesDisagree));
}

#[test]
fn the_log_agrees_with_a_failure_that_has_a_reason() {
    let event = |name: &str, message: &str| {
        format!(
            "{{ \"type\": \"test\", \"name\": \"{name}\", \"event\": \"failed\", \"message\": \"{message}\" }}\n"
        )
    };
    let never = event("never", "test did not panic as expected at src/lib.rs:4:57");
    let other = event(
        "other",
        "panic did not contain expected string\\n      panic message: \\\"good\\\"\\n expected substring: \\\"bad\\\"",
    );
    let stdout = format!(
        "{{ \"type\": \"suite\", \"event\": \"started\", \"test_count\": 2 }}\n{never}{other}\
         {{ \"type\": \"suite\", \"event\": \"failed\" }}\n"
    );
    let honest = "failed: test did not panic as expected at src/lib.rs:4:57 never <0.000s>\n\
        failed: panic did not contain expected string\n      panic message: \"good\"\n expected substring: \"bad\" other <0.001s>\n";
    let read = |log: &str| {
        let seen = LibtestOutput { exit: Exit::Code(101), stdout: stdout.as_bytes(), cut: false };
        report(built(), vec![libtest::parse("demo", seen, log.as_bytes())])
    };
    let whole = read(honest);
    assert_eq!(
        statuses(&whole),
        [("demo::never", Status::Failed), ("demo::other", Status::Failed)]
    );
    let said = whole.test("demo::never").and_then(|test| test.message.as_deref());
    assert_eq!(said, Some("test did not panic as expected at src/lib.rs:4:57"));
    for log in [
        honest.replace("never <", "another <"),
        format!("{honest}ok never <0.000s>\n"),
        "ok never\n".to_owned(),
    ] {
        assert!(read(&log).has(Flag::SourcesDisagree), "{log}");
    }
}

#[test]
fn a_binary_without_json_has_not_finished() {
    for name in ["libtest_json_stable", "libtest_json_stable_unlocked"] {
        assert_eq!(sample(name, &[]).outcome, Outcome::Crashed, "{name}");
    }
}

#[test]
fn output_without_a_line_end_does_not_hide_a_result() {
    let stdout = b"{ \"type\": \"suite\", \"event\": \"started\", \"test_count\": 1 }\n\
        noise{ \"type\": \"test\", \"name\": \"a\", \"event\": \"ok\" }\n\
        { \"type\": \"suite\", \"event\": \"ok\" }\n";
    let seen = LibtestOutput { exit: Exit::Code(0), stdout, cut: false };
    let whole = report(built(), vec![libtest::parse("demo", seen, b"ok a <0.000s>\n")]);
    assert_eq!(whole.outcome, Outcome::Passed);
    let cut = LibtestOutput { cut: true, ..seen };
    let whole = report(built(), vec![libtest::parse("demo", cut, b"ok a <0.000s>\n")]);
    assert_eq!(whole.outcome, Outcome::Crashed);
}

#[test]
fn doc_test_ids_are_numbered_and_have_no_line() {
    let ok =
        |name: &str| format!("{{ \"type\": \"test\", \"name\": \"{name}\", \"event\": \"ok\" }}\n");
    let stdout = [
        "{ \"type\": \"suite\", \"event\": \"started\", \"test_count\": 4 }\n".to_owned(),
        ok("src/lib.rs - add (line 14)"),
        ok("src/lib.rs - add (line 4)"),
        ok("src/lib.rs - (line 1)"),
        ok("src/lib.rs - sub (line 20) - compile fail"),
        "{ \"type\": \"suite\", \"event\": \"ok\" }\n".to_owned(),
    ]
    .concat();
    let seen = LibtestOutput { exit: Exit::Code(0), stdout: stdout.as_bytes(), cut: false };
    let report = report(built(), vec![libtest::parse_doc("demo/doc", seen)]);
    let mut ids: Vec<_> = report.tests.iter().map(|test| (test.id.as_str(), test.line)).collect();
    ids.sort_unstable();
    let expected = [
        ("demo/doc::src/lib.rs -", Some(1)),
        ("demo/doc::src/lib.rs - add", Some(4)),
        ("demo/doc::src/lib.rs - add #2", Some(14)),
        ("demo/doc::src/lib.rs - sub - compile fail", Some(20)),
    ];
    assert_eq!(ids, expected);
    assert_eq!(report.outcome, Outcome::Passed);
}

#[test]
fn lists_tests_by_binary_and_doc_tests_without_line() {
    let listed = libtest::parse_list("demo", samples::one("cargo-test", "list").stdout.as_bytes());
    assert_eq!(listed, ["demo::tests::unit_adds", "demo::adds"]);
    let doc = b"src/lib.rs - add (line 14): test\nsrc/lib.rs - add (line 4): test\nsrc/lib.rs - fast (line 1): bench\n";
    let listed = libtest::parse_doc_list("demo/doc", doc);
    assert_eq!(listed, ["demo/doc::src/lib.rs - add", "demo/doc::src/lib.rs - add #2"]);
    JUNK.iter().for_each(|junk| assert!(libtest::parse_list("demo", junk).is_empty()));
}

#[test]
fn splits_the_output_of_several_binaries() {
    let suite = "{ \"type\": \"suite\", \"event\": \"started\", \"test_count\": 0 }\n";
    let two = format!("words\n{suite}a\n{suite}b\n");
    let parts: Vec<_> =
        libtest::suites(two.as_bytes()).into_iter().map(String::from_utf8_lossy).collect();
    assert_eq!(parts, [format!("{suite}a\n"), format!("{suite}b\n")]);
    assert!(libtest::suites(b"words").is_empty());
}

#[test]
fn truncated_output_never_passes_and_never_panics() {
    for sample in samples::all("cargo-build") {
        let stdout = sample.stdout.as_bytes();
        for end in beginnings(stdout) {
            let build = build::parse(&stdout[..end], "", Exit::Code(0));
            assert_ne!(report(build, Vec::new()).outcome, Outcome::Passed);
        }
    }
    let stdout = samples::one("libtest", "bootstrap_run_only").stdout.into_bytes();
    for text in beginnings(&stdout).map(|end| &stdout[..end]).chain(JUNK.iter().copied()) {
        let seen = LibtestOutput { exit: Exit::Code(0), stdout: text, cut: false };
        assert_ne!(
            report(built(), vec![libtest::parse("demo", seen, text)]).outcome,
            Outcome::Passed
        );
        assert_ne!(
            report(built(), vec![libtest::parse_doc("demo", seen)]).outcome,
            Outcome::Passed
        );
    }
}

/// The packages to compare cargo's output with: a library, a test, and a test that needs a feature.
const METADATA: &str = r#"{"packages":[{"id":"p","name":"calc","version":"0.1.0","targets":[
    {"kind":["lib"],"name":"calc","test":true,"doctest":true},
    {"kind":["test"],"name":"adds","test":true},
    {"kind":["test"],"name":"slow","test":true,"required-features":["slow"]},
    {"kind":["example"],"name":"show","test":false},
    {"kind":["custom-build"],"name":"build-script-build","test":false}]}]}"#;

#[track_caller]
fn doubts(lines: &[&str], exit: i32, expected: &str) {
    let line = |line: &&str| match line.split_once(' ') {
        None => format!("{{\"reason\":\"build-finished\",\"success\":{}}}\n", *line == "good"),
        Some((target, file)) => {
            let kind = if target == "calc" { "lib" } else { "test" };
            format!(
                "{{\"reason\":\"compiler-artifact\",\"package_id\":\"p\",\"manifest_path\":\"/p/Cargo.toml\",\"target\":\
                 {{\"kind\":[\"{kind}\"],\"name\":\"{target}\"}},\"profile\":{{\"test\":true}},\"executable\":\"{file}\"}}\n"
            )
        }
    };
    let stdout: String = lines.iter().map(line).collect();
    let packages = build::parse_packages(METADATA.as_bytes());
    let build = build::parse(stdout.as_bytes(), "", Exit::Code(exit)).compared_with(&packages);
    assert_eq!(build.doubt.as_deref().unwrap_or_default(), expected, "{lines:?}");
    if build.doubt.is_some() {
        let report = report(build, Vec::new());
        assert_eq!((report.outcome, report.finished), (Outcome::Crashed, false), "{lines:?}");
    }
}

#[test]
fn detects_forged_cargo_messages() {
    let whole = ["calc /t/calc", "adds /t/adds", "good"];
    doubts(&whole, 0, "");
    doubts(&["calc /t/calc", "adds /t/adds", "slow /t/slow", "good"], 0, "");
    doubts(&["calc /t/calc", "bad"], 101, "");
    doubts(&[], 101, "");
    doubts(
        &["adds /tmp/forged", "calc /t/calc", "adds /t/adds", "good"],
        0,
        "cargo's output names two programs with the tests of adds",
    );
    doubts(&["calc /t/calc", "good"], 0, "cargo's output names no program with the tests of adds");
    doubts(
        &["calc /t/calc", "adds /t/adds", "more /t/more", "good"],
        0,
        "cargo's output names a program with the tests of more, which is in no manifest",
    );
    doubts(
        &["calc /t/calc", "adds /t/adds", "good", "good"],
        0,
        "cargo's output says more than once that the build finished",
    );
    doubts(&whole, 101, "cargo's output and its exit 101 do not agree whether the build succeeded");
}
