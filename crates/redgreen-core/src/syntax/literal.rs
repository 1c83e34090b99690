//! Literals: which parts of an expression are literals, and whether it consists only of them.

use std::ops::Range;

use super::call::Part;
use super::language::{Class, row};
use super::tree::Node;

/// The kind of a literal, unless something inside it is computed.
pub(super) fn class(node: Node<'_>) -> Option<Class> {
    let row = row(node.tree().language);
    let (_, class) = row.literals.iter().find(|(kind, _)| *kind == node.kind())?;
    let computed = node.descendants().any(|inner| inner.is(row.interpolations));
    (node.is_named() && !computed || node.is_leaf() && *class != Class::Text).then_some(*class)
}

/// Every literal in the part, outermost first.
pub(super) fn literals<'t>(part: &Part<'t>) -> Vec<(Node<'t>, Class)> {
    let mut found: Vec<(Node<'t>, Class)> = Vec::new();
    for node in part.subtree() {
        let inside = found.last().is_some_and(|(last, _)| last.contains(node));
        if !inside && let Some(class) = class(node) {
            found.push((node, class));
        }
    }
    found
}

/// Whether the code under test computes nothing in the part: only literals, punctuation and
/// constructors of values.
pub(super) fn is_pure(part: &Part<'_>) -> bool {
    let mut covered = 0;
    let mut anything = false;
    for node in part.subtree() {
        if node.at() < covered {
            continue;
        }
        if class(node).is_some() {
            covered = node.subtree().last().map_or(0, |last| last.at() + 1);
            anything = true;
        } else if node.is_leaf() && (node.is_named() || is_word(node.text())) {
            let row = row(node.tree().language);
            let key = is_key(node);
            if !row.value_words.contains(&node.text()) && !node.is(row.comments) && !key {
                return false;
            }
            anything = anything || !key;
        } else if node.is_leaf() && matches!(node.text(), "]" | "}" | ")") {
            // An empty list is a value too.
            anything = true;
        }
    }
    anything
}

/// The name of a field or key is not computed.
fn is_key(node: Node<'_>) -> bool {
    let follows = node.next_sibling().is_some_and(|next| matches!(next.kind(), ":" | "="));
    let named = matches!(node.kind(), "property_identifier" | "field_identifier");
    named && follows
        || node.parent().is_some_and(|parent| {
            matches!(
                parent.kind(),
                "keyword_argument" | "pair" | "keyed_element" | "field_initializer"
            ) && follows
        })
}

fn is_word(text: &str) -> bool {
    text.starts_with(|letter: char| letter.is_alphabetic() || letter == '_')
}

/// The text between the quotes of a string.
pub(super) fn inside(node: Node<'_>) -> Range<usize> {
    let text = node.text();
    let span = node.span();
    let opening = text.find(['"', '\'', '`']).unwrap_or(0);
    let rest = text.get(opening..).unwrap_or_default();
    let quote = rest.chars().next().unwrap_or('"');
    let quotes = if rest.starts_with("\"\"\"") || rest.starts_with("'''") { 3 } else { 1 };
    let start = span.start + opening + quotes;
    let trailing = text.len() - text.trim_end_matches('#').len();
    let closes = text.trim_end_matches('#').ends_with(quote);
    let end = span.end.saturating_sub(trailing + if closes { quotes } else { 0 });
    start.min(end)..end
}
