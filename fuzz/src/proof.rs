//! Parts of a proof for `verify --merge`, which come from other machines: one on each line. The range
//! of commits, as a person types it and as a CI system passes it.

use redgreen_core::proof::{Proof, conclude, merge, range, view};

pub(crate) fn input(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    if let Err(why) = range::typed(text) {
        assert!(!why.is_empty(), "a refusal without a reason");
    }
    let on_github = |name: &str| match name {
        "GITHUB_ACTIONS" => Some("true".to_owned()),
        "GITHUB_EVENT_NAME" => Some("pull_request".to_owned()),
        _ => Some(text.to_owned()),
    };
    range::of_ci(&on_github, Some(text));
    range::of_ci(&|_| Some(text.to_owned()), Some(text));
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
