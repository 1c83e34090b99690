//! Tables of calls and the differences that count against a change.

use super::*;

const FOUR: &str = r#"{"gives": {"is": "str", "text": "IV"}, "after": [{"is": "int", "text": "4"}], "output": ""}"#;
const OTHER: &str =
    r#"{"gives": {"is": "str", "text": ""}, "after": [{"is": "int", "text": "4"}], "output": ""}"#;
const LOUD: &str = r#"{"gives": {"is": "str", "text": "IV"}, "after": [{"is": "int", "text": "4"}], "output": "4"}"#;
const RAISES: &str = r#"{"raises": ["ValueError", "Exception"], "message": "4", "after": [{"is": "int", "text": "4"}]}"#;
const ENDS: &str = r#"{"ends": true}"#;
const UNKNOWN: &str = r#"{"unknown": "ModuleNotFoundError: shop"}"#;

fn repeated(outcomes: &[&str]) -> Answers {
    let line = |outcome: &&str| {
        format!(
            r#"{{"number": 1, "variant": 0, "time": 1, "shown": "to_roman(4)", "outcome": {outcome}}}"#
        )
    };
    answers(&outcomes.iter().map(line).collect::<Vec<_>>().join("\n"))
}

#[track_caller]
fn check_green(recorded: &str, plain: &[&str], bare: &[&str], expected: Option<&str>) {
    let log =
        format!("{{\"path\": [\".\", \"src\"]}}\n{{\"number\": 1, \"outcome\": {recorded}}}\n");
    let recording = read(Speaker::Python, &log);
    let (plain, bare) = (repeated(plain), repeated(bare));
    let doubts = recording.doubts(&plain);
    let reason =
        recording.only_in_tests(&doubts, &plain, &bare, &["tests/test_roman.py".to_owned()]);
    assert_eq!(reason.map(|reason| reason.sentence).as_deref(), expected, "{doubts:?}");
}

#[test]
fn code_that_answers_only_tests_is_seen_by_every_kind_of_outcome() {
    for (outside, told) in [
        (OTHER, "gives \"\""),
        (RAISES, "raises ValueError"),
        (LOUD, "gives \"IV\" and prints \"4\""),
        (ENDS, "ends the process"),
    ] {
        let expected = format!(
            "to_roman(4) gives \"IV\" in a test, but {told} in a program without tests: the code \
             detects the tests"
        );
        check_green(FOUR, &[outside, outside], &[FOUR, FOUR], Some(&expected));
    }
}

#[test]
fn a_difference_that_tests_or_chance_explain_is_none() {
    check_green(FOUR, &[FOUR, FOUR], &[], None);
    // A fixture or a mock caused the answer.
    check_green(FOUR, &[OTHER, OTHER], &[OTHER, OTHER], None);
    // The answer changes from run to run.
    check_green(FOUR, &[OTHER, RAISES], &[FOUR, FOUR], None);
    check_green(FOUR, &[OTHER, OTHER], &[FOUR, OTHER], None);
    // The function could not be called, or the bare test could not run.
    check_green(FOUR, &[UNKNOWN, UNKNOWN], &[FOUR, FOUR], None);
    check_green(FOUR, &[OTHER, OTHER], &[], None);
    // The test run did not capture the output.
    check_green(&FOUR.replace("\"\"", "null"), &[LOUD, LOUD], &[LOUD, LOUD], None);
}

#[test]
fn calls_that_are_about_the_tests_need_them() {
    for (arguments, expected) in [
        ("kind('tests')", true),
        ("kind('/room/room/tests/test_roman.py')", true),
        ("kind('tests/none.py')", true),
        ("kind('latests')", false),
        ("kind('src', 4)", false),
    ] {
        assert_eq!(names(arguments, "tests/test_roman.py"), expected, "{arguments}");
    }
}

#[test]
fn code_that_counts_calls_is_told_of() {
    let recording = read(Speaker::Python, &format!("{{\"number\": 1, \"outcome\": {FOUR}}}"));
    assert_eq!(recording.doubts(&repeated(&[FOUR, OTHER])).wavering, ["to_roman(4)"]);
}

#[track_caller]
fn check_refactor(before: &str, now: &str, expected: &[&str]) {
    let (reasons, _) = differences(&repeated(&[before, before]), &repeated(&[now, now]));
    let told: Vec<String> = reasons.into_iter().map(|reason| reason.sentence).collect();
    assert_eq!(told, expected, "{before} and {now}");
}

