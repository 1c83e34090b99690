//! A runner that could not work: whose turn it is then.

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
