//! Question 10: what does the outermost level of a file give to others, and which of it has a value that is written out?

use std::collections::BTreeSet;

use super::language::{Class, Language};
use super::literal::{class, inside};
use super::tree::{Node, Tree};

/// A name of the outermost level.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Given {
    pub name: String,
    /// Whether the language or its custom lets others use it.
    pub public: bool,
    pub line: u32,
    /// Of a constant, where it is one number, truth value or text.
    pub value: Option<Value>,
    pub is_constant: bool,
}

/// A value that is written out, in a form that does not depend on how it is written.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    Number(f64),
    Truth(bool),
    Text(String),
}

impl Eq for Value {}

/// Every function, type and constant of the outermost level.
pub fn surface(language: Language, source: &str) -> Vec<Given> {
    let Some(tree) = Tree::parse(language, source).filter(|tree| !tree.is_broken()) else { return Vec::new() };
    let listed = listed(&tree);
    let mut all = Vec::new();
    for node in tree.root().named_children() {
        let exported = node.kind() == "export_statement";
        let node = node.child("declaration").filter(|_| exported).unwrap_or(node);
        let node = node.child("definition").filter(|_| node.kind() == "decorated_definition").unwrap_or(node);
        for (name, value, is_constant) in declared(node) {
            let text = name.text();
            let public = match language {
                Language::Python => match &listed {
                    Some(names) => names.contains(text),
                    None => !text.starts_with('_'),
                },
                Language::Rust => node.children().any(|one| one.kind() == "visibility_modifier" && one.text() == "pub"),
                Language::JavaScript | Language::TypeScript | Language::Tsx => exported,
                Language::Go => text.starts_with(char::is_uppercase),
                Language::Java | Language::Other => false,
            };
            let value = value.and_then(written);
            all.push(Given { name: text.to_owned(), public, line: name.line(), value, is_constant });
        }
    }
    all
}

/// What a module of Python says that it gives: `__all__`, where it is written out in one place.
fn listed<'t>(tree: &'t Tree<'_>) -> Option<BTreeSet<&'t str>> {
    let mut named = tree.nodes().filter(|node| node.kind() == "identifier" && node.text() == "__all__");
    let (Some(name), None) = (named.next(), named.next()) else { return None };
    let list = name.parent()?.child("right").filter(|list| list.is(&["list", "tuple"]))?;
    let names = list.named_children().filter(|one| one.kind() != "comment");
    names.map(|one| tree.source.get(inside(one)).filter(|_| one.kind() == "string")).collect()
}

/// The names that stand in a source, outside comments and texts.
pub fn identifiers(language: Language, source: &str) -> BTreeSet<String> {
    let Some(tree) = Tree::parse(language, source) else { return BTreeSet::new() };
    let names = tree.nodes().filter(|node| node.is_leaf() && node.kind().contains("identifier"));
    names.map(|node| node.text().to_owned()).collect()
}

/// Names that a node of the outermost level declares: with its value, and whether that is what it is for.
fn declared(node: Node<'_>) -> Vec<(Node<'_>, Option<Node<'_>>, bool)> {
    let inner = |kinds: &'static [&'static str], constant: bool| {
        let specs = node.subtree().filter(move |one| one.is(kinds));
        specs.filter_map(move |one| Some((named(one)?, one.child("value"), constant))).collect::<Vec<_>>()
    };
    match node.kind() {
        "expression_statement" => {
            let assigned = node.named_children().find(|one| one.kind() == "assignment");
            let name = assigned.and_then(|one| one.child("left")).filter(|name| name.kind() == "identifier");
            name.map(|name| (name, assigned.and_then(|one| one.child("right")), true)).into_iter().collect()
        }
        "lexical_declaration" => {
            let own = node.named_children().filter(|one| one.kind() == "variable_declarator");
            own.filter_map(|one| Some((named(one)?, one.child("value"), true))).collect()
        }
        "const_declaration" => inner(&["const_spec"], true)
            .into_iter()
            .map(|(name, value, constant)| {
                let mut parts = value.into_iter().flat_map(Node::named_children);
                let only = parts.next().filter(|_| parts.next().is_none());
                (name, only, constant)
            })
            .collect(),
        "type_declaration" => inner(&["type_spec", "type_alias"], false),
        "const_item" | "static_item" => named(node).map(|name| (name, node.child("value"), true)).into_iter().collect(),
        "function_definition"
        | "class_definition"
        | "function_item"
        | "struct_item"
        | "enum_item"
        | "trait_item"
        | "type_item"
        | "union_item"
        | "function_declaration"
        | "class_declaration"
        | "generator_function_declaration"
        | "abstract_class_declaration"
        | "enum_declaration"
        | "interface_declaration"
        | "type_alias_declaration" => named(node).map(|name| (name, None, false)).into_iter().collect(),
        _ => Vec::new(),
    }
}

fn named(node: Node<'_>) -> Option<Node<'_>> {
    node.child("name").filter(|name| name.kind().contains("identifier"))
}

/// A value that is one literal; a text of one word, for longer ones are read by people.
fn written(node: Node<'_>) -> Option<Value> {
    match class(node)? {
        Class::Number => {
            let text: String = node.text().chars().filter(|letter| *letter != '_').collect();
            text.parse().ok().map(Value::Number)
        }
        Class::Text => {
            let text = node.tree().source.get(inside(node))?;
            (!text.contains(char::is_whitespace) && !text.contains('\\')).then(|| Value::Text(text.to_owned()))
        }
        Class::True => Some(Value::Truth(true)),
        Class::False => Some(Value::Truth(false)),
        Class::Null => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_outermost_level_is_read() {
        for (path, source, told) in [
            ("a.py", "A = 1_000\n_B = 2\n@x\ndef f():\n    def g(): pass\nclass C:\n    D = 3\n", "+A=1000 _B=2 +f +C"),
            (
                "a.py",
                "__all__ = [\n    \"f\",  # here\n    \"_g\",\n]\ndef f(): pass\ndef _g(): pass\nclass C: pass\n",
                "__all__ +f +_g C",
            ),
            ("a.py", "__all__ = [\"f\"]\n__all__ += more\ndef f(): pass\nclass C: pass\n", "__all__ +f +C"),
            ("a.rs", "pub fn f() {}\nfn g() {}\npub(crate) fn h() {}\npub const A: u8 = 3;\n", "+f g h +A=3"),
            ("a.go", "package a\n\nconst (\n\tA = 1\n\tb = 2\n)\n\nfunc F() {}\n\ntype T struct{}\n", "+A=1 b=2 +F +T"),
            ("a.ts", "export const A = 'x';\nconst b = true;\nexport function f() {}\n", "+A=x b=true +f"),
        ] {
            let tell = |one: &Given| {
                let value = match &one.value {
                    Some(Value::Number(number)) => format!("={number}"),
                    Some(Value::Truth(truth)) => format!("={truth}"),
                    Some(Value::Text(text)) => format!("={text}"),
                    None => String::new(),
                };
                format!("{}{}{value}", if one.public { "+" } else { "" }, one.name)
            };
            let seen: Vec<String> = surface(Language::of_path(path), source).iter().map(tell).collect();
            assert_eq!(seen.join(" "), told, "{path}");
        }
    }
}
