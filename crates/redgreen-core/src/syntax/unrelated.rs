//! Question 10: does a test fail at a statement that no code of the project can make hold?

mod count;

use std::collections::HashSet;

use super::assertion::{Assertion, Claim, assertions, is_failure};
use super::call::{Part, call};
use super::glob;
use super::imports::imports;
use super::item::{Found, Item, found, within};
use super::language::{Language, Row, row};
use super::literal::is_pure;
use super::tree::{Node, Tree};

const ROUNDS_MAX: usize = 20;
const TEXT_CHARS_MAX: usize = 120;
/// Parts of a language's library that answer the same whatever the project does.
const STILL_MODULES: &[&str] = &[
    "calendar",
    "datetime",
    "decimal",
    "fractions",
    "math",
    "platform",
    "random",
    "statistics",
    "string",
    "time",
    // A double answers what its test told it to.
    "unittest.mock",
    "uuid",
];
/// What a runner gives tests to make doubles and to ask with.
const RUNNERS: &[&str] = &["@jest/globals", "node:test", "sinon", "vitest"];
const STILL_WORDS: &[&str] = &[
    "abs",
    "bool",
    "dict",
    "float",
    "int",
    "len",
    "list",
    "max",
    "min",
    "range",
    "repr",
    "round",
    "set",
    "sorted",
    "str",
    "sum",
    "tuple",
    "type",
    "Array",
    "Date",
    "Math",
    "Number",
    "String",
    "NaN",
    "undefined",
    "vec",
    "assert",
    "assert_eq",
    "assert_ne",
    "expect",
    "jest",
];
const DEFINITIONS: &[(&str, &str)] = &[
    ("assignment", "left"),
    ("variable_declarator", "name"),
    ("let_declaration", "pattern"),
    ("const_item", "name"),
    ("static_item", "name"),
];

/// The statement of the test at that line, if it fails whatever the project's code does: it always fails, or it compares
/// what nobody else has a hand in, or it counts assertions that are not there. In doubt it is about the code. `own` are
/// the names of the project's code, which asserts nothing.
pub fn unrelated(
    language: Language,
    path: &str,
    source: &str,
    item: &Item,
    line: u32,
    own: &[String],
) -> Option<String> {
    let tree = Tree::parse(language, source)?;
    let found = found(&tree, path);
    let test = found.iter().find(|one| one.item.span == item.span && one.item.name == item.name)?;
    let row = row(language);
    let here = |node: Node<'_>| (node.line()..=node.last_line()).contains(&line);
    let all = assertions(&tree);
    let asserted = within(&all, test.body, |assertion| assertion.node);
    // Some runners tell only where the test begins; what always fails does so wherever that was.
    let reached = statements(test, row).take_while(|statement| !statement.is(row.returns));
    if let Some(statement) = reached.into_iter().find(|statement| always_fails(*statement, row)) {
        let panics = test.decorations.iter().any(|decoration| decoration.name == "should_panic");
        return (!panics).then(|| told(statement));
    }
    if let Some(count) = count::never_met(&tree, test, &all, own) {
        return Some(told(count));
    }
    let last = asserted.iter().filter(|assertion| here(assertion.node)).min_by_key(|one| one.node.span().len())?;
    is_still(&tree, last, row).then(|| told(last.node))
}

fn told(node: Node<'_>) -> String {
    let text = node.text().split_whitespace().collect::<Vec<_>>().join(" ");
    text.chars().take(TEXT_CHARS_MAX).collect()
}

/// `let width: u32 = "3";` in that line of a Rust test: a value that is written out as another type of Rust's own.
pub fn mistyped(source: &str, line: u32) -> Option<String> {
    let tree = Tree::parse(Language::Rust, source)?;
    let declared = tree.nodes().find(|node| node.kind() == "let_declaration" && node.line() == line)?;
    let kind = declared.child("type").filter(|kind| kind.kind() == "primitive_type" || kind.text() == "String")?;
    let value = declared.child("value").filter(|value| kind.line() == line && is_pure(&Part::of(*value)))?;
    (value.line() == line).then(|| told(declared))
}

/// What the test does whatever happens.
fn statements<'t>(test: &Found<'t>, row: &'static Row) -> impl Iterator<Item = Node<'t>> {
    let inner = test.body.child_of(&["statement_list"]).unwrap_or(test.body);
    inner.named_children().filter(|child| !child.is(row.comments))
}

