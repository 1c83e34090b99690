//! Runs that stop for a limit, a person or an interruption, and continue.

use super::rows::{Story, TO_GREEN, check, check_with};
use super::*;
use crate::policy::Budget;

#[test]
fn a_run_can_be_resumed_after_a_limit() {
    let poor =
        Policy { budget: Budget { tokens: Some(2), ..Budget::default() }, ..Policy::default() };
    let spent = "leave=budget-spent";
    for (words, told) in [
        ("usable edits ok edits | ok", format!("judge=RED commit note {spent} stop")),
        ("usable edits ok edits ok | resume", format!("prepare {spent} stop")),
        (
            "usable edits ok edits ok | raise edits ok",
            "prepare ask=implementing judge=GREEN commit note ask=refactor".to_owned(),
        ),
    ] {
        check_with(poor.clone(), &[], words, &told);
    }
    let brief = Policy { cycles_max: 1, ..Policy::default() };
    let cycle = "usable edits ok edits ok edits ok edits ok |";
    check_with(
        brief.clone(),
        &[],
        &format!("{cycle} idles finished"),
        "ask=test-list judge=PLAN commit note leave=waiting stop",
    );
    check_with(
        brief,
        &[],
        &format!("{cycle} edits ok raise"),
        "ask=test-list judge=PLAN commit note leave=budget-spent prepare ask=test",
    );
}

#[test]
fn a_human_decides_in_doubt_and_the_work_is_judged_again() {
    check(
        &format!("{TO_GREEN} | edits doubts"),
        "ask=implementing judge=GREEN leave=undecided stop",
    );
    let story = check(
        &format!("{TO_GREEN} edits doubts | resume ok"),
        "prepare judge=GREEN commit note ask=refactor",
    );
    assert_eq!(story.state.progress.head.tree, "tree3", "the judged tree is the agent's last tree");
    check(
        "usable edits doubts | resume doubts abort",
        "prepare judge=PLAN leave=undecided discard leave=aborted stop",
    );
}

#[test]
fn a_human_keeps_or_rewrites_a_contested_test_or_aborts() {
    let contested = format!("{TO_GREEN} edits contests |");
    for (words, told) in [
        (
            format!("{TO_GREEN} | edits contests"),
            "ask=implementing judge=GREEN leave=undecided stop",
        ),
        // The test stands: the code is tried again, from where it was.
        (
            format!("{contested} resume edits ok"),
            "prepare ask=implementing judge=GREEN commit note ask=refactor",
        ),
        (
            format!("{contested} resume idles contests"),
            "prepare ask=implementing judge=GREEN leave=undecided stop",
        ),
        // The test is rewritten: back to the plan.
        (
            format!("{contested} back=1 edits ok"),
            "prepare ask=test judge=RED commit note ask=implementing",
        ),
        (format!("{contested} abort"), "discard leave=aborted stop"),
    ] {
        check(&words, told);
    }
    let story = Story::of(Policy::default(), &[], &format!("{contested} resume"));
    assert_eq!(story.state.expected_tree(), "tree3", "no work is lost");
    assert_eq!(
        story.state.progress.handoff.as_ref().map(|handoff| handoff.phase),
        Some(Phase::Red)
    );
    let Step::Ask { assignment, .. } = step::next(&story.state) else {
        panic!("no agent is asked")
    };
    let told = assignment.trouble.unwrap().message;
    assert!(told.starts_with("a human reviewed the test and kept it"), "{told}");
}

#[test]
fn an_interrupted_run_continues_where_it_was() {
    check(
        &format!("{TO_GREEN} edits | interrupt resume ok"),
        "judge=GREEN prepare judge=GREEN commit note ask=refactor",
    );
    check(
        &format!("{TO_GREEN} | interrupt resume edits"),
        "ask=implementing prepare ask=implementing judge=GREEN",
    );
}

#[test]
fn a_run_can_be_rolled_back_to_every_commit() {
    let whole = "usable edits ok edits ok edits ok edits ok";
    for (commit, tree, next) in [
        (1, "tree1", "prepare ask=test"),
        (2, "tree2", "prepare ask=implementing"),
        (3, "tree3", "prepare ask=refactor"),
        (4, "tree4", "prepare ask=test-list"),
    ] {
        let story = check(&format!("{whole} interrupt | back={commit}"), next);
        assert_eq!(story.state.expected_tree(), tree);
        assert_eq!(story.state.trail.len(), commit);
        assert_eq!(story.state.progress.targets.is_empty(), !(2..4).contains(&commit));
    }
    let story = Story::of(Policy::default(), &[], &format!("{whole} interrupt back=2"));
    let gone = Event::RolledBack { to: Oid::named("commit3"), salvage: None };
    assert!(story.state.apply(&gone, AT).is_err(), "rolled back commits are gone");
}
