//! Question 4: a stand-in for a module, in which every name exists, does nothing and says that it was called.
//!
//! What its functions return equals nothing but itself. Where a language lets every value be true or false (scripts, Rust's `bool`),
//! the environment chooses between two of them: a test that passes with both asks for nothing.

use super::item::declared;
use super::language::{ItemKind, Language};
use super::overlay::apply;
use super::tree::{Node, Tree};

/// The environment variable that names the file to which each call adds a line.
pub const INERT_LOG: &str = "REDGREEN_INERT_LOG";
/// The environment variable that asks for another stand-in. `other`: the second value, falsy for scripts, `true` for Rust.
/// `true`: one that counts as true in Python, as it does in scripts. `raise`: every call ends with an exception.
pub const INERT_VALUE: &str = "REDGREEN_INERT_VALUE";

const PYTHON: &str = include_str!("inert/stub.py");
const SCRIPT: &str = include_str!("inert/stub.js");
const RUST_RECORD: &str = include_str!("inert/record.rs.in");
const NAMES_MAX: usize = 500;
const EXCEPTIONS: [&str; 3] = ["Error", "Exception", "Warning"];

/// The source of the stand-in for the module at `path`, which may exist already; `names` are what tests import from it.
/// `None` where no stand-in can be written: other languages, and Rust functions whose signatures nobody wrote yet.
pub fn inert_stub(language: Language, path: &str, names: &[String], existing: Option<&str>) -> Option<String> {
    let mut wanted: Vec<String> = existing.map(|source| provided(language, path, source)).unwrap_or_default();
    for name in names.iter().filter_map(|name| name.split('.').next()) {
        if is_name(name) && !wanted.iter().any(|known| known == name) {
            wanted.push(name.to_owned());
        }
    }
    wanted.truncate(NAMES_MAX);
    match language {
        Language::Python => Some(python(&wanted)),
        Language::JavaScript | Language::TypeScript | Language::Tsx => {
            Some(script(language, path, &wanted, existing.unwrap_or_default()))
        }
        Language::Rust => rust(path, existing?, names),
        Language::Go | Language::Java | Language::Other => None,
    }
}

fn is_name(name: &str) -> bool {
    name.starts_with(|letter: char| letter.is_alphabetic() || "_$".contains(letter))
        && name.chars().all(|letter| super::word::is_word(letter) || letter == '$')
}

/// What the module offers now, so that its other users still load.
fn provided(language: Language, path: &str, source: &str) -> Vec<String> {
    let Some(tree) = Tree::parse(language, source) else { return Vec::new() };
    if !language.is_script() {
        let outermost = declared(&tree, path).into_iter().filter(|one| !one.item.name.contains("::"));
        return outermost.map(|one| one.item.name).filter(|name| !name.starts_with('_')).collect();
    }
    let exports = tree.nodes().filter(|node| node.kind() == "export_statement");
    let mut names: Vec<String> = exports.flat_map(exported).collect();
    names.extend(tree.nodes().filter_map(common_export).flatten());
    names.retain(|name| is_name(name));
    names.dedup();
    names
}

fn exported(node: Node<'_>) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    if node.children().any(|child| child.kind() == "default") {
        names.push("default".to_owned());
    }
    for part in node.named_children() {
        let declared =
            part.child("name").into_iter().chain(part.named_children().filter_map(|inner| inner.child("name")));
        let specifiers = part.named_children().filter(|inner| inner.kind() == "export_specifier");
        match part.kind() {
            "export_clause" => names.extend(
                specifiers
                    .filter_map(|one| one.child("alias").or_else(|| one.child("name")))
                    .map(|name| name.text().to_owned()),
            ),
            _ => names.extend(declared.map(|name| name.text().to_owned())),
        }
    }
    names
}

/// `module.exports = { a, b }`, `exports.a = …`.
fn common_export(node: Node<'_>) -> Option<Vec<String>> {
    let left = node.child("left").filter(|_| node.kind() == "assignment_expression")?.text();
    if left == "module.exports" {
        let value = node.child("right")?;
        return Some(value.named_children().map(|part| part.child("key").unwrap_or(part).text().to_owned()).collect());
    }
    let name = left.strip_prefix("module.exports.").or_else(|| left.strip_prefix("exports."))?;
    Some(vec![name.to_owned()])
}

fn python(names: &[String]) -> String {
    let list: Vec<String> = names.iter().filter(|name| *name != "default").map(|name| format!("\"{name}\"")).collect();
    PYTHON.replace("NAMES = []", &format!("NAMES = [{}]", list.join(", ")))
}

