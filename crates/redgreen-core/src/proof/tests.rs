//! Tables of evidence and what it proves.

use super::*;

fn test(id: &str, without: BaseResult) -> TestEvidence {
    TestEvidence {
        id: id.to_owned(),
        file: Some("tests/test_a.py".to_owned()),
        line: Some(3),
        is_new: true,
        without,
        passes: true,
        is_skipped: false,
    }
}

fn fails() -> BaseResult {
    BaseResult::Fails { code: Code::RedAssertion, message: "assert 1 == 2".to_owned() }
}

fn errs() -> BaseResult {
    BaseResult::Fails { code: Code::RedError, message: "triple is not a function".to_owned() }
}

fn missing() -> BaseResult {
    BaseResult::Missing { message: "no module a".to_owned() }
}

fn hunk(file: &str) -> Hunk {
    serde_json::from_value(serde_json::json!({"file": file, "first": 2, "last": 4})).unwrap()
}

fn mutant(hunk: Option<usize>, killed: MutantResult, asked: &[&str]) -> Mutant {
    Mutant {
        hunk,
        what: "a mutant".to_owned(),
        asked: asked.iter().map(|id| (*id).to_owned()).collect(),
        is_reverted: false,
        is_partial: false,
        killed,
    }
}

fn by(id: &str) -> MutantResult {
    MutantResult::By(vec![id.to_owned()])
}

fn codes(proof: &Proof) -> Vec<Code> {
    proof.reasons.iter().map(|reason| reason.code).collect()
}

#[test]
fn a_test_has_the_class_that_it_showed() {
    let skipped = TestEvidence { is_skipped: true, passes: false, ..test("t", BaseResult::Passes) };
    let broken = TestEvidence { passes: false, ..test("t", fails()) };
    for (seen, mutants, class) in [
        (test("t", fails()), vec![], Class::Proven),
        (test("t", missing()), vec![mutant(Some(0), by("t"), &[])], Class::ProvenByMutant),
        (test("t", missing()), vec![mutant(Some(0), by("other"), &[])], Class::NotTried),
        (
            test("t", missing()),
            vec![mutant(None, MutantResult::ByNone, &["t"])],
            Class::DoesNotDiscriminate,
        ),
        (test("t", BaseResult::Passes), vec![mutant(None, by("t"), &["t"])], Class::Characterises),
        (
            test("t", BaseResult::Passes),
            vec![mutant(None, by("u"), &["t", "u"])],
            Class::DoesNotDiscriminate,
        ),
        // An error may only show that code is missing, so the test must also detect the mutant, if
        // there is one.
        (test("t", errs()), vec![mutant(None, by("t"), &["t"])], Class::Proven),
        (test("t", errs()), vec![], Class::Proven),
        (
            test("t", errs()),
            vec![mutant(None, MutantResult::ByNone, &["t"])],
            Class::DoesNotDiscriminate,
        ),
        (test("t", fails()), vec![mutant(None, MutantResult::ByNone, &["t"])], Class::Proven),
        // A mutant elsewhere says nothing about this test.
        (
            test("t", BaseResult::Passes),
            vec![mutant(Some(0), MutantResult::ByNone, &[])],
            Class::NotTried,
        ),
        (
            test("t", BaseResult::Passes),
            vec![mutant(None, MutantResult::DoesNotBuild, &["t"])],
            Class::NotTried,
        ),
        (skipped, vec![], Class::Skipped),
        (broken, vec![], Class::Fails),
    ] {
        let proof =
            conclude(Evidence { tests: vec![seen.clone()], mutants, ..Evidence::default() });
        assert_eq!(proof.tests[0].class, class, "{seen:?}");
        let good = matches!(
            class,
            Class::Proven | Class::ProvenByMutant | Class::Characterises | Class::NotTried
        );
        assert_eq!(proof.outcome == Outcome::Proven, good, "{seen:?}: {:?}", proof.reasons);
    }
}

