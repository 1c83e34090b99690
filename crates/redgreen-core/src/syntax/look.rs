//! Question 11: does a test use a value of the code without calling anything? A constant is as good
//! as a function.

use std::ops::Range;

use super::call::call;
use super::imports::Import;
use super::language::{Language, row};
use super::tree::{Node, Tree};

const MEMBERS: &[&str] = &["attribute", "member_expression"];
const ARGUMENTS: &[&str] = &["arguments", "argument_list"];
/// Nodes that hold a module that is loaded by a call.
const HOLDERS: &[(&str, &str)] = &[("variable_declarator", "name"), ("assignment", "left")];

/// Whether the span uses something from these imports as a value: not called, and not only
/// mentioned. `files` are names of modules, of which only the members are values.
pub fn looks_at(
    language: Language,
    source: &str,
    span: Range<usize>,
    imports: &[Import],
    files: &[String],
) -> bool {
    let Some(tree) = Tree::parse(language, source) else { return false };
    let local: Vec<&str> = imports.iter().flat_map(|import| brought(&tree, import)).collect();
    let row = row(language);
    let inside = |node: &Node<'_>| span.contains(&node.span().start) && node.is(row.identifiers);
    tree.nodes().filter(inside).any(|leaf| {
        // The name of an argument or member may be equal by chance.
        let named =
            leaf.field().is_some_and(|field| matches!(field, "name" | "attribute" | "property"));
        let imported = || leaf.ancestors().any(|above| above.is(row.imports));
        let is_file =
            files.iter().any(|file| file == leaf.text()) || is_namespace(&tree, leaf.text());
        local.contains(&leaf.text()) && !named && !imported() && is_value(leaf, is_file)
    })
}

/// The local names of an import.
fn brought<'t>(tree: &'t Tree<'_>, import: &Import) -> Vec<&'t str> {
    let row = row(tree.language);
    let mut names = Vec::new();
    for node in tree.nodes().filter(|node| node.line() == import.line) {
        let holder = HOLDERS.iter().find(|(kind, _)| *kind == node.kind());
        let place = match holder.and_then(|(_, field)| node.child(field)) {
            Some(place) if node.text().contains(&import.module) => place,
            None if node.is(row.imports) => node,
            Some(_) | None => continue,
        };
        let renamed = |leaf: &Node<'t>| {
            let above = leaf.ancestors().find(|above| above.child("alias").is_some());
            above.is_some_and(|above| {
                above.child("alias").is_some_and(|alias| !alias.contains(*leaf))
            })
        };
        let leaves = place.subtree().filter(|leaf| leaf.is(row.identifiers));
        names.extend(leaves.filter(|leaf| !renamed(leaf)).map(Node::text));
    }
    names
}

/// `import * as roman`, `import textkit.roman as roman`.
fn is_namespace(tree: &Tree<'_>, name: &str) -> bool {
    tree.nodes().any(|node| match node.kind() {
        "namespace_import" => node.named_children().any(|local| local.text() == name),
        "import_statement" if tree.language == Language::Python => {
            node.leaves().any(|leaf| leaf.text() == name)
        }
        _ => false,
    })
}

fn is_value(leaf: Node<'_>, is_module: bool) -> bool {
    // `roman.table.size` around its first part.
    let node = leaf.ancestors().take_while(|above| above.is(MEMBERS)).last().unwrap_or(leaf);
    let Some(above) = node.parent() else { return false };
    let alone = above.kind() == "expression_statement";
    let replaced = handed_to(node).is_some_and(|callee| makes_double(&callee));
    let only_module = is_module && node.is_leaf();
    call(above).is_none() && !alone && !replaced && !only_module
}

/// The function that receives this as an argument.
fn handed_to(node: Node<'_>) -> Option<String> {
    let list = node.ancestors().take(2).find(|above| above.is(ARGUMENTS))?;
    list.parent().and_then(call).map(|call| call.callee)
}

/// A test double is not the function. If it passes calls on, they are recorded.
fn makes_double(callee: &str) -> bool {
    const MAKERS: [&str; 6] = ["Mock", "fn", "spy", "fake", "create_autospec", "mocked"];
    let name = callee.rsplit('.').next().unwrap_or(callee);
    MAKERS.iter().any(|maker| name.ends_with(maker))
}
