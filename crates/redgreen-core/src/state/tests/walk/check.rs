//! Properties of every reachable state, and of every edge between two states.

use super::*;
use crate::attempts::TIE;

pub(super) fn check_state(place: &Place) {
    let Place { state, held } = place;
    let step = step::next(state);
    assert_eq!(step, step::next(state), "next is a function");
    assert_eq!(step == Step::Stop, state.left.is_some());
    let policy = &state.run.policy;
    let expected = match &state.situation {
        Situation::Working { attempt, .. } => {
            assert!(
                attempt.retries <= policy.retries_max.max(policy.refactorings_max),
                "{attempt:?}"
            );
            assert!(
                attempt.iteration < policy.iterations_max || attempt.iteration == 0,
                "{attempt:?}"
            );
            &attempt.tree
        }
        Situation::Reverting { attempt, .. } => {
            assert!(attempt.retries <= policy.retries_max + 1, "{attempt:?}");
            assert!(attempt.iteration <= policy.iterations_max, "{attempt:?}");
            &attempt.tree
        }
        Situation::Measuring { .. }
        | Situation::Unmeasurable { .. }
        | Situation::Halted { .. }
        | Situation::Waiting { .. }
        | Situation::Reviewing(_)
        | Situation::Merging { .. }
        | Situation::Discarding
        | Situation::Paused { .. }
        | Situation::Ended(_) => &state.progress.head.tree,
    };
    assert_eq!(state.expected_tree(), expected);
    let needs = match &step {
        Step::Measure
        | Step::Pause { .. }
        | Step::Ask { .. }
        | Step::Attempt { .. }
        | Step::Compare { .. }
        | Step::Choose { .. }
        | Step::Take { .. }
        | Step::Judge { .. }
        | Step::Lint
        | Step::Record { .. }
        | Step::Commit { .. }
        | Step::Note { .. } => true,
        Step::Prepare { .. }
        | Step::Restore { .. }
        | Step::Review { .. }
        | Step::Merge { .. }
        | Step::Discard
        | Step::Stop => false,
        Step::Leave { .. } => held.is_some(),
    };
    assert!(
        !needs || held.as_ref() == Some(expected),
        "{step:?} finds {held:?} in {:?}",
        state.situation
    );
    check_trail(state);
}

/// PLAN, RED, GREEN, REFACTOR and so on: four commits per cycle, each once.
pub(super) fn check_trail(state: &State) {
    let first = state.trail.first().and_then(|waypoint| waypoint.progress.handoff.as_ref());
    let Some(first) = first else { return };
    let mut expected = (first.phase, first.cycle_number);
    let mut commits = BTreeSet::new();
    for waypoint in &state.trail {
        let note = waypoint.progress.handoff.as_ref().unwrap();
        assert_eq!((note.phase, note.cycle_number), expected);
        assert_eq!(note.next_phase, waypoint.next);
        assert!(note.error.is_none());
        assert!(commits.insert(&waypoint.progress.head.commit));
        let cycle = note.cycle_number + u32::from(note.phase == Phase::Refactor);
        assert_eq!(waypoint.progress.cycle, cycle);
        assert!(
            waypoint.next == next_of(note.phase)
                || (note.phase, waypoint.next) == (Phase::Plan, Phase::Complete)
        );
        expected = (waypoint.next, cycle);
    }
}

