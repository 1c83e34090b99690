//! Question 1: what does a file contain? Every function, class, suite and test, with its
//! properties.

use std::cell::RefCell;
use std::collections::{HashMap, HashSet, VecDeque};
use std::ops::Range;

use super::assertion::{Assertion, assertions};
use super::call::{Call, call, calls};
use super::doctest::{DocTest, doc_tests, masked};
use super::language::{Decorations, ItemKind, Language, Place, Row, row};
use super::tree::{Node, Tree};
use super::{glob, hash, javascript, parameter};

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Item {
    /// The name that the runner uses inside the file: `TestRoman::test_one`, `tests::four`, `roman
    /// > four`.
    pub name: String,
    pub kind: ItemKind,
    /// Includes decorators and attributes.
    pub span: Range<usize>,
    /// First and last line, starting at 1.
    pub lines: (u32, u32),
    pub is_test: bool,
    /// In test code: a test, or something that only tests use.
    pub in_tests: bool,
    /// Equal for code that differs only in layout, comments and names that the file defines.
    pub body_hash: u64,
    /// Equal for code that differs only in layout and comments.
    pub text_hash: u64,
    /// Includes those of helpers in the same file.
    pub assertions: usize,
    /// The number of them that compare with a value.
    pub exact: usize,
    pub markers: Vec<Marker>,
    /// How often it runs, if that is written in the source.
    pub parameters: Option<usize>,
}

/// What prevents a test from running, or lets it fail.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Marker {
    Skip,
    /// Runs only this one, and skips the others.
    Only,
    Todo,
    /// Must fail in order to pass: xfail, `fails`, `should_panic`.
    Xfail,
}

/// An item with its nodes.
pub(super) struct ItemNodes<'t> {
    pub(super) node: Node<'t>,
    /// Includes decorators.
    pub(super) whole: Vec<Node<'t>>,
    pub(super) body: Node<'t>,
    pub(super) decorations: Vec<Decoration<'t>>,
    pub(super) words: Vec<String>,
    pub(super) item: Item,
}

pub(super) struct Decoration<'t> {
    pub(super) node: Node<'t>,
    /// Without `@`, `#[` and arguments.
    pub(super) name: String,
    /// Without layout, but with arguments.
    pub(super) text: String,
}

/// The name of a documentation example.
const EXAMPLE: &str = "(doc)";
/// The size of the cache. Finding a Rust test searches all files of a project.
const KNOWN_MAX: usize = 200;

thread_local! {
    static KNOWN: RefCell<VecDeque<CachedItems>> = const { RefCell::new(VecDeque::new()) };
}

/// The items of a source, cached.
struct CachedItems {
    language: Language,
    path: String,
    source: String,
    items: Vec<Item>,
}

/// Every item, in source order. Empty for a language or source without a tree.
///
/// The rules ask for the same few files again and again, so the last ones are cached.
pub fn items(language: Language, path: &str, source: &str) -> Vec<Item> {
    KNOWN.with_borrow_mut(|known| {
        let is_same = |one: &CachedItems| {
            one.language == language && one.path == path && one.source == source
        };
        if let Some(at) = known.iter().position(is_same) {
            let one = known.remove(at);
            known.extend(one);
        } else {
            let items = read_items(language, path, source);
            known.push_back(CachedItems {
                language,
                path: path.to_owned(),
                source: source.to_owned(),
                items,
            });
            if known.len() > KNOWN_MAX {
                known.pop_front();
            }
        }
        known.back().map(|one| one.items.clone()).unwrap_or_default()
    })
}

fn read_items(language: Language, path: &str, source: &str) -> Vec<Item> {
    let Some(tree) = Tree::parse(language, source) else { return Vec::new() };
    let found = found(&tree, path);
    let mut items: Vec<Item> = found.into_iter().map(|found| found.item).collect();
    items.extend(doc_tests(&tree).iter().map(|test| doc_item(&tree, test)));
    items.sort_by_key(|item| item.span.start);
    items
}

pub(super) fn found<'t>(tree: &'t Tree<'_>, path: &str) -> Vec<ItemNodes<'t>> {
    let mut found = declared(tree, path);
    let assertions = assertions(tree);
    let calls: Vec<Call<'t>> = calls(tree.root()).collect();
    let bound = hash::bound_names(tree);
    count(&mut found, &assertions, &calls);
    for one in &mut found {
        one.item.body_hash = hash::renamed(one.body, &bound);
        one.item.text_hash = hash::exact(one.whole.iter().copied());
        one.item.parameters = parameter::count(one);
    }
    found
}

