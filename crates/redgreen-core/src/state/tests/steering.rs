//! What a user does to a run on its way.

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
    let Step::Ask { assignment, .. } = step::next(&state) else { panic!("nobody is asked: {:?}", state.situation) };
    *assignment
}

#[test]
fn a_run_pauses_after_the_phases_it_is_told_to_in_every_cycle() {
    for (phases, words, told) in [
        (&[Phase::Plan][..], "usable edits ok | resume", "prepare ask=test"),
        (&[Phase::Plan], "usable edits | ok", "judge=PLAN commit note leave=paused stop"),
        (&[Phase::Red], "usable edits ok edits | ok", "judge=RED commit note leave=paused stop"),
        (&[Phase::Red], "usable edits ok edits ok | resume", "prepare ask=implementing"),
        (&[Phase::Green], "usable edits ok edits ok edits | ok", "judge=GREEN commit note leave=paused stop"),
        (
            &[Phase::Refactor],
            "usable edits ok edits ok edits ok edits | ok resume",
            "judge=REFACTOR commit note leave=paused prepare ask=test-list",
        ),
        // Several in one cycle, and the same in the next.
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
fn a_run_that_is_killed_before_it_pauses_pauses_when_it_is_resumed() {
    let story = Story::of(pausing(&[Phase::Red]), &[], "usable edits ok edits ok");
    let killed = State { left: None, ..story.state };
    let resumed = killed.apply(&Event::Resumed { policy: None }, AT).unwrap();
    assert_eq!(step::next(&resumed), Step::Leave { outcome: Outcome::Paused { after: Phase::Red, trouble: None } });
}

#[test]
fn a_pause_can_be_changed_when_the_run_goes_on() {
    let story = Story::of(pausing(&[Phase::Plan, Phase::Red]), &[], "usable edits ok");
    let resumed = story.state.apply(&Event::Resumed { policy: Some(Box::new(pausing(&[]))) }, AT).unwrap();
    assert!(resumed.run.policy.pause_after.is_empty());
}

#[test]
fn words_reach_every_later_turn_and_the_note_once_each() {
    let story = Story::of(Policy::default(), &[], "usable say=1 edits ok say=2");
    assert_eq!(assignment(&story.state).messages, ["words 1", "words 2"]);
    let again = Event::UserSaid { id: "1".to_owned(), message: "words 1".to_owned() };
    assert!(story.state.apply(&again, AT).is_err(), "a message counts once");
    let story = Story::of(Policy::default(), &[], "usable say=1 edits ok say=2 edits ok");
    assert_eq!(story.last_note().1.user_messages, ["words 1", "words 2"]);
    // What is taken back takes no words with it.
    let story = Story::of(Policy::default(), &[], "usable edits ok say=1 edits ok interrupt back=1");
    assert_eq!(assignment(&story.state).messages, ["words 1"]);
    let story = Story::of(Policy::default(), &[], "usable edits finished approve merged");
    assert!(story.state.apply(&again, AT).is_err(), "a run that is over hears nothing");
}

#[test]
fn words_said_while_a_run_is_left_leave_it_left() {
    let story = Story::of(pausing(&[Phase::Red]), &[], "usable edits ok edits ok say=1");
    assert_eq!(step::next(&story.state), Step::Stop);
}

#[test]
fn a_rejected_test_is_written_anew_with_the_words() {
    for words in [
        "edits ok edits ok reject",
        "edits ok edits ok edit passes reject",
        "edits ok edits ok resume edits interrupt reject",
    ] {
        let story = Story::of(pausing(&[Phase::Red]), &[], &format!("usable {words}"));
        let asked = assignment(&story.state);
        assert_eq!((asked.role, story.state.expected_tree().as_str()), (Role::Test, "tree1"), "{words}");
        assert!(asked.messages[0].contains("test the sum, not the sign"), "{:?}", asked.messages);
        assert_eq!(asked.trouble.unwrap().kind, REJECTED);
        assert!(story.state.progress.targets.is_empty());
    }
    // Nothing to reject while the test is planned or written.
    for words in ["usable", "usable edits ok", "usable edits finished"] {
        assert_eq!(Story::of(pausing(&[Phase::Plan]), &[], words).state.before_test(), None, "{words}");
    }
}

#[test]
fn the_only_test_of_a_file_goes_back_to_the_start() {
    let mut begun = run(pausing(&[Phase::Red]), &[]);
    begun.brief = batch::brief();
    let mut state = State::begin(&Event::Started { run: Box::new(begun) }).unwrap();
    for event in [prepared(), measured(true), turned(Role::Test, done(""), "tests"), accepted(Phase::Red)] {
        state = state.apply(&event, AT).unwrap();
    }
    state = state.apply(&Event::Committed { mark: mark("red", "tests") }, AT).unwrap();
    let Step::Note { commit, handoff } = step::next(&state) else { panic!("nothing is noted") };
    state = state.apply(&Event::Noted { commit, handoff }, AT).unwrap();
    let left = Event::Left { outcome: Outcome::Paused { after: Phase::Red, trouble: None } };
    state = state.apply(&left, AT).unwrap();
    let to = state.before_test().unwrap().progress.head.commit.clone();
    assert_eq!(to, Oid::named("base"));
    let rejected = Event::TestRejected { to, message: "no".to_owned(), salvage: None };
    let state = state.apply(&rejected, AT).unwrap();
    assert_eq!((state.phase(), state.expected_tree().as_str(), state.trail.len()), (Phase::Red, "tree0", 0));
    assert!(assignment(&state).is_batch());
}

#[test]
fn work_that_the_user_changed_in_a_pause_is_judged_again_as_what_it_is() {
    for (phase, to_pause, judged) in [
        (Phase::Red, "usable edits ok edits ok", "judge=RED"),
        (Phase::Green, "usable edits ok edits ok edits ok", "judge=GREEN"),
        (Phase::Refactor, "usable edits ok edits ok edits ok edits ok", "judge=REFACTOR"),
    ] {
        let pause = pausing(&[phase]);
        check_with(pause.clone(), &[], &format!("{to_pause} | edit"), &format!("prepare {judged}"));
        // Accepted, the run goes on without asking about it again; its commit takes the place of the one before.
        let story = Story::of(pause.clone(), &[], &format!("{to_pause} edit ok"));
        let commits = to_pause.split(' ').filter(|word| *word == "ok").count();
        assert_eq!(story.state.trail.len(), commits, "{phase}");
        assert!(matches!(step::next(&story.state), Step::Ask { .. }), "{phase}");
    }
}

#[test]
fn a_change_of_the_users_that_is_refused_waits_for_the_user_and_loses_nothing() {
    let paused = "usable edits ok edits ok";
    let story = Story::of(pausing(&[Phase::Red]), &[], &format!("{paused} edit passes"));
    let Some(Outcome::Paused { after: Phase::Red, trouble: Some(trouble) }) = &story.state.left else {
        panic!("{:?}", story.state.left)
    };
    assert_eq!(trouble.kind, "red.passes");
    assert_eq!(story.state.expected_tree(), "tree3", "what they wrote");
    check_with(pausing(&[Phase::Red]), &[], &format!("{paused} edit passes | resume"), "prepare judge=RED");
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
fn an_edited_plan_is_taken_at_the_next_planning() {
    // While the agent writes a test: the cycle comes to its end first.
    let story = Story::of(Policy::default(), &[], "usable edits ok plan=b,c edits ok edits ok edits ok");
    let asked = assignment(&story.state);
    assert_eq!((asked.role, asked.pending), (Role::TestList, vec!["b".to_owned(), "c".to_owned()]));
    assert!(asked.remarks[0].contains("the user edited the list"), "{:?}", asked.remarks);
    assert_eq!(story.state.steering.plan.as_deref(), Some("plan b,c"));
    // A refused planning begins with it again, an accepted one has taken it in.
    let refused = Story::of(Policy::default(), &[], "usable plan=b edits silent");
    assert_eq!(refused.state.steering.plan.as_deref(), Some("plan b"));
    let accepted = Story::of(Policy::default(), &[], "usable plan=b edits ok");
    assert_eq!(accepted.state.steering.plan, None);
    // One that comes after the planner's turn is for the next.
    let late = Story::of(Policy::default(), &[], "usable edits plan=b ok");
    assert_eq!(late.state.steering.plan.as_deref(), Some("plan b"));
}

#[test]
fn a_plan_edited_in_the_pause_after_planning_is_planned_anew() {
    check_with(pausing(&[Phase::Plan]), &[], "usable edits ok plan=b | resume", "prepare ask=test-list");
    check_with(pausing(&[Phase::Plan]), &[], "usable edits ok | resume", "prepare ask=test");
    // In another pause it waits for its turn.
    check_with(pausing(&[Phase::Red]), &[], "usable edits ok edits ok plan=b | resume", "prepare ask=implementing");
}

#[test]
fn a_finished_run_goes_on_when_its_plan_got_more() {
    check_with(Policy::default(), &[], "usable edits finished plan=b | resume", "prepare ask=test-list");
    check_with(Policy::default(), &[], "usable edits finished | resume", "leave=waiting stop");
    check_with(
        Policy::default(),
        &[],
        "usable edits finished plan=b | resume edits ok",
        "prepare ask=test-list judge=PLAN commit note ask=test",
    );
}

#[test]
fn a_finished_file_goes_on_item_by_item() {
    let mut begun = run(Policy::default(), &[]);
    begun.brief = batch::brief();
    let mut state = State::begin(&Event::Started { run: Box::new(begun) }).unwrap();
    state.situation = Situation::Waiting { trouble: None };
    state.left = Some(Outcome::Waiting);
    let more =
        Event::PlanEdited { id: "1".to_owned(), text: "- [ ] more\n".to_owned(), pending: vec!["more".to_owned()] };
    let state = state.apply(&more, AT).unwrap().apply(&Event::Resumed { policy: None }, AT).unwrap();
    let asked = assignment(&state);
    assert_eq!((asked.role, asked.is_batch()), (Role::TestList, false));
}
