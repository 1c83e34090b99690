//! Runs the commands of the README pages in `examples/`, from the file to the merge.

use std::fs;
use std::path::{Path, PathBuf};

use super::Story;

fn folder(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples").join(name)
}

/// The example project in its own repository.
fn project(name: &str) -> Story {
    let story = Story::pytest();
    let mut files = Vec::new();
    list(&folder(name), &mut files);
    for file in files {
        let inside = file.strip_prefix(folder(name)).unwrap().display().to_string();
        story.file(&inside, &fs::read_to_string(&file).unwrap());
    }
    story.commit("the example");
    story
}

fn list(folder: &Path, files: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() { list(&path, files) } else { files.push(path) }
    }
}

/// Runs every command of the page. A run exits with "waits for a human", everything else with
/// success.
#[track_caller]
fn typed(story: &Story, name: &str) {
    let page = fs::read_to_string(folder(name).join("README.md")).unwrap();
    let blocks = page.split("```sh\n").skip(1).map(|rest| rest.split("```").next().unwrap());
    let lines: Vec<&str> = blocks.flat_map(str::lines).collect();
    assert!(lines.iter().any(|line| line.starts_with("redgreen run")), "{page}");
    for line in lines {
        let line = line.strip_prefix("redgreen ").unwrap_or_else(|| panic!("{line}"));
        let said = story.redgreen(line).exits(if line.starts_with("run") { 3 } else { 0 });
        assert!(!said.stderr.contains("not used"), "{}", said.stderr);
    }
    assert_eq!(story.git("for-each-ref refs/heads/redgreen"), "", "everything is merged");
}

#[test]
fn a_specification_from_its_file_to_the_merge() {
    let story = project("spec");
    typed(&story, "spec");
    assert!(story.root.join("shop/receipt.py").is_file());
    let red = fs::read_to_string(story.root.join(".agentforge/artifacts/red.yaml")).unwrap();
    assert!(
        red.contains("request_id: REQ-20260102-0001") && red.contains("priority: must"),
        "{red}"
    );
}

#[test]
fn a_request_and_a_task_from_their_files_to_the_merge() {
    let story = project("task");
    typed(&story, "task");
    let list = fs::read_to_string(story.root.join(".workflow/active/WFS-temperature/TODO_LIST.md"))
        .unwrap();
    assert!(list.contains("- [x] **IMPL-1**") && list.contains("- [ ] **IMPL-2**"), "{list}");
    assert!(story.root.join(".workflow/active/WFS-temperature/.process/tdd-summary.md").is_file());
    assert!(story.root.join("caesar.py").is_file() && story.root.join("temperature.py").is_file());
}

#[test]
fn a_design_from_its_file_to_the_merge() {
    let story = project("design");
    typed(&story, "design");
    assert!(story.root.join("src/vowels.py").is_file());
}
