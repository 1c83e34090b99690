//! What is wrong with a test on the face of it. Each is a finding with a line, never a verdict.

use super::assertion::{Assertion, Claim, is_failure};
use super::call::{Call, call};
use super::item::{Found, within};
use super::language::{Row, row};
use super::literal::is_pure;
use super::tree::{Node, Tree};
use super::{glob, javascript};

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    pub smell: Smell,
    pub line: u32,
    /// The code that shows it, on one line.
    pub text: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Smell {
    /// Holds whatever the code does: `assert True`.
    ConstantPass,
    /// Looks like an assertion and checks nothing: `assert (x, "m")`, `expect(x)`.
    Bare,
    /// The test ends before the assertion is reached.
    NotAwaited,
    /// The failure is caught and thrown away.
    Swallowed,
    /// Returns before the last assertion, whatever happens.
    EarlyReturn,
}

const TEXT_CHARS_MAX: usize = 120;
const FALSE: &[&str] = &["False", "false", "0", "None", "null", "undefined", "''", "\"\"", "[]", "{}", "()"];
const SWALLOWED: &[&str] = &["AssertionError", "Exception", "BaseException", "Error", "Throwable"];

pub(super) fn find(tree: &Tree<'_>, found: &mut [Found<'_>], assertions: &[Assertion<'_>], calls: &[Call<'_>]) {
    let row = row(tree.language);
    for one in found.iter_mut().filter(|one| one.item.is_test) {
        let assertions = within(assertions, one.body, |assertion| assertion.node);
        let calls = within(calls, one.body, |call| call.node);
        let mut findings = Vec::new();
        findings.extend(assertions.iter().filter_map(constant));
        findings.extend(assertions.iter().filter_map(|assertion| loose(one.body, assertion, row)));
        findings.extend(calls.iter().filter_map(|call| bare_expect(call)));
        findings.extend(one.body.descendants().filter_map(|node| bare_comparison(node)));
        findings.extend(early_return(one.body, assertions, row));
        findings.sort_by_key(|finding| finding.line);
        findings.dedup();
        one.item.findings = findings;
    }
}

fn finding(smell: Smell, node: Node<'_>) -> Finding {
    let text = node.text().split_whitespace().collect::<Vec<_>>().join(" ");
    Finding { smell, line: node.line(), text: text.chars().take(TEXT_CHARS_MAX).collect() }
}

fn constant(assertion: &Assertion<'_>) -> Option<Finding> {
    let holds = match &assertion.claim {
        Claim::Truth { condition, negated } if is_pure(condition) => {
            let is_tuple = condition.single().is_some_and(|node| node.kind() == "tuple");
            (!FALSE.contains(&condition.text()) && !is_tuple) != *negated
        }
        Claim::Equal { left, right, negated } if is_pure(left) && is_pure(right) => {
            (left.text() == right.text()) != *negated
        }
        Claim::Truth { .. } | Claim::Equal { .. } | Claim::Fail | Claim::Throws | Claim::Other => false,
    };
    holds.then(|| finding(Smell::ConstantPass, assertion.node))
}

/// The statements a test runs whatever happens.
fn statements<'t>(body: Node<'t>, row: &Row) -> impl Iterator<Item = Node<'t>> {
    let inner = body.child_of(&["statement_list"]).unwrap_or(body);
    let row_blocks = row.blocks;
    inner.named_children().filter(move |child| !child.is(row_blocks)).map(|statement| {
        let only = statement.named_children().next();
        let wrapped = statement.kind() == "expression_statement";
        only.filter(|_| wrapped).unwrap_or(statement)
    })
}

/// Assertions that do not decide the test.
fn loose(body: Node<'_>, assertion: &Assertion<'_>, row: &Row) -> Option<Finding> {
    if let Claim::Truth { condition, .. } = &assertion.claim
        && condition.single().is_some_and(|node| node.kind() == "tuple" && node.named_children().count() > 0)
    {
        return Some(finding(Smell::Bare, assertion.node));
    }
    for above in assertion.node.ancestors().take_while(|above| body.contains(*above)) {
        if above.kind() == "try_statement" && swallows(above, assertion.node) {
            return Some(finding(Smell::Swallowed, assertion.node));
        }
    }
    (assertion.node.tree().language.is_script() && is_late(body, assertion, row))
        .then(|| finding(Smell::NotAwaited, assertion.node))
}

