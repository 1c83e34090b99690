//! Question 5: the tests with expectations that no honest implementation can meet.
//!
//! Literals change in place, with the same quotes and the same kind of letters, so that code that
//! reads the test cannot notice. If there is no literal, the assertion is negated.

use std::ops::Range;

use super::assertion::{Assertion, Claim, assertions, comparison};
use super::call::Part;
use super::doctest::{doc_tests, masked};
use super::expectation::written;
use super::item::{Item, ItemNodes, found, within};
use super::language::{Class, ItemKind, Language};
use super::literal::{class, inside, is_pure, literals};
use super::overlay::apply;
use super::tree::{Node, Tree};

/// A replacement.
#[derive(Clone)]
struct Edit {
    /// The range in the original source.
    span: Range<usize>,
    replacement: String,
    how: Perturbation,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Perturbation {
    Literal,
    /// The negated assertion. It does not reveal code that is equal to everything.
    Negation,
}

/// Which literal of an expected value changes. One alone may not matter: `approx(0.3, 1e-6)`, `(1,
/// 2)[0]`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pick {
    /// Keys and constructor names come before it.
    Last,
    First,
}

/// How a string changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Letters {
    /// One letter becomes its neighbour in the alphabet.
    Near,
    /// The same letters in another order or number: code that accepts anything that looks like an
    /// answer accepts this.
    Own,
}

/// How expected values are changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PerturbRules {
    pub pick: Pick,
    pub letters: Letters,
}

/// Whether all expectations of a test are literals, so that nothing has to be negated.
pub fn is_written(
    language: Language,
    path: &str,
    source: &str,
    item: &Item,
    way: PerturbRules,
) -> bool {
    let Some(tree) = Tree::parse(language, source) else { return false };
    let groups = Tests::of(&tree, path).groups(item, way);
    !groups.is_empty() && groups.iter().flatten().all(|edit| edit.how == Perturbation::Literal)
}

/// The items and assertions of a file. Finding them walks through the whole file, so it is done
/// once for all tests.
struct Tests<'t> {
    tree: &'t Tree<'t>,
    found: Vec<ItemNodes<'t>>,
    assertions: Vec<Assertion<'t>>,
}

impl<'t> Tests<'t> {
    fn of(tree: &'t Tree<'_>, path: &str) -> Self {
        Self { tree, found: found(tree, path), assertions: assertions(tree) }
    }

    /// The edits of each assertion that can change.
    fn groups(&self, item: &Item, way: PerturbRules) -> Vec<Vec<Edit>> {
        if item.kind == ItemKind::DocTest {
            return in_documentation(self.tree, item, way);
        }
        let Some((test, inside)) = self.inside(item) else { return Vec::new() };
        changeable(inside, Some(test), way)
    }

    /// The item, and the assertions in its body.
    fn inside(&self, item: &Item) -> Option<(&ItemNodes<'t>, &[Assertion<'t>])> {
        let test = self
            .found
            .iter()
            .find(|one| one.item.span == item.span && one.item.name == item.name)?;
        Some((test, within(&self.assertions, test.body, |assertion| assertion.node)))
    }
}

/// How much of each test is changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Extent {
    Everything,
    /// One assertion, counted from the last. Everything else must stay as it is.
    One(usize),
}

/// One source in which each test has an expectation that cannot be met, and the names of these
/// tests. `None` if nothing can change.
pub fn impossible(
    language: Language,
    path: &str,
    source: &str,
    tests: &[&Item],
    extent: Extent,
    way: PerturbRules,
) -> Option<(String, Vec<String>)> {
    impossible_each(language, path, source, tests, &[extent], way).pop().flatten()
}

/// The same for several extents, in their order.
pub fn impossible_each(
    language: Language,
    path: &str,
    source: &str,
    tests: &[&Item],
    extents: &[Extent],
    way: PerturbRules,
) -> Vec<Option<(String, Vec<String>)>> {
    let Some(tree) = Tree::parse(language, source) else { return vec![None; extents.len()] };
    let known = Tests::of(&tree, path);
    let all: Vec<(&Item, Vec<Vec<Edit>>)> =
        tests.iter().map(|item| (*item, known.groups(item, way))).collect();
    let choose = |groups: &[Vec<Edit>], extent: Extent| match extent {
        Extent::Everything => groups.concat(),
        Extent::One(back) => groups.iter().rev().nth(back).cloned().unwrap_or_default(),
    };
    let one = |extent: &Extent| {
        laid(&tree, all.iter().map(|(item, groups)| (*item, choose(groups, *extent))))
    };
    extents.iter().map(one).collect()
}

