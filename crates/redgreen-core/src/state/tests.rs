//! `walk` visits all reachable states of a run; `rows` tests the important stories.

use super::*;
use crate::agent::{Cost, Failure, Turn};
use crate::brief::Brief;
use crate::event::PlanResult;
use crate::names::{Branch, RunBranch, RunFile, RunId};
use crate::policy::Policy;
use crate::report::Counts;
use crate::step::{self, Step};
use crate::verdict::{Code, Decision, Reason};

mod batch;
mod human;
mod resumed;
mod rows;
mod steering;
mod walk;
mod withheld;

/// Tests that passed before the run.
const PASSED: usize = 5;
/// The id of the run.
const RUN: &str = "20261115-224849-k3x9";
/// The time of all events.
const AT: i64 = 1_700_000_000;

fn run(policy: Policy, linters: &[&str]) -> Run {
    Run {
        id: RunId::parse(RUN).unwrap(),
        brief: Brief::of("roman numerals"),
        policy,
        base: mark("base", "tree0"),
        target: Branch::parse("main").unwrap(),
        branch: RunBranch::parse("redgreen/roman-r1").unwrap(),
        agent: Label::of("script"),
        linters: linters.iter().map(|&linter| linter.to_owned()).collect(),
    }
}

fn mark(commit: &str, tree: &str) -> Mark {
    Mark { commit: Oid::named(commit), tree: Oid::named(tree) }
}

fn kept() -> StoredReport {
    let counts = Counts { passed: PASSED, ..Counts::default() };
    StoredReport {
        file: RunFile::parse("reports/1.json").unwrap(),
        counts,
        summary: "pytest -q (exit 0, 1.0 s)".to_owned(),
        tests_ms: 0,
    }
}

/// A written file of the run.
fn recorded(file: &str) -> Event {
    Event::Recorded { file: RunFile::parse(file).unwrap() }
}

fn trouble(words: &str) -> AttemptFailure {
    AttemptFailure { kind: "test".to_owned(), message: words.to_owned() }
}

fn prepared() -> Event {
    Event::Prepared { worktree: "w".to_owned(), salvage: None, notices: Vec::new() }
}

fn measured(usable: bool) -> Event {
    Event::Measured { report: kept(), usable, lint: Vec::new(), failing: Vec::new(), took_ms: 0 }
}

fn turned(role: Role, turn: Turn, tree: &str) -> Event {
    let cost = Cost { tokens: Some(1), ..Cost::default() };
    Event::Turned {
        role,
        turn,
        tree: Oid::named(tree),
        cost,
        took_ms: 0,
        session: None,
        agent: None,
        human: false,
        notices: Vec::new(),
        list: Vec::new(),
        withheld: None,
    }
}

fn done(answer: &str) -> Turn {
    Turn::Done { answer: answer.to_owned() }
}

fn failed(failure: Failure) -> Turn {
    Turn::Failed { failure, message: failure.as_str().to_owned() }
}

fn judged(phase: Phase, verdict: Verdict, planned: Option<PlanResult>) -> Event {
    let report = (phase != Phase::Plan).then(kept);
    Event::Judged {
        phase,
        verdict,
        report,
        planned,
        written: None,
        test_file: None,
        withheld: None,
        joined: None,
        unseen: None,
        took_ms: 0,
    }
}

fn refused(code: Code, standing: Option<TestProgress>) -> Verdict {
    Verdict { standing, ..Verdict::refused(vec![Reason::plain(code)]) }
}

fn standing(kept: usize, reached: usize) -> Option<TestProgress> {
    Some(TestProgress { kept, reached })
}

/// A plan with this next test, or with nothing left.
fn planning(next: Option<&str>) -> PlanResult {
    let test = |description: &str| TestCase {
        description: description.to_owned(),
        test_file: "tests/roman.rs".to_owned(),
        impl_file: "src/lib.rs".to_owned(),
    };
    let pending = next.into_iter().map(str::to_owned).collect();
    PlanResult { next: next.map(test), completed: Vec::new(), pending, removed: Vec::new() }
}

fn accepted(phase: Phase) -> Event {
    let (code, planned) = match phase {
        Phase::Plan => (Code::PlanSelected, Some(planning(Some("1 is I")))),
        Phase::Red => (Code::RedAssertion, None),
        Phase::Green => (Code::GreenPasses, None),
        Phase::Refactor | Phase::Complete => (Code::RefactorKept, None),
    };
    let mut verdict = Verdict::accepted(Reason::plain(code));
    match phase {
        Phase::Red => verdict.targets.push("t::new".to_owned()),
        Phase::Green => verdict.standing = standing(PASSED, 1),
        Phase::Plan | Phase::Refactor | Phase::Complete => {}
    }
    judged(phase, verdict, planned)
}

fn finished() -> Event {
    judged(Phase::Plan, Verdict::accepted(Reason::plain(Code::PlanFinished)), Some(planning(None)))
}

fn stage_name(stage: &Stage) -> &'static str {
    match stage {
        Stage::Pausing { .. } => "pausing",
        Stage::Asking => "asking",
        Stage::Unable { .. } => "unable",
        Stage::Spent { .. } => "spent",
        Stage::Judging { .. } => "judging",
        Stage::Doubting { .. } => "doubting",
        Stage::Contested { .. } => "contested",
        Stage::EditRefused { .. } => "edit-refused",
        Stage::Linting { .. } => "linting",
        Stage::Restoring { .. } => "restoring",
        Stage::Diagnosing => "diagnosing",
        Stage::Recording => "recording",
        Stage::Committing { .. } => "committing",
        Stage::Noting { .. } => "noting",
    }
}

fn outcome_name(outcome: &Outcome) -> &'static str {
    match outcome {
        Outcome::Merged => "merged",
        Outcome::Aborted => "aborted",
        Outcome::Waiting => "waiting",
        Outcome::MergeBlocked { .. } => "merge-blocked",
        Outcome::GaveUp { .. } => "gave-up",
        Outcome::NothingDeveloped { .. } => "nothing-developed",
        Outcome::RolledBack { .. } => "rolled-back",
        Outcome::Undecided { .. } => "undecided",
        Outcome::AgentUnusable { .. } => "agent-unusable",
        Outcome::BaselineUnusable { .. } => "baseline-unusable",
        Outcome::BudgetSpent { .. } => "budget-spent",
        Outcome::Interrupted => "interrupted",
        Outcome::Paused { .. } => "paused",
    }
}
