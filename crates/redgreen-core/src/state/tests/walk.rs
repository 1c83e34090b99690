//! Breadth first through every state that small limits allow, with everything a step can end in and everything a person
//! can do meanwhile.

use std::collections::{BTreeSet, HashMap};
use std::fmt::Write as _;

use super::*;
use crate::handoff::{RunFacts, VERSION};
use crate::policy::Budget;

/// A walk that gets here has lost count of something.
const STATES_MAX: usize = 60_000;
const FAILURES: [Failure; 5] = [
    Failure::RateLimit { retry_after_ms: Some(5) },
    Failure::Timeout,
    Failure::Crash,
    Failure::Unusable,
    Failure::Budget,
];

#[derive(Clone)]
struct Place {
    state: State,
    /// What the worktree really holds; `None` while there is none.
    held: Option<Oid>,
}

struct Edge {
    event: Event,
    to: Place,
}

#[derive(Default)]
struct Walk {
    places: Vec<Place>,
    known: HashMap<String, usize>,
    /// For each place, those it leads to without anybody aborting.
    onward: Vec<Vec<usize>>,
    names: u32,
    reached: BTreeSet<String>,
}

#[test]
fn every_reachable_state_is_sound() {
    let small = Policy { iterations_max: 2, refactorings_max: 2, cycles_max: 1, ..Policy::with_retries(1) };
    let budget = Budget { tokens: Some(2), ..Budget::default() };
    let mut reached = BTreeSet::new();
    let mut walked = 0;
    for (what, policy, linters) in [
        ("one cycle", small.clone(), &["ruff"][..]),
        ("no linters, no retries", Policy { cycles_max: 2, retries_max: 0, ..small.clone() }, &[][..]),
        ("stuck early", Policy { iterations_max: 3, retries_max: 0, same_failures_max: 2, ..small.clone() }, &[]),
        (
            "pauses",
            Policy { pause_after: vec![Phase::Red, Phase::Green], retries_max: 0, iterations_max: 1, ..small.clone() },
            &[],
        ),
        ("a budget", Policy { budget, iterations_max: 1, retries_max: 0, ..small.clone() }, &[]),
    ] {
        walked += walk(what, &Event::Started { run: Box::new(run(policy, linters)) }, &mut reached);
    }
    for phase in [Phase::Plan, Phase::Red, Phase::Green, Phase::Refactor] {
        let policy = Policy { retries_max: 0, ..small.clone() };
        walked += walk("adopted", &adopted(phase, next_of(phase), policy), &mut reached);
    }
    walked += walk("adopted when done", &adopted(Phase::Plan, Phase::Complete, small), &mut reached);
    let expected = [
        "measuring",
        "unmeasurable",
        "working",
        "reverting",
        "halted",
        "paused",
        "waiting",
        "merging",
        "discarding",
        "ended",
        "working: pausing",
        "working: asking",
        "working: unable",
        "working: judging",
        "working: doubting",
        "working: contested",
        "working: edit-refused",
        "working: linting",
        "working: restoring",
        "working: spent",
        "working: diagnosing",
        "working: recording",
        "working: committing",
        "working: noting",
        "reverting: restoring",
        "reverting: recording",
        "reverting: noting",
        "left: merged",
        "left: aborted",
        "left: waiting",
        "left: paused",
        "left: merge-blocked",
        "left: gave-up",
        "left: undecided",
        "left: agent-unusable",
        "left: baseline-unusable",
        "left: budget-spent",
        "left: interrupted",
    ];
    assert_eq!(reached, expected.map(str::to_owned).into(), "the walk reaches every variant");
    assert!(walked > 10_000, "only {walked} states were walked");
}

fn next_of(phase: Phase) -> Phase {
    match phase {
        Phase::Plan => Phase::Red,
        Phase::Red => Phase::Green,
        Phase::Green => Phase::Refactor,
        Phase::Refactor | Phase::Complete => Phase::Plan,
    }
}

fn adopted(phase: Phase, next_phase: Phase, policy: Policy) -> Event {
    let run = run(policy, &[]);
    let facts = RunFacts {
        id: run.id.clone(),
        request: run.brief.request.clone(),
        base: run.base.commit.clone(),
        target: run.target.clone(),
        branch: run.branch.clone(),
        agent: run.agent.clone(),
        brief: None,
    };
    let handoff = Handoff {
        version: VERSION,
        phase,
        next_phase,
        cycle_number: 1,
        current_test: planning(Some("1 is I")).next.filter(|_| next_phase != Phase::Complete),
        completed_tests: Vec::new(),
        pending_tests: Vec::new(),
        removed_tests: Vec::new(),
        tests_written: 0,
        test_result: None,
        error: None,
        error_details: None,
        retry_count: 0,
        run: facts,
        verdict: None,
        tests: None,
        targets: Vec::new(),
        withheld_tests: 0,
        iterations: 0,
        sessions: BTreeMap::default(),
        agents: BTreeMap::default(),
        user_messages: Vec::new(),
        spent: None,
    };
    Event::Adopted { run: Box::new(run), head: mark("head", "tree1"), handoff: Box::new(handoff) }
}

