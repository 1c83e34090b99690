//! Syntax highlighting: keywords, names, literals and comments, for HTML pages.

use std::ops::Range;

use super::Language;
use super::language::{Class, row};
use super::tree::{Node, Tree};

/// The kind of a piece of source. Everything else is plain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Colour {
    Comment,
    Text,
    Number,
    /// `true`, `None`.
    Constant,
    Keyword,
    /// The name of a function at its definition or call.
    Function,
    Type,
}

/// A piece of a line, as a byte range.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Span {
    pub place: Range<usize>,
    pub colour: Colour,
}

/// The coloured pieces of every line, in order. Empty if the source cannot be parsed.
pub fn highlight(language: Language, source: &str) -> Vec<Vec<Span>> {
    let Some(tree) = Tree::parse(language, source) else { return Vec::new() };
    let starts: Vec<usize> =
        std::iter::once(0).chain(source.match_indices('\n').map(|(at, _)| at + 1)).collect();
    let mut lines: Vec<Vec<Span>> = vec![Vec::new(); starts.len()];
    let mut past = 0;
    for node in tree.nodes() {
        let span = node.span();
        let Some(colour) = colour(node).filter(|_| span.start >= past) else { continue };
        past = span.end;
        let first = starts.partition_point(|start| *start <= span.start).saturating_sub(1);
        for (line, start) in
            starts.iter().enumerate().skip(first).take_while(|(_, start)| **start < span.end)
        {
            let end = starts.get(line + 1).map_or(source.len(), |next| next.saturating_sub(1));
            let place = span.start.max(*start) - start..span.end.min(end).saturating_sub(*start);
            if let Some(spans) = lines.get_mut(line).filter(|_| place.start < place.end) {
                spans.push(Span { place, colour });
            }
        }
    }
    lines
}

fn colour(node: Node<'_>) -> Option<Colour> {
    let row = row(node.tree().language);
    let kind = node.kind();
    if row.comments.contains(&kind) {
        return Some(Colour::Comment);
    }
    if let Some((_, class)) = row.literals.iter().find(|(name, _)| *name == kind) {
        // Code inside a string has its own colours.
        let has_code = || node.descendants().any(|inner| inner.is(row.interpolations));
        return match class {
            Class::Text if has_code() => None,
            Class::Text => Some(Colour::Text),
            Class::Number => Some(Colour::Number),
            Class::True | Class::False | Class::Null => Some(Colour::Constant),
        };
    }
    if !node.is_leaf() {
        return None;
    }
    if !node.is_named() {
        let is_word = kind.len() > 1 && kind.bytes().all(|byte| byte.is_ascii_lowercase());
        return is_word.then_some(Colour::Keyword);
    }
    if kind.contains("string") {
        return Some(Colour::Text);
    }
    if matches!(kind, "type_identifier" | "primitive_type" | "predefined_type") {
        return Some(Colour::Type);
    }
    // In some grammars, words such as `self` and `mutable_specifier` are separate nodes.
    if matches!(kind, "self" | "this" | "super" | "mutable_specifier" | "crate") {
        return Some(Colour::Keyword);
    }
    is_function_name(node).then_some(Colour::Function)
}

/// The name of an item, or the last word of a callee.
fn is_function_name(node: Node<'_>) -> bool {
    let row = row(node.tree().language);
    let Some(parent) = node.parent().filter(|_| node.kind().ends_with("identifier")) else {
        return false;
    };
    // `const a = () => 1` names a function, `const a = 1` does not.
    let is_plain = parent.child("value").is_some_and(|value| !value.kind().contains("function"));
    let is_item = !is_plain
        && row
            .items
            .iter()
            .any(|(kind, _, name)| *kind == parent.kind() && node.field() == Some(name));
    let is_callee = |node: Node<'_>, parent: Node<'_>| {
        let field = node.field().unwrap_or_default();
        row.calls.iter().any(|call| call.kind == parent.kind() && call.callee.contains(&field))
    };
    let is_last = parent.span().end == node.span().end && !parent.is_leaf();
    is_item
        || is_callee(node, parent)
        || (is_last && parent.parent().is_some_and(|above| is_callee(parent, above)))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every coloured piece as `colour:text`.
    #[track_caller]
    fn check(language: Language, source: &str, expected: &[&str]) {
        let lines = highlight(language, source);
        let pieces = source.lines().zip(&lines).flat_map(|(line, spans)| {
            spans.iter().map(move |span| {
                let name = format!("{:?}", span.colour).to_lowercase();
                format!("{name}:{}", line.get(span.place.clone()).unwrap())
            })
        });
        assert_eq!(pieces.collect::<Vec<_>>(), expected, "{source}");
    }

    #[test]
    fn the_words_of_every_language_have_their_colours() {
        check(
            Language::Python,
            "def add(a):  # é\n    return max(a, 1) if a else None\n",
            &[
                "keyword:def",
                "function:add",
                "comment:# é",
                "keyword:return",
                "function:max",
                "number:1",
                "keyword:if",
                "keyword:else",
                "constant:None",
            ],
        );
        check(
            Language::Rust,
            "fn a(b: Foo) { b.c(\"d\") }",
            &["keyword:fn", "function:a", "type:Foo", "function:c", "text:\"d\""],
        );
        check(
            Language::JavaScript,
            "const a = b('c')",
            &["keyword:const", "function:b", "text:'c'"],
        );
        check(
            Language::Go,
            "func a() { return }",
            &["keyword:func", "function:a", "keyword:return"],
        );
    }

    #[test]
    fn a_text_of_several_lines_is_coloured_in_each_of_them() {
        check(Language::Python, "a = '''b\n\nc'''\n", &["text:'''b", "text:c'''"]);
    }

    #[test]
    fn what_cannot_be_read_has_no_colours() {
        assert!(highlight(Language::Other, "a = 1").is_empty());
        let long = "a\n".repeat(super::super::SOURCE_BYTES_MAX);
        assert!(highlight(Language::Python, &long).is_empty());
    }
}
