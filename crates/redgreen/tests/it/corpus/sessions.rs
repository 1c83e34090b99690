//! The same steps in a session: they are made in the working tree, and their phase is not named. A
//! session gives the verdict of `redgreen judge`, or decides that a step belongs to another phase.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use redgreen::config;
use redgreen::runner::suite;
use redgreen_core::framework::Framework;
use redgreen_core::session::Stage;
use redgreen_core::session::rules::{self, FileChange, NextPhase, affected_folder, objections};
use serde_json::Value;

use super::{Feature, Project, Step, all_right, apply, folder, is_there, read, sorted, stage};
use crate::story::{ProgramOutput, Story};

/// Every cheat runs, and the first honest feature of each project.
pub(super) fn is_played(file: &str, number: usize) -> bool {
    file.starts_with("cheats/") || number == 0
}

/// The first feature of these projects runs without `--include-ignored`.
const USUAL: [&str; 3] = ["cheats/python/kit", "cheats/node/kit", "honest/python/plain"];

pub(super) fn is_usual(file: &str, number: usize) -> bool {
    number == 0 && USUAL.contains(&file)
}

pub(super) fn is_judged_right(file: &str, feature: &str) {
    if is_there(file) {
        let project = read(&folder().join(format!("{file}.steps")));
        let story = stage(file, &project, feature);
        all_right(&play(&story, project.feature(feature)));
    }
}

fn play(story: &Story, feature: &Feature) -> Vec<String> {
    begin(story, feature);
    let mut wrong = Vec::new();
    for step in &feature.steps {
        apply(&story.root, &step.edits);
        if step.phase == "commit" {
            // This step is not judged, so a new session starts after it.
            story.redgreen("session end --unproven").exits(0);
            story.commit("not judged");
            begin(story, feature);
            continue;
        }
        let index = story.git("ls-files --stage");
        let said = story.redgreen("session check --json");
        assert_eq!(story.git("ls-files --stage"), index, "the index was touched");
        wrong.extend(mistake(step, &said));
        if step.stopped.is_some() {
            story.git("checkout -q -f .");
            story.git("clean -fdq");
        } else {
            // Users may commit by hand: a session does not depend on commits.
            story.commit(&step.phase);
        }
    }
    wrong
}

fn begin(story: &Story, feature: &Feature) {
    let mut command = story.command(env!("CARGO_BIN_EXE_redgreen"));
    ProgramOutput::of(
        "session start",
        &command.args(["session", "start", &feature.brief]).output().unwrap(),
    )
    .exits(0);
}

/// Describes what is wrong with the verdict on one step.
fn mistake(step: &Step, said: &ProgramOutput) -> Option<String> {
    let json: Value = serde_json::from_str(&said.stdout).unwrap_or_default();
    let text = |key: &str| json[key].as_str().unwrap_or_default().to_lowercase();
    let (phase, verdict) = (text("phase"), text("verdict"));
    let right = match &step.stopped {
        None => (phase.as_str(), verdict.as_str()) == (step.phase.as_str(), "accepted"),
        Some((wanted, code)) if phase == step.phase => {
            let is_stopped = matches!(verdict.as_str(), "refused" | "undecided");
            let has_code = json["reasons"].to_string().contains(&format!("\"code\":\"{code}"));
            is_stopped && (wanted == "stopped" || *wanted == verdict) && has_code
        }
        // The session chose another phase. It must not accept the cheat as RED or GREEN.
        Some(_) => {
            verdict != "accepted"
                || (phase == "refactor" && json["session"]["stage"]["name"] == "open")
        }
    };
    (!right).then(|| format!("{}: {json:#}\n{}", step.phase, said.stderr))
}

/// A hook must not stop an honest agent: it may object only to what the judge refuses.
#[test]
fn hooks_object_to_no_honest_step() {
    let languages = sorted(&folder().join("honest"));
    let projects: Vec<_> = languages.iter().flat_map(|language| sorted(language)).collect();
    let wrong: Vec<String> = projects
        .iter()
        .flat_map(|path| objections_in(&path.display().to_string(), &read(path)))
        .collect();
    assert!(projects.len() > 20, "{projects:?}");
    all_right(&wrong);
}

/// The objections to the accepted steps of a project, one edit at a time.
fn objections_in(name: &str, project: &Project) -> Vec<String> {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path();
    apply(root, &project.base);
    let mut wrong = Vec::new();
    for (feature, step) in project
        .features
        .iter()
        .flat_map(|feature| feature.steps.iter().map(move |step| (feature, step)))
    {
        // What `session start` would find.
        let found = suite(root, &config::Test::default());
        let names: Vec<String> = found
            .iter()
            .flat_map(|suite| suite.frameworks())
            .map(|row| row.name.to_owned())
            .collect();
        let before = files(root);
        apply(root, &step.edits);
        let after = files(root);
        if step.stopped.is_some() {
            write_back(root, &before, &after);
            continue;
        }
        let stage = match step.phase.as_str() {
            "red" | "refactor" => Stage::Open,
            "green" => Stage::Green { targets: Vec::new() },
            _ => continue,
        };
        for sentence in against(&stage, &before, &after, &rules::frameworks(&names)) {
            wrong.push(format!("{name}, {}, {}: {sentence}", feature.name, step.phase));
        }
    }
    wrong
}

type Files = BTreeMap<String, String>;

fn against(stage: &Stage, before: &Files, after: &Files, frameworks: &[&Framework]) -> Vec<String> {
    let paths: BTreeSet<&String> = before.keys().chain(after.keys()).collect();
    let mut all = Vec::new();
    for path in paths.into_iter().filter(|path| before.get(*path) != after.get(*path)) {
        let has_files = affected_folder(path).is_some_and(|folder| {
            before.keys().any(|old| folder.is_empty() || old.starts_with(&format!("{folder}/")))
        });
        let new = after.get(path).map_or(NextPhase::Gone, |text| NextPhase::Text(text));
        let change = FileChange { path, old: before.get(path).map(String::as_str), new };
        let reasons = objections(stage, change, frameworks, has_files);
        all.extend(reasons.into_iter().map(|reason| reason.sentence));
    }
    all
}

fn files(root: &Path) -> Files {
    let mut all = Files::new();
    let mut folders = vec![root.to_owned()];
    while let Some(folder) = folders.pop() {
        for path in sorted(&folder) {
            if path.is_dir() {
                folders.push(path);
            } else {
                let name = path.strip_prefix(root).unwrap().display().to_string();
                all.insert(name, fs::read_to_string(&path).unwrap());
            }
        }
    }
    all
}

fn write_back(root: &Path, before: &Files, after: &Files) {
    for path in after.keys() {
        fs::remove_file(root.join(path)).unwrap();
    }
    for (path, text) in before {
        fs::create_dir_all(root.join(path).parent().unwrap()).unwrap();
        fs::write(root.join(path), text).unwrap();
    }
}
