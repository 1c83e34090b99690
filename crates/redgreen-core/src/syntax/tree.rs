//! A syntax tree as a flat list. Every node knows the end of its subtree, so that no walk needs
//! recursion or a stack.
//!
//! Limits come first: a source that is too long, too deep or too hard to parse has no tree, and the
//! caller falls back to the file as a whole.

use std::num::NonZero;
use std::ops::{ControlFlow, Range};

use tree_sitter::{ParseOptions, Parser, TreeCursor};

use super::Language;

/// Code written by people is far below these limits. Generated and hostile files are not.
pub const SOURCE_BYTES_MAX: usize = 2 << 20;
const NODES_MAX: usize = 1 << 20;
const DEPTH_MAX: usize = 600;
/// The parser reports after about a hundred steps. Error recovery on garbage can take very many.
const PARSE_REPORTS_MAX: usize = 400_000;

pub(super) struct Tree<'s> {
    pub(super) source: &'s str,
    pub(super) language: Language,
    data: Vec<Data>,
    /// The names of kinds and fields, by id.
    kinds: Vec<String>,
    fields: Vec<String>,
}

struct Data {
    kind: u16,
    /// Its id, or 0.
    field: u16,
    span: Range<usize>,
    line: u32,
    parent: usize,
    previous: Option<usize>,
    /// One past the last node of the subtree.
    end: usize,
    named: bool,
    broken: bool,
}

/// One node, with the tree it is in.
#[derive(Clone, Copy)]
pub(super) struct Node<'t> {
    tree: &'t Tree<'t>,
    at: usize,
}

impl<'s> Tree<'s> {
    /// `None` for languages without a grammar and for sources beyond the limits.
    pub(super) fn parse(language: Language, source: &'s str) -> Option<Self> {
        if source.len() > SOURCE_BYTES_MAX {
            return None;
        }
        let mut parser = Parser::new();
        let grammar = super::language::grammar(language)?;
        parser.set_language(&grammar).ok()?;
        let mut reports = 0_usize;
        let mut bounded = |_: &tree_sitter::ParseState| {
            reports += 1;
            if reports > PARSE_REPORTS_MAX {
                ControlFlow::Break(())
            } else {
                ControlFlow::Continue(())
            }
        };
        let options = ParseOptions::new().progress_callback(&mut bounded);
        let bytes = source.as_bytes();
        let parsed = parser.parse_with_options(
            &mut |at, _| bytes.get(at..).unwrap_or_default(),
            None,
            Some(options),
        )?;
        let data = flatten(&mut parsed.walk())?;
        let number = |id: usize| u16::try_from(id).ok();
        let kind = |id: usize| grammar.node_kind_for_id(number(id)?).map(str::to_owned);
        let field = |id: usize| grammar.field_name_for_id(number(id)?).map(str::to_owned);
        let kinds = (0..grammar.node_kind_count()).map(|id| kind(id).unwrap_or_default()).collect();
        let fields = (0..=grammar.field_count()).map(|id| field(id).unwrap_or_default()).collect();
        Some(Self { source, language, data, kinds, fields })
    }

    pub(super) fn root(&self) -> Node<'_> {
        Node { tree: self, at: 0 }
    }

    pub(super) fn nodes(&self) -> impl Iterator<Item = Node<'_>> {
        (0..self.data.len()).map(|at| Node { tree: self, at })
    }

    pub(super) fn is_broken(&self) -> bool {
        self.data.iter().any(|node| node.broken)
    }
}

fn flatten(cursor: &mut TreeCursor<'_>) -> Option<Vec<Data>> {
    let mut data: Vec<Data> = Vec::new();
    let mut open: Vec<usize> = Vec::new();
    let mut previous = None;
    loop {
        let node = cursor.node();
        let at = data.len();
        if at >= NODES_MAX || open.len() >= DEPTH_MAX {
            return None;
        }
        data.push(Data {
            kind: node.kind_id(),
            field: cursor.field_id().map_or(0, NonZero::get),
            span: node.start_byte()..node.end_byte(),
            line: u32::try_from(node.start_position().row).unwrap_or(u32::MAX).saturating_add(1),
            parent: open.last().copied().unwrap_or(0),
            previous,
            end: at + 1,
            named: node.is_named(),
            broken: node.is_error() || node.is_missing(),
        });
        if cursor.goto_first_child() {
            open.push(at);
            previous = None;
            continue;
        }
        previous = Some(at);
        while !cursor.goto_next_sibling() {
            let Some(parent) = open.pop() else { return Some(data) };
            previous = Some(parent);
            let end = data.len();
            data.get_mut(parent)?.end = end;
            cursor.goto_parent();
        }
    }
}

