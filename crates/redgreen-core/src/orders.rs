//! The prompt for an agent that is a separate program: one complete text, because it may remember
//! nothing, and a short text if it continues a conversation.

use std::fmt::Write as _;

use crate::agent::{Assignment, Strategy};
use crate::agent_output::bounded;
use crate::phase::Role;
use crate::steer::{self, USER_SAYS};
use crate::test_list;
use crate::withheld::FOLDER;

const REQUEST_BYTES_MAX: usize = 64 << 10;
/// Limits the specification or task besides the request.
const BRIEF_BYTES_MAX: usize = 64 << 10;
/// Limits a design or a context file; the guards reject larger ones.
const DOCUMENT_BYTES_MAX: usize = 100 << 10;
const TROUBLE_BYTES_MAX: usize = 16 << 10;
const MESSAGES_BYTES_MAX: usize = 32 << 10;
const DIAGNOSIS_BYTES_MAX: usize = 8 << 10;
/// Maximum number of listed tests; the file has all of them.
const LISTED_MAX: usize = 50;

/// The complete prompt of a turn.
pub fn handoff(assignment: &Assignment) -> String {
    let mut text = String::new();
    // Writing to a String cannot fail.
    writeln!(text, "You work on one phase of test-driven development: {}.", assignment.phase).ok();
    if let Strategy::Resume { .. } | Strategy::Fork { .. } | Strategy::MergeFork { .. } =
        assignment.strategy
    {
        text.push_str(
            "You worked on this before; the files may have changed since. Look at them again.\n",
        );
    }
    section(&mut text, "The request", bounded(&assignment.request, REQUEST_BYTES_MAX));
    if let Some(brief) = &assignment.brief {
        section(&mut text, "The brief", bounded(&brief.told(assignment.role), BRIEF_BYTES_MAX));
        for document in brief.design.iter().chain(&brief.context) {
            section(&mut text, &document.path, bounded(&document.text, DOCUMENT_BYTES_MAX));
        }
    }
    section(&mut text, "Your task", &task(assignment));
    if let Some(words) = withheld(assignment) {
        section(&mut text, "Tests to withhold", &words);
    }
    section(&mut text, "Rules", &rules(assignment.role));
    if let Some(messages) = steer::shown(&assignment.messages) {
        section(
            &mut text,
            "Messages from the user",
            &format!("{USER_SAYS}\n\n{}", bounded(&messages, MESSAGES_BYTES_MAX)),
        );
    }
    if let Some(list) = list(assignment) {
        section(&mut text, "The list of tests", &list);
    }
    if !assignment.remarks.is_empty() {
        section(
            &mut text,
            "Corrected in the list after the last turn",
            &bulleted(&assignment.remarks),
        );
    }
    if let Some(trouble) = &assignment.trouble {
        let head = format!(
            "This is attempt {}. The previous one was not accepted ({}):",
            assignment.attempt, trouble.kind
        );
        let evidence = format!("{head}\n\n{}", bounded(&trouble.message, TROUBLE_BYTES_MAX));
        section(&mut text, "Evidence", &evidence);
    }
    if let Some(diagnosis) = &assignment.diagnosis {
        section(&mut text, "Diagnosis", bounded(diagnosis, DIAGNOSIS_BYTES_MAX));
    }
    section(&mut text, "When you are done", &ending(assignment.role));
    text
}

