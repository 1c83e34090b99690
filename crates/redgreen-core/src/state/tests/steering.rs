//! Tests for the user's influence on a running run.

use super::rows::{Story, check_with};
use super::*;

fn pausing(phases: &[Phase]) -> Policy {
    Policy { pause_after: phases.to_vec(), ..Policy::default() }
}

fn assignment(state: &State) -> crate::agent::Assignment {
    let mut state = state.clone();
    if let Step::Prepare { .. } = step::next(&state) {
        state = state.apply(&prepared(), AT).unwrap();
    }
    let Step::Ask { assignment, .. } = step::next(&state) else {
        panic!("no agent is asked: {:?}", state.situation)
    };
    *assignment
}

#[test]
fn a_run_pauses_after_the_configured_phases_in_every_cycle() {
    for (phases, words, told) in [
        (&[Phase::Plan][..], "usable edits ok | resume", "prepare ask=test"),
        (&[Phase::Plan], "usable edits | ok", "judge=PLAN commit note leave=paused stop"),
        (&[Phase::Red], "usable edits ok edits | ok", "judge=RED commit note leave=paused stop"),
        (&[Phase::Red], "usable edits ok edits ok | resume", "prepare ask=implementing"),
        (
            &[Phase::Green],
            "usable edits ok edits ok edits | ok",
            "judge=GREEN commit note leave=paused stop",
        ),
        (
            &[Phase::Refactor],
            "usable edits ok edits ok edits ok edits | ok resume",
            "judge=REFACTOR commit note leave=paused prepare ask=test-list",
        ),
        // Several pauses in one cycle, and the same in the next.
        (
            &[Phase::Plan, Phase::Red],
            "usable edits | ok resume edits ok resume edits ok edits ok edits ok",
            "judge=PLAN commit note leave=paused prepare ask=test judge=RED commit note leave=paused prepare \
             ask=implementing judge=GREEN commit note ask=refactor judge=REFACTOR commit note ask=test-list judge=PLAN \
             commit note leave=paused stop",
        ),
        // A finished plan waits for its approval, not twice.
        (&[Phase::Plan], "usable edits | finished", "judge=PLAN commit note leave=waiting stop"),
    ] {
        check_with(pausing(phases), &[], words, told);
    }
    let story = Story::of(pausing(&[Phase::Red]), &[], "usable edits ok edits ok");
    assert_eq!(story.state.left, Some(Outcome::Paused { after: Phase::Red, trouble: None }));
}

#[test]
fn a_requested_pause_applies_to_the_current_phase_only() {
    for (words, told) in [
        ("usable edits ok pause=1 edits | ok", "judge=RED commit note leave=paused stop"),
        (
            "usable edits ok pause=1 pause=2 edits ok | resume edits ok",
            "prepare ask=implementing judge=GREEN commit note ask=refactor",
        ),
        // A finished run waits for approval anyway.
        ("usable pause=1 edits | finished", "judge=PLAN commit note leave=waiting stop"),
    ] {
        check_with(pausing(&[]), &[], words, told);
    }
}

#[test]
fn a_run_killed_before_its_pause_pauses_on_resume() {
    let story = Story::of(pausing(&[Phase::Red]), &[], "usable edits ok edits ok");
    let killed = State { left: None, ..story.state };
    let resumed = killed.apply(&Event::Resumed { policy: None }, AT).unwrap();
    assert_eq!(
        step::next(&resumed),
        Step::Leave { outcome: Outcome::Paused { after: Phase::Red, trouble: None } }
    );
}

#[test]
fn pauses_can_be_changed_on_resume() {
    let story = Story::of(pausing(&[Phase::Plan, Phase::Red]), &[], "usable edits ok");
    let resumed =
        story.state.apply(&Event::Resumed { policy: Some(Box::new(pausing(&[]))) }, AT).unwrap();
    assert!(resumed.run.policy.pause_after.is_empty());
}

