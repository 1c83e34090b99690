//! Whether the tests of a range of commits prove its code.
//!
//! The range is split into tests and code (`parts`). A third tree is the base with the tests of the
//! head. The judge applies its usual rules: the step from the base to the third tree must be a RED;
//! the step from there to the head must be a GREEN, or a REFACTOR if nothing fails. Then redgreen
//! reverts the changed lines and inserts mutants (`mutants`) to see which tests fail.
//!
//! [`Evidence`] is the observation, and [`conclude`] says what it proves. The only rules here are
//! those of the policy.

pub mod hints;
mod merge;
pub mod mutants;
mod obsolete;
pub mod parts;
pub mod policy;
pub mod range;
mod test_evidence;
pub mod view;

use serde::{Deserialize, Serialize};

use crate::phase::JudgedPhase;
use crate::verdict::{Code, Decision, ExperimentRecord, Reason};

pub use merge::{Shard, merge};
pub use mutants::{Hunk, Mutant, MutantResult};
pub use obsolete::without_obsolete;
pub use policy::Policy;
pub use test_evidence::{BaseResult, is_asked_for, tests_seen, unseen};

/// The maximum number of reasons of one kind. The rest is counted.
const REASONS_MAX: usize = 12;
/// The maximum number of tests to list for a hunk.
const NAMED_MAX: usize = 5;

/// The observations about a range.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Evidence {
    /// Commits.
    pub base: String,
    pub head: String,
    /// The verdicts of the judge on the parts of the range, in order.
    pub steps: Vec<StepVerdict>,
    /// New or changed tests.
    pub tests: Vec<TestEvidence>,
    /// Removed or replaced tests.
    pub removed: Vec<String>,
    /// Changed places in the code.
    pub hunks: Vec<Hunk>,
    pub mutants: Vec<Mutant>,
    /// Pairs of commits whose messages say that they are RED and GREEN.
    pub commits: Vec<Pair>,
    pub policy: Policy,
    /// Exceptions that the policy allows.
    pub exempted: Vec<Exception>,
    /// What was not checked, and why.
    pub not_verified: Vec<String>,
    /// Why there is no result at all.
    pub inconclusive: Option<Reason>,
    pub shard: Option<Shard>,
    /// How the tests ran, and in which sandbox.
    pub ran: String,
    pub fence: String,
    /// Milliseconds in tests, and in redgreen itself.
    pub tests_ms: u64,
    pub own_ms: u64,
}

/// A verdict on a part of the range.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct StepVerdict {
    pub phase: JudgedPhase,
    /// A description of the judged part.
    pub what: String,
    pub decision: Decision,
    pub reasons: Vec<Reason>,
    #[serde(default)]
    pub notes: Vec<String>,
    #[serde(default)]
    pub experiments: Vec<ExperimentRecord>,
}

/// Two commits that were judged as RED and GREEN.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Pair {
    pub test: String,
    pub code: String,
    pub steps: Vec<StepVerdict>,
}

/// A test that the range adds or changes, and its results.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct TestEvidence {
    pub id: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub line: Option<u32>,
    pub is_new: bool,
    /// With the code of the base.
    pub without: BaseResult,
    /// With the code of the head.
    pub passes: bool,
    pub is_skipped: bool,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Exception {
    /// The problem that the policy exempts.
    pub what: String,
    /// The reason in the policy.
    pub reason: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Outcome {
    Proven,
    Refuted,
    /// redgreen could not decide.
    Inconclusive,
}

/// What a new or changed test proves.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Class {
    /// Fails without the change because of its assertion, and passes with it.
    Proven,
    /// Fails without the change because something is missing, and kills a mutant in it.
    ProvenByMutant,
    /// Passes without the change, and kills a mutant in the code.
    Characterises,
    /// Detects nothing that was tried.
    DoesNotDiscriminate,
    Skipped,
    /// Does not pass with the change.
    Fails,
    /// No mutant could be tried.
    NotTried,
}

impl Class {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Proven => "proven",
            Self::ProvenByMutant => "proven by mutant",
            Self::Characterises => "characterises",
            Self::DoesNotDiscriminate => "does not discriminate",
            Self::Skipped => "skipped",
            Self::Fails => "fails",
            Self::NotTried => "not tried",
        }
    }
}

/// The status of a changed place.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum PlaceStatus {
    /// A test fails when the change is reverted, or when a mutant is inserted.
    Tested,
    /// No test fails.
    NoTest,
    NotTried,
    /// The policy requires no test.
    Exempt,
}