impl<'t> Node<'t> {
    /// A tree has a root, and nodes come only from its list, so the fallback is never used.
    fn data(self) -> &'t Data {
        const NONE: &Data = &Data {
            kind: u16::MAX,
            field: 0,
            span: 0..0,
            line: 0,
            parent: 0,
            previous: None,
            end: 0,
            named: false,
            broken: false,
        };
        self.tree.data.get(self.at).unwrap_or(NONE)
    }

    pub(super) fn kind(self) -> &'t str {
        // The parser's error node has an id beyond those of the grammar.
        self.tree.kinds.get(usize::from(self.data().kind)).map_or("ERROR", String::as_str)
    }

    pub(super) fn is(self, kinds: &[&str]) -> bool {
        kinds.contains(&self.kind())
    }

    pub(super) fn field(self) -> Option<&'t str> {
        self.tree
            .fields
            .get(usize::from(self.data().field))
            .map(String::as_str)
            .filter(|name| !name.is_empty())
    }

    pub(super) fn is_named(self) -> bool {
        self.data().named
    }

    /// Its index in the list, which is in source order.
    pub(super) fn at(self) -> usize {
        self.at
    }

    pub(super) fn span(self) -> Range<usize> {
        self.data().span.clone()
    }

    pub(super) fn line(self) -> u32 {
        self.data().line
    }

    pub(super) fn last_line(self) -> u32 {
        let text = self.text().trim_end_matches('\n');
        self.line().saturating_add(u32::try_from(text.matches('\n').count()).unwrap_or(u32::MAX))
    }

    pub(super) fn text(self) -> &'t str {
        self.tree.source.get(self.span()).unwrap_or_default()
    }

    pub(super) fn tree(self) -> &'t Tree<'t> {
        self.tree
    }

    pub(super) fn parent(self) -> Option<Self> {
        (self.at > 0).then(|| Self { tree: self.tree, at: self.data().parent })
    }

    /// Starts with the parent.
    pub(super) fn ancestors(self) -> impl Iterator<Item = Self> {
        std::iter::successors(self.parent(), |node| node.parent())
    }

    pub(super) fn contains(self, other: Self) -> bool {
        self.at <= other.at && other.at < self.data().end
    }

    /// Without itself, in source order.
    pub(super) fn descendants(self) -> impl Iterator<Item = Self> {
        (self.at + 1..self.data().end).map(move |at| Self { tree: self.tree, at })
    }

    /// Itself and its descendants.
    pub(super) fn subtree(self) -> impl Iterator<Item = Self> {
        std::iter::once(self).chain(self.descendants())
    }

    pub(super) fn leaves(self) -> impl Iterator<Item = Self> {
        self.subtree().filter(|node| node.is_leaf())
    }

    pub(super) fn is_leaf(self) -> bool {
        self.data().end == self.at + 1
    }

    pub(super) fn children(self) -> impl Iterator<Item = Self> {
        let end = self.data().end;
        let inside = move |at: usize| (at < end).then_some(Self { tree: self.tree, at });
        std::iter::successors(inside(self.at + 1), move |node| inside(node.data().end))
    }

    pub(super) fn named_children(self) -> impl Iterator<Item = Self> {
        self.children().filter(|node| node.is_named())
    }

    pub(super) fn child(self, field: &str) -> Option<Self> {
        self.children().find(|node| node.field() == Some(field))
    }

    pub(super) fn child_of(self, kinds: &[&str]) -> Option<Self> {
        self.children().find(|node| node.is(kinds))
    }

    pub(super) fn next_sibling(self) -> Option<Self> {
        let at = self.data().end;
        let parent = self.parent()?;
        (at < parent.data().end).then_some(Self { tree: self.tree, at })
    }

    pub(super) fn previous_sibling(self) -> Option<Self> {
        self.data().previous.map(|at| Self { tree: self.tree, at })
    }

    /// Earlier siblings, nearest first.
    pub(super) fn before(self) -> impl Iterator<Item = Self> {
        std::iter::successors(self.previous_sibling(), |node| node.previous_sibling())
    }
}
