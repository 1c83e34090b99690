//! Top-level statements that do something when a file is loaded, such as calls and assertions.
//! Also: whether a text is a program of the language at all.

use std::ops::Range;

use super::call::calls;
use super::item::declares_test;
use super::language::Language;
use super::tree::{Node, Tree};

/// Whether the whole text parses as this language.
pub fn parses(language: Language, source: &str) -> bool {
    !source.trim().is_empty() && Tree::parse(language, source).is_some_and(|tree| !tree.is_broken())
}

/// Top-level calls and assertions: usage examples, which a module does not need. Tests,
/// assignments, imports, definitions and strings do not count.
pub fn loose(language: Language, source: &str) -> Vec<Range<usize>> {
    let Some(tree) = Tree::parse(language, source) else { return Vec::new() };
    let is_loose = |node: &Node<'_>| match language {
        Language::Python => {
            node.kind() == "assert_statement"
                || node.kind() == "expression_statement" && holds(*node, "call")
                || node.kind() == "if_statement" && node.text().starts_with("if __name__")
        }
        Language::JavaScript | Language::TypeScript | Language::Tsx => {
            node.kind() == "expression_statement"
                && holds(*node, "call_expression")
                && !calls(*node).any(|call| declares_test(&call))
        }
        Language::Rust | Language::Go | Language::Java | Language::Other => false,
    };
    tree.root().named_children().filter(is_loose).map(Node::span).collect()
}

fn holds(statement: Node<'_>, kind: &str) -> bool {
    statement.named_children().next().is_some_and(|first| first.kind() == kind)
}
