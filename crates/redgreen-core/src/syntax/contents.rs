//! Question 11: what do both sides of an equality contain, regardless of how the code under test
//! defines equality?
//!
//! Each side goes through a function that records its contents. One side must be built by the test,
//! the other by the code. If the test builds both, it checks what equality means (`Customer(1,
//! "Ann") == Customer(1, "Anna")`), and that is up to the test.

use std::ops::Range;

use super::assertion::{Assertion, Claim, assertions};
use super::call::Part;
use super::item::{Item, ItemNodes, declared, found, simple, within};
use super::language::{Class, ItemKind, Language, row};
use super::literal::{class, inside};
use super::overlay::apply;
use super::perturb::{Letters, is_membership, other, other_in_last_digit};
use super::tree::{Node, Tree};
use super::visibility;

/// The maximum number of steps from a name to its value.
const STEPS_MAX: usize = 4;
/// The maximum number of literals of one assertion.
const LITERALS_MAX: usize = 40;

/// An equality with recorded sides.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecordedEquality {
    /// The test that contains it.
    pub item: String,
    pub line: u32,
    /// The side that the test built. 0 is the left one.
    pub expected: usize,
    /// The literals in the expected value.
    pub literals: Vec<Literal>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Literal {
    pub span: Range<usize>,
    pub text: String,
    pub content: Content,
    /// Another value of the same type, as similar as possible.
    pub other: String,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Content {
    Text(String),
    /// The digits before an exponent or a suffix.
    Number(String),
}

/// How to record a side.
#[derive(Clone, Copy)]
pub struct RecordingCode<'a> {
    /// Inserted at the beginning of each test.
    pub begin: &'a str,
    /// Takes the index of the equality, the index of the side, and the text of the side.
    pub side: &'a dyn Fn(usize, usize, &str) -> String,
}

/// The source with wrapped sides of equalities in these tests. Equalities are numbered from
/// `first`.
pub fn looked_at(
    language: Language,
    path: &str,
    source: &str,
    tests: &[&Item],
    first: usize,
    wrap: RecordingCode<'_>,
) -> Option<(String, Vec<RecordedEquality>)> {
    let tree = Tree::parse(language, source).filter(|tree| !tree.is_broken())?;
    let (found, assertions) = (found(&tree, path), assertions(&tree));
    let own: Vec<String> =
        declared(&tree, path).iter().map(|one| simple(&one.item.name).to_owned()).collect();
    let (mut edits, mut all): (Vec<(Range<usize>, String)>, Vec<RecordedEquality>) =
        (Vec::new(), Vec::new());
    for item in tests.iter().filter(|item| item.kind != ItemKind::DocTest) {
        let same = |one: &&ItemNodes<'_>| one.item.span == item.span && one.item.name == item.name;
        let Some(test) = found.iter().find(same) else { continue };
        let before = all.len();
        for assertion in within(&assertions, test.body, |assertion| assertion.node) {
            let Some((sides, expected, literals)) = compared(assertion, test, &own) else {
                continue;
            };
            let apart = |side: &&Part<'_>| {
                let span = side.span();
                edits.iter().all(|(known, _)| known.end <= span.start || span.end <= known.start)
            };
            if literals.is_empty() || !sides.iter().all(apart) {
                continue;
            }
            let number = first + all.len();
            edits.extend(
                sides
                    .iter()
                    .enumerate()
                    .map(|(at, side)| (side.span(), (wrap.side)(number, at, side.text()))),
            );
            all.push(RecordedEquality {
                item: item.name.clone(),
                line: assertion.node.line(),
                expected,
                literals,
            });
        }
        let begin = test.body.span().start + 1;
        if all.len() > before && !wrap.begin.is_empty() {
            edits.push((begin..begin, wrap.begin.to_owned()));
        }
    }
    if all.is_empty() {
        return None;
    }
    let text = apply(source, edits)?;
    Tree::parse(language, &text).filter(|tree| !tree.is_broken())?;
    Some((text, all))
}