/// The task on one line, for the user.
pub fn task(assignment: &Assignment) -> String {
    let case = assignment.current.as_ref();
    let behaviour = case.map_or("the chosen behaviour", |case| case.description.as_str());
    let place = |name: &str, path: Option<&str>| match path.filter(|path| !path.is_empty()) {
        Some(path) => format!(" {name}: {path}."),
        None => String::new(),
    };
    let tests = place("Test file", case.map(|case| case.test_file.as_str()));
    let code = place("Code file", case.map(|case| case.impl_file.as_str()));
    match assignment.role {
        Role::TestList => format!(
            "Keep `{}`: one line `- [ ] <behaviour>` for each small behaviour that the request needs and the project \
             lacks, simplest first. Then choose one open box as the next test.",
            test_list::FILE
        ),
        Role::Test if assignment.is_batch() => {
            format!(
                "Write every test of the brief now; they fail because this is missing: {behaviour}.{tests}{code}"
            )
        }
        Role::Implementing if assignment.is_batch() => {
            format!("Make all failing tests pass with the least code: {behaviour}.{tests}{code}")
        }
        Role::Test => format!(
            "Write one new test that fails because this is missing: {behaviour}.{tests}{code}"
        ),
        Role::Implementing => {
            format!("Make the failing test pass with the least code: {behaviour}.{tests}{code}")
        }
        Role::Diagnosis => {
            format!("Find out why the code for this was not accepted: {behaviour}.{tests}{code}")
        }
        Role::Refactor => {
            format!("All tests pass. Improve the code and tests of: {behaviour}.{tests}{code}")
        }
    }
}

/// The request for withheld tests besides the visible test.
pub fn withheld(assignment: &Assignment) -> Option<String> {
    assignment.withhold.then(|| {
        format!(
            "Also write 2 to 4 further tests of the same behaviour with other inputs into one new test file below \
             `{FOLDER}/`, at the path it would have in the project, such as `{FOLDER}/tests/test_more.py`. They must fail \
             now too, and use only names that the visible test uses. redgreen takes them away before the code is \
             written, checks with them whether the code works for other inputs, and then adds them to the tests."
        )
    })
}

fn rules(role: Role) -> String {
    let own: &[&str] = match role {
        Role::TestList => &[
            "Change only `test-list.md`. Write no code and no test.",
            "You may add, reword, split and drop open items. Boxes are ticked for you when a cycle is accepted; a box that \
             you tick is unticked.",
        ],
        Role::Test => &[
            "Change only tests. Where a compiled language needs a name to build, add a signature with an empty body.",
            "The test must run and fail because of an assertion or a missing name; all other tests keep passing.",
            "Check exact results.",
        ],
        Role::Implementing => &[
            "Change no test, no settings of the test runner, and nothing that a test needs to detect an error.",
            "Implement the behaviour; do not hard-code the values of the tests. All other tests keep passing.",
        ],
        Role::Diagnosis => &["Change nothing: read and run only."],
        Role::Refactor => &[
            "Change no behaviour and remove no test. Improve names, duplication and structure.",
            "If nothing needs improvement, change nothing.",
        ],
    };
    let common = [
        "Work only in the current folder. You cannot write outside of it.",
        "Do not commit, stash, rebase or switch branches; only the files in the folder count.",
        "The real test runner judges the files; your own claims are ignored.",
        "Nobody can answer questions.",
    ];
    own.iter().chain(&common).map(|rule| format!("- {rule}")).collect::<Vec<_>>().join("\n")
}

fn list(assignment: &Assignment) -> Option<String> {
    let box_of = |mark: &str, items: &[String]| -> Vec<String> {
        let left = items.len().saturating_sub(LISTED_MAX);
        let more = (left > 0).then(|| format!("({left} more, in `{}`)", test_list::FILE));
        items.iter().take(LISTED_MAX).map(|item| format!("- [{mark}] {item}")).chain(more).collect()
    };
    let lines = [box_of("x", &assignment.completed), box_of(" ", &assignment.pending)].concat();
    (!lines.is_empty()).then(|| lines.join("\n"))
}

fn bulleted(items: &[String]) -> String {
    items.iter().take(LISTED_MAX).map(|item| format!("- {item}")).collect::<Vec<_>>().join("\n")
}

