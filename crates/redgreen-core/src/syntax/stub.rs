//! Question 7: does a new version only add what a test needs to compile?

use super::call::{Part, call};
use super::glob;
use super::language::{Language, row};
use super::literal::is_pure;
use super::overlay::block;
use super::tree::{Node, Tree};

/// Allowed additions that declare something and do nothing.
const DECLARATIONS: &[&str] = &[
    "import_statement",
    "import_from_statement",
    "future_import_statement",
    "import_declaration",
    "package_declaration",
    "package_clause",
    "use_declaration",
    "extern_crate_declaration",
    "attribute_item",
    "inner_attribute_item",
    "struct_item",
    "enum_item",
    "type_item",
    "type_alias_declaration",
    "type_declaration",
    "interface_declaration",
    "enum_declaration",
    "ambient_declaration",
    "function_signature",
    "function_signature_item",
    "abstract_method_signature",
    "method_signature",
    "public_field_definition",
    "field_definition",
    "field_declaration",
    "const_declaration",
    "associated_type",
    "empty_statement",
    "pass_statement",
    "record_declaration",
    "export_clause",
];
/// Allowed additions if their contents are allowed.
const CONTAINERS: &[&str] = &[
    "class_definition",
    "class_declaration",
    "abstract_class_declaration",
    "impl_item",
    "trait_item",
    "mod_item",
    "decorated_definition",
    "export_statement",
    "class_body",
    "declaration_list",
    "enum_body",
];
const FUNCTIONS: &[&str] = &[
    "function_definition",
    "function_item",
    "function_declaration",
    "generator_function_declaration",
    "method_declaration",
    "method_definition",
    "constructor_declaration",
    "arrow_function",
    "function_expression",
];
/// A constant, with the field of its value.
const CONSTANTS: &[(&str, &str)] = &[
    ("const_item", "value"),
    ("static_item", "value"),
    ("assignment", "right"),
    ("variable_declarator", "value"),
    ("var_spec", "value"),
];
const PLACEHOLDERS: &[&str] = &[
    "todo!",
    "unimplemented!",
    "panic!",
    "panic",
    "NotImplementedError",
    "super",
    "super().__init__",
    "Error",
    "UnsupportedOperationException",
    "UnimplementedError",
];
/// Placeholder values.
const NEUTRAL: &[&str] = &[
    "None",
    "null",
    "undefined",
    "nil",
    "0",
    "0.0",
    "-1",
    "\"\"",
    "''",
    "``",
    "[]",
    "{}",
    "()",
    "false",
    "False",
    "...",
    "Ok(())",
    "Vec::new()",
    "vec![]",
    "String::new()",
    "Default::default()",
    "NotImplemented",
    "",
    "''",
    "0L",
    "Optional.empty()",
];

/// Whether `new` only adds signatures, placeholders, constants and documentation to `old`, and
/// removes nothing. Tests in the same file are ignored.
pub fn is_stub(language: Language, old: &str, new: &str) -> bool {
    let (Some(old), Some(new)) = (Tree::parse(language, old), Tree::parse(language, new)) else {
        return false;
    };
    !new.is_broken() && adds_stubs(old.root(), new.root())
}

/// Whether the children of `new` are those of `old`, in order, plus stubs.
fn adds_stubs(old: Node<'_>, new: Node<'_>) -> bool {
    let mut open = vec![(Some(old), new)];
    while let Some((old, new)) = open.pop() {
        let mut kept = old.map(members).unwrap_or_default().into_iter().peekable();
        for member in members(new) {
            if kept.peek().is_some_and(|known| same(*known, member)) {
                kept.next();
            } else if let Some(known) = kept.peek().copied().filter(|known| grows(*known, member)) {
                kept.next();
                open.push((Some(body(known)), body(member)));
            } else if !is_stub_node(member) {
                return false;
            }
        }
        if kept.next().is_some() {
            return false;
        }
    }
    true
}

fn members(node: Node<'_>) -> Vec<Node<'_>> {
    let comments = row(node.tree().language).comments;
    let kept = node.named_children().filter(|child| !child.is(comments) && !is_docstring(*child));
    kept.filter(|child| !is_test_code(*child)).collect()
}

/// A test block, or an attribute of one.
fn is_test_code(node: Node<'_>) -> bool {
    let mut from_here = std::iter::successors(Some(node), |node| node.next_sibling());
    let first = from_here.find(|node| node.kind() != "attribute_item");
    first.is_some_and(|first| block(first).is_some())
}

fn is_docstring(node: Node<'_>) -> bool {
    node.kind() == "expression_statement"
        && node.named_children().next().is_some_and(|only| only.kind() == "string")
}

fn same(old: Node<'_>, new: Node<'_>) -> bool {
    let tokens = |node: Node<'_>| {
        let comments = row(node.tree().language).comments;
        let leaves = node.leaves().filter(move |leaf| {
            !leaf.ancestors().any(|above| above.is(comments)) && !leaf.is(comments)
        });
        super::hash::of_words(&leaves.map(|leaf| leaf.text().trim()).collect::<Vec<_>>())
    };
    old.kind() == new.kind() && tokens(old) == tokens(new)
}

