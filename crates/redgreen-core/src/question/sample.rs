//! A complete test to show to a model: one of the project, so that the model follows its style, or
//! one of our own.

use super::{Scene, convention, repair};
use crate::syntax::{self, Language};

/// Maximum number of test files to search.
const SEARCHED_MAX: usize = 20;

/// A test of another function than this one, with the start of its file.
pub(super) fn test(scene: &Scene<'_>, function: Option<&str>, bytes_max: usize) -> String {
    let language = scene.language();
    let is_test = |path: &&String| convention::is_test(path, language);
    scene
        .files
        .iter()
        .filter(is_test)
        .take(SEARCHED_MAX)
        .filter_map(|path| shortest(language, path, &(scene.look)(path)?, function))
        .filter(|sample| sample.len() <= bytes_max)
        .min_by_key(String::len)
        .unwrap_or_else(|| usual(language, scene.framework).to_owned())
}

/// The shortest test of a file, below the lines before its first definition.
fn shortest(language: Language, path: &str, text: &str, function: Option<&str>) -> Option<String> {
    let items = syntax::items(language, path, text);
    let outer = repair::outermost(items.iter().map(|item| item.span.clone()));
    let head = text.get(..outer.first()?.start)?.trim_end();
    let holds_test = |span: &&std::ops::Range<usize>| {
        items.iter().any(|item| {
            item.is_test && span.contains(&item.span.start) && item.span.end <= span.end
        })
    };
    let tests = outer.iter().filter(holds_test).filter_map(|span| text.get(span.clone()));
    let other = |test: &&str| function.is_none_or(|function| !test.contains(function));
    let test = tests.filter(other).min_by_key(|test| test.len())?;
    Some(format!("{head}\n\n{}", test.trim_end()).trim_start().to_owned())
}

/// A test in the usual style of a language.
fn usual(language: Language, framework: &str) -> &'static str {
    match language {
        Language::Python if framework == convention::UNITTEST => {
            "import unittest\n\nfrom calc import add\n\n\nclass TestAdd(unittest.TestCase):\n    def test_adds(self):\n        \
             self.assertEqual(add(1, 2), 3)"
        }
        Language::Python => "from calc import add\n\n\ndef test_adds():\n    assert add(1, 2) == 3",
        Language::Rust => {
            "use calc::add;\n\n#[test]\nfn adds() {\n    assert_eq!(add(1, 2), 3);\n}"
        }
        Language::JavaScript | Language::TypeScript | Language::Tsx
            if framework == convention::NODE =>
        {
            "import test from \"node:test\";\nimport assert from \"node:assert\";\nimport { add } from \"./calc.js\";\n\n\
             test(\"adds\", () => {\n  assert.strictEqual(add(1, 2), 3);\n});"
        }
        Language::JavaScript | Language::TypeScript | Language::Tsx => {
            "import { add } from \"./calc\";\n\ntest(\"adds\", () => {\n  expect(add(1, 2)).toBe(3);\n});"
        }
        Language::Go | Language::Java | Language::Other => "",
    }
}
