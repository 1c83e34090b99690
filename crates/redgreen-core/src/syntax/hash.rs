//! Hashes of code that ignore layout: exact, or without the names that the file defines. Anything
//! that formatters change is layout. Python's indentation is not.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};

use super::language::{Language, row};
use super::tree::{Node, Tree};

/// Where a trailing comma has a meaning: `(1,)` differs from `(1)`.
const TELLING_COMMAS: &[&str] = &[
    "tuple",
    "tuple_expression",
    "tuple_pattern",
    "tuple_type",
    "expression_list",
    "pattern_list",
    "subscript",
];
const STRING_TEXTS: &[&str] = &["string_content", "string_fragment"];

/// FNV-1a: the same on every machine and in every version, which the standard hasher does not
/// guarantee.
struct Fnv(u64);

impl Fnv {
    fn add(&mut self, bytes: &[u8]) {
        for byte in bytes.iter().chain([&0xff]) {
            self.0 = (self.0 ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
        }
    }
}

/// Words, in order.
pub(crate) fn of_words(words: &[&str]) -> u64 {
    let mut hash = Fnv(0xcbf2_9ce4_8422_2325);
    for word in words {
        hash.add(word.as_bytes());
    }
    hash.0
}

/// The tokens of the nodes, without comments and layout.
pub(super) fn exact<'t>(nodes: impl IntoIterator<Item = Node<'t>>) -> u64 {
    let mut hash = Fnv(0xcbf2_9ce4_8422_2325);
    for (depth, token) in nodes.into_iter().flat_map(tokens) {
        if !is_comment(token) {
            hash.add(&depth.to_le_bytes());
            hash.add(spelled(token).as_bytes());
        }
    }
    hash.0
}

/// Whether two versions of a file differ only in layout, comments and documentation.
pub fn runs_alike(language: Language, old: &str, new: &str) -> bool {
    let (Some(old), Some(new)) = (Tree::parse(language, old), Tree::parse(language, new)) else {
        return false;
    };
    let said = |tree: &Tree<'_>| -> Vec<(usize, String)> {
        // In other languages, a string statement may be a directive.
        let is_told = |token: Node<'_>| language == Language::Python && is_docstring(token);
        // The third slash of `///` is two nodes below its comment.
        let is_inside = |token: Node<'_>| token.ancestors().any(is_comment);
        let is_run = |token: Node<'_>| !is_comment(token) && !is_inside(token) && !is_told(token);
        let tokens = tokens(tree.root()).into_iter().filter(|(_, token)| is_run(*token));
        tokens.map(|(depth, token)| (depth, spelled(token).into_owned())).collect()
    };
    !old.is_broken() && !new.is_broken() && said(&old) == said(&new)
}

/// Whether a file differs only in layout, including comments.
pub fn only_reformatted(language: Language, old: &str, new: &str) -> bool {
    let (Some(old), Some(new)) = (Tree::parse(language, old), Tree::parse(language, new)) else {
        return false;
    };
    let said = |tree: &Tree<'_>| -> Vec<(usize, String)> {
        tokens(tree.root())
            .into_iter()
            .map(|(depth, token)| (depth, spelled(token).into_owned()))
            .collect()
    };
    // Without semicolons a line may continue on the next one: the same tokens, but other
    // statements.
    let statements = |tree: &Tree<'_>| -> Vec<String> {
        let kinds = tree.nodes().map(|node| node.kind().to_owned());
        kinds.filter(|kind| kind.ends_with("statement") || kind.ends_with("declaration")).collect()
    };
    !old.is_broken()
        && !new.is_broken()
        && said(&old) == said(&new)
        && statements(&old) == statements(&new)
}

/// The significant tokens, with their block depth if the language expresses it by layout.
fn tokens(node: Node<'_>) -> Vec<(usize, Node<'_>)> {
    let language = node.tree().language;
    let leaves: Vec<Node<'_>> =
        node.leaves().filter(|leaf| !leaf.text().trim().is_empty()).collect();
    let is_layout = |index: usize, leaf: Node<'_>| {
        let parent = leaf.parent().map(Node::kind).unwrap_or_default();
        let around =
            |at: Option<usize>| at.and_then(|at| leaves.get(at)).map(|leaf| leaf.text().trim());
        match leaf.text().trim() {
            ";" => language.is_script() && parent != "empty_statement",
            "," => {
                let last = matches!(around(index.checked_add(1)), Some(")" | "]" | "}"));
                let after_nothing =
                    matches!(around(index.checked_sub(1)), Some("(" | "[" | "{" | ","));
                last && !after_nothing && !TELLING_COMMAS.contains(&parent)
            }
            "(" | ")" => language.is_script() && is_around_one_name(leaf),
            _ => false,
        }
    };
    let blocks = |node: Node<'_>| node.ancestors().filter(|above| above.kind() == "block").count();
    let outside = blocks(node);
    let depth = |leaf: Node<'_>| {
        let is_told = language == Language::Python && !is_comment(leaf);
        if is_told { blocks(leaf).saturating_sub(outside) } else { 0 }
    };
    let kept = leaves.iter().enumerate().filter(|(index, leaf)| !is_layout(*index, **leaf));
    kept.map(|(_, leaf)| (depth(*leaf), *leaf)).collect()
}

