//! Formats of a proof: terminal, GitHub, GitLab, SARIF, JUnit, HTML. Nothing is decided here.
//!
//! Test names, messages and paths are untrusted. Each is shortened, put on one line by
//! `crate::text`, and then escaped for its format.

mod annotations;
mod code_quality;
mod finding;
mod html;
mod junit;
mod markdown;
mod sarif;
mod terminal;

use std::collections::BTreeMap;

use super::{
    Class, HunkProof, Outcome, Pair, PlaceStatus, Proof, StepVerdict, TestProof, count, place,
};
use crate::text::{on_one_line, without_colours};
use crate::verdict::{Decision, Reason};

pub use annotations::annotations;
pub use code_quality::code_quality;
pub use html::html;
pub use junit::junit;
pub use markdown::markdown;
pub use sarif::sarif;
pub use terminal::text;

/// For a sentence, which may contain a test message.
const SENTENCE_CHARS_MAX: usize = 300;
/// For the name of a test or file.
const NAME_CHARS_MAX: usize = 200;
/// The length of a short commit id.
const COMMIT_CHARS: usize = 10;

fn word(outcome: Outcome) -> &'static str {
    match outcome {
        Outcome::Proven => "proven",
        Outcome::Refuted => "refuted",
        Outcome::Inconclusive => "inconclusive",
    }
}

fn decided(decision: Decision) -> &'static str {
    match decision {
        Decision::Accepted => "accepted",
        Decision::Refused => "refused",
        Decision::Undecided => "undecided",
    }
}

/// Untrusted text on one line, shortened.
fn line(text: &str, chars_max: usize) -> String {
    let plain = without_colours(text);
    let plain = plain.trim();
    let kept: String = plain.chars().take(chars_max).collect();
    let more = if plain.chars().nth(chars_max).is_some() { "…" } else { "" };
    format!("{}{more}", on_one_line(&kept))
}

fn sentence(text: &str) -> String {
    line(text, SENTENCE_CHARS_MAX)
}

fn name(text: &str) -> String {
    line(text, NAME_CHARS_MAX)
}

fn commit(text: &str) -> String {
    line(text.get(..COMMIT_CHARS).unwrap_or(text), COMMIT_CHARS)
}

/// The commits of the range, if they are known.
fn range(proof: &Proof) -> Option<String> {
    let (base, head) = (&proof.evidence.base, &proof.evidence.head);
    let is_known = !base.is_empty() || !head.is_empty();
    is_known.then(|| format!("{}..{}", commit(base), commit(head)))
}

/// `file:line`, as far as it is known.
fn place_of(file: Option<&str>, number: Option<u32>) -> Option<String> {
    let file = name(file?);
    let number = number.filter(|number| *number > 0);
    Some(number.map_or_else(|| file.clone(), |number| format!("{file}:{number}")))
}

/// The place of a hunk, with the file name on one line.
fn place_of_hunk(hunk: &HunkProof) -> String {
    name(&place(hunk))
}

/// The sentence of a reason, or the meaning of its code.
fn told(reason: &Reason) -> String {
    let own = sentence(&reason.sentence);
    if own.is_empty() { sentence(&Reason::plain(reason.code).sentence) } else { own }
}

/// Tests by class, problems first.
fn by_class(proof: &Proof) -> Vec<(Class, Vec<&TestProof>)> {
    let mut groups: BTreeMap<u8, (Class, Vec<&TestProof>)> = BTreeMap::new();
    for test in &proof.tests {
        groups.entry(rank(test.class)).or_insert_with(|| (test.class, Vec::new())).1.push(test);
    }
    groups.into_values().collect()
}

fn rank(class: Class) -> u8 {
    match class {
        Class::Fails => 0,
        Class::DoesNotDiscriminate => 1,
        Class::Skipped => 2,
        Class::NotTried => 3,
        Class::Proven => 4,
        Class::ProvenByMutant => 5,
        Class::Characterises => 6,
    }
}

/// Changed places by status, problems first.
fn by_standing(proof: &Proof) -> Vec<(PlaceStatus, Vec<&HunkProof>)> {
    let rank = |standing: PlaceStatus| match standing {
        PlaceStatus::NoTest => 0_u8,
        PlaceStatus::NotTried => 1,
        PlaceStatus::Tested => 2,
        PlaceStatus::Exempt => 3,
    };
    let mut groups: BTreeMap<u8, (PlaceStatus, Vec<&HunkProof>)> = BTreeMap::new();
    for hunk in &proof.code {
        groups
            .entry(rank(hunk.standing))
            .or_insert_with(|| (hunk.standing, Vec::new()))
            .1
            .push(hunk);
    }
    groups.into_values().collect()
}

/// `3 proven, 1 skipped`.
fn tests_counted(proof: &Proof) -> String {
    let groups = by_class(proof);
    groups
        .iter()
        .map(|(class, tests)| format!("{} {}", tests.len(), class.as_str()))
        .collect::<Vec<_>>()
        .join(", ")
}

/// `2 tested, 1 no test`.
fn code_counted(proof: &Proof) -> String {
    let groups = by_standing(proof);
    let told = |(standing, hunks): &(PlaceStatus, Vec<&HunkProof>)| {
        format!("{} {}", hunks.len(), standing.as_str())
    };
    groups.iter().map(told).collect::<Vec<_>>().join(", ")
}

/// `2 of 3 mutants killed`. `None` if none was tried.
fn killed(hunk: &HunkProof) -> Option<String> {
    let tried = hunk.killed + hunk.survived;
    (tried > 0).then(|| format!("{} of {} killed", hunk.killed, count(tried, "mutant")))
}

/// `pytest: the tests of the head on the code of the base: accepted`.
fn step(judged: &StepVerdict) -> String {
    format!("{}: {} {}", sentence(&judged.what), judged.phase, decided(judged.decision))
}

fn pair(pair: &Pair) -> String {
    let steps = pair.steps.iter().map(|step| format!("{} {}", step.phase, decided(step.decision)));
    let steps: Vec<String> = steps.collect();
    let steps = if steps.is_empty() { "not judged".to_owned() } else { steps.join(", ") };
    format!("{} and {}: {steps}", commit(&pair.test), commit(&pair.code))
}

/// The notes of the judge, each once.
fn notes(proof: &Proof) -> Vec<String> {
    let pairs = proof.evidence.commits.iter().flat_map(|pair| &pair.steps);
    let mut notes: Vec<String> = Vec::new();
    for note in proof.evidence.steps.iter().chain(pairs).flat_map(|step| &step.notes) {
        let note = sentence(note);
        if !note.is_empty() && !notes.contains(&note) {
            notes.push(note);
        }
    }
    notes
}

/// The last line if nothing was left out.
fn nothing_left_out() -> &'static str {
    "nothing"
}

fn seconds(ms: u64) -> String {
    format!("{}.{} s", ms / 1000, ms % 1000 / 100)
}

/// The duration. `None` if nothing ran.
fn time(proof: &Proof) -> Option<String> {
    let (tests, own) = (proof.evidence.tests_ms, proof.evidence.own_ms);
    (tests.saturating_add(own) > 0)
        .then(|| format!("{} of tests, {} of redgreen", seconds(tests), seconds(own)))
}

#[cfg(test)]
mod tests;
