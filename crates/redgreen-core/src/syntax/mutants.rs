//! Question 6: small mutants in the changed lines, which good tests detect.

use std::ops::{Range, RangeInclusive};

use super::item::declared;
use super::language::{Class, ItemKind, Language, row};
use super::literal::class;
use super::overlay::apply;
use super::perturb::{Letters, other};
use super::tree::{Node, Tree};

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mutant {
    pub line: u32,
    /// The replaced range in the original source.
    pub span: Range<usize>,
    pub replacement: String,
    pub description: String,
}

impl Mutant {
    /// The whole source with the mutant.
    pub fn apply(&self, source: &str) -> Option<String> {
        apply(source, vec![(self.span.clone(), self.replacement.clone())])
    }
}

/// Most useful first: the order in which they are tried on a line.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Kind {
    Operator,
    Condition,
    Constant,
    Error,
    Return,
    Deletion,
    Never,
    EarlyReturn,
}

const OPERATORS: &[(&str, &str)] = &[
    ("==", "!="),
    ("!=", "=="),
    ("===", "!=="),
    ("!==", "==="),
    ("<", "<="),
    ("<=", "<"),
    (">", ">="),
    (">=", ">"),
    ("+", "-"),
    ("-", "+"),
    ("*", "/"),
    ("/", "*"),
    ("//", "*"),
    ("%", "*"),
    ("&&", "||"),
    ("||", "&&"),
    ("and", "or"),
    ("or", "and"),
    ("+=", "-="),
    ("-=", "+="),
    ("*=", "+="),
    ("is", "is not"),
    ("is not", "is"),
    ("in", "not in"),
    ("not in", "in"),
    ("..=", ".."),
];
const OPERATIONS: &[&str] = &[
    "binary_expression",
    "binary_operator",
    "comparison_operator",
    "boolean_operator",
    "augmented_assignment",
    "augmented_assignment_expression",
    "compound_assignment_expr",
    "assignment_expression",
    "assignment_statement",
    "range_expression",
];
/// Code in these nodes does not run, or decides nothing.
const STILL: &[&str] = &[
    "attribute_item",
    "decorator",
    "annotation",
    "marker_annotation",
    "type_arguments",
    "type",
    "import_statement",
    "import_from_statement",
    "use_declaration",
    "import_declaration",
];
const CANDIDATES_MAX: usize = 2000;

/// Up to `limit` mutants in the changed lines (starting at 1), each of which still parses. The
/// first ones are on different lines. Test code is not mutated.
pub fn mutants(
    language: Language,
    path: &str,
    source: &str,
    changed: &[RangeInclusive<u32>],
    limit: usize,
) -> Vec<Mutant> {
    let Some(tree) = Tree::parse(language, source) else { return Vec::new() };
    let tests: Vec<Range<usize>> = declared(&tree, path)
        .into_iter()
        .filter(|one| one.item.in_tests)
        .map(|one| one.item.span)
        .collect();
    let mut candidates: Vec<(Kind, Mutant)> = Vec::new();
    for node in tree.nodes() {
        let wanted = changed.iter().any(|lines| lines.contains(&node.line()));
        if !wanted || tests.iter().any(|span| span.contains(&node.span().start)) || is_still(node) {
            continue;
        }
        candidates.extend(at_node(node));
        if candidates.len() > CANDIDATES_MAX {
            break;
        }
    }
    let broken = tree.is_broken();
    let parses = |mutant: &Mutant| {
        let changed = mutant.apply(source);
        broken
            || changed.is_some_and(|changed| {
                Tree::parse(language, &changed).is_some_and(|tree| !tree.is_broken())
            })
    };
    spread(candidates).into_iter().filter(parses).take(limit).collect()
}

/// One of each line, then the second of each line, and so on.
fn spread(mut candidates: Vec<(Kind, Mutant)>) -> Vec<Mutant> {
    candidates.sort_by_key(|(kind, mutant)| (mutant.line, *kind, mutant.span.start));
    let mut turn = 0_usize;
    let mut line = 0;
    let mut turns: Vec<(usize, Kind, Mutant)> = Vec::new();
    for (kind, mutant) in candidates {
        turn = if mutant.line == line { turn + 1 } else { 0 };
        line = mutant.line;
        turns.push((turn, kind, mutant));
    }
    turns.sort_by_key(|(turn, kind, mutant)| (*turn, *kind, mutant.line));
    turns.into_iter().map(|(.., mutant)| mutant).collect()
}

