//! Tables of attempts and the one that is chosen.

use super::*;
use crate::names::RunFile;
use crate::verdict::{Code, Reason};

/// An attempt in short form: `accepted 10L 2/2w 1/3o 5/6m 2f $3 @tree`.
fn candidate(number: u32, words: &str) -> Candidate {
    let mut all = words.split(' ');
    let result = all.next().unwrap();
    let (mut lines, mut unseen, mut others, mut mutants) = (10, None, None, None);
    let (mut findings, mut tokens, mut tree, mut tests) =
        (0, Some(7), format!("t{number}"), vec![]);
    let share = |word: &str| {
        let (passed, of) = word[..word.len() - 1].split_once('/').unwrap();
        PassCount { passed: passed.parse().unwrap(), of: of.parse().unwrap() }
    };
    for word in all {
        match word.chars().last().unwrap() {
            'L' => lines = word.trim_end_matches('L').parse().unwrap(),
            'w' => unseen = Some(share(word)),
            'o' => others = Some(share(word)),
            'm' => mutants = Some(share(word)),
            'f' => findings = word.trim_end_matches('f').parse().unwrap(),
            'T' => tests = vec!["tests/test_more.py".to_owned()],
            '?' => tokens = None,
            _ if word.starts_with('$') => tokens = Some(word[1..].parse().unwrap()),
            _ => tree = word[1..].to_owned(),
        }
    }
    let failing = |failure| Turn::Failed { failure, message: "no".to_owned() };
    let standing = |kept, reached| Some(TestProgress { kept, reached });
    let refused =
        |code, standing| Verdict { standing, ..Verdict::refused(vec![Reason::plain(code)]) };
    let (turn, verdict) = match result {
        "crashed" => (failing(Failure::Crash), None),
        "unusable" => (failing(Failure::Unusable), None),
        _ => (
            Turn::Done { answer: String::new() },
            Some(match result {
                "accepted" => Verdict::accepted(Reason::plain(Code::GreenPasses)),
                "cheat" => refused(Code::GreenTestsChanged, None),
                "overfits" => refused(Code::GreenOverfits, standing(5, 2)),
                "half" => refused(Code::GreenStillFailing, standing(5, 1)),
                "undecided" => Verdict::undecided(Reason::plain(Code::RunnerBroken)),
                other => panic!("{other}"),
            }),
        ),
    };
    let count = |number: u64| u16::try_from(number).unwrap();
    let mut events = vec![Event::Turned {
        role: Role::Implementing,
        turn,
        tree: Oid::named(&tree),
        cost: Cost { tokens, ..Cost::default() },
        took_ms: 0,
        session: None,
        agent: None,
        human: false,
        notices: Vec::new(),
        list: Vec::new(),
        withheld: None,
    }];
    events.extend(verdict.map(|verdict| Event::Judged {
        phase: Phase::Green,
        verdict: Verdict {
            mutants: mutants.map(|share: PassCount| Mutants {
                killed: count(share.passed),
                tried: count(share.of),
            }),
            ..verdict
        },
        report: None,
        planned: None,
        written: None,
        test_file: None,
        withheld: None,
        joined: None,
        unseen,
        took_ms: 0,
    }));
    if findings > 0 {
        let findings = vec!["ruff: E501".to_owned(); findings];
        events.push(Event::Linted { findings, criteria: Vec::new(), took_ms: 0 });
    }
    let agent = Label::of("claude");
    Candidate { number, agent, events, lines, tests, others, salvage: None }
}

fn all(rows: &[&str]) -> Vec<Candidate> {
    (1..).zip(rows).map(|(number, row)| candidate(number, row)).collect()
}

#[track_caller]
fn check(rows: &[&str], expected: &str) {
    let said = match next(&all(rows)).unwrap() {
        AttemptStep::Compare { numbers } => format!("compare {numbers:?}"),
        AttemptStep::Choose(Choice { number, by, .. }) => format!("{number} by {}", by.words()),
        AttemptStep::Tie { trouble } => {
            format!("tie: {}", trouble.message.lines().next().unwrap_or_default())
        }
    };
    assert_eq!(said, expected, "{rows:?}");
}