fn walk(what: &str, first: &Event, reached: &mut BTreeSet<String>) -> usize {
    let mut walk = Walk::default();
    walk.enter(Place { state: State::begin(first).unwrap(), held: None });
    let mut index = 0;
    while let Some(place) = walk.places.get(index).cloned() {
        assert!(index < STATES_MAX, "{what}: more than {STATES_MAX} states");
        check_state(&place);
        let mut onward = Vec::new();
        for edge in walk.step_endings(&place) {
            check_edge(&place.state, &edge);
            if index % 5 == 0 {
                let again = place.state.clone().apply(&edge.event, AT);
                assert_eq!(again.as_ref(), Ok(&edge.to.state), "the same event makes the same state");
            }
            onward.push(walk.enter(edge.to));
        }
        for edge in walk.doings_of_a_person(&place) {
            let aborts = matches!(edge.event, Event::Decided { decision: Choice::Abort, .. });
            let to = walk.enter(edge.to);
            if !aborts {
                onward.push(to);
            }
        }
        if index % 5 == 0 {
            check_illegal(&place.state);
        }
        walk.onward.push(onward);
        index += 1;
    }
    walk.check_that_all_can_end(what);
    reached.extend(walk.reached);
    walk.places.len()
}

impl Walk {
    fn enter(&mut self, place: Place) -> usize {
        let key = key(&place);
        if let Some(&index) = self.known.get(&key) {
            return index;
        }
        self.reached.extend(names(&place.state));
        self.places.push(place);
        self.known.insert(key, self.places.len() - 1);
        self.places.len() - 1
    }

    /// A name nobody had before.
    fn fresh(&mut self, kind: &str) -> Oid {
        self.names += 1;
        Oid::named(&format!("{kind}{}", self.names))
    }

    /// Everything the next step can end in.
    fn step_endings(&mut self, place: &Place) -> Vec<Edge> {
        let state = &place.state;
        let held = place.held.clone().unwrap_or_default();
        let same = |event: Event| (event, place.held.clone());
        let endings: Vec<(Event, Option<Oid>)> = match step::next(state) {
            Step::Prepare { tree } => vec![(prepared(), Some(tree))],
            Step::Measure => vec![same(measured(true)), same(measured(false))],
            Step::Pause { .. } => vec![same(Event::Paused)],
            Step::Ask { assignment, .. } => {
                let mut turns = vec![done("an answer")];
                turns.extend((assignment.role == Role::Diagnosis).then(|| done("")));
                turns.extend(FAILURES.map(failed));
                let mut trees = vec![held, self.fresh("tree")];
                if let Situation::Working { attempt, .. } = &state.situation {
                    trees.extend(attempt.seen.clone());
                }
                trees.sort();
                trees.dedup();
                let pairs = turns.iter().flat_map(|turn| trees.iter().map(move |tree| (turn, tree)));
                pairs.map(|(turn, tree)| (turned(assignment.role, turn.clone(), tree), Some(tree.clone()))).collect()
            }
            Step::Judge { phase, .. } => verdicts(state, phase).into_iter().map(same).collect(),
            Step::Lint => [vec![], vec!["ruff: E501".to_owned()]]
                .map(|findings| same(Event::Linted { findings, criteria: vec![], took_ms: 0 }))
                .into(),
            Step::Restore { tree, .. } => vec![(Event::Restored { tree: tree.clone(), salvage: None }, Some(tree))],
            Step::Record { file, .. } => vec![same(recorded(&file))],
            Step::Commit { tree, .. } => {
                let mark = Mark { commit: self.fresh("commit"), tree };
                vec![same(Event::Committed { mark })]
            }
            Step::Note { commit, handoff } => vec![same(Event::Noted { commit, handoff })],
            Step::Merge { .. } => vec![
                same(Event::MergeBlocked { trouble: trouble("a conflict") }),
                same(Event::Merged { commit: Oid::named("merge") }),
            ],
            Step::Review { .. } => vec![],
            Step::Discard => vec![(Event::Discarded { salvage: None }, None)],
            Step::Leave { outcome } => {
                self.reached.insert(format!("left: {}", outcome_name(&outcome)));
                vec![(Event::Left { outcome }, None)]
            }
            Step::Stop => vec![],
        };
        endings.into_iter().map(|(event, held)| edge(state, event, held)).collect()
    }