/// `raise Exception`, `throw new Error()`, `panic!()`, `pytest.fail()`: reached, they fail.
fn always_fails(statement: Node<'_>, row: &Row) -> bool {
    const ENDS: &[&str] = &["panic!", "unimplemented!", "todo!", "unreachable!"];
    let only = statement.named_children().next().filter(|_| statement.kind() == "expression_statement");
    let inner = only.unwrap_or(statement);
    let raises = inner.is(row.raises) && !inner.text().contains("Skip");
    let ends = |callee: &str| ENDS.contains(&callee) || glob::any(row.exits, callee);
    // The value of a Rust test is its last expression.
    let is_value = inner.at() == statement.at() && statement.next_sibling().is_none_or(|next| next.kind() == "}");
    let errs = |callee: &str| callee == "Err" && is_value && inner.tree().language == Language::Rust;
    raises || call(inner).is_some_and(|call| is_failure(&call) || ends(&call.callee) || errs(&call.callee))
}

/// Whether the assertion looks at nothing but what the test file itself writes down.
fn is_still(tree: &Tree<'_>, assertion: &Assertion<'_>, row: &Row) -> bool {
    let parts = match &assertion.claim {
        Claim::Equal { left, right, .. } => vec![left, right],
        Claim::Truth { condition, .. } => vec![condition],
        Claim::Throws | Claim::Fail | Claim::Other => return false,
    };
    let library = library(tree);
    let still = still_variables(tree, row, &library);
    let mut names = parts.into_iter().flat_map(|part| part.subtree()).filter(|node| is_name(*node, row));
    names.all(|name| still.contains(name.text()) || is_known(&library, name.text()))
}

fn is_known(library: &HashSet<String>, name: &str) -> bool {
    STILL_WORDS.contains(&name) || library.contains(name)
}

/// Names of the language's library that stand for nothing the project could change.
fn library(tree: &Tree<'_>) -> HashSet<String> {
    let still = match tree.language {
        Language::Python => STILL_MODULES,
        Language::JavaScript | Language::TypeScript | Language::Tsx => RUNNERS,
        Language::Rust | Language::Go | Language::Java | Language::Other => &[],
    };
    let own = imports(tree.language, tree.source)
        .into_iter()
        .filter(|import| still.contains(&import.module.as_str()) && !import.relative);
    own.flat_map(|import| import.names.into_iter().chain([import.module])).collect()
}

/// Variables that never meet anything but literals and each other.
fn still_variables<'t>(tree: &'t Tree<'_>, row: &Row, library: &HashSet<String>) -> HashSet<&'t str> {
    let defined = tree.nodes().filter_map(|node| {
        let (_, field) = DEFINITIONS.iter().find(|(kind, _)| *kind == node.kind())?;
        node.child(field).filter(|name| name.is(row.identifiers)).map(Node::text)
    });
    let mut still: HashSet<&str> = defined.collect();
    let mut company: Vec<(&str, HashSet<&str>)> = Vec::new();
    for name in tree.nodes().filter(|node| is_name(*node, row) && still.contains(node.text())) {
        let Some(statement) = statement_of(name, row) else { continue };
        let names = statement.subtree().filter(|node| is_name(*node, row)).map(Node::text);
        company.push((name.text(), names.collect()));
    }
    for _ in 0..ROUNDS_MAX {
        let moved = company.iter().find(|(name, names)| {
            still.contains(name) && names.iter().any(|other| !still.contains(other) && !is_known(library, other))
        });
        match moved.map(|(name, _)| *name) {
            Some(name) => still.remove(name),
            None => return still,
        };
    }
    HashSet::new()
}

/// The smallest statement around it; nothing for the names of an import.
fn statement_of<'t>(name: Node<'t>, row: &Row) -> Option<Node<'t>> {
    let mut below = name;
    for above in name.ancestors() {
        if above.is(row.imports) {
            return None;
        }
        if above.is(row.blocks) || matches!(above.kind(), "module" | "program" | "source_file" | "statement_block") {
            return Some(below);
        }
        below = above;
    }
    None
}

/// A name that stands for a value, and not the name of a member or of an argument.
fn is_name(node: Node<'_>, row: &Row) -> bool {
    let member = matches!(node.field(), Some("attribute" | "property" | "field"));
    let keyword = node.field() == Some("name") && node.parent().is_some_and(|above| above.kind() == "keyword_argument");
    node.is(row.identifiers) && node.is_leaf() && !member && !keyword && node.kind() != "property_identifier"
}