pub(super) fn check_edge(from: &State, edge: &Edge) {
    let to = &edge.to.state;
    let Situation::Working { phase, stage, .. } = &from.situation else { return };
    let leaves = to.phase() != *phase;
    let noted = matches!((stage, &edge.event), (Stage::Noting { .. }, Event::Noted { .. }));
    assert_eq!(leaves, noted, "{:?} leaves {phase} at {stage:?}", edge.event);
    if let Stage::Committing { acceptance } | Stage::Noting { acceptance, .. } = stage {
        assert_eq!(acceptance.verdict.decision, Decision::Accepted);
    }
    let Situation::Working { stage: Stage::Committing { acceptance }, .. } = &to.situation else {
        return;
    };
    let given_up = acceptance.verdict.first().unwrap().code == Code::RefactorGivenUp;
    let earned = match &edge.event {
        Event::Judged { phase: judged, verdict, .. } => {
            judged == phase && verdict.decision == Decision::Accepted
        }
        Event::Linted { findings, .. } => findings.is_empty(),
        Event::Started { .. }
        | Event::Adopted { .. }
        | Event::Prepared { .. }
        | Event::Measured { .. }
        | Event::Turned { .. }
        | Event::Attempted { .. }
        | Event::Compared { .. }
        | Event::Chosen { .. }
        | Event::Paused
        | Event::Restored { .. }
        | Event::Recorded { .. }
        | Event::Committed { .. }
        | Event::Noted { .. }
        | Event::Left { .. }
        | Event::Resumed { .. }
        | Event::RolledBack { .. }
        | Event::TestRejected { .. }
        | Event::WorkEdited { .. }
        | Event::UserSaid { .. }
        | Event::PauseAsked { .. }
        | Event::PlanEdited { .. }
        | Event::Decided { .. }
        | Event::MergeBlocked { .. }
        | Event::HumanCommitted { .. }
        | Event::Reviewed { .. }
        | Event::Merged { .. }
        | Event::Undone { .. }
        | Event::Discarded { .. } => matches!(stage, Stage::Committing { .. }),
    };
    assert!(earned || given_up && *phase == Phase::Refactor, "{:?} is committed", edge.event);
    assert!(
        !given_up || acceptance.tree == from.progress.head.tree,
        "a failed refactoring is not committed"
    );
}

/// A run continues where it was; steps that a human had to fix are tried again.
pub(super) fn check_resumed(before: &Step, was: &State, resumed: &State) {
    let mut now = step::next(resumed);
    if let Step::Prepare { tree } = &now {
        assert_eq!(tree, resumed.expected_tree());
        now = step::next(&resumed.clone().apply(&prepared(), AT).unwrap());
    }
    match before {
        Step::Stop | Step::Prepare { .. } => {}
        Step::Leave { outcome } => match outcome {
            Outcome::GaveUp { phase, .. } => {
                assert_eq!((resumed.phase(), was.expected_tree()), (*phase, resumed.expected_tree()));
                assert!(is_asked(&now));
            }
            Outcome::NothingDeveloped { .. } => {
                assert!(is_asked(&now));
            }
            Outcome::Undecided { trouble, .. } if trouble.kind == Code::GreenContested.as_str() => {
                assert!(is_asked(&now));
            }
            Outcome::Undecided { trouble, .. } if trouble.kind == TIE => assert_eq!(now, *before),
            Outcome::Undecided { .. } => assert!(matches!(now, Step::Judge { .. })),
            Outcome::Paused { trouble: Some(_), .. } => assert!(matches!(now, Step::Judge { .. })),
            Outcome::AgentUnusable { .. } => {
                assert!(is_asked(&now));
            }
            Outcome::BaselineUnusable { .. } => assert_eq!(now, Step::Measure),
            Outcome::Merged
            | Outcome::Aborted
            | Outcome::Waiting
            | Outcome::MergeBlocked { .. }
            | Outcome::RolledBack { .. }
            // The pause was not visible yet.
            | Outcome::Paused { trouble: None, .. }
            | Outcome::Interrupted => assert_eq!(now, *before),
            // An interrupted turn continues if the budget allows.
            Outcome::BudgetSpent { .. } => {
                assert!(is_asked(&now));
            }
        },
        Step::Measure
        | Step::Pause { .. }
        | Step::Ask { .. }
        | Step::Attempt { .. }
        | Step::Compare { .. }
        | Step::Choose { .. }
        | Step::Take { .. }
        | Step::Judge { .. }
        | Step::Lint
        | Step::Restore { .. }
        | Step::Record { .. }
        | Step::Commit { .. }
        | Step::Note { .. }
        | Step::Review { .. }
        | Step::Merge { .. }
        | Step::Discard => assert_eq!(now, *before),
    }
}

