//! Rows: what was found or run, and what it means for the withheld tests.

use super::*;

const PATH: &str = "tests/test_more.py";

fn report(outcome: Outcome, tests: &[(&str, Status)]) -> Report {
    let tests =
        tests.iter().map(|(id, status)| Test { message: Some("assert 1 == 2".to_owned()), ..Test::new(*id, *status) });
    Report { exit: Exit::Code(1), finished: true, outcome, tests: tests.collect(), ..Report::default() }
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
fn files_are_withheld_that_could_join_the_tests() {
    let tree = ["src/roman.py", "tests/test_roman.py", "docs"];
    let is_test = |path: &str| path.contains("test_");
    for (path, text, why) in [
        (PATH, Some("x"), None),
        ("tests/test_roman.py", Some("x"), Some("is a path that the project has already")),
        ("docs/test_more.py", Some("x"), Some("is a path that the project has already")),
        ("other/test_roman.py", Some("x"), Some("has the name of another file")),
        ("src/more.py", Some("x"), Some("is not a test file")),
        ("../test_more.py", Some("x"), Some("is not a path")),
        (".git/test_more.py", Some("x"), Some("is not a path")),
        (PATH, None, Some("is no text of at most 64 KiB")),
    ] {
        let sorted = sort(vec![(path.to_owned(), text.map(str::to_owned))], &tree, is_test);
        match why {
            None => assert_eq!((sorted.files.len(), sorted.dropped.len()), (1, 0), "{path}"),
            Some(why) => assert!(sorted.files.is_empty() && sorted.dropped.concat().contains(why), "{sorted:?}"),
        }
    }
    let many = (0..FILES_MAX + 2).map(|number| (format!("test_{number}.py"), Some(String::new())));
    let sorted = sort(many.collect(), &tree, is_test);
    assert_eq!((sorted.files.len(), sorted.dropped.len()), (FILES_MAX, 1));
}

#[test]
fn tests_are_counted_in_the_files() {
    let file = |path: &str, text: &str| TestFile { path: ProjectFile::parse(path).unwrap(), text: text.to_owned() };
    let python = file(PATH, "def test_a():\n    assert f(1) == 2\n\n\ndef test_b():\n    assert f(2) == 3\n");
    assert_eq!(count(&[python, file("a.unknown", "x")]), 3);
}

#[test]
fn at_red_a_withheld_file_fails_like_the_others() {
    let seen = report(Outcome::Failed, &[("a", Status::Failed), ("old", Status::Passed)]);
    let unbuilt = with_error(report(Outcome::DidNotCompile, &[]), LoadErrorKind::MissingSymbol, "a_test.go");
    let errors = |kind| with_error(report(Outcome::DidNotCompile, &[]), kind, PATH);
    for (seen, with, expected) in [
        (&seen, report(Outcome::Failed, &[("b", Status::Failed)]), Ok(())),
        // One that passes already does not take the others along.
        (&seen, report(Outcome::Failed, &[("b", Status::Passed), ("c", Status::Errored)]), Ok(())),
        (&seen, report(Outcome::Passed, &[("b", Status::Passed)]), Err("b passes already")),
        // What failed without it says nothing of it.
        (&seen, report(Outcome::Failed, &[("a", Status::Failed)]), Err("no test of it was run")),
        (&seen, report(Outcome::NoTests, &[]), Err("no test of it was run")),
        (&seen, errors(LoadErrorKind::MissingSymbol), Ok(())),
        (&seen, errors(LoadErrorKind::Syntax), Err("it does not load: said the loader")),
        (&seen, errors(LoadErrorKind::Other), Err("it does not load: said the loader")),
        (&seen, report(Outcome::TimedOut, &[]), Err("the tests did not come to their end with it")),
        (&seen, report(Outcome::UsageError, &[]), Err("the tests did not come to their end with it")),
        (&unbuilt, unbuilt.clone(), Ok(())),
    ] {
        assert_eq!(at_red(seen, &with), expected.map_err(str::to_owned), "{with:?}");
    }
    let mut by_exit_code = report(Outcome::Failed, &[("b", Status::Failed)]);
    by_exit_code.flags.push(Flag::ExitCodeAlone);
    assert!(at_red(&seen, &by_exit_code).is_err());
}

#[test]
fn at_green_every_withheld_test_has_to_pass() {
    let seen = report(Outcome::Passed, &[("a", Status::Passed)]);
    let errors = |kind, path| with_error(report(Outcome::DidNotCompile, &[]), kind, path);
    for (with, expected) in [
        (report(Outcome::Passed, &[("a", Status::Passed), ("b", Status::Passed)]), "passed 1"),
        (
            report(Outcome::Failed, &[("b", Status::Passed), ("c", Status::Failed), ("d", Status::Failed)]),
            "c fails 2 of 3",
        ),
        (report(Outcome::Passed, &[("b", Status::Passed), ("c", Status::Skipped)]), "c fails 1 of 2"),
        (report(Outcome::TimedOut, &[]), "- fails 1 of 1"),
        (report(Outcome::Crashed, &[]), "- fails 1 of 1"),
        // The code ends with an exception while the test is loaded.
        (errors(LoadErrorKind::Other, PATH), "- fails 1 of 1"),
        // The test itself is wrong, which nobody could see while the code was missing.
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
fn one_example_is_told_and_the_work_stays() {
    let mut accepted = Verdict::accepted(Reason::plain(Code::GreenPasses));
    accepted.standing = Some(crate::verdict::Standing { kept: 3, reached: 1 });
    let mut with = report(Outcome::Failed, &[("b", Status::Failed), ("c", Status::Failed)]);
    (with.tests[0].file, with.tests[0].line) = (Some(PATH.to_owned()), Some(2));
    let text = "def test_b():\n    assert f(9) == 'IX'\n".to_owned();
    let file = TestFile { path: ProjectFile::parse(PATH).unwrap(), text };
    let Answer::Fails { told, failing, of } = at_green(&Report::default(), &with, &[&file]) else { panic!("{with:?}") };
    let verdict = overfits(accepted.clone(), *told, failing, of);
    assert_eq!((verdict.decision, verdict.standing), (Decision::Refused, accepted.standing));
    let sentences = verdict.sentences();
    assert!(sentences.contains("b fails: assert 1 == 2\nassert f(9) == 'IX'\nit was withheld"), "{sentences}");
    assert!(!sentences.contains("c fails"), "{sentences}");
    assert_eq!(verdict.notes, ["2 of 2 withheld tests fail; the agent is told of one"]);
}

#[test]
fn a_path_that_is_withheld_cannot_be_taken() {
    let file = TestFile { path: ProjectFile::parse(PATH).unwrap(), text: String::new() };
    for (base, head, expected) in [
        (&[][..], &["roman.py"][..], (1, 0, 0)),
        (&[], &["roman.py", PATH], (0, 1, 0)),
        // What stood there would hide it as well.
        (&[], &["tests"], (0, 1, 0)),
        // A person put it there, before the code was written.
        (&[PATH], &["roman.py", PATH], (0, 0, 1)),
    ] {
        let files = [file.clone()];
        let (free, reasons, dropped) = free(&files, base, head);
        assert_eq!((free.len(), reasons.len(), dropped.len()), expected, "{base:?} {head:?}");
        assert!(reasons.iter().all(|reason| reason.code == Code::GreenTestsChanged));
    }
}