#[test]
fn messages_reach_every_later_turn_and_the_note_once() {
    let story = Story::of(Policy::default(), &[], "usable say=1 edits ok say=2");
    assert_eq!(assignment(&story.state).messages, ["words 1", "words 2"]);
    let again = Event::UserSaid { id: "1".to_owned(), message: "words 1".to_owned() };
    assert!(story.state.apply(&again, AT).is_err(), "a message counts once");
    let story = Story::of(Policy::default(), &[], "usable say=1 edits ok say=2 edits ok");
    assert_eq!(story.last_note().1.user_messages, ["words 1", "words 2"]);
    // A rollback keeps the messages.
    let story =
        Story::of(Policy::default(), &[], "usable edits ok say=1 edits ok interrupt back=1");
    assert_eq!(assignment(&story.state).messages, ["words 1"]);
    let story = Story::of(Policy::default(), &[], "usable edits finished approve merged");
    assert!(story.state.apply(&again, AT).is_err(), "a finished run takes no messages");
}

#[test]
fn messages_do_not_restart_a_stopped_run() {
    let story = Story::of(pausing(&[Phase::Red]), &[], "usable edits ok edits ok say=1");
    assert_eq!(step::next(&story.state), Step::Stop);
}

#[test]
fn a_rejected_test_is_rewritten_with_the_message() {
    for words in [
        "edits ok edits ok reject",
        "edits ok edits ok edit passes reject",
        "edits ok edits ok resume edits interrupt reject",
    ] {
        let story = Story::of(pausing(&[Phase::Red]), &[], &format!("usable {words}"));
        let asked = assignment(&story.state);
        assert_eq!(
            (asked.role, story.state.expected_tree().as_str()),
            (Role::Test, "tree1"),
            "{words}"
        );
        assert!(asked.messages[0].contains("test the sum, not the sign"), "{:?}", asked.messages);
        assert_eq!(asked.trouble.unwrap().kind, REJECTED);
        assert!(story.state.progress.targets.is_empty());
    }
    // There is no test to reject while it is planned or written.
    for words in ["usable", "usable edits ok", "usable edits finished"] {
        assert_eq!(
            Story::of(pausing(&[Phase::Plan]), &[], words).state.before_test(),
            None,
            "{words}"
        );
    }
}

#[test]
fn rejecting_the_only_test_of_a_file_returns_to_the_start() {
    let mut begun = run(pausing(&[Phase::Red]), &[]);
    begun.brief = batch::brief();
    let mut state = State::begin(&Event::Started { run: Box::new(begun) }).unwrap();
    for event in
        [prepared(), measured(true), turned(Role::Test, done(""), "tests"), accepted(Phase::Red)]
    {
        state = state.apply(&event, AT).unwrap();
    }
    state = state.apply(&Event::Committed { mark: mark("red", "tests") }, AT).unwrap();
    let Step::Note { commit, handoff } = step::next(&state) else { panic!("there is no note") };
    state = state.apply(&Event::Noted { commit, handoff }, AT).unwrap();
    let left = Event::Left { outcome: Outcome::Paused { after: Phase::Red, trouble: None } };
    state = state.apply(&left, AT).unwrap();
    let to = state.before_test().unwrap().progress.head.commit.clone();
    assert_eq!(to, Oid::named("base"));
    let rejected = Event::TestRejected { to, message: "no".to_owned(), salvage: None };
    let state = state.apply(&rejected, AT).unwrap();
    assert_eq!(
        (state.phase(), state.expected_tree().as_str(), state.trail.len()),
        (Phase::Red, "tree0", 0)
    );
    assert!(assignment(&state).is_batch());
}

#[test]
fn edits_in_a_pause_are_judged_again_in_their_phase() {
    for (phase, to_pause, judged) in [
        (Phase::Red, "usable edits ok edits ok", "judge=RED"),
        (Phase::Green, "usable edits ok edits ok edits ok", "judge=GREEN"),
        (Phase::Refactor, "usable edits ok edits ok edits ok edits ok", "judge=REFACTOR"),
    ] {
        let pause = pausing(&[phase]);
        check_with(pause.clone(), &[], &format!("{to_pause} | edit"), &format!("prepare {judged}"));
        // After acceptance the run continues without asking again; the new commit replaces the old
        // one.
        let story = Story::of(pause.clone(), &[], &format!("{to_pause} edit ok"));
        let commits = to_pause.split(' ').filter(|word| *word == "ok").count();
        assert_eq!(story.state.trail.len(), commits, "{phase}");
        assert!(matches!(step::next(&story.state), Step::Ask { .. }), "{phase}");
    }
}

