//! Interprets an answer without a tool call: a small model shows a file instead of writing it. The
//! result is judged like any other.

use crate::agent::Assignment;
use crate::brief::blocks::{Block, blocks, only_fence};
use crate::phase::Role;
use crate::test_list::{self, TestList};

/// The files that the answer means to write. `now` reads the current content of a file.
pub fn meant(
    assignment: &Assignment,
    answer: &str,
    now: impl Fn(&str) -> Option<String>,
) -> Vec<Block> {
    let marked = blocks(answer);
    if !marked.is_empty() {
        return marked;
    }
    let file = |path: &str, content: String| Some(Block { path: path.to_owned(), content });
    let test = assignment.current.as_ref();
    let shown = match assignment.role {
        Role::TestList => {
            list(answer, now(test_list::FILE)).and_then(|text| file(test_list::FILE, text))
        }
        Role::Test => test.zip(only_fence(answer)).and_then(|(test, code)| {
            let text = now(&test.test_file).map_or(code.clone(), |text| added(&text, &code));
            file(&test.test_file, text)
        }),
        Role::Implementing => {
            test.zip(only_fence(answer)).and_then(|(test, code)| file(&test.impl_file, code))
        }
        Role::Refactor | Role::Diagnosis => None,
    };
    shown.into_iter().filter(|block| !block.path.is_empty()).collect()
}

/// The boxes of the answer, or one for the chosen behaviour. An existing list with boxes stays
/// unchanged.
fn list(answer: &str, now: Option<String>) -> Option<String> {
    if now.is_some_and(|text| !TestList::parse(&text).items.is_empty()) {
        return None;
    }
    let boxes: Vec<String> =
        TestList::parse(answer).items.into_iter().map(|item| item.description).collect();
    let behaviours =
        if boxes.is_empty() { test_list::chosen(answer).into_iter().collect() } else { boxes };
    let line = |behaviour: &String| format!("- [ ] {behaviour}\n");
    (!behaviours.is_empty()).then(|| behaviours.iter().map(line).collect())
}

/// The existing tests, then the new one. Existing lines at its top, such as imports, are not
/// repeated. A model that shows the whole file means the whole file.
pub(crate) fn added(text: &str, code: &str) -> String {
    if code.starts_with(text.trim_end()) {
        return code.to_owned();
    }
    let known = |line: &&str| line.trim().is_empty() || text.lines().any(|there| there == *line);
    let new: Vec<&str> = code.lines().skip_while(known).collect();
    format!("{}\n\n\n{}\n", text.trim_end(), new.join("\n"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::prompt::tests::assignment;

    #[track_caller]
    fn check(role: Role, answer: &str, now: Option<&str>, expected: &[(&str, &str)]) {
        let files = meant(&assignment(role), answer, |_| now.map(str::to_owned));
        let files: Vec<_> =
            files.iter().map(|block| (block.path.as_str(), block.content.as_str())).collect();
        assert_eq!(files, expected, "{answer}");
    }

    #[test]
    fn reads_a_list_from_the_answer() {
        let chosen = r#"{"currentTest": {"description": "2 is even", "testFile": "t.py", "implFile": "e.py"}}"#;
        let boxes = format!("The list:\n- [ ] 2 is even\n- [ ] 3 is odd\n```json\n{chosen}\n```\n");
        let one = &[("test-list.md", "- [ ] 2 is even\n")];
        check(
            Role::TestList,
            &boxes,
            None,
            &[("test-list.md", "- [ ] 2 is even\n- [ ] 3 is odd\n")],
        );
        check(Role::TestList, chosen, None, one);
        check(Role::TestList, chosen, Some("no boxes"), one);
        check(Role::TestList, chosen, Some("- [ ] 3 is odd\n"), &[]);
        check(Role::TestList, r#"{"currentTest": null}"#, None, &[]);
        check(Role::TestList, "I would begin with 2.", None, &[]);
    }

    #[test]
    fn reads_a_file_from_the_answer() {
        let test = "from calc import add\n\n\ndef test_adds():\n    assert add(1, 2) == 3\n";
        let answer = format!("Here it is:\n```python\n{test}```\nIt fails.\n");
        check(Role::Test, &answer, None, &[("tests/test_calc.py", test)]);
        let older = "from calc import add\n\n\ndef test_zero():\n    assert add(0, 0) == 0\n";
        let both = format!("{older}\n\ndef test_adds():\n    assert add(1, 2) == 3\n");
        check(Role::Test, &answer, Some(older), &[("tests/test_calc.py", &both)]);
        check(
            Role::Test,
            &format!("```\n{both}```\n"),
            Some(older),
            &[("tests/test_calc.py", &both)],
        );
        check(Role::Implementing, &answer, Some(older), &[("calc.py", test)]);
        check(Role::Implementing, &format!("{answer}{answer}"), None, &[]);
        check(Role::Refactor, &answer, None, &[]);
        check(Role::Test, "### FILE: a.py\n```\n1\n```\n", None, &[("a.py", "1\n")]);
        check(Role::Test, "```python\nnever ends\n", None, &[]);
    }
}
