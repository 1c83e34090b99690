//! Runners that could not work, and who has to act next.

use super::*;

#[test]
fn a_runner_that_stopped_is_never_a_red_and_whoever_broke_it_tries_again() {
    for (phase, changed, after, expected) in [
        (Red, NEW_PY, "+a -tests/test_n.py::n exit=3 cut stopped", "undecided runner.broken"),
        (Red, NEW_PY, "+a -tests/test_n.py::n exit=2 stopped", "undecided runner.broken"),
        (Green, "impl~calc.py", "%a exit=3 cut stopped", "refused green.report_incomplete"),
        (Red, NEW_PY, "usage", "undecided runner.broken"),
        (Red, "test+tests/conftest.py", "usage", "refused red.does_not_load"),
        (Red, "config~pytest.ini", "usage", "refused red.does_not_load"),
        (Green, "config~pytest.ini", "usage", "undecided runner.broken"),
    ] {
        let words = told(&ruled(phase, changed, "+a", after));
        assert!(
            words.starts_with(expected) || phase == Green && words.starts_with("refused"),
            "{changed} {after}: {words}"
        );
    }
}

/// A project's version may be in a file that git does not track. Then no test loads in the clean
/// room.
#[test]
fn a_suite_that_loads_neither_before_nor_after_shows_nothing() {
    let named = |words: &str| {
        let mut report = report(words);
        for error in &mut report.load_errors {
            error.message = format!(
                "{}\nE   ModuleNotFoundError: No module named 'kit._version'",
                error.message
            );
        }
        report
    };
    for (phase, changed, before, after, code) in [
        (Red, OLD_PY, "load:tests/test_a.py", "load:tests/test_a.py", "runner.broken"),
        (
            Red,
            NEW_PY,
            "load:tests/test_a.py",
            "load:tests/test_a.py load:tests/test_n.py",
            "runner.broken",
        ),
        (Red, NEW_PY, "", "load:tests/test_n.py", "red.missing_symbol"),
        (Refactor, "impl~calc.py", "load:tests/test_a.py", "load:tests/test_a.py", "runner.broken"),
        (
            Refactor,
            "impl~calc.py",
            "+a load:tests/test_b.py",
            "+a load:tests/test_b.py",
            "refactor.kept",
        ),
    ] {
        let evidence = Evidence {
            change: &change(changed),
            before: &named(before),
            after: &named(after),
            targets: &[],
        };
        let verdict = judge(phase, evidence);
        assert_eq!(
            verdict.first().map(|reason| reason.code.as_str()),
            Some(code),
            "{phase} {before} -> {after}"
        );
    }
}
