//! Hashes of code that do not see layout: exact, or with the names that the file itself gives taken out.

use std::collections::{HashMap, HashSet};

use super::language::row;
use super::tree::{Node, Tree};

/// FNV-1a: the same on every machine and in every version, which the standard hasher does not promise.
struct Fnv(u64);

impl Fnv {
    fn add(&mut self, bytes: &[u8]) {
        for byte in bytes.iter().chain([&0xff]) {
            self.0 = (self.0 ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
        }
    }
}

/// The tokens of the nodes, without comments and layout.
pub(super) fn exact<'t>(nodes: impl IntoIterator<Item = Node<'t>>) -> u64 {
    let mut hash = Fnv(0xcbf2_9ce4_8422_2325);
    for token in nodes.into_iter().flat_map(Node::leaves) {
        if !is_comment(token) {
            hash.add(token.text().trim().as_bytes());
        }
    }
    hash.0
}

/// As `exact`, with every name of `bound` replaced by the order in which it first appears: a renamed test, a renamed
/// variable and a renamed function under test give the same hash; `all` for `any` does not.
pub(super) fn renamed<'t>(node: Node<'t>, bound: &HashSet<&str>) -> u64 {
    let mut hash = Fnv(0xcbf2_9ce4_8422_2325);
    let mut order: HashMap<&str, usize> = HashMap::new();
    let identifiers = row(node.tree().language).identifiers;
    for token in node.leaves().filter(|token| !is_comment(*token) && !is_docstring(*token)) {
        let text = token.text();
        if token.is(identifiers) && bound.contains(text) {
            let next = order.len();
            let number = *order.entry(text).or_insert(next);
            hash.add(&number.to_le_bytes());
        } else {
            hash.add(text.trim().as_bytes());
        }
    }
    hash.0
}

/// The names the file gives: definitions, imports, parameters, variables.
pub(super) fn bound_names<'t>(tree: &'t Tree<'_>) -> HashSet<&'t str> {
    let row = row(tree.language);
    let mut bound = HashSet::new();
    for node in tree.nodes() {
        for (_, field) in row.bindings.iter().filter(|(kind, _)| *kind == node.kind()) {
            let places = node.children().filter(|child| field.is_empty() || child.field() == Some(*field));
            let names = places.flat_map(Node::leaves).filter(|leaf| leaf.is(row.identifiers));
            bound.extend(names.map(Node::text));
        }
    }
    bound
}

fn is_comment(node: Node<'_>) -> bool {
    let comments = row(node.tree().language).comments;
    node.is(comments) || node.parent().is_some_and(|parent| parent.is(comments))
}

fn is_docstring(node: Node<'_>) -> bool {
    let string = node.parent().filter(|above| above.kind() == "string");
    string
        .and_then(Node::parent)
        .is_some_and(|parent| parent.kind() == "expression_statement" && parent.named_children().count() == 1)
}

pub(super) fn text(lines: &[&str]) -> u64 {
    let mut hash = Fnv(0xcbf2_9ce4_8422_2325);
    for line in lines {
        hash.add(line.trim().as_bytes());
    }
    hash.0
}