/// Whether a handler catches what an assertion throws, and does nothing about it.
fn swallows(attempt: Node<'_>, assertion: Node<'_>) -> bool {
    let in_body = attempt.child("body").is_some_and(|body| body.contains(assertion));
    let handlers = attempt.children().filter(|child| matches!(child.kind(), "except_clause" | "catch_clause"));
    in_body
        && handlers.into_iter().any(|handler| {
            let header = handler.text().lines().next().unwrap_or_default();
            let typed = handler.kind() == "except_clause" && header.trim() != "except:"
                || header.contains("Exception") && handler.tree().language == super::Language::Java;
            let catches = !typed || SWALLOWED.iter().any(|name| super::word::has(header, name));
            let acts = handler.descendants().any(|node| {
                matches!(node.kind(), "raise_statement" | "throw_statement" | "assert_statement" | "return_statement")
                    || call(node).is_some_and(|call| {
                        call.callee.contains("ssert") || call.callee.contains("expect") || is_failure(&call)
                    })
            });
            catches && !acts
        })
}

/// Whether the assertion runs, or its promise settles, after the test has ended.
fn is_late(body: Node<'_>, assertion: &Assertion<'_>, row: &Row) -> bool {
    let promised = call(assertion.node).is_some_and(|call| glob::any(javascript::PROMISED, &call.callee));
    let mut deferred = promised;
    for above in assertion.node.ancestors().take_while(|above| above.at() >= body.at()) {
        if matches!(
            above.kind(),
            "await_expression" | "return_statement" | "variable_declarator" | "assignment_expression"
        ) {
            return false;
        }
        if let Some(call) = call(above) {
            deferred = deferred || glob::any(javascript::DEFERRING, &call.callee);
            // A callback that says it is done is waited for.
            if call.callee == "done" {
                return false;
            }
        }
        if above.kind() == "expression_statement" && above.parent().is_some_and(|parent| parent.at() == body.at()) {
            let waits = body.ancestors().find(|outer| outer.is(row.closures)).is_some_and(takes_callback);
            return deferred && !waits;
        }
    }
    false
}

/// `it("…", (done) => …)`: the runner waits until it is called.
fn takes_callback(function: Node<'_>) -> bool {
    let parameters = function.child("parameters").or_else(|| function.child("parameter"));
    parameters
        .is_some_and(|parameters| parameters.leaves().any(|leaf| matches!(leaf.text(), "done" | "cb" | "callback")))
}

/// `expect(x);` with no matcher after it.
fn bare_expect(call: &Call<'_>) -> Option<Finding> {
    let alone = call.node.parent().is_some_and(|parent| parent.kind() == "expression_statement");
    let bare = alone && matches!(call.callee.as_str(), "expect" | "assertThat" | "assert_that");
    // `expect(x).toBe;` names the matcher and does not call it.
    let uncalled = call.callee == "expect"
        && call.node.ancestors().take_while(|above| above.kind() == "member_expression").count() > 0
        && call.node.ancestors().find(|above| above.kind() != "member_expression")?.kind() == "expression_statement"
        && call
            .node
            .ancestors()
            .take_while(|above| above.kind() == "member_expression")
            .last()
            .is_some_and(|last| !last.text().contains(".to.be."));
    (bare || uncalled).then(|| finding(Smell::Bare, call.node))
}

/// `roman(4) == "IV"` as a statement.
fn bare_comparison(node: Node<'_>) -> Option<Finding> {
    let statement = node.parent().filter(|parent| parent.kind() == "expression_statement")?;
    let compares = matches!(node.kind(), "comparison_operator" | "binary_expression")
        && node.children().any(|child| matches!(child.kind(), "==" | "===" | "!=" | "!=="));
    (compares && statement.named_children().count() == 1).then(|| finding(Smell::Bare, node))
}

fn early_return(body: Node<'_>, assertions: &[Assertion<'_>], row: &Row) -> Option<Finding> {
    let last = assertions.last()?.node;
    let early = statements(body, row).find(|statement| statement.is(row.returns))?;
    (early.at() < last.at() && !early.contains(last)).then(|| finding(Smell::EarlyReturn, early))
}
