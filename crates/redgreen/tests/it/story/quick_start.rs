//! The quick start as the page prints it: its commands, its files, its output. Only commands that
//! download packages are replaced by the packages of this machine. Java is left out, because its
//! versions of plugins are only in Maven's central repository.

use std::os::unix::fs::symlink;

use super::{Story, book};
use crate::runner::{is_installed, node_modules};
use crate::skip::skipped;

/// Commands of the page that need a network.
const DOWNLOADS: [&str; 2] = ["npm ", "python3 -m venv "];
/// What `npm init` and `npm install` leave.
const PACKAGE: &str = r#"{"name": "slugs", "devDependencies": {"vitest": "*", "typescript": "*"}}"#;
#[test]
fn the_quick_start_in_python() {
    let story = begun("Python");
    let said = developed(&story, "slugs.py");
    let page = book::page("quick-start.md");
    let (_, shown) = page.split_once("The output for Python:\n\n```text\n").unwrap();
    let (shown, _) = shown.split_once("```").unwrap();
    for line in shown.lines().filter(|line| !line.is_empty()) {
        // The duration differs.
        let line = line.split_once(", 0.").map_or(line, |(line, _)| line);
        assert!(said.contains(line), "not printed: {line}\n{said}");
    }
}

#[test]
fn the_quick_start_in_typescript() {
    if !is_installed("node") {
        return;
    }
    if !node_modules().join("vitest").exists() {
        return skipped("vitest is not installed by scripts/test");
    }
    let story = begun("TypeScript");
    story.file("package.json", PACKAGE).file(".git/info/exclude", "node_modules\n");
    symlink(node_modules(), story.root.join("node_modules")).unwrap();
    developed(&story, "slugs.ts");
}

#[test]
fn the_quick_start_in_rust() {
    if is_installed("cargo") {
        developed(&begun("Rust"), "src/lib.rs");
    }
}

#[test]
fn the_quick_start_in_go() {
    if is_installed("go") {
        developed(&begun("Go"), "slugs.go");
    }
}

/// The section of the page about a language.
fn section(language: &str) -> String {
    let page = book::page("quick-start.md");
    let (_, rest) = page.split_once(&format!("\n## {language}\n")).unwrap();
    rest.split("\n## ").next().unwrap().to_owned()
}

/// The project of a section, created by its commands, with its files.
fn begun(language: &str) -> Story {
    let section = section(language);
    let (_, commands) = section.split_once("```sh\n").unwrap();
    let (commands, _) = commands.split_once("```").unwrap();
    let local: Vec<&str> = commands
        .lines()
        .filter(|line| !DOWNLOADS.iter().any(|start| line.starts_with(start)))
        .collect();
    let mut story = Story::bare_folder();
    let output = story.command("sh").args(["-ec", &local.join("\n")]).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    story.root.push("slugs");
    story.git("config user.name Ada");
    story.git("config user.email ada@example.com");
    let names = section.lines().filter_map(|line| line.strip_prefix('`')?.strip_suffix("`:"));
    for name in names {
        story.file(name, &book::example(&section, name));
    }
    story
}

/// Commits the project, runs the page's commands, and returns the output of the run.
#[track_caller]
fn developed(story: &Story, code: &str) -> String {
    story.commit("a project");
    let run = "redgreen run --script first.toml \"slugs for titles\"";
    let page = book::page("quick-start.md");
    assert!(page.contains(&format!("```sh\n{run}\nredgreen approve\n```")), "{run}");
    let said = story.redgreen(run.strip_prefix("redgreen ").unwrap()).exits(3).stderr;
    assert!(!said.contains("refused") && !said.contains("undecided"), "{said}");
    story.redgreen("approve").exits(0);
    let text = std::fs::read_to_string(story.root.join(code)).unwrap();
    assert!(text.to_lowercase().contains("slug("), "{code} is merged: {text}");
    said
}