/// Whether the call declares a test or a suite.
pub(super) fn declares_test(call: &Call<'_>) -> bool {
    call.node.tree().language.is_script() && script_words(call).is_some()
}

pub(super) fn declared<'t>(tree: &'t Tree<'_>, path: &str) -> Vec<ItemNodes<'t>> {
    let row = row(tree.language);
    let test_file = glob::any(row.test_files, path);
    let mut found: Vec<ItemNodes<'t>> = Vec::new();
    let mut open: Vec<usize> = Vec::new();
    for node in tree.nodes() {
        while let Some(last) = open.last().and_then(|at| found.get(*at)) {
            if last.node.contains(node) {
                break;
            }
            open.pop();
        }
        let Some(mut one) = plain(node).or_else(|| script_case(node)).or_else(|| in_macro(node))
        else {
            continue;
        };
        let outer = open.last().and_then(|at| found.get(*at));
        one.item.is_test = is_test(&one, outer, row, test_file);
        one.item.in_tests = test_file
            || one.item.is_test
            || outer.is_some_and(|outer| outer.item.in_tests)
            || is_test_scope(&one, row);
        one.item.markers = markers(&one, row);
        if let Some(outer) = outer {
            one.item.name = format!("{}{}{}", outer.item.name, row.separator, one.item.name);
            one.item.markers.extend(outer.item.markers.iter().copied());
        }
        open.push(found.len());
        found.push(one);
    }
    found
}

fn draft<'t>(
    node: Node<'t>,
    body: Node<'t>,
    kind: ItemKind,
    name: String,
    decorations: Vec<Decoration<'t>>,
) -> ItemNodes<'t> {
    let first = decorations
        .first()
        .map_or(node, |first| if first.node.at() < node.at() { first.node } else { node });
    let wrapper = node
        .parent()
        .filter(|parent| matches!(parent.kind(), "decorated_definition" | "export_statement"));
    let outside = wrapper.unwrap_or(first);
    let whole: Vec<Node<'t>> = match wrapper {
        Some(wrapper) => vec![wrapper],
        None => decorations
            .iter()
            .map(|one| one.node)
            .filter(|one| one.at() < node.at())
            .chain([node])
            .collect(),
    };
    let item = Item {
        name,
        kind,
        span: outside.span().start..outside.span().end.max(node.span().end),
        lines: (outside.line(), node.last_line()),
        is_test: false,
        in_tests: false,
        body_hash: 0,
        text_hash: 0,
        assertions: 0,
        exact: 0,
        markers: Vec::new(),
        parameters: None,
    };
    ItemNodes { node, whole, body, decorations, words: Vec::new(), item }
}

fn plain(node: Node<'_>) -> Option<ItemNodes<'_>> {
    let row = row(node.tree().language);
    let (_, kind, field) = row.items.iter().find(|(kind, ..)| *kind == node.kind())?;
    let mut body = node.child("body").unwrap_or(node);
    if node.kind() == "variable_declarator" {
        let value = node.child("value").filter(|value| value.is(row.closures))?;
        body = value.child("body").unwrap_or(value);
    }
    let mut name: String = node.child(field)?.text().split_whitespace().collect();
    // In Go, the receiver comes before the name.
    if let Some(receiver) = node.child("receiver") {
        let kind = receiver.descendants().find(|part| part.kind() == "type_identifier");
        name = format!("{}.{name}", kind.map_or("", Node::text));
    }
    Some(draft(node, body, *kind, name, decorations(node, row)))
}

pub(super) fn decorations<'t>(node: Node<'t>, row: &Row) -> Vec<Decoration<'t>> {
    let mut nodes: Vec<Node<'t>> = match row.decorations {
        Decorations::Wrapper(wrapper, decorator) => {
            let wrapper = node.parent().filter(|parent| parent.kind() == wrapper);
            wrapper
                .into_iter()
                .flat_map(Node::children)
                .filter(|child| child.kind() == decorator)
                .collect()
        }
        Decorations::Before(kind) => {
            let before = node.before().take_while(|one| one.kind() == kind || one.is(row.comments));
            before.filter(|one| one.kind() == kind).collect()
        }
        Decorations::Inside(kind) => {
            let inside = node.child_of(&[kind]).into_iter().flat_map(Node::named_children);
            inside.filter(|one| one.kind().contains("annotation")).collect()
        }
        Decorations::None => Vec::new(),
    };
    nodes.sort_by_key(|node| node.at());
    nodes.into_iter().map(decoration).collect()
}

