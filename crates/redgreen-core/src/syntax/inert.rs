//! Question 4: a stub of a module in which every name exists, does nothing, and logs its calls.
//!
//! The results of its functions equal only themselves. Where a value can be truthy or falsy
//! (scripts, Rust's `bool`), an environment variable selects one. A test that passes with both
//! checks nothing.

mod go;
mod rust;

use std::ops::Range;

use super::call::calls;
use super::item::{Item, declared, items};
use super::language::{ItemKind, Language};
use super::tree::{Node, Tree};

/// The environment variable with the file to which each call adds a line.
pub const INERT_LOG: &str = "REDGREEN_INERT_LOG";
/// The placeholder for that file in the text of stubs.
pub const INERT_PLACE: &str = "@REDGREEN_INERT_LOG@";
/// The environment variable that selects another stub. `other`: the second value, falsy in scripts,
/// `true` in Rust. `true`: a truthy value in Python, like in scripts. `raise`: every call raises.
/// One of [`INERT_PLAIN`]: every call returns a plain value, in Python and scripts.
pub const INERT_VALUE: &str = "REDGREEN_INERT_VALUE";
/// Values of each plain type, one of them falsy. A test that passes with all of them checks only
/// the type. A test that checks whether a result is true, or within a range, fails with one of
/// them.
pub const INERT_PLAIN: [(&str, [&str; 3]); 2] =
    [("text", ["text", "other text", "no text"]), ("number", ["number", "other number", "zero"])];

const PYTHON: &str = include_str!("inert/stub.py");
const SCRIPT: &str = include_str!("inert/stub.js");
const PROGRAM: &str = include_str!("inert/program.py");
const NAMES_MAX: usize = 500;
const EXCEPTIONS: [&str; 3] = ["Error", "Exception", "Warning"];

/// The source of the stub for the module at `path`, which may already exist; `names` are the
/// imports of the tests. `None` if a stub cannot be written. In Rust and Go it has the items of the
/// module; [`inert_function`] declares missing ones.
pub fn inert_stub(
    language: Language,
    path: &str,
    names: &[String],
    existing: Option<&str>,
) -> Option<String> {
    let mut wanted: Vec<String> =
        existing.map(|source| provided(language, path, source)).unwrap_or_default();
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
        Language::Rust => rust::emptied(path, existing?, &[]),
        Language::Go => go::emptied(path, existing?, &[]),
        Language::Java | Language::Other => None,
    }
}

/// A Rust or Go file in which only new or changed functions since `old` do nothing. `None` if there
/// are none.
pub fn inert_since(path: &str, old: &str, new: &str) -> Option<String> {
    let language = Language::of_path(path);
    let known = items(language, path, old);
    let is_kept = |item: &&Item| {
        known.iter().any(|old| old.name == item.name && old.text_hash == item.text_hash)
    };
    let now = items(language, path, new);
    let kept: Vec<Range<usize>> =
        now.iter().filter(is_kept).map(|item| item.span.clone()).collect();
    let is_new = |item: &Item| {
        item.kind == ItemKind::Function && !item.in_tests && !kept.contains(&item.span)
    };
    if !now.iter().any(is_new) {
        return None;
    }
    match language {
        Language::Rust => rust::emptied(path, new, &kept),
        Language::Go => go::emptied(path, new, &kept),
        Language::Python
        | Language::JavaScript
        | Language::TypeScript
        | Language::Tsx
        | Language::Java
        | Language::Other => None,
    }
}

/// A stub for a file that nothing imports by name and that may be started as a program. It logs
/// when it is loaded.
pub fn inert_program(path: &str, existing: &str) -> Option<String> {
    let language = Language::of_path(path);
    if path.ends_with("__init__.py") {
        return Some(format!("{existing}\n{PROGRAM}"));
    }
    let text = inert_stub(language, path, &[], Some(existing))?;
    Some(match language {
        Language::Python => format!("{text}\n_record(\"loaded\")\n"),
        Language::JavaScript | Language::TypeScript | Language::Tsx => {
            format!("{text}redgreenRecord(\"loaded\");\n")
        }
        Language::Rust | Language::Go | Language::Java | Language::Other => text,
    })
}

/// A missing function, declared from the calls in the tests. `None` if they do not call it.
pub fn inert_function(language: Language, name: &str, tests: &[String]) -> Option<String> {
    tests.iter().find_map(|source| {
        let tree = Tree::parse(language, source)?;
        let call =
            calls(tree.root()).find(|call| call.name() == name && !call.callee.contains('!'))?;
        match language {
            Language::Rust => Some(rust::declaration(name, &call)),
            Language::Go => Some(go::declaration(name, &call)),
            Language::Python
            | Language::JavaScript
            | Language::TypeScript
            | Language::Tsx
            | Language::Java
            | Language::Other => None,
        }
    })
}

/// Support code for [`inert_function`], for the root of a crate.
pub fn inert_module() -> String {
    rust::module()
}

/// A file that the stubs of a folder need, for each Go package.
pub fn inert_helper(path: &str, source: &str) -> Option<(String, String)> {
    go::helper(path, source)
}

fn is_name(name: &str) -> bool {
    name.starts_with(|letter: char| letter.is_alphabetic() || "_$".contains(letter))
        && name.chars().all(|letter| super::word::is_word(letter) || letter == '$')
}

/// The current exports of the module, so that its other users still load.
fn provided(language: Language, path: &str, source: &str) -> Vec<String> {
    let Some(tree) = Tree::parse(language, source) else { return Vec::new() };
    if !language.is_script() {
        let outermost =
            declared(&tree, path).into_iter().filter(|one| !one.item.name.contains("::"));
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
        let declared = part
            .child("name")
            .into_iter()
            .chain(part.named_children().filter_map(|inner| inner.child("name")));
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
        return Some(
            value
                .named_children()
                .map(|part| part.child("key").unwrap_or(part).text().to_owned())
                .collect(),
        );
    }
    let name = left.strip_prefix("module.exports.").or_else(|| left.strip_prefix("exports."))?;
    Some(vec![name.to_owned()])
}

fn python(names: &[String]) -> String {
    let list: Vec<String> =
        names.iter().filter(|name| *name != "default").map(|name| format!("\"{name}\"")).collect();
    PYTHON.replace("NAMES = []", &format!("NAMES = [{}]", list.join(", ")))
}

fn script(language: Language, path: &str, names: &[String], existing: &str) -> String {
    let common = path.ends_with(".cjs")
        || existing.contains("module.exports")
            && !existing.lines().any(|line| line.starts_with("export "));
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
        // The export itself may be called.
        text.push_str("module.exports = redgreenInert(\"default\");\n");
    }
    for name in names.iter().filter(|name| !(common && *name == "default")) {
        let is_error = EXCEPTIONS.iter().any(|end| name.ends_with(end));
        let value = if is_error {
            format!("class {name} extends Error {{}}")
        } else {
            format!("redgreenInert(\"{name}\")")
        };
        text.push_str(&match (common, name.as_str()) {
            (true, name) => format!("module.exports.{name} = {value};\n"),
            (false, "default") => "export default redgreenInert(\"default\");\n".to_owned(),
            (false, name) => format!("export const {name} = {value};\n"),
        });
    }
    text
}
