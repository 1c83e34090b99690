//! A change of a file in each language: what the syntax trees tell of hostile source code.

use redgreen_core::change;
use redgreen_core::framework::{FRAMEWORKS, Framework};
use redgreen_core::phase::Phase;

const PATHS: [&str; 8] = [
    "a.py",
    "test_a.py",
    "src/a.rs",
    "a_test.go",
    "a.test.ts",
    "a.js",
    "src/test/java/ATest.java",
    "pyproject.toml",
];

/// The path as a digit, then the old text and the new one with a line of three dashes between them.
pub(crate) fn input(input: &[u8]) {
    let Some((&choice, text)) = input.split_first() else { return };
    let text = String::from_utf8_lossy(text);
    let (old, new) = text.split_once("\n---\n").unwrap_or(("", &text));
    let path = PATHS[usize::from(choice) % PATHS.len()];
    let all: Vec<&Framework> = FRAMEWORKS.iter().collect();
    let class = change::classify(path, &all);
    for phase in [Phase::Red, Phase::Green, Phase::Refactor] {
        change::look_closer(phase, class, path, old, new);
        change::manifest_ruling(phase, path, old, new, &all);
    }
    change::is_stub(path, old, new);
}
