//! Tests for a file that lists its tests: no plan, one cycle, more tests if coverage is too low.

use super::*;
use crate::brief::{Case, Door};

/// Performs steps with only one possible event. Returns the role that is asked, or the phase that
/// is judged.
fn until_asked(mut state: State, commits: &mut u32) -> (State, String) {
    loop {
        let event = match step::next(&state) {
            Step::Prepare { .. } => prepared(),
            Step::Restore { tree, .. } => Event::Restored { tree, salvage: None },
            Step::Record { file, .. } => recorded(&file),
            Step::Commit { tree, .. } => {
                *commits += 1;
                Event::Committed { mark: mark(&format!("commit{commits}"), &tree) }
            }
            Step::Note { commit, handoff } => Event::Noted { commit, handoff },
            Step::Ask { assignment, .. } => {
                let known = assignment.brief.map_or(0, |brief| brief.test_cases.len());
                return (state, format!("{} {} {known}", assignment.phase, assignment.role));
            }
            Step::Judge { phase, .. } => return (state, format!("judge {phase}")),
            Step::Leave { outcome } => return (state, outcome_name(&outcome).to_owned()),
            Step::Lint => return (state, "lint".to_owned()),
            Step::Measure => return (state, "measure".to_owned()),
            step @ (Step::Pause { .. }
            | Step::Attempt { .. }
            | Step::Compare { .. }
            | Step::Choose { .. }
            | Step::Take { .. }
            | Step::Review { .. }
            | Step::Merge { .. }
            | Step::Discard
            | Step::Stop) => {
                panic!("{}", step.name())
            }
        };
        state = state.apply(&event, AT).unwrap();
    }
}

fn coverage_short() -> Verdict {
    refused(Code::GreenCoverage, standing(PASSED, 1))
}

/// A task with two test cases.
pub(super) fn brief() -> Brief {
    let case =
        |id: &str| Case { id: id.to_owned(), description: "works".to_owned(), ..Case::default() };
    Brief {
        door: Door::Task,
        test_cases: vec![case("TC001"), case("TC002")],
        convergence: vec!["pytest".to_owned()],
        ..Brief::of("a till")
    }
}

#[test]
fn writes_all_tests_then_code_then_tests_for_coverage() {
    let brief = brief();
    let run = Run { brief, ..run(Policy { iterations_max: 4, ..Policy::default() }, &[]) };
    let mut state = State::begin(&Event::Started { run: Box::new(run) }).unwrap();
    let mut commits = 0;
    let unmet = Event::Linted {
        findings: vec![],
        criteria: vec!["`pytest` says no".to_owned()],
        took_ms: 0,
    };
    let met = Event::Linted { findings: vec![], criteria: vec![], took_ms: 0 };
    for (asked, event) in [
        ("measure", measured(true)),
        ("RED test 2", turned(Role::Test, done(""), "tests")),
        ("judge RED", accepted(Phase::Red)),
        ("GREEN implementing 2", turned(Role::Implementing, done(""), "code")),
        ("judge GREEN", judged(Phase::Green, coverage_short(), None)),
        ("GREEN test 2", turned(Role::Test, done(""), "broken")),
        ("judge GREEN", judged(Phase::Green, refused(Code::RefactorRegression, None), None)),
        // The tree is back at the correct code, and the agent is asked again.
        ("GREEN test 2", turned(Role::Test, done(""), "covered")),
        ("judge GREEN", accepted(Phase::Green)),
        ("lint", met),
        ("REFACTOR refactor 2", turned(Role::Refactor, done(""), "nicer")),
        ("judge REFACTOR", accepted(Phase::Refactor)),
        ("lint", unmet),
    ] {
        let (now, told) = until_asked(state, &mut commits);
        assert_eq!(told, asked);
        state = now.apply(&event, AT).unwrap();
    }
    // The task's own criterion is not met: another refactoring after a pause.
    assert!(
        matches!(&state.situation, Situation::Working { phase: Phase::Refactor, .. }),
        "{:?}",
        state.situation
    );
    assert_eq!((commits, state.progress.completed.len()), (2, 0));
}

#[test]
fn missing_coverage_ends_green_like_failures() {
    let brief = Brief { door: Door::Spec, ..Brief::of("a till") };
    let run = Run { brief, ..run(Policy { iterations_max: 2, ..Policy::default() }, &[]) };
    let mut state = State::begin(&Event::Started { run: Box::new(run) }).unwrap();
    let mut commits = 0;
    for event in [
        measured(true),
        turned(Role::Test, done(""), "tests"),
        accepted(Phase::Red),
        turned(Role::Implementing, done(""), "code"),
        judged(Phase::Green, coverage_short(), None),
        turned(Role::Test, done(""), "more"),
        judged(Phase::Green, coverage_short(), None),
    ] {
        (state, _) = until_asked(state, &mut commits);
        state = state.apply(&event, AT).unwrap();
    }
    let (state, told) = until_asked(state, &mut commits);
    assert_eq!(told, "gave-up");
    assert_eq!(state.expected_tree(), "tests");
}
