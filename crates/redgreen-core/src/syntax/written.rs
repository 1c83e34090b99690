//! Question 9: which values does a file write out, and which calls with nothing but such values?

use super::call::{calls, parts};
use super::language::Language;
use super::literal::{class, is_pure};
use super::tree::{Node, Tree};

/// Lists and tuples, as languages write them.
const ROWS: &[&str] = &["list", "tuple", "array", "tuple_expression", "array_expression", "literal_value"];

/// The arguments, as written, of calls to a function whose arguments are all written out.
pub fn written_calls(language: Language, source: &str, name: &str) -> Vec<Vec<String>> {
    let Some(tree) = Tree::parse(language, source) else { return Vec::new() };
    let called = calls(tree.root()).filter(|call| call.name() == name).filter_map(|call| call.arguments);
    let written = called.map(parts).filter(|parts| !parts.is_empty() && parts.iter().all(is_pure));
    written.map(|parts| parts.iter().map(|part| part.text().to_owned()).collect()).collect()
}

/// Numbers, texts and the like.
pub fn written_values(language: Language, source: &str) -> Vec<String> {
    let Some(tree) = Tree::parse(language, source) else { return Vec::new() };
    tree.nodes().filter(|node| class(*node).is_some()).map(|node| node.text().to_owned()).collect()
}

/// Lists with several values that are all written out, each as its values: the rows of tables.
pub fn written_rows(language: Language, source: &str) -> Vec<Vec<String>> {
    let Some(tree) = Tree::parse(language, source) else { return Vec::new() };
    let lists = tree.nodes().filter(|node| node.is(ROWS)).map(parts);
    let rows = lists.filter(|parts| parts.len() > 1 && parts.iter().all(is_pure));
    rows.map(|parts| parts.iter().map(|part| part.text().to_owned()).collect()).collect()
}

/// An outermost function, as its first line says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Signature {
    pub name: String,
    /// The types of what it takes, as written.
    pub kinds: Vec<String>,
    pub returns: String,
    /// It takes types as well.
    pub generic: bool,
    /// Its answer has to be waited for.
    pub awaited: bool,
}

/// The outermost functions of Rust and Go.
pub fn signatures(language: Language, source: &str) -> Vec<Signature> {
    let Some(tree) = Tree::parse(language, source) else { return Vec::new() };
    let functions = tree.root().named_children().filter(|node| node.is(&["function_item", "function_declaration"]));
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
        let marked = |word| function.children().any(|child| child.is(&["function_modifiers"]) && child.text() == word);
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
