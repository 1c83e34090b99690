//! Documentation examples: Rust's fenced blocks and Python's `>>>` lines.

use std::ops::Range;

use super::Language;
use super::language::row;
use super::tree::{Node, Tree};

pub(super) struct DocTest<'t> {
    /// The documentation that contains it, from its first to its last line.
    pub(super) span: Range<usize>,
    pub(super) line: u32,
    pub(super) last_line: u32,
    /// The documented item. `None` for the file or module itself.
    pub(super) owner: Option<Node<'t>>,
    /// The node from which the enclosing items are counted.
    pub(super) place: Node<'t>,
    /// The code, line by line.
    pub(super) code: Vec<Range<usize>>,
    /// Python: the expected output.
    pub(super) expected: Vec<Range<usize>>,
    pub(super) ignored: bool,
    pub(super) panics: bool,
}

const MARKS: [&str; 2] = ["///", "//!"];
const RUST_WORDS: [&str; 6] =
    ["rust", "should_panic", "no_run", "ignore", "compile_fail", "test_harness"];

pub(super) fn doc_tests<'t>(tree: &'t Tree<'_>) -> Vec<DocTest<'t>> {
    match tree.language {
        Language::Rust => {
            tree.nodes().filter_map(documentation).flat_map(|lines| fenced(&lines)).collect()
        }
        Language::Python => tree.nodes().filter_map(docstring).collect(),
        Language::JavaScript
        | Language::TypeScript
        | Language::Tsx
        | Language::Go
        | Language::Java
        | Language::Other => Vec::new(),
    }
}

/// The source with everything but the code blanked, so that all positions stay the same.
pub(super) fn masked(source: &str, code: &[Range<usize>]) -> String {
    let mut text: Vec<u8> =
        source.bytes().map(|byte| if byte == b'\n' { b'\n' } else { b' ' }).collect();
    for range in code {
        if let (Some(target), Some(code)) = (text.get_mut(range.clone()), source.get(range.clone()))
        {
            target.copy_from_slice(code.as_bytes());
        }
    }
    String::from_utf8(text).unwrap_or_default()
}

/// The comment lines of one piece of documentation, starting at its first one.
fn documentation(first: Node<'_>) -> Option<Vec<Node<'_>>> {
    let mark = MARKS.into_iter().find(|mark| is_doc(first, mark))?;
    if first.previous_sibling().is_some_and(|before| is_doc(before, mark)) {
        return None;
    }
    let lines = std::iter::successors(Some(first), |line| {
        line.next_sibling().filter(|next| is_doc(*next, mark))
    });
    Some(lines.collect())
}

fn is_doc(node: Node<'_>, mark: &str) -> bool {
    node.kind() == "line_comment" && node.text().starts_with(mark)
}

fn fenced<'t>(lines: &[Node<'t>]) -> Vec<DocTest<'t>> {
    let (Some(first), Some(last)) = (lines.first(), lines.last()) else { return Vec::new() };
    let span = first.span().start..last.span().start + last.text().trim_end().len();
    let mut found: Vec<DocTest<'t>> = Vec::new();
    let mut open: Option<DocTest<'t>> = None;
    let mut other_fence = false;
    for line in lines {
        let text = line.text().trim_end();
        let content = text.get(3..).unwrap_or_default();
        let start = line.span().start + 3;
        let range = start..start + content.len();
        match (content.trim().strip_prefix("```"), open.take()) {
            (Some(_), Some(mut test)) => {
                test.last_line = line.line();
                found.push(test);
            }
            (Some(_), None) if other_fence => other_fence = false,
            (Some(info), None) if is_rust(info) => {
                open = Some(DocTest {
                    span: span.clone(),
                    line: line.line(),
                    last_line: line.line(),
                    owner: owner(*last),
                    place: *first,
                    code: Vec::new(),
                    expected: Vec::new(),
                    ignored: info.contains("ignore"),
                    panics: info.contains("should_panic"),
                });
            }
            (Some(_), None) => other_fence = true,
            (None, Some(mut test)) => {
                test.code.push(range);
                open = Some(test);
            }
            (None, None) => {}
        }
    }
    found
}

fn is_rust(info: &str) -> bool {
    info.split([',', ' ']).filter(|word| !word.is_empty()).all(|word| {
        RUST_WORDS.contains(&word) || word.starts_with("edition") || word.starts_with("ignore-")
    })
}

fn owner(last: Node<'_>) -> Option<Node<'_>> {
    if is_doc(last, "//!") {
        return None;
    }
    let row = row(last.tree().language);
    let mut after = std::iter::successors(last.next_sibling(), |node| node.next_sibling());
    after.find(|node| node.is_named() && !node.is(row.comments) && node.kind() != "attribute_item")
}

fn docstring(string: Node<'_>) -> Option<DocTest<'_>> {
    let statement = string.parent().filter(|parent| parent.kind() == "expression_statement")?;
    if string.kind() != "string"
        || !string.text().contains(">>>")
        || statement.previous_sibling().is_some()
    {
        return None;
    }
    let body = statement.parent()?;
    let owner = body.parent();
    let (mut code, mut expected) = (Vec::new(), Vec::new());
    let mut at = string.span().start;
    let mut answering = false;
    for line in string.text().split_inclusive('\n') {
        let trimmed = line.trim();
        let start = at + (line.len() - line.trim_start().len());
        if trimmed.starts_with(">>> ") || answering && trimmed.starts_with("... ") {
            code.push(start + 4..start + trimmed.len());
            answering = true;
        } else if trimmed.is_empty() || trimmed.ends_with("\"\"\"") {
            answering = false;
        } else if answering {
            expected.push(start..start + trimmed.len());
        }
        at += line.len();
    }
    (!code.is_empty()).then(|| DocTest {
        span: string.span(),
        line: string.line(),
        last_line: string.last_line(),
        owner,
        place: owner.unwrap_or(string),
        code,
        expected,
        ignored: string.text().contains("doctest: +SKIP"),
        panics: false,
    })
}
