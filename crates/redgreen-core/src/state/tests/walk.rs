//! Visits all states that small limits allow, breadth first, with all results of every step and all
//! actions of a person.

mod check;

use std::collections::{BTreeSet, HashMap};
use std::fmt::Write as _;

use super::*;
use crate::attempts::{Candidate, Comparison, PassCount, chosen_by_human};
use crate::handoff::{RunFacts, VERSION};
use crate::policy::{Attempts, Budget};
use check::{check_edge, check_illegal, check_resumed, check_state};

/// A larger walk means that some counter is not bounded.
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
    /// The actual contents of the worktree; `None` if there is none.
    held: Option<Oid>,
}

struct Edge {
    event: Event,
    to: Place,
}

#[derive(Default)]
struct StateGraph {
    places: Vec<Place>,
    known: HashMap<String, usize>,
    /// The next places of each place, without abort.
    onward: Vec<Vec<usize>>,
    names: u32,
    reached: BTreeSet<String>,
}

#[test]
fn every_reachable_state_is_valid() {
    let small =
        Policy { iterations_max: 2, refactorings_max: 2, cycles_max: 1, ..Policy::with_retries(1) };
    let budget = Budget { tokens: Some(2), ..Budget::default() };
    let two = Attempts { number: 2, ..Attempts::default() };
    let started = |what, policy, linters: &[&str]| {
        (what, Event::Started { run: Box::new(run(policy, linters)) })
    };
    let mut walks = vec![
        started("one cycle", small.clone(), &["ruff"]),
        started(
            "no linters, no retries",
            Policy { cycles_max: 2, retries_max: 0, ..small.clone() },
            &[],
        ),
        started(
            "stuck early",
            Policy { iterations_max: 3, retries_max: 0, same_failures_max: 2, ..small.clone() },
            &[],
        ),
        started(
            "pauses",
            Policy {
                pause_after: vec![Phase::Red, Phase::Green],
                retries_max: 0,
                iterations_max: 1,
                ..small.clone()
            },
            &[],
        ),
        started(
            "a budget",
            Policy { budget: budget.clone(), iterations_max: 1, retries_max: 0, ..small.clone() },
            &[],
        ),
        started(
            "two attempts",
            Policy { attempts: two.clone(), retries_max: 0, iterations_max: 1, ..small.clone() },
            &[],
        ),
        started(
            "two attempts and a budget",
            Policy { attempts: two, budget, retries_max: 0, iterations_max: 1, ..small.clone() },
            &[],
        ),
    ];
    for phase in [Phase::Plan, Phase::Red, Phase::Green, Phase::Refactor] {
        let policy = Policy { retries_max: 0, ..small.clone() };
        walks.push(("adopted", adopted(phase, next_of(phase), policy)));
    }
    walks.push(("adopted when done", adopted(Phase::Plan, Phase::Complete, small)));
    let (mut reached, mut walked) = (BTreeSet::new(), 0);
    // In parallel, because the walks take longer than all other tests of this crate.
    std::thread::scope(|scope| {
        let walkers: Vec<_> =
            walks.iter().map(|(what, first)| scope.spawn(|| walk(what, first))).collect();
        for walker in walkers {
            let (names, places) = walker.join().unwrap();
            reached.extend(names);
            walked += places;
        }
    });
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
        attempts: None,
        spent: None,
    };
    Event::Adopted { run: Box::new(run), head: mark("head", "tree1"), handoff: Box::new(handoff) }
}

/// The names of everything reached, and the number of states.
fn walk(what: &str, first: &Event) -> (BTreeSet<String>, usize) {
    let mut walk = StateGraph::default();
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
                assert_eq!(
                    again.as_ref(),
                    Ok(&edge.to.state),
                    "the same event makes the same state"
                );
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
    (walk.reached, walk.places.len())
}

impl StateGraph {
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

    /// A new, unique name.
    fn fresh(&mut self, kind: &str) -> Oid {
        self.names += 1;
        Oid::named(&format!("{kind}{}", self.names))
    }

