//! Small features developed test-first in growing repositories. The judge must accept every honest
//! step and stop every cheating one.
//!
//! `corpus/honest/<language>/<project>.steps` and `corpus/cheats/…` hold them. A line that begins
//! with `%%` is a command for the lines below it: `feature NAME: BRIEF`, a phase (or `commit`,
//! which is not judged), and within a phase `write`, `append`, `edit … %% to …`, `delete` and
//! `move`. Edits before the first feature set up the repository. A phase with a verdict and a code
//! (`green refused green.not_discriminating`) must get these, and is undone afterwards.
//! `stopped` matches any verdict except acceptance, and a code matches every code that begins with
//! it. `unseen` after the code means that `verify` misses the cheat in a squashed commit: the
//! commit shows no trace of tests that the step deleted, renamed so that they no longer run, or
//! wrote for code that was already correct.
//!
//! Each feature is a test of its own, in `corpus/features.rs`. The first two of a project run every
//! time; the others are ignored unless they are asked for (`scripts/test --all`).

use std::fmt::Write as _;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::time::Instant;

use crate::runner::{is_installed, node_modules};
use crate::skip::skipped;
use crate::story::{ProgramOutput, Story};

/// This many features of each project run without `--include-ignored`.
const FEATURES_USUAL: usize = 2;
const FEATURES: &str = "features.rs";

macro_rules! feature {
    ($name:ident, $file:literal, $feature:literal) => {
        #[test]
        fn $name() {
            super::is_judged_right($file, $feature);
        }
    };
    ($name:ident, $file:literal, $feature:literal, ignored) => {
        #[test]
        #[ignore = "runs with scripts/test --all"]
        fn $name() {
            super::is_judged_right($file, $feature);
        }
    };
}

/// The same feature, developed in a session on a checkout.
macro_rules! session {
    ($name:ident, $file:literal, $feature:literal) => {
        #[test]
        fn $name() {
            super::sessions::is_judged_right($file, $feature);
        }
    };
    ($name:ident, $file:literal, $feature:literal, ignored) => {
        #[test]
        #[ignore = "runs with scripts/test --all"]
        fn $name() {
            super::sessions::is_judged_right($file, $feature);
        }
    };
}

/// The same feature, squashed into one commit.
macro_rules! squash {
    ($name:ident, $file:literal, $feature:literal) => {
        #[test]
        fn $name() {
            super::squashed::is_judged_right($file, $feature);
        }
    };
    ($name:ident, $file:literal, $feature:literal, ignored) => {
        #[test]
        #[ignore = "runs with scripts/test --all"]
        fn $name() {
            super::squashed::is_judged_right($file, $feature);
        }
    };
}

mod features;
mod sessions;
mod squashed;

/// The list is generated from the files. Set REDGREEN_TEST_WRITE to write it again.
#[test]
fn every_feature_is_a_test() {
    let path = folder().join(FEATURES);
    let wanted = list();
    #[expect(clippy::disallowed_methods, reason = "a variable makes the test write")]
    if std::env::var_os("REDGREEN_TEST_WRITE").is_some() {
        fs::write(&path, &wanted).unwrap();
    }
    let known = fs::read_to_string(&path).unwrap_or_default();
    assert!(
        known == wanted,
        "corpus/{FEATURES} is out of date; write it with: REDGREEN_TEST_WRITE=1 cargo test -p redgreen --test it every_feature"
    );
}

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/corpus")
}

fn list() -> String {
    let mut files = Vec::new();
    for kind in ["honest", "cheats"] {
        for language in sorted(&folder().join(kind)) {
            files.extend(sorted(&language));
        }
    }
    let mut text =
        "//! Made from the `.steps` files; `every_feature_is_a_test` says how.\n\n".to_owned();
    for file in files {
        let inside = file.strip_prefix(folder()).unwrap().with_extension("").display().to_string();
        for (number, feature) in read(&file).features.iter().enumerate() {
            let name = format!("{inside}_{}", feature.name).to_lowercase();
            let name: String = name
                .chars()
                .map(|one| if one.is_ascii_alphanumeric() { one } else { '_' })
                .collect();
            let ignored = if number < FEATURES_USUAL { "" } else { ", ignored" };
            writeln!(text, "feature! {{ {name}, {inside:?}, {:?}{ignored} }}", feature.name)
                .unwrap();
            if sessions::is_played(&inside, number) {
                let ignored = if sessions::is_usual(&inside, number) { "" } else { ", ignored" };
                writeln!(
                    text,
                    "session! {{ session_{name}, {inside:?}, {:?}{ignored} }}",
                    feature.name
                )
                .unwrap();
            }
            if squashed::is_played(&inside, number) {
                let ignored = if squashed::is_usual(&inside, number) { "" } else { ", ignored" };
                writeln!(
                    text,
                    "squash! {{ squashed_{name}, {inside:?}, {:?}{ignored} }}",
                    feature.name
                )
                .unwrap();
            }
        }
    }
    text
}

