//! Question 3: what does a file import?

use super::call::calls;
use super::language::{Language, row};
use super::tree::{Node, Tree};

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Import {
    /// As written, without quotes: `textkit.roman`, `..roman`, `crate::roman`, `../src/roman.js`.
    pub module: String,
    /// The imported names; for a whole module, the members that are used. `*` is everything,
    /// `default` the default.
    pub names: Vec<String>,
    /// Relative to the file.
    pub relative: bool,
    pub line: u32,
}

/// Every import, in source order. Dynamic imports are included if their module is a literal.
pub fn imports(language: Language, source: &str) -> Vec<Import> {
    let Some(tree) = Tree::parse(language, source) else { return Vec::new() };
    let statements = tree.nodes().filter(|node| node.is(row(language).imports));
    let mut found: Vec<Import> = match language {
        Language::Python => statements.flat_map(python).collect(),
        Language::Rust => statements.flat_map(rust).collect(),
        Language::JavaScript | Language::TypeScript | Language::Tsx => {
            let mut found: Vec<Import> = statements.filter_map(script).collect();
            found.extend(
                tree.nodes().filter(|node| node.kind() == "export_statement").filter_map(script),
            );
            found
        }
        Language::Go => {
            statements.flat_map(go).chain(own_package(&tree, "package_clause")).collect()
        }
        Language::Java => {
            statements.filter_map(java).chain(own_package(&tree, "package_declaration")).collect()
        }
        Language::Other => Vec::new(),
    };
    found.extend(dynamic(&tree));
    found.sort_by_key(|import| import.line);
    found
}

fn import(node: Node<'_>, module: &str, names: Vec<String>, relative: bool) -> Import {
    Import { module: module.to_owned(), names, relative, line: node.line() }
}

fn python(node: Node<'_>) -> Vec<Import> {
    let names = |node: Node<'_>| -> Vec<String> {
        let named = node.children().filter(|child| child.field() == Some("name"));
        let plain = |child: Node<'_>| child.child("name").unwrap_or(child).text().to_owned();
        let mut names: Vec<String> = named.map(plain).collect();
        if node.child_of(&["wildcard_import"]).is_some() {
            names.push("*".to_owned());
        }
        names
    };
    match node.child("module_name") {
        Some(module) => {
            vec![import(node, module.text(), names(node), module.text().starts_with('.'))]
        }
        None if node.kind() == "import_statement" => {
            let modules = node.children().filter(|child| child.field() == Some("name"));
            let one = |child: Node<'_>| {
                let module = child.child("name").unwrap_or(child).text();
                let local = child.child("alias").map_or(module, Node::text);
                import(node, module, members(node.tree(), local), false)
            };
            modules.map(one).collect()
        }
        None => Vec::new(),
    }
}

/// The members of a module that are used: `b` in `a.b(1)`, where `a` is its local name.
fn members(tree: &Tree<'_>, local: &str) -> Vec<String> {
    const ACCESS: &[(&str, &str, &str)] = &[
        ("attribute", "object", "attribute"),
        ("member_expression", "object", "property"),
        ("selector_expression", "operand", "field"),
    ];
    let mut names: Vec<String> = Vec::new();
    for node in tree.nodes() {
        let Some((_, object, member)) = ACCESS.iter().find(|(kind, ..)| *kind == node.kind())
        else {
            continue;
        };
        let (Some(object), Some(member)) = (node.child(object), node.child(member)) else {
            continue;
        };
        if object.text() == local && !names.iter().any(|name| name == member.text()) {
            names.push(member.text().to_owned());
        }
    }
    names
}

/// `use a::{b, c::{d as e, self}};` is one import for each module.
fn rust(node: Node<'_>) -> Vec<Import> {
    const TREES_MAX: usize = 1000;
    let Some(argument) = node.child("argument").or_else(|| node.child("name")) else {
        return Vec::new();
    };
    let mut found: Vec<Import> = Vec::new();
    let mut open = vec![(String::new(), argument)];
    let mut steps = 0;
    while let Some((prefix, tree)) = open.pop() {
        steps += 1;
        if steps > TREES_MAX {
            break;
        }
        let join = |tail: &str| {
            if prefix.is_empty() { tail.to_owned() } else { format!("{prefix}::{tail}") }
        };
        match tree.kind() {
            "scoped_use_list" => {
                let prefix =
                    tree.child("path").map_or_else(|| prefix.clone(), |path| join(path.text()));
                open.extend(tree.child("list").map(|list| (prefix, list)));
            }
            "use_list" => {
                let mut inner: Vec<_> =
                    tree.named_children().map(|child| (prefix.clone(), child)).collect();
                inner.reverse();
                open.extend(inner);
            }
            "use_as_clause" => open.extend(tree.child("path").map(|path| (prefix.clone(), path))),
            "use_wildcard" => {
                let module = tree
                    .named_children()
                    .next()
                    .map_or_else(|| prefix.clone(), |path| join(path.text()));
                found.push(import(node, &module, vec!["*".to_owned()], is_local(&module)));
            }
            _ => {
                let full = join(tree.text());
                let (module, name) = full.rsplit_once("::").unwrap_or((full.as_str(), ""));
                let module = if name.is_empty() { full.as_str() } else { module };
                match found.iter_mut().find(|import| import.module == module) {
                    Some(known) => known.names.push(name.to_owned()),
                    None => {
                        found.push(import(node, module, vec![name.to_owned()], is_local(module)));
                    }
                }
            }
        }
    }
    for import in &mut found {
        import.names.retain(|name| !name.is_empty() && name != "self");
    }
    found
}

