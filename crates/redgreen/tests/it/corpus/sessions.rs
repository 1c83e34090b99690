//! The same steps in a session: they are made in the working tree, and their phase is not named. A
//! session gives the verdict of `redgreen judge`, or decides that a step belongs to another phase.

use serde_json::Value;

use super::{Feature, Step, all_right, apply, folder, is_there, read, stage};
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