/// Both sides, which of them the test built, and its literals.
fn compared<'a, 't>(
    assertion: &'a Assertion<'t>,
    test: &ItemNodes<'t>,
    own: &[String],
) -> Option<([&'a Part<'t>; 2], usize, Vec<Literal>)> {
    let Claim::Equal { left, right, negated: false } = &assertion.claim else { return None };
    // Other Rust macros do not require a value that can be printed.
    let is_shown = assertion.node.tree().language != Language::Rust
        || assertion.node.text().starts_with("assert_eq!");
    if is_membership(assertion) || !is_shown {
        return None;
    }
    let sides = [left, right];
    let expected = match sides.map(|side| is_built(side, own, STEPS_MAX)) {
        [true, true] => return None,
        [true, false] => 0,
        [false, true] => 1,
        // A name whose value comes from a table: `assert price(order) == want`.
        [false, false] => {
            sides.iter().rposition(|side| side.single().is_some_and(|node| node.is_leaf()))?
        }
    };
    let side = sides.get(expected)?;
    let named = side.single().filter(|node| node.is_leaf() && class(*node).is_none());
    let given: Vec<Node<'t>> =
        named.map(|node| visibility::values(node, node.text())).unwrap_or_default();
    let nodes: Vec<Node<'t>> = match (named, given.is_empty()) {
        (None, _) => side.subtree().collect(),
        (Some(_), false) => given.iter().flat_map(|node| node.subtree()).collect(),
        (Some(_), true) => test.decorations.iter().flat_map(|one| one.node.subtree()).collect(),
    };
    Some((sides, expected, written(&nodes)))
}

fn written(nodes: &[Node<'_>]) -> Vec<Literal> {
    let mut all: Vec<Literal> = Vec::new();
    for node in nodes {
        let Some(kind) = class(*node) else { continue };
        let text = node.text();
        let known = match kind {
            Class::Text => {
                let inner = node.tree().source.get(inside(*node)).unwrap_or_default();
                let plain = !inner.is_empty() && !inner.contains('\\');
                let other = other(*node, kind, Letters::Near).filter(|_| plain);
                other.map(|other| (Content::Text(inner.to_owned()), other))
            }
            Class::Number => other_in_last_digit(text).map(|other| {
                (Content::Number(text.chars().filter(|letter| *letter != '_').collect()), other)
            }),
            Class::True | Class::False | Class::Null => None,
        };
        let is_new = all.iter().all(|one| one.span != node.span());
        if let Some((content, other)) = known.filter(|_| is_new && all.len() < LITERALS_MAX) {
            all.push(Literal { span: node.span(), text: text.to_owned(), content, other });
        }
    }
    all
}

/// Whether the test builds the value itself: literals, constructors and functions of its own file.
fn is_built(part: &Part<'_>, own: &[String], steps: usize) -> bool {
    let is_literal =
        |node: &Node<'_>| node.ancestors().chain([*node]).any(|one| class(one).is_some());
    let leaves: Vec<Node<'_>> = part.subtree().filter(|node| node.is_leaf()).collect();
    let at = |index: usize| leaves.get(index).map_or("", |node| node.text());
    let row = match part.0.first() {
        Some(node) => row(node.tree().language),
        None => return false,
    };
    leaves.iter().enumerate().all(|(index, node)| {
        let (text, before, after) =
            (node.text(), if index > 0 { at(index - 1) } else { "" }, at(index + 1));
        if is_literal(node) || node.is(row.comments) {
            return true;
        }
        if !text.starts_with(|letter: char| letter.is_alphabetic() || letter == '_') {
            let is_sign = text == "-" && matches!(before, "" | "(" | "[" | "{" | "," | ":" | "=");
            return is_sign
                || matches!(
                    text,
                    "(" | ")" | "[" | "]" | "{" | "}" | "," | ":" | "::" | "=" | "." | "&"
                );
        }
        let is_type = |name: &str| name.starts_with(char::is_uppercase);
        let leads = matches!(after, "." | "::") && is_type(at(index + 2));
        let is_key = matches!(after, ":" | "=");
        let is_member = matches!(before, "." | "::");
        if is_type(text) || text == "new" || row.value_words.contains(&text) || leads || is_key {
            return true;
        }
        if after == "(" && !is_member && own.iter().any(|name| name == text) {
            return true;
        }
        let values =
            if is_member || steps == 0 { Vec::new() } else { visibility::values(*node, text) };
        !values.is_empty() && values.iter().all(|value| is_built(&Part::of(*value), own, steps - 1))
    })
}
