//! `expect.assertions(2)`: whether a test can ever make as many assertions as it says it does.

use std::collections::BTreeSet;

use crate::syntax::assertion::Assertion;
use crate::syntax::call::{Call, call};
use crate::syntax::item::{Found, within};
use crate::syntax::language::row;
use crate::syntax::tree::{Node, Tree};

/// Blocks of a test that are run or not; beyond these any number may be reached.
const BLOCKS_MAX: usize = 8;
/// These run their insides once or not at all.
const CHOICES: &[&str] =
    &["if_statement", "else_clause", "catch_clause", "switch_case", "switch_default", "try_statement"];
const STATEMENTS: &[&str] = &["statement_block", "expression_statement", "await_expression", "return_statement"];

/// The call that asks for a number of assertions which no run of the test can make, whatever the code does. Nothing where
/// an assertion may be made by somebody else: a helper, a callback, a loop.
pub(super) fn never_met<'t>(
    tree: &'t Tree<'_>,
    test: &Found<'t>,
    all: &[Assertion<'t>],
    own: &[String],
) -> Option<Node<'t>> {
    let (counts, asserted): (Vec<&Assertion<'t>>, Vec<&Assertion<'t>>) = within(all, test.body, |one| one.node)
        .iter()
        .partition(|assertion| call(assertion.node).is_some_and(|call| asked(&call).is_some()));
    let count = counts.first()?.node;
    let wanted = call(count).and_then(|call| asked(&call))?;
    let helped = test.body.subtree().filter_map(call).any(|call| may_assert(tree, &call, own));
    let left = |node: Node<'t>| {
        node.is(row(tree.language).returns) && node.parent().is_some_and(|above| above.at() != test.body.at())
    };
    if helped || test.body.descendants().any(left) {
        return None;
    }
    let mut always = 0;
    let mut sometimes: Vec<(usize, usize)> = Vec::new();
    for assertion in asserted {
        match home(test, assertion.node)? {
            None => always += 1,
            Some(block) => match sometimes.iter_mut().find(|(known, _)| *known == block) {
                Some((_, number)) => *number += 1,
                None => sometimes.push((block, 1)),
            },
        }
    }
    if sometimes.len() > BLOCKS_MAX {
        return None;
    }
    let mut possible = BTreeSet::from([always]);
    for (_, number) in sometimes {
        let more: Vec<usize> = possible.iter().map(|known| known + number).collect();
        possible.extend(more);
    }
    let met = match wanted {
        Wanted::Some => possible.iter().any(|number| *number > 0),
        Wanted::Exactly(number) => possible.contains(&number),
    };
    (!met).then_some(count)
}

enum Wanted {
    Some,
    Exactly(usize),
}

fn asked(call: &Call<'_>) -> Option<Wanted> {
    match call.callee.as_str() {
        "expect.hasAssertions" => Some(Wanted::Some),
        "expect.assertions" => call.part(0)?.text().parse().ok().map(Wanted::Exactly),
        _ => None,
    }
}

/// The innermost block around it that may be left out, `Some(None)` if there is none; nothing where it may be run several
/// times, or later.
fn home(test: &Found<'_>, assertion: Node<'_>) -> Option<Option<usize>> {
    let row = row(assertion.tree().language);
    let mut block = None;
    for above in assertion.ancestors().take_while(|above| test.body.contains(*above) && above.at() != test.body.at()) {
        if above.is(row.closures) || !(above.is(CHOICES) || above.is(STATEMENTS)) {
            return None;
        }
        let tried = above.child("body").is_some_and(|body| body.contains(assertion));
        block = match (above.kind(), block) {
            // What stands in a `try` may be left at any place.
            ("try_statement", _) if tried => Some(assertion.at()),
            (_, None) if above.is(CHOICES) => Some(above.at()),
            (_, known) => known,
        };
    }
    Some(block)
}

/// Whether what is called may hold assertions: it is neither an assertion itself nor code of the project.
fn may_assert(tree: &Tree<'_>, call: &Call<'_>, own: &[String]) -> bool {
    let first = call.callee.split(['.', '(']).next().unwrap_or_default();
    let builtin = !tree.nodes().any(|node| {
        let binds = row(tree.language).bindings.iter().any(|(kind, _)| *kind == node.kind())
            || node.is(row(tree.language).imports);
        binds && node.leaves().any(|leaf| leaf.text() == first)
    });
    first != "expect" && !builtin && !own.iter().any(|name| name == first)
}
