//! What is wrong with a test on the face of it. Each is a finding with a line, never a verdict.

use std::collections::HashSet;

use super::assertion::{Assertion, Claim, is_failure};
use super::call::{Call, call};
use super::item::{Found, simple, within};
use super::language::{ItemKind, Row, row};
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
    /// Fails whatever the code does: `assert False`, `panic!()`.
    ConstantFailure,
    /// Holds whatever the code does: `assert True`.
    ConstantPass,
    /// What it tests is defined, assigned or replaced in the test file.
    DefinesSubject,
    /// Looks like an assertion and checks nothing: `assert (x, "m")`, `expect(x)`.
    Bare,
    /// The test ends before the assertion is reached.
    NotAwaited,
    /// The failure is caught and thrown away.
    Swallowed,
    /// Returns before the last assertion, whatever happens.
    EarlyReturn,
    /// Ends the process.
    Exit,
}

const TEXT_CHARS_MAX: usize = 120;
const FALSE: &[&str] = &["False", "false", "0", "None", "null", "undefined", "''", "\"\"", "[]", "{}", "()"];
const SWALLOWED: &[&str] = &["AssertionError", "Exception", "BaseException", "Error", "Throwable"];

pub(super) fn find(tree: &Tree<'_>, found: &mut [Found<'_>], assertions: &[Assertion<'_>], calls: &[Call<'_>]) {
    let row = row(tree.language);
    let own = own_subjects(tree, found, calls, row);
    for one in found.iter_mut().filter(|one| one.item.is_test) {
        let assertions = within(assertions, one.body, |assertion| assertion.node);
        let calls = within(calls, one.body, |call| call.node);
        let mut findings = Vec::new();
        findings.extend(constants(one, assertions, row));
        findings.extend(assertions.iter().filter_map(|assertion| loose(one.body, assertion, row)));
        findings.extend(calls.iter().filter_map(|call| bare_expect(call)));
        findings.extend(one.body.descendants().filter_map(|node| bare_comparison(node)));
        findings.extend(early_return(one.body, assertions, row));
        let exits = calls.iter().filter(|call| glob::any(row.exits, &call.callee));
        findings.extend(exits.map(|call| finding(Smell::Exit, call.node)));
        findings.extend(subject(assertions, calls, &own, row));
        findings.sort_by_key(|finding| finding.line);
        findings.dedup();
        one.item.findings = findings;
    }
}

fn finding(smell: Smell, node: Node<'_>) -> Finding {
    let text = node.text().split_whitespace().collect::<Vec<_>>().join(" ");
    Finding { smell, line: node.line(), text: text.chars().take(TEXT_CHARS_MAX).collect() }
}

fn constants(one: &Found<'_>, assertions: &[Assertion<'_>], row: &Row) -> Vec<Finding> {
    let mut findings = Vec::new();
    let returns = one.body.descendants().find(|node| node.is(row.returns)).map_or(usize::MAX, Node::at);
    for assertion in assertions {
        let constant = match &assertion.claim {
            Claim::Fail => (assertion.node.at() < returns).then_some(Smell::ConstantFailure),
            Claim::Truth { condition, negated } => is_pure(condition).then(|| {
                let holds =
                    !FALSE.contains(&condition.text()) && condition.single().is_none_or(|node| node.kind() != "tuple");
                if holds == *negated { Smell::ConstantFailure } else { Smell::ConstantPass }
            }),
            Claim::Equal { left, right, negated } => (is_pure(left) && is_pure(right)).then(|| {
                let same = left.text() == right.text();
                if same == *negated { Smell::ConstantFailure } else { Smell::ConstantPass }
            }),
            Claim::Throws | Claim::Other => None,
        };
        findings.extend(constant.map(|smell| finding(smell, assertion.node)));
    }
    let thrown = statements(one.body, row).filter(|statement| statement.is(row.raises) && statement.at() < returns);
    let thrown = thrown.filter(|statement| !skips(*statement));
    findings.extend(thrown.map(|statement| finding(Smell::ConstantFailure, statement)));
    findings
}

fn skips(statement: Node<'_>) -> bool {
    statement.text().contains("SkipTest")
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

/// Names that the test file itself provides although they look like what is tested.
struct Own<'t> {
    /// Defined in test code, without the help of anything imported.
    defined: HashSet<String>,
    /// Imported, and given another value: the place, and the name with its dots.
    overwritten: Vec<(Node<'t>, &'t str)>,
}

fn own_subjects<'t>(tree: &'t Tree<'_>, found: &[Found<'t>], calls: &[Call<'t>], row: &Row) -> Own<'t> {
    let imports = tree.nodes().filter(|node| node.is(row.imports));
    let imported: HashSet<&str> =
        imports.flat_map(Node::leaves).filter(|leaf| leaf.is(row.identifiers)).map(Node::text).collect();
    let mut defined = HashSet::new();
    for one in found.iter().filter(|one| one.item.in_tests && !one.item.is_test && one.item.assertions == 0) {
        let fixture = one.decorations.iter().any(|decoration| decoration.name.contains("fixture"));
        let outside = one.body.leaves().any(|leaf| leaf.is(row.identifiers) && imported.contains(leaf.text()));
        let within = within(calls, one.body, |call| call.node);
        let loads = within
            .iter()
            .any(|call| matches!(call.name(), "import_module" | "require" | "import" | "run" | "check_output"));
        if !fixture
            && !outside
            && !loads
            && one.item.kind == ItemKind::Function
            && !tree.source.contains("use super::*")
        {
            defined.insert(simple(&one.item.name).to_owned());
        }
    }
    let assigned = tree.nodes().filter(|node| matches!(node.kind(), "assignment" | "assignment_expression"));
    let assigned = assigned.filter_map(|node| node.child("left").map(|left| (node, left.text())));
    let overwritten = assigned.filter(|(_, name)| imported.contains(name.split('.').next().unwrap_or_default()));
    Own { defined, overwritten: overwritten.collect() }
}

fn subject(assertions: &[Assertion<'_>], calls: &[Call<'_>], own: &Own<'_>, row: &Row) -> Option<Finding> {
    for assertion in assertions {
        let Some((_, actual)) = assertion.expected() else { continue };
        for call in actual.subtree().filter_map(call) {
            if own.defined.contains(call.name()) {
                return Some(finding(Smell::DefinesSubject, assertion.node));
            }
            if let Some(replacer) = calls.iter().find(|replacer| replaces(replacer, call.name(), row)) {
                return Some(finding(Smell::DefinesSubject, replacer.node));
            }
        }
    }
    let tested = |name: &str| {
        let mut actual = assertions.iter().filter_map(|assertion| assertion.expected().map(|(_, actual)| actual));
        actual.any(|part| part.subtree().filter_map(call).any(|call| call.callee == name))
    };
    let overwritten = own.overwritten.iter().find(|(_, name)| tested(name));
    overwritten.map(|(node, _)| finding(Smell::DefinesSubject, *node))
}

/// `patch("mod.name")`, `monkeypatch.setattr(mod, "name", …)`, `vi.spyOn(mod, "name")`.
fn replaces(replacer: &Call<'_>, name: &str, row: &Row) -> bool {
    glob::any(row.replacers, &replacer.callee)
        && replacer.parts().iter().take(2).any(|part| {
            let text = part.text().trim_matches(['"', '\'', '`']);
            text == name || text.ends_with(&format!(".{name}"))
        })
}