#[test]
fn a_refactoring_keeps_what_users_of_the_code_see() {
    check_refactor(FOUR, OTHER, &["to_roman(4) gave \"IV\" before and gives \"\" now"]);
    check_refactor(FOUR, RAISES, &["to_roman(4) gave \"IV\" before and raises ValueError now"]);
    let list = |after: &str| {
        format!(
            r#"{{"gives": {{"is": "NoneType"}}, "after": [{{"is": "list", "items": [{after}]}}]}}"#
        )
    };
    let (kept, sorted) =
        (list(r#"{"is": "int", "text": "2"}"#), list(r#"{"is": "int", "text": "1"}"#));
    check_refactor(
        &kept,
        &sorted,
        &["to_roman(4) left its arguments as ([2]) before and leaves them as ([1]) now"],
    );
    let object =
        |fields: &str| format!(r#"{{"gives": {{"is": "Account", "fields": {{{fields}}}}}}}"#);
    let one = r#"{"is": "int", "text": "1"}"#;
    // Exception messages, private fields and new fields may change.
    check_refactor(RAISES, &RAISES.replace("\"message\": \"4\"", "\"message\": \"four\""), &[]);
    check_refactor(
        &object(&format!(r#""_a": {one}"#)),
        &object(&format!(r#""_b": {one}, "c": {one}"#)),
        &[],
    );
    check_refactor(
        &object(&format!(r#""a": {one}"#)),
        &object(""),
        &["to_roman(4) gave Account(a=1) before and gives Account() now"],
    );
    // These changes can break callers that catch a base class, read the keys in order, hash a value
    // or rely on it being immutable.
    check_refactor(
        RAISES,
        &RAISES
            .replace(r#""ValueError", "#, r#""ValueError", "Mine", "#)
            .replace(r#", "Exception""#, ""),
        &["to_roman(4) raised ValueError, Exception before and raises ValueError, Mine now"],
    );
    let keys =
        |order: &str| format!(r#"{{"gives": {{"is": "dict", "pairs": [], "order": [{order}]}}}}"#);
    check_refactor(
        &keys(r#""a", "b""#),
        &keys(r#""b", "a""#),
        &[
            "to_roman(4) gave a dict, its keys in the order a, b before and gives a dict, its keys in the order b, a now",
        ],
    );
    let able = |more: &str| format!(r#"{{"gives": {{"is": "Point", "fields": {{}}{more}}}}}"#);
    check_refactor(
        &able(r#", "can": ["__hash__", "__eq__"]"#),
        &able(r#", "can": ["__eq__"]"#),
        &[
            "to_roman(4) gave a Point with __hash__, __eq__ before and gives a Point with __eq__ now",
        ],
    );
    check_refactor(
        &able(r#", "can": ["__eq__"]"#),
        &able(r#", "can": ["__hash__", "__eq__"]"#),
        &[],
    );
    check_refactor(
        &able(r#", "frozen": true"#),
        &able(""),
        &["to_roman(4) gave a frozen Point before and gives a Point now"],
    );
    check_refactor(&able(""), &able(r#", "frozen": true"#), &[]);
    let promised = |outcome: &str| outcome.replacen('{', r#"{"promised": true, "#, 1);
    check_refactor(
        FOUR,
        &promised(FOUR),
        &[r#"to_roman(4) gave "IV" before and gives a promise of "IV" now"#],
    );
    check_refactor(
        RAISES,
        &promised(RAISES),
        &["to_roman(4) raised ValueError before and raises ValueError in a promise now"],
    );
    // A `TypeError` means that the function was never made for these arguments.
    check_refactor(&RAISES.replace("ValueError", "TypeError"), FOUR, &[]);
}

/// `recorded` has the answers of `f(1)`, `f(2)` and `f(3)` in this order. `backwards` has the
/// answers if they are called in reverse order, each twice.
#[track_caller]
fn check_position(recorded: &str, backwards: &str, arguments: bool, expected: bool) {
    let outcome = |text: &str| format!(r#"{{"gives": {{"is": "str", "text": "{text}"}}}}"#);
    let numbers = |answers: &str, order: &[usize], shown: bool| -> String {
        let lines = answers.split(' ').zip(order).map(|(text, number)| {
            let asked = if arguments { number.to_string() } else { String::new() };
            let label = if shown {
                format!(r#""variant": 0, "shown": "f({asked})", "#)
            } else {
                String::new()
            };
            format!(r#"{{"number": {number}, {label}"name": "f", "outcome": {}}}"#, outcome(text))
        });
        lines.map(|line| line + "\n").collect()
    };
    let recording = read(Speaker::Python, &numbers(recorded, &[1, 2, 3], false));
    let said = numbers(recorded, &[1, 2, 3], true) + &numbers(backwards, &[3, 3, 2, 2, 1, 1], true);
    assert_eq!(
        recording.by_position(&answers(&said)).is_some(),
        expected,
        "{recorded} | {backwards}"
    );
}

#[test]
fn answers_that_follow_their_position_are_asked_about() {
    check_position("I IV IX", "I IV IX - - -", true, true);
    check_position("I IV IX", "IX IX IV IV I I", true, false);
    // It continues to hand out new numbers.
    check_position("1 2 3", "1 2 3 4 5 6", true, false);
    // The calls have no arguments, or all answers are the same.
    check_position("1 2 3", "1 2 3 0 0 0", false, false);
    check_position("a a a", "a a a a a a", true, false);
    // An earlier result comes back although the arguments are new.
    check_position("even odd even", "even odd even even odd even", true, true);
    check_position("even odd even", "even even odd odd even even", true, false);
    // A limit stays reached.
    check_position("yes yes no", "yes yes no no no no", true, false);
    check_position("even odd even", "even odd even even odd even", false, false);
}
