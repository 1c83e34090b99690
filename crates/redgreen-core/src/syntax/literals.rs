//! Question 9: which literals does a file contain, and which calls with only literals as arguments?

use super::assertion::{Claim, assertions};
use super::call::{Part, call, calls, parts};
use super::item::found;
use super::language::{Language, row};
use super::literal::{class, is_pure};
use super::tree::{Node, Tree};
use super::{parameter, visibility};

/// Lists and tuples in all languages.
const ROWS: &[&str] =
    &["list", "tuple", "array", "tuple_expression", "array_expression", "literal_value"];

/// The arguments, as written, of calls to a function with only literals as arguments.
pub fn written_calls(language: Language, source: &str, name: &str) -> Vec<Vec<String>> {
    let Some(tree) = Tree::parse(language, source) else { return Vec::new() };
    let called =
        calls(tree.root()).filter(|call| call.name() == name).filter_map(|call| call.arguments);
    let written = called.map(parts).filter(|parts| !parts.is_empty() && parts.iter().all(is_pure));
    written.map(|parts| parts.iter().map(|part| part.text().to_owned()).collect()).collect()
}

/// Numbers, strings and other literals.
pub fn written_values(language: Language, source: &str) -> Vec<String> {
    let Some(tree) = Tree::parse(language, source) else { return Vec::new() };
    tree.nodes().filter(|node| class(*node).is_some()).map(|node| node.text().to_owned()).collect()
}

/// The same source with an extra space before each value on a line and a comment at its end. The
/// comment names what experiments insert into test files. To the language nothing changes. `None`
/// if the language is unknown.
pub fn respelled(language: Language, source: &str) -> Option<String> {
    let comment = match language {
        Language::Python => "#",
        Language::JavaScript
        | Language::TypeScript
        | Language::Tsx
        | Language::Rust
        | Language::Go => "//",
        Language::Java | Language::Other => return None,
    };
    let tree = Tree::parse(language, source)?;
    let (mut text, mut done) = (String::new(), 0);
    for node in tree.nodes().filter(|node| class(*node).is_some()) {
        let at = node.span().start;
        let (Some(between), Some(before)) = (source.get(done..at), source.get(..at)) else {
            continue;
        };
        let line = before.rsplit('\n').next().unwrap_or_default();
        // Spaces in a string are part of it, and spaces at the start of a line are indentation.
        let is_text =
            |around: Node<'_>| around.is(row(language).interpolations) || class(around).is_some();
        let inside = node.ancestors().any(is_text);
        if line.trim().is_empty() || inside {
            continue;
        }
        text.push_str(between);
        text.push(' ');
        done = at;
    }
    text.push_str(source.get(done..)?);
    let end = if source.ends_with('\n') { "" } else { "\n" };
    Some(format!("{text}{end}{comment} test_redgreen_canary, test_redgreen_sound\n"))
}

/// Lists with several literals, each as its values: the rows of tables.
pub fn written_rows(language: Language, source: &str) -> Vec<Vec<String>> {
    let Some(tree) = Tree::parse(language, source) else { return Vec::new() };
    let lists = tree.nodes().filter(|node| node.is(ROWS)).map(parts);
    let rows = lists.filter(|parts| parts.len() > 1 && parts.iter().all(is_pure));
    rows.map(|parts| parts.iter().map(|part| part.text().to_owned()).collect()).collect()
}

/// Calls and table rows in the tests of a file, each with its expected value, as written.
pub fn written_answers(language: Language, path: &str, source: &str) -> Vec<(String, String)> {
    let Some(tree) = Tree::parse(language, source) else { return Vec::new() };
    let mut answers = Vec::new();
    for assertion in assertions(&tree) {
        let Claim::Equal { left, right, negated: false } = &assertion.claim else { continue };
        let sides =
            [(left, right), (right, left)].map(|(asked, expected)| (given(asked), expected));
        let known =
            sides.into_iter().find(|(asked, expected)| is_written_call(asked) && is_pure(expected));
        answers.extend(
            known.map(|(asked, expected)| (asked.text().to_owned(), expected.text().to_owned())),
        );
    }
    for test in found(&tree, path).iter().filter(|one| one.item.is_test) {
        for row in parameter::tables(test).into_iter().flat_map(parameter::rows) {
            let values = row.single().map(parts).unwrap_or_default();
            let texts: Vec<&str> = values.iter().map(Part::text).collect();
            let is_row = values.len() > 1 && values.iter().all(is_pure);
            answers.extend(
                texts
                    .split_last()
                    .filter(|_| is_row)
                    .map(|(last, args)| (args.join(", "), (*last).to_owned())),
            );
        }
    }
    answers
}

fn is_written_call(part: &Part<'_>) -> bool {
    part.0.iter().filter_map(|node| call(*node)).any(|call| {
        let given = call.parts();
        // An object may return something else the second time. Go uses the same syntax for
        // packages.
        let is_method = call.callee.contains('.') && call.node.tree().language != Language::Go;
        !is_method && !given.is_empty() && given.iter().all(is_pure)
    })
}