impl PlaceStatus {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Tested => "tested",
            Self::NoTest => "no test",
            Self::NotTried => "not tried",
            Self::Exempt => "exempt",
        }
    }
}

/// The result: the published JSON, version 1.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Proof {
    pub version: u32,
    pub outcome: Outcome,
    /// The problems of the range, or why the result is unknown.
    pub reasons: Vec<Reason>,
    pub tests: Vec<TestProof>,
    pub code: Vec<HunkProof>,
    pub exempted: Vec<Exception>,
    pub not_verified: Vec<String>,
    pub evidence: Evidence,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct TestProof {
    pub id: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub line: Option<u32>,
    pub class: Class,
    /// One sentence.
    pub why: String,
    /// The number of mutants that it killed.
    pub killed: usize,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct HunkProof {
    pub file: String,
    pub first: u32,
    pub last: u32,
    pub standing: PlaceStatus,
    /// Some of the tests that detect it.
    pub tests: Vec<String>,
    pub killed: usize,
    pub survived: usize,
}

impl Proof {
    /// How many mutants were tried, and how many were killed.
    pub fn kill_rate(&self) -> (usize, usize) {
        kill_rate(&self.evidence.mutants)
    }

    /// The result in one sentence.
    pub fn sentence(&self) -> String {
        let (tests, hunks) = (self.tests.len(), self.code.len());
        let changed = match (tests, hunks) {
            // If the judge refuses, tests and code are not examined further, and some judged files
            // are neither.
            (0, 0) if !self.evidence.steps.is_empty() => String::new(),
            (0, 0) => "no test and no code changed: ".to_owned(),
            (0, _) => format!("{} changed, but no test: ", places(hunks)),
            (_, 0) => format!("{} changed, but no code: ", count(tests, "test")),
            _ => format!("{} and {} changed: ", count(tests, "test"), places(hunks)),
        };
        match self.outcome {
            Outcome::Proven
                if self.tests.iter().any(|test| test.class <= Class::ProvenByMutant) =>
            {
                format!(
                    "{changed}the tests fail without the change, pass with it, and nothing else broke"
                )
            }
            Outcome::Proven if hunks > 0 => {
                format!("{changed}the tests check what they checked before")
            }
            Outcome::Proven => format!("{changed}nothing broke"),
            Outcome::Refuted => format!("{changed}the tests do not prove the change"),
            Outcome::Inconclusive => "cannot tell whether the tests prove the change".to_owned(),
        }
    }
}

fn kill_rate(mutants: &[Mutant]) -> (usize, usize) {
    let counted = mutants.iter().filter(|mutant| mutant.hunk.is_some());
    counted.fold((0, 0), |(killed, tried), mutant| match mutant.killed {
        MutantResult::By(_) => (killed + 1, tried + 1),
        MutantResult::ByNone if mutant.has_survived() => (killed, tried + 1),
        MutantResult::ByNone | MutantResult::NotTried | MutantResult::DoesNotBuild => {
            (killed, tried)
        }
    })
}

fn places(count_of: usize) -> String {
    if count_of == 1 {
        "1 place in the code".to_owned()
    } else {
        format!("{count_of} places in the code")
    }
}

fn count(number: usize, what: &str) -> String {
    if number == 1 { format!("1 {what}") } else { format!("{number} {what}s") }
}

/// Decides what the evidence proves.
pub fn conclude(evidence: Evidence) -> Proof {
    let tests: Vec<TestProof> =
        evidence.tests.iter().map(|test| test_proof(test, &evidence.mutants)).collect();
    let code: Vec<HunkProof> =
        (0..).zip(&evidence.hunks).map(|(at, hunk)| hunk_proof(at, hunk, &evidence)).collect();
    let mut exempted = evidence.exempted.clone();
    let mut against = Vec::new();
    let steps = evidence.steps.iter().chain(evidence.commits.iter().flat_map(|pair| &pair.steps));
    let of = |decision: Decision| steps.clone().filter(move |step| step.decision == decision);
    against.extend(of(Decision::Refused).flat_map(|step| step.reasons.clone()));
    let mut open: Vec<Reason> = evidence.inconclusive.iter().cloned().collect();
    open.extend(of(Decision::Undecided).flat_map(|step| step.reasons.clone()));
    if evidence.inconclusive.is_none() {
        against.extend(classes(&evidence.policy, &tests, &mut exempted));
        against.extend(untested(&evidence.policy, &code));
        against.extend(kills(&evidence));
    }
    let mut not_verified = evidence.not_verified.clone();
    not_verified.extend(not_reached(&evidence));
    not_verified.extend(left_out(&tests, &code, &evidence.mutants));
    let (outcome, reasons) = match (against.is_empty(), open.is_empty()) {
        (false, _) => (Outcome::Refuted, against),
        (true, false) => (Outcome::Inconclusive, open),
        (true, true) => (Outcome::Proven, Vec::new()),
    };
    Proof {
        version: 1,
        outcome,
        reasons: bounded(reasons),
        tests,
        code,
        exempted,
        not_verified,
        evidence,
    }
}

/// Each reason once, the first ones of each code.
fn bounded(reasons: Vec<Reason>) -> Vec<Reason> {
    let mut kept: Vec<Reason> = Vec::new();
    let mut more: Vec<(Code, usize)> = Vec::new();
    for reason in reasons {
        let same = kept.iter().filter(|known| known.code == reason.code).count();
        if kept.contains(&reason) {
            continue;
        }
        if same < REASONS_MAX {
            kept.push(reason);
        } else if let Some((_, number)) = more.iter_mut().find(|(code, _)| *code == reason.code) {
            *number += 1;
        } else {
            more.push((reason.code, 1));
        }
    }
    kept.extend(
        more.into_iter().map(|(code, number)| Reason::new(code, format!("and {number} more"))),
    );
    kept
}

fn test_proof(test: &TestEvidence, mutants: &[Mutant]) -> TestProof {
    let killed = |mutant: &&Mutant| matches!(&mutant.killed, MutantResult::By(tests) if tests.contains(&test.id));
    let kills: Vec<&Mutant> = mutants.iter().filter(killed).collect();
    let was_tried = mutants.iter().any(|mutant| mutant.was_tried_with(&test.id));
    let first = kills.first().map_or(String::new(), |mutant| mutant.what.clone());
    let (class, why) = match (&test.without, kills.is_empty()) {
        _ if test.is_skipped => (Class::Skipped, "is skipped, so it checks nothing".to_owned()),
        _ if !test.passes => (Class::Fails, "does not pass with the change".to_owned()),
        (BaseResult::Fails { message, .. }, is_idle)
            if test.without.is_asserted() || !is_idle || !was_tried =>
        {
            (Class::Proven, format!("without the change: {message}"))
        }
        (BaseResult::Missing { message }, false) => {
            (Class::ProvenByMutant, format!("without the change: {message}; it detects: {first}"))
        }
        (BaseResult::Passes, false) => {
            (Class::Characterises, format!("passes without the change; it detects: {first}"))
        }
        (BaseResult::Missing { message } | BaseResult::Fails { message, .. }, true)
            if was_tried =>
        {
            let why = format!("without the change: {message}; with the change, it kills no mutant");
            (Class::DoesNotDiscriminate, why)
        }
        (BaseResult::Passes, true) if was_tried => (
            Class::DoesNotDiscriminate,
            "passes without the change, and kills no mutant".to_owned(),
        ),
        (BaseResult::Missing { .. } | BaseResult::Passes | BaseResult::Fails { .. }, _) => {
            (Class::NotTried, "no mutant could be tried that the test should detect".to_owned())
        }
    };
    let (id, file) = (test.id.clone(), test.file.clone());
    TestProof { id, file, line: test.line, class, why, killed: kills.len() }
}

fn hunk_proof(at: usize, hunk: &Hunk, evidence: &Evidence) -> HunkProof {
    let of_hunk = evidence.mutants.iter().filter(|mutant| mutant.hunk == Some(at));
    let (mut tests, mut killed, mut survived) = (Vec::new(), 0, 0);
    for mutant in of_hunk {
        match &mutant.killed {
            MutantResult::By(by) => {
                killed += 1;
                tests.extend(
                    by.iter().filter(|test| !tests.contains(*test)).cloned().collect::<Vec<_>>(),
                );
            }
            MutantResult::ByNone if mutant.has_survived() => survived += 1,
            MutantResult::ByNone | MutantResult::NotTried | MutantResult::DoesNotBuild => {}
        }
    }
    tests.truncate(NAMED_MAX);
    let standing = match (killed, survived) {
        _ if evidence.policy.is_untested(&hunk.file) => PlaceStatus::Exempt,
        (0, 0) => PlaceStatus::NotTried,
        (0, _) => PlaceStatus::NoTest,
        _ => PlaceStatus::Tested,
    };
    HunkProof {
        file: hunk.file.clone(),
        first: hunk.first,
        last: hunk.last,
        standing,
        tests,
        killed,
        survived,
    }
}

/// Tests whose class the policy does not accept.
fn classes(policy: &Policy, tests: &[TestProof], exempted: &mut Vec<Exception>) -> Vec<Reason> {
    let mut reasons = Vec::new();
    for test in tests.iter().filter(|test| !policy.allows(test.class)) {
        let code = match test.class {
            Class::Skipped => Code::VerifySkipped,
            Class::Fails => Code::VerifyFails,
            Class::Proven
            | Class::ProvenByMutant
            | Class::Characterises
            | Class::DoesNotDiscriminate
            | Class::NotTried => Code::VerifyDoesNotDiscriminate,
        };
        let sentence = format!("{}: {}", test.id, test.why);
        match policy.exemption(test.file.as_deref(), Some(&test.id)) {
            Some(exemption) => {
                exempted.push(Exception { what: sentence, reason: exemption.reason.clone() });
            }
            None => {
                reasons.push(
                    Reason::new(code, sentence)
                        .test(&test.id)
                        .place(test.file.as_deref(), test.line),
                );
            }
        }
    }
    reasons
}

/// Changed code that no test detects, if the policy requires tests for every place.
fn untested(policy: &Policy, code: &[HunkProof]) -> Vec<Reason> {
    let missing =
        code.iter().filter(|hunk| policy.every_place && hunk.standing == PlaceStatus::NoTest);
    let tell = |hunk: &HunkProof| {
        let sentence = format!("no test kills a mutant in {}", place(hunk));
        Reason::new(Code::VerifyNoTest, sentence).place(Some(&hunk.file), Some(hunk.first))
    };
    missing.map(tell).collect()
}

fn place(hunk: &HunkProof) -> String {
    if hunk.first == hunk.last {
        format!("{}:{}", hunk.file, hunk.first)
    } else {
        format!("{}:{}-{}", hunk.file, hunk.first, hunk.last)
    }
}

fn kills(evidence: &Evidence) -> Option<Reason> {
    let (killed, tried) = kill_rate(&evidence.mutants);
    let percent = (killed * 100).checked_div(tried)?;
    let asked = usize::from(evidence.policy.min_kill);
    let sentence = format!(
        "{killed} of {tried} mutants were killed ({percent} %); the policy requires {asked} %"
    );
    (percent < asked).then(|| Reason::new(Code::VerifyKillRate, sentence))
}

/// Checks that did not run because of an earlier problem.
fn not_reached(evidence: &Evidence) -> Vec<String> {
    let mut told = Vec::new();
    if let Some(reason) = &evidence.inconclusive {
        told.push(format!("the rest of the range: {}", reason.sentence));
    }
    let is_refused = evidence.steps.iter().any(|step| step.decision == Decision::Refused);
    if is_refused && evidence.mutants.is_empty() {
        told.push(
            "single tests and changed places: not examined, because the judge refuses the range"
                .to_owned(),
        );
    }
    let open = evidence.steps.iter().filter(|step| step.decision == Decision::Undecided);
    told.extend(open.map(|step| format!("{}: the judge is undecided", step.what)));
    told
}

/// Observations that prove nothing.
fn left_out(tests: &[TestProof], code: &[HunkProof], mutants: &[Mutant]) -> Vec<String> {
    let mut told = Vec::new();
    let untried = (0..).zip(code).filter(|(_, hunk)| hunk.standing == PlaceStatus::NotTried);
    told.extend(untried.map(|(at, hunk)| {
        let mut of_hunk = mutants.iter().filter(|mutant| mutant.hunk == Some(at));
        let why = match of_hunk.any(Mutant::is_unsettled) {
            true => "no changed test kills a mutant; the other tests were not tried",
            false => "no mutant could be tried",
        };
        format!("{}: {why}", place(hunk))
    }));
    let unnoticed = code.iter().filter(|hunk| hunk.standing == PlaceStatus::NoTest);
    told.extend(unnoticed.map(|hunk| format!("{}: no test kills a mutant", place(hunk))));
    let exempt = code.iter().filter(|hunk| hunk.standing == PlaceStatus::Exempt);
    told.extend(exempt.map(|hunk| format!("{}: exempt by the policy", place(hunk))));
    let untried = tests.iter().filter(|test| test.class == Class::NotTried);
    told.extend(untried.map(|test| format!("{}: {}", test.id, test.why)));
    told
}

#[cfg(test)]
mod tests;
