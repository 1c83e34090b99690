//! Question 11: do new tests ask one call for two answers?
//!
//! Code with a memory gives two answers to the same call, and tests of it look like a contradiction. So this says "yes" only
//! where tests do nothing but compare calls of one function with written-out values, and nothing speaks of a memory:
//! neither the brief, nor the tests, nor the values.

use std::ops::Range;

use super::assertion::{Assertion, Claim, assertions};
use super::call::{Part, call};
use super::imports::imports;
use super::item::{Found, Item, found, within};
use super::language::{Class, ItemKind, Language, row};
use super::literal::{is_pure, literals};
use super::tree::{Node, Tree};

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Contradiction {
    pub call: String,
    pub answers: [String; 2],
    pub lines: [u32; 2],
}

/// Assertions that compare for equality, and nothing else.
const EXACT: &[&str] = &[
    "Equal",
    "assertEqual",
    "assertEquals",
    "assert_eq",
    "deepEqual",
    "deepStrictEqual",
    "equal",
    "isEqualTo",
    "strictEqual",
    "toBe",
    "toEqual",
    "toStrictEqual",
];
/// What reports a failure in Go's own way.
const GUARDED: &[&str] = &["Error", "Errorf", "Fail", "FailNow", "Fatal", "Fatalf"];
/// How words begin that tell of code which may answer otherwise the next time, or of something done between two calls.
const MEMORY: &[&str] = &[
    "advanc",
    "after",
    "again",
    "alloc",
    "already",
    "another",
    "append",
    "attempt",
    "await",
    "before",
    "book",
    "cach",
    "call",
    "chang",
    "clock",
    "config",
    "consum",
    "count",
    "cycl",
    "date",
    "deal",
    "deposit",
    "draw",
    "dup",
    "env",
    "ever",
    "first",
    "gener",
    "global",
    "histor",
    "hit",
    "id",
    "increas",
    "increment",
    "insert",
    "issu",
    "iter",
    "lang",
    "last",
    "later",
    "limit",
    "local",
    "lock",
    "log",
    "memo",
    "mock",
    "monkey",
    "move",
    "next",
    "now",
    "once",
    "order",
    "patch",
    "poll",
    "pop",
    "previous",
    "push",
    "queue",
    "rand",
    "read",
    "record",
    "regist",
    "rememb",
    "renam",
    "repeat",
    "reserv",
    "reset",
    "retr",
    "roll",
    "rotat",
    "save",
    "second",
    "seed",
    "seen",
    "send",
    "sequen",
    "serial",
    "session",
    "set",
    "setup",
    "shift",
    "shuffl",
    "since",
    "stack",
    "start",
    "state",
    "step",
    "stor",
    "take",
    "teardown",
    "then",
    "tick",
    "time",
    "today",
    "toggl",
    "token",
    "total",
    "track",
    "twice",
    "uniq",
    "until",
    "updat",
    "uuid",
    "version",
    "visit",
    "withdraw",
    "writ",
];
/// Words of a test file that say that something happens around its tests.
const AROUND: &[&str] = &[
    "After",
    "Before",
    "TestMain",
    "after",
    "autouse",
    "before",
    "environ",
    "fixture",
    "jest",
    "mock",
    "monkeypatch",
    "patch",
    "setUp",
    "setup",
    "sinon",
    "static",
    "thread_local",
    "vi.",
];

struct Claimed<'t> {
    call: String,
    /// Without its arguments.
    function: String,
    answer: Part<'t>,
    line: u32,
}

