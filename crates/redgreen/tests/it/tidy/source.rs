//! Rules about source files: how they begin, how long they are, and what they must not contain.

use super::code::{has_word, is_word, only};
use super::{File, check, clean, file, holds, lines_are};

const LINES_MAX: usize = 700;
const MAIN_LINES_MAX: usize = 29;
/// Everything the pure crate may link: it turns data into data. A parser turns text into a tree.
const CORE_DEPENDENCIES: &[&str] = &[
    "quick-xml",
    "regex",
    "schemars",
    "serde",
    "serde-saphyr",
    "serde_json",
    "similar",
    "toml",
    "tree-sitter",
    "tree-sitter-go",
    "tree-sitter-java",
    "tree-sitter-javascript",
    "tree-sitter-python",
    "tree-sitter-rust",
    "tree-sitter-typescript",
];
const CORE_MANIFEST: &str = "crates/redgreen-core/Cargo.toml";
/// Written and read by programs.
const GENERATED: &[&str] = &[".lock", ".snap"];
/// The only files that may print. The parent reads what the sandboxed child prints.
const PRINTS: &[&str] = &["src/view/screen.rs", "src/sandbox/linux/fenced.rs"];
const UNFINISHED_MACROS: &[&str] = &["todo!", "unimplemented!"];
// In two halves, or this file would break its own rule.
const UNFINISHED_MARKS: &[&str] = &[concat!("FIX", "ME"), concat!("XX", "X")];
/// A reason names a command if it contains one of these.
const COMMANDS: &[&str] = &["scripts/", "cargo "];

fn opens_with_its_purpose(file: &File) -> Vec<String> {
    if !file.is_rust() || file.is_recorded() || file.text.starts_with("//! ") {
        return Vec::new();
    }
    vec![file.fault(1, "open with a `//!` line that says what the file is for")]
}

fn is_short(file: &File) -> Vec<String> {
    if file.is_recorded() || GENERATED.iter().any(|end| file.path.ends_with(end)) {
        return Vec::new();
    }
    let count = file.text.lines().count();
    let (max, advice) = if file.path.ends_with("src/main.rs") {
        (MAIN_LINES_MAX, "move the work into a module")
    } else {
        (LINES_MAX, "find the second idea and give it a file of its own")
    };
    if count <= max {
        return Vec::new();
    }
    vec![file.fault(max + 1, &format!("{count} lines, at most {max}: {advice}"))]
}

fn is_not_mod_rs(file: &File) -> Vec<String> {
    if file.is_recorded() || file.path.rsplit('/').next() != Some("mod.rs") {
        return Vec::new();
    }
    vec![file.fault(1, "name it after its module: `foo.rs` beside the folder `foo/`")]
}

fn is_finished(file: &File) -> Vec<String> {
    if !file.is_rust() || file.is_recorded() {
        return Vec::new();
    }
    let code = only(&file.text);
    let mut faults = Vec::new();
    for ((number, line), code) in file.lines().zip(code.lines()) {
        for name in UNFINISHED_MACROS.iter().filter(|name| has_word(code, name)) {
            faults.push(file.fault(
                number,
                &format!("`{name}`: write the code, or return a Failure that says so"),
            ));
        }
        for mark in UNFINISHED_MARKS.iter().filter(|mark| has_word(line, mark)) {
            faults.push(
                file.fault(
                    number,
                    &format!("{mark}: do it now, or open an issue and drop the mark"),
                ),
            );
        }
    }
    faults
}

fn ignores_say_how_to_run(file: &File) -> Vec<String> {
    if !file.is_rust() || file.is_recorded() {
        return Vec::new();
    }
    let code = only(&file.text);
    let mut faults = Vec::new();
    for ((number, line), code) in file.lines().zip(code.lines()) {
        let ignores = code.trim_start().starts_with("#[") && has_word(code, "ignore");
        let reason = line.split_once("ignore").map_or("", |(_, reason)| reason);
        if ignores && !COMMANDS.iter().any(|command| reason.contains(command)) {
            faults.push(file.fault(
                number,
                "give a reason with the command that runs it: `#[ignore = \"slow: scripts/test\"]`",
            ));
        }
    }
    faults
}

fn core_depends_on_little(manifest: &File) -> Vec<String> {
    let table: toml::Table = manifest.text.parse().unwrap();
    let mut linked = dependencies(&table);
    let targets = table.get("target").and_then(toml::Value::as_table);
    for target in targets.into_iter().flat_map(|targets| targets.values()) {
        linked.extend(target.as_table().map(dependencies).unwrap_or_default());
    }
    linked.retain(|name| !CORE_DEPENDENCIES.contains(&name.as_str()));
    let place = |name: &str| {
        manifest.lines().find(|(_, line)| has_word(line, name)).map_or(1, |(number, _)| number)
    };
    let advice = "the mind links only what CORE_DEPENDENCIES lists; pass the result in instead";
    linked.iter().map(|name| manifest.fault(place(name), &format!("{name}: {advice}"))).collect()
}

/// The crates that are linked in. Dependencies of tests do not count.
fn dependencies(table: &toml::Table) -> Vec<String> {
    let sections = ["dependencies", "build-dependencies"].into_iter();
    let tables = sections.filter_map(|section| table.get(section)?.as_table());
    tables.flat_map(|table| table.keys().cloned()).collect()
}

