//! Finds the expected value if an assertion only names it: a row of data, a loop over a list, a
//! variable.

use super::call::{Part, call, parts};
use super::glob;
use super::item::ItemNodes;
use super::language::row;
use super::literal::is_pure;
use super::parameter::{each, listed, resolve, rows};
use super::tree::Node;
use super::visibility;

const LOOPS: &[(&str, &str, &str)] = &[
    ("for_statement", "left", "right"),
    ("for_in_statement", "left", "right"),
    ("for_expression", "pattern", "value"),
    ("range_clause", "left", "right"),
    ("enhanced_for_statement", "name", "value"),
];
const ROWS_MAX: usize = 200;
/// Literals that hold values by key, and the expressions that take one out.
const TABLES: &[&str] = &["dictionary", "object", "composite_literal"];
const LOOKUPS: &[&str] = &["subscript", "subscript_expression", "index_expression"];

/// The part of a row that a name refers to.
#[derive(Clone)]
enum Column {
    Whole,
    Number(usize),
    Key(String),
}

/// The literals of the expected side of an assertion. Empty if they are unknown.
pub(super) fn written<'t>(test: &ItemNodes<'t>, expected: &Part<'t>) -> Vec<Part<'t>> {
    if is_pure(expected) {
        return vec![expected.clone()];
    }
    if let Some(lookup) = expected.single().filter(|node| node.is(LOOKUPS)) {
        let table = lookup.named_children().next().and_then(table);
        return table.map(values_of).unwrap_or_default().into_iter().filter(is_pure).collect();
    }
    let Some((name, key)) = named(expected) else { return Vec::new() };
    if goes_through(test, name, key) {
        return Vec::new();
    }
    let found = [
        decorated(test, name),
        from_each(test, name, key),
        from_loop(test, name, key),
        assigned(expected, name),
    ];
    let values = found.into_iter().find(|values| !values.is_empty()).unwrap_or_default();
    values.into_iter().filter(is_pure).collect()
}

/// The table that a name refers to.
fn table(name: Node<'_>) -> Option<Node<'_>> {
    let is_name = name.is(row(name.tree().language).identifiers);
    let values = if is_name { visibility::values(name, name.text()) } else { Vec::new() };
    values.into_iter().find_map(|value| value.subtree().take(4).find(|node| node.is(TABLES)))
}

/// The values of a table, without the keys.
fn values_of(table: Node<'_>) -> Vec<Part<'_>> {
    rows(table).into_iter().take(ROWS_MAX).map(|row| value_of(&row)).collect()
}

/// `for word, wanted in KNOWN.items()`, `Object.entries(KNOWN)`: the table that is listed.
fn listed_table(list: Node<'_>) -> Option<Node<'_>> {
    call(list)?;
    list.leaves().find_map(table)
}

/// `decode(encode(text)) == text`: the input of the code is not an expectation, and may be
/// anything.
fn goes_through(test: &ItemNodes<'_>, name: &str, key: Option<&str>) -> bool {
    const DEFINES: [&str; 6] = ["left", "pattern", "name", "parameters", "parameter", "alias"];
    let language = row(test.node.tree().language);
    let is_used = |leaf: &Node<'_>| match key {
        None => true,
        Some(key) => leaf.parent().is_some_and(|around| super::word::has(around.text(), key)),
    };
    let is_given = |leaf: Node<'_>| {
        let mut below = leaf;
        for above in leaf.ancestors() {
            if below.field().is_some_and(|field| DEFINES.contains(&field)) {
                return false;
            }
            if above.kind() == language.assert_statement
                || above.is(language.branches) && below.field() == Some("condition")
            {
                return false;
            }
            if is_call_in_macro(above) {
                return true;
            }
            if let Some(call) = call(above) {
                return !language
                    .asserts
                    .iter()
                    .any(|(pattern, ..)| glob::matches(pattern, &call.callee));
            }
            below = above;
            if above.at() == test.body.at() {
                break;
            }
        }
        true
    };
    test.body.leaves().filter(|leaf| leaf.text() == name).filter(is_used).any(is_given)
}

/// The arguments of a call inside a macro argument.
fn is_call_in_macro(group: Node<'_>) -> bool {
    let inside = group.kind() == "token_tree"
        && group.parent().is_some_and(|around| around.kind() == "token_tree");
    let constructors = row(group.tree().language).value_words;
    let is_function =
        |name: Node<'_>| name.kind() == "identifier" && !constructors.contains(&name.text());
    inside && group.text().starts_with('(') && group.before().next().is_some_and(is_function)
}

/// `want`, or `tt.want`.
fn named<'t>(expected: &Part<'t>) -> Option<(&'t str, Option<&'t str>)> {
    let mut text = expected.text().trim_start_matches(['&', '*']).trim();
    for end in [".to_string()", ".to_owned()", ".into()", ".clone()"] {
        text = text.strip_suffix(end).unwrap_or(text);
    }
    let is_name = |name: &str| !name.is_empty() && name.chars().all(super::word::is_word);
    match text.split_once('.') {
        None => is_name(text).then_some((text, None)),
        Some((name, key)) => (is_name(name) && is_name(key)).then_some((name, Some(key))),
    }
}

