//! Question 12: which answers does a test write out, for calls that it writes out as well?

use super::assertion::{Claim, assertions};
use super::call::{Call, call};
use super::item::{Item, found, within};
use super::language::{Language, row};
use super::literal::is_pure;
use super::tree::{Node, Tree};

/// `assert to_roman(4) == "IV"`, in its parts and as it is written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stated {
    pub name: String,
    pub arguments: Vec<String>,
    pub expected: String,
    pub statement: String,
}

/// Matchers that mean the same value and nothing less.
const SAME: &[&str] = &["toBe", "toEqual", "toStrictEqual", "equal", "strictEqual", "deepEqual", "deepStrictEqual"];

/// Every equality of the test between a call of one of the names and a value, both written out.
pub fn stated(language: Language, path: &str, source: &str, item: &Item, names: &[String]) -> Vec<Stated> {
    let Some(tree) = Tree::parse(language, source) else { return Vec::new() };
    let found = found(&tree, path);
    let Some(test) = found.iter().find(|one| one.item.span == item.span && one.item.name == item.name) else {
        return Vec::new();
    };
    let all = assertions(&tree);
    let mut stated = Vec::new();
    for assertion in within(&all, test.body, |assertion| assertion.node) {
        let Claim::Equal { left, right, negated: false } = &assertion.claim else { continue };
        let (asked, expected) = if is_pure(left) { (right, left) } else { (left, right) };
        let Some(asked) = asked.single().and_then(call).filter(|_| is_pure(expected) && is_same(assertion.node)) else {
            continue;
        };
        let parts = asked.parts();
        if names.contains(&asked.callee) && !parts.is_empty() && parts.iter().all(is_pure) && is_reached(&asked) {
            stated.push(Stated {
                name: asked.callee.clone(),
                arguments: parts.iter().map(|part| part.text().to_owned()).collect(),
                expected: expected.text().to_owned(),
                statement: assertion.node.text().to_owned(),
            });
        }
    }
    stated
}

fn is_same(assertion: Node<'_>) -> bool {
    match call(assertion) {
        Some(call) => SAME.contains(&call.name()) && !call.callee.contains(".not."),
        None => {
            assertion.named_children().next().is_some_and(|claim| claim.children().any(|child| child.kind() == "=="))
        }
    }
}

/// Whether it stands in no block of its own: what a loop or a `with` does around it is not known.
fn is_reached(asked: &Call<'_>) -> bool {
    let row = row(asked.node.tree().language);
    let blocks = asked.node.ancestors().filter(|above| above.is(row.blocks));
    let around = blocks.into_iter().next().and_then(Node::parent);
    around.is_some_and(|around| around.is(row.closures) || row.items.iter().any(|(kind, ..)| *kind == around.kind()))
}

/// The import statements of a file, as they are written.
pub fn import_statements(language: Language, source: &str) -> Vec<String> {
    let Some(tree) = Tree::parse(language, source) else { return Vec::new() };
    let row = row(language);
    let loads = |node: &Node<'_>| node.kind() == "lexical_declaration" && node.text().contains("require(");
    let outermost = tree.root().named_children().filter(|node| node.is(row.imports) || loads(node));
    outermost.map(|node| node.text().to_owned()).collect()
}
