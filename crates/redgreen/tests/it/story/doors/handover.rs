//! A resumed run uses its original input: the context files and the request from the command line.

use super::{RUN_DESIGN, design, turned_down};
use crate::story::Story;
use crate::story::scripts::{DONE, GREEN, PLAN, RED_PYTEST as RED};

#[test]
fn a_request_behind_the_context_is_found_missing_with_the_line_to_type() {
    let story = design();
    for (line, words) in [
        (
            "run --script @kata.toml --context docs src/util.py \"add roman numerals\"",
            "next  redgreen run 'add roman numerals' --context docs src/util.py",
        ),
        (
            "run --context docs src/util.py",
            "next  redgreen run \"<what to build>\" --context docs src/util.py",
        ),
        ("run", "next  redgreen run \"<what to build>\""),
        ("--json run", "no brief: say what to build"),
    ] {
        turned_down(&story, line, words);
    }
    story
        .redgreen("run --script @kata.toml \"x\" --spec a.yaml")
        .exits(2)
        .says("cannot be used with");
    for line in [
        "run --script @kata.toml --context docs src/util.py -- \"a calculator\"",
        "run --script @kata.toml \"a calculator\" --context docs --context src/util.py",
    ] {
        // After `--`, options would be part of the request.
        let said = story.redgreen(&if line.contains(" -- ") {
            line.to_owned()
        } else {
            format!("--json {line} --max-cycles 1")
        });
        assert!(!matches!(said.code, Some(2)), "{line}: {} {}", said.stdout, said.stderr);
        let journal = super::run_folder(&story).join("journal.jsonl");
        let first = std::fs::read_to_string(journal).unwrap();
        let first: serde_json::Value = serde_json::from_str(first.lines().next().unwrap()).unwrap();
        let context = first["run"]["brief"]["context"].as_array().unwrap();
        assert_eq!(
            context.iter().map(|file| file["path"].as_str().unwrap()).collect::<Vec<_>>(),
            ["docs/lld.md", "src/util.py"]
        );
        assert_eq!(first["run"]["brief"]["request"], "a calculator");
        story.redgreen("abort").exits(0);
        std::fs::remove_dir_all(super::run_folder(&story)).unwrap();
    }
}

#[test]
fn a_run_that_is_resumed_shows_the_files_as_they_were() {
    let story = design();
    story.script("kata.toml", PLAN);
    story.redgreen(RUN_DESIGN).exits(4);
    story.file("docs/lld.md", "# Something else\n").file("src/util.py", "HALF = 2\n");
    story.commit("another design");
    story.script("rest.toml", &[PLAN, &RED.repeat(2), GREEN, DONE].concat());
    story.redgreen("resume --script @rest.toml").exits(3);
    let brief = super::run_folder(&story).join("journal.jsonl");
    let journal = std::fs::read_to_string(brief).unwrap();
    assert!(
        journal.contains("It adds, subtracts and multiplies.")
            && !journal.contains("# Something else"),
        "{journal}"
    );
}

/// Another clone has only the notes. They name the files and can check their content.
#[test]
fn a_run_that_is_taken_over_has_the_files_it_was_begun_with_or_says_so() {
    let story = design();
    story.script("kata.toml", PLAN);
    // The run uses a version of the design that was never committed.
    story.file("docs/lld.md", "# A calculator\n\nIt adds.\n");
    story.redgreen(RUN_DESIGN).exits(4);
    let there = Story::bare_folder();
    let from = story.root.display().to_string();
    assert!(there.command("git").args(["clone", "-q", &from, "."]).status().unwrap().success());
    there.git("config user.name Grace");
    there.git("config user.email grace@example.com");
    there.git("fetch -q origin refs/notes/tdd-handoffs:refs/notes/tdd-handoffs");
    there.script("rest.toml", &[RED, GREEN, DONE].concat());
    let line = "resume --script @rest.toml";
    let said = there
        .redgreen(line)
        .exits(2)
        .says("docs/lld.md: the start commit")
        .says("copy them from the machine");
    assert!(!said.stderr.contains("src/util.py"), "the other file is as it was: {}", said.stderr);
    assert!(!there.root.join(".git/redgreen/runs").exists(), "a run was made");
    there.file("docs/lld.md", "# A calculator\n\nIt adds.\n");
    there.redgreen(line).exits(3).says("continued after PLAN of cycle 1");
    let journal = std::fs::read_to_string(super::run_folder(&there).join("journal.jsonl")).unwrap();
    assert!(journal.lines().next().unwrap().contains("It adds.\\n"), "the design as it was");
}
