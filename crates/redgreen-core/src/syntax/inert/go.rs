//! Go: functions return at once. Their bodies stay below, so that imports and declarations are
//! still used.

use std::ops::Range;

use crate::path::{folder, join};
use crate::syntax::call::Call;
use crate::syntax::item::declared;
use crate::syntax::language::{ItemKind, Language};
use crate::syntax::overlay::apply;
use crate::syntax::tree::{Node, Tree};

const HELPER: &str = include_str!("helper.go.in");
const HELPER_FILE: &str = "redgreen_inert.go";
const NUMBERS: [&str; 8] = ["int", "int32", "int64", "rune", "uint", "uint32", "uint64", "uintptr"];

/// `kept` contains the positions of functions that stay unchanged.
pub(super) fn emptied(path: &str, existing: &str, kept: &[Range<usize>]) -> Option<String> {
    let tree = Tree::parse(Language::Go, existing).filter(|tree| !tree.is_broken())?;
    let mut edits = Vec::new();
    for one in declared(&tree, path).into_iter().filter(|one| !kept.contains(&one.item.span)) {
        let is_code =
            one.item.kind == ItemKind::Function && !one.item.in_tests && one.item.name != "init";
        let Some(body) = one.node.child("body").filter(|_| is_code) else { continue };
        let at = body.span().start + 1;
        let values: Vec<String> = results(one.node).iter().map(|kind| value_of(kind)).collect();
        let returned =
            format!(" if redgreenInert({:?}) {{ return {} }};", one.item.name, values.join(", "));
        edits.push((at..at, returned));
    }
    apply(existing, edits)
}

/// Support code for the stubs of a package.
pub(super) fn helper(path: &str, source: &str) -> Option<(String, String)> {
    let tree = Tree::parse(Language::Go, source).filter(|_| path.ends_with(".go"))?;
    let clause = tree.nodes().find(|node| node.kind() == "package_clause")?;
    let package = clause.named_children().last()?.text().trim_end_matches("_test");
    Some((join(folder(path), HELPER_FILE), HELPER.replace("PACKAGE", package)))
}

/// A missing function, with as many results as the call expects.
pub(super) fn declaration(name: &str, call: &Call<'_>) -> String {
    let list = call.node.parent();
    let taken = list
        .and_then(Node::parent)
        .filter(|_| list.is_some_and(|list| list.named_children().count() == 1));
    let taken = taken
        .filter(|taken| matches!(taken.kind(), "short_var_declaration" | "assignment_statement"));
    let names: Vec<&str> = taken
        .and_then(|taken| taken.child("left"))
        .into_iter()
        .flat_map(Node::named_children)
        .map(Node::text)
        .collect();
    let more: Vec<(&str, &str)> = names
        .iter()
        .skip(1)
        .map(|name| match *name {
            "ok" => ("bool", "redgreenOther()"),
            _ => ("error", "redgreenError()"),
        })
        .collect();
    let kinds: String = more.iter().map(|(kind, _)| format!(", {kind}")).collect();
    let values: String = more.iter().map(|(_, value)| format!(", {value}")).collect();
    format!(
        "\nfunc {name}(arguments ...interface{{}}) (interface{{}}{kinds}) {{\n\treturn redgreenCall({name:?}, arguments){values}\n}}\n"
    )
}

/// The result types of a function.
fn results(function: Node<'_>) -> Vec<&str> {
    let Some(result) = function.child("result") else { return Vec::new() };
    if result.kind() != "parameter_list" {
        return vec![result.text()];
    }
    let mut kinds = Vec::new();
    for part in result.named_children() {
        let names = part.children().filter(|child| child.field() == Some("name")).count();
        let kind = part.child("type").unwrap_or(part).text();
        kinds.extend(std::iter::repeat_n(kind, names.max(1)));
    }
    kinds
}

/// A value of the type that no test expects, or the zero value.
fn value_of(kind: &str) -> String {
    let kind = kind.trim();
    match kind {
        "string" | "any" | "interface{}" => "\"\\x01inert\"".to_owned(),
        "bool" => "redgreenOther()".to_owned(),
        "error" => "redgreenError()".to_owned(),
        "float32" | "float64" => "-1999999973.25".to_owned(),
        "byte" | "uint8" => "211".to_owned(),
        "int8" => "-113".to_owned(),
        "int16" | "uint16" => "31013".to_owned(),
        _ if NUMBERS.contains(&kind) => "1999999973".to_owned(),
        _ => match kind.strip_prefix("[]") {
            Some(inner) => format!("{kind}{{{}}}", value_of(inner)),
            None => format!("*new({kind})"),
        },
    }
}
