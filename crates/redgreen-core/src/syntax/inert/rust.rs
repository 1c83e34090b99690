//! Rust: functions keep their signatures, but lose their bodies.

use std::ops::Range;

use crate::syntax::INERT_VALUE;
use crate::syntax::call::Call;
use crate::syntax::item::{ItemNodes, declared};
use crate::syntax::language::{ItemKind, Language};
use crate::syntax::overlay::apply;
use crate::syntax::tree::{Node, Tree};
use crate::syntax::word;

const RECORD: &str = include_str!("record.rs.in");
const MODULE: &str = include_str!("inert.rs.in");

/// Support code for missing functions, for the root of the crate.
pub(super) fn module() -> String {
    MODULE.replace("RECORD", &RECORD.trim().replace("NAME", "{name}"))
}

/// A missing function, with as many parameters as the call has.
pub(super) fn declaration(name: &str, call: &Call<'_>) -> String {
    let count = call.parts().len();
    let joined = |one: &dyn Fn(usize) -> String| (0..count).map(one).collect::<String>();
    let kinds = joined(&|at| format!("A{at}: std::fmt::Debug, "));
    let parameters = joined(&|at| format!("a{at}: A{at}, "));
    let given = joined(&|at| format!("a{at}, "));
    format!(
        "#[allow(warnings)]\npub fn {name}<{kinds}>({parameters}) -> crate::redgreen_inert::Inert {{ \
         crate::redgreen_inert::called({name:?}, &({given})) }}\n"
    )
}

/// `kept` contains the positions of functions that stay unchanged.
pub(super) fn emptied(path: &str, existing: &str, kept: &[Range<usize>]) -> Option<String> {
    let tree = Tree::parse(Language::Rust, existing)?;
    let items = declared(&tree, path);
    let mut edits = Vec::new();
    let is_emptied = |one: &&ItemNodes<'_>| {
        one.item.kind == ItemKind::Function && !one.item.in_tests && !kept.contains(&one.item.span)
    };
    for one in items.iter().filter(is_emptied) {
        let inner = edits.last().is_some_and(|(span, _): &(Range<usize>, String)| {
            span.contains(&one.node.span().start)
        });
        let constant = one
            .node
            .children()
            .any(|child| child.kind() == "function_modifiers" && word::has(child.text(), "const"));
        let Some(body) = one.node.child("body").filter(|_| !inner && !constant) else { continue };
        let returns = one.node.child("return_type").map_or("()", Node::text);
        let value = value_of(returns, 0).unwrap_or_else(|| "unimplemented!(\"inert\")".to_owned());
        let record = RECORD.trim().replace("NAME", &one.item.name);
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
        "bool" => {
            Some(format!("std::env::var(\"{INERT_VALUE}\").is_ok_and(|value| value == \"other\")"))
        }
        "String" => Some("String::from(\"\\u{1}inert\")".to_owned()),
        _ => inner("Option<")
            .map(|value| format!("Some({value})"))
            .or_else(|| inner("Result<").map(|value| format!("Ok({value})")))
            .or_else(|| inner("Vec<").map(|value| format!("vec![{value}]"))),
    }
}

/// The text before the first comma outside of brackets.
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
