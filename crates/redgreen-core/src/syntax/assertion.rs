//! Assertions of all libraries, as claims with two sides.

use super::call::{Call, Part, call};
use super::glob;
use super::language::row;
use super::literal::is_pure;
use super::tree::{Node, Tree};

/// What an assertion says about its arguments.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Meaning {
    /// The first two arguments are equal.
    Equal,
    Differs,
    /// The first argument is true.
    Truth,
    Falsity,
    /// The argument of `expect`, and the first argument of the last call.
    Matcher,
    /// Something is thrown. There is no value to compare.
    Throws,
    /// Always fails.
    Fail,
    /// An assertion of unknown meaning.
    Other,
}

pub(super) struct Assertion<'t> {
    pub(super) node: Node<'t>,
    pub(super) claim: Claim<'t>,
    /// The call with the opposite meaning, or empty.
    pub(super) opposite: &'static str,
    /// The name to replace by the opposite.
    pub(super) name: Option<Node<'t>>,
}

pub(super) enum Claim<'t> {
    Equal { left: Part<'t>, right: Part<'t>, negated: bool },
    Truth { condition: Part<'t>, negated: bool },
    Throws,
    Fail,
    Other,
}

const EQUAL: &[&str] = &["==", "===", "is", "in"];
const DIFFERENT: &[&str] = &["!=", "!==", "is not", "not in"];
const COMPARISONS: &[&str] = &["comparison_operator", "binary_expression"];
const PARENTHESES: &[&str] = &["parenthesized_expression"];
const LOGICAL: &[&str] = &["&&", "||"];
/// A failure in the else branch of an if is not the claim of the condition.
const ALTERNATIVES: &[&str] = &["else_clause", "elif_clause"];

/// Every assertion in the file, in source order.
pub(super) fn assertions<'t>(tree: &'t Tree<'_>) -> Vec<Assertion<'t>> {
    let row = row(tree.language);
    let mut found: Vec<Assertion<'t>> = Vec::new();
    let mut chain = 0..0;
    for node in tree.nodes() {
        if node.kind() == row.assert_statement {
            if let Some(condition) = node.named_children().next() {
                let claim = truth(Part::of(condition), false);
                found.push(Assertion { node, claim, opposite: "", name: None });
            }
            continue;
        }
        let Some(call) = call(node) else { continue };
        // `assertThat(x)` is the head of `assertThat(x).isEqualTo(y)`, not another assertion.
        if node.span().start == chain.start && chain.contains(&node.span().end) {
            continue;
        }
        if let Some((_, means, opposite)) =
            row.asserts.iter().find(|(pattern, ..)| glob::matches(pattern, &call.callee))
        {
            chain = node.span();
            found.push(Assertion {
                node,
                claim: claim(&call, *means),
                opposite,
                name: name(&call),
            });
        }
    }
    found
}

fn name<'t>(call: &Call<'t>) -> Option<Node<'t>> {
    let wanted = call.name().trim_end_matches('!');
    let end = call.arguments.map_or(call.end(), |arguments| arguments.span().start);
    call.node
        .subtree()
        .filter(|node| node.is_leaf() && node.text() == wanted && node.span().end <= end)
        .last()
}

fn claim<'t>(call: &Call<'t>, means: Meaning) -> Claim<'t> {
    let parts = call.parts();
    let mut parts = parts
        .into_iter()
        .filter(|part| part.single().is_none_or(|node| node.kind() != "keyword_argument"));
    match means {
        Meaning::Equal | Meaning::Differs => match (parts.next(), parts.next(), parts.next()) {
            // testify takes the test as the first argument.
            (Some(first), Some(left), Some(right)) if is_handle(&first) => {
                Claim::Equal { left, right, negated: means == Meaning::Differs }
            }
            (Some(left), Some(right), _) => {
                Claim::Equal { left, right, negated: means == Meaning::Differs }
            }
            (None | Some(_), ..) => Claim::Other,
        },
        Meaning::Truth | Meaning::Falsity => {
            let condition = parts.find(|part| !is_handle(part));
            condition.map_or(Claim::Other, |condition| truth(condition, means == Meaning::Falsity))
        }
        Meaning::Matcher => match (subject(call), parts.next()) {
            (Some(left), Some(right)) => Claim::Equal { left, right, negated: false },
            (None | Some(_), _) => Claim::Other,
        },
        Meaning::Throws => Claim::Throws,
        Meaning::Fail => guarded(call).unwrap_or(Claim::Fail),
        Meaning::Other => Claim::Other,
    }
}

fn is_handle(part: &Part<'_>) -> bool {
    part.single().is_some_and(|node| matches!(node.text(), "t" | "b" | "tb") && node.is_leaf())
}

