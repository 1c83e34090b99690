//! Tests for commands: which runner a command calls, and how its report or exit code is read.

use super::*;
use crate::framework::samples::{self, JUNK, beginnings};

/// Checks the runner of a command and the files it would run.
#[track_caller]
fn is_run_by(line: &str, expected: &str) {
    let package = r#"{"scripts": {"test": "vitest run"}}"#;
    let texts = vec![("package.json".to_owned(), package.to_owned())];
    let found =
        Command::new(line, None, None).unwrap().found(Folder { texts, ..Folder::default() });
    let words = [&[found.row.name.to_owned()], found.files.as_slice()].concat().join(" ");
    assert_eq!(words, expected, "{line}");
    assert_eq!(found.command.is_some(), expected == "command", "{line}");
}

#[test]
fn plain_calls_map_to_their_runner() {
    for (line, expected) in [
        ("pytest -q", "pytest"),
        (" python3 -m  pytest --tb=short tests/", "pytest"),
        ("pytest ./tests/test_a.py -q test_b.py", "pytest tests/test_a.py test_b.py"),
        ("uv run pytest", "pytest"),
        ("python -m unittest discover -v", "unittest"),
        ("cargo test", "cargo"),
        ("cargo test --workspace --quiet", "cargo"),
        ("npx vitest run", "vitest"),
        ("npx vitest run src/a.test.ts", "vitest src/a.test.ts"),
        ("npm test", "vitest"),
        ("vitest", "vitest"),
        ("go test ./...", "go"),
        ("./mvnw test -q", "maven"),
        ("gradle test", "gradle"),
        ("bundle exec rspec", "rspec"),
        ("bats test", "bats"),
        ("mix test", "exunit"),
    ] {
        is_run_by(line, expected);
    }
}

#[test]
fn other_commands_run_as_they_are() {
    for line in [
        "make test",
        "npm run check",
        "cargo test --release",
        "cargo test adds",
        "cargo test tests",
        "go test ./calc",
        "go test .",
        "cargo testing",
        "pytest -k adds",
        "pytest tests/unit",
        "pytest tests/test_a.py::test_a",
        "pytest -q | tee log",
        "cd web && npx vitest run",
        "PYTHONPATH=src pytest",
        "pytest; true",
        "pytest || true",
        "cargo",
    ] {
        is_run_by(line, "command");
    }
    let found = |line: &str, report, texts| {
        let folder = Folder { texts, ..Folder::default() };
        Command::new(line, report, None).unwrap().found(folder).row.name
    };
    assert_eq!(found("pytest --junitxml=a.xml", Some("a.xml"), Vec::new()), "command");
    for script in ["npm test", "exit 1", "[]"] {
        let text = format!("{{\"scripts\": {{\"test\": \"{script}\"}}}}");
        assert_eq!(found("npm test", None, vec![("package.json".to_owned(), text)]), "command");
    }
    assert_eq!(found("npm test", None, Vec::new()), "command");
}

#[test]
fn rejects_invalid_settings() {
    for (line, report, format) in [
        (" ", None, None),
        ("make", None, Some(Format::Tap)),
        ("make", Some(""), None),
        ("make", Some("/tmp/a.xml"), None),
        ("make", Some("../a.xml"), None),
        ("make", Some("stdout"), None),
        ("make", Some("stdout"), Some(Format::Junit)),
    ] {
        assert!(Command::new(line, report, format).is_err(), "{line:?} {report:?} {format:?}");
    }
}

/// One line for the outcome, one for each test.
fn shown(report: &Report) -> String {
    let tests = report.tests.iter().map(|test| format!(", {:?} {}", test.status, test.id));
    format!("{:?}{}", report.outcome, tests.collect::<String>())
}

#[test]
fn an_exit_code_is_reported_as_one_test() {
    let command = Command::new("make test", None, None).unwrap();
    for (exit, expected) in [
        (Exit::Code(0), "Passed, Passed exit code only: make test"),
        (Exit::Code(2), "Failed, Failed exit code only: make test"),
        (Exit::Code(127), "UsageError, Failed exit code only: make test"),
        (Exit::Signal(9), "Crashed, Crashed exit code only: make test"),
        (Exit::TimedOut, "TimedOut, TimedOut exit code only: make test"),
    ] {
        let report = command.parse(&Capture { exit, ..Capture::default() });
        assert_eq!(shown(&report), expected);
        assert!(report.has(Flag::ExitCodeAlone) && !report.has(Flag::NoFinish));
    }
}

#[track_caller]
fn reads(format: Format, code: i32, texts: &[&str], expected: &str) {
    let command = Command::new("make test", Some("out/*"), Some(format)).unwrap();
    let reports = texts.iter().map(|text| ("out/a".to_owned(), text.as_bytes().to_vec())).collect();
    let report = command.parse(&Capture { exit: Exit::Code(code), reports, ..Capture::default() });
    assert_eq!(shown(&report), expected, "{report:#?}");
    assert!(!report.has(Flag::ExitCodeAlone));
}

#[test]
fn junit_must_be_complete() {
    let good = r#"<testsuites><testsuite tests="1"><testcase classname="A" name="a"/></testsuite></testsuites>"#;
    let bad = r#"<testsuite><testcase name="b"><failure message="no"/></testcase></testsuite>"#;
    reads(Format::Junit, 0, &[good], "Passed, Passed A::a");
    reads(Format::Junit, 1, &[good, bad], "Failed, Passed A::a, Failed b");
    reads(Format::Junit, 0, &[bad], "Failed, Failed b");
    reads(Format::Junit, 1, &[good], "Errored, Passed A::a");
    reads(Format::Junit, 0, &[good, ""], "Crashed, Passed A::a");
    reads(Format::Junit, 0, &["<testsuite/>"], "NoTests");
    reads(Format::Junit, 0, &[], "Crashed");
    reads(Format::Junit, 127, &[], "UsageError");
}

