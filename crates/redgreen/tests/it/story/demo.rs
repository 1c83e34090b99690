//! `redgreen demo` in each language: the same story on the installed test runner.

use std::io::{BufRead, BufReader};
use std::os::unix::fs::symlink;
use std::process::Stdio;
use std::time::{Duration, Instant};

use super::Story;
use crate::runner::is_installed;

/// How long a new user waits for the first output line.
const FIRST_LINE: Duration = Duration::from_secs(10);

/// The verdicts of the kata, in order. They are the same in each language.
const VERDICTS: &[&str] = &[
    "plan.selected",
    "red.missing_symbol",
    "green.still_failing",
    "green.passes",
    "refactor.nothing",
    "plan.selected",
    "red.assertion",
    "green.tests_changed",
    "green.passes",
    "refactor.kept",
    "plan.selected",
    "red.passes",
    "red.assertion",
    "green.passes",
    "refactor.regression",
    "refactor.kept",
    "plan.finished",
];

#[test]
fn the_demo_tells_the_same_story_in_python() {
    tells_the_story("python", "python3", "baseline   python -m unittest: 1 passed");
}

#[test]
fn the_demo_tells_the_same_story_in_node() {
    tells_the_story("node", "node", "baseline   node --test: 1 passed");
}

#[test]
fn the_demo_tells_the_same_story_in_rust() {
    tells_the_story("rust", "cargo", "baseline   cargo test");
}

fn tells_the_story(language: &str, program: &str, baseline: &str) {
    if !is_installed(program) {
        return;
    }
    let story = Story::bare_folder();
    let said =
        story.redgreen(&format!("demo --lang {language} --folder @kata")).exits(0).says(baseline);
    let shown: Vec<&str> = said.stderr.lines().filter_map(verdict).collect();
    assert_eq!(shown, VERDICTS, "{}", said.stderr);
    said.says("demo  merged");
}

/// The code at the end of a phase line, as in `  1 RED  accepted  … [red.assertion]`.
fn verdict(line: &str) -> Option<&str> {
    let (_, code) = line.strip_suffix(']')?.rsplit_once('[')?;
    ["plan.", "red.", "green.", "refactor."]
        .iter()
        .any(|phase| code.starts_with(phase))
        .then_some(code)
}

#[test]
fn the_demo_uses_the_only_language_of_the_machine() {
    starts_soon("python3", "baseline   python -m unittest: 1 passed");
    if is_installed("node") {
        starts_soon("node", "baseline   node --test: 1 passed");
    }
}

fn starts_soon(program: &str, baseline: &str) {
    let story = only_with(&["git", program]);
    let mut child = story.prepare("demo --folder @kata").stderr(Stdio::piped()).spawn().unwrap();
    let begun = Instant::now();
    let mut lines = BufReader::new(child.stderr.take().unwrap()).lines().map_while(Result::ok);
    assert!(lines.next().is_some(), "the demo printed nothing");
    assert!(begun.elapsed() < FIRST_LINE, "the first line took {:?}", begun.elapsed());
    let rest: Vec<String> = lines.collect();
    assert!(child.wait().unwrap().success(), "{rest:#?}");
    assert!(rest.iter().any(|line| line.starts_with(baseline)), "{rest:#?}");
}

#[test]
fn the_demo_names_what_is_missing() {
    let rows = [
        (&["git"][..], "demo", "the demo needs one of python3, node, cargo on the PATH"),
        (
            &["git", "python3"],
            "demo --lang rust",
            "--lang rust needs cargo, which is not on the PATH",
        ),
        (&["git", "python3"], "demo --lang node", "install Node.js 20 or newer"),
        (&["python3"], "demo", "the demo needs git, which is not on the PATH"),
    ];
    for (programs, line, words) in rows {
        only_with(programs).redgreen(line).exits(4).says(words);
    }
    Story::bare_folder()
        .redgreen("demo --lang cobol")
        .exits(2)
        .says("[possible values: python, node, rust]");
}

/// A machine with only these programs on its PATH.
fn only_with(programs: &[&str]) -> Story {
    let story = Story::bare_folder();
    let bin = story.place("bin");
    std::fs::create_dir(&bin).unwrap();
    for program in programs {
        let found = story.command(program).get_program().to_owned();
        let target = std::path::Path::new(&found).canonicalize().unwrap();
        symlink(target, bin.join(program)).unwrap();
    }
    let bin = bin.display().to_string();
    story.env("PATH", &bin).env("VIRTUAL_ENV", "")
}