#[test]
fn the_first_criterion_that_leaves_one_attempt_decides() {
    check(&["cheat", "overfits 1/2w", "accepted 2/2w"], "3 by verdict");
    check(&["accepted", "undecided"], "1 by verdict");
    check(&["undecided", "cheat"], "1 by verdict");
    check(&["accepted 1f", "accepted 90L"], "2 by verdict");
    check(&["accepted 1/1w", "accepted 2/2w"], "2 by withheld tests");
    check(&["accepted 1/2o T", "accepted 2/2o T"], "2 by the tests of the other attempts");
    check(&["accepted 0/2o T 1L", "accepted 2/2o", "accepted 2/2o 9L"], "3 by size of the diff");
    check(&["accepted 5/6m", "accepted 1/1m 90L"], "2 by mutants killed");
    check(&["accepted 5/6m", "accepted 9L"], "2 by size of the diff");
    check(&["accepted 3L", "accepted 2L", "accepted 2L $6"], "3 by cost");
    check(&["accepted 0L", "accepted 2L"], "2 by size of the diff");
    check(
        &["accepted $3", "accepted ?", "cheat"],
        "tie: attempts 1 and 2 are accepted, and all evidence about them is equal",
    );
}

#[test]
fn the_best_refused_attempt_continues() {
    check(&["cheat", "half", "overfits 1/2w"], "3 by verdict");
    check(&["cheat", "half"], "2 by verdict");
    check(&["overfits 1/3w", "overfits 2/3w"], "2 by withheld tests");
    check(&["half", "accepted 2f"], "2 by verdict");
    check(&["accepted 2f", "accepted 1f"], "2 by linters");
    check(&["unusable", "crashed"], "2 by verdict");
    check(&["crashed", "cheat"], "2 by verdict");
    check(&["half", "half"], "1 by order");
    check(&["crashed ?", "crashed ?"], "1 by order");
}

#[test]
fn unknown_evidence_and_more_tests_do_not_decide() {
    // The code is the same. The second attempt adds a test, and only the first attempt is run with
    // it.
    check(&["accepted 1/1o 0/1m", "accepted 0/0o T 6/6m"], "2 by mutants killed");
    check(&["accepted 1/1o 9L", "accepted 0/0o T"], "1 by size of the diff");
    // It fails the only test that another attempt wrote.
    check(&["accepted 0/1o", "accepted 0/0o T 9L"], "2 by the tests of the other attempts");
    check(&["accepted 2/2o T", "accepted 1/1o T 9L"], "2 by size of the diff");
    check(&["accepted 1/2o T", "accepted 3/3o T", "accepted 9L T 0/0o"], "3 by size of the diff");
    check(&["accepted 2/2w", "accepted 9L"], "2 by size of the diff");
    check(&["overfits 1/3w", "overfits"], "1 by order");
}

#[test]
fn tests_of_the_others_are_run_only_if_they_can_decide() {
    check(&["accepted T", "accepted", "cheat T"], "compare [1, 2]");
    check(&["accepted T", "cheat"], "1 by verdict");
    check(&["accepted", "accepted 9L"], "2 by size of the diff");
    check(&["half T", "half T 9L"], "2 by size of the diff");
    check(&["accepted T @same", "accepted T @same"], "1 by order");
}

#[test]
fn equal_evidence_is_for_a_human_unless_the_code_is_the_same() {
    let equal = "attempts 1 and 2 are accepted, and all evidence about them is equal";
    check(&["accepted", "accepted"], &format!("tie: {equal}"));
    check(&["accepted @same", "accepted @same", "cheat"], "1 by order");
    check(&["accepted"], "1 by order");
    let candidates = all(&["accepted", "accepted"]);
    let Some(AttemptStep::Tie { trouble }) = next(&candidates) else { panic!("no tie") };
    assert_eq!(trouble.kind, TIE);
    assert_eq!(
        trouble.message,
        format!(
            "{equal}\nattempt 1 (claude): accepted, 10 changed lines, 7 tokens\nattempt 2 (claude): accepted, 10 changed \
             lines, 7 tokens"
        )
    );
    let choice = chosen_by_human(&candidates, 2).unwrap();
    assert_eq!((choice.number, choice.by), (2, Criterion::Human));
    assert_eq!(chosen_by_human(&candidates, 3), None);
}

