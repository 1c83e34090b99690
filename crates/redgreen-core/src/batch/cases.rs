//! Maps test cases of a specification to tests. A test names the id of its case: in its name, in
//! its body, or in the comment above it.

use serde::{Deserialize, Serialize};

use crate::brief::Case;
use crate::syntax::{Language, items};

/// A test in the source, whether it loads yet or not.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SourceTest {
    pub file: String,
    /// The runner's name of the test in its file; empty if the language has no parser and the file
    /// represents all its tests.
    pub name: String,
    /// Its source, with the comment above it.
    pub text: String,
}

/// A case, and the tests that name it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CaseCoverage {
    pub id: String,
    pub description: String,
    pub tests: Vec<String>,
}

impl SourceTest {
    /// For example `tests/test_till.py::TestTill::test_adds`.
    pub fn id(&self) -> String {
        if self.name.is_empty() {
            self.file.clone()
        } else {
            format!("{}::{}", self.file, self.name)
        }
    }
}

/// All tests of a file. A file in a language without a parser counts as one test.
pub fn tests_in(path: &str, source: &str) -> Vec<SourceTest> {
    let language = Language::of_path(path);
    if language == Language::Other {
        return vec![SourceTest {
            file: path.to_owned(),
            name: String::new(),
            text: source.to_owned(),
        }];
    }
    let found = items(language, path, source);
    let tests = found.iter().filter(|item| item.is_test);
    tests
        .map(|item| {
            let (start, end) = (comment_above(source, item.span.start), item.span.end);
            let text = source.get(start..end).unwrap_or_default().to_owned();
            SourceTest { file: path.to_owned(), name: item.name.clone(), text }
        })
        .collect()
}

/// The start of the comment directly above a position.
fn comment_above(source: &str, place: usize) -> usize {
    let mut start =
        source.get(..place).and_then(|before| before.rfind('\n')).map_or(0, |newline| newline + 1);
    while let Some(before) = source.get(..start.saturating_sub(1)).filter(|_| start > 0) {
        let line_start = before.rfind('\n').map_or(0, |newline| newline + 1);
        let line = before.get(line_start..).unwrap_or_default().trim_start();
        if !["#", "//", "/*", "*", "--", "@"].iter().any(|mark| line.starts_with(mark)) {
            break;
        }
        start = line_start;
    }
    start
}

/// The cases of a brief with the tests that name them.
pub fn covered(cases: &[Case], tests: &[SourceTest]) -> Vec<CaseCoverage> {
    let of = |case: &Case| {
        let names = |test: &&SourceTest| says(&test.name, &case.id) || says(&test.text, &case.id);
        CaseCoverage {
            id: case.id.clone(),
            description: case.description.clone(),
            tests: tests.iter().filter(names).map(SourceTest::id).collect(),
        }
    };
    cases.iter().map(of).collect()
}

/// Whether a text contains the id as a word: `TC-001` matches `tc_001`, `TC001` and the middle of
/// `testTC001Adds`, but not a part of `TC-0012`.
fn says(text: &str, id: &str) -> bool {
    let wanted: Vec<char> =
        id.chars().filter(|letter| letter.is_alphanumeric()).flat_map(char::to_lowercase).collect();
    let letters: Vec<char> = text.chars().collect();
    !wanted.is_empty() && (0..letters.len()).any(|start| matches_at(&letters, start, &wanted))
}

fn matches_at(letters: &[char], start: usize, wanted: &[char]) -> bool {
    let (Some(first), before) =
        (letters.get(start), start.checked_sub(1).and_then(|at| letters.get(at)))
    else {
        return false;
    };
    if !first.is_alphanumeric() || before.is_some_and(|before| is_same_word(*before, *first)) {
        return false;
    }
    let (mut at, mut last) = (start, *first);
    for (number, letter) in wanted.iter().enumerate() {
        // The parts of an id can have one separator between them.
        if number > 0 && letters.get(at).is_some_and(|sign| "-_. ".contains(*sign)) {
            at += 1;
        }
        match letters.get(at) {
            Some(found) if found.to_lowercase().eq(std::iter::once(*letter)) => last = *found,
            Some(_) | None => return false,
        }
        at += 1;
    }
    !letters.get(at).is_some_and(|next| is_same_word(last, *next))
}

/// Whether two neighbouring characters belong to one word: two digits, or two letters unless a
/// capital starts a new word.
fn is_same_word(one: char, next: char) -> bool {
    (one.is_numeric() && next.is_numeric())
        || (one.is_alphabetic()
            && next.is_alphabetic()
            && !(one.is_lowercase() && next.is_uppercase()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_an_id_in_any_notation() {
        for (text, id, found) in [
            ("# TC001: adds", "TC001", true),
            ("test_tc_001_adds", "TC-001", true),
            ("testTC001Adds", "TC001", true),
            ("TC0012", "TC001", false),
            ("XTC001", "TC001", false),
            ("covers AUTH.7 and more", "AUTH-7", true),
            ("covers AUTH-70", "AUTH-7", false),
            ("nothing", "TC1", false),
            ("", "TC1", false),
        ] {
            assert_eq!(says(text, id), found, "{id} in {text:?}");
        }
    }

    #[test]
    fn a_case_is_covered_by_name_comment_or_docstring() {
        let source = "import shop\n\n\nclass TestTill:\n    # TC001\n    def test_empty(self):\n        assert shop.total() == 0\n\n    \
                      def test_adds(self):\n        \"\"\"TC002: adds.\"\"\"\n        assert shop.add(1) == 1\n\n\n\
                      def test_tc003_names():\n    assert shop.name() == \"x\"\n";
        let tests = tests_in("tests/test_till.py", source);
        let case = |id: &str| Case { id: id.to_owned(), ..Case::default() };
        let cases = [case("TC001"), case("TC002"), case("TC003"), case("TC004")];
        let names: Vec<Vec<String>> =
            covered(&cases, &tests).into_iter().map(|covered| covered.tests).collect();
        assert_eq!(
            names,
            [
                vec!["tests/test_till.py::TestTill::test_empty"],
                vec!["tests/test_till.py::TestTill::test_adds"],
                vec!["tests/test_till.py::test_tc003_names"],
                vec![]
            ]
        );
        let whole = tests_in("tests/till.bats", "@test \"TC004 adds\" {\n}\n");
        assert_eq!(covered(&cases, &whole)[3].tests, ["tests/till.bats"]);
    }
}
