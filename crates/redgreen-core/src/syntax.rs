//! Syntax questions about one source file, or about two versions of it. All are pure functions.
//!
//! Each question is a file with one public function, and each language is a file with one row of
//! names. A language without a row, and a source that is too long, too deep or too broken to parse,
//! gets an empty answer: redgreen then works by file only. No answer here is a verdict. Test runs
//! decide; these answers say where to look.

mod additions;
mod assertion;
mod call;
mod contents;
mod exceptions;

mod doctest;
mod expectation;
pub(crate) mod glob;
mod go;
mod hash;
mod highlight;
mod imports;
mod inert;
mod item;
mod java;
mod javascript;
mod language;
mod literal;
mod look;
mod mutants;
mod name;
mod overlay;
mod parameter;
mod perturb;
mod python;
mod resolve;
mod rust;
mod stub;
mod surface;
mod test_changes;
mod top_level;
mod visibility;

mod literals;
mod tree;
mod word;

pub use additions::{added_lines, shared_values};
pub use contents::{Content, Literal, RecordedEquality, RecordingCode, looked_at};
pub use exceptions::exchanged;
pub(crate) use hash::of_words;
pub use hash::{only_reformatted, runs_alike};
pub use highlight::{Colour, Span, highlight};
pub use imports::{Import, imports};
pub use inert::{
    INERT_LOG, INERT_PLACE, INERT_PLAIN, INERT_VALUE, inert_function, inert_helper, inert_module,
    inert_program, inert_since, inert_stub,
};
pub use item::{Item, Marker, is_example, items, names_of, separator};
pub(crate) use javascript::title_pattern;
pub use language::{ItemKind, Language};
pub use look::looks_at;
pub use mutants::{Mutant, mutants};
pub use name::{Name, mentions, names, only_fixtures, renamed, uses};
pub use overlay::{frame, modules, overlay_examples, overlay_tests, tests_over};
pub use perturb::{
    Extent, Letters, PerturbRules, Pick, impossible, impossible_each, is_written, stopped_each,
};
pub use resolve::{Package, Project, package_name, resolve};
pub use stub::is_stub;
pub use surface::{Promise, PromiseKind, TopLevelName, identifiers, promises, published, surface};
pub use test_changes::{ItemChange, Weakness, fills_snapshots, only_adds_tests, test_block_frozen};
pub use top_level::{loose, parses};

pub use literals::{
    Signature, respelled, signatures, written_answers, written_calls, written_rows, written_values,
};
pub use tree::SOURCE_BYTES_MAX;

#[cfg(test)]
mod tests;