#[test]
fn reads_load_errors_from_pytests_junit() {
    use crate::report::LoadErrorKind::{MissingSymbol, Syntax};
    for (situation, kind) in [("missing_module", MissingSymbol), ("syntax_error", Syntax)] {
        let captured = samples::one("pytest", situation).captured();
        let reports =
            captured.reports.iter().filter(|(name, _)| name.ends_with(".xml")).cloned().collect();
        let command = Command::new("make test", Some("*.xml"), None).unwrap();
        let report = command.parse(&Capture { reports, ..captured });
        let seen: Vec<_> =
            report.load_errors.iter().map(|error| (error.kind, error.file.as_deref())).collect();
        assert_eq!(
            (report.outcome, seen),
            (Outcome::DidNotCompile, vec![(kind, Some("tests/test_calc.py"))])
        );
    }
}

#[test]
fn tap_must_complete_its_plan() {
    reads(Format::Tap, 0, &["1..2\nok 1 - a\nok 2\n"], "Passed, Passed a, Passed test 2");
    reads(Format::Tap, 1, &["1..2\nok 1 a\nnot ok 2 b\n"], "Failed, Passed a, Failed b");
    reads(
        Format::Tap,
        0,
        &["1..2\nok 1 a # skip later\nnot ok 2 b # TODO\n"],
        "Skipped, Skipped a, Todo b",
    );
    reads(Format::Tap, 0, &["1..2\nok 1 a\n"], "Crashed, Passed a");
    reads(Format::Tap, 0, &["ok 1 a\n"], "Crashed, Passed a");
    reads(Format::Tap, 0, &["1..1\nok 1 a\nBail out! no disk\n"], "Crashed, Passed a");
    reads(Format::Tap, 0, &[""], "Crashed");
}

#[test]
fn reads_go_json_from_a_file_or_stdout() {
    let sample = samples::one("go-test127", "one_fail").captured();
    let text = String::from_utf8(sample.stdout.clone()).unwrap();
    let command = Command::new("make test", Some("stdout"), Some(Format::GoJson)).unwrap();
    let expected = shown(&command.parse(&sample));
    assert!(expected.starts_with("Failed, "), "{expected}");
    reads(Format::GoJson, 1, &[&text], &expected);
    reads(Format::GoJson, 0, &[], "Crashed");
}

#[test]
fn reads_the_json_of_javascript_runners() {
    for (format, runner) in
        [(Format::JestJson, "jest"), (Format::JestJson, "vitest"), (Format::MochaJson, "mocha")]
    {
        for (situation, expected) in [("all_pass", Outcome::Passed), ("one_fail", Outcome::Failed)]
        {
            let captured = samples::one(runner, situation).captured();
            let stdout = captured.file("report.json").unwrap().to_vec();
            let reports = vec![("out/report.json".to_owned(), stdout.clone())];
            for (report, captured) in [
                ("out/*", Capture { reports, ..captured.clone() }),
                ("stdout", Capture { stdout, ..captured.clone() }),
            ] {
                let read =
                    Command::new("make test", Some(report), Some(format)).unwrap().parse(&captured);
                assert_eq!(
                    (read.outcome, read.runner.as_str()),
                    (expected, "command"),
                    "{runner} {situation}: {read:#?}"
                );
            }
        }
        reads(format, 1, &["{"], "Crashed");
        reads(format, 0, &["{}"], "Crashed");
        reads(format, 0, &[], "Crashed");
        reads(format, 127, &[], "UsageError");
    }
    let one = r#"{"testResults": [{"name": "a.js", "status": "passed", "assertionResults": [
        {"ancestorTitles": ["s"], "title": "t", "status": "passed"}]}]}"#;
    let other = one.replace("a.js", "b.js");
    reads(Format::JestJson, 0, &[one, &other], "Passed, Passed a.js > s > t, Passed b.js > s > t");
    reads(Format::JestJson, 0, &[one, "{"], "Crashed, Passed a.js > s > t");
}

#[test]
fn a_truncated_report_never_passes() {
    for (format, name, text) in [
        (Format::Junit, "a.xml", "<testsuite tests=\"1\"><testcase name=\"a\"/></testsuite>"),
        (Format::Tap, "a.tap", "1..2\nok 1 a\nok 2 b"),
    ] {
        let command = Command::new("make test", Some(name), Some(format)).unwrap();
        let outcome = |bytes: &[u8]| {
            let reports = vec![(name.to_owned(), bytes.to_vec())];
            command.parse(&Capture { exit: Exit::Code(0), reports, ..Capture::default() }).outcome
        };
        assert_eq!(outcome(text.as_bytes()), Outcome::Passed);
        // A truncated name in TAP's last line looks like a shorter name.
        let ends = beginnings(text.as_bytes())
            .filter(|end| format != Format::Tap || *end < text.len() - 4);
        for end in ends {
            assert_ne!(outcome(&text.as_bytes()[..end]), Outcome::Passed, "{name}: {end} bytes");
        }
        for junk in JUNK {
            assert_ne!(outcome(junk), Outcome::Passed);
        }
    }
}
