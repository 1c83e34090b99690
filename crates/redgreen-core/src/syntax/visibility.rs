//! The possible values of a name at a place: those in the innermost enclosing function, otherwise
//! those in the next outer one. The same name in another function is something else.

use super::language::row;
use super::tree::Node;

const ASSIGNMENTS: &[(&str, &str, &str)] = &[
    ("assignment", "left", "right"),
    ("variable_declarator", "name", "value"),
    ("let_declaration", "pattern", "value"),
    ("short_var_declaration", "left", "right"),
    ("const_item", "name", "value"),
    ("static_item", "name", "value"),
    ("var_spec", "name", "value"),
];
const FUNCTIONS: &[&str] = &[
    "function_definition",
    "function_item",
    "function_declaration",
    "generator_function_declaration",
    "method_declaration",
    "method_definition",
    "constructor_declaration",
];

/// In source order.
pub(super) fn values<'t>(from: Node<'t>, name: &str) -> Vec<Node<'t>> {
    let given = |node: Node<'t>| {
        let (_, left, right) = ASSIGNMENTS.iter().find(|(kind, ..)| *kind == node.kind())?;
        let value =
            node.child(left).filter(|left| left.text() == name).and_then(|_| node.child(right))?;
        depth(node, from).map(|depth| (depth, value))
    };
    let all: Vec<(usize, Node<'t>)> = from.tree().nodes().filter_map(given).collect();
    let nearest = all.iter().map(|(depth, _)| *depth).max();
    all.into_iter().filter(|(depth, _)| Some(*depth) == nearest).map(|(_, value)| value).collect()
}

/// The number of functions around both. `None` if a function is around only the first one.
fn depth(node: Node<'_>, from: Node<'_>) -> Option<usize> {
    let closures = row(node.tree().language).closures;
    let mut functions = node.ancestors().filter(|above| above.is(FUNCTIONS) || above.is(closures));
    functions.try_fold(0, |depth, function| function.contains(from).then_some(depth + 1))
}