    /// Everything a person can do to a run that nobody is at work on; a run at work is interrupted first.
    fn doings_of_a_person(&mut self, place: &Place) -> Vec<Edge> {
        let before = step::next(&place.state);
        let left = if place.state.left.is_some() {
            place.state.clone()
        } else {
            self.reached.insert("left: interrupted".to_owned());
            edge(&place.state, Event::Left { outcome: Outcome::Interrupted }, None).to.state
        };
        assert_eq!(step::next(&left), Step::Stop);
        let resumed = edge(&left, Event::Resumed { policy: None }, None);
        check_resumed(&before, &place.state, &resumed.to.state);
        let mut edges = vec![resumed];
        let raised = Policy { budget: Budget::default(), ..left.run.policy.clone() };
        if raised != left.run.policy {
            edges.push(edge(&left, Event::Resumed { policy: Some(Box::new(raised)) }, None));
        }
        let (ended, merging, discarding) = match left.situation {
            Situation::Ended(_) => (true, false, false),
            Situation::Merging { .. } => (false, true, false),
            Situation::Discarding => (false, false, true),
            Situation::Measuring { .. }
            | Situation::Unmeasurable { .. }
            | Situation::Working { .. }
            | Situation::Reverting { .. }
            | Situation::Halted { .. }
            | Situation::Reviewing(_)
            | Situation::Paused { .. }
            | Situation::Waiting { .. } => (false, false, false),
        };
        let waiting = matches!(left.situation, Situation::Waiting { .. });
        for (decision, legal) in [(Choice::Approve, waiting), (Choice::Abort, !ended && !merging)] {
            let event = Event::Decided { decision, manner: Manner::default() };
            if legal {
                edges.push(edge(&left, event, None));
            } else {
                assert!(left.clone().apply(&event, AT).is_err(), "{event:?} in {:?}", left.situation);
            }
        }
        for waypoint in &left.trail {
            let event = Event::RolledBack { to: waypoint.progress.head.commit.clone(), salvage: None };
            if ended || merging || discarding {
                assert!(left.clone().apply(&event, AT).is_err(), "{event:?} in {:?}", left.situation);
                continue;
            }
            let back = edge(&left, event, None);
            assert_eq!(*back.to.state.expected_tree(), waypoint.progress.head.tree);
            assert_eq!(back.to.state.phase(), waypoint.next);
            edges.push(back);
        }
        if let Some(before) = left.before_test() {
            let (to, tree) = (before.progress.head.commit.clone(), before.progress.head.tree.clone());
            let rejected = Event::TestRejected { to, message: "no".to_owned(), salvage: None };
            let back = edge(&left, rejected, None);
            assert_eq!((back.to.state.phase(), back.to.state.expected_tree()), (Phase::Red, &tree));
            edges.push(back);
        }
        if let Some(before) = left.editable().and_then(|phase| left.before(phase)) {
            let (to, tree) = (before.progress.head.commit.clone(), self.fresh("tree"));
            edges.push(edge(&left, Event::WorkEdited { to, tree, salvage: None }, None));
        }
        edges
    }

    /// Without anybody aborting: to the merge, unless the run was given up by a person.
    fn check_that_all_can_end(&self, what: &str) {
        let mut sources: Vec<Vec<usize>> = vec![Vec::new(); self.places.len()];
        for (from, onward) in self.onward.iter().enumerate() {
            for &to in onward {
                sources[to].push(from);
            }
        }
        let mut ends = vec![false; self.places.len()];
        let over = |place: &Place| place.state.is_over() || place.state.situation == Situation::Discarding;
        let mut next: Vec<usize> = (0..self.places.len()).filter(|&index| over(&self.places[index])).collect();
        while let Some(index) = next.pop() {
            if !std::mem::replace(&mut ends[index], true) {
                next.extend(&sources[index]);
            }
        }
        if let Some(lost) = ends.iter().position(|ends| !ends) {
            panic!("{what}: no way to the end from {:?}", self.places[lost].state);
        }
    }
}

fn edge(state: &State, event: Event, held: Option<Oid>) -> Edge {
    let to = match state.clone().apply(&event, AT) {
        Ok(to) => to,
        Err(illegal) => panic!("{illegal:?}: {event:?} in {:?}, left {:?}", state.situation, state.left),
    };
    Edge { event, to: Place { state: to, held } }
}