/// One place sanitizes foreign text, so only that place prints.
fn prints_through_the_door(file: &File) -> Vec<String> {
    let prints =
        |path: &str| path.contains("/src/") && !PRINTS.iter().any(|door| path.ends_with(door));
    if !file.is_rust() || file.is_recorded() || !prints(&file.path) {
        return Vec::new();
    }
    let code = only(&file.text);
    // The file's own tests follow.
    let code = code.split("#[cfg(test)]").next().unwrap_or_default();
    let mut faults = Vec::new();
    for (number, line) in (1..).zip(code.lines()) {
        let asks = line.replace("stdout().is_terminal()", "").replace("stderr().is_terminal()", "");
        let mut streams = ["stdout()", "stderr()"].iter().flat_map(|name| asks.match_indices(name));
        // `.stdout()` is a method of some value.
        let own =
            streams.any(|(at, _)| !asks[..at].ends_with(|before| before == '.' || is_word(before)));
        let raw = ["print!", "println!", "eprint!", "eprintln!", "error.print"];
        if own || raw.iter().any(|call| has_word(&asks, call)) {
            faults.push(
                file.fault(
                    number,
                    "print through `view::Printer`, which makes foreign text harmless",
                ),
            );
        }
        if has_word(&asks, "inherit") && has_word(&asks, "Stdio") {
            faults.push(
                file.fault(number, "a program that prints by itself: read its output and show it"),
            );
        }
    }
    faults
}

#[test]
fn every_source_file_opens_with_its_purpose() {
    holds(opens_with_its_purpose);
    check(opens_with_its_purpose, "a.rs", "//! What for.\n", &[]);
    check(opens_with_its_purpose, "a.rs", "use std::fmt;\n", &[1]);
    check(opens_with_its_purpose, "a.rs", "", &[1]);
    check(opens_with_its_purpose, "tests/testdata/a.rs", "", &[]);
}

#[test]
fn one_file_prints() {
    holds(prints_through_the_door);
    check(
        prints_through_the_door,
        "a/src/b.rs",
        "fn a() {\n    write!(std::io::stdout(), \"b\").ok();\n}\n",
        &[2],
    );
    check(
        prints_through_the_door,
        "a/src/b.rs",
        "let a = anstream::stderr();\nlet b = io::stderr();\n",
        &[1, 2],
    );
    check(
        prints_through_the_door,
        "a/src/b.rs",
        "println!();\nerror.print().ok();\nlet a = stdout().lock();\n",
        &[1, 2, 3],
    );
    check(prints_through_the_door, "a/src/b.rs", "program.stdout(Stdio::inherit());\n", &[1]);
    check(
        prints_through_the_door,
        "a/src/b.rs",
        "let a = io::stderr().is_terminal();\nlet b = \"println!\";\n",
        &[],
    );
    check(prints_through_the_door, "a/src/view/screen.rs", "let a = io::stdout();\n", &[]);
    check(prints_through_the_door, "a/tests/b.rs", "let a = io::stdout();\n", &[]);
}

#[test]
fn no_file_is_longer_than_a_reader_can_hold() {
    holds(is_short);
    check(is_short, "a.rs", &"\n".repeat(LINES_MAX), &[]);
    check(is_short, "a.rs", &"\n".repeat(LINES_MAX + 1), &[LINES_MAX + 1]);
    check(is_short, "Cargo.lock", &"\n".repeat(LINES_MAX + 1), &[]);
}

#[test]
fn main_only_hands_over() {
    clean(&is_short(&file("crates/redgreen/src/main.rs")));
    check(is_short, "crates/a/src/main.rs", &"\n".repeat(29), &[]);
    check(is_short, "crates/a/src/main.rs", &"\n".repeat(30), &[30]);
}

#[test]
fn modules_are_named_files() {
    holds(is_not_mod_rs);
    check(is_not_mod_rs, "src/a/mod.rs", "", &[1]);
    check(is_not_mod_rs, "src/a_mod.rs", "", &[]);
}

#[test]
fn nothing_is_left_unfinished() {
    holds(is_finished);
    check(is_finished, "a.rs", "fn a() {\n    todo!()\n}", &[2]);
    check(is_finished, "a.rs", "fn a() { std::unimplemented!(\"b\") }", &[1]);
    check(is_finished, "a.rs", "// `todo!()` is a red test\nlet a = \"todo!()\";", &[]);
    check(is_finished, "a.rs", "fn a() {}\n// FIX\u{4d}E later", &[2]);
    check(is_finished, "a.rs", "// X\u{58}X", &[1]);
    check(is_finished, "a.rs", "// mktemp a.XXXXXX", &[]);
}

#[test]
fn ignored_tests_say_how_they_are_run() {
    holds(ignores_say_how_to_run);
    check(ignores_say_how_to_run, "a.rs", "#[test]\n#[ignore]\nfn a() {}", &[2]);
    check(ignores_say_how_to_run, "a.rs", "#[ignore = \"slow\"]", &[1]);
    check(ignores_say_how_to_run, "a.rs", "#[cfg_attr(fast, ignore)]", &[1]);
    check(ignores_say_how_to_run, "a.rs", "#[ignore = \"slow: cargo test -- --ignored\"]", &[]);
    check(ignores_say_how_to_run, "a.rs", "// #[ignore]", &[]);
}

#[test]
fn the_core_links_no_way_out() {
    clean(&core_depends_on_little(&file(CORE_MANIFEST)));
    let faults = |text: &str, expected: &[usize]| {
        lines_are(&core_depends_on_little(&File::new("Cargo.toml", text)), "Cargo.toml", expected);
    };
    faults("[dependencies]\nserde.workspace = true\n", &[]);
    faults("[dependencies]\nserde = \"1\"\ntokio = \"1\"\n", &[3]);
    faults("[target.'cfg(unix)'.dependencies]\nlibc = \"1\"\n", &[2]);
    faults("[build-dependencies]\ncc = \"1\"\n", &[2]);
    faults("[dev-dependencies]\ninsta = \"1\"\n", &[]);
}