fn is_asked(step: &Step) -> bool {
    matches!(
        step,
        Step::Ask { .. }
            | Step::Attempt { .. }
            | Step::Leave { outcome: Outcome::BudgetSpent { .. } }
    )
}

/// Only results of the next step and actions of a person are legal.
pub(super) fn check_illegal(state: &State) {
    let legal = match step::next(state) {
        Step::Prepare { .. } => &["prepared", "left"][..],
        Step::Measure => &["measured", "left"],
        Step::Pause { .. } => &["paused", "left"],
        Step::Ask { .. } | Step::Leave { outcome: Outcome::BudgetSpent { .. } } => {
            &["turned", "left"]
        }
        // A run without the setting for several attempts takes a single turn.
        Step::Attempt { .. } | Step::Compare { .. } | Step::Choose { .. } => {
            &["attempted", "compared", "chosen", "turned", "left"]
        }
        Step::Leave { outcome: Outcome::Undecided { trouble, .. } } if trouble.kind == TIE => {
            &["turned", "left"]
        }
        // Only the event of the chosen attempt is legal.
        Step::Take { .. } => &["left"],
        Step::Judge { .. } => &["judged", "left"],
        Step::Lint => &["linted", "left"],
        Step::Restore { .. } => &["restored", "left"],
        Step::Record { .. } => &["recorded", "left"],
        Step::Commit { .. } => &["committed", "left"],
        Step::Note { .. } => &["noted", "left"],
        Step::Merge { .. } => &["merge-blocked", "merged", "left"],
        Step::Review { .. } => &["reviewed", "left"],
        Step::Discard => &["discarded", "left"],
        Step::Leave { .. } => &["left"],
        Step::Stop => &[],
    };
    let handoff = adopted(Phase::Plan, Phase::Red, Policy::default());
    let Event::Adopted { handoff: note, .. } = handoff.clone() else {
        panic!("adopted makes Adopted")
    };
    let other = if state.phase() == Phase::Red { Phase::Green } else { Phase::Red };
    let tree = state.expected_tree();
    for event in [
        Event::Started { run: Box::new(state.run.clone()) },
        handoff,
        prepared(),
        measured(true),
        Event::Linted { findings: vec![], criteria: vec![], took_ms: 0 },
        Event::Paused,
        Event::Restored { tree: tree.clone(), salvage: None },
        recorded("f"),
        Event::Committed { mark: mark("c", tree) },
        Event::Noted { commit: Oid::named("c"), handoff: note },
        Event::Left { outcome: Outcome::Interrupted },
        Event::MergeBlocked { trouble: trouble("a conflict") },
        Event::Merged { commit: Oid::named("m") },
        Event::Undone { commit: Oid::named("another"), to: Oid::named("c"), salvage: None },
        Event::Discarded { salvage: None },
        accepted(state.phase()),
        turned(role_of(state.phase()), done(""), tree),
        turned(Role::Diagnosis, done(""), tree),
    ] {
        if matches!(step::next(state), Step::Take { event: next } if *next == event) {
            continue;
        }
        let refused = state.clone().apply(&event, AT).is_err();
        let wrong_role = matches!((&event, step::next(state)), (Event::Turned { role, .. }, Step::Ask { assignment, .. } | Step::Attempt { assignment, .. }) if assignment.role != *role);
        let is_several = matches!(step::next(state), Step::Compare { .. } | Step::Choose { .. });
        let is_tie = state.left.is_none() && state.tied().is_some();
        if (is_several || is_tie) && event.name() == "turned" {
            continue;
        }
        let budget =
            matches!(step::next(state), Step::Leave { outcome: Outcome::BudgetSpent { .. } });
        if wrong_role || !budget || event.name() != "turned" {
            assert_eq!(
                refused,
                wrong_role || !legal.contains(&event.name()),
                "{event:?} in {state:?}"
            );
        }
    }
    for event in [accepted(other), Event::RolledBack { to: Oid::named("nowhere"), salvage: None }] {
        assert!(state.clone().apply(&event, AT).is_err(), "{event:?} in {state:?}");
    }
}