/// The first pair of answers that the new tests of a file want from one and the same call.
pub fn contradiction(
    language: Language,
    path: &str,
    source: &str,
    tests: &[&Item],
    brief: &str,
) -> Option<Contradiction> {
    let tree = Tree::parse(language, source).filter(|tree| !tree.is_broken())?;
    let around = AROUND.iter().any(|word| source.contains(word));
    if around || tells_of_memory(brief) {
        return None;
    }
    let found = found(&tree, path);
    let all = assertions(&tree);
    let is_new = |one: &&Found<'_>| tests.iter().any(|item| item.span == one.item.span && item.name == one.item.name);
    let mut claims: Vec<Claimed<'_>> = Vec::new();
    for test in found.iter().filter(is_new) {
        claims.extend(claims_of(&tree, test, &all).unwrap_or_default());
    }
    let own = |name: &str| found.iter().any(|one| super::item::simple(&one.item.name) == name);
    claims.retain(|claim| is_function(&tree, &claim.function) && !own(&claim.function));
    // With three answers it is a row of them.
    let single = |claim: &Claimed<'_>| claims.iter().filter(|other| other.call == claim.call).count() == 2;
    let pairs =
        claims.iter().enumerate().flat_map(|(at, one)| claims.iter().skip(at + 1).map(move |other| (one, other)));
    let contrary = pairs.filter(|(one, other)| one.call == other.call && single(one));
    let mut contrary = contrary.filter(|(one, other)| differ(&one.answer, &other.answer, brief));
    contrary.next().map(|(one, other)| Contradiction {
        call: one.call.clone(),
        answers: [one.answer.text().to_owned(), other.answer.text().to_owned()],
        lines: [one.line, other.line],
    })
}

/// What the test wants, if all that it does is to compare the answers of one function.
fn claims_of<'t>(tree: &'t Tree<'_>, test: &Found<'t>, all: &[Assertion<'t>]) -> Option<Vec<Claimed<'t>>> {
    let row = row(tree.language);
    let plain = matches!(test.item.kind, ItemKind::Function | ItemKind::Case)
        && test.item.parameters.is_none()
        && test.item.markers.is_empty()
        && test.decorations.iter().all(|decoration| matches!(decoration.name.as_str(), "test" | "Test"))
        && test.words.len() < 2
        && !takes_anything(test)
        && !tells_of_memory(test.node.text());
    if !plain {
        return None;
    }
    let inner = test.body.child_of(&["statement_list"]).unwrap_or(test.body);
    let statements = inner.named_children().filter(|child| !child.is(&["package_clause"]));
    let asserted = within(all, test.body, |assertion| assertion.node);
    let mut claims: Vec<Claimed<'t>> = Vec::new();
    for statement in statements {
        if statement.is(row.comments) {
            return None;
        }
        let mut inside = asserted.iter().filter(|assertion| statement.contains(assertion.node));
        let (assertion, None) = (inside.next()?, inside.next()) else { return None };
        claims.push(claimed(statement, assertion)?);
    }
    let first = claims.first().map(|claim| claim.function.clone())?;
    claims.iter().all(|claim| claim.function == first).then_some(claims)
}

/// What is given to a test from outside may have a memory.
fn takes_anything(test: &Found<'_>) -> bool {
    let taken = test.node.child("parameters").map_or("()", Node::text);
    let closure = test.body.parent().filter(|_| test.item.kind == ItemKind::Case);
    let given = closure.and_then(|closure| closure.child("parameters")).map_or("()", Node::text);
    !matches!(taken, "()" | "(self)" | "(t *testing.T)") || given != "()"
}

/// The one claim of a statement that is nothing but an assertion of equality.
fn claimed<'t>(statement: Node<'t>, assertion: &Assertion<'t>) -> Option<Claimed<'t>> {
    let Claim::Equal { left, right, negated: false } = &assertion.claim else { return None };
    if !is_exact(statement, assertion, left, right) {
        return None;
    }
    let (answer, asked) = match (is_pure(left), is_pure(right)) {
        (true, false) => (left, right),
        (false, true) => (right, left),
        (true, true) | (false, false) => return None,
    };
    let asked = asked.single().and_then(|name| initial(statement, name)).map_or_else(|| asked.clone(), Part::of);
    let text = plain(&asked);
    let (function, arguments) = text.split_once('(')?;
    let (inner, rest) = arguments.rsplit_once(')')?;
    let (inner, rest) = match inner.strip_suffix(".unwrap(") {
        Some(inner) if rest.is_empty() => (inner.strip_suffix(')')?, ""),
        Some(_) | None => (inner, rest.strip_prefix('?').unwrap_or(rest)),
    };
    let is_name = |name: &str| !name.is_empty() && name.chars().all(super::word::is_word);
    let named = function.split(['.', ':']).filter(|part| !part.is_empty()).all(is_name) && !function.is_empty();
    let given = given(&asked)?;
    (named && rest.is_empty() && !inner.is_empty() && is_pure(&given)).then(|| Claimed {
        call: text.clone(),
        function: function.to_owned(),
        answer: answer.clone(),
        line: statement.line(),
    })
}

/// The arguments of the first call of an expression, brackets and all.
fn given<'t>(asked: &Part<'t>) -> Option<Part<'t>> {
    let calls = asked.0.iter().flat_map(|node| node.subtree()).filter_map(call);
    let inner = calls.filter_map(|call| call.arguments).min_by_key(|arguments| arguments.span().start)?;
    Some(Part::of(inner))
}