fn decoration(node: Node<'_>) -> Decoration<'_> {
    let text: String = node.text().split_whitespace().collect();
    let text = text.trim_start_matches(['@', '#', '[']).trim_end_matches(']').to_owned();
    let name = text.split(['(', '=']).next().unwrap_or_default().to_owned();
    Decoration { node, name, text }
}

/// `it("adds", () => …)` and its relatives.
fn script_case(node: Node<'_>) -> Option<ItemNodes<'_>> {
    let call = call(node).filter(|call| {
        call.node.tree().language.is_script() && call.node.kind() == "call_expression"
    })?;
    let (kind, words) = script_words(&call)?;
    let parts = call.parts();
    let title = parts.first()?.single()?;
    let is_text = matches!(
        title.kind(),
        "string" | "template_string" | "binary_expression" | "member_expression" | "identifier"
    );
    let row = row(node.tree().language);
    let closure =
        parts.iter().rev().find_map(|part| part.single().filter(|one| one.is(row.closures)));
    if !is_text
        || closure.is_none() && !words.iter().any(|word| matches!(word.as_str(), "todo" | "skip"))
    {
        return None;
    }
    let body = closure.and_then(|closure| closure.child("body")).unwrap_or(node);
    let name = match title.kind() {
        "string" | "template_string" => title.text().trim_matches(['"', '\'', '`']).to_owned(),
        // A computed part may be anything.
        _ => format!("${{{}}}", title.text()),
    };
    let mut found = draft(node, body, kind, name, Vec::new());
    found.words = words;
    found.words.extend(options(&parts));
    Some(found)
}

/// `{ skip: true }` between the title and the function.
fn options(parts: &[super::call::Part<'_>]) -> Vec<String> {
    let objects = parts
        .iter()
        .skip(1)
        .filter_map(|part| part.single())
        .filter(|node| node.kind() == "object");
    let pairs = objects.flat_map(Node::named_children).filter(|pair| pair.kind() == "pair");
    let on = pairs.filter(|pair| pair.child("value").is_some_and(|value| value.text() != "false"));
    on.filter_map(|pair| pair.child("key").map(|key| key.text().to_owned())).collect()
}

/// The kind of declaration and its words: `["describe", "skip"]`.
fn script_words(call: &Call<'_>) -> Option<(ItemKind, Vec<String>)> {
    let callee = call.callee.trim_end_matches("()").to_owned()
        + if call.callee.ends_with("()") { "()" } else { "" };
    let kinds = [(ItemKind::Case, javascript::CASES), (ItemKind::Suite, javascript::SUITES)];
    for (kind, heads) in kinds {
        for head in heads {
            let Some(rest) = callee.strip_prefix(head) else { continue };
            let mut words = vec![(*head).to_owned()];
            let rest = rest.strip_prefix('.').or(rest.is_empty().then_some(rest));
            let Some(rest) = rest else { continue };
            words.extend(rest.split('.').filter(|word| !word.is_empty()).map(str::to_owned));
            if words.iter().skip(1).all(|word| javascript::WORDS.contains(&word.as_str())) {
                return Some((kind, words));
            }
        }
    }
    None
}

/// Functions inside a macro, which is made of tokens:
/// `proptest! { #[test] fn holds(n in 0..9) { … } }`.
fn in_macro(node: Node<'_>) -> Option<ItemNodes<'_>> {
    if node.kind() != "identifier" || node.tree().language != Language::Rust {
        return None;
    }
    let function =
        node.previous_sibling().filter(|before| before.kind() == "fn" || before.text() == "fn")?;
    if node.parent()?.kind() != "token_tree" {
        return None;
    }
    let mut after = std::iter::successors(node.next_sibling(), |next| next.next_sibling());
    let body = after.find(|next| next.kind() == "token_tree" && next.text().starts_with('{'))?;
    let mut decorations = Vec::new();
    let mut before = function.before();
    while let (Some(group), Some(hash)) = (before.next(), before.next()) {
        if hash.text() != "#" {
            break;
        }
        decorations.push(decoration(group));
    }
    decorations.reverse();
    let mut found = draft(function, body, ItemKind::Function, node.text().to_owned(), decorations);
    found.item.span.end = body.span().end;
    found.item.lines.1 = body.last_line();
    found.whole = vec![body];
    Some(found)
}

fn is_test(one: &ItemNodes<'_>, outer: Option<&ItemNodes<'_>>, row: &Row, test_file: bool) -> bool {
    let simple = one.item.name.rsplit('.').next().unwrap_or_default();
    match one.item.kind {
        ItemKind::Case | ItemKind::DocTest => true,
        ItemKind::Suite | ItemKind::Class => false,
        ItemKind::Function => {
            let decorated = one
                .decorations
                .iter()
                .any(|decoration| glob::any(row.test_decorations, &decoration.name));
            let in_place = match outer {
                None => true,
                Some(outer) => outer.item.kind == ItemKind::Class && is_test_class(outer, row),
            };
            decorated
                || test_file
                    && in_place
                    && glob::any(row.test_names, simple)
                    && has_test_signature(one)
        }
    }
}

fn is_test_class(class: &ItemNodes<'_>, row: &Row) -> bool {
    let bases = class.node.child("superclasses").into_iter().flat_map(Node::named_children);
    glob::any(row.test_classes, &class.item.name)
        || bases.into_iter().any(|base| glob::any(row.test_classes, base.text()))
}

/// Go runs `TestX(t *testing.T)`, but not `TestX()` or `Testing`.
fn has_test_signature(one: &ItemNodes<'_>) -> bool {
    if one.node.tree().language != Language::Go {
        return true;
    }
    let name = one.item.name.rsplit('.').next().unwrap_or_default();
    let rest =
        ["Test", "Fuzz", "Example", "Benchmark"].iter().find_map(|start| name.strip_prefix(start));
    let lower = rest.is_some_and(|rest| rest.starts_with(char::is_lowercase));
    let parameters = one.node.child("parameters").map_or("", Node::text);
    !lower
        && (name.starts_with("Example")
            || parameters.contains("testing.")
            || one.node.child("receiver").is_some())
}

fn is_test_scope(one: &ItemNodes<'_>, row: &Row) -> bool {
    let marked =
        one.decorations.iter().any(|decoration| glob::any(row.test_scopes, &decoration.text));
    let guarded = one.node.tree().language.is_script()
        && one.node.ancestors().any(|above| above.is(row.branches) && is_test_guard(above, row));
    marked || guarded
}

/// `if (import.meta.vitest)`.
pub(super) fn is_test_guard(branch: Node<'_>, row: &Row) -> bool {
    let condition = branch.child("condition").map_or("", Node::text);
    row.test_scopes.iter().any(|scope| condition.contains(scope))
}

fn markers(one: &ItemNodes<'_>, row: &Row) -> Vec<Marker> {
    let mut markers = Vec::new();
    for (place, pattern, marker) in row.markers {
        let here = match place {
            Place::Decoration => {
                one.decorations.iter().any(|decoration| glob::matches(pattern, &decoration.text))
            }
            Place::Word => one.words.iter().any(|word| word == pattern),
            Place::Call => {
                matches!(one.item.kind, ItemKind::Function | ItemKind::Case)
                    && one.item.is_test
                    && calls(one.body).any(|call| glob::matches(pattern, &call.callee))
            }
        };
        if here && !markers.contains(marker) {
            markers.push(*marker);
        }
    }
    markers
}

/// The assertions of each item, identical ones counted once. A call of a helper in the same file
/// counts as the assertions of the helper.
fn count(found: &mut [ItemNodes<'_>], assertions: &[Assertion<'_>], calls: &[Call<'_>]) {
    const ROUNDS_MAX: usize = 4;
    for one in found.iter_mut() {
        let inside = within(assertions, one.body, |assertion| assertion.node);
        one.item.assertions = distinct(inside.iter().filter(|assertion| !assertion.is_count()));
        one.item.exact = distinct(inside.iter().filter(|assertion| assertion.is_exact()));
    }
    let direct: Vec<(usize, usize)> =
        found.iter().map(|one| (one.item.assertions, one.item.exact)).collect();
    for _ in 0..ROUNDS_MAX {
        let helpers: HashMap<String, (usize, usize)> = found
            .iter()
            .filter(|one| {
                one.item.in_tests && !one.item.is_test && one.item.kind == ItemKind::Function
            })
            .filter(|one| one.item.assertions > 0)
            .map(|one| (simple(&one.item.name).to_owned(), (one.item.assertions, one.item.exact)))
            .collect();
        if helpers.is_empty() {
            return;
        }
        for (one, (assertions, exact)) in found.iter_mut().zip(&direct) {
            let own = simple(&one.item.name).to_owned();
            let called = within(calls, one.body, |call| call.node);
            let helped = called
                .iter()
                .filter(|call| call.name() != own)
                .filter_map(|call| helpers.get(call.name()));
            let (mut more, mut more_exact) = (0_usize, 0_usize);
            for helper in helped {
                more = more.saturating_add(helper.0);
                more_exact = more_exact.saturating_add(helper.1);
            }
            one.item.assertions = assertions.saturating_add(more);
            one.item.exact = exact.saturating_add(more_exact);
        }
    }
}

fn distinct<'a, 't: 'a>(assertions: impl Iterator<Item = &'a Assertion<'t>>) -> usize {
    assertions.map(|assertion| assertion.node.text()).collect::<HashSet<_>>().len()
}

/// The elements of a sorted list that are inside a node.
pub(super) fn within<'a, 't, T>(
    all: &'a [T],
    node: Node<'t>,
    place: impl Fn(&T) -> Node<'t>,
) -> &'a [T] {
    let start = all.partition_point(|one| place(one).at() < node.at());
    let rest = all.get(start..).unwrap_or_default();
    let length = rest.partition_point(|one| node.contains(place(one)));
    rest.get(..length).unwrap_or_default()
}

/// The separator in the name of an item.
pub fn separator(language: Language) -> &'static str {
    row(language).separator
}

/// The parts of an item's name, from the outermost to its own. An example has the name of the item
/// it documents.
pub fn names_of(language: Language, name: &str) -> Vec<&str> {
    name.split(separator(language)).filter(|part| *part != EXAMPLE).collect()
}

/// Whether an item of that name is a documentation example.
pub fn is_example(name: &str) -> bool {
    name.ends_with(EXAMPLE)
}

/// The last part of a qualified name.
pub(super) fn simple(name: &str) -> &str {
    name.rsplit([':', '.', '>']).next().unwrap_or(name).trim()
}

fn doc_item(tree: &Tree<'_>, test: &DocTest<'_>) -> Item {
    let row = row(tree.language);
    let name = |node: Node<'_>| {
        row.items
            .iter()
            .find(|(kind, ..)| *kind == node.kind())
            .and_then(|(.., field)| Some(node.child(field)?.text().to_owned()))
    };
    let mut path: Vec<String> = test.place.ancestors().filter_map(name).collect();
    path.reverse();
    path.extend(test.owner.and_then(name));
    path.push(EXAMPLE.to_owned());
    let code = masked(tree.source, &test.code);
    let parsed = Tree::parse(tree.language, &code);
    let claims = parsed.as_ref().map(assertions).unwrap_or_default();
    let mut markers = Vec::new();
    markers.extend(test.ignored.then_some(Marker::Skip));
    markers.extend(test.panics.then_some(Marker::Xfail));
    let hash = parsed.as_ref().map_or(0, |tree| hash::renamed(tree.root(), &HashSet::new()));
    let expected: Vec<&str> = test
        .expected
        .iter()
        .filter_map(|range| tree.source.get(range.clone()))
        .map(str::trim)
        .collect();
    let text_hash = hash ^ hash::of_words(&expected);
    Item {
        name: path.join(row.separator),
        kind: ItemKind::DocTest,
        span: test.span.clone(),
        lines: (test.line, test.last_line),
        is_test: true,
        in_tests: true,
        body_hash: text_hash,
        text_hash,
        assertions: distinct(claims.iter()) + test.expected.len(),
        exact: distinct(claims.iter().filter(|claim| claim.is_exact())) + test.expected.len(),
        markers,
        parameters: None,
    }
}
