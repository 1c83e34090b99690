//! Whether the tests of a range of commits prove its code.
//!
//! A range is taken apart into its tests and its code (`parts`): between the base and the head stands a third tree, the
//! base with the tests of the head. The judge decides as it always does: the way from the base to that tree is a RED, the
//! way from there to the head a GREEN, or a REFACTOR where nothing fails. Then the changed lines are put back as they
//! were, and faults are put into them (`faults`), to see which test notices.
//!
//! What was seen is [`Evidence`]; [`conclude`] says what it proves. There are no rules here but what the policy asks for.

pub mod faults;
mod merge;
pub mod parts;
pub mod policy;
pub mod range;
mod tests_seen;
pub mod view;

use serde::{Deserialize, Serialize};

use crate::phase::JudgedPhase;
use crate::verdict::{Code, Decision, Made, Reason};

pub use faults::{Fault, Hunk, Noticed};
pub use merge::{Shard, merge};
pub use policy::Policy;
pub use tests_seen::{Without, tests_seen, unseen};

/// Of all reasons of one kind, so many are told; the rest is counted.
const REASONS_MAX: usize = 12;
/// Tests that are named for a hunk.
const NAMED_MAX: usize = 5;

/// What was seen of a range.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Evidence {
    /// Commits.
    pub base: String,
    pub head: String,
    /// What the judge said of the parts of the range, in that order.
    pub steps: Vec<Judged>,
    /// Tests that are new or changed.
    pub tests: Vec<TestSeen>,
    /// Tests that were there before and are gone or replaced.
    pub removed: Vec<String>,
    /// Changed places of the code.
    pub hunks: Vec<Hunk>,
    pub faults: Vec<Fault>,
    /// Pairs of commits that say of themselves that they are RED and GREEN.
    pub commits: Vec<Pair>,
    pub policy: Policy,
    /// What the policy let pass.
    pub exempted: Vec<Exempted>,
    /// What nobody looked at, and why.
    pub not_verified: Vec<String>,
    /// Why nothing can be said at all.
    pub inconclusive: Option<Reason>,
    pub shard: Option<Shard>,
    /// How the tests were run, and fenced in.
    pub ran: String,
    pub fence: String,
    /// Milliseconds: of the tests, and of redgreen itself.
    pub tests_ms: u64,
    pub own_ms: u64,
}

/// A verdict on a part of the range.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Judged {
    pub phase: JudgedPhase,
    /// What was judged, for a person.
    pub what: String,
    pub decision: Decision,
    pub reasons: Vec<Reason>,
    #[serde(default)]
    pub notes: Vec<String>,
    #[serde(default)]
    pub experiments: Vec<Made>,
}

/// Two commits that were judged as RED and GREEN.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Pair {
    pub test: String,
    pub code: String,
    pub steps: Vec<Judged>,
}

/// A test that the range adds or changes, and how it ended.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct TestSeen {
    pub id: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub line: Option<u32>,
    pub is_new: bool,
    /// With the code of the base.
    pub without: Without,
    /// With the code of the head.
    pub passes: bool,
    pub is_skipped: bool,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Exempted {
    /// What would have been held against the range.
    pub what: String,
    /// As the policy says it.
    pub reason: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Outcome {
    Proven,
    Refuted,
    /// Could not find out.
    Inconclusive,
}

/// What a new or changed test proves.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Class {
    /// Fails without the change, for what it asks, and passes with it.
    Proven,
    /// Fails without the change because something is not there yet, and notices a fault in it.
    ProvenByMutant,
    /// Passes without the change too, and notices a fault in the code.
    Characterises,
    /// Notices nothing that was tried.
    DoesNotDiscriminate,
    Skipped,
    /// Does not pass with the change.
    Fails,
    /// No fault could be tried.
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

/// What the tests say of a changed place.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Standing {
    /// A test fails when the change is taken back, or when a fault is put there.
    Tested,
    /// No test notices.
    NoTest,
    NotTried,
    /// The policy asks for no test there.
    Exempt,
}

impl Standing {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Tested => "tested",
            Self::NoTest => "no test",
            Self::NotTried => "not tried",
            Self::Exempt => "exempt",
        }
    }
}

/// The answer: the published JSON, version 1.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Proof {
    pub version: u32,
    pub outcome: Outcome,
    /// What is held against the range, or why nothing is known.
    pub reasons: Vec<Reason>,
    pub tests: Vec<TestProof>,
    pub code: Vec<HunkProof>,
    pub exempted: Vec<Exempted>,
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
    /// In a sentence.
    pub why: String,
    /// Faults that it noticed.
    pub killed: usize,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct HunkProof {
    pub file: String,
    pub first: u32,
    pub last: u32,
    pub standing: Standing,
    /// Some of the tests that notice.
    pub tests: Vec<String>,
    pub killed: usize,
    pub survived: usize,
}