/// The same source with one assertion of each test replaced by a failure: first the last assertion,
/// then the one before it, and so on. `None` for a language in which an assertion is not an
/// expression.
pub fn stopped_each(
    language: Language,
    path: &str,
    source: &str,
    tests: &[&Item],
    count: usize,
) -> Vec<Option<String>> {
    let failing = match language {
        Language::Python => "assert False",
        Language::JavaScript | Language::TypeScript | Language::Tsx => {
            "(() => { throw new Error(\"reached\"); })()"
        }
        Language::Rust => "panic!(\"reached\")",
        Language::Go | Language::Java | Language::Other => return vec![None; count],
    };
    let Some(tree) = Tree::parse(language, source) else { return vec![None; count] };
    let known = Tests::of(&tree, path);
    let way = PerturbRules { pick: Pick::Last, letters: Letters::Near };
    let stop = |node: Node<'_>| Edit {
        span: node.span(),
        replacement: failing.to_owned(),
        how: Perturbation::Negation,
    };
    let all: Vec<(&Item, Vec<Edit>)> = tests
        .iter()
        .map(|item| {
            let Some((test, inside)) = known.inside(item) else { return (*item, Vec::new()) };
            let changeable = inside.iter().filter(|one| !edits_of(one, Some(test), way).is_empty());
            (*item, changeable.map(|one| stop(one.node)).collect())
        })
        .collect();
    let one = |back: usize| {
        let chosen = all.iter().map(|(item, stops)| {
            (*item, stops.iter().rev().nth(back).cloned().into_iter().collect())
        });
        laid(&tree, chosen).map(|(source, _)| source)
    };
    (0..count).map(one).collect()
}

/// A source with the edits of each test, and the names of the edited tests.
fn laid<'i>(
    tree: &Tree<'_>,
    chosen: impl Iterator<Item = (&'i Item, Vec<Edit>)>,
) -> Option<(String, Vec<String>)> {
    let mut edits: Vec<(Range<usize>, String)> = Vec::new();
    let mut changed = Vec::new();
    for (item, chosen) in chosen.filter(|(_, chosen)| !chosen.is_empty()) {
        changed.push(item.name.clone());
        for edit in chosen {
            let apart = |(span, _): &(Range<usize>, String)| {
                span.end <= edit.span.start || edit.span.end <= span.start
            };
            // Tests that share a table share the change.
            if edits.iter().all(apart) {
                edits.push((edit.span, edit.replacement));
            }
        }
    }
    if changed.is_empty() {
        return None;
    }
    let text = apply(tree.source, edits)?;
    let is_broken =
        |text: &str| Tree::parse(tree.language, text).is_none_or(|tree| tree.is_broken());
    (tree.is_broken() || !is_broken(&text)).then_some((text, changed))
}

fn in_documentation(tree: &Tree<'_>, item: &Item, way: PerturbRules) -> Vec<Vec<Edit>> {
    let tests = doc_tests(tree);
    let Some(test) = tests.iter().find(|test| test.span == item.span && test.line == item.lines.0)
    else {
        return Vec::new();
    };
    let code = masked(tree.source, &test.code);
    let Some(inner) = Tree::parse(tree.language, &code) else { return Vec::new() };
    let mut groups = changeable(&assertions(&inner), None, way);
    for range in &test.expected {
        let text = tree.source.get(range.clone()).unwrap_or_default();
        let edit = |replacement| {
            vec![Edit { span: range.clone(), replacement, how: Perturbation::Literal }]
        };
        groups.extend(other_text(text, way.letters).map(edit));
    }
    groups
}

fn changeable<'t>(
    all: &[Assertion<'t>],
    test: Option<&ItemNodes<'t>>,
    way: PerturbRules,
) -> Vec<Vec<Edit>> {
    all.iter()
        .map(|assertion| edits_of(assertion, test, way))
        .filter(|edits| !edits.is_empty())
        .collect()
}

