//! The layers of the program: a module uses its own row and earlier ones, never a later one.

use super::code::{is_word, only};
use super::{File, check, holds};

/// Lowest first, as in `docs/ARCHITECTURE.md`.
const LAYERS: &[&[&str]] = &[
    &["failure"],
    &["config", "process", "private", "platform"],
    &["sandbox", "egress", "foreign", "git", "guard", "journal", "queue", "view"],
    &["room"],
    &["runner", "agent"],
    &["trial"],
    &["engine"],
    &["ops"],
    &["cli", "web", "mcp", "hook"],
];
const SOURCE: &str = "crates/redgreen/src/";
/// These connect the modules and belong to no layer.
const ROOTS: &[&str] = &["lib", "main"];

fn keeps_its_layer(file: &File) -> Vec<String> {
    let Some(path) = file.path.strip_prefix(SOURCE).and_then(|path| path.strip_suffix(".rs"))
    else {
        return Vec::new();
    };
    let own = path.split('/').next().unwrap_or(path);
    if ROOTS.contains(&path) {
        return Vec::new();
    }
    let Some(row) = row(own) else {
        return vec![file.fault(
            1,
            &format!("module `{own}` has no layer: add it to LAYERS in tests/it/tidy/layers.rs"),
        )];
    };
    let mut faults = Vec::new();
    for (line, used) in uses(&file.text, path.split('/').count()) {
        match self::row(&used) {
            Some(other) if other <= row => {}
            Some(_) => faults.push(file.fault(
                line,
                &format!("`{own}` uses `{used}`, which is above it: pass the value in, or move the code up"),
            )),
            None => faults.push(file.fault(
                line,
                &format!("`crate::{used}` is no module with a layer: name the module, or add it to LAYERS"),
            )),
        }
    }
    faults
}

fn row(module: &str) -> Option<usize> {
    LAYERS.iter().position(|row| row.contains(&module))
}

/// Every top-level module that the text names, with its line. `depth` is the number of `super`s up
/// to the crate's root.
fn uses(text: &str, depth: usize) -> Vec<(usize, String)> {
    let code: Vec<String> = only(text).lines().map(|line| rooted(line, depth)).collect();
    let code = code.join("\n");
    let mut found = Vec::new();
    for (at, path) in code.match_indices("crate::") {
        if code[..at].chars().next_back().is_some_and(is_word) {
            continue;
        }
        for (offset, name) in heads(&code[at + path.len()..]) {
            let line = 1 + code[..at + path.len() + offset].matches('\n').count();
            found.push((line, name));
        }
    }
    found
}

/// Outside of inline modules, `depth` times `super` is the crate's root.
fn rooted(line: &str, depth: usize) -> String {
    let way_up = "super::".repeat(depth);
    for start in ["use ", "pub use ", "pub(crate) use "] {
        if let Some(rest) = line.strip_prefix(start).and_then(|line| line.strip_prefix(&way_up)) {
            return format!("{start}crate::{rest}");
        }
    }
    line.to_owned()
}

/// The first name of each path after `crate::`, with its position: one, or several in braces.
fn heads(rest: &str) -> Vec<(usize, String)> {
    let Some(group) = rest.strip_prefix('{') else {
        return vec![(0, head(rest))];
    };
    let mut found = Vec::new();
    let mut depth = 0;
    let mut fresh = true;
    for (at, letter) in group.char_indices() {
        match letter {
            '{' => depth += 1,
            '}' if depth == 0 => break,
            '}' => depth -= 1,
            ',' if depth == 0 => fresh = true,
            letter if fresh && !letter.is_whitespace() => {
                found.push((at + 1, head(&group[at..])));
                fresh = false;
            }
            _ => {}
        }
    }
    found
}

fn head(path: &str) -> String {
    let name: String = path.chars().take_while(|letter| is_word(*letter)).collect();
    if name.is_empty() { path.chars().take(1).collect() } else { name }
}

#[test]
fn modules_use_only_their_row_and_earlier_ones() {
    holds(keeps_its_layer);
    let git = |text: &str, expected: &[usize]| {
        check(keeps_its_layer, "crates/redgreen/src/git.rs", text, expected);
    };
    git("use crate::process::Program;\n", &[]);
    git("use crate::journal;\nuse crate::git::notes;\n", &[]);
    git("\nuse crate::engine::Engine;\n", &[2]);
    git("fn a() { crate::ops::run() }\n", &[1]);
    git("use crate::{failure::Failure, cli};\n", &[1]);
    git("use crate::{\n    process::{Limits, Stop},\n    web,\n};\n", &[3]);
    git("use super::engine;\n", &[1]);
    git("mod tests {\n    use super::engine;\n}\n", &[]);
    git("// crate::engine\nlet a = \"crate::engine\";\n", &[]);
    git("use crate::*;\n", &[1]);
    git("use mycrate::engine;\n", &[]);
    git("use crate::surprise;\n", &[1]);
}

#[test]
fn a_child_keeps_the_layer_of_its_parent() {
    let notes = |text: &str, expected: &[usize]| {
        check(keeps_its_layer, "crates/redgreen/src/git/notes.rs", text, expected);
    };
    notes("use super::engine;\n", &[]);
    notes("use super::super::engine;\n", &[1]);
    notes("use crate::cli;\n", &[1]);
}

#[test]
fn a_failure_knows_nobody() {
    check(keeps_its_layer, "crates/redgreen/src/failure.rs", "use crate::process::Stop;\n", &[1]);
    check(keeps_its_layer, "crates/redgreen/src/config.rs", "use crate::failure::Code;\n", &[]);
}

#[test]
fn an_unknown_module_has_to_be_given_a_layer() {
    check(keeps_its_layer, "crates/redgreen/src/helper.rs", "", &[1]);
    check(keeps_its_layer, "crates/redgreen/src/helper/a.rs", "", &[1]);
    check(keeps_its_layer, "crates/redgreen/src/lib.rs", "pub mod helper;\n", &[]);
}