fn is_local(module: &str) -> bool {
    matches!(module.split("::").next(), Some("crate" | "self" | "super"))
}

fn script(node: Node<'_>) -> Option<Import> {
    let module = unquoted(node.child("source")?.text());
    let mut names = Vec::new();
    for part in node.descendants() {
        match part.kind() {
            "import_specifier" | "export_specifier" => {
                names.extend(part.child("name").map(|name| name.text().to_owned()));
            }
            "namespace_import" => {
                let local = part.named_children().next().map_or("", Node::text);
                names.extend(members(node.tree(), local));
            }
            "identifier"
                if part.parent().is_some_and(|parent| parent.kind() == "import_clause") =>
            {
                names.push("default".to_owned());
                names.extend(
                    members(node.tree(), part.text())
                        .into_iter()
                        .map(|member| format!("default.{member}")),
                );
            }
            _ => {}
        }
    }
    Some(import(node, module, names, module.starts_with('.')))
}

fn unquoted(text: &str) -> &str {
    text.trim_matches(['"', '\'', '`'])
}

fn go(node: Node<'_>) -> Vec<Import> {
    let specs = node.descendants().filter(|child| child.kind() == "import_spec");
    let one = |spec: Node<'_>| {
        let module = unquoted(spec.child("path")?.text());
        let local = spec
            .child("name")
            .map_or_else(|| module.rsplit('/').next().unwrap_or(module), Node::text);
        Some(import(spec, module, members(spec.tree(), local), false))
    };
    specs.filter_map(one).collect()
}

/// Files of one package see each other without an import.
fn own_package(tree: &Tree<'_>, kind: &str) -> Option<Import> {
    let clause = tree.nodes().find(|node| node.kind() == kind)?;
    let name = clause.named_children().last()?.text();
    // A Go test may be outside the package it tests, and then imports it.
    (!name.ends_with("_test")).then(|| import(clause, name, vec!["*".to_owned()], true))
}

fn java(node: Node<'_>) -> Option<Import> {
    let path = node
        .named_children()
        .find(|child| matches!(child.kind(), "scoped_identifier" | "identifier"))?;
    let is_static = node.children().any(|child| child.kind() == "static");
    if node.child_of(&["asterisk"]).is_some() {
        return Some(import(node, path.text(), vec!["*".to_owned()], false));
    }
    let (module, name) = path.text().rsplit_once('.')?;
    let (module, name) = if is_static { (module, name) } else { (path.text(), name) };
    Some(import(node, module, vec![name.to_owned()], false))
}

/// `importlib.import_module("a.b")`, `await import("./a")`, `require("./a")`,
/// `vi.importActual("./a")`.
fn dynamic(tree: &Tree<'_>) -> Vec<Import> {
    const LOADERS: [&str; 7] = [
        "importlib.import_module",
        "import_module",
        "__import__",
        "import",
        "require",
        "vi.importActual",
        "runpy.run_module",
    ];
    let loads = calls(tree.root()).filter(|call| LOADERS.contains(&call.callee.as_str()));
    let one = |call: super::call::Call<'_>| {
        let module =
            call.part(0)?.single().filter(|node| super::literal::class(*node).is_some())?;
        let module = unquoted(module.text());
        Some(import(call.node, module, taken(call.node), module.starts_with('.')))
    };
    loads.filter_map(one).collect()
}

/// `const { a, b } = require("./x")`, or the members of `const x = require("./x")`.
fn taken(load: Node<'_>) -> Vec<String> {
    let Some(place) = load
        .ancestors()
        .take(3)
        .find(|above| matches!(above.kind(), "variable_declarator" | "assignment"))
    else {
        return Vec::new();
    };
    let Some(target) = place.child("name").or_else(|| place.child("left")) else {
        return Vec::new();
    };
    if target.kind() == "object_pattern" {
        let names =
            target.named_children().map(|part| part.child("key").unwrap_or(part).text().to_owned());
        return names.collect();
    }
    members(load.tree(), target.text())
}