fn edits_of<'t>(
    assertion: &Assertion<'t>,
    test: Option<&ItemNodes<'t>>,
    way: PerturbRules,
) -> Vec<Edit> {
    let edits = changed(assertion, test, way).or_else(|| negated(assertion).map(|edit| vec![edit]));
    edits.unwrap_or_default()
}

/// The changed expected value. `None` if it is computed.
fn changed<'t>(
    assertion: &Assertion<'t>,
    test: Option<&ItemNodes<'t>>,
    way: PerturbRules,
) -> Option<Vec<Edit>> {
    if let Claim::Truth { condition, negated: false } = &assertion.claim {
        let mut edits = compared_inside(condition, way);
        edits.extend(condition.single().into_iter().flat_map(bounds));
        return (!edits.is_empty()).then_some(edits);
    }
    if !assertion.is_exact() {
        return None;
    }
    if is_membership(assertion) {
        return looked_for(assertion, way).map(|edit| vec![edit]);
    }
    let (expected, actual) = assertion.expected()?;
    if is_pure(expected) && is_pure(actual) {
        return None;
    }
    let mut values = match test {
        Some(test) => written(test, expected),
        None => Some(expected.clone()).filter(is_pure).into_iter().collect(),
    };
    if values.is_empty()
        && let Some(test) = test
    {
        values = written(test, actual);
    }
    let edits: Vec<Edit> = values.iter().filter_map(|value| other_value(value, way)).collect();
    (!edits.is_empty()).then_some(edits)
}

/// `x in ("a", "b")`: if one of the values changes, it may still hold.
pub(super) fn is_membership(assertion: &Assertion<'_>) -> bool {
    let Claim::Equal { left, right, .. } = &assertion.claim else { return false };
    let (start, end) = (left.span().end, right.span().start);
    assertion.node.tree().source.get(start..end).is_some_and(|between| between.trim() == "in")
}

/// `got == "IV" or got`: the literals in a compound condition that are compared.
fn compared_inside(condition: &Part<'_>, way: PerturbRules) -> Vec<Edit> {
    let mut edits = Vec::new();
    for node in condition.subtree() {
        let Some((left, true, right)) = comparison(&Part::of(node)) else { continue };
        let value = match (is_pure(&left), is_pure(&right)) {
            (true, false) => left,
            (false, true) => right,
            (true, true) | (false, false) => continue,
        };
        edits.extend(other_value(&value, way));
    }
    edits
}

/// `f(4) > 3`: no number is above or below NaN. To negate the comparison is not enough, because an
/// object may say that it is above and below everything.
fn bounds(condition: Node<'_>) -> Vec<Edit> {
    const ORDERED: [&str; 4] = ["<", "<=", ">", ">="];
    const BOTH: [&str; 2] = ["and", "&&"];
    let nan = match condition.tree().language {
        Language::Python => "float(\"nan\")",
        Language::JavaScript | Language::TypeScript | Language::Tsx => "NaN",
        Language::Rust | Language::Go | Language::Java | Language::Other => return Vec::new(),
    };
    let between = |operators: &[&str]| {
        condition.children().any(|child| !child.is_named() && operators.contains(&child.kind()))
    };
    if condition.kind() == "parenthesized_expression" || between(&BOTH) {
        return condition.named_children().flat_map(bounds).collect();
    }
    let is_number = |node: &Node<'_>| node.text().replace('_', "").parse::<f64>().is_ok();
    let (numbers, others): (Vec<Node<'_>>, Vec<Node<'_>>) =
        condition.named_children().partition(is_number);
    let bound = numbers.last().filter(|_| between(&ORDERED) && !others.is_empty());
    let edit = |node: &Node<'_>| Edit {
        span: node.span(),
        replacement: nan.to_owned(),
        how: Perturbation::Literal,
    };
    bound.map(edit).into_iter().collect()
}

/// `"total: 7" in text`: with another text it must not hold. A single letter may appear elsewhere.
fn looked_for(assertion: &Assertion<'_>, way: PerturbRules) -> Option<Edit> {
    const LETTERS_MIN: usize = 3;
    let Claim::Equal { left, right, .. } = &assertion.claim else { return None };
    let node = left.single().filter(|_| !is_pure(right))?;
    let is_text = class(node) == Some(Class::Text)
        && node.text().chars().filter(char::is_ascii_alphanumeric).count() >= LETTERS_MIN;
    if is_text { other_value(left, way) } else { None }
}