impl Proof {
    /// How many faults were tried, and how many of them were noticed.
    pub fn kill_rate(&self) -> (usize, usize) {
        let counted = self.evidence.faults.iter().filter(|fault| fault.hunk.is_some());
        counted.fold((0, 0), |(killed, tried), fault| match fault.noticed {
            Noticed::By(_) => (killed + 1, tried + 1),
            Noticed::ByNone => (killed, tried + 1),
            Noticed::NotTried | Noticed::DoesNotBuild => (killed, tried),
        })
    }

    /// What was found, in one sentence.
    pub fn sentence(&self) -> String {
        let (tests, hunks) = (self.tests.len(), self.code.len());
        let changed = match (tests, hunks) {
            // What the judge refuses is not taken apart any further, and not all that it looks at is a test or code.
            (0, 0) if !self.evidence.steps.is_empty() => String::new(),
            (0, 0) => "no test and no code changed: ".to_owned(),
            (0, _) => format!("{} changed, and no test: ", places(hunks)),
            (_, 0) => format!("{} changed, and no code: ", count(tests, "test")),
            _ => format!("{} and {} changed: ", count(tests, "test"), places(hunks)),
        };
        match self.outcome {
            Outcome::Proven if self.tests.iter().any(|test| test.class <= Class::ProvenByMutant) => {
                format!("{changed}the tests fail without the change, pass with it, and nothing else broke")
            }
            Outcome::Proven if hunks > 0 => format!("{changed}what the tests ask for is as it was"),
            Outcome::Proven => format!("{changed}nothing broke"),
            Outcome::Refuted => format!("{changed}the tests do not prove the change"),
            Outcome::Inconclusive => "it could not be found out whether the tests prove the change".to_owned(),
        }
    }
}

fn places(count_of: usize) -> String {
    if count_of == 1 { "1 place of the code".to_owned() } else { format!("{count_of} places of the code") }
}

fn count(number: usize, what: &str) -> String {
    if number == 1 { format!("1 {what}") } else { format!("{number} {what}s") }
}

/// What the evidence proves.
pub fn conclude(evidence: Evidence) -> Proof {
    let tests: Vec<TestProof> = evidence.tests.iter().map(|test| test_proof(test, &evidence.faults)).collect();
    let code: Vec<HunkProof> = (0..).zip(&evidence.hunks).map(|(at, hunk)| hunk_proof(at, hunk, &evidence)).collect();
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
    not_verified.extend(left_out(&tests, &code));
    let (outcome, reasons) = match (against.is_empty(), open.is_empty()) {
        (false, _) => (Outcome::Refuted, against),
        (true, false) => (Outcome::Inconclusive, open),
        (true, true) => (Outcome::Proven, Vec::new()),
    };
    Proof { version: 1, outcome, reasons: bounded(reasons), tests, code, exempted, not_verified, evidence }
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
    kept.extend(more.into_iter().map(|(code, number)| Reason::new(code, format!("and {number} more"))));
    kept
}

fn test_proof(test: &TestSeen, faults: &[Fault]) -> TestProof {
    let noticed = |fault: &&Fault| matches!(&fault.noticed, Noticed::By(tests) if tests.contains(&test.id));
    let kills: Vec<&Fault> = faults.iter().filter(noticed).collect();
    let was_tried = faults.iter().any(|fault| fault.was_tried_with(&test.id));
    let first = kills.first().map_or(String::new(), |fault| fault.what.clone());
    let (class, why) = match (&test.without, kills.is_empty()) {
        _ if test.is_skipped => (Class::Skipped, "is skipped, and asks for nothing".to_owned()),
        _ if !test.passes => (Class::Fails, "does not pass with the change".to_owned()),
        (Without::Fails { message, .. }, _) => (Class::Proven, format!("without the change: {message}")),
        (Without::Missing { message }, false) => {
            (Class::ProvenByMutant, format!("without the change: {message}; it notices: {first}"))
        }
        (Without::Passes, false) => {
            (Class::Characterises, format!("passes without the change too; it notices: {first}"))
        }
        (Without::Missing { message }, true) if was_tried => {
            let why = format!("without the change: {message}; with the change it notices no fault in it");
            (Class::DoesNotDiscriminate, why)
        }
        (Without::Passes, true) if was_tried => {
            (Class::DoesNotDiscriminate, "passes without the change too, and notices no fault".to_owned())
        }
        (Without::Missing { .. } | Without::Passes, true) => {
            (Class::NotTried, "no fault could be tried that it would have to notice".to_owned())
        }
    };
    let (id, file) = (test.id.clone(), test.file.clone());
    TestProof { id, file, line: test.line, class, why, killed: kills.len() }
}