#[test]
fn code_that_no_test_notices_is_reported_and_held_against_the_range_where_the_policy_says_so() {
    let code = |mutants: Vec<Mutant>| Evidence {
        hunks: vec![hunk("a.py"), hunk("b.py")],
        mutants,
        ..Evidence::default()
    };
    let none = conclude(code(vec![
        mutant(Some(0), MutantResult::ByNone, &[]),
        mutant(Some(1), MutantResult::ByNone, &[]),
    ]));
    assert_eq!((none.outcome, none.not_verified.len()), (Outcome::Proven, 2));
    let half =
        code(vec![mutant(Some(0), by("t"), &[]), mutant(Some(1), MutantResult::ByNone, &[])]);
    let told = conclude(half.clone());
    assert_eq!(told.outcome, Outcome::Proven);
    assert!(
        told.not_verified.iter().any(|line| line.contains("b.py:2-4")),
        "{:?}",
        told.not_verified
    );
    assert_eq!(told.kill_rate(), (1, 2));

    // The other tests may kill it.
    let partial =
        |killed: MutantResult| Mutant { is_partial: true, ..mutant(Some(0), killed, &[]) };
    let open = conclude(Evidence {
        hunks: vec![hunk("a.py")],
        mutants: vec![partial(MutantResult::ByNone), partial(MutantResult::ByNone)],
        policy: Policy { every_place: true, min_kill: 60, ..Policy::default() },
        ..Evidence::default()
    });
    let told = "a.py:2-4: no changed test kills a mutant; the other tests were not tried";
    assert_eq!((open.outcome, open.kill_rate()), (Outcome::Proven, (0, 0)));
    assert_eq!(open.not_verified, [told]);

    let policy = Policy { every_place: true, ..Policy::default() };
    let strict = conclude(Evidence { policy: policy.clone(), ..half.clone() });
    assert_eq!((strict.outcome, codes(&strict)), (Outcome::Refuted, vec![Code::VerifyNoTest]));
    let exempt = Policy { untested: vec!["b.*".to_owned()], ..policy };
    assert_eq!(conclude(Evidence { policy: exempt, ..half.clone() }).outcome, Outcome::Proven);
    let share = Policy { min_kill: 60, ..Policy::default() };
    let few = conclude(Evidence { policy: share, ..half });
    assert_eq!((few.outcome, codes(&few)), (Outcome::Refuted, vec![Code::VerifyKillRate]));
}

#[test]
fn what_the_judge_refuses_is_refuted_and_what_it_leaves_open_stays_open() {
    let step = |decision: Decision, code: Code| StepVerdict {
        phase: JudgedPhase::Green,
        what: String::new(),
        decision,
        reasons: vec![Reason::plain(code)],
        notes: Vec::new(),
        experiments: Vec::new(),
    };
    let of = |steps: Vec<StepVerdict>| conclude(Evidence { steps, ..Evidence::default() });
    let refused = || step(Decision::Refused, Code::GreenRegression);
    let open = || step(Decision::Undecided, Code::GreenSuspicious);
    assert_eq!(of(vec![step(Decision::Accepted, Code::GreenPasses)]).outcome, Outcome::Proven);
    assert_eq!(of(vec![open()]).outcome, Outcome::Inconclusive);
    assert_eq!(of(vec![open(), refused()]).outcome, Outcome::Refuted);
    // If the judge refuses a range, its tests are not examined one by one, so the sentence does not
    // count them.
    let stopped = of(vec![refused()]);
    assert_eq!(stopped.sentence(), "the tests do not prove the change");
    assert!(
        stopped.not_verified.iter().any(|line| line.contains("the judge refuses")),
        "{:?}",
        stopped.not_verified
    );
    assert_eq!(of(vec![open()]).not_verified.len(), 1);
    let pair = Pair { test: String::new(), code: String::new(), steps: vec![refused()] };
    assert_eq!(
        conclude(Evidence { commits: vec![pair], ..Evidence::default() }).outcome,
        Outcome::Refuted
    );
}

#[test]
fn nothing_is_proven_of_a_range_that_cannot_be_looked_at() {
    let reason = Reason::new(Code::VerifyRange, "the clone is shallow");
    let proof = conclude(Evidence { inconclusive: Some(reason), ..Evidence::default() });
    assert_eq!((proof.outcome, codes(&proof)), (Outcome::Inconclusive, vec![Code::VerifyRange]));
    assert_eq!(proof.not_verified, ["the rest of the range: the clone is shallow"]);
}

#[test]
fn an_exemption_is_reported_with_its_reason() {
    let exempt = policy::Exemption {
        paths: Vec::new(),
        tests: vec!["*slow*".to_owned()],
        reason: "runs at night".to_owned(),
    };
    let seen = TestEvidence {
        is_skipped: true,
        passes: false,
        ..test("test_slow_path", BaseResult::Passes)
    };
    let policy = Policy { exempt: vec![exempt], ..Policy::default() };
    let proof = conclude(Evidence { tests: vec![seen], policy, ..Evidence::default() });
    assert_eq!(proof.outcome, Outcome::Proven);
    assert_eq!(proof.exempted.first().map(|one| one.reason.as_str()), Some("runs at night"));
}

#[test]
fn many_reasons_of_one_kind_are_counted() {
    let tests = (0..20).map(|at| test(&format!("t{at}"), BaseResult::Passes)).collect();
    let asked: Vec<String> = (0..20).map(|at| format!("t{at}")).collect();
    let mutant = Mutant { asked, ..mutant(None, MutantResult::ByNone, &[]) };
    let proof = conclude(Evidence { tests, mutants: vec![mutant], ..Evidence::default() });
    assert_eq!(proof.reasons.len(), REASONS_MAX + 1);
    assert_eq!(proof.reasons.last().map(|reason| reason.sentence.as_str()), Some("and 8 more"));
}

#[test]
fn a_proof_is_read_as_it_was_written() {
    let evidence = Evidence {
        hunks: vec![hunk("a.py")],
        mutants: vec![mutant(Some(0), by("t"), &[])],
        ..Evidence::default()
    };
    let proof = conclude(evidence);
    let text = serde_json::to_string(&proof).unwrap();
    assert_eq!(serde_json::from_str::<Proof>(&text).unwrap(), proof);
}