fn script(language: Language, path: &str, names: &[String], existing: &str) -> String {
    let common = path.ends_with(".cjs")
        || existing.contains("module.exports") && !existing.lines().any(|line| line.starts_with("export "));
    let mut text = String::new();
    if language != Language::JavaScript {
        text.push_str("// @ts-nocheck\n");
    }
    text.push_str(if common {
        "const { appendFileSync } = require(\"node:fs\");\n"
    } else {
        "import { appendFileSync } from \"node:fs\";\n"
    });
    text.push_str(SCRIPT);
    if common {
        // What is exported may itself be called.
        text.push_str("module.exports = redgreenInert(\"default\");\n");
    }
    for name in names.iter().filter(|name| !(common && *name == "default")) {
        let is_error = EXCEPTIONS.iter().any(|end| name.ends_with(end));
        let value =
            if is_error { format!("class {name} extends Error {{}}") } else { format!("redgreenInert(\"{name}\")") };
        text.push_str(&match (common, name.as_str()) {
            (true, name) => format!("module.exports.{name} = {value};\n"),
            (false, "default") => "export default redgreenInert(\"default\");\n".to_owned(),
            (false, name) => format!("export const {name} = {value};\n"),
        });
    }
    text
}

/// The functions keep their signatures and lose their bodies.
fn rust(path: &str, existing: &str, names: &[String]) -> Option<String> {
    let tree = Tree::parse(Language::Rust, existing)?;
    let items = declared(&tree, path);
    let known = |name: &String| name == "*" || super::word::has(existing, name);
    if !names.iter().all(known) {
        return None;
    }
    let mut edits = Vec::new();
    for one in items.iter().filter(|one| one.item.kind == ItemKind::Function && !one.item.in_tests) {
        let inner = edits
            .last()
            .is_some_and(|(span, _): &(std::ops::Range<usize>, String)| span.contains(&one.node.span().start));
        let constant = one
            .node
            .children()
            .any(|child| child.kind() == "function_modifiers" && super::word::has(child.text(), "const"));
        let Some(body) = one.node.child("body").filter(|_| !inner && !constant) else { continue };
        let returns = one.node.child("return_type").map_or("()", Node::text);
        let value = value_of(returns, 0).unwrap_or_else(|| "unimplemented!(\"inert\")".to_owned());
        let record = RUST_RECORD.trim().replace("NAME", &one.item.name);
        edits.push((body.span(), format!("{{ {record} {value} }}")));
    }
    let text = apply(existing, edits)?;
    Some(format!("#![allow(unused, clippy::all)]\n{text}"))
}

/// A value of the type that no test expects.
fn value_of(kind: &str, depth: usize) -> Option<String> {
    const NESTED_MAX: usize = 8;
    const VALUES: [(&str, &str); 16] = [
        ("()", "()"),
        ("u8", "211"),
        ("i8", "-113"),
        ("u16", "60_013"),
        ("i16", "-31_013"),
        ("u32", "1_999_999_973"),
        ("i32", "1_999_999_973"),
        ("u64", "1_999_999_973"),
        ("i64", "1_999_999_973"),
        ("u128", "1_999_999_973"),
        ("i128", "1_999_999_973"),
        ("usize", "1_999_999_973"),
        ("isize", "1_999_999_973"),
        ("f32", "f32::NAN"),
        ("f64", "f64::NAN"),
        ("char", "'\\u{1f}'"),
    ];
    let kind = kind.trim();
    if let Some((_, value)) = VALUES.iter().find(|(name, _)| *name == kind) {
        return Some((*value).to_owned());
    }
    if kind.starts_with('&') && kind.ends_with("str") {
        return Some("\"\\u{1}inert\"".to_owned());
    }
    let inner = |start: &str| {
        let inside = kind.strip_prefix(start)?.strip_suffix('>')?;
        value_of(&first_argument(inside), depth + 1)
    };
    match kind {
        _ if depth > NESTED_MAX => None,
        "bool" => Some(format!("std::env::var(\"{INERT_VALUE}\").is_ok_and(|value| value == \"other\")")),
        "String" => Some("String::from(\"\\u{1}inert\")".to_owned()),
        _ => inner("Option<")
            .map(|value| format!("Some({value})"))
            .or_else(|| inner("Result<").map(|value| format!("Ok({value})")))
            .or_else(|| inner("Vec<").map(|value| format!("vec![{value}]"))),
    }
}

/// What stands before the first comma that is not inside brackets.
fn first_argument(text: &str) -> String {
    let mut depth = 0_i32;
    let first = text.chars().take_while(|letter| {
        depth += match letter {
            '<' | '(' | '[' => 1,
            '>' | ')' | ']' => -1,
            _ => 0,
        };
        depth > 0 || *letter != ','
    });
    first.collect()
}
