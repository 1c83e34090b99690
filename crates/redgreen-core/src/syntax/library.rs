//! Question 12: does a test use anything but the language's own library, and what does it do with a file it reads?

use std::collections::HashSet;

use super::call::calls;
use super::imports::imports;
use super::item::{Found, Item, found};
use super::language::{ItemKind, Language, row};
use super::tree::{Node, Tree};

/// Names that every file knows.
const RUST: &[&str] = &[
    "Box",
    "Err",
    "None",
    "Ok",
    "Option",
    "Result",
    "Some",
    "String",
    "Vec",
    "alloc",
    "assert",
    "assert_eq",
    "assert_ne",
    "bool",
    "char",
    "concat",
    "core",
    "dbg",
    "eprintln",
    "env",
    "f32",
    "f64",
    "format",
    "i32",
    "i64",
    "isize",
    "matches",
    "panic",
    "println",
    "std",
    "str",
    "u16",
    "u32",
    "u64",
    "u8",
    "unreachable",
    "usize",
    "vec",
];
const GO: &[&str] = &[
    "_", "any", "append", "bool", "byte", "cap", "copy", "delete", "error", "false", "float64", "int", "int64", "len",
    "make", "map", "new", "nil", "panic", "rune", "string", "true", "uint",
];
/// Parts of a library by which the project itself may be started.
const STARTERS: &[&str] = &["Command", "process", "exec", "plugin", "CARGO_BIN_EXE", "include", "include_str"];
const NAMES: &[&str] = &["identifier", "type_identifier", "package_identifier"];
/// Where a name comes to be: the node, and the field of the name.
const GIVES: &[(&str, &str)] = &[
    ("const_item", "name"),
    ("const_spec", "name"),
    ("for_expression", "pattern"),
    ("function_declaration", "name"),
    ("function_item", "name"),
    ("let_condition", "pattern"),
    ("let_declaration", "pattern"),
    ("match_arm", "pattern"),
    ("parameter", "pattern"),
    ("parameter_declaration", "name"),
    ("range_clause", "left"),
    ("short_var_declaration", "left"),
    ("var_spec", "name"),
];
const READS: &[&str] = &["read", "Read", "open", "Open", "load", "golden"];

/// Whether nothing that the test names can come from the project. Only asked of Rust and Go; in doubt it can.
pub fn uses_only_library(language: Language, path: &str, source: &str, item: &Item) -> bool {
    let words = match language {
        Language::Rust => RUST,
        Language::Go => GO,
        Language::Python
        | Language::JavaScript
        | Language::TypeScript
        | Language::Tsx
        | Language::Java
        | Language::Other => return false,
    };
    let Some(tree) = Tree::parse(language, source).filter(|tree| !tree.is_broken()) else { return false };
    let found = found(&tree, path);
    let Some(test) = found.iter().find(|one| one.item.span == item.span && one.item.name == item.name) else {
        return false;
    };
    let mut known: HashSet<&str> = words.iter().copied().collect();
    let brought = library_names(&tree);
    known.extend(brought.iter().map(String::as_str));
    let helpers: Vec<&Found<'_>> = found
        .iter()
        .filter(|one| one.item.in_tests && !one.item.is_test && one.item.kind == ItemKind::Function)
        .filter(|one| is_plain(one.node, &known))
        .collect();
    known.extend(helpers.iter().map(|one| super::item::simple(&one.item.name)));
    is_plain(test.node, &known)
}

/// What the file takes from the language's library.
fn library_names(tree: &Tree<'_>) -> Vec<String> {
    let rust = tree.language == Language::Rust;
    let own = imports(tree.language, tree.source).into_iter().filter(|import| {
        let head = import.module.split(if rust { "::" } else { "/" }).next().unwrap_or_default();
        // A package of Go's own has no host in its path.
        if rust { ["std", "core", "alloc"].contains(&head) } else { !import.relative && !head.contains('.') }
    });
    let names = own.flat_map(|import| {
        let last = import.module.rsplit([':', '/']).next().unwrap_or_default().to_owned();
        import.names.into_iter().filter(move |_| rust).chain([last])
    });
    names.filter(|name| !STARTERS.contains(&name.as_str())).collect()
}

/// Whether every name in it is known, or given by itself.
fn is_plain(node: Node<'_>, known: &HashSet<&str>) -> bool {
    let starts = STARTERS.iter().any(|word| super::word::has(node.text(), word));
    let row = row(node.tree().language);
    let is_given = |leaf: &Node<'_>| {
        let mut below = *leaf;
        for above in leaf.ancestors().take_while(|above| above.at() >= node.at()) {
            let gives = GIVES.iter().any(|(kind, field)| above.kind() == *kind && below.field() == Some(field));
            if gives || above.kind() == "closure_parameters" {
                return true;
            }
            below = above;
        }
        false
    };
    let leaves: Vec<Node<'_>> = node.leaves().filter(|leaf| !leaf.is(row.comments)).collect();
    let given: HashSet<&str> =
        leaves.iter().filter(|leaf| leaf.is(NAMES) && is_given(leaf)).map(|leaf| leaf.text()).collect();
    let mut before = "";
    let mut plain = !starts;
    for leaf in leaves {
        let tail = matches!(before, "." | "::");
        plain &= tail || !leaf.is(NAMES) || known.contains(leaf.text()) || given.contains(leaf.text());
        before = leaf.text();
    }
    plain
}

/// Whether a test that fails at reading a file, at that line of it or of a helper, calls one of the functions with
/// something else than what it reads: the file is what the answer is compared with.
pub fn compares_what_it_reads(
    language: Language,
    path: &str,
    source: &str,
    item: &Item,
    line: Option<u32>,
    names: &[String],
) -> bool {
    let Some(tree) = Tree::parse(language, source) else { return false };
    let found = found(&tree, path);
    let Some(test) = found.iter().find(|one| one.item.span == item.span && one.item.name == item.name) else {
        return false;
    };
    let at = |node: Node<'_>| line.is_some_and(|line| (node.line()..=node.last_line()).contains(&line));
    let helper = found.iter().filter(|one| one.item.kind == ItemKind::Function && !one.item.is_test);
    let helper: Vec<&str> = helper.filter(|one| at(one.node)).map(|one| super::item::simple(&one.item.name)).collect();
    let reads = |text: &str| {
        READS.iter().any(|word| text.contains(word)) || helper.iter().any(|name| super::word::has(text, name))
    };
    let bindings = test.body.descendants().filter_map(|node| {
        let name = node.child("pattern").or_else(|| node.child("left")).or_else(|| node.child("name"))?;
        let value = node.child("value").or_else(|| node.child("right"))?;
        reads(value.text()).then(|| name.text())
    });
    let read: Vec<&str> = bindings.collect();
    let is_own = |callee: &str| {
        let mut parts = callee.split(['.', ':']).filter(|part| !part.is_empty());
        parts.any(|part| names.iter().any(|name| name == part || name == "*"))
    };
    calls(test.body).filter(|call| is_own(&call.callee)).any(|call| {
        let given = call.arguments.map_or("", Node::text);
        !reads(given) && !read.iter().any(|name| super::word::has(given, name))
    })
}
