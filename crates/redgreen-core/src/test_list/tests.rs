//! Tests for the list and for a planner's answers.

use super::*;

const LIST: &str = "# Roman numerals\n\n- [x] 1 is I\n- [ ] 4 is IV\n* [ ] `9` is **IX**\n1. [X] zero is refused\n\
                    ```\n- [ ] an example\n```\n- [] not a box\n- plain\n";

fn answer(description: &str) -> String {
    format!(
        r#"{{"currentTest": {{"description": "{description}", "testFile": "t.py", "implFile": "r.py"}}}}"#
    )
}

/// The completed items of `LIST`.
fn done() -> Vec<String> {
    vec!["1 is I".to_owned(), "zero is refused".to_owned()]
}

#[test]
fn reads_boxes_but_not_prose() {
    let list = TestList::parse(LIST);
    assert_eq!(list.completed(), ["1 is I", "zero is refused"]);
    assert_eq!(list.pending(), ["4 is IV", "`9` is **IX**"]);
    assert_eq!(TestList::parse(&LIST.replace('\n', "\r\n")), list);
}

/// The text with the engine's ticks.
fn ticked(text: &str, completed: &[&str]) -> String {
    let completed: Vec<String> = completed.iter().map(|&item| item.to_owned()).collect();
    own(Some(text), EngineItems { completed: &completed, pending: &[] }).text
}

#[test]
fn ticking_changes_only_one_box() {
    let list = LIST.replace("[x]", "[ ]").replace("[X]", "[ ]");
    let once = ticked(&list, &["4 is iv."]);
    assert_eq!(once, list.replace("- [ ] 4 is IV", "- [x] 4 is IV"));
    assert_eq!(ticked(&once, &["4 is IV"]), once, "ticking is idempotent");
    assert_eq!(ticked(&list, &[]), list);
    assert_eq!(ticked("- [ ] a\r\n- [ ] b", &["b"]), "- [ ] a\r\n- [x] b");
    assert_eq!(ticked("- [ ] about [ ] boxes", &["about [ ] boxes"]), "- [x] about [ ] boxes");
}

/// All notations of a completed item.
const CLAIMS: &[&str] = &[
    "- [x] adds",
    "- [X] adds",
    "* [x] adds",
    "+ [x] adds",
    "1. [x] adds",
    "2) [X] adds",
    "  - [x] adds",
    "\t* [ x ] adds",
    "> - [x] adds",
    "- [✓] adds",
    "- [✔️] adds",
    "- [✅] adds",
    "- [v] adds",
    "- [-] adds",
    "- [~] adds",
    "- [done] adds",
    "-[x] adds",
    "- [ ] ~~adds~~",
    "- ~~[ ] adds~~",
    "~~- [ ] adds~~",
    "- ~~adds~~",
    "- [ ] <del>adds</del>",
    "- ✅ adds",
    "- ☑ adds",
    "<li><input type=\"checkbox\" checked> adds</li>",
    "- <input checked disabled type=checkbox> adds",
    "<input type='checkbox' checked='checked'/> adds",
];

#[test]
fn reverts_a_tick_in_any_syntax_without_an_accepted_cycle() {
    for claim in CLAIMS {
        let text = format!("# List\n\n{claim}\n- [ ] other\n");
        let owned = own(Some(&text), EngineItems::default());
        assert_eq!(
            TestList::parse(&owned.text).pending(),
            ["adds", "other"],
            "{claim}: {}",
            owned.text
        );
        assert_eq!(TestList::parse(&owned.text).completed(), [] as [&str; 0], "{claim}");
        assert_eq!(owned.undone, [Correction::Ticked("adds".to_owned())], "{claim}");
        let done = [String::from("adds")];
        let owned = own(Some(&text), EngineItems { completed: &done, pending: &[] });
        assert_eq!(TestList::parse(&owned.text).completed(), ["adds"], "{claim}: {}", owned.text);
        assert_eq!((owned.text.matches("[x]").count(), owned.undone.len()), (1, 0), "{claim}");
    }
}

#[test]
fn keeps_lines_that_only_look_like_boxes() {
    for line in [
        "- [] adds",
        "- [1] a footnote",
        "- [a] a key",
        "- [x](link)",
        "- [x]: link",
        "- adds",
        "x",
        "[x] adds",
    ] {
        let owned = own(Some(line), EngineItems::default());
        assert_eq!((owned.text.as_str(), owned.undone.len()), (line, 0));
    }
}