fn verdicts(state: &State, phase: Phase) -> Vec<Event> {
    let mut rows = vec![accepted(phase), judged(phase, Verdict::undecided(Reason::plain(Code::RunnerBroken)), None)];
    let refusals: Vec<Verdict> = match phase {
        Phase::Plan => {
            rows.push(finished());
            vec![refused(Code::PlanNoAnswer, None), refused(Code::PlanTouchesCode, None)]
        }
        Phase::Red => vec![refused(Code::RedPasses, standing(0, 0)), refused(Code::RedOthersFail, None)],
        Phase::Green => {
            let Situation::Working { attempt, .. } = &state.situation else { panic!("judged while not at work") };
            let best = attempt.best.as_ref().unwrap().standing;
            rows.push(judged(phase, Verdict::undecided(Reason::plain(Code::GreenContested)), None));
            vec![
                refused(Code::GreenTestsChanged, None),
                refused(Code::GreenRegression, standing(best.kept - 1, best.reached)),
                refused(Code::GreenStillFailing, Some(best)),
                refused(Code::GreenStillFailing, standing(best.kept, 1)),
                refused(Code::GreenDoesNotCompile, standing(0, 0)),
            ]
        }
        Phase::Refactor | Phase::Complete => vec![refused(Code::RefactorRegression, None)],
    };
    rows.extend(refusals.into_iter().map(|verdict| judged(phase, verdict, None)));
    rows
}

