//! The same steps squashed into one commit, for `redgreen verify`, which sees only the result: it
//! proves honest features, and does not prove cheats.

use super::{Feature, Step, all_right, apply, folder, is_there, read, stage};
use crate::story::{ProgramOutput, Story};

/// The features that run every time, by project and number. The others run with
/// `--include-ignored`.
const USUAL: [(&str, usize); 3] =
    [("cheats/python/kit", 1), ("cheats/node/kit", 1), ("honest/python/plain", 0)];

/// Projects whose first feature is provable. In the others the base has no tests, or tests are
/// skipped.
const HONEST: [&str; 7] = [
    "honest/python/corners",
    "honest/python/fixtures",
    "honest/python/ledger",
    "honest/python/parcel",
    "honest/python/plain",
    "honest/python/prepared",
    "honest/python/state",
];

/// Every cheat runs, and the first feature of these projects.
pub(super) fn is_played(file: &str, number: usize) -> bool {
    file.starts_with("cheats/") || number == 0 && HONEST.contains(&file)
}

pub(super) fn is_usual(file: &str, number: usize) -> bool {
    USUAL.contains(&(file, number))
}

pub(super) fn is_judged_right(file: &str, feature: &str) {
    if is_there(file) {
        let project = read(&folder().join(format!("{file}.steps")));
        let story = stage(file, &project, feature);
        let feature = project.feature(feature);
        let mut wrong = cheats(&story, feature);
        if file.starts_with("honest/") {
            wrong.extend(whole(&story, feature));
        }
        all_right(&wrong);
    }
}

/// Squashes each cheat with the accepted steps before it. A cheating REFACTOR gets a commit range
/// of its own, because a range that also contains the feature does not show the earlier behavior.
fn cheats(story: &Story, feature: &Feature) -> Vec<String> {
    let mut wrong = Vec::new();
    let (mut base, mut accepted) = (story.git("rev-parse HEAD"), Vec::<&Step>::new());
    for step in feature.steps.iter().filter(|step| !step.is_unseen) {
        let is_own = matches!(step.phase.as_str(), "refactor" | "commit");
        if is_own && !accepted.is_empty() {
            base = squashed(story, &base, &accepted, "accepted before");
            accepted.clear();
        }
        accepted.push(step);
        if let Some((_, code)) = &step.stopped {
            let head = squashed(story, &base, &accepted, "a squashed cheat");
            accepted.pop();
            let said = verify(story, &base, &head);
            if !matches!(said.code, Some(1 | 3)) {
                wrong.push(format!("{} {code}: {}", step.phase, said.stdout));
            }
        } else if step.phase == "commit" {
            base = squashed(story, &base, &accepted, "not judged");
            accepted.clear();
        }
    }
    wrong
}

/// Squashes an honest feature into one commit and verifies it.
fn whole(story: &Story, feature: &Feature) -> Option<String> {
    let base = story.git("rev-parse main");
    let accepted: Vec<&Step> = feature.steps.iter().filter(|step| step.stopped.is_none()).collect();
    let head = squashed(story, &base, &accepted, "the feature");
    let said = verify(story, &base, &head);
    (said.code != Some(0)).then_some(said.stdout)
}

fn squashed(story: &Story, base: &str, steps: &[&Step], message: &str) -> String {
    story.git(&format!("checkout -q -f --detach {base}"));
    story.git("clean -fdq");
    steps.iter().for_each(|step| apply(&story.root, &step.edits));
    story.commit(message)
}

fn verify(story: &Story, base: &str, head: &str) -> ProgramOutput {
    story.redgreen(&format!("verify {base}..{head} --json"))
}