/// The last value of a variable. Anything else is itself.
fn given<'t>(part: &Part<'t>) -> Part<'t> {
    let name = part.single().filter(|node| node.is(row(node.tree().language).identifiers));
    let values = name.map(|name| visibility::values(name, name.text())).unwrap_or_default();
    let before = values.into_iter().rfind(|value| value.span().end <= part.span().start);
    // Go has a list of values, mostly of one.
    let only = before.map(|value| {
        value.named_children().next().filter(|_| value.kind() == "expression_list").unwrap_or(value)
    });
    only.map_or_else(|| part.clone(), Part::of)
}

/// The signature of a top-level function.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Signature {
    pub name: String,
    /// The types of its parameters, as written.
    pub kinds: Vec<String>,
    pub returns: String,
    /// It is generic.
    pub generic: bool,
    /// It is async.
    pub awaited: bool,
}

/// The top-level functions of Rust and Go.
pub fn signatures(language: Language, source: &str) -> Vec<Signature> {
    let Some(tree) = Tree::parse(language, source) else { return Vec::new() };
    let functions = tree
        .root()
        .named_children()
        .filter(|node| node.is(&["function_item", "function_declaration"]));
    let told = functions.filter_map(|function| {
        let parameters = function.child("parameters")?.named_children();
        // Go: `a, b int`.
        let kinds: Option<Vec<Vec<String>>> = parameters
            .map(|one| {
                let names = one.children().filter(|child| child.field() == Some("name")).count();
                Some(vec![one.child("type")?.text().to_owned(); names.max(1)])
            })
            .collect();
        let returns = function.child("return_type").or_else(|| function.child("result"));
        let marked = |word| {
            function
                .children()
                .any(|child| child.is(&["function_modifiers"]) && child.text() == word)
        };
        Some(Signature {
            name: function.child("name")?.text().to_owned(),
            kinds: kinds?.concat(),
            returns: returns.map_or("()", Node::text).to_owned(),
            generic: function
                .child("type_parameters")
                .is_some_and(|all| all.named_children().any(|one| !is_lifetime(one))),
            awaited: marked("async"),
        })
    });
    told.collect()
}

fn is_lifetime(parameter: Node<'_>) -> bool {
    parameter.text().starts_with('\'')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_are_those_that_tests_write_out() {
        for (path, source, told) in [
            (
                "test_a.py",
                "def test_a():\n    assert f(1) == 2\n    got = f(1)\n    assert got == 3\n",
                "f(1)=2 f(1)=3",
            ),
            ("test_a.py", "def test_a():\n    assert f(n) == 2\n    assert box.take(1) == 2\n", ""),
            (
                "test_a.py",
                "@pytest.mark.parametrize('n, want', [(1, 2), (1, 3)])\ndef test_a(n, want):\n    assert f(n) == want\n",
                "1=2 1=3",
            ),
            ("a.test.ts", "test('a', () => {\n  expect(f(1)).toBe(2);\n});\n", "f(1)=2"),
            ("tests/a.rs", "#[test]\nfn a() {\n    assert_eq!(kit::f(1), 2);\n}\n", "kit::f(1)=2"),
            (
                "a_test.go",
                "package a\n\nfunc TestA(t *testing.T) {\n\tif got := kit.F(1); got != 2 {\n\t\tt.Fatal(got)\n\t}\n}\n",
                "kit.F(1)=2",
            ),
        ] {
            let answers = written_answers(Language::of_path(path), path, source);
            let seen: Vec<String> =
                answers.iter().map(|(call, expected)| format!("{call}={expected}")).collect();
            assert_eq!(seen.join(" "), told, "{source}");
        }
    }

    #[test]
    fn a_text_that_is_spelled_otherwise_means_the_same() {
        let comment = "test_redgreen_canary, test_redgreen_sound\n";
        for (path, source, expected) in [
            ("a.py", "assert add(1, -2) == 3", "assert add( 1, - 2) ==  3\n# "),
            (
                "a.py",
                "def f():\n    \"\"\"1\"\"\"\n    return 'a' \"b\"\n",
                "def f():\n    \"\"\"1\"\"\"\n    return  'a'  \"b\"\n# ",
            ),
            ("a.py", "x = f\"{1 + 1 = } {'x'}\"\n", "x = f\"{1 + 1 = } {'x'}\"\n# "),
            ("a.py", "x = [\n    1,\n    2, None]\n", "x = [\n    1,\n    2,  None]\n# "),
            (
                "a.js",
                "assert.equal(f(`a${1}`), \"b\");\n",
                "assert.equal(f(`a${1}`),  \"b\");\n// ",
            ),
            ("a.tsx", "render(<A b=\"c\">1 d</A>);\n", "render(<A b= \"c\">1 d</A>);\n// "),
        ] {
            let text = respelled(Language::of_path(path), source).unwrap();
            assert_eq!(text, format!("{expected}{comment}"), "{source}");
        }
        assert_eq!(respelled(Language::Other, "1"), None);
    }
}
