//! Findings for the formats that mark lines.

use std::collections::BTreeMap;

use super::{Outcome, Proof, told};
use crate::proof::{Class, HunkProof, MutantResult, PlaceStatus, TestProof, place};
use crate::syntax::of_words;
use crate::verdict::{Code, Reason};

/// The severity of a finding.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Level {
    /// It refutes the range.
    Error,
    /// Why the result is unknown.
    Warning,
    /// For information only.
    Note,
}

#[derive(Clone, Debug)]
pub(super) struct Finding {
    pub(super) code: Code,
    pub(super) level: Level,
    /// On one line, shortened.
    pub(super) sentence: String,
    pub(super) test: Option<String>,
    pub(super) place: Option<Place>,
    /// The same for the same finding in a later range, even if lines moved. Unique within this
    /// proof.
    pub(super) fingerprint: String,
}

/// Lines of a file in the repository, starting at 1.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Place {
    pub(super) file: String,
    pub(super) first: u32,
    pub(super) last: u32,
}

impl Place {
    /// `None` if the file is outside the repository.
    fn new(file: &str, first: Option<u32>, last: Option<u32>) -> Option<Self> {
        let file = file.strip_prefix("./").unwrap_or(file);
        let is_outside = file.is_empty()
            || file.starts_with(['/', '\\'])
            || file.get(1..3).is_some_and(|drive| drive == ":\\" || drive == ":/")
            || file.split('/').any(|part| part == "..");
        let first = first.unwrap_or(1).max(1);
        (!is_outside).then(|| Self {
            file: file.to_owned(),
            first,
            last: last.unwrap_or(first).max(first),
        })
    }
}

/// Findings that refute the range first, then the others.
pub(super) fn findings(proof: &Proof) -> Vec<Finding> {
    let level = match proof.outcome {
        Outcome::Proven => Level::Note,
        Outcome::Refuted => Level::Error,
        Outcome::Inconclusive => Level::Warning,
    };
    let is_about = |test: &TestProof| {
        let is_its = |reason: &&Reason| reason.test.as_deref() == Some(test.id.as_str());
        proof.reasons.iter().any(|reason| reason.code == code_of(test.class) && is_its(&reason))
    };
    let mut all: Vec<Finding> = proof
        .reasons
        .iter()
        .filter(|reason| !is_rest(reason))
        .map(|reason| of_reason(proof, level, reason))
        .collect();
    let held = proof.tests.iter().filter(|test| is_held(proof, test) && !is_about(test));
    all.extend(held.map(|test| of_test(level, test)));
    let unnoticed = proof.code.iter().filter(|hunk| hunk.standing == PlaceStatus::NoTest);
    let is_known = |hunk: &HunkProof| {
        let is_it = |reason: &Reason| {
            reason.file.as_ref() == Some(&hunk.file) && reason.line == Some(hunk.first)
        };
        proof.reasons.iter().any(|reason| reason.code == Code::VerifyNoTest && is_it(reason))
    };
    let hunk_level = if holds_untested(proof) { level } else { Level::Note };
    all.extend(unnoticed.filter(|hunk| !is_known(hunk)).map(|hunk| of_hunk(hunk_level, hunk)));
    all.sort_by_key(|finding| finding.level);
    mark(&mut all);
    all
}

/// Where to show a finding in formats that require a place: its own place, or the first place of
/// the range.
pub(super) fn anchor(proof: &Proof, finding: &Finding) -> Option<Place> {
    let hunk = || {
        proof.code.iter().find_map(|hunk| Place::new(&hunk.file, Some(hunk.first), Some(hunk.last)))
    };
    let test =
        || proof.tests.iter().find_map(|test| Place::new(test.file.as_deref()?, test.line, None));
    finding.place.clone().or_else(hunk).or_else(test)
}

/// Whether a test's class refutes the range.
pub(super) fn is_held(proof: &Proof, test: &TestProof) -> bool {
    let policy = &proof.evidence.policy;
    proof.outcome == Outcome::Refuted
        && proof.evidence.inconclusive.is_none()
        && !policy.allows(test.class)
        && policy.exemption(test.file.as_deref(), Some(&test.id)).is_none()
}