/// `(x) => x` is `x => x`.
fn is_around_one_name(leaf: Node<'_>) -> bool {
    leaf.parent().is_some_and(|list| {
        let is_of_arrow = list.parent().is_some_and(|function| function.kind() == "arrow_function");
        is_of_arrow && list.kind() == "formal_parameters" && list.leaves().count() == 3
    })
}

/// A token with normalised quotes.
fn spelled(token: Node<'_>) -> Cow<'_, str> {
    let text = token.text().trim();
    let is_quote =
        !token.is(STRING_TEXTS) && token.parent().is_some_and(|parent| parent.kind() == "string");
    if is_quote { Cow::Owned(text.replace('\'', "\"")) } else { Cow::Borrowed(text) }
}

/// Like `exact`, but replaces every name in `bound` by the order of its first use. A renamed test,
/// variable or function under test has the same hash; `all` instead of `any` does not.
pub(super) fn renamed<'t>(node: Node<'t>, bound: &HashSet<&str>) -> u64 {
    let mut hash = Fnv(0xcbf2_9ce4_8422_2325);
    let mut order: HashMap<&str, usize> = HashMap::new();
    let identifiers = row(node.tree().language).identifiers;
    for (depth, token) in
        tokens(node).into_iter().filter(|(_, token)| !is_comment(*token) && !is_docstring(*token))
    {
        let text = token.text();
        hash.add(&depth.to_le_bytes());
        if token.is(identifiers) && bound.contains(text) {
            let next = order.len();
            let number = *order.entry(text).or_insert(next);
            hash.add(&number.to_le_bytes());
        } else {
            hash.add(spelled(token).as_bytes());
        }
    }
    hash.0
}

/// The names that the file defines: definitions, imports, parameters, variables.
pub(super) fn bound_names<'t>(tree: &'t Tree<'_>) -> HashSet<&'t str> {
    let row = row(tree.language);
    let mut bound = HashSet::new();
    for node in tree.nodes() {
        for (_, field) in row.bindings.iter().filter(|(kind, _)| *kind == node.kind()) {
            let places =
                node.children().filter(|child| field.is_empty() || child.field() == Some(*field));
            let names = places.flat_map(Node::leaves).filter(|leaf| leaf.is(row.identifiers));
            bound.extend(names.map(Node::text));
        }
    }
    bound
}

fn is_comment(node: Node<'_>) -> bool {
    let comments = row(node.tree().language).comments;
    node.is(comments) || node.ancestors().take(2).any(|above| above.is(comments))
}

fn is_docstring(node: Node<'_>) -> bool {
    let string = node.parent().filter(|above| above.kind() == "string");
    string.and_then(Node::parent).is_some_and(|parent| {
        parent.kind() == "expression_statement" && parent.named_children().count() == 1
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_formatter_does_is_no_change() {
        for (path, old, new, same) in [
            ("a.py", "f('a', b)\n", "f(\n    \"a\",\n    b,\n)\n", true),
            ("a.py", "x = (1)\n", "x = (1,)\n", false),
            ("a.py", "if a:\n    b()\nc()\n", "if a:\n    b()\n    c()\n", false),
            ("a.py", "if a:\n  b()\n", "if a:\n    b()\n", true),
            ("a.py", "a()\n", "a()  # pragma: no cover\n", false),
            ("a.py", "a('b')\n", "a('c')\n", false),
            ("a.ts", "f('a', [1, 2])\nlet b = 1\n", "f(\"a\", [1, 2,]);\nlet b = 1;\n", true),
            ("a.ts", "f(x => x)\n", "f((x) => x);\n", true),
            ("a.ts", "f(x => x)\n", "f(() => x);\n", false),
            ("a.js", "if (a) b()\n", "if (a);\nb()\n", false),
            ("a.js", "x = []\n", "x = [,]\n", false),
            ("a.js", "f();\n(g)();\n", "f()\n(g)();\n", false),
            ("a.js", "f();\ng();\n", "f()\ng()\n", true),
            ("a.js", "f('it')\n", "f(`it`)\n", false),
            (
                "a.rs",
                "fn a() { f(1, 2) }\n",
                "fn a() {\n    f(\n        1,\n        2,\n    )\n}\n",
                true,
            ),
            ("a.rs", "fn a() { f(1); }\n", "fn a() { f(1) }\n", false),
            ("a.rs", "fn a() { g((1,)) }\n", "fn a() { g((1)) }\n", false),
        ] {
            assert_eq!(only_reformatted(Language::of_path(path), old, new), same, "{old}{new}");
        }
    }

    #[test]
    fn documentation_is_not_run() {
        for (path, old, new, same) in [
            (
                "a.py",
                "def f():\n    return 1\n",
                "def f():\n    \"\"\"One.\"\"\"\n    return 1  # it\n",
                true,
            ),
            ("a.py", "def f():\n    return 1\n", "def f():\n    return 'One.'\n", false),
            ("a.py", "def f():\n    g('a')\n", "def f():\n    g('b')\n", false),
            ("a.rs", "fn a() {}\n", "/// Says what.\nfn a() {}\n", true),
            ("a.js", "f()\n", "// says what\nf();\n", true),
            ("a.js", "f('use it')\n", "'use strict'\nf('use it')\n", false),
            ("a.go", "func a() {}\n", "// A does.\nfunc a() {}\n", true),
        ] {
            assert_eq!(runs_alike(Language::of_path(path), old, new), same, "{old}{new}");
        }
    }
}