/// Changes one literal of the value.
fn other_value(value: &Part<'_>, way: PerturbRules) -> Option<Edit> {
    let literals = literals(value);
    let mut others = literals
        .iter()
        .filter_map(|(node, class)| Some((*node, other(*node, *class, way.letters)?)));
    let changed = match way.pick {
        Pick::Last => others.next_back(),
        Pick::First => others.next(),
    };
    if let Some((node, replacement)) = changed {
        return Some(Edit { span: node.span(), replacement, how: Perturbation::Literal });
    }
    let node = value.single().filter(|_| literals.is_empty())?;
    let scripted = node.tree().language.is_script();
    let replacement = match (node.kind(), node.text()) {
        ("list" | "array", "[]") => "[0]",
        ("dictionary", "{}") => "{0: 0}",
        ("tuple", "()") => "(0,)",
        ("object", "{}") if scripted => "{ z: 0 }",
        _ => return None,
    };
    Some(Edit {
        span: node.span(),
        replacement: replacement.to_owned(),
        how: Perturbation::Literal,
    })
}

/// Another literal of the same kind.
pub(super) fn other(node: Node<'_>, class: Class, letters: Letters) -> Option<String> {
    let text = node.text();
    match class {
        Class::Text => {
            let span = inside(node);
            let start = span.start - node.span().start;
            let end = span.end - node.span().start;
            let (before, inner, after) =
                (text.get(..start)?, text.get(start..end)?, text.get(end..)?);
            let one_letter =
                matches!(node.kind(), "char_literal" | "rune_literal" | "character_literal");
            let letters = if one_letter { Letters::Near } else { letters };
            let inner = other_text(inner, letters).or_else(|| {
                (!inner.contains('\\'))
                    .then(|| if one_letter { "z".to_owned() } else { format!("{inner}z") })
            })?;
            Some(format!("{before}{inner}{after}"))
        }
        Class::Number => other_number(text),
        Class::True => Some(if text == "True" { "False" } else { "false" }.to_owned()),
        Class::False => Some(if text == "False" { "True" } else { "true" }.to_owned()),
        Class::Null => match node.tree().language {
            Language::Python => Some("False".to_owned()),
            Language::JavaScript | Language::TypeScript | Language::Tsx => Some("0".to_owned()),
            Language::Java => Some("\"\"".to_owned()),
            Language::Rust | Language::Go | Language::Other => None,
        },
    }
}

/// Another string of the same kind. Escape sequences stay unchanged.
fn other_text(text: &str, letters: Letters) -> Option<String> {
    match letters {
        Letters::Near => near_text(text),
        Letters::Own => own_text(text),
    }
}

/// Swaps the last two adjacent letters that differ. If there are none, doubles the last one.
fn own_text(text: &str) -> Option<String> {
    let plain = text.get(..text.find('\\').unwrap_or(text.len()))?;
    let letters: Vec<(usize, char)> = plain.char_indices().collect();
    let is_pair = |pair: &&[(usize, char)]| match pair {
        [(_, one), (_, other)] => {
            one != other && one.is_ascii_alphanumeric() && other.is_ascii_alphanumeric()
        }
        _ => false,
    };
    if let Some([(at, one), (_, other)]) = letters.windows(2).rfind(is_pair) {
        return Some(format!("{}{other}{one}{}", text.get(..*at)?, text.get(at + 2..)?));
    }
    let (at, last) = letters.iter().rfind(|(_, letter)| letter.is_ascii_alphanumeric())?;
    Some(format!("{}{last}{}", text.get(..*at)?, text.get(*at..)?))
}

/// Replaces the last letter or digit by its neighbour.
fn near_text(text: &str) -> Option<String> {
    let plain = text.find('\\').unwrap_or(text.len());
    let (at, letter) =
        text.get(..plain)?.char_indices().rfind(|(_, letter)| letter.is_ascii_alphanumeric())?;
    let next = match letter {
        'z' => 'a',
        'Z' => 'A',
        '9' => '0',
        other => char::from_u32(u32::from(other) + 1)?,
    };
    Some(format!("{}{next}{}", text.get(..at)?, text.get(at + 1..)?))
}

