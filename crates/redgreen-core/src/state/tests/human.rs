//! Tests for turns of a person: their work is never rolled back, however often it is refused.

use super::*;

const REFUSALS: u32 = 40;

fn by_a_person(role: Role, turn: Turn, tree: &str) -> Event {
    let mut event = turned(role, turn, tree);
    if let Event::Turned { human, .. } = &mut event {
        *human = true;
    }
    event
}

/// A run at the start of a phase, with all earlier phases accepted.
fn asked_for(phase: Phase) -> State {
    let start = Event::Started { run: Box::new(run(Policy::default(), &["lint"])) };
    let mut state = State::begin(&start).unwrap();
    let mut commits = 0;
    loop {
        let event = match step::next(&state) {
            Step::Prepare { .. } => prepared(),
            Step::Measure => measured(true),
            Step::Ask { assignment, .. } if assignment.phase == phase => return state,
            Step::Ask { assignment, .. } => turned(assignment.role, done(""), "work"),
            Step::Judge { phase, .. } => accepted(phase),
            Step::Lint => Event::Linted { findings: vec![], criteria: vec![], took_ms: 0 },
            Step::Commit { tree, .. } => {
                commits += 1;
                Event::Committed { mark: mark(&format!("commit{commits}"), &tree) }
            }
            Step::Note { commit, handoff } => Event::Noted { commit, handoff },
            step @ (Step::Pause { .. }
            | Step::Attempt { .. }
            | Step::Compare { .. }
            | Step::Choose { .. }
            | Step::Take { .. }
            | Step::Restore { .. }
            | Step::Record { .. }
            | Step::Review { .. }
            | Step::Merge { .. }
            | Step::Discard
            | Step::Leave { .. }
            | Step::Stop) => panic!("{}", step.name()),
        };
        state = state.apply(&event, AT).unwrap();
    }
}

#[test]
fn no_limit_rolls_back_the_work_of_a_person() {
    for (phase, code) in [
        (Phase::Plan, Code::PlanTouchesCode),
        (Phase::Red, Code::RedTouchesImplementation),
        (Phase::Green, Code::GreenTestsChanged),
        (Phase::Refactor, Code::RefactorRegression),
    ] {
        let mut state = asked_for(phase);
        for number in 0..REFUSALS {
            let tree = format!("try{number}");
            state = state.apply(&by_a_person(role_of(phase), done(""), &tree), AT).unwrap();
            let verdict =
                judged(phase, refused(code, None), (phase == Phase::Plan).then(|| planning(None)));
            state = state.apply(&verdict, AT).unwrap();
            assert!(
                matches!(step::next(&state), Step::Ask { .. }),
                "{phase} {number}: {:?}",
                step::next(&state)
            );
            assert_eq!(*state.expected_tree(), *tree, "{phase} {number}");
        }
    }
}

#[test]
fn without_an_answer_the_run_stops_and_keeps_the_work() {
    let mut state = asked_for(Phase::Red);
    for _ in 0..=Policy::default().retries_max {
        assert!(matches!(step::next(&state), Step::Ask { .. }));
        state =
            state.apply(&by_a_person(Role::Test, failed(Failure::Timeout), "half"), AT).unwrap();
    }
    let Step::Leave { outcome } = step::next(&state) else { panic!("{:?}", step::next(&state)) };
    assert_eq!(outcome_name(&outcome), "agent-unusable");
    state = state.apply(&Event::Left { outcome }, AT).unwrap();
    state = state.apply(&Event::Resumed { policy: None }, AT).unwrap();
    assert_eq!(step::next(&state), Step::Prepare { tree: Oid::named("half") });
}

fn reviewed(commit: &str, phase: Phase, verdict: Verdict) -> Event {
    Event::Reviewed { commit: Oid::named(commit), phase, verdict, report: Some(kept()), took_ms: 0 }
}

fn found(commits: &[&str], work: Option<&str>) -> Event {
    let commits = commits.iter().map(|name| mark(name, &format!("tree of {name}"))).collect();
    Event::HumanCommitted { commits, work: work.map(Oid::named), salvage: None }
}

