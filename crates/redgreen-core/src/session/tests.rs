//! Tests for a session: touched files, verdicts and the resulting state.

use super::*;

fn session() -> Session {
    let id = RunId::parse("20261117-214849-k3x9").unwrap();
    Session::begin(id, "add", Oid::named("t0"), vec!["pytest".to_owned()])
}

fn rule(session: &mut Session, phase: JudgedPhase, decision: Decision, tree: &str) {
    let ruled = VerdictSummary { phase, decision, codes: Vec::new(), tree: Oid::named(tree) };
    session.apply(ruled, &["t::adds".to_owned()], 0);
}

#[test]
fn only_an_accepted_verdict_advances_the_session() {
    let mut session = session();
    for decision in [Decision::Refused, Decision::Undecided] {
        rule(&mut session, JudgedPhase::Red, decision, "t1");
        assert_eq!(
            (session.stage.clone(), session.accepted.as_str(), session.cycle),
            (Stage::Open, "t0", 1)
        );
    }
    rule(&mut session, JudgedPhase::Red, Decision::Accepted, "t1");
    assert_eq!(session.stage, Stage::Green { targets: vec!["t::adds".to_owned()] });
    rule(&mut session, JudgedPhase::Green, Decision::Refused, "t2");
    assert_eq!((session.phase(), session.accepted.as_str()), (Phase::Green, "t1"));
    rule(&mut session, JudgedPhase::Green, Decision::Accepted, "t2");
    rule(&mut session, JudgedPhase::Refactor, Decision::Accepted, "t3");
    assert_eq!(
        (session.stage.clone(), session.accepted.as_str(), session.cycle),
        (Stage::Open, "t3", 2)
    );
}

#[test]
fn accepted_steps_can_be_undone_one_by_one() {
    let mut session = session();
    rule(&mut session, JudgedPhase::Red, Decision::Accepted, "t1");
    rule(&mut session, JudgedPhase::Green, Decision::Accepted, "t2");
    assert_eq!(session.undo().unwrap().phase, JudgedPhase::Green);
    assert_eq!(
        (session.phase(), session.accepted.as_str(), session.cycle),
        (Phase::Green, "t1", 1)
    );
    assert_eq!(session.undo().unwrap().phase, JudgedPhase::Red);
    assert_eq!((session.phase(), session.accepted.as_str()), (Phase::Red, "t0"));
    assert_eq!(session.undo(), None);
}

#[test]
fn dropping_a_test_returns_to_before_its_red() {
    let mut session = session();
    rule(&mut session, JudgedPhase::Refactor, Decision::Accepted, "t1");
    rule(&mut session, JudgedPhase::Red, Decision::Accepted, "t2");
    session.dispute = Some(Dispute { why: "wrong".to_owned(), test: None, at: 0 });
    assert_eq!(session.standing(&Oid::named("t2")), CheckoutStatus::Disputed);
    assert_eq!(session.drop_red().unwrap().phase, JudgedPhase::Red);
    assert_eq!(
        (session.accepted.as_str(), &session.stage, &session.dispute),
        ("t1", &Stage::Open, &None)
    );
    assert_eq!(session.drop_red(), None);
}

#[test]
fn stops_are_not_blocked_forever() {
    let mut session = session();
    let same = Oid::named("t1");
    let blocked = (0..10).take_while(|_| session.blocks_stop(&same)).count();
    assert_eq!(blocked, usize::try_from(BLOCKS_MAX).unwrap());
    let more =
        (0..20).filter(|round| session.blocks_stop(&Oid::named(&format!("n{round}")))).count();
    assert_eq!(blocked + more, usize::try_from(BLOCKS_IN_ALL_MAX).unwrap());
    rule(&mut session, JudgedPhase::Red, Decision::Accepted, "t2");
    assert!(session.blocks_stop(&Oid::named("t3")), "an accepted step resets the count");
}

#[test]
fn the_changes_of_a_candidate_decide_its_phase() {
    let (red, green, refactor) = (JudgedPhase::Red, JudgedPhase::Green, JudgedPhase::Refactor);
    let owed = Stage::Green { targets: Vec::new() };
    let (none, old, new) = (TestChange::None, TestChange::Existing, TestChange::New);
    for (stage, tests, code, settings, phase) in [
        (&Stage::Open, new, false, false, red),
        (&Stage::Open, new, true, false, red),
        (&Stage::Open, old, false, false, red),
        (&Stage::Open, old, true, false, refactor),
        (&Stage::Open, none, true, false, refactor),
        (&Stage::Open, none, false, false, refactor),
        (&owed, new, true, false, green),
        (&owed, none, false, false, green),
        // RED would accept redgreen's own settings.
        (&Stage::Open, new, false, true, refactor),
        (&owed, new, false, true, green),
    ] {
        let touched = CandidateParts { tests, code, settings };
        assert_eq!(claim(stage, touched), phase, "{stage:?} {touched:?}");
    }
}

#[test]
fn a_refused_candidate_is_judged_as_its_likely_phase() {
    let (red, green, refactor) = (JudgedPhase::Red, JudgedPhase::Green, JudgedPhase::Refactor);
    for (phase, code, codes, expected) in [
        (red, false, &[Code::RedPasses][..], Some(refactor)),
        (red, false, &[Code::RedNoTests], Some(refactor)),
        (red, true, &[Code::RedPasses], None),
        (red, false, &[Code::RedPasses, Code::RedOthersFail], None),
        (red, false, &[Code::RedNoAssertion], None),
        (red, false, &[], None),
        (refactor, true, &[Code::RefactorTurnsGreen], Some(green)),
        (refactor, true, &[Code::RefactorTurnsGreen, Code::RefactorConfigChanged], None),
        (refactor, true, &[Code::RefactorRegression], None),
        (green, true, &[Code::GreenStillFailing], None),
    ] {
        let touched = CandidateParts { tests: TestChange::New, code, settings: false };
        assert_eq!(otherwise(phase, touched, codes), expected, "{phase} {codes:?}");
    }
}

#[test]
fn files_are_proven_owed_or_unproven() {
    let mut session = session();
    assert_eq!(session.standing(&Oid::named("t0")), CheckoutStatus::Proven);
    assert_eq!(session.standing(&Oid::named("t1")), CheckoutStatus::Unproven);
    rule(&mut session, JudgedPhase::Red, Decision::Accepted, "t1");
    assert_eq!(session.standing(&Oid::named("t1")), CheckoutStatus::Owed);
    assert!(session.next_step().contains("make t::adds pass"), "{}", session.next_step());
}

#[test]
fn reads_or_rejects_a_foreign_record() {
    let mut session = session();
    session.accepted = Oid::default();
    session.committed = Oid::default();
    let text = serde_json::to_string(&session).unwrap();
    assert_eq!(Session::parse(text.as_bytes()).unwrap(), session);
    for (from, to, words) in [
        ("\"version\":1", "\"version\":9", "version 9"),
        ("\"version\":1,", "", "missing field `version`"),
        ("20261117-214849-k3x9", "../../x", "is not the id of a run"),
        (&"0".repeat(40), "--output=x", "is not the id of a git object"),
        ("\"open\"", "\"done\"", "unknown variant `done`"),
    ] {
        let said = Session::parse(text.replacen(from, to, 1).as_bytes()).unwrap_err().to_string();
        assert!(said.contains(words), "{to}: {said}");
    }
}
