//! Tests for withheld tests: kept from RED's turn to GREEN's commit, and rolled back with the work
//! they belong to.

use super::*;
use crate::names::ProjectFile;
use crate::withheld::AddedTests;

fn withheld(name: &str) -> WithheldTests {
    WithheldTests {
        file: RunFile::parse(&format!("withheld/{name}.json")).unwrap(),
        paths: vec![ProjectFile::parse("tests/more.rs").unwrap()],
        tests: 3,
    }
}

fn wrote(turn: Turn, tree: &str, tests: Option<WithheldTests>) -> Event {
    let mut event = turned(Role::Test, turn, tree);
    if let Event::Turned { withheld, .. } = &mut event {
        *withheld = tests;
    }
    event
}

fn with_tests(mut event: Event, tests: Option<WithheldTests>, tree: Option<&str>) -> Event {
    if let Event::Judged { withheld, joined, .. } = &mut event {
        *withheld = tests;
        let paths = vec![ProjectFile::parse("tests/more.rs").unwrap()];
        *joined = tree.map(|tree| Box::new(AddedTests { tree: Oid::named(tree), paths, tests: 3 }));
    }
    event
}

fn after(events: &[Event]) -> State {
    let policy = Policy { backoff_ms: 0, ..Policy::default() };
    let started = Event::Started { run: Box::new(run(policy, &[])) };
    let mut state = State::begin(&started).unwrap();
    for event in events {
        state = state.apply(event, AT).unwrap_or_else(|illegal| panic!("{illegal:?}"));
    }
    state
}

fn noted(state: &State) -> Event {
    let Step::Note { commit, handoff } = step::next(state) else {
        panic!("{:?}", step::next(state))
    };
    Event::Noted { commit, handoff }
}

/// The run in RED with a planned test.
fn in_red() -> Vec<Event> {
    let mut events = vec![
        prepared(),
        measured(true),
        turned(Role::TestList, done(""), "tree1"),
        accepted(Phase::Plan),
    ];
    events.push(Event::Committed { mark: mark("plan", "tree1") });
    let note = noted(&after(&events));
    events.push(note);
    events
}

fn attempt(state: &State) -> &Attempt {
    let Situation::Working { attempt, .. } = &state.situation else {
        panic!("{:?}", state.situation)
    };
    attempt
}

#[test]
fn withheld_tests_are_kept_until_the_commit_of_green() {
    let mut events = in_red();
    let Step::Ask { assignment, .. } = step::next(&after(&events)) else { panic!() };
    assert!(assignment.withhold);
    events.push(wrote(done(""), "red", Some(withheld("written"))));
    events.push(with_tests(accepted(Phase::Red), Some(withheld("kept")), None));
    events.push(Event::Committed { mark: mark("red", "red") });
    let state = after(&events);
    assert_eq!(state.progress.withheld, Some(withheld("kept")));
    let note = noted(&state);
    let Event::Noted { handoff, .. } = &note else { panic!() };
    assert_eq!(handoff.withheld_tests, 3);
    events.push(note);
    let Step::Ask { assignment, .. } = step::next(&after(&events)) else { panic!() };
    assert!(!assignment.withhold, "the implementer writes no withheld tests");

    // A later turn can build on refused work, and the tests stay withheld.
    events.push(turned(Role::Implementing, done(""), "table"));
    events.push(judged(Phase::Green, refused(Code::GreenOverfits, standing(PASSED, 1)), None));
    let state = after(&events);
    assert_eq!((attempt(&state).tree.as_str(), state.progress.withheld.is_some()), ("table", true));
    events.push(turned(Role::Diagnosis, done(""), "table"));
    events.push(recorded("artifacts/green-fix-iteration-1.md"));
    events.push(turned(Role::Implementing, done(""), "code"));
    events.push(with_tests(accepted(Phase::Green), None, Some("joined")));
    let state = after(&events);
    assert!(
        matches!(step::next(&state), Step::Commit { tree, .. } if tree == "joined"),
        "{:?}",
        step::next(&state)
    );
    assert_eq!(state.expected_tree(), "code", "they are not in the worktree before the commit");
    events.push(Event::Committed { mark: mark("green", "joined") });
    let state = after(&events);
    assert_eq!((state.progress.withheld.clone(), state.progress.joined), (None, 3));
    let Event::Noted { handoff, .. } = noted(&state) else { panic!() };
    assert_eq!(handoff.withheld_tests, 3);

    // Back at RED, they are withheld again.
    events.push(noted(&state));
    events.push(Event::RolledBack { to: Oid::named("red"), salvage: None });
    assert_eq!(after(&events).progress.withheld, Some(withheld("kept")));
}

#[test]
fn red_keeps_or_drops_withheld_tests_with_its_work() {
    for (standing, kept) in [(standing(0, 0), true), (None, false)] {
        let mut events = in_red();
        events.push(wrote(done(""), "red", Some(withheld("written"))));
        events.push(judged(Phase::Red, refused(Code::RedPasses, standing), None));
        if standing.is_none() {
            events.push(Event::Restored { tree: Oid::named("tree1"), salvage: None });
        }
        assert_eq!(attempt(&after(&events)).withheld.is_some(), kept, "{standing:?}");
    }
    // A failed turn keeps the earlier withheld tests, unless its edits stay.
    for (failure, kept) in [(Failure::Crash, false), (Failure::Budget, true)] {
        let mut events = in_red();
        events.push(wrote(failed(failure), "red", Some(withheld("written"))));
        assert_eq!(attempt(&after(&events)).withheld.is_some(), kept, "{failure:?}");
    }
}

#[test]
fn the_policy_disables_withheld_tests() {
    let mut state = after(&in_red());
    state.run.policy.withhold = false;
    let Step::Ask { assignment, .. } = step::next(&state) else { panic!() };
    assert!(!assignment.withhold);
    // A journal of an earlier version lacks this setting.
    assert!(serde_json::from_str::<Policy>("{}").unwrap().withhold);
}