fn is_still(node: Node<'_>) -> bool {
    let row = row(node.tree().language);
    node.is(row.comments) || node.ancestors().any(|above| above.is(STILL) || above.is(row.comments))
}

fn at_node(node: Node<'_>) -> Vec<(Kind, Mutant)> {
    let found = [
        (Kind::Operator, operator(node)),
        (Kind::Condition, condition(node)),
        (Kind::Constant, constant(node)),
        (Kind::Error, error(node)),
        (Kind::Return, returned(node)),
        (Kind::Deletion, deletion(node)),
        (Kind::Never, never(node)),
        (Kind::EarlyReturn, early_return(node)),
    ];
    found.into_iter().filter_map(|(kind, mutant)| Some((kind, mutant?))).collect()
}

fn mutant(
    node: Node<'_>,
    span: Range<usize>,
    replacement: String,
    description: String,
) -> Option<Mutant> {
    Some(Mutant { line: node.line(), span, replacement, description })
}

fn operator(node: Node<'_>) -> Option<Mutant> {
    let parent = node.parent().filter(|parent| parent.is(OPERATIONS))?;
    let (from, to) = OPERATORS.iter().find(|(from, _)| !node.is_named() && node.kind() == *from)?;
    // Strings can be joined, but not subtracted. The compiler would detect that, not the tests.
    let text = parent.children().any(|side| class(side) == Some(Class::Text));
    let joins = matches!(*from, "+" | "+=") && text;
    (!joins)
        .then(|| mutant(node, node.span(), (*to).to_owned(), format!("`{from}` became `{to}`")))?
}

fn condition(node: Node<'_>) -> Option<Mutant> {
    let inner = decisive(node)?;
    let not = if node.tree().language == Language::Python { "not " } else { "!" };
    mutant(
        inner,
        inner.span(),
        format!("{not}({})", inner.text()),
        "the condition was negated".to_owned(),
    )
}

/// A branch that is never taken. No other mutant removes a check that only one test covers.
fn never(node: Node<'_>) -> Option<Mutant> {
    let inner = decisive(node)
        .filter(|_| node.parent().is_some_and(|above| above.kind().starts_with("if_")))?;
    let no = if node.tree().language == Language::Python { "False" } else { "false" };
    mutant(inner, inner.span(), no.to_owned(), "the condition was never true".to_owned())
}

