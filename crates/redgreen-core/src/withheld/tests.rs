//! Tests for withheld tests: files, runs and verdicts.

use super::*;

const PATH: &str = "tests/test_more.py";

fn report(outcome: Outcome, tests: &[(&str, Status)]) -> Report {
    let tests = tests.iter().map(|(id, status)| Test {
        message: Some("assert 1 == 2".to_owned()),
        ..Test::new(*id, *status)
    });
    Report {
        exit: Exit::Code(1),
        finished: true,
        outcome,
        tests: tests.collect(),
        ..Report::default()
    }
}

fn with_error(mut report: Report, kind: LoadErrorKind, file: &str) -> Report {
    let message = "said the loader".to_owned();
    report.load_errors.push(LoadError {
        stage: crate::report::Stage::default(),
        file: Some(file.to_owned()),
        line: None,
        kind,
        code: None,
        message,
    });
    report
}

#[test]
fn withholds_only_files_that_could_join_the_tests() {
    let tree = ["src/roman.py", "tests/test_roman.py", "docs"];
    let is_test = |path: &str| path.contains("test_");
    for (path, text, why) in [
        (PATH, Some("x"), None),
        ("tests/test_roman.py", Some("x"), Some("already exists in the project")),
        ("docs/test_more.py", Some("x"), Some("already exists in the project")),
        ("other/test_roman.py", Some("x"), Some("has the same name as another file")),
        ("src/more.py", Some("x"), Some("is not a test file")),
        ("../test_more.py", Some("x"), Some("is not a valid path in the project")),
        (".git/test_more.py", Some("x"), Some("is not a valid path in the project")),
        (PATH, None, Some("is not a text file of at most 64 KiB")),
    ] {
        let sorted = sort(vec![(path.to_owned(), text.map(str::to_owned))], &tree, is_test);
        match why {
            None => assert_eq!((sorted.files.len(), sorted.dropped.len()), (1, 0), "{path}"),
            Some(why) => assert!(
                sorted.files.is_empty() && sorted.dropped.concat().contains(why),
                "{sorted:?}"
            ),
        }
    }
    let many = (0..FILES_MAX + 2).map(|number| (format!("test_{number}.py"), Some(String::new())));
    let sorted = sort(many.collect(), &tree, is_test);
    assert_eq!((sorted.files.len(), sorted.dropped.len()), (FILES_MAX, 1));
}

#[test]
fn counts_tests_in_files() {
    let file = |path: &str, text: &str| TestFile {
        path: ProjectFile::parse(path).unwrap(),
        text: text.to_owned(),
    };
    let python = file(
        PATH,
        "def test_a():\n    assert f(1) == 2\n\n\ndef test_b():\n    assert f(2) == 3\n",
    );
    assert_eq!(count(&[python, file("a.unknown", "x")]), 3);
}

#[test]
fn withheld_tests_must_fail_in_red() {
    let seen = report(Outcome::Failed, &[("a", Status::Failed), ("old", Status::Passed)]);
    let unbuilt =
        with_error(report(Outcome::DidNotCompile, &[]), LoadErrorKind::MissingSymbol, "a_test.go");
    let errors = |kind| with_error(report(Outcome::DidNotCompile, &[]), kind, PATH);
    for (seen, with, expected) in [
        (&seen, report(Outcome::Failed, &[("b", Status::Failed)]), Ok(())),
        // A test that already passes does not disqualify the others.
        (&seen, report(Outcome::Failed, &[("b", Status::Passed), ("c", Status::Errored)]), Ok(())),
        (&seen, report(Outcome::Passed, &[("b", Status::Passed)]), Err("b already passes")),
        // Tests that failed without the file say nothing about it.
        (&seen, report(Outcome::Failed, &[("a", Status::Failed)]), Err("none of its tests ran")),
        (&seen, report(Outcome::NoTests, &[]), Err("none of its tests ran")),
        (&seen, errors(LoadErrorKind::MissingSymbol), Ok(())),
        (&seen, errors(LoadErrorKind::Syntax), Err("it does not load: said the loader")),
        (&seen, errors(LoadErrorKind::Other), Err("it does not load: said the loader")),
        (&seen, report(Outcome::TimedOut, &[]), Err("the test run did not finish with it")),
        (&seen, report(Outcome::UsageError, &[]), Err("the test run did not finish with it")),
        (&unbuilt, unbuilt.clone(), Ok(())),
    ] {
        assert_eq!(at_red(seen, &with), expected.map_err(str::to_owned), "{with:?}");
    }
    let mut by_exit_code = report(Outcome::Failed, &[("b", Status::Failed)]);
    by_exit_code.flags.push(Flag::ExitCodeAlone);
    assert!(at_red(&seen, &by_exit_code).is_err());
}