fn check_state(place: &Place) {
    let Place { state, held } = place;
    let step = step::next(state);
    assert_eq!(step, step::next(state), "next is a function");
    assert_eq!(step == Step::Stop, state.left.is_some());
    let policy = &state.run.policy;
    let expected = match &state.situation {
        Situation::Working { attempt, .. } => {
            assert!(attempt.retries <= policy.retries_max.max(policy.refactorings_max), "{attempt:?}");
            assert!(attempt.iteration < policy.iterations_max || attempt.iteration == 0, "{attempt:?}");
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
    assert!(!needs || held.as_ref() == Some(expected), "{step:?} finds {held:?} in {:?}", state.situation);
    check_trail(state);
}

/// PLAN, RED, GREEN, REFACTOR and so on, four commits to a cycle, each of them once.
fn check_trail(state: &State) {
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
        assert!(waypoint.next == next_of(note.phase) || (note.phase, waypoint.next) == (Phase::Plan, Phase::Complete));
        expected = (waypoint.next, cycle);
    }
}

fn check_edge(from: &State, edge: &Edge) {
    let to = &edge.to.state;
    let Situation::Working { phase, stage, .. } = &from.situation else { return };
    let leaves = to.phase() != *phase;
    let noted = matches!((stage, &edge.event), (Stage::Noting { .. }, Event::Noted { .. }));
    assert_eq!(leaves, noted, "{:?} leaves {phase} at {stage:?}", edge.event);
    if let Stage::Committing { acceptance } | Stage::Noting { acceptance, .. } = stage {
        assert_eq!(acceptance.verdict.decision, Decision::Accepted);
    }
    let Situation::Working { stage: Stage::Committing { acceptance }, .. } = &to.situation else { return };
    let given_up = acceptance.verdict.first().unwrap().code == Code::RefactorGivenUp;
    let earned = match &edge.event {
        Event::Judged { phase: judged, verdict, .. } => judged == phase && verdict.decision == Decision::Accepted,
        Event::Linted { findings, .. } => findings.is_empty(),
        Event::Started { .. }
        | Event::Adopted { .. }
        | Event::Prepared { .. }
        | Event::Measured { .. }
        | Event::Turned { .. }
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
    assert!(!given_up || acceptance.tree == from.progress.head.tree, "what was given up is not committed");
}

/// A run goes on where it was; what a human was asked to mend is tried again.
fn check_resumed(before: &Step, was: &State, resumed: &State) {
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
                assert!(matches!(now, Step::Ask { .. } | Step::Leave { outcome: Outcome::BudgetSpent { .. } }));
            }
            Outcome::NothingDeveloped { .. } => {
                assert!(matches!(now, Step::Ask { .. } | Step::Leave { outcome: Outcome::BudgetSpent { .. } }));
            }
            Outcome::Undecided { trouble, .. } if trouble.kind == Code::GreenContested.as_str() => {
                assert!(matches!(now, Step::Ask { .. } | Step::Leave { outcome: Outcome::BudgetSpent { .. } }));
            }
            Outcome::Undecided { .. } => assert!(matches!(now, Step::Judge { .. })),
            Outcome::Paused { trouble: Some(_), .. } => assert!(matches!(now, Step::Judge { .. })),
            Outcome::AgentUnusable { .. } => {
                assert!(matches!(now, Step::Ask { .. } | Step::Leave { outcome: Outcome::BudgetSpent { .. } }));
            }
            Outcome::BaselineUnusable { .. } => assert_eq!(now, Step::Measure),
            Outcome::Merged
            | Outcome::Aborted
            | Outcome::Waiting
            | Outcome::MergeBlocked { .. }
            | Outcome::RolledBack { .. }
            // Nobody saw that it pauses.
            | Outcome::Paused { trouble: None, .. }
            | Outcome::Interrupted => assert_eq!(now, *before),
            // A turn that was cut short goes on, if there is money for it.
            Outcome::BudgetSpent { .. } => {
                assert!(matches!(now, Step::Ask { .. } | Step::Leave { outcome: Outcome::BudgetSpent { .. } }));
            }
        },
        Step::Measure
        | Step::Pause { .. }
        | Step::Ask { .. }
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

/// Only what the next step can end in is legal, and what a person can do.
fn check_illegal(state: &State) {
    let legal = match step::next(state) {
        Step::Prepare { .. } => &["prepared", "left"][..],
        Step::Measure => &["measured", "left"],
        Step::Pause { .. } => &["paused", "left"],
        Step::Ask { .. } | Step::Leave { outcome: Outcome::BudgetSpent { .. } } => &["turned", "left"],
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
    let Event::Adopted { handoff: note, .. } = handoff.clone() else { panic!("adopted makes Adopted") };
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
        let refused = state.clone().apply(&event, AT).is_err();
        let wrong_role = matches!((&event, step::next(state)), (Event::Turned { role, .. }, Step::Ask { assignment, .. }) if assignment.role != *role);
        let budget = matches!(step::next(state), Step::Leave { outcome: Outcome::BudgetSpent { .. } });
        if wrong_role || !budget || event.name() != "turned" {
            assert_eq!(refused, wrong_role || !legal.contains(&event.name()), "{event:?} in {state:?}");
        }
    }
    for event in [accepted(other), Event::RolledBack { to: Oid::named("nowhere"), salvage: None }] {
        assert!(state.clone().apply(&event, AT).is_err(), "{event:?} in {state:?}");
    }
}

fn names(state: &State) -> Vec<String> {
    let name = state.situation.name();
    let detail = match &state.situation {
        Situation::Working { stage, .. } => stage_name(stage),
        Situation::Reverting { stage, .. } => match stage {
            Reverting::Restoring => "restoring",
            Reverting::Recording => "recording",
            Reverting::Noting => "noting",
        },
        Situation::Measuring { .. }
        | Situation::Unmeasurable { .. }
        | Situation::Halted { .. }
        | Situation::Paused { .. }
        | Situation::Waiting { .. }
        | Situation::Reviewing(_)
        | Situation::Merging { .. }
        | Situation::Discarding
        | Situation::Ended(_) => return vec![name.to_owned()],
    };
    vec![name.to_owned(), format!("{name}: {detail}")]
}

/// What makes two places different: not the names of trees and commits, not what is only told, and not counts that only
/// grow.
fn key(place: &Place) -> String {
    let Place { state, held } = place;
    let progress = &state.progress;
    let mut situation = state.situation.clone();
    if let Situation::Working { attempt, .. } | Situation::Reverting { attempt, .. } = &mut situation {
        // Only told, never decided from.
        attempt.trouble = None;
        attempt.diagnosis = None;
    }
    let mut text = format!("{situation:?} {held:?} {} {:?} ", state.prepared, state.left.is_some());
    let noted = progress.handoff.as_ref().map(|note| (note.phase, note.error.is_some()));
    write!(text, "{} {:?} {:?} {noted:?} ", progress.cycle, progress.head, progress.current.is_some()).unwrap();
    for waypoint in &state.trail {
        write!(text, "{:?} {} ", waypoint.next, waypoint.progress.cycle).unwrap();
    }
    if let Some(limit) = state.run.policy.budget.tokens {
        write!(text, "{}", state.spent.tokens.min(limit)).unwrap();
    }
    let mut names: Vec<&str> = Vec::new();
    let mut key = String::new();
    for (index, part) in text.split('"').enumerate() {
        let named = index % 2 == 1 && (part.starts_with("tree") || part.starts_with("commit"));
        if named {
            let number = names.iter().position(|name| *name == part).unwrap_or(names.len());
            if number == names.len() {
                names.push(part);
            }
            write!(key, "#{number}").unwrap();
        } else {
            key.push_str(part);
        }
    }
    key
}