/// `@pytest.mark.parametrize("n, want", [...])`, `#[case(4, "IV")]`, `@CsvSource`.
fn decorated<'t>(test: &ItemNodes<'t>, name: &str) -> Vec<Part<'t>> {
    let row = row(test.node.tree().language);
    let mut values = Vec::new();
    for decoration in &test.decorations {
        if glob::any(row.parameter_lists, &decoration.name) {
            let names = decoration.node.descendants().find_map(call).and_then(|call| call.part(0));
            let names: Vec<String> = names.map(|part| words(part.text())).unwrap_or_default();
            let column = match names.iter().position(|known| known == name) {
                Some(0) if names.len() == 1 => Column::Whole,
                Some(at) => Column::Number(at),
                None => continue,
            };
            let list = listed(decoration.node);
            values.extend(
                list.into_iter()
                    .flat_map(rows)
                    .take(ROWS_MAX)
                    .filter_map(|row| pick(&row, &column)),
            );
        }
        if glob::any(row.parameter_rows, &decoration.name) {
            let list = decoration.node.descendants().find(|node| node.kind() == "token_tree");
            let column = parameter_names(test.node).iter().position(|known| known == name);
            values.extend(list.and_then(|list| parts(list).into_iter().nth(column?)));
        }
    }
    values
}

fn words(text: &str) -> Vec<String> {
    text.split(|letter: char| !super::word::is_word(letter))
        .filter(|word| !word.is_empty())
        .map(str::to_owned)
        .collect()
}

fn parameter_names(function: Node<'_>) -> Vec<String> {
    let list = function.child("parameters");
    let parameters = list
        .into_iter()
        .flat_map(Node::named_children)
        .filter(|child| child.kind() != "attribute_item");
    parameters
        .filter_map(|one| one.child("pattern").or(Some(one)).map(|name| name.text().to_owned()))
        .collect()
}

/// `test.each([[4, "IV"]])("…", (n, want) => …)`.
fn from_each<'t>(test: &ItemNodes<'t>, name: &str, key: Option<&str>) -> Vec<Part<'t>> {
    let Some(table) = each(test.node) else { return Vec::new() };
    let closure = test.body.ancestors().next();
    let Some(column) = closure.and_then(|closure| closure_column(closure, name, key)) else {
        return Vec::new();
    };
    rows(table).into_iter().take(ROWS_MAX).filter_map(|row| pick(&row, &column)).collect()
}

/// The index of the parameter with this name.
fn closure_column(closure: Node<'_>, name: &str, key: Option<&str>) -> Option<Column> {
    let single = closure.child("parameter");
    let list: Vec<Node<'_>> = match closure.child("parameters") {
        Some(list) => {
            list.named_children().map(|one| one.child("pattern").unwrap_or(one)).collect()
        }
        None => single.into_iter().collect(),
    };
    let at = list.iter().position(|one| one.leaves().any(|leaf| leaf.text() == name))?;
    let one = list.get(at)?;
    if one.is_leaf() && list.len() > 1 {
        return Some(Column::Number(at));
    }
    pattern_column(*one, name, key)
}

fn pattern_column(pattern: Node<'_>, name: &str, key: Option<&str>) -> Option<Column> {
    if let Some(key) = key {
        return (pattern.leaves().any(|leaf| leaf.text() == name))
            .then(|| Column::Key(key.to_owned()));
    }
    if pattern.text().contains('{') {
        return Some(Column::Key(name.to_owned()));
    }
    let mut names = pattern
        .leaves()
        .filter(|leaf| leaf.text().starts_with(|letter: char| super::word::is_word(letter)));
    let several = pattern.text().contains(',');
    let keywords = ["const", "let", "var", "mut", "ref"];
    let at = names
        .by_ref()
        .filter(|leaf| !keywords.contains(&leaf.text()))
        .position(|leaf| leaf.text() == name)?;
    Some(if several { Column::Number(at) } else { Column::Whole })
}

