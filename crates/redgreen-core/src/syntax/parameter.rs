//! The number of data rows of a test, if they are literals.

use super::call::{Part, call, parts};
use super::glob;
use super::item::ItemNodes;
use super::language::row;
use super::tree::Node;
use super::visibility;

const LISTS: &[&str] = &[
    "list",
    "tuple",
    "set",
    "array",
    "array_expression",
    "element_value_array_initializer",
    "composite_literal",
];

pub(super) fn count(found: &ItemNodes<'_>) -> Option<usize> {
    let row = row(found.node.tree().language);
    let rows =
        found.decorations.iter().filter(|one| glob::any(row.parameter_rows, &one.name)).count();
    let lists: Vec<usize> = found
        .decorations
        .iter()
        .filter(|one| glob::any(row.parameter_lists, &one.name))
        .filter_map(|one| listed(one.node).and_then(rows_of_list))
        .collect();
    let each = each(found.node).and_then(rows_of_list);
    match (rows, lists.is_empty(), each) {
        (_, _, Some(each)) => Some(each),
        (0, true, None) => None,
        (rows, ..) => Some(lists.into_iter().fold(rows.max(1), usize::saturating_mul)),
    }
}

/// The data tables of a test.
pub(super) fn tables<'t>(test: &ItemNodes<'t>) -> Vec<Node<'t>> {
    let row = row(test.node.tree().language);
    let lists = test.decorations.iter().filter(|one| glob::any(row.parameter_lists, &one.name));
    lists.filter_map(|one| listed(one.node)).chain(each(test.node)).collect()
}

/// The list in a decorator, as its second argument or anywhere inside.
pub(super) fn listed(decoration: Node<'_>) -> Option<Node<'_>> {
    let second = decoration.descendants().find_map(call).and_then(|call| call.part(1)?.single());
    second.and_then(resolve).or_else(|| decoration.descendants().find(|node| node.is(LISTS)))
}

/// The table of `test.each(table)(title, fn)`.
pub(super) fn each(node: Node<'_>) -> Option<Node<'_>> {
    if !node.tree().language.is_script() {
        return None;
    }
    let inner = call(node.child("function")?)?;
    resolve(inner.part(0)?.single()?)
}

/// A list, or the list that a name refers to.
pub(super) fn resolve(node: Node<'_>) -> Option<Node<'_>> {
    let unwrapped =
        if matches!(node.kind(), "as_expression" | "satisfies_expression" | "reference_expression")
        {
            node.named_children().next()?
        } else {
            node
        };
    if unwrapped.is(LISTS) {
        return Some(unwrapped);
    }
    let name =
        unwrapped.is(row(unwrapped.tree().language).identifiers).then(|| unwrapped.text())?;
    visibility::values(unwrapped, name)
        .into_iter()
        .find_map(|value| value.subtree().take(4).find(|node| node.is(LISTS)))
}

fn rows_of_list(node: Node<'_>) -> Option<usize> {
    node.is(LISTS).then(|| rows(node).len())
}

/// The elements of a list literal.
pub(super) fn rows(list: Node<'_>) -> Vec<Part<'_>> {
    let inside = list.child("body").unwrap_or(list);
    parts(inside)
}
