//! A test file of the base without its obsolete tests: those that fail on the code of the head. The
//! others still show how much the tests of the head must check.

use crate::experiment::About;
use crate::report::Test;
use crate::syntax::{self, Item, Language};

/// The file without the tests that failed. `None` if one of them is not found in it.
pub fn without_obsolete(path: &str, old: &str, failed: &[&Test]) -> Option<String> {
    let items: Vec<Item> = syntax::items(Language::of_path(path), path, old)
        .into_iter()
        .filter(|item| item.is_test)
        .collect();
    let home = |test: &Test| {
        let is_home =
            |item: &&Item| About { file: path.to_owned(), item: item.name.clone() }.is(test);
        // A method of a class also has the name of a function outside of it.
        let closest = items.iter().filter(is_home).max_by_key(|item| item.name.len());
        closest.map(|item| item.span.clone())
    };
    let mut spans = failed.iter().map(|test| home(test)).collect::<Option<Vec<_>>>()?;
    spans.sort_unstable_by_key(|span| span.start);
    spans.dedup();
    let mut text = old.to_owned();
    for span in spans.into_iter().rev() {
        // A test inside another one is gone with it.
        if text.get(span.clone()) == old.get(span.clone()) {
            text.replace_range(span, "");
        }
    }
    Some(text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::Status;

    #[test]
    fn obsolete_tests_are_removed_and_others_stay() {
        let python = "def test_a():\n    assert 1\n\n\n@mark\ndef test_b():\n    assert 2\n\n\n\
                      class TestC:\n    def test_a(self):\n        assert 3\n\n    def test_d(self):\n        assert 4\n";
        let script = "test('a', () => {\n  equal(1, 1);\n});\ntest('b', () => equal(2, 2));\n";
        for (path, old, ids, gone, kept) in [
            (
                "tests/test_x.py",
                python,
                &["tests/test_x.py::test_b", "tests/test_x.py::TestC::test_a"][..],
                &["test_b", "@mark", "assert 3"][..],
                &["assert 1", "assert 4", "class TestC"][..],
            ),
            ("tests/test_x.py", python, &["tests/test_x.py::test_a"], &["assert 1"], &["assert 3"]),
            ("x.test.js", script, &["a"], &["equal(1"], &["equal(2"]),
        ] {
            let tests: Vec<Test> = ids
                .iter()
                .map(|id| Test { file: Some(path.to_owned()), ..Test::new(*id, Status::Failed) })
                .collect();
            let text = without_obsolete(path, old, &tests.iter().collect::<Vec<_>>()).unwrap();
            for part in gone {
                assert!(!text.contains(part), "{part} in {text}");
            }
            for part in kept {
                assert!(text.contains(part), "{part} not in {text}");
            }
        }
        let other = Test::new("tests/test_x.py::test_z", Status::Failed);
        assert_eq!(without_obsolete("tests/test_x.py", python, &[&other]), None);
    }
}
