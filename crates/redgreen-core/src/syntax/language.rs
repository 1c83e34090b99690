//! The languages, and the shape of the row that describes one: what its nodes are called and which names mean what.

use super::assertion::Means;
use super::{Marker, go, java, javascript, python, rust};

/// A language whose syntax tree can be asked; everything else is known by file only.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Language {
    Python,
    Rust,
    /// With JSX.
    JavaScript,
    TypeScript,
    Tsx,
    Go,
    Java,
    /// Known by file only: every question about it has the empty answer.
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
        // A language without a grammar has no tree, so its row is never asked.
        Language::JavaScript | Language::TypeScript | Language::Tsx | Language::Other => &javascript::ROW,
        Language::Go => &go::ROW,
        Language::Java => &java::ROW,
    }
}

/// One language. Patterns are globs; callees are written without the arguments of inner calls: `expect().not.toBe`.
pub(super) struct Row {
    pub(super) comments: &'static [&'static str],
    pub(super) identifiers: &'static [&'static str],
    pub(super) literals: &'static [(&'static str, Class)],
    /// What makes a string more than its text, such as an f-string's braces.
    pub(super) interpolations: &'static [&'static str],
    /// Names that only dress up a literal: `Some`, `vec!`, `String::from`.
    pub(super) value_words: &'static [&'static str],
    pub(super) calls: &'static [CallKind],
    /// Kind, what it is, and the field that holds its name.
    pub(super) items: &'static [(&'static str, ItemKind, &'static str)],
    pub(super) decorations: Decorations,
    pub(super) separator: &'static str,
    /// Functions without a name, whose insides run later or never.
    pub(super) closures: &'static [&'static str],
    /// What a test file is called.
    pub(super) test_files: &'static [&'static str],
    pub(super) test_names: &'static [&'static str],
    pub(super) test_classes: &'static [&'static str],
    pub(super) test_decorations: &'static [&'static str],
    /// Where test code lives inside a file that is not a test file.
    pub(super) test_scopes: &'static [&'static str],
    pub(super) markers: &'static [(Place, &'static str, Marker)],
    /// Decorations that hold rows of data: with a list, or one for each row.
    pub(super) parameter_lists: &'static [&'static str],
    pub(super) parameter_rows: &'static [&'static str],
    pub(super) assert_statement: &'static str,
    /// The first row that matches counts.
    pub(super) asserts: &'static [(&'static str, Means, &'static str)],
    /// Statements that end a test without an assertion: `raise`, `throw`.
    pub(super) raises: &'static [&'static str],
    pub(super) blocks: &'static [&'static str],
    pub(super) branches: &'static [&'static str],
    /// Where a name comes to be: the node, and the field of the name.
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

/// How a call is written: its node, and the fields of what is called and of the arguments.
pub(super) struct CallKind {
    pub(super) kind: &'static str,
    pub(super) callee: &'static [&'static str],
    pub(super) arguments: &'static [&'static str],
    /// Put after the name, as `!` for macros.
    pub(super) mark: &'static str,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ItemKind {
    Function,
    Class,
    /// A module, a `describe`: something that holds tests.
    Suite,
    /// An `it` or `test` call.
    Case,
    /// An example in a documentation comment.
    DocTest,
}

/// Where decorators, attributes and annotations stand.
#[derive(Clone, Copy)]
pub(super) enum Decorations {
    /// Around both: the wrapper's kind, and the decorator's.
    Wrapper(&'static str, &'static str),
    Before(&'static str),
    /// In a child of that kind.
    Inside(&'static str),
    None,
}

/// Where a marker is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Place {
    Decoration,
    Call,
    /// A word of the call that declares the test: `it.skip`.
    Word,
}