/// A number of the same length that no tolerance accepts: changes the first digit that does not
/// make the value too large for its type. `approx(250, abs=5)` accepts 251, and a byte cannot be
/// 300.
fn other_number(text: &str) -> Option<String> {
    let base = text.get(..2).filter(|start| matches!(*start, "0x" | "0X" | "0b" | "0o"));
    let skipped = base.map_or(0, str::len);
    let digits = text.get(skipped..)?;
    let end = digits
        .find(|letter: char| !letter.is_ascii_digit() && letter != '_')
        .unwrap_or(digits.len());
    let places: Vec<(usize, char)> =
        digits.get(..end)?.char_indices().filter(|(_, letter)| letter.is_ascii_digit()).collect();
    let neighbour = |digit: char| match digit {
        '9' => Some('8'),
        '1' if base == Some("0b") => Some('0'),
        '7' if base == Some("0o") => Some('6'),
        other => char::from_u32(u32::from(other) + 1),
    };
    let (at, next) = match (base, places.as_slice()) {
        (None, [(_, '1'), (at, digit), _, ..]) => (*at, neighbour(*digit)?),
        (None, [(at, digit @ '2'..='9'), _, ..]) => (*at, char::from_u32(u32::from(*digit) - 1)?),
        (None, [(at, digit @ '1'), _]) => (*at, neighbour(*digit)?),
        (_, places) => places.last().and_then(|(at, digit)| Some((*at, neighbour(*digit)?)))?,
    };
    Some(format!("{}{}{next}{}", text.get(..skipped)?, digits.get(..at)?, digits.get(at + 1..)?))
}

/// Increases the last written digit; nine becomes eight. `None` for bases other than ten.
pub(super) fn other_in_last_digit(text: &str) -> Option<String> {
    let end = text
        .find(|letter: char| !letter.is_ascii_digit() && letter != '.' && letter != '_')
        .unwrap_or(text.len());
    let (at, digit) =
        text.get(..end)?.char_indices().rfind(|(_, letter)| letter.is_ascii_digit())?;
    let is_decimal = !(text.starts_with('0')
        && text.get(1..).is_some_and(|rest| rest.starts_with(['x', 'X', 'b', 'o'])));
    let next = if digit == '9' { '8' } else { char::from_u32(u32::from(digit) + 1)? };
    is_decimal.then_some(format!("{}{next}{}", text.get(..at)?, text.get(at + 1..)?))
}

/// The negated assertion.
fn negated(assertion: &Assertion<'_>) -> Option<Edit> {
    let node = assertion.node;
    let edit = |span: Range<usize>, replacement: String| {
        Some(Edit { span, replacement, how: Perturbation::Negation })
    };
    if is_constant(assertion) {
        return None;
    }
    if let (false, Some(name)) = (assertion.opposite.is_empty(), assertion.name) {
        let opposite =
            assertion.opposite.rsplit(['.', ':']).next().unwrap_or_default().trim_end_matches('!');
        let replacement =
            if opposite == "not" { format!("not.{}", name.text()) } else { opposite.to_owned() };
        return edit(name.span(), replacement);
    }
    match &assertion.claim {
        Claim::Equal { left, right, .. } => {
            let between = left.span().end..right.span().start;
            let replacement = flipped(node.tree().source.get(between.clone())?)?;
            edit(between, replacement)
        }
        Claim::Truth { condition, .. } => {
            let not = if node.tree().language == Language::Python { "not " } else { "!" };
            edit(condition.span(), format!("{not}({})", condition.text()))
        }
        Claim::Throws | Claim::Fail | Claim::Other => None,
    }
}

fn is_constant(assertion: &Assertion<'_>) -> bool {
    match &assertion.claim {
        Claim::Equal { left, right, .. } => is_pure(left) && is_pure(right),
        Claim::Truth { condition, .. } => {
            is_pure(condition) || condition.single().is_some_and(|node| node.kind() == "tuple")
        }
        Claim::Throws | Claim::Fail => true,
        Claim::Other => false,
    }
}

fn flipped(operator: &str) -> Option<String> {
    const PAIRS: [(&str, &str); 8] = [
        ("===", "!=="),
        ("!==", "==="),
        ("==", "!="),
        ("!=", "=="),
        ("is not", "is"),
        ("is", "is not"),
        ("not in", "in"),
        ("in", "not in"),
    ];
    let (_, contrary) = PAIRS.iter().find(|(known, _)| operator.trim() == *known)?;
    Some(format!(" {contrary} "))
}