/// `got` in `if got := f(2); got != 4`.
fn initial<'t>(statement: Node<'t>, name: Node<'t>) -> Option<Node<'t>> {
    let start = statement.child("initializer").filter(|start| start.kind() == "short_var_declaration")?;
    let right = start.child("right")?;
    let only = right.named_children().next().filter(|_| right.named_children().count() == 1)?;
    (start.child("left")?.text() == name.text()).then_some(only)
}

fn is_exact(statement: Node<'_>, assertion: &Assertion<'_>, left: &Part<'_>, right: &Part<'_>) -> bool {
    let source = statement.tree().source;
    let between: Range<usize> = left.span().end..right.span().start;
    let operator = source.get(between).unwrap_or_default().trim();
    let whole = |node: Node<'_>| {
        let inner = statement.named_children().next().filter(|_| statement.kind() == "expression_statement");
        inner.unwrap_or(statement).span() == node.span() || statement.span() == node.span()
    };
    match call(assertion.node) {
        // `assert f(2) == 4`, without words of its own.
        None => {
            whole(assertion.node) && matches!(operator, "==" | "===") && assertion.node.named_children().count() == 1
        }
        Some(call) if statement.kind() == "if_statement" => {
            let body = statement.child("consequence").and_then(|body| body.named_children().next());
            let only = |body: Node<'_>| {
                let list = if body.kind() == "statement_list" { body } else { return body.contains(call.node) };
                list.named_children().count() == 1
            };
            GUARDED.contains(&call.name())
                && operator == "!="
                && statement.child("alternative").is_none()
                && body.is_some_and(only)
        }
        Some(call) => {
            let name = call.name().trim_end_matches('!');
            let sides = if call.callee.contains("expect") || call.callee.contains("assertThat") { 1 } else { 2 };
            let given = call.parts().into_iter().filter(|part| part.text() != "t").count();
            let negated =
                ["not", "resolves", "rejects", "each"].iter().any(|word| super::word::has(&call.callee, word));
            EXACT.contains(&name) && given == sides && !negated && whole(call.node)
        }
    }
}

/// A function that is found by its name, and no method of a thing that may have a memory.
fn is_function(tree: &Tree<'_>, path: &str) -> bool {
    let Some((head, rest)) = path.split_once('.') else { return tree.language != Language::Java };
    let module = |import: &super::imports::Import| match tree.language {
        Language::Python => import.module == head,
        Language::Go => import.module.rsplit('/').next() == Some(head),
        Language::Rust
        | Language::JavaScript
        | Language::TypeScript
        | Language::Tsx
        | Language::Java
        | Language::Other => false,
    };
    let is_class = tree.language == Language::Java && head.starts_with(char::is_uppercase);
    !rest.contains('.') && (is_class || imports(tree.language, tree.source).iter().any(module))
}

/// Without layout and comments.
fn plain(part: &Part<'_>) -> String {
    let leaves = part.subtree().filter(|node| node.is_leaf() && !node.is(row(node.tree().language).comments));
    let texts: Vec<Range<usize>> = leaves.map(Node::span).collect();
    let source = part.0.first().map_or("", |node| node.tree().source);
    // What a string holds besides its quotes is not always a leaf.
    let (Some(first), Some(last)) = (texts.first(), texts.last()) else { return String::new() };
    let text = source.get(first.start..last.end).unwrap_or_default();
    if text.contains(['"', '\'', '`']) { text.to_owned() } else { text.split_whitespace().collect() }
}