/// The argument of the innermost call of the chain: `x` in `expect(x).not.toBe(1)`.
fn subject<'t>(outer: &Call<'t>) -> Option<Part<'t>> {
    let should = |node: &Node<'t>| {
        node.child("property").is_some_and(|property| property.text() == "should")
    };
    if let Some(member) = outer.node.descendants().find(should) {
        return member.child("object").map(Part::of);
    }
    let start = outer.node.span().start;
    let heads = outer.node.descendants().filter(|node| node.span().start == start).filter_map(call);
    heads.last().and_then(|head| head.part(0))
}

fn truth(condition: Part<'_>, negated: bool) -> Claim<'_> {
    match comparison(&condition) {
        Some((left, equal, right)) => Claim::Equal { left, right, negated: negated == equal },
        None => Claim::Truth { condition, negated },
    }
}

/// `if got != want { t.Fatal() }` claims that the condition is false.
fn guarded<'t>(failure: &Call<'t>) -> Option<Claim<'t>> {
    let row = row(failure.node.tree().language);
    let mut below = failure.node;
    for above in failure.node.ancestors() {
        if above.is(row.branches) {
            let condition = above.child("condition")?;
            let negative = below.field() == Some("consequence");
            return Some(if negative {
                truth(Part::of(bare(condition)), true)
            } else {
                Claim::Other
            });
        }
        // `let Some(x) = y else { panic!() }`.
        if below.field() == Some("alternative") {
            return Some(Claim::Other);
        }
        if above.is(ALTERNATIVES) || row.items.iter().any(|(kind, ..)| *kind == above.kind()) {
            return above.is(ALTERNATIVES).then_some(Claim::Other);
        }
        let conditional = [
            "match", "switch", "case", "catch", "except", "for", "while", "lambda", "closure",
            "with", "try",
        ];
        if conditional.iter().any(|word| above.kind().contains(word)) || above.is(row.closures) {
            // The callback of a test contains the test. Any other callback may not run.
            let is_test_body = above.is(row.closures)
                && above
                    .ancestors()
                    .find_map(call)
                    .is_some_and(|call| super::item::declares_test(&call));
            return (!is_test_body).then_some(Claim::Other);
        }
        below = above;
    }
    None
}

fn bare(node: Node<'_>) -> Node<'_> {
    let mut node = node;
    while node.is(PARENTHESES) {
        match node.named_children().next() {
            Some(inner) => node = inner,
            None => break,
        }
    }
    node
}

/// The sides of a comparison, and whether it says "equal". `None` for any other expression.
pub(super) fn comparison<'t>(part: &Part<'t>) -> Option<(Part<'t>, bool, Part<'t>)> {
    let nodes: Vec<Node<'t>> = match part.single().map(bare) {
        Some(node) if node.is(COMPARISONS) => node.children().collect(),
        Some(_) => return None,
        None => part.0.clone(),
    };
    let is_operator = |node: &&Node<'t>| {
        !node.is_named() && (EQUAL.contains(&node.kind()) || DIFFERENT.contains(&node.kind()))
    };
    let operator = nodes.iter().find(is_operator)?;
    let compound =
        nodes.iter().filter(is_operator).count() > 1 || nodes.iter().any(|node| node.is(LOGICAL));
    let side = |keep: &dyn Fn(&Node<'t>) -> bool| {
        Part(nodes.iter().copied().filter(|node| keep(node)).collect())
    };
    let left = side(&|node| node.at() < operator.at());
    let right = side(&|node| node.at() > operator.at());
    (!compound && !left.0.is_empty() && !right.0.is_empty())
        .then(|| (left, EQUAL.contains(&operator.kind()), right))
}

impl<'t> Assertion<'t> {
    /// The literal side, and the side it is compared with.
    pub(super) fn expected(&self) -> Option<(&Part<'t>, &Part<'t>)> {
        match &self.claim {
            Claim::Equal { left, right, negated: _ } => {
                Some(if is_pure(left) && !is_pure(right) { (left, right) } else { (right, left) })
            }
            Claim::Truth { .. } | Claim::Throws | Claim::Fail | Claim::Other => None,
        }
    }

    /// `expect.assertions(2)` only counts the others. Removing it does not weaken a test.
    pub(super) fn is_count(&self) -> bool {
        call(self.node).is_some_and(|call| {
            matches!(call.callee.as_str(), "expect.assertions" | "expect.hasAssertions")
        })
    }

    /// Whether it compares with a value, which is the strongest kind.
    pub(super) fn is_exact(&self) -> bool {
        matches!(self.claim, Claim::Equal { negated: false, .. })
    }
}
