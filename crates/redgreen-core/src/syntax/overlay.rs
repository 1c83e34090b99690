//! Question 2, continued: the candidate's code with the frozen tests, for files that contain both.

use std::collections::HashMap;
use std::ops::Range;

use super::call::call;
use super::doctest::doc_tests;
use super::glob;
use super::item::{declared, declares_test, is_test_guard};
use super::language::{Language, row};
use super::tree::{Node, Tree};

struct Block {
    key: String,
    /// The number of earlier blocks with the same key: several parts of a file may have the same
    /// name.
    nth: usize,
    span: Range<usize>,
    place: Position,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Position {
    /// Independent, so it can be restored at the end of the file.
    File,
    /// Inside another item.
    Item,
    /// Documentation of the item in its key.
    Documentation,
}

/// The candidate with its test blocks replaced by the frozen ones. Added blocks are removed, and
/// dropped ones restored. `None` if the file has no frozen blocks, or no place for them.
pub fn overlay_tests(
    language: Language,
    path: &str,
    frozen: &str,
    candidate: &str,
) -> Option<String> {
    let old = Tree::parse(language, frozen)?;
    let new = Tree::parse(language, candidate)?;
    if glob::any(row(language).test_files, path) {
        return (!frozen.is_empty()).then(|| frozen.to_owned());
    }
    let kept = blocks(&old, path);
    if kept.is_empty() {
        None
    } else {
        lay(&kept, frozen, &new, &blocks(&new, path), path, UnplacedBlock::Refuse)
    }
}

/// The candidate with the documentation examples of another version, and nothing else from it.
/// Added examples stay. `None` if one has no place.
pub fn overlay_examples(
    language: Language,
    path: &str,
    frozen: &str,
    candidate: &str,
) -> Option<String> {
    let (old, new) = (Tree::parse(language, frozen)?, Tree::parse(language, candidate)?);
    let is_example = |block: &Block| block.place == Position::Documentation;
    let kept: Vec<Block> = blocks(&old, path).into_iter().filter(is_example).collect();
    let present: Vec<Block> = blocks(&new, path).into_iter().filter(is_example).collect();
    lay(&kept, frozen, &new, &present, path, UnplacedBlock::Refuse)
}

/// The code of one version with the tests of another, in the same file. Tests without a place in
/// that code are omitted. `None` if neither version has any.
pub fn tests_over(language: Language, path: &str, tests: &str, code: &str) -> Option<String> {
    let (from, to) = (Tree::parse(language, tests)?, Tree::parse(language, code)?);
    let kept = blocks(&from, path);
    let present = blocks(&to, path);
    if kept.is_empty() && present.is_empty() {
        return None;
    }
    lay(&kept, tests, &to, &present, path, UnplacedBlock::LeaveOut)
}

/// The Rust modules that a file declares and that are in separate files: each by name, and as
/// written.
pub fn modules(source: &str) -> Vec<(String, String)> {
    let Some(tree) = Tree::parse(Language::Rust, source) else { return Vec::new() };
    let declared =
        tree.nodes().filter(|node| node.kind() == "mod_item" && node.child("body").is_none());
    let named = declared.filter_map(|node| {
        let name = node.child("name")?.text().to_owned();
        let first = super::item::decorations(node, row(Language::Rust))
            .first()
            .map_or(node, |one| one.node);
        Some((name, source.get(first.span().start..node.span().end)?.to_owned()))
    });
    named.collect()
}

/// What to do with a block that has no place in the other version.
#[derive(Clone, Copy, PartialEq, Eq)]
enum UnplacedBlock {
    Refuse,
    LeaveOut,
}

fn lay(
    kept: &[Block],
    frozen: &str,
    new: &Tree<'_>,
    present: &[Block],
    path: &str,
    homeless: UnplacedBlock,
) -> Option<String> {
    let mut edits: Vec<(Range<usize>, String)> = Vec::new();
    let mut tail = String::new();
    for block in present {
        let replacement = kept.iter().find(|kept| kept.is(block));
        let text = replacement.and_then(|kept| frozen.get(kept.span.clone())).unwrap_or_default();
        // A new documentation example belongs to the code it documents.
        if replacement.is_some() || block.place != Position::Documentation {
            edits.push((block.span.clone(), text.to_owned()));
        }
    }
    for block in kept.iter().filter(|block| !present.iter().any(|known| known.is(block))) {
        let text = frozen.get(block.span.clone())?;
        match (block.place, homeless) {
            (Position::File, _) => tail.push_str(&format!("\n{text}\n")),
            (Position::Item, UnplacedBlock::Refuse) => return None,
            (Position::Item, UnplacedBlock::LeaveOut) => {}
            (Position::Documentation, UnplacedBlock::Refuse) => {
                edits.push(documentation(new, path, block, text)?);
            }
            (Position::Documentation, UnplacedBlock::LeaveOut) => {
                edits.extend(documentation(new, path, block, text));
            }
        }
    }
    let mut result = apply(new.source, edits)?;
    result.push_str(&tail);
    Some(result)
}

/// Where the documentation of an item goes: over the existing one, or before the item.
fn documentation(
    tree: &Tree<'_>,
    path: &str,
    block: &Block,
    text: &str,
) -> Option<(Range<usize>, String)> {
    let name = block.key.strip_prefix("doc ").filter(|_| block.nth == 0)?;
    if name.is_empty() {
        return Some((0..0, format!("{text}\n")));
    }
    let owner = declared(tree, path).into_iter().find(|one| one.item.name == name)?;
    let first = owner.whole.first().map_or(owner.node, |first| *first);
    let old: Vec<Node<'_>> =
        first.before().take_while(|before| before.text().starts_with("///")).collect();
    if tree.language == Language::Python {
        let body = owner.node.child("body")?;
        let start = body.span().start;
        let indent = tree.source.get(..start)?.rsplit('\n').next().unwrap_or_default();
        return Some((start..start, format!("{text}\n{indent}")));
    }
    let start = old.last().map_or(first, |node| *node).span().start;
    let end = old.first().map_or(start, |node| node.span().start + node.text().trim_end().len());
    Some((start..end, if old.is_empty() { format!("{text}\n") } else { text.to_owned() }))
}

/// The text with each range replaced. `None` if two of them overlap.
pub(super) fn apply(source: &str, mut edits: Vec<(Range<usize>, String)>) -> Option<String> {
    edits.sort_by_key(|(span, _)| (span.start, span.end));
    let mut text = String::with_capacity(source.len());
    let mut at = 0;
    for (span, replacement) in edits {
        text.push_str(source.get(at..span.start)?);
        text.push_str(&replacement);
        at = span.end;
    }
    text.push_str(source.get(at..)?);
    Some(text)
}

fn blocks(tree: &Tree<'_>, path: &str) -> Vec<Block> {
    let mut blocks: Vec<Block> = Vec::new();
    let declared = declared(tree, path);
    let name = |node: Node<'_>| {
        declared.iter().find(|one| one.node.at() == node.at()).map(|one| one.item.name.clone())
    };
    for node in tree.nodes() {
        let inside = blocks.last().is_some_and(|block| block.span.contains(&node.span().start));
        if !inside && let Some(span) = block(node) {
            let place = if span_parent_is_root(node) { Position::File } else { Position::Item };
            let key = match name(node) {
                Some(name) => format!("{} {name}", node.kind()),
                None => format!("{} {}", node.kind(), first_line(node)),
            };
            blocks.push(Block { key, nth: 0, span, place });
        }
    }
    for test in doc_tests(tree) {
        let covered = blocks.iter().any(|block| block.span.contains(&test.span.start));
        // The documentation of the file itself has no owner.
        let owner = test.owner.map_or(Some(String::new()), |owner| {
            name(owner).or_else(|| owner.child("name").map(|name| name.text().to_owned()))
        });
        if !covered && let Some(owner) = owner {
            let (key, span) = (format!("doc {owner}"), test.span.clone());
            blocks.push(Block { key, nth: 0, span, place: Position::Documentation });
        }
    }
    blocks.dedup_by(|one, other| one.key == other.key && one.span == other.span);
    let mut known: HashMap<String, usize> = HashMap::new();
    for block in &mut blocks {
        let count = known.entry(block.key.clone()).or_default();
        block.nth = *count;
        *count += 1;
    }
    blocks
}

