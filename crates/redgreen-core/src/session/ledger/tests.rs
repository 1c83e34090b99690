//! Tests for records that do and do not match the commits.

use super::*;
use crate::names::RunId;
use crate::session::VerdictSummary;
use crate::verdict::Decision;

const RED: JudgedPhase = JudgedPhase::Red;
const GREEN: JudgedPhase = JudgedPhase::Green;
const REFACTOR: JudgedPhase = JudgedPhase::Refactor;

/// A session with its commits, oldest first.
fn played(phases: &[JudgedPhase]) -> (Session, Vec<Entry>) {
    let id = RunId::parse("20261117-214849-k3x9").unwrap();
    let mut session = Session::begin(id, "add", Oid::named("t0"), Vec::new());
    let mut log = vec![
        Entry { subject: "GREEN accepted".to_owned(), tree: Oid::named("of the project") },
        Entry { subject: started(&session), tree: Oid::named("t0") },
    ];
    for phase in phases {
        accept(&mut session, &mut log, *phase);
    }
    (session, log)
}

fn accept(session: &mut Session, log: &mut Vec<Entry>, phase: JudgedPhase) {
    let tree = Oid::named(&format!("t{}", log.len() - 1));
    log.push(Entry { subject: accepted(phase), tree: tree.clone() });
    let decision = Decision::Accepted;
    session.apply(VerdictSummary { phase, decision, codes: Vec::new(), tree }, &[], 0);
}

fn why(session: &Session, log: &[Entry]) -> Option<String> {
    let newest_first: Vec<Entry> = log.iter().rev().cloned().collect();
    mismatch(session, &newest_first)
}

#[test]
fn records_of_real_sessions_match() {
    for phases in [&[][..], &[RED], &[RED, GREEN], &[REFACTOR, RED, GREEN, REFACTOR], &[GREEN]] {
        let (mut session, mut log) = played(phases);
        assert_eq!(why(&session, &log), None, "{phases:?}");
        session.committed = session.accepted.clone();
        assert_eq!(why(&session, &log), None, "{phases:?}, committed");
        // Undone and made again, or killed between the commit and the record.
        while session.undo().is_some() {
            assert_eq!(why(&session, &log), None, "{phases:?}, undone to {:?}", session.steps);
        }
        accept(&mut session, &mut log, RED);
        assert_eq!(why(&session, &log), None, "{phases:?}, and once more");
    }
    let (session, log) = played(&[RED, GREEN].repeat(STEPS_MAX));
    assert_eq!((session.steps.len(), why(&session, &log)), (STEPS_MAX, None));
    let newest = &log[log.len() - STEPS_MAX..];
    assert_eq!(why(&session, newest), None, "older commits are not needed");
}

#[test]
fn forged_records_do_not_match() {
    type Forge = fn(&mut Session);
    let open = |session: &mut Session| session.stage = Stage::Open;
    let forgeries: &[(&str, Forge)] = &[
        ("RED was not accepted with the tree t9", |session| session.accepted = Oid::named("t9")),
        ("t9 was not accepted", |session| session.committed = Oid::named("t9")),
        ("RED was not accepted with the tree t0", |session| session.accepted = Oid::named("t0")),
        ("stage does not follow", open),
        ("stage does not follow", |session| session.cycle = 9),
        ("step 1 does not continue", |session| session.steps[0].before = Oid::named("t9")),
        ("step 1 does not continue", |session| session.steps[0].cycle = 7),
        ("step 1 does not continue", |session| {
            session.steps[0].stage = Stage::Green { targets: Vec::new() };
        }),
        ("GREEN was not accepted", |session| {
            session.steps[0].phase = GREEN;
            (session.stage, session.cycle) = (Stage::Open, 2);
        }),
        ("REFACTOR was not accepted", |session| {
            session.steps[0].phase = REFACTOR;
            session.stage = Stage::Open;
        }),
        ("the tree t1 was not accepted", |session| {
            session.steps.clear();
            session.stage = Stage::Open;
        }),
        ("GREEN was not accepted with the tree t1", |session| {
            let step = crate::session::Step {
                phase: GREEN,
                before: session.accepted.clone(),
                stage: session.stage.clone(),
                ..session.steps[0].clone()
            };
            session.steps.push(step);
            (session.stage, session.cycle) = (Stage::Open, 2);
        }),
        ("begin with this session", |session| {
            session.id = RunId::parse("20261117-214849-xxxx").unwrap();
        }),
        ("GREEN was not accepted", |session| {
            // The commits of the project before the session do not count.
            session.steps[0].phase = GREEN;
            (session.stage, session.cycle) = (Stage::Open, 2);
            session.accepted = Oid::named("of the project");
        }),
    ];
    for (words, forge) in forgeries {
        let (mut session, log) = played(&[RED]);
        forge(&mut session);
        let said = why(&session, &log).unwrap_or_default();
        assert!(said.contains(words), "{words}: {said}");
    }
    let (session, _) = played(&[]);
    assert!(why(&session, &[]).is_some(), "without commits nothing is accepted");
}
