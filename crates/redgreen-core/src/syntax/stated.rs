//! Question 12: which answers does a test write out, for calls that it writes out as well?

use std::ops::Range;

use super::assertion::{Claim, assertions};
use super::call::{Call, Part, call, parts};
use super::item::{Found, Item, found, within};
use super::language::{Language, row};
use super::literal::is_pure;
use super::tree::{Node, Tree};
use super::{glob, parameter};

/// `assert to_roman(4) == "IV"`, in its parts and as it is written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stated {
    pub name: String,
    pub arguments: Vec<String>,
    pub expected: String,
    pub statement: String,
}

const LOOPS: &[&str] = &["for_statement", "for_in_statement"];
const ROWS: &[&str] = &["list", "tuple", "array"];
/// Matchers that mean the same value and nothing less.
const SAME: &[&str] = &["toBe", "toEqual", "toStrictEqual", "equal", "strictEqual", "deepEqual", "deepStrictEqual"];

/// Rows of values, and the names that a test has for the values of a row.
struct Table<'t> {
    names: Vec<&'t str>,
    rows: Vec<Vec<Part<'t>>>,
}

/// Every equality of the test between a call of one of the names and a value, both written out, there or in a table.
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
        let sides = [(left, right), (right, left)];
        let known = sides.into_iter().find_map(|(one, other)| {
            let asked = one.single().and_then(call).filter(|asked| names.contains(&asked.callee))?;
            Some((asked, other))
        });
        let Some((asked, expected)) = known else { continue };
        let arguments = asked.parts();
        let Some(table) = table(test, &asked).filter(|_| is_same(assertion.node) && !arguments.is_empty()) else {
            continue;
        };
        for row in &table.rows {
            let told = |part: &Part<'_>| {
                let named = table.names.iter().zip(row).find(|(name, _)| **name == part.text());
                let value = named.map_or_else(|| part.clone(), |(_, value)| value.clone());
                is_pure(&value).then(|| value.text().to_owned())
            };
            let given: Option<Vec<String>> = arguments.iter().map(told).collect();
            let (Some(given), Some(answer)) = (given, told(expected)) else { continue };
            let values = arguments.iter().zip(&given).chain([(expected, &answer)]);
            stated.push(Stated {
                name: asked.callee.clone(),
                statement: rewritten(assertion.node, values.map(|(part, text)| (part.span(), text.as_str())).collect()),
                arguments: given,
                expected: answer,
            });
        }
    }
    stated
}

/// The text with other words in some places.
fn rewritten(node: Node<'_>, mut places: Vec<(Range<usize>, &str)>) -> String {
    places.sort_by_key(|(place, _)| std::cmp::Reverse(place.start));
    let (start, mut text) = (node.span().start, node.text().to_owned());
    for (place, word) in places {
        text.replace_range(place.start - start..place.end - start, word);
    }
    text
}

fn is_same(assertion: Node<'_>) -> bool {
    match call(assertion) {
        Some(call) => SAME.contains(&call.name()) && !call.callee.contains(".not."),
        None => {
            assertion.named_children().next().is_some_and(|claim| claim.children().any(|child| child.kind() == "=="))
        }
    }
}

/// The rows that a call is made with, a single one without names where there is no table. Nothing where something stands
/// around it that is not known: a branch, a `with`.
fn table<'t>(test: &Found<'t>, asked: &Call<'t>) -> Option<Table<'t>> {
    let language = row(test.node.tree().language);
    let around = |node: Node<'t>| node.ancestors().find(|above| above.is(language.blocks)).and_then(Node::parent);
    let is_whole =
        |node: Node<'t>| node.is(language.closures) || language.items.iter().any(|(kind, ..)| *kind == node.kind());
    let above = around(asked.node)?;
    let looped = above.is(LOOPS).then_some(above);
    is_whole(looped.map_or(Some(above), around)?).then_some(())?;
    let decorations = test.decorations.iter().filter(|one| glob::any(language.parameter_lists, &one.name));
    let lists: Vec<(Node<'t>, Node<'t>)> = decorations
        .map(|one| Some((one.node.descendants().find_map(call)?.part(0)?.single()?, parameter::listed(one.node)?)))
        .collect::<Option<_>>()?;
    let given =
        test.body.parent().and_then(|closure| closure.child("parameters").or_else(|| closure.child("parameter")));
    let each = parameter::each(test.node).map(|list| Some((given?, list)));
    let looped = looped.map(|node| {
        let over = parameter::resolve(node.child("right")?)?;
        Some((node.child("left")?, over))
    });
    let mut all = lists.into_iter().map(Some).chain(each).chain(looped);
    match (all.next(), all.next()) {
        (None, _) => Some(Table { names: Vec::new(), rows: vec![Vec::new()] }),
        (Some(only), None) => only.map(|(names, list)| read(names, list)),
        (Some(_), Some(_)) => None,
    }
}

fn read<'t>(names: Node<'t>, list: Node<'t>) -> Table<'t> {
    let is_word = |letter: char| letter.is_alphanumeric() || letter == '_' || letter == '$';
    let names: Vec<&str> = names.text().split(|letter| !is_word(letter)).filter(|name| !name.is_empty()).collect();
    let row = |part: Part<'t>| match part.single() {
        // `pytest.param(1, 2)`, or a list.
        Some(node) if call(node).is_some() => call(node).map(|call| call.parts()).unwrap_or_default(),
        Some(node) if node.is(ROWS) && (names.len() > 1 || node.tree().language.is_script()) => parts(node),
        Some(_) | None => vec![part],
    };
    let rows = parameter::rows(list).into_iter().map(row);
    Table { rows: rows.filter(|row| row.len() >= names.len()).collect(), names }
}