#[test]
fn a_refused_edit_of_the_user_waits_and_is_kept() {
    let paused = "usable edits ok edits ok";
    let story = Story::of(pausing(&[Phase::Red]), &[], &format!("{paused} edit passes"));
    let Some(Outcome::Paused { after: Phase::Red, trouble: Some(trouble) }) = &story.state.left
    else {
        panic!("{:?}", story.state.left)
    };
    assert_eq!(trouble.kind, "red.passes");
    assert_eq!(story.state.expected_tree(), "tree3", "the user's edit stays");
    check_with(
        pausing(&[Phase::Red]),
        &[],
        &format!("{paused} edit passes | resume"),
        "prepare judge=RED",
    );
    check_with(
        pausing(&[Phase::Red]),
        &[],
        &format!("{paused} edit passes | edit ok"),
        "prepare judge=RED commit note ask=implementing",
    );
    check_with(
        pausing(&[Phase::Red]),
        &[],
        &format!("{paused} edit doubts | edit ok"),
        "prepare judge=RED commit note ask=implementing",
    );
    let green = "usable edits ok edits ok edits ok";
    check_with(
        pausing(&[Phase::Green]),
        &["ruff"],
        &format!("{green} clean edit | ok lint"),
        "judge=GREEN lint leave=paused stop",
    );
}

#[test]
fn an_edited_plan_is_used_at_the_next_planning() {
    // During a test turn: the cycle completes first.
    let story =
        Story::of(Policy::default(), &[], "usable edits ok plan=b,c edits ok edits ok edits ok");
    let asked = assignment(&story.state);
    assert_eq!((asked.role, asked.pending), (Role::TestList, vec!["b".to_owned(), "c".to_owned()]));
    assert!(asked.remarks[0].contains("the user edited the list"), "{:?}", asked.remarks);
    assert_eq!(story.state.steering.plan.as_deref(), Some("plan b,c"));
    // A refused planning starts with it again; an accepted one has used it.
    let refused = Story::of(Policy::default(), &[], "usable plan=b edits silent");
    assert_eq!(refused.state.steering.plan.as_deref(), Some("plan b"));
    let accepted = Story::of(Policy::default(), &[], "usable plan=b edits ok");
    assert_eq!(accepted.state.steering.plan, None);
    // An edit after the planner's turn is for the next planning.
    let late = Story::of(Policy::default(), &[], "usable edits plan=b ok");
    assert_eq!(late.state.steering.plan.as_deref(), Some("plan b"));
}

#[test]
fn a_plan_edited_after_planning_is_planned_again() {
    check_with(
        pausing(&[Phase::Plan]),
        &[],
        "usable edits ok plan=b | resume",
        "prepare ask=test-list",
    );
    check_with(pausing(&[Phase::Plan]), &[], "usable edits ok | resume", "prepare ask=test");
    // In another pause it waits for the next planning.
    check_with(
        pausing(&[Phase::Red]),
        &[],
        "usable edits ok edits ok plan=b | resume",
        "prepare ask=implementing",
    );
}

#[test]
fn a_finished_run_continues_if_its_plan_grows() {
    check_with(
        Policy::default(),
        &[],
        "usable edits finished plan=b | resume",
        "prepare ask=test-list",
    );
    check_with(Policy::default(), &[], "usable edits finished | resume", "leave=waiting stop");
    check_with(
        Policy::default(),
        &[],
        "usable edits finished plan=b | resume edits ok",
        "prepare ask=test-list judge=PLAN commit note ask=test",
    );
}

#[test]
fn a_finished_file_continues_item_by_item() {
    let mut begun = run(Policy::default(), &[]);
    begun.brief = batch::brief();
    let mut state = State::begin(&Event::Started { run: Box::new(begun) }).unwrap();
    state.situation = Situation::Waiting { trouble: None };
    state.left = Some(Outcome::Waiting);
    let more = Event::PlanEdited {
        id: "1".to_owned(),
        text: "- [ ] more\n".to_owned(),
        pending: vec!["more".to_owned()],
    };
    let state =
        state.apply(&more, AT).unwrap().apply(&Event::Resumed { policy: None }, AT).unwrap();
    let asked = assignment(&state);
    assert_eq!((asked.role, asked.is_batch()), (Role::TestList, false));
}