/// `for n, want in [(4, "IV")]`, `rows.forEach(([n, want]) => …)`.
fn from_loop<'t>(test: &ItemNodes<'t>, name: &str, key: Option<&str>) -> Vec<Part<'t>> {
    // A loop may also be around the tests that it creates.
    for node in test.body.subtree().chain(test.node.ancestors()) {
        let closure = node.is(row(node.tree().language).closures);
        let (column, list) =
            if let Some((_, left, right)) = LOOPS.iter().find(|(kind, ..)| *kind == node.kind()) {
                let Some(left) = node.child(left) else { continue };
                // Go has the index of the row first.
                let left = if node.kind() == "range_clause" {
                    left.named_children().last().unwrap_or(left)
                } else {
                    left
                };
                (pattern_column(left, name, key), node.child(right))
            } else if closure {
                let list = node
                    .ancestors()
                    .find_map(call)
                    .and_then(|call| call.node.child("function")?.child("object"));
                (closure_column(node, name, key), list)
            } else {
                continue;
            };
        if let Some((Column::Number(1), table)) = column.as_ref().zip(list.and_then(listed_table)) {
            return values_of(table);
        }
        let Some((column, list)) = column.zip(list.and_then(|list| resolve(list))) else {
            continue;
        };
        let fields = struct_fields(list);
        let column = match &column {
            Column::Key(key) => {
                fields.iter().position(|field| field == key).map_or(column.clone(), Column::Number)
            }
            Column::Whole | Column::Number(_) => column.clone(),
        };
        let values: Vec<Part<'t>> = rows(list)
            .into_iter()
            .take(ROWS_MAX)
            .filter_map(|row| {
                let key_first = match key {
                    Some(key) => pick(&row, &Column::Key(key.to_owned())),
                    None => None,
                };
                key_first.or_else(|| pick(&row, &column))
            })
            .collect();
        if !values.is_empty() {
            return values;
        }
    }
    Vec::new()
}

/// The field names of Go's `[]struct{ in int; want string }{…}`.
fn struct_fields(list: Node<'_>) -> Vec<String> {
    let fields = list.child("type").into_iter().flat_map(Node::descendants);
    let names = fields.filter(|node| node.kind() == "field_declaration").flat_map(Node::children);
    names.filter(|node| node.field() == Some("name")).map(|node| node.text().to_owned()).collect()
}

/// `want = "IV"` in the test or around it, in each branch that sets it. Empty if the last one is
/// computed.
fn assigned<'t>(expected: &Part<'t>, name: &str) -> Vec<Part<'t>> {
    let Some(from) = expected.0.first() else { return Vec::new() };
    let values: Vec<Part<'t>> = visibility::values(*from, name).into_iter().map(unlisted).collect();
    let before = values.iter().rfind(|value| value.span().end <= from.span().start);
    if before.or(values.first()).is_some_and(is_pure) { values } else { Vec::new() }
}

/// Go wraps the right side of an assignment in a list.
fn unlisted(value: Node<'_>) -> Part<'_> {
    let only = value
        .named_children()
        .next()
        .filter(|_| value.kind() == "expression_list" && value.named_children().count() == 1);
    Part::of(only.unwrap_or(value))
}

fn pick<'t>(row: &Part<'t>, column: &Column) -> Option<Part<'t>> {
    let node = match column {
        Column::Whole => return Some(row.clone()),
        Column::Number(_) | Column::Key(_) => row.single(),
    };
    let inside: Vec<Part<'t>> = match (node, node.and_then(call)) {
        (_, Some(call)) => call.parts(),
        (Some(node), None) => {
            parts(node.child("body").or_else(|| node.child_of(&["literal_value"])).unwrap_or(node))
        }
        (None, None) => row
            .0
            .iter()
            .find(|node| node.kind() == "token_tree")
            .map(|node| parts(*node))
            .unwrap_or_default(),
    };
    match column {
        Column::Whole => None,
        Column::Number(at) => inside.into_iter().nth(*at).map(|part| value_of(&part)),
        Column::Key(key) => inside
            .iter()
            .find(|part| {
                let name =
                    part.0.first().and_then(|node| node.leaves().find(|leaf| leaf.is_named()));
                name.is_some_and(|name| name.text().trim_matches(['"', '\'']) == key)
            })
            .map(value_of),
    }
}

/// Without the key.
fn value_of<'t>(part: &Part<'t>) -> Part<'t> {
    let node = part
        .single()
        .filter(|node| matches!(node.kind(), "pair" | "keyed_element" | "keyword_argument"));
    node.and_then(|node| node.named_children().last()).map_or_else(|| part.clone(), Part::of)
}