#[test]
fn a_completed_item_cannot_be_removed() {
    let done = ["adds".to_owned()];
    let pending = ["subtracts".to_owned()];
    let known = EngineItems { completed: &done, pending: &pending };
    for (text, expected) in [
        (Some("# List\n\n- [ ] subtracts\n"), "# List\n\n- [x] adds\n- [ ] subtracts\n"),
        (Some("- [ ] adds\n- [ ] subtracts\n"), "- [x] adds\n- [ ] subtracts\n"),
        (Some("- [x] adds two\n"), "- [x] adds\n- [ ] adds two\n"),
        (Some("- [ ] adds\n- [x] adds\n"), "- [ ] adds\n- [x] adds\n"),
        (Some("- [x] adds\n- [x] adds\n"), "- [x] adds\n- [ ] adds\n"),
        (Some("```\n- [x] adds\n"), "- [x] adds\n```\n- [x] adds\n"),
        (Some(""), "- [x] adds\n"),
        (Some("no list"), "- [x] adds\nno list"),
        (None, "- [x] adds\n- [ ] subtracts\n"),
    ] {
        let owned = own(text, known);
        assert_eq!(owned.text, expected, "{text:?}");
        assert_eq!(
            own(Some(&owned.text), known).text,
            expected,
            "a correct list stays unchanged: {text:?}"
        );
        assert_eq!(TestList::parse(&owned.text).completed(), ["adds"], "{text:?}");
    }
    assert_eq!(own(None, EngineItems::default()), CorrectedList::default());
}

#[test]
fn records_open_items_that_a_planner_drops_or_rewords() {
    let pending = ["a".to_owned(), "b".to_owned(), "b".to_owned(), "c".to_owned()];
    let known = EngineItems { completed: &[], pending: &pending };
    let planned = judge(&answer("a"), Some("- [ ] A.\n- [ ] b\n- [ ] c and d\n"), known, &[]);
    assert_eq!(planned.removed, ["b", "c"]);
    assert_eq!(planned.pending, ["A.", "b", "c and d"]);
}

#[test]
fn understands_all_answer_formats_of_a_planner() {
    let completed = done();
    let known = EngineItems { completed: &completed, pending: &[] };
    for (said, expected) in [
        (answer("4 is IV"), "4 is IV"),
        (answer("9 is IX"), "`9` is **IX**"),
        (answer("IX"), "`9` is **IX**"),
        (answer("4 really is `IV`."), "4 is IV"),
        (format!("Sure!\n```json\n{}\n```\nGood luck.", answer("4 is IV")), "4 is IV"),
        (format!("First {} no, rather {}", answer("9 is IX"), answer("4 is IV")), "4 is IV"),
    ] {
        let planned = judge(&said, Some(LIST), known, &[]);
        assert_eq!(planned.verdict.decision, Decision::Accepted, "{said}");
        assert_eq!(planned.next.unwrap().description, expected, "{said}");
    }
}

#[test]
fn refuses_an_unusable_plan_with_its_code() {
    let completed = done();
    let accepted = EngineItems { completed: &completed, pending: &[] };
    let all_ticked = LIST.replace("[ ]", "[x]");
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
        (r#"{"currentTest": null}"#, Some(&all_ticked), &strays, "plan.touches_code"),
    ] {
        let known = if code == "plan.no_list" { EngineItems::default() } else { accepted };
        let planned = judge(said, text, known, strays);
        assert_eq!(planned.verdict.decision, Decision::Refused, "{said} {text:?}");
        assert_eq!(planned.verdict.first().unwrap().code.as_str(), code, "{said} {text:?}");
        assert_eq!(planned.next, None);
    }
}

#[test]
fn finishes_only_with_an_accepted_cycle_for_every_box() {
    let null = r#"{"currentTest": null}"#;
    let all = ["1 is I", "zero is refused", "4 is IV", "9 is IX"].map(str::to_owned);
    let text = LIST.replace("[ ]", "[x]");
    for (count, code) in [(4, "plan.finished"), (3, "plan.unfinished"), (0, "plan.unfinished")] {
        let planned =
            judge(null, Some(&text), EngineItems { completed: &all[..count], pending: &[] }, &[]);
        assert_eq!(planned.verdict.first().unwrap().code.as_str(), code, "{count} accepted");
        assert_eq!((planned.next, planned.pending.len()), (None, 4 - count));
    }
}

#[test]
fn odd_input_matches_nothing_and_does_not_panic() {
    for text in
        ["[ ]", "- [ ]", "-", "1", "1.", "- [ ] \u{200b}", "- [x", "é [ ] x", "\u{0}\n- [ ] \u{0}"]
    {
        TestList::parse(text);
        own(Some(text), EngineItems { completed: &["x".to_owned()], pending: &[] });
        judge(text, Some(text), EngineItems::default(), &[]);
    }
}
