//! Question 9: which names does a file define, and which of them are private?

use super::item::found;
use super::language::{Class, Language, row};
use super::literal::class;
use super::tree::{Node, Tree};

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Name {
    /// Without the enclosing names.
    pub name: String,
    pub private: bool,
    /// Equal for code that differs only in layout, comments and names that the file defines.
    pub body_hash: u64,
}

/// Functions and classes outside of tests. If a language has no visibility, everything is public.
pub fn names(language: Language, path: &str, source: &str) -> Vec<Name> {
    let Some(tree) = Tree::parse(language, source) else { return Vec::new() };
    let code = found(&tree, path).into_iter().filter(|one| !one.item.in_tests);
    let named = code.filter_map(|one| {
        let name = one.node.child("name")?;
        let head = source.get(one.item.span.start..name.span().start).unwrap_or_default();
        let private = match language {
            Language::Python => name.text().starts_with('_') && !name.text().ends_with("__"),
            Language::Rust => !super::word::has(head, "pub"),
            Language::JavaScript | Language::TypeScript | Language::Tsx => {
                !super::word::has(head, "export")
            }
            Language::Go => name.text().starts_with(|letter: char| !letter.is_uppercase()),
            Language::Java => super::word::has(head, "private"),
            Language::Other => false,
        };
        Some(Name { name: name.text().to_owned(), private, body_hash: one.item.body_hash })
    });
    named.collect()
}

/// The text with every occurrence of a whole word replaced.
pub fn renamed(text: &str, old: &str, new: &str) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some(at) = rest.find(old).filter(|_| !old.is_empty()) {
        let (before, after) =
            (rest.get(..at).unwrap_or_default(), rest.get(at + old.len()..).unwrap_or_default());
        let inside = before
            .chars()
            .next_back()
            .or(out.chars().next_back())
            .is_some_and(super::word::is_word)
            || after.starts_with(super::word::is_word);
        out.push_str(before);
        out.push_str(if inside { old } else { new });
        rest = after;
    }
    out + rest
}

/// Whether the text contains the name as a whole word.
pub fn mentions(text: &str, name: &str) -> bool {
    super::word::has(text, name)
}

/// Whether a `conftest.py` contains only fixtures with new names that tests request, and functions
/// that only they use.
pub fn only_fixtures(source: &str) -> bool {
    /// Fixtures of pytest. One with the same name would replace them.
    const GIVEN: [&str; 12] = [
        "cache",
        "capfd",
        "caplog",
        "capsys",
        "doctest_namespace",
        "monkeypatch",
        "pytestconfig",
        "recwarn",
        "request",
        "subtests",
        "tmp_path",
        "tmp_path_factory",
    ];
    let Some(tree) = Tree::parse(Language::Python, source) else { return false };
    let is_plain = |node: Node<'_>| match node.kind() {
        "import_statement" | "import_from_statement" | "comment" | "class_definition" => true,
        "expression_statement" => node.named_children().all(|child| child.kind() == "string"),
        "function_definition" => {
            node.child("name").is_some_and(|name| !name.text().starts_with("pytest_"))
        }
        "decorated_definition" => {
            let marks: Vec<&str> = node
                .children()
                .filter(|one| one.kind() == "decorator")
                .map(|one| one.text())
                .collect();
            let name = node
                .child("definition")
                .and_then(|inner| inner.child("name"))
                .map_or("", |name| name.text());
            marks
                .iter()
                .all(|mark| mark.starts_with("@pytest.fixture") && !mark.contains("autouse"))
                && !GIVEN.contains(&name)
        }
        _ => false,
    };
    !tree.is_broken() && tree.root().named_children().all(is_plain)
}

/// How often a name appears in the code, without comments and strings. Without a tree, the number
/// of lines with it.
pub fn uses(language: Language, source: &str, name: &str) -> usize {
    let Some(tree) = Tree::parse(language, source) else {
        return source.lines().filter(|line| mentions(line, name)).count();
    };
    let row = row(language);
    let spoken = |node: Node<'_>| node.is(row.comments) || class(node) == Some(Class::Text);
    let said = |leaf: Node<'_>| leaf.ancestors().chain([leaf]).any(spoken);
    // A name in `__all__` or in a quoted annotation is exported.
    let quoted = |leaf: &Node<'_>| leaf.text().trim_matches(['"', '\'', '`']) == name;
    tree.nodes()
        .filter(|node| node.is_leaf())
        .filter(|leaf| leaf.text() == name && !said(*leaf) || quoted(leaf))
        .count()
}
