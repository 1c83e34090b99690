//! Tests for the prompts of each role and their size.

use super::*;
use crate::agent::AttemptFailure;
use crate::brief::{Brief, Case, Door, TestCase};
use crate::phase::Phase;

pub(super) fn assignment(role: Role) -> Assignment {
    Assignment {
        role,
        phase: Phase::Green,
        cycle: 2,
        turn: 0,
        attempt: 1,
        candidate: None,
        request: "a calculator".to_owned(),
        brief: None,
        current: Some(TestCase {
            description: "adds two numbers".to_owned(),
            test_file: "tests/test_calc.py".to_owned(),
            impl_file: "calc.py".to_owned(),
        }),
        completed: vec!["is there".to_owned()],
        pending: Vec::new(),
        trouble: None,
        diagnosis: None,
        remarks: Vec::new(),
        messages: Vec::new(),
        more: false,
        withhold: false,
        strategy: crate::agent::Strategy::New,
    }
}

#[test]
fn system_prompts_are_short() {
    for role in Role::ALL {
        for tools in [true, false] {
            let words = system(&assignment(role), tools);
            assert!(words.len() < 800, "{role}: {}", words.len());
            assert!(words.contains("judges"), "{role}");
            assert!(tools || !words.contains("Complete"), "{role}: {words}");
        }
    }
    // This is sent with every request, together with the tools.
    let fixed = system(&assignment(Role::Implementing), true).len()
        + serde_json::to_string(&tools(Role::Implementing)).unwrap().len();
    assert!(fixed < 1900, "{fixed}");
}

#[test]
fn requests_withheld_tests_if_files_can_be_written() {
    let red = Assignment { phase: Phase::Red, withhold: true, ..assignment(Role::Test) };
    let told = system(&red, true);
    assert!(
        told.contains("`.redgreen/withheld/tests/test_more.py`") && told.len() < 1200,
        "{told}"
    );
    for other in [system(&red, false), system(&Assignment { withhold: false, ..red.clone() }, true)]
    {
        assert!(!other.contains("withheld"), "{other}");
    }
}

#[test]
fn a_batch_requests_and_shows_all_tests() {
    let brief =
        Brief { door: Door::Spec, test_cases: vec![Case::default(); 2], ..Brief::default() };
    let at_once = |role| {
        let mut assignment =
            Assignment { brief: Some(Box::new(brief.clone())), ..assignment(role) };
        assignment.current = brief.batch();
        assignment
    };
    let told = system(&at_once(Role::Test), true);
    assert!(told.contains("Write every test of the brief") && told.len() < 800, "{told}");
    let tests = ["test_b.py".to_owned()];
    assert_eq!(shown(&at_once(Role::Implementing), &tests), ["test_b.py"]);
    assert_eq!(shown(&at_once(Role::Test), &tests), Vec::<String>::new());
}

#[test]
fn the_first_message_has_the_task_and_the_evidence() {
    let new = Evidence {
        files: vec![
            ("tests/test_calc.py".to_owned(), None),
            ("calc.py".to_owned(), Some("x = 1\n".to_owned())),
        ],
        notes: vec![("AGENTS.md".to_owned(), "Use tabs.".to_owned())],
        ..Evidence::default()
    };
    assert_eq!(
        first(&assignment(Role::Test), &new),
        "Request: a calculator\nBehaviour: adds two numbers\nTest file: tests/test_calc.py\nCode file: calc.py\n\
         Done before: is there\ntests/test_calc.py does not exist yet.\n--- calc.py\nx = 1\n---\nBegin it like this:\n\
         from calc import …\n--- AGENTS.md\nUse tabs.\n---\n"
    );
    let again = Assignment {
        attempt: 3,
        candidate: None,
        trouble: Some(AttemptFailure {
            kind: "green.regression".to_owned(),
            message: "it broke test_b".to_owned(),
        }),
        diagnosis: Some("the sign is wrong".to_owned()),
        ..assignment(Role::Implementing)
    };
    let told = first(&again, &Evidence { report: Some(&Report::default()), ..Evidence::default() });
    assert!(
        told.contains("This is attempt 3. The previous one was not accepted:\nit broke test_b\n"),
        "{told}"
    );
    assert!(told.contains("Diagnosis: the sign is wrong\n") && !told.contains("Tests:"), "{told}");
}

#[test]
fn messages_are_bounded_and_contain_no_secret() {
    let huge = "x\n".repeat(1 << 20);
    let large = Assignment {
        request: huge.clone(),
        completed: vec![huge.clone(); 30],
        trouble: Some(AttemptFailure { kind: String::new(), message: huge.clone() }),
        diagnosis: Some(huge.clone()),
        ..assignment(Role::Implementing)
    };
    let evidence = Evidence {
        report: None,
        files: vec![("a".to_owned(), Some(huge.clone())), ("b".to_owned(), Some(huge.clone()))],
        notes: vec![("AGENTS.md".to_owned(), huge.clone())],
        earlier: Some(EarlierConversation { changes: huge.clone(), tests: Some(huge) }),
    };
    let size = first(&large, &evidence).len();
    assert!(size < 128 << 10, "{size}");
    let leaky = Assignment {
        request: "use sk-ant-api03-abcdefghij0123456789".to_owned(),
        ..assignment(Role::Test)
    };
    assert!(!first(&leaky, &Evidence::default()).contains("sk-ant"));
}

#[test]
fn reminds_a_model_that_stops_too_early() {
    let check = |role: Role, answer: &str, edited: bool, expected: Option<&str>| {
        let said = reminder(&assignment(role), answer, edited);
        assert_eq!(said.is_some(), expected.is_some(), "{role} {answer}");
        assert!(said.unwrap_or_default().contains(expected.unwrap_or_default()), "{role} {answer}");
    };
    check(Role::TestList, "I would add", false, Some("currentTest"));
    check(Role::TestList, r#"{"currentTest": null}"#, false, None);
    check(
        Role::TestList,
        r#"{"currentTest": {"description": "a", "testFile": "b", "implFile": "c"}}"#,
        false,
        None,
    );
    check(Role::Test, "done", false, Some("### FILE: path"));
    check(Role::Test, "done", true, None);
    check(Role::Implementing, r#"{"contest": {"test": "t", "why": "w"}}"#, false, None);
    check(Role::Refactor, "nothing to do", false, None);
    check(Role::Diagnosis, "the sign", false, None);
}

#[test]
fn marks_messages_of_the_user() {
    for role in [Role::TestList, Role::Test, Role::Implementing, Role::Refactor, Role::Diagnosis] {
        let told = Assignment { messages: vec!["use a dataclass".to_owned()], ..assignment(role) };
        let text = first(&told, &Evidence::default());
        assert!(
            text.contains("The user says, newest last") && text.contains("\n- use a dataclass\n"),
            "{text}"
        );
    }
}