#[test]
fn commits_on_the_branch_are_judged_one_by_one_and_accepted_together() {
    let kept_form = || Verdict::accepted(Reason::plain(Code::RefactorKept));
    let mut state =
        asked_for(Phase::Refactor).apply(&found(&["one", "two"], Some("merged")), AT).unwrap();
    let head = state.progress.head.clone();
    assert_eq!(step::next(&state), Step::Review { commit: mark("one", "tree of one") });
    assert!(
        state.clone().apply(&reviewed("two", Phase::Refactor, kept_form()), AT).is_err(),
        "only in order"
    );
    state = state.apply(&reviewed("one", Phase::Refactor, kept_form()), AT).unwrap();
    assert_eq!(state.progress.head, head, "all commits or none");

    let refusal = reviewed("two", Phase::Refactor, refused(Code::RefactorRegression, None));
    let stopped = state.clone().apply(&refusal, AT).unwrap();
    let Step::Leave { outcome: Outcome::Undecided { trouble, .. } } = step::next(&stopped) else {
        panic!("it stops")
    };
    assert!(
        trouble.message.contains("two") && trouble.message.contains("refactor.regression"),
        "{trouble:?}"
    );
    assert_eq!(stopped.progress.head, head);
    let left = Event::Left { outcome: Outcome::Undecided { phase: Phase::Refactor, trouble } };
    let again =
        stopped.apply(&left, AT).unwrap().apply(&Event::Resumed { policy: None }, AT).unwrap();
    assert!(matches!(step::next(&again), Step::Prepare { .. }), "the branch is read again");

    state = state.apply(&reviewed("two", Phase::Refactor, kept_form()), AT).unwrap();
    let Step::Note { commit, handoff } = step::next(&state) else { panic!("the note must move") };
    assert_eq!((commit.as_str(), handoff.next_phase), ("two", Phase::Refactor));
    state = state.apply(&Event::Noted { commit, handoff }, AT).unwrap();
    assert_eq!(state.progress.head, mark("two", "tree of two"));
    assert_eq!(step::next(&state), Step::Prepare { tree: Oid::named("merged") });
}

#[test]
fn a_person_who_does_the_work_of_a_phase_advances_the_run() {
    let mut red = Verdict::accepted(Reason::plain(Code::RedAssertion));
    red.targets.push("t::mine".to_owned());
    let green = Verdict::accepted(Reason::plain(Code::GreenPasses));
    for (phase, commits, expected) in [
        (Phase::Red, &[(Phase::Red, &red)][..], Phase::Green),
        (Phase::Red, &[(Phase::Red, &red), (Phase::Green, &green)], Phase::Refactor),
        (Phase::Green, &[(Phase::Green, &green)], Phase::Refactor),
    ] {
        let names: Vec<String> = (0..commits.len()).map(|number| format!("c{number}")).collect();
        let words: Vec<&str> = names.iter().map(String::as_str).collect();
        let mut state = asked_for(phase).apply(&found(&words, None), AT).unwrap();
        for (name, (judged_as, verdict)) in names.iter().zip(commits) {
            state = state.apply(&reviewed(name, *judged_as, (*verdict).clone()), AT).unwrap();
        }
        let Step::Note { commit, handoff } = step::next(&state) else {
            panic!("{:?}", step::next(&state))
        };
        assert_eq!(handoff.next_phase, expected);
        state = state.apply(&Event::Noted { commit, handoff }, AT).unwrap();
        assert_eq!(state.phase(), expected);
    }
    // Outside of RED and GREEN, a failing test stops the run.
    let state = asked_for(Phase::Plan).apply(&found(&["mine"], None), AT).unwrap();
    let state = state.apply(&reviewed("mine", Phase::Red, red), AT).unwrap();
    assert!(matches!(step::next(&state), Step::Leave { outcome: Outcome::Undecided { .. } }));
}