fn sorted(folder: &Path) -> Vec<PathBuf> {
    let mut all: Vec<PathBuf> =
        fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    all.sort();
    all
}

/// Judges every step of one feature, with the earlier features as its base.
fn is_judged_right(file: &str, feature: &str) {
    if is_there(file) {
        let project = read(&folder().join(format!("{file}.steps")));
        let story = stage(file, &project, feature);
        all_right(&play(&story, project.feature(feature)));
    }
}

#[track_caller]
fn all_right(wrong: &[String]) {
    assert!(wrong.is_empty(), "{} steps were judged wrongly:\n{}", wrong.len(), wrong.join("\n"));
}

fn language(file: &str) -> &str {
    file.split('/').nth(1).unwrap()
}

/// Whether the tools of a project's language are installed.
fn is_there(file: &str) -> bool {
    match language(file) {
        "python" | "rust" => true,
        "typescript" => {
            let there = node_modules().join(".bin/vitest").exists();
            if !there {
                skipped("vitest is not installed by scripts/test");
            }
            there && is_installed("node")
        }
        program => is_installed(program),
    }
}

#[derive(Default)]
struct Project {
    base: Vec<Edit>,
    features: Vec<Feature>,
}

struct Feature {
    name: String,
    brief: String,
    steps: Vec<Step>,
}

struct Step {
    phase: String,
    /// A verdict and a code, or `None` if the step should be accepted.
    stopped: Option<(String, String)>,
    is_unseen: bool,
    edits: Vec<Edit>,
}

struct Edit {
    verb: String,
    path: String,
    text: String,
    /// The text that replaces `text` in an `edit`.
    new: Option<String>,
}

fn read(file: &Path) -> Project {
    let mut project = Project::default();
    for line in fs::read_to_string(file).unwrap().lines() {
        let Some(command) = line.strip_prefix("%% ") else {
            let edit =
                project.edits().last_mut().unwrap_or_else(|| panic!("belongs to nothing: {line}"));
            writeln!(edit.new.as_mut().unwrap_or(&mut edit.text), "{line}").unwrap();
            continue;
        };
        let (verb, rest) = command.split_once(' ').unwrap_or((command, ""));
        match verb {
            "feature" => {
                let (name, brief) =
                    rest.split_once(": ").unwrap_or_else(|| panic!("no brief: {line}"));
                project.features.push(Feature {
                    name: name.to_owned(),
                    brief: brief.to_owned(),
                    steps: Vec::new(),
                });
            }
            "red" | "green" | "refactor" | "commit" => {
                let words: Vec<String> = rest.split_whitespace().map(str::to_owned).collect();
                let (stopped, is_unseen) = match words.as_slice() {
                    [] => (None, false),
                    [verdict, code] => (Some((verdict.clone(), code.clone())), false),
                    [verdict, code, word] if word == "unseen" => {
                        (Some((verdict.clone(), code.clone())), true)
                    }
                    _ => panic!("no verdict and code: {line}"),
                };
                let (phase, edits) = (verb.to_owned(), Vec::new());
                let step = Step { phase, stopped, is_unseen, edits };
                project.features.last_mut().unwrap().steps.push(step);
            }
            "to" => project.edits().last_mut().unwrap().new = Some(String::new()),
            "write" | "append" | "edit" | "delete" | "move" => {
                let (verb, path) = (verb.to_owned(), rest.to_owned());
                project.edits().push(Edit { verb, path, text: String::new(), new: None });
            }
            _ => panic!("not a command: {line}"),
        }
    }
    project
}

impl Project {
    #[track_caller]
    fn feature(&self, name: &str) -> &Feature {
        self.features
            .iter()
            .find(|feature| feature.name == name)
            .unwrap_or_else(|| panic!("no feature {name}"))
    }

