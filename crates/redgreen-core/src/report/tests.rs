//! Tables for reports.

use super::*;

/// Evidence from the strongest to the weakest. Each row decides, whatever the later rows say.
const PRECEDENCE: [(&str, Outcome); 12] = [
    ("our limit", Outcome::TimedOut),
    ("usage", Outcome::UsageError),
    ("load error alone", Outcome::DidNotCompile),
    ("signal", Outcome::Crashed),
    ("no finish", Outcome::Crashed),
    ("result missing", Outcome::Crashed),
    ("crashed", Outcome::Crashed),
    ("timed out", Outcome::TimedOut),
    ("load error", Outcome::DidNotCompile),
    ("outside", Outcome::Errored),
    ("errored", Outcome::Errored),
    ("failed", Outcome::Failed),
];

fn clean(tests: &[Status]) -> Report {
    let tests = tests
        .iter()
        .enumerate()
        .map(|(number, &status)| Test::new(format!("t{number}"), status))
        .collect();
    Report { exit: Exit::Code(0), finished: true, tests, ..Report::default() }
}

fn add(report: &mut Report, what: &str) {
    match what {
        "our limit" => report.exit = Exit::TimedOut,
        "usage" => report.decided = Some(Outcome::UsageError),
        "load error alone" => {
            add(report, "load error");
            report.tests.clear();
        }
        "load error" => report.load_errors.push(LoadError {
            stage: Stage::Build,
            file: None,
            line: None,
            kind: LoadErrorKind::Other,
            code: None,
            message: "no".to_owned(),
        }),
        "signal" => report.exit = Exit::Signal(9),
        "no finish" => report.finished = false,
        "result missing" => report.planned = Some(vec!["never".to_owned()]),
        "outside" => report.errors_outside.push("coverage is below 85 %".to_owned()),
        "crashed" => report.tests.push(Test::new(what, Status::Crashed)),
        "timed out" => report.tests.push(Test::new(what, Status::TimedOut)),
        "errored" => report.tests.push(Test::new(what, Status::Errored)),
        "failed" => report.tests.push(Test::new(what, Status::Failed)),
        unknown => panic!("unknown evidence: {unknown}"),
    }
}

#[test]
fn the_strongest_evidence_decides() {
    for (index, (stronger, outcome)) in PRECEDENCE.into_iter().enumerate() {
        for (weaker, _) in PRECEDENCE.into_iter().skip(index) {
            let mut report = clean(&[Status::Passed]);
            add(&mut report, weaker);
            add(&mut report, stronger);
            report.conclude();
            assert_eq!(report.outcome, outcome, "{stronger} and {weaker}");
        }
    }
}

#[test]
fn without_failures_the_executed_tests_decide() {
    use Status::{Flaky, NotRun, Passed, Skipped, Todo, Xfailed, Xpassed};
    for (tests, exit, outcome) in [
        (&[][..], 0, Outcome::NoTests),
        (&[], 5, Outcome::NoTests),
        (&[Skipped, Todo, NotRun], 0, Outcome::Skipped),
        (&[NotRun], 0, Outcome::NoTests),
        (&[Passed, Xpassed], 0, Outcome::Passed),
        (&[Passed, Xpassed], 1, Outcome::Failed),
        (&[Passed, Skipped, Xfailed, Flaky], 0, Outcome::Passed),
        (&[Passed], 1, Outcome::Errored),
    ] {
        let mut report = clean(tests);
        report.exit = Exit::Code(exit);
        report.conclude();
        assert_eq!(report.outcome, outcome, "{tests:?}, exit {exit}");
    }
    let counts = clean(&[Passed, Passed, Skipped, Xfailed, Flaky, Status::Errored]).counts();
    assert_eq!(counts, Counts { passed: 2, failed: 1, skipped: 3, load_errors: 0 });
}

#[test]
fn stages_have_the_result_of_the_run() {
    let ends = |report: &mut Report| {
        report.conclude();
        report
            .phases
            .iter()
            .map(|end| format!("{:?} {}", end.name, end.ok))
            .collect::<Vec<_>>()
            .join(", ")
    };
    assert_eq!(ends(&mut clean(&[Status::Passed])), "Run true");
    let mut unbuilt = clean(&[]);
    unbuilt.stage(Stage::Build, false);
    assert_eq!(
        (ends(&mut unbuilt).as_str(), unbuilt.outcome),
        ("Build false", Outcome::DidNotCompile)
    );
    let mut beside = clean(&[Status::Passed]);
    add(&mut beside, "load error");
    assert_eq!(
        (ends(&mut beside).as_str(), beside.outcome),
        ("Build false, Run true", Outcome::DidNotCompile)
    );
}

#[test]
fn flags_contradictions() {
    for (what, exit, flags) in [
        ("failed", 1, &[][..]),
        ("failed", 0, &[Flag::ExitCodeContradicts]),
        ("load error", 0, &[Flag::ExitCodeContradicts]),
        ("no finish", 0, &[Flag::NoFinish]),
        ("no finish", 1, &[]),
        ("result missing", 0, &[Flag::ResultMissing]),
    ] {
        let mut report = clean(&[Status::Passed]);
        report.exit = Exit::Code(exit);
        add(&mut report, what);
        report.conclude();
        report.conclude();
        assert_eq!(report.flags, flags, "{what}, exit {exit}");
    }
}

#[test]
fn the_worse_of_two_results_counts() {
    for (first, second) in [(Status::Failed, Status::Passed), (Status::Passed, Status::Failed)] {
        let mut report = clean(&[Status::Passed]);
        report.tests.extend([Test::new("twice", first), Test::new("twice", second)]);
        report.conclude();
        assert_eq!(report.test("twice").unwrap().status, Status::Failed);
        assert_eq!((report.tests.len(), report.outcome), (2, Outcome::Failed));
        assert_eq!(report.flags, [Flag::DuplicateId, Flag::ExitCodeContradicts]);
    }
}
