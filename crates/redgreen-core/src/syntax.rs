//! What source text says by its syntax: pure questions about one file or two versions of it.
//!
//! Each question is a file below with one public function; each language is a file with one row of names. A language
//! without a row, and a source too long, too deep or too broken to read, gets the empty answer: it is known by file only.
//! No answer here is a verdict: the runs decide, and these say where to look.

mod assertion;
mod call;
mod doctest;
mod glob;
mod go;
mod hash;
mod item;
mod java;
mod javascript;
mod language;
mod literal;
mod parameter;
mod python;
mod rust;
mod smell;
mod tree;
mod word;

pub use item::{Item, Marker, items};
pub use language::{ItemKind, Language};
pub use smell::{Finding, Smell};
pub use tree::SOURCE_BYTES_MAX;

#[cfg(test)]
mod tests;