/// Whether no value is both; in doubt it may be.
fn differ(one: &Part<'_>, other: &Part<'_>, brief: &str) -> bool {
    let (ones, others) = (literals(one), literals(other));
    if frame(one, &ones) != frame(other, &others) || ones.len() != others.len() {
        return false;
    }
    let unlike = ones.iter().zip(&others).filter(|((a, _), (b, _))| a.text() != b.text());
    let pairs: Vec<(Node<'_>, Node<'_>, Class)> = unlike.map(|((a, class), (b, _))| (*a, *b, *class)).collect();
    let spoken = |node: Node<'_>| super::word::has(brief, node.text().trim_matches(['"', '\'', '`']));
    // Who wrote the brief knows of both.
    let both = pairs.iter().any(|(a, b, _)| spoken(*a) && spoken(*b));
    !both && !pairs.is_empty() && pairs.iter().all(|(a, b, class)| are_apart(a.text(), b.text(), *class))
}

/// What stands around the literals, with the kind of each.
fn frame(part: &Part<'_>, literals: &[(Node<'_>, Class)]) -> Vec<String> {
    let inside = |node: &Node<'_>| literals.iter().any(|(literal, _)| literal.contains(*node));
    let kinds = literals.iter().map(|(node, class)| format!("{class:?} {}", node.kind()));
    let around = part.subtree().filter(|node| node.is_leaf() && !inside(node)).map(|node| node.text().to_owned());
    around.chain(kinds).collect()
}

fn are_apart(one: &str, other: &str, class: Class) -> bool {
    match class {
        Class::Number => {
            let value =
                |text: &str| text.chars().all(|c| c.is_ascii_digit() || c == '.').then(|| text.parse::<f64>().ok());
            // A counter begins so.
            let counts = matches!((one, other), ("0", "1") | ("1", "2"));
            matches!((value(one).flatten(), value(other).flatten()), (Some(a), Some(b)) if a.total_cmp(&b).is_ne())
                && !counts
        }
        Class::Text => {
            let quote = |text: &str| text.chars().next().filter(|quote| "\"'`".contains(*quote));
            let same = quote(one).is_some() && quote(one) == quote(other);
            let digits = |text: &str| text.chars().filter(|letter| !letter.is_ascii_digit()).collect::<String>();
            let inner = |text: &str| text.trim_matches(['"', '\'', '`']).to_owned();
            let (a, b) = (inner(one), inner(other));
            let counts = digits(&a) == digits(&b) || a.starts_with(&b) || b.starts_with(&a);
            same && is_told(&a) && is_told(&b) && !counts
        }
        Class::True | Class::False | Class::Null => false,
    }
}

/// Whether two texts that are written otherwise are others: their escapes are those that can be written in one way only.
fn is_told(text: &str) -> bool {
    let after = text.match_indices('\\').map(|(at, _)| text.get(at + 1..).and_then(|rest| rest.chars().next()));
    after.into_iter().all(|letter| letter.is_some_and(|letter| matches!(letter, 'n' | 't' | 'r')))
}

/// Whether a word of the text begins as one of those.
fn tells_of_memory(text: &str) -> bool {
    let mut words: Vec<String> = vec![String::new()];
    let mut lower = false;
    for letter in text.chars() {
        if !letter.is_alphabetic() || letter.is_uppercase() && lower {
            words.push(String::new());
        }
        lower = letter.is_lowercase();
        if let Some(last) = words.last_mut().filter(|_| letter.is_alphabetic()) {
            last.extend(letter.to_lowercase());
        }
    }
    // Short ones are whole words: `id`, `add`, `set`, `new`, `now`.
    words
        .iter()
        .any(|word| MEMORY.iter().any(|start| if start.len() < 4 { word == start } else { word.starts_with(start) }))
}
