//! The languages, and the row that describes one: names of its nodes, and the meaning of other
//! names.

use super::assertion::Meaning;
use super::{Marker, go, java, javascript, python, rust};

/// A language with a syntax tree. Everything else is handled by file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Language {
    Python,
    Rust,
    /// Includes JSX.
    JavaScript,
    TypeScript,
    Tsx,
    Go,
    Java,
    /// Handled by file only: every question has an empty answer.
    Other,
}

impl Language {
    pub fn of_path(path: &str) -> Self {
        let name = path.rsplit('/').next().unwrap_or(path);
        match name.rsplit_once('.').map_or("", |(_, extension)| extension) {
            "py" | "pyi" => Self::Python,
            "rs" => Self::Rust,
            "js" | "jsx" | "mjs" | "cjs" => Self::JavaScript,
            "ts" | "mts" | "cts" => Self::TypeScript,
            "tsx" => Self::Tsx,
            "go" => Self::Go,
            "java" => Self::Java,
            _ => Self::Other,
        }
    }

    pub fn is_script(self) -> bool {
        matches!(self, Self::JavaScript | Self::TypeScript | Self::Tsx)
    }
}

pub(super) fn grammar(language: Language) -> Option<tree_sitter::Language> {
    Some(match language {
        Language::Python => tree_sitter_python::LANGUAGE.into(),
        Language::Rust => tree_sitter_rust::LANGUAGE.into(),
        Language::JavaScript => tree_sitter_javascript::LANGUAGE.into(),
        Language::TypeScript => tree_sitter_typescript::LANGUAGE_TYPESCRIPT.into(),
        Language::Tsx => tree_sitter_typescript::LANGUAGE_TSX.into(),
        Language::Go => tree_sitter_go::LANGUAGE.into(),
        Language::Java => tree_sitter_java::LANGUAGE.into(),
        Language::Other => return None,
    })
}

pub(super) fn row(language: Language) -> &'static Row {
    match language {
        Language::Python => &python::ROW,
        Language::Rust => &rust::ROW,
        // A language without a grammar has no tree, so its row is never used.
        Language::JavaScript | Language::TypeScript | Language::Tsx | Language::Other => {
            &javascript::ROW
        }
        Language::Go => &go::ROW,
        Language::Java => &java::ROW,
    }
}

/// One language. Patterns are globs. Callees have no arguments of inner calls: `expect().not.toBe`.
pub(super) struct Row {
    pub(super) comments: &'static [&'static str],
    pub(super) identifiers: &'static [&'static str],
    pub(super) literals: &'static [(&'static str, Class)],
    /// Nodes that make a string more than a literal, such as the braces of an f-string.
    pub(super) interpolations: &'static [&'static str],
    /// Names that only wrap a literal: `Some`, `vec!`, `String::from`.
    pub(super) value_words: &'static [&'static str],
    pub(super) calls: &'static [CallKind],
    /// The node kind, the item kind, and the field with the name.
    pub(super) items: &'static [(&'static str, ItemKind, &'static str)],
    pub(super) decorations: Decorations,
    pub(super) separator: &'static str,
    /// Anonymous functions, which run later or never.
    pub(super) closures: &'static [&'static str],
    /// File names of tests.
    pub(super) test_files: &'static [&'static str],
    pub(super) test_names: &'static [&'static str],
    pub(super) test_classes: &'static [&'static str],
    pub(super) test_decorations: &'static [&'static str],
    /// Test code inside a file that is not a test file.
    pub(super) test_scopes: &'static [&'static str],
    pub(super) markers: &'static [(Place, &'static str, Marker)],
    /// Decorators with rows of data: with a list, or one for each row.
    pub(super) parameter_lists: &'static [&'static str],
    pub(super) parameter_rows: &'static [&'static str],
    pub(super) assert_statement: &'static str,
    /// The first matching row counts.
    pub(super) asserts: &'static [(&'static str, Meaning, &'static str)],
    /// Statements that end a test without an assertion: `raise`, `throw`.
    pub(super) raises: &'static [&'static str],
    pub(super) blocks: &'static [&'static str],
    pub(super) branches: &'static [&'static str],
    /// Where a name is bound: the node, and the field of the name.
    pub(super) bindings: &'static [(&'static str, &'static str)],
    pub(super) imports: &'static [&'static str],
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Class {
    Text,
    Number,
    True,
    False,
    Null,
}

/// The syntax of a call: its node, and the fields of the callee and the arguments.
pub(super) struct CallKind {
    pub(super) kind: &'static str,
    pub(super) callee: &'static [&'static str],
    pub(super) arguments: &'static [&'static str],
    /// Follows the name, such as `!` for macros.
    pub(super) mark: &'static str,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ItemKind {
    Function,
    Class,
    /// A module or a `describe`: a container of tests.
    Suite,
    /// An `it` or `test` call.
    Case,
    /// An example in a documentation comment.
    DocTest,
}

/// Where decorators, attributes and annotations are.
#[derive(Clone, Copy)]
pub(super) enum Decorations {
    /// Around both: the kind of the wrapper and of the decorator.
    Wrapper(&'static str, &'static str),
    Before(&'static str),
    /// In a child of that kind.
    Inside(&'static str),
    None,
}

/// Where a marker is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Place {
    Decoration,
    Call,
    /// A word in the call that declares the test: `it.skip`.
    Word,
}
