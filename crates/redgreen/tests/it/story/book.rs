//! Runs the examples of the book exactly as printed.

use std::fs;
use std::path::Path;

use super::Story;

/// An example, by its file name: the block after the line that names the file.
pub(super) fn example(page: &str, name: &str) -> String {
    let start = format!("`{name}`");
    let rest = page
        .split("\n\n")
        .skip_while(|part| !part.starts_with(&start))
        .skip(1)
        .collect::<Vec<_>>()
        .join("\n\n");
    let block = rest.strip_prefix("```").unwrap_or_else(|| panic!("no block behind {name}"));
    let (_, block) = block.split_once('\n').unwrap();
    block.split("\n```").next().unwrap().to_owned() + "\n"
}

pub(super) fn page(name: &str) -> String {
    let book = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/book");
    fs::read_to_string(book.join(name)).unwrap()
}

/// Runs the page's own commands on an example, from the file to the merge.
#[track_caller]
fn runs(file: &str, turns: &str, command: &str, left: &str) {
    let page = page("examples.md");
    assert!(page.contains(&format!("{command}\nredgreen approve\n")), "{command}");
    let story = Story::pytest();
    story
        .file(file, &example(&page, file))
        .file(turns, &example(&page, turns))
        .commit("the files of the book");
    story.redgreen(command.strip_prefix("redgreen ").unwrap()).exits(3);
    story.redgreen("approve").exits(0);
    assert!(story.root.join(left).is_file(), "{left} is merged");
    story.redgreen("test").exits(0);
}

#[test]
fn fault_17_the_specification_of_the_book_runs_from_file_to_merge() {
    let command = "redgreen run --spec spec.yaml --script spec-turns.toml";
    runs("spec.yaml", "spec-turns.toml", command, "till.py");
}

#[test]
fn fault_17_the_task_of_the_book_runs_from_file_to_merge() {
    let command = "redgreen run --task task.json --script task-turns.toml";
    runs("task.json", "task-turns.toml", command, "temperature.py");
}

#[test]
fn fault_17_the_design_of_the_book_runs_from_file_to_merge() {
    let command = "redgreen run --issue 87 --lld design.md --script design-turns.toml";
    runs("design.md", "design-turns.toml", command, "words.py");
}
