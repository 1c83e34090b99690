//! The inputs of a run (a specification, a task, a design with context files), from the file to a
//! branch that waits for approval.

mod handover;
mod invalid_files;
mod report;
mod schemas;
mod seeds;
mod sessions;
mod trust;

use std::fs;

use super::Story;

/// A specification with two components and three tests.
pub(super) const SPEC: &str = include_str!("doors/spec.yaml");
/// A script for it: all tests at once, then the code.
pub(super) const SPEC_SCRIPT: &str = include_str!("doors/spec.toml");
/// A task with two tests and a coverage target.
pub(super) const TASK: &str = include_str!("doors/task.json");
pub(super) const TASK_SCRIPT: &str = include_str!("doors/task.toml");

/// A pytest project with an input file and a script next to it.
pub(super) fn story(file: &str, text: &str, script: &str) -> Story {
    let story = Story::pytest();
    story.script(file, text).script("kata.toml", script);
    story
}

/// The folder of the only run.
#[track_caller]
pub(super) fn run_folder(story: &Story) -> std::path::PathBuf {
    let runs: Vec<_> = fs::read_dir(story.root.join(".git/redgreen/runs"))
        .unwrap()
        .map(|run| run.unwrap().path())
        .collect();
    assert_eq!(runs.len(), 1);
    runs.into_iter().next().unwrap()
}

pub(super) fn artifact(story: &Story, name: &str) -> String {
    let path = run_folder(story).join("artifacts").join(name);
    fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

pub(super) fn json(story: &Story, name: &str) -> serde_json::Value {
    serde_json::from_str(&artifact(story, name)).unwrap()
}

pub(super) const RUN_DESIGN: &str =
    "run --script @kata.toml --issue 87 --lld docs/lld.md --context src/util.py";

/// A story with a design and the calculator script.
pub(super) fn design() -> Story {
    let story = Story::calculator();
    story
        .file("docs/lld.md", "# A calculator\n\nIt adds, subtracts and multiplies.\n")
        .file("src/util.py", "HALF = 0.5\n");
    story.commit("a design");
    story
}

/// Asserts that redgreen rejects the line and creates nothing: no ref, no run, no worktree.
#[track_caller]
pub(super) fn turned_down(story: &Story, line: &str, words: &str) {
    let (before, refs) = (story.belongings(), story.git("for-each-ref"));
    story.redgreen(line).exits(2).says(words);
    assert_eq!((story.belongings(), story.git("for-each-ref")), (before, refs));
    assert!(!story.root.join(".git/redgreen/runs").exists(), "a run was made");
}
