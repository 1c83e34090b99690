//! Rows for the list and for what a planner may say.

use super::*;
use crate::verdict::Decision;

const LIST: &str = "# Roman numerals\n\n- [x] 1 is I\n- [ ] 4 is IV\n* [ ] `9` is **IX**\n1. [X] zero is refused\n\
                    ```\n- [ ] an example\n```\n- [] not a box\n- plain\n";

fn answer(description: &str) -> String {
    format!(r#"{{"currentTest": {{"description": "{description}", "testFile": "t.py", "implFile": "r.py"}}}}"#)
}

#[test]
fn boxes_are_read_and_prose_is_not() {
    let list = TestList::parse(LIST);
    assert_eq!(list.completed(), ["1 is I", "zero is refused"]);
    assert_eq!(list.pending(), ["4 is IV", "`9` is **IX**"]);
    assert_eq!(TestList::parse(&LIST.replace('\n', "\r\n")), list);
}

#[test]
fn ticking_changes_one_box_and_nothing_else() {
    let ticked = tick(LIST, "4 is iv.");
    assert_eq!(ticked, LIST.replace("- [ ] 4 is IV", "- [x] 4 is IV"));
    assert_eq!(tick(&ticked, "4 is IV"), ticked, "ticking twice is ticking once");
    assert_eq!(tick(LIST, "no such test"), LIST);
    assert_eq!(tick("- [ ] a\r\n- [ ] b", "b"), "- [ ] a\r\n- [x] b");
    assert_eq!(tick("- [ ] about [ ] boxes", "about [ ] boxes"), "- [x] about [ ] boxes");
}

#[test]
fn a_planner_is_understood_however_it_says_it() {
    for (said, expected) in [
        (answer("4 is IV"), "4 is IV"),
        (answer("9 is IX"), "`9` is **IX**"),
        (answer("IX"), "`9` is **IX**"),
        (answer("4 really is `IV`."), "4 is IV"),
        (format!("Sure!\n```json\n{}\n```\nGood luck.", answer("4 is IV")), "4 is IV"),
        (format!("First {} no, rather {}", answer("9 is IX"), answer("4 is IV")), "4 is IV"),
    ] {
        let planned = judge(&said, Some(LIST), &[]);
        assert_eq!(planned.verdict.decision, Decision::Accepted, "{said}");
        assert_eq!(planned.next.unwrap().description, expected, "{said}");
    }
}

#[test]
fn a_plan_that_cannot_be_followed_is_refused_with_its_code() {
    let done = LIST.replace("[ ]", "[x]");
    let strays = ["src/roman.py".to_owned()];
    for (said, text, strays, code) in [
        ("", Some(LIST), &[][..], "plan.no_answer"),
        ("all tests pass!", Some(LIST), &[], "plan.no_answer"),
        ("{}", Some(LIST), &[], "plan.no_answer"),
        (r#"{"currentTest": "4 is IV"}"#, Some(LIST), &[], "plan.no_answer"),
        (&answer("5 is V"), Some(LIST), &[], "plan.not_in_list"),
        (&answer("1 is I"), Some(LIST), &[], "plan.not_in_list"),
        (&answer(""), Some(LIST), &[], "plan.not_in_list"),
        (&answer("is"), Some(LIST), &[], "plan.not_in_list"),
        (&answer("4 is IV"), None, &[], "plan.no_list"),
        (&answer("4 is IV"), Some("no boxes"), &[], "plan.no_list"),
        (r#"{"currentTest": null}"#, Some(LIST), &[], "plan.unfinished"),
        (r#"{"currentTest": null}"#, Some(""), &[], "plan.no_list"),
        (&answer("4 is IV"), Some(LIST), &strays, "plan.touches_code"),
        (r#"{"currentTest": null}"#, Some(&done), &strays, "plan.touches_code"),
    ] {
        let planned = judge(said, text, strays);
        assert_eq!(planned.verdict.decision, Decision::Refused, "{said} {text:?}");
        assert_eq!(planned.verdict.first().unwrap().code.as_str(), code, "{said} {text:?}");
        assert_eq!(planned.next, None);
    }
}

#[test]
fn done_needs_both_the_planner_and_every_box() {
    let planned = judge(r#"{"currentTest": null}"#, Some(&LIST.replace("[ ]", "[x]")), &[]);
    assert_eq!(planned.verdict.first().unwrap().code, Code::PlanFinished);
    assert_eq!((planned.next, planned.pending.len()), (None, 0));
}

#[test]
fn odd_input_is_no_match_and_no_panic() {
    for text in ["[ ]", "- [ ]", "-", "1", "1.", "- [ ] \u{200b}", "- [x", "é [ ] x", "\u{0}\n- [ ] \u{0}"] {
        TestList::parse(text);
        tick(text, "x");
        judge(text, Some(text), &[]);
    }
}