#[test]
fn withheld_tests_must_pass_in_green() {
    let seen = report(Outcome::Passed, &[("a", Status::Passed)]);
    let errors = |kind, path| with_error(report(Outcome::DidNotCompile, &[]), kind, path);
    for (with, expected) in [
        (report(Outcome::Passed, &[("a", Status::Passed), ("b", Status::Passed)]), "passed 1"),
        (
            report(
                Outcome::Failed,
                &[("b", Status::Passed), ("c", Status::Failed), ("d", Status::Failed)],
            ),
            "c fails 2 of 3",
        ),
        (
            report(Outcome::Passed, &[("b", Status::Passed), ("c", Status::Skipped)]),
            "c fails 1 of 2",
        ),
        (report(Outcome::TimedOut, &[]), "- fails 1 of 1"),
        (report(Outcome::Crashed, &[]), "- fails 1 of 1"),
        // The code raises an exception while the test is loaded.
        (errors(LoadErrorKind::Other, PATH), "- fails 1 of 1"),
        // The test itself is wrong, which was not visible while the code was missing.
        (errors(LoadErrorKind::MissingSymbol, PATH), "unusable"),
        (errors(LoadErrorKind::Syntax, PATH), "unusable"),
        (errors(LoadErrorKind::Other, "roman/more_test.go"), "unusable"),
        (errors(LoadErrorKind::Other, "tests/more.rs"), "unusable"),
        (report(Outcome::NoTests, &[]), "unusable"),
        (report(Outcome::UsageError, &[]), "unusable"),
    ] {
        let said = match at_green(&seen, &with, &[]) {
            Answer::Passed(tests) => format!("passed {}", tests.len()),
            Answer::Fails { told, failing, of } => {
                assert_eq!(told.code, Code::GreenOverfits);
                format!("{} fails {failing} of {of}", told.test.as_deref().unwrap_or("-"))
            }
            Answer::Unusable(_) => "unusable".to_owned(),
        };
        assert_eq!(said, expected, "{with:?}");
    }
}

#[test]
fn reports_one_example_and_keeps_the_work() {
    let mut accepted = Verdict::accepted(Reason::plain(Code::GreenPasses));
    accepted.standing = Some(crate::verdict::TestProgress { kept: 3, reached: 1 });
    let mut with = report(Outcome::Failed, &[("b", Status::Failed), ("c", Status::Failed)]);
    (with.tests[0].file, with.tests[0].line) = (Some(PATH.to_owned()), Some(2));
    let text = "def test_b():\n    assert f(9) == 'IX'\n".to_owned();
    let file = TestFile { path: ProjectFile::parse(PATH).unwrap(), text };
    let Answer::Fails { told, failing, of } = at_green(&Report::default(), &with, &[&file]) else {
        panic!("{with:?}")
    };
    let verdict = overfits(accepted.clone(), *told, failing, of);
    assert_eq!((verdict.decision, verdict.standing), (Decision::Refused, accepted.standing));
    let sentences = verdict.sentences();
    assert!(
        sentences.contains("b fails: assert 1 == 2\nassert f(9) == 'IX'\nthis test was withheld"),
        "{sentences}"
    );
    assert!(!sentences.contains("c fails"), "{sentences}");
    assert_eq!(verdict.notes, ["2 of 2 withheld tests fail; the agent sees one of them"]);
}

#[test]
fn a_withheld_path_cannot_be_used() {
    let file = TestFile { path: ProjectFile::parse(PATH).unwrap(), text: String::new() };
    for (base, head, expected) in [
        (&[][..], &["roman.py"][..], (1, 0, 0)),
        (&[], &["roman.py", PATH], (0, 1, 0)),
        // An existing entry at this path would hide it as well.
        (&[], &["tests"], (0, 1, 0)),
        // A person put it there before the code was written.
        (&[PATH], &["roman.py", PATH], (0, 0, 1)),
    ] {
        let files = [file.clone()];
        let (free, reasons, dropped) = free(&files, base, head);
        assert_eq!((free.len(), reasons.len(), dropped.len()), expected, "{base:?} {head:?}");
        assert!(reasons.iter().all(|reason| reason.code == Code::GreenTestsChanged));
    }
}
