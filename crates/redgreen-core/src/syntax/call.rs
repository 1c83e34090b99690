//! Calls in all languages: the callee, and the parts between the commas.

use super::language::{CallKind, row};
use super::tree::Node;

/// A longer callee is cut, so that a chain of a thousand links stays cheap.
const CALLEE_BYTES_MAX: usize = 200;
/// Their contents are not part of the callee.
const ARGUMENTS: &[&str] = &[
    "arguments",
    "argument_list",
    "token_tree",
    "template_string",
    "type_arguments",
    "type_argument_list",
];

pub(super) struct Call<'t> {
    pub(super) node: Node<'t>,
    /// `expect().not.toBe`, `assert_eq!`, `self.assertEqual`.
    pub(super) callee: String,
    pub(super) arguments: Option<Node<'t>>,
}

/// The text between two commas: one node, or a row of tokens in a macro.
#[derive(Clone)]
pub(super) struct Part<'t>(pub(super) Vec<Node<'t>>);

/// Every call in the subtree, including the node itself.
pub(super) fn calls<'t>(node: Node<'t>) -> impl Iterator<Item = Call<'t>> {
    node.subtree().filter_map(call)
}

pub(super) fn call(node: Node<'_>) -> Option<Call<'_>> {
    let kinds = row(node.tree().language).calls;
    if let Some(kind) = kinds.iter().find(|kind| kind.kind == node.kind()) {
        return written(node, kind);
    }
    in_macro(node)
}

fn written<'t>(node: Node<'t>, kind: &CallKind) -> Option<Call<'t>> {
    let mut callee = String::new();
    for field in kind.callee {
        if let Some(part) = node.child(field) {
            if !callee.is_empty() {
                callee.push('.');
            }
            callee.push_str(&without_arguments(part));
        }
    }
    callee.push_str(kind.mark);
    let arguments = kind
        .arguments
        .iter()
        .find_map(|field| node.child(field))
        .or_else(|| node.child_of(&["token_tree"]));
    (!callee.is_empty()).then_some(Call { node, callee, arguments })
}

/// The arguments of a Rust macro are tokens. A call in them is a name, an optional `!`, and a
/// group.
fn in_macro(node: Node<'_>) -> Option<Call<'_>> {
    if node.kind() != "identifier" || node.parent()?.kind() != "token_tree" {
        return None;
    }
    let next = node.next_sibling()?;
    let (group, mark) = if next.kind() == "!" { (next.next_sibling()?, "!") } else { (next, "") };
    if group.kind() != "token_tree" || mark.is_empty() && !group.text().starts_with('(') {
        return None;
    }
    let mut path: Vec<&str> = Vec::new();
    let mut before = node.before();
    while let (Some(colons), Some(name)) = (before.next(), before.next()) {
        if colons.kind() != "::" || path.len() > 4 {
            break;
        }
        path.insert(0, name.text());
    }
    path.push(node.text());
    Some(Call { node, callee: format!("{}{mark}", path.join("::")), arguments: Some(group) })
}

fn without_arguments(node: Node<'_>) -> String {
    let mut text = String::new();
    let mut skip_to = 0;
    for part in node.subtree() {
        let span = part.span();
        if span.start < skip_to || text.len() > CALLEE_BYTES_MAX {
            continue;
        }
        if part.is(ARGUMENTS) {
            skip_to = span.end;
            if !part.kind().starts_with("type") {
                text.push_str("()");
            }
        } else if part.is_leaf() && !part.is(row(part.tree().language).comments) {
            text.extend(part.text().split_whitespace());
        }
    }
    text.replace("?.", ".")
}

impl<'t> Call<'t> {
    /// The last name of the callee: `toBe` in `expect().not.toBe`.
    pub(super) fn name(&self) -> &str {
        self.callee.rsplit(['.', ':']).next().unwrap_or(&self.callee).trim_end_matches("()")
    }

    pub(super) fn parts(&self) -> Vec<Part<'t>> {
        self.arguments.map(parts).unwrap_or_default()
    }

    pub(super) fn part(&self, index: usize) -> Option<Part<'t>> {
        self.parts().into_iter().nth(index)
    }

    /// The end of the arguments.
    pub(super) fn end(&self) -> usize {
        self.arguments.unwrap_or(self.node).span().end
    }
}

/// The parts of a list of arguments, elements or tokens, without brackets.
pub(super) fn parts(list: Node<'_>) -> Vec<Part<'_>> {
    let comments = row(list.tree().language).comments;
    let mut parts = vec![Part(Vec::new())];
    let mut children: Vec<Node<'_>> = list.children().filter(|child| !child.is(comments)).collect();
    if children.first().is_some_and(|child| !child.is_named()) {
        children.remove(0);
    }
    if children.last().is_some_and(|child| !child.is_named()) {
        children.pop();
    }
    for child in children {
        if child.kind() == "," {
            parts.push(Part(Vec::new()));
        } else if let Some(last) = parts.last_mut() {
            last.0.push(child);
        }
    }
    parts.retain(|part| !part.0.is_empty());
    parts
}

impl<'t> Part<'t> {
    pub(super) fn of(node: Node<'t>) -> Self {
        Self(vec![node])
    }

    pub(super) fn span(&self) -> std::ops::Range<usize> {
        let start = self.0.first().map_or(0, |node| node.span().start);
        let end = self.0.last().map_or(0, |node| node.span().end);
        start..end
    }

    pub(super) fn text(&self) -> &'t str {
        self.0.first().and_then(|node| node.tree().source.get(self.span())).unwrap_or_default()
    }

    /// Its only node.
    pub(super) fn single(&self) -> Option<Node<'t>> {
        let (first, rest) = self.0.split_first()?;
        rest.is_empty().then_some(*first)
    }

    pub(super) fn subtree(&self) -> impl Iterator<Item = Node<'t>> {
        self.0.iter().flat_map(|node| node.subtree())
    }
}