    fn edits(&mut self) -> &mut Vec<Edit> {
        match self.features.last_mut() {
            Some(feature) => &mut feature.steps.last_mut().unwrap().edits,
            None => &mut self.base,
        }
    }
}

/// A repository whose base commit contains the accepted steps of all earlier features.
fn stage(file: &str, project: &Project, wanted: &str) -> Story {
    let story = Story::bare_folder();
    story.git("init -q -b main");
    story.git("config user.name Ada");
    story.git("config user.email ada@example.com");
    if language(file) == "typescript" {
        symlink(node_modules(), story.root.join("node_modules")).unwrap();
    }
    apply(&story.root, &project.base);
    let before = project.features.iter().take_while(|feature| feature.name != wanted);
    let accepted = before.flat_map(|feature| &feature.steps).filter(|step| step.stopped.is_none());
    accepted.for_each(|step| apply(&story.root, &step.edits));
    story.commit("base");
    story
}

/// Commits and judges each step of a feature. Returns the wrong verdicts.
fn play(story: &Story, feature: &Feature) -> Vec<String> {
    let mut base = story.git("rev-parse HEAD");
    let mut wrong = Vec::new();
    for step in &feature.steps {
        apply(&story.root, &step.edits);
        let head = story.commit(&format!("{}: {}", step.phase, feature.name));
        let accepted = std::mem::replace(&mut base, head.clone());
        if step.stopped.is_some() {
            base.clone_from(&accepted);
            story.git(&format!("checkout -q -B main {accepted}"));
        }
        if step.phase != "commit" {
            wrong.extend(judge(story, feature, step, &accepted, &head));
        }
    }
    wrong
}

/// Describes what is wrong with the verdict on one step.
fn judge(story: &Story, feature: &Feature, step: &Step, base: &str, head: &str) -> Option<String> {
    let started = Instant::now();
    let arguments =
        ["judge", &step.phase, "--base", base, "--head", head, "--brief", &feature.brief, "--json"];
    let mut command = story.command(env!("CARGO_BIN_EXE_redgreen"));
    let said = ProgramOutput::of(&arguments.join(" "), &command.args(arguments).output().unwrap());
    let (verdict, codes, why) = match serde_json::from_str::<serde_json::Value>(&said.stdout) {
        Ok(said) => {
            let verdict = said["verdict"].as_str().unwrap_or_default().to_owned();
            (verdict, said["reasons"].to_string(), format!("{said:#}"))
        }
        Err(_) => ("error".to_owned(), String::new(), format!("{}\n{}", said.stdout, said.stderr)),
    };
    #[expect(clippy::print_stderr, reason = "how long each step takes is worth knowing")]
    {
        eprintln!("{verdict} {:.1} s: {}", started.elapsed().as_secs_f64(), step.phase);
    }
    let right = match &step.stopped {
        None => verdict == "accepted",
        Some((wanted, code)) => {
            let any = wanted == "stopped" && matches!(verdict.as_str(), "refused" | "undecided");
            (*wanted == verdict || any) && codes.contains(&format!("\"code\":\"{code}"))
        }
    };
    (!right).then(|| format!("{}: {why}", step.phase))
}

fn apply(root: &Path, edits: &[Edit]) {
    for edit in edits {
        let path = root.join(&edit.path);
        let known =
            || fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", edit.path));
        let text = match (edit.verb.as_str(), &edit.new) {
            ("write", None) => whole(&edit.text),
            ("append", None) => format!("{}\n{}\n", known(), edit.text.trim_end()),
            ("edit", Some(new)) => {
                let (text, old) = (known(), whole(&edit.text));
                assert_eq!(text.matches(&old).count(), 1, "{} holds not once:\n{old}", edit.path);
                text.replace(&old, &whole(new))
            }
            ("delete", None) => {
                fs::remove_file(&path).unwrap_or_else(|error| panic!("{}: {error}", edit.path));
                continue;
            }
            ("move", None) => {
                let (from, to) = edit.path.split_once(' ').unwrap();
                fs::create_dir_all(root.join(to).parent().unwrap()).unwrap();
                fs::rename(root.join(from), root.join(to)).unwrap();
                continue;
            }
            (verb, _) => panic!("{verb} {} is not complete", edit.path),
        };
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
}

/// The lines without leading and trailing blank ones.
fn whole(text: &str) -> String {
    let lines = text.trim_matches('\n');
    if lines.is_empty() { String::new() } else { format!("{lines}\n") }
}