impl Block {
    fn is(&self, other: &Self) -> bool {
        self.key == other.key && self.nth == other.nth
    }
}

/// The block of test code that starts with this node, including attributes.
pub(super) fn block(node: Node<'_>) -> Option<Range<usize>> {
    let row = row(node.tree().language);
    if node.tree().language == Language::Rust {
        if !node.is_named() || node.is(&["attribute_item", "line_comment", "block_comment"]) {
            return None;
        }
        let decorations = super::item::decorations(node, row);
        let is_test = decorations.iter().any(|one| {
            glob::any(row.test_scopes, &one.text)
                || node.kind() == "function_item" && glob::any(row.test_decorations, &one.name)
        });
        let first = decorations.first()?;
        return is_test.then(|| first.node.span().start..node.span().end);
    }
    let statement = node.parent().is_some_and(|parent| parent.kind() == "program");
    let declares =
        || node.named_children().next().and_then(call).is_some_and(|call| declares_test(&call));
    let guards = node.is(row.branches) && is_test_guard(node, row);
    let is_block = node.tree().language.is_script()
        && statement
        && (guards || node.kind() == "expression_statement" && declares());
    is_block.then(|| node.span())
}

fn span_parent_is_root(node: Node<'_>) -> bool {
    node.parent().is_some_and(|parent| parent.at() == 0)
}

fn first_line(node: Node<'_>) -> &str {
    node.text().lines().next().unwrap_or_default().trim()
}

/// Everything a file does besides definitions and imports: assignments and calls that run before
/// its tests.
pub fn frame(language: Language, path: &str, source: &str) -> Vec<String> {
    let Some(tree) = Tree::parse(language, source) else { return Vec::new() };
    let row = row(language);
    let items = declared(&tree, path);
    let holds = |node: Node<'_>| items.iter().any(|one| node.contains(one.node));
    let plain = |node: &Node<'_>| !node.is(row.imports) && !node.is(row.comments) && !holds(*node);
    let words = |node: Node<'_>| node.text().split_whitespace().collect::<Vec<_>>().join(" ");
    tree.root().named_children().filter(plain).map(words).collect()
}