#[test]
fn the_sentence_names_the_evidence_of_both_sides() {
    for (rows, why) in [
        (
            &["cheat", "overfits 1/2w", "accepted 2/2w"][..],
            "attempt 3 of 3 (claude) is chosen by verdict: accepted; attempt 1 (claude): refused \
             [green.tests_changed]; attempt 2 (claude): refused [green.overfits], 5 earlier and 2 new tests pass",
        ),
        (
            &["accepted 12L", "accepted 1L"],
            "attempt 2 of 2 (claude) is chosen by size of the diff: 1 changed line; attempt 1 (claude): 12 changed lines",
        ),
        (
            &["accepted 2/3o", "accepted 3/3o T"],
            "attempt 2 of 2 (claude) is chosen by the tests of the other attempts: 3 of 3 tests of the other attempts \
             pass; attempt 1 (claude): 2 of 3 tests of the other attempts pass",
        ),
    ] {
        let Some(AttemptStep::Choose(choice)) = next(&all(rows)) else { panic!("{rows:?}") };
        assert_eq!(choice.why, why);
    }
}

#[test]
fn missing_numbers_are_the_lowest_free_ones() {
    let there = [candidate(2, "accepted"), candidate(3, "cheat")];
    for (wanted, expected) in
        [(1, &[][..]), (2, &[]), (3, &[1]), (4, &[1, 4]), (99, &[1, 4, 5, 6, 7, 8])]
    {
        assert_eq!(missing(&there, wanted), expected, "{wanted}");
    }
}

#[test]
fn the_events_of_an_attempt_are_those_of_one_turn() {
    let is_whole =
        |candidate: &Candidate| candidate.is_attempt_at(Phase::Green, Role::Implementing);
    for words in ["accepted", "accepted 1f", "cheat", "crashed"] {
        assert!(is_whole(&candidate(1, words)), "{words}");
    }
    assert!(!is_whole(&candidate(0, "accepted")) && !is_whole(&candidate(9, "accepted")));
    assert!(!is_whole(&Candidate { events: Vec::new(), ..candidate(1, "cheat") }));
    assert!(!candidate(1, "accepted").is_attempt_at(Phase::Red, Role::Implementing));
    assert!(!candidate(1, "accepted").is_attempt_at(Phase::Green, Role::Test));
    let mut cut = candidate(1, "accepted");
    cut.events.pop();
    assert!(!is_whole(&cut), "a finished turn has a verdict");
    let mut more = candidate(1, "crashed");
    more.events.push(Event::Recorded { file: RunFile::parse("a/b").unwrap() });
    assert!(!is_whole(&more));
}

#[test]
fn tests_that_need_names_of_their_author_do_not_count() {
    let test = |id: &str, file: &str, status, exception: Option<&str>| Test {
        file: Some(file.to_owned()),
        exception: exception.map(str::to_owned),
        ..Test::new(id, status)
    };
    let tests = vec![
        test("a", "more.py", Status::Passed, None),
        test("b", "more.py", Status::Failed, Some("AssertionError")),
        test("c", "more.py", Status::Failed, Some("AttributeError")),
        test("d", "more.py", Status::Skipped, None),
        test("e", "own.py", Status::Failed, None),
    ];
    let report = Report { tests, ..Report::default() };
    let tested = tests_of_others(&["more.py".to_owned()], &report);
    assert_eq!(tested, PassCount { passed: 1, of: 2 });
    assert_eq!(tested.and(tested), PassCount { passed: 2, of: 4 });
}