/// Whether places without a test refute the range: all do, or none.
pub(super) fn holds_untested(proof: &Proof) -> bool {
    proof.reasons.iter().any(|reason| reason.code == Code::VerifyNoTest)
}

/// Whether it only counts reasons that `Proof` left out. They are listed here one by one.
fn is_rest(reason: &Reason) -> bool {
    let is_counted = matches!(
        reason.code,
        Code::VerifyDoesNotDiscriminate
            | Code::VerifySkipped
            | Code::VerifyFails
            | Code::VerifyNoTest
    );
    let has_place = reason.test.is_some() || reason.file.is_some();
    is_counted
        && !has_place
        && reason.sentence.starts_with("and ")
        && reason.sentence.ends_with(" more")
}

fn code_of(class: Class) -> Code {
    match class {
        Class::Skipped => Code::VerifySkipped,
        Class::Fails => Code::VerifyFails,
        Class::Proven
        | Class::ProvenByMutant
        | Class::Characterises
        | Class::DoesNotDiscriminate
        | Class::NotTried => Code::VerifyDoesNotDiscriminate,
    }
}

fn of_reason(proof: &Proof, level: Level, reason: &Reason) -> Finding {
    let own = || Place::new(reason.file.as_deref()?, reason.line, None);
    let of_test = || {
        let test = proof.tests.iter().find(|test| Some(&test.id) == reason.test.as_ref())?;
        Place::new(test.file.as_deref()?, test.line, None)
    };
    let hunk = || if reason.code == Code::VerifyKillRate { survivor(proof) } else { None };
    let whole = |place: Place| {
        // A place without a test also has a last line.
        let is_it = |hunk: &&HunkProof| hunk.file == place.file && hunk.first == place.first;
        let last =
            proof.code.iter().find(is_it).map_or(place.last, |hunk| hunk.last.max(place.last));
        if reason.code == Code::VerifyNoTest { Place { last, ..place } } else { place }
    };
    Finding {
        code: reason.code,
        level,
        sentence: told(reason),
        test: reason.test.clone(),
        place: own().map(whole).or_else(of_test).or_else(hunk),
        fingerprint: String::new(),
    }
}

/// The first place with a surviving mutant.
fn survivor(proof: &Proof) -> Option<Place> {
    let mutants = proof.evidence.mutants.iter();
    let at = mutants
        .filter(|mutant| mutant.killed == MutantResult::ByNone)
        .find_map(|mutant| mutant.hunk)?;
    let hunk = proof.code.get(at)?;
    Place::new(&hunk.file, Some(hunk.first), Some(hunk.last))
}

fn of_test(level: Level, test: &TestProof) -> Finding {
    Finding {
        code: code_of(test.class),
        level,
        sentence: super::sentence(&format!("{}: {}", test.id, test.why)),
        test: Some(test.id.clone()),
        place: test.file.as_deref().and_then(|file| Place::new(file, test.line, None)),
        fingerprint: String::new(),
    }
}

fn of_hunk(level: Level, hunk: &HunkProof) -> Finding {
    Finding {
        code: Code::VerifyNoTest,
        level,
        sentence: super::sentence(&format!("no test kills a mutant in {}", place(hunk))),
        test: None,
        place: Place::new(&hunk.file, Some(hunk.first), Some(hunk.last)),
        fingerprint: String::new(),
    }
}

/// Lines move with every change above them, so the fingerprint does not contain them. Findings that
/// are otherwise equal are numbered.
fn mark(findings: &mut [Finding]) {
    let mut known: BTreeMap<u64, usize> = BTreeMap::new();
    for finding in findings {
        let file = finding.place.as_ref().map_or("", |place| place.file.as_str());
        let test = finding.test.as_deref().unwrap_or_default();
        let words = if file.is_empty() && test.is_empty() { finding.sentence.as_str() } else { "" };
        let hash = of_words(&[finding.code.as_str(), file, test, words]);
        let number = known.entry(hash).or_insert(0);
        *number += 1;
        finding.fingerprint = format!("{hash:016x}:{number}");
    }
}
