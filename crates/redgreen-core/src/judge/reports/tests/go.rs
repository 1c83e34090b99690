//! Go compiles and runs a package as a whole, so one test can hide the results of the others.

use super::*;

#[test]
fn a_panic_of_go_fails_the_test_and_hides_the_rest_of_its_package() {
    const PANICKED: &str = "panic: not implemented";
    let id = |name: &str| format!("example.com/kit/{name}");
    let go = |words: &[(&str, Status, &str)]| {
        let mut report = report("");
        for (name, status, message) in words {
            let file = format!("{}/a_test.go", name.split('.').next().unwrap());
            let message = Some((*message).to_owned()).filter(|message| !message.is_empty());
            let exception =
                (message.as_deref() == Some(PANICKED)).then(|| framework::go::PANIC.to_owned());
            report.tests.push(Test {
                file: Some(file),
                message,
                exception,
                ..Test::new(id(name), *status)
            });
        }
        let red = report.tests.iter().any(|test| test.status.is_failure());
        report.exit = Exit::Code(i32::from(red));
        report.conclude();
        report
    };
    let before = go(&[("a.TestOld", Status::Passed, ""), ("b.TestOther", Status::Passed, "")]);
    let other = ("b.TestOther", Status::Passed, "");
    for (after, expected) in [
        (&[("a.TestNew", Status::Crashed, PANICKED), other][..], "red.error"),
        (&[("a.TestNew", Status::Crashed, PANICKED)], "red.tests_vanished"),
        (
            &[("a.TestNew", Status::Crashed, "panic: unexpected call to os.Exit(0)"), other],
            "red.tests_vanished red.crashed",
        ),
        (&[("a.TestNew", Status::Crashed, ""), other], "red.tests_vanished red.crashed"),
    ] {
        let change = change("test~a/a_test.go");
        let after = go(after);
        let verdict =
            judge(Red, Evidence { change: &change, before: &before, after: &after, targets: &[] });
        let codes: Vec<&str> = verdict.reasons.iter().map(|reason| reason.code.as_str()).collect();
        assert_eq!(codes.join(" "), expected, "{verdict:?}");
        if expected == "red.error" {
            assert_eq!(verdict.targets, [id("a.TestNew")]);
            assert!(carry(&before, &after).test(&id("a.TestOld")).is_some());
        }
    }
}

#[test]
fn go_builds_a_package_as_a_whole() {
    let mut before = report("");
    for name in ["a.TestOld", "b.TestOther"] {
        let file = Some(format!("{}/old_test.go", name.split('.').next().unwrap()));
        before
            .tests
            .push(Test { file, ..Test::new(format!("example.com/kit/{name}"), Status::Passed) });
    }
    let mut after = report("load:a/new_test.go");
    after.tests.push(before.tests[1].clone());
    let change = change("test+a/new_test.go");
    let verdict =
        judge(Red, Evidence { change: &change, before: &before, after: &after, targets: &[] });
    assert_eq!(verdict.decision, Decision::Accepted, "{verdict:?}");
    after.tests.clear();
    let file = Some("c/c_test.go".to_owned());
    after.tests.push(Test { file, ..Test::new("example.com/kit/c.TestThird", Status::Passed) });
    let verdict =
        judge(Red, Evidence { change: &change, before: &before, after: &after, targets: &[] });
    assert_eq!(verdict.decision, Decision::Refused, "{verdict:?}");
}

/// Go reports only the subtests.
#[test]
fn a_test_that_has_got_subtests_is_reported_by_them() {
    let shown = |words: &[(&str, Status)]| {
        let mut report = report("");
        report.tests.extend(words.iter().map(|(id, status)| Test::new(*id, *status)));
        report
    };
    let before = shown(&[("kata.TestOld", Status::Passed), ("kata.TestNew", Status::Passed)]);
    let change = change("impl~calc.go");
    for (after, expected) in [
        (
            &[("kata.TestOld/a", Status::Passed), ("kata.TestNew/a", Status::Passed)][..],
            "accepted green.passes",
        ),
        (
            &[("kata.TestOld/a", Status::Skipped), ("kata.TestNew/a", Status::Passed)],
            "refused green.newly_skipped",
        ),
        (
            &[("kata.TestOlder", Status::Passed), ("kata.TestNew/a", Status::Passed)],
            "refused green.tests_vanished",
        ),
        (
            &[("kata.TestOld", Status::Passed), ("kata.TestNewer", Status::Passed)],
            "refused green.tests_vanished",
        ),
        (
            &[("kata.TestOld", Status::Passed), ("kata.TestNew/a", Status::Failed)],
            "refused green.regression green.still_failing",
        ),
    ] {
        let targets = ["kata.TestNew".to_owned()];
        let after = shown(after);
        let verdict = judge(
            Green,
            Evidence { change: &change, before: &before, after: &after, targets: &targets },
        );
        assert_eq!(told(&verdict), expected);
    }
}