fn ending(role: Role) -> String {
    match role {
        Role::TestList => "End with this JSON as the last line of your answer, with the words of the box you chose:\n\
             {\"currentTest\": {\"description\": \"<the box's words>\", \"testFile\": \"<path>\", \"implFile\": \"<path>\"}}\n\
             When every box is ticked and nothing is missing: {\"currentTest\": null}"
            .to_owned(),
        Role::Implementing => "Run the tests, then stop. Only if a test contradicts the request, end with \
             {\"contest\": {\"test\": \"<id>\", \"why\": \"<reason>\"}} instead of working around it."
            .to_owned(),
        Role::Diagnosis => "Answer in at most 15 lines: the root cause with file and line, then what to change.".to_owned(),
        Role::Test | Role::Refactor => "Run the tests, then stop.".to_owned(),
    }
}

fn section(text: &mut String, title: &str, content: &str) {
    writeln!(text, "\n## {title}\n\n{}", content.trim()).ok();
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::agent::AttemptFailure;
    use crate::brief::TestCase;
    use crate::phase::Phase;

    fn assignment(role: Role, phase: Phase) -> Assignment {
        let case = TestCase {
            description: "adds two numbers".to_owned(),
            test_file: "test_calc.py".to_owned(),
            impl_file: "calc.py".to_owned(),
        };
        Assignment {
            role,
            phase,
            cycle: 1,
            turn: 0,
            attempt: 2,
            candidate: None,
            request: "a calculator".to_owned(),
            brief: None,
            current: Some(case).filter(|_| role != Role::TestList),
            completed: vec!["stands".to_owned()],
            pending: vec!["adds two numbers".to_owned()],
            trouble: Some(AttemptFailure {
                kind: "red.passes".to_owned(),
                message: "all 14 pass".to_owned(),
            }),
            diagnosis: Some("calc.py:3 subtracts".to_owned()),
            withhold: role == Role::Test,
            strategy: Strategy::New,
            remarks: Vec::new(),
            messages: Vec::new(),
            more: false,
        }
    }

    #[test]
    fn the_prompt_has_everything_the_turn_needs() {
        let everywhere = [
            "a calculator",
            "all 14 pass",
            "red.passes",
            "attempt 2",
            "- [x] stands",
            "- [ ] adds two numbers",
        ];
        for (role, phase, words) in [
            (
                Role::TestList,
                Phase::Plan,
                &["PLAN", "test-list.md", "\"currentTest\"", "Write no code"][..],
            ),
            (
                Role::Test,
                Phase::Red,
                &[
                    ".redgreen/withheld/tests/test_more.py",
                    "RED",
                    "test_calc.py",
                    "adds two numbers",
                    "Change only tests",
                ],
            ),
            (
                Role::Implementing,
                Phase::Green,
                &["GREEN", "calc.py", "Change no test", "\"contest\"", "calc.py:3"],
            ),
            (Role::Diagnosis, Phase::Green, &["Change nothing", "15 lines"]),
            (Role::Refactor, Phase::Refactor, &["REFACTOR", "remove no test"]),
        ] {
            let text = handoff(&assignment(role, phase));
            for words in words.iter().chain(&everywhere) {
                assert!(text.contains(words), "{role}: {words}\n{text}");
            }
        }
    }

    #[test]
    fn marks_messages_of_the_user() {
        let mut told = assignment(Role::Implementing, Phase::Green);
        assert!(!handoff(&told).contains("Messages from the user"));
        told.messages = vec!["use a dataclass".to_owned(), "two\nlines".to_owned()];
        let text = handoff(&told);
        assert!(
            text.contains("Messages from the user")
                && text.contains("\n- use a dataclass\n- two\n  lines\n"),
            "{text}"
        );
    }

    #[test]
    fn bounds_long_parts_and_mentions_a_resumed_conversation() {
        let mut long = assignment(Role::Test, Phase::Red);
        long.request = "ü".repeat(1 << 20);
        long.pending = vec!["x".to_owned(); 10_000];
        long.strategy = Strategy::Resume { session: crate::names::SessionId::parse("s").unwrap() };
        let text = handoff(&long);
        assert!(text.len() < 128 << 10, "{}", text.len());
        assert!(text.contains("worked on this before") && text.contains("(9950 more"));
    }
}
