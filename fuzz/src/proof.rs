//! Parts of a proof for `verify --merge`, which come from other machines: one on each line.

use redgreen_core::proof::{Proof, conclude, merge, view};

pub(crate) fn input(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    let parts: Vec<Proof> =
        text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
    let evidence = parts.into_iter().map(|part| part.evidence).collect();
    if let Ok(whole) = merge(evidence) {
        let proof = conclude(whole);
        view::text(&proof);
        view::markdown(&proof);
        view::junit(&proof);
        view::sarif(&proof);
        view::code_quality(&proof);
        view::html(&proof);
    }
}