/// A class, module or placeholder with the same head and more contents.
fn grows(old: Node<'_>, new: Node<'_>) -> bool {
    let head = |node: Node<'_>| {
        let start = node.span().start;
        node.tree()
            .source
            .get(start..body(node).span().start)
            .unwrap_or_default()
            .split_whitespace()
            .collect::<String>()
    };
    let container = old.is(CONTAINERS) || old.is(&["decorated_definition", "export_statement"]);
    let placeholder = old.is(FUNCTIONS) && is_stub_node(old) && is_stub_node(new);
    let same_head =
        old.kind() == new.kind() && body(old).at() != old.at() && head(old) == head(new);
    same_head && container || placeholder && name(old) == name(new)
}

fn name(node: Node<'_>) -> &str {
    node.child("name").map_or("", Node::text)
}

fn body(node: Node<'_>) -> Node<'_> {
    let inner = node.child("definition").or_else(|| node.child("declaration")).unwrap_or(node);
    inner.child("body").unwrap_or(inner)
}

/// Walks with a list instead of recursion. Everything inside a container must be a stub too.
fn is_stub_node(node: Node<'_>) -> bool {
    let mut open = vec![node];
    while let Some(node) = open.pop() {
        if node.is(FUNCTIONS) {
            if !is_stub_body(node) {
                return false;
            }
        } else if node.is(CONTAINERS) {
            let inside = node
                .child("body")
                .or_else(|| node.child("definition"))
                .or_else(|| node.child("declaration"));
            match inside {
                Some(inside) if inside.is(FUNCTIONS) || inside.is(CONTAINERS) => open.push(inside),
                Some(inside) => open.extend(members_or_self(inside)),
                None => open.extend(
                    members(node)
                        .into_iter()
                        .filter(|member| !member.is(&["decorator"]) && is_statement(*member)),
                ),
            }
        } else if !is_declaration(node) {
            return false;
        }
    }
    true
}

fn members_or_self(node: Node<'_>) -> Vec<Node<'_>> {
    if node.is(&["block", "class_body", "declaration_list", "enum_body"]) {
        members(node)
    } else {
        vec![node]
    }
}

/// Names and types of a head are not statements.
fn is_statement(node: Node<'_>) -> bool {
    !matches!(
        node.kind(),
        "identifier"
            | "type_identifier"
            | "string"
            | "visibility_modifier"
            | "argument_list"
            | "modifiers"
    )
}

fn is_declaration(node: Node<'_>) -> bool {
    if node.is(DECLARATIONS) || node.is(row(node.tree().language).comments) {
        return true;
    }
    match node.kind() {
        "expression_statement" => {
            node.named_children().all(|inner| is_constant(inner) || is_neutral(inner))
        }
        "lexical_declaration" | "variable_declaration" | "var_declaration" => node
            .named_children()
            .filter(|child| child.kind().contains("declarator") || child.kind().contains("spec"))
            .all(|child| {
                child.child("value").is_some_and(|value| value.is(FUNCTIONS) && is_stub_body(value))
                    || is_constant(child)
            }),
        _ => is_constant(node),
    }
}

fn is_constant(node: Node<'_>) -> bool {
    let Some((_, field)) = CONSTANTS.iter().find(|(kind, _)| *kind == node.kind()) else {
        return false;
    };
    node.child(field).is_none_or(|value| {
        is_pure(&Part::of(value)) || is_neutral(value) || value.kind() == "list"
    })
}

/// Only placeholders, placeholder values, and arguments marked as unused.
fn is_stub_body(function: Node<'_>) -> bool {
    let Some(body) = function.child("body") else { return true };
    let inner = body.child_of(&["statement_list"]).unwrap_or(body);
    let block = body.is(row(body.tree().language).blocks) || body.is(&["constructor_body"]);
    let statements = if block { members(inner) } else { vec![body] };
    statements.into_iter().all(is_placeholder)
}

fn is_placeholder(statement: Node<'_>) -> bool {
    match statement.kind() {
        "pass_statement" | "empty_statement" => true,
        "raise_statement" | "throw_statement" => statement.text().len() < 400,
        // Go returns a list of values.
        "return_statement" | "return_expression" => {
            statement.named_children().all(|value| match value.kind() {
                "expression_list" => value.named_children().all(is_neutral),
                _ => is_neutral(value),
            })
        }
        "let_declaration" => {
            statement.child("pattern").is_some_and(|pattern| pattern.text() == "_")
        }
        "expression_statement" => statement.named_children().all(is_neutral),
        _ => is_neutral(statement),
    }
}

fn is_neutral(node: Node<'_>) -> bool {
    let text: String = node.text().split_whitespace().collect();
    let placeholder = || call(node).is_some_and(|call| glob::any(PLACEHOLDERS, &call.callee));
    let unused = || {
        node.kind() == "assignment_expression"
            && node.child("left").is_some_and(|left| left.text() == "_")
    };
    let discarded = || {
        node.kind() == "unary_expression"
            && text.starts_with("void")
            && node.named_children().all(|child| child.is_leaf())
    };
    NEUTRAL.contains(&text.as_str()) || placeholder() || unused() || discarded()
}
