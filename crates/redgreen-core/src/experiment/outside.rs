//! What whoever uses the code does not have: its tests.

use super::Material;
use crate::syntax::Language;

/// The tests of the project: whoever uses the code has none of these either.
pub fn unseen(material: &Material<'_>) -> Vec<String> {
    // Data of tests may be what the code is given to read.
    let is_code = |path: &&String| Language::of_path(path) != Language::Other;
    let is_test = |path: &&String| is_code(path) && material.is_test(path);
    material.paths.iter().filter(is_test).cloned().collect()
}