    /// All possible results of the next step.
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
                let pairs =
                    turns.iter().flat_map(|turn| trees.iter().map(move |tree| (turn, tree)));
                pairs
                    .map(|(turn, tree)| {
                        (turned(assignment.role, turn.clone(), tree), Some(tree.clone()))
                    })
                    .collect()
            }
            Step::Attempt { assignment, numbers, .. } => {
                let number = numbers[0];
                let tree = self.fresh("tree");
                attempts_of(number, assignment.role, assignment.phase, &tree)
                    .into_iter()
                    .map(|candidate| same(Event::Attempted { candidate: Box::new(candidate) }))
                    .collect()
            }
            Step::Compare { numbers, .. } => {
                let others = PassCount { passed: 1, of: 1 };
                let results =
                    numbers.into_iter().map(|number| Comparison { number, others }).collect();
                vec![same(Event::Compared { results, took_ms: 0 })]
            }
            Step::Choose { choice } => vec![same(Event::Chosen { choice })],
            Step::Take { event } => {
                let mut held = place.held.clone();
                if let Event::Turned { tree, .. } = &*event {
                    held = Some(tree.clone());
                }
                vec![(*event, held)]
            }
            Step::Judge { phase, .. } => verdicts(state, phase).into_iter().map(same).collect(),
            Step::Lint => [vec![], vec!["ruff: E501".to_owned()]]
                .map(|findings| same(Event::Linted { findings, criteria: vec![], took_ms: 0 }))
                .into(),
            Step::Restore { tree, .. } => {
                vec![(Event::Restored { tree: tree.clone(), salvage: None }, Some(tree))]
            }
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

    /// All actions of a person on a stopped run; a working run is interrupted first.
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
            let event = Event::Decided { decision, manner: RunMode::default() };
            if legal {
                edges.push(edge(&left, event, None));
            } else {
                assert!(
                    left.clone().apply(&event, AT).is_err(),
                    "{event:?} in {:?}",
                    left.situation
                );
            }
        }
        for waypoint in &left.trail {
            let event =
                Event::RolledBack { to: waypoint.progress.head.commit.clone(), salvage: None };
            if ended || merging || discarding {
                assert!(
                    left.clone().apply(&event, AT).is_err(),
                    "{event:?} in {:?}",
                    left.situation
                );
                continue;
            }
            let back = edge(&left, event, None);
            assert_eq!(*back.to.state.expected_tree(), waypoint.progress.head.tree);
            assert_eq!(back.to.state.phase(), waypoint.next);
            edges.push(back);
        }
        if let Some(candidates) = left.tied() {
            let (first, resumed) = (candidates[0].number, edges[0].to.state.clone());
            let choice = chosen_by_human(candidates, first).unwrap();
            let worktree = edge(&resumed, prepared(), Some(resumed.expected_tree().clone())).to;
            edges.push(edge(&worktree.state, Event::Chosen { choice }, worktree.held));
        }
        if let Some(before) = left.before_test() {
            let (to, tree) =
                (before.progress.head.commit.clone(), before.progress.head.tree.clone());
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

    /// Every place can reach the merge without an abort, unless a person gave the run up.
    fn check_that_all_can_end(&self, what: &str) {
        let mut sources: Vec<Vec<usize>> = vec![Vec::new(); self.places.len()];
        for (from, onward) in self.onward.iter().enumerate() {
            for &to in onward {
                sources[to].push(from);
            }
        }
        let mut ends = vec![false; self.places.len()];
        let over =
            |place: &Place| place.state.is_over() || place.state.situation == Situation::Discarding;
        let mut next: Vec<usize> =
            (0..self.places.len()).filter(|&index| over(&self.places[index])).collect();
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
        Err(illegal) => {
            panic!("{illegal:?}: {event:?} in {:?}, left {:?}", state.situation, state.left)
        }
    };
    Edge { event, to: Place { state: to, held } }
}

/// An attempt with each kind of result, one of them with a test of its own.
fn attempts_of(number: u32, role: Role, phase: Phase, tree: &Oid) -> Vec<Candidate> {
    let candidate = |events: Vec<Event>| Candidate {
        number,
        agent: Label::of("script"),
        events,
        lines: 1,
        tests: Vec::new(),
        others: None,
        salvage: None,
    };
    let judged_as = |verdict: Verdict| {
        candidate(vec![turned(role, done("an answer"), tree), judged(phase, verdict, None)])
    };
    let accepted = judged_as(Verdict::accepted(Reason::plain(Code::GreenPasses)));
    vec![
        Candidate { tests: vec!["tests/test_more.py".to_owned()], ..accepted.clone() },
        accepted,
        judged_as(refused(Code::GreenTestsChanged, None)),
        judged_as(refused(Code::GreenStillFailing, standing(PASSED, 0))),
        judged_as(Verdict::undecided(Reason::plain(Code::RunnerBroken))),
        candidate(vec![turned(role, failed(Failure::Crash), tree)]),
        candidate(vec![turned(role, failed(Failure::Unusable), tree)]),
    ]
}

fn verdicts(state: &State, phase: Phase) -> Vec<Event> {
    let mut rows = vec![
        accepted(phase),
        judged(phase, Verdict::undecided(Reason::plain(Code::RunnerBroken)), None),
    ];
    let refusals: Vec<Verdict> = match phase {
        Phase::Plan => {
            rows.push(finished());
            vec![refused(Code::PlanNoAnswer, None), refused(Code::PlanTouchesCode, None)]
        }
        Phase::Red => {
            vec![refused(Code::RedPasses, standing(0, 0)), refused(Code::RedOthersFail, None)]
        }
        Phase::Green => {
            let Situation::Working { attempt, .. } = &state.situation else {
                panic!("judged while no phase is active")
            };
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

/// A key that identifies a place. It leaves out the names of trees and commits, texts, and counters
/// that only grow.
fn key(place: &Place) -> String {
    let Place { state, held } = place;
    let progress = &state.progress;
    let mut situation = state.situation.clone();
    if let Situation::Working { attempt, .. } | Situation::Reverting { attempt, .. } =
        &mut situation
    {
        // Only shown, never used for a decision.
        attempt.trouble = None;
        attempt.diagnosis = None;
    }
    let mut text = format!("{situation:?} {held:?} {} {:?} ", state.prepared, state.left.is_some());
    let noted = progress.handoff.as_ref().map(|note| (note.phase, note.error.is_some()));
    write!(
        text,
        "{} {:?} {:?} {noted:?} ",
        progress.cycle,
        progress.head,
        progress.current.is_some()
    )
    .unwrap();
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