/// The condition of a branch.
fn decisive(node: Node<'_>) -> Option<Node<'_>> {
    let decides = matches!(
        node.parent()?.kind(),
        "if_statement"
            | "if_expression"
            | "elif_clause"
            | "while_statement"
            | "ternary_expression"
            | "conditional_expression"
    );
    if node.field() != Some("condition") || !decides || node.kind().starts_with("let_") {
        return None;
    }
    if node.kind() == "parenthesized_expression" {
        node.named_children().next()
    } else {
        Some(node)
    }
}

fn constant(node: Node<'_>) -> Option<Mutant> {
    let parent = node.parent()?;
    let class = class(node)
        .filter(|_| parent.kind() != "expression_statement" && parent.field() != Some("type"))?;
    if class == Class::Null
        || parent.is(&["string", "concatenated_string", "boolean_literal"]) && class == Class::Text
    {
        return None;
    }
    let replacement = other(node, class, Letters::Near)?;
    mutant(
        node,
        node.span(),
        replacement.clone(),
        format!("`{}` became `{replacement}`", node.text()),
    )
}

/// Throws another class. A test that accepts any error does not detect it.
fn error(node: Node<'_>) -> Option<Mutant> {
    let language = node.tree().language;
    let known = match language {
        Language::Python => ["RuntimeError", "LookupError"],
        Language::JavaScript | Language::TypeScript | Language::Tsx => ["Error", "SyntaxError"],
        Language::Rust | Language::Go | Language::Java | Language::Other => return None,
    };
    let row = row(language);
    let thrown = node.parent().filter(|above| above.is(row.raises))?;
    let class = match node.kind() {
        "identifier" if language == Language::Python => node,
        "call" => node.child("function")?,
        "new_expression" => node.child("constructor")?,
        _ => return None,
    };
    // `raise error`, `throw error`: rethrows what was caught.
    let named = class.text().starts_with(|letter: char| letter.is_uppercase()) && thrown.is_named();
    let other = known
        .into_iter()
        .find(|other| *other != class.text())
        .filter(|_| named && class.is_leaf())?;
    mutant(node, class.span(), other.to_owned(), format!("`{}` became `{other}`", class.text()))
}

fn returned(node: Node<'_>) -> Option<Mutant> {
    let language = node.tree().language;
    if node.is(&["return_statement"]) {
        let value = node.named_children().next()?;
        let nothing = match language {
            Language::Python => "None",
            Language::JavaScript | Language::TypeScript | Language::Tsx => "undefined",
            Language::Go | Language::Java | Language::Rust | Language::Other => return None,
        };
        return (value.text() != nothing).then(|| {
            mutant(node, value.span(), nothing.to_owned(), format!("returns `{nothing}`"))
        })?;
    }
    // The value of a Rust function is its last expression.
    let body = node.parent().filter(|parent| parent.kind() == "block")?;
    let function = body.parent().filter(|parent| parent.kind() == "function_item")?;
    let last = body.named_children().last().is_some_and(|last| last.at() == node.at());
    let is_value = language == Language::Rust && last && function.child("return_type").is_some();
    if !is_value
        || node.kind().ends_with("_statement")
        || node.kind().ends_with("_item")
        || node.kind() == "let_declaration"
    {
        return None;
    }
    mutant(node, node.span(), "Default::default()".to_owned(), "returns the default".to_owned())
}

fn deletion(node: Node<'_>) -> Option<Mutant> {
    let kinds = ["expression_statement", "assignment_statement", "inc_statement", "dec_statement"];
    let inner = node.named_children().next()?;
    let acts = inner.kind().contains("call")
        || inner.kind().contains("invocation")
        || inner.kind().contains("ssign")
        || inner.kind().contains("update")
        || !node.is(&["expression_statement"]);
    // Without its first assignment a variable does not exist, and everything fails.
    if !node.is(&kinds) || !acts || inner.kind() == "assignment" {
        return None;
    }
    let nothing = match node.tree().language {
        Language::Python => "pass",
        Language::Go => "",
        Language::Rust
        | Language::JavaScript
        | Language::TypeScript
        | Language::Tsx
        | Language::Java
        | Language::Other => ";",
    };
    let text = node.text().lines().next().unwrap_or_default();
    mutant(node, node.span(), nothing.to_owned(), format!("`{text}` was left out"))
}

fn early_return(node: Node<'_>) -> Option<Mutant> {
    let row = row(node.tree().language);
    let (_, kind, _) = row.items.iter().find(|(kind, ..)| *kind == node.kind())?;
    let body = node.child("body").filter(|_| *kind == ItemKind::Function)?;
    let first = body
        .named_children()
        .find(|child| !child.is(row.comments) && child.kind() != "statement_list")
        .or_else(|| body.named_children().next())?;
    let statement = match node.tree().language {
        Language::Python
            if node.child("return_type").is_none_or(|returns| returns.text() == "None") =>
        {
            "return\n"
        }
        Language::JavaScript | Language::TypeScript | Language::Tsx => "return;\n",
        Language::Rust if node.child("return_type").is_none() => "return;\n",
        Language::Go if node.child("result").is_none() => "return\n",
        Language::Java if node.child("type").is_some_and(|kind| kind.kind() == "void_type") => {
            "if (true) return;\n"
        }
        Language::Python | Language::Rust | Language::Go | Language::Java | Language::Other => {
            return None;
        }
    };
    let start = first.span().start;
    let indent: String = node
        .tree()
        .source
        .get(..start)?
        .chars()
        .rev()
        .take_while(|letter| letter.is_whitespace() && *letter != '\n')
        .collect();
    mutant(node, start..start, format!("{statement}{indent}"), "returns at once".to_owned())
}