fn hunk_proof(at: usize, hunk: &Hunk, evidence: &Evidence) -> HunkProof {
    let of_hunk = evidence.faults.iter().filter(|fault| fault.hunk == Some(at));
    let (mut tests, mut killed, mut survived) = (Vec::new(), 0, 0);
    for fault in of_hunk {
        match &fault.noticed {
            Noticed::By(by) => {
                killed += 1;
                tests.extend(by.iter().filter(|test| !tests.contains(*test)).cloned().collect::<Vec<_>>());
            }
            Noticed::ByNone => survived += 1,
            Noticed::NotTried | Noticed::DoesNotBuild => {}
        }
    }
    tests.truncate(NAMED_MAX);
    let standing = match (killed, survived) {
        _ if evidence.policy.is_untested(&hunk.file) => Standing::Exempt,
        (0, 0) => Standing::NotTried,
        (0, _) => Standing::NoTest,
        _ => Standing::Tested,
    };
    HunkProof { file: hunk.file.clone(), first: hunk.first, last: hunk.last, standing, tests, killed, survived }
}

/// Tests whose class is not one that the policy asks for.
fn classes(policy: &Policy, tests: &[TestProof], exempted: &mut Vec<Exempted>) -> Vec<Reason> {
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
            Some(exemption) => exempted.push(Exempted { what: sentence, reason: exemption.reason.clone() }),
            None => {
                reasons.push(Reason::new(code, sentence).test(&test.id).place(test.file.as_deref(), test.line));
            }
        }
    }
    reasons
}

/// Changed code that no test notices, where the policy asks for tests of every place.
fn untested(policy: &Policy, code: &[HunkProof]) -> Vec<Reason> {
    let missing = code.iter().filter(|hunk| policy.every_place && hunk.standing == Standing::NoTest);
    let tell = |hunk: &HunkProof| {
        let sentence = format!("no test notices a fault in {}", place(hunk));
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
    let counted = evidence.faults.iter().filter(|fault| fault.hunk.is_some());
    let tried = counted.clone().filter(|fault| matches!(fault.noticed, Noticed::By(_) | Noticed::ByNone)).count();
    let killed = counted.filter(|fault| matches!(fault.noticed, Noticed::By(_))).count();
    let percent = (killed * 100).checked_div(tried)?;
    let asked = usize::from(evidence.policy.min_kill);
    let sentence = format!("{killed} of {tried} faults were noticed ({percent} %); the policy asks for {asked} %");
    (percent < asked).then(|| Reason::new(Code::VerifyKillRate, sentence))
}

/// What nobody came to look at, since something else was in the way.
fn not_reached(evidence: &Evidence) -> Vec<String> {
    let mut told = Vec::new();
    if let Some(reason) = &evidence.inconclusive {
        told.push(format!("the rest of the range: {}", reason.sentence));
    }
    let is_refused = evidence.steps.iter().any(|step| step.decision == Decision::Refused);
    if is_refused && evidence.faults.is_empty() {
        told.push("what each test and each changed place is worth: the judge refuses the range before".to_owned());
    }
    let open = evidence.steps.iter().filter(|step| step.decision == Decision::Undecided);
    told.extend(open.map(|step| format!("{}: the judge leaves it open", step.what)));
    told
}

/// What was seen of the range and proves nothing, for or against it.
fn left_out(tests: &[TestProof], code: &[HunkProof]) -> Vec<String> {
    let mut told = Vec::new();
    let untried = code.iter().filter(|hunk| hunk.standing == Standing::NotTried);
    told.extend(untried.map(|hunk| format!("{}: no fault could be tried there", place(hunk))));
    let unnoticed = code.iter().filter(|hunk| hunk.standing == Standing::NoTest);
    told.extend(unnoticed.map(|hunk| format!("{}: no test notices a fault there", place(hunk))));
    let exempt = code.iter().filter(|hunk| hunk.standing == Standing::Exempt);
    told.extend(exempt.map(|hunk| format!("{}: the policy asks for no test there", place(hunk))));
    let untried = tests.iter().filter(|test| test.class == Class::NotTried);
    told.extend(untried.map(|test| format!("{}: {}", test.id, test.why)));
    told
}

#[cfg(test)]
mod tests;
