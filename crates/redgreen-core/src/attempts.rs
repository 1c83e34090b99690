//! Several attempts at one phase, side by side: which one is the best, by evidence alone.
//!
//! The criteria are compared in a fixed order, and the first one that leaves a single attempt
//! decides. Evidence that takes time to collect is requested only when it can decide.

use std::cmp::Ordering;

use serde::{Deserialize, Serialize};

use crate::agent::{AttemptFailure, Cost, Failure, Turn};
use crate::event::Event;
use crate::judge::reports::red_code;
use crate::names::{Label, Oid, SalvageName};
use crate::phase::{Phase, Role};
use crate::policy::dollars;
use crate::report::{Report, Status, Test};
use crate::verdict::{Code, Decision, Mutants, TestProgress, Verdict};

/// The most attempts at one phase. Each one is an agent, a worktree and a verdict.
pub const ATTEMPTS_MAX: u32 = 8;
/// The most attempts at work at the same time.
pub const JOBS_MAX: u32 = 32;
/// The kind of the trouble when a human has to choose.
pub const TIE: &str = "attempts.tie";

/// The phases whose attempts can be compared. A plan has no evidence to compare.
pub const PHASES: [Phase; 3] = [Phase::Red, Phase::Green, Phase::Refactor];

/// One of several attempts at a phase, with its verdict.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Candidate {
    /// From 1.
    pub number: u32,
    pub agent: Label,
    /// Its turn, its verdict and the linters, as a single attempt records them.
    pub events: Vec<Event>,
    /// Added and removed lines.
    pub lines: u64,
    /// Test files that it added.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tests: Vec<String>,
    /// The tests of the other attempts, run with its code.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub others: Option<PassCount>,
    /// Where its work is kept.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub salvage: Option<SalvageName>,
}

/// How many of some tests passed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PassCount {
    pub passed: u64,
    pub of: u64,
}

/// The results of one attempt with the tests of the others.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Comparison {
    pub number: u32,
    pub others: PassCount,
}

/// What decides between attempts, in this order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Criterion {
    Verdict,
    Withheld,
    OthersTests,
    Mutants,
    Lint,
    Size,
    Cost,
    /// Nothing distinguishes them, or only one was made: the first one is taken.
    First,
    /// A human chose.
    Human,
}

const ORDER: [Criterion; 7] = [
    Criterion::Verdict,
    Criterion::Withheld,
    Criterion::OthersTests,
    Criterion::Mutants,
    Criterion::Lint,
    Criterion::Size,
    Criterion::Cost,
];

/// The chosen attempt and the reason.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Choice {
    pub number: u32,
    pub by: Criterion,
    pub why: String,
}

/// A choice with all attempts, for notes, reports and pages.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Selection {
    pub chosen: u32,
    pub by: Criterion,
    pub why: String,
    pub candidates: Vec<Summary>,
}

/// An attempt in short.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Summary {
    pub number: u32,
    pub agent: Label,
    pub result: Rank,
    /// The code of the verdict, or of the agent's failure.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub code: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub withheld: Option<PassCount>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub others: Option<PassCount>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mutants: Option<Mutants>,
    pub findings: u64,
    pub lines: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tokens: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub microdollars: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub salvage: Option<SalvageName>,
}

/// How an attempt ended; the later ones are better.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Rank {
    /// The agent's turn failed; there is no verdict.
    Failed,
    Refused,
    Undecided,
    Accepted,
}

/// What to do with the attempts that are there.
#[derive(Clone, Debug, PartialEq)]
pub enum AttemptStep {
    /// Run the tests of these attempts with the code of the others.
    Compare {
        numbers: Vec<u32>,
    },
    Choose(Choice),
    /// All evidence is equal; a human has to choose.
    Tie {
        trouble: AttemptFailure,
    },
}

/// The next step; `None` without attempts.
pub fn next(candidates: &[Candidate]) -> Option<AttemptStep> {
    let mut left: Vec<&Candidate> = candidates.iter().collect();
    for criterion in ORDER {
        if same_result(&left) {
            break;
        }
        if criterion == Criterion::OthersTests && lacks_comparison(&left) {
            return Some(AttemptStep::Compare { numbers: numbers(&left) });
        }
        let (kept, out) = best(criterion, left);
        if let ([winner], false) = (kept.as_slice(), out.is_empty()) {
            let why = sentence(criterion, winner, &out, candidates.len());
            return Some(AttemptStep::Choose(Choice { number: winner.number, by: criterion, why }));
        }
        left = kept;
    }
    let first = left.iter().min_by_key(|candidate| candidate.number)?;
    if first.rank() == Rank::Accepted && !same_result(&left) {
        return Some(AttemptStep::Tie { trouble: tie(&left) });
    }
    let why = match (candidates.len(), first.rank()) {
        (1, _) => "it is the only one".to_owned(),
        (_, Rank::Accepted) => format!("attempts {} have the same code", list(&left)),
        (_, Rank::Failed | Rank::Refused | Rank::Undecided) => {
            format!("attempts {} are equally good", list(&left))
        }
    };
    let why = format!("{}: {why}", head(first, candidates.len()));
    Some(AttemptStep::Choose(Choice { number: first.number, by: Criterion::First, why }))
}

/// A human's choice; `None` if there is no such attempt.
pub fn chosen_by_human(candidates: &[Candidate], number: u32) -> Option<Choice> {
    let candidate = candidates.iter().find(|candidate| candidate.number == number)?;
    let why = format!("{} by a human: the evidence was equal", head(candidate, candidates.len()));
    Some(Choice { number, by: Criterion::Human, why })
}

/// The next `wanted` numbers that no attempt has yet.
pub fn missing(candidates: &[Candidate], wanted: u32) -> Vec<u32> {
    let count = usize::try_from(wanted.min(ATTEMPTS_MAX)).unwrap_or(usize::MAX);
    let is_free = |number: &u32| candidates.iter().all(|candidate| candidate.number != *number);
    (1..=ATTEMPTS_MAX).filter(is_free).take(count.saturating_sub(candidates.len())).collect()
}

/// The results of the tests in `files`, which another attempt wrote, in a run with this attempt's
/// code. A test that needs a name which only its own author's code has says nothing about this
/// code.
pub fn tests_of_others(files: &[String], with: &Report) -> PassCount {
    let is_theirs = |test: &&Test| test.file.as_ref().is_some_and(|file| files.contains(file));
    let tells = |test: &&Test| match test.status {
        Status::Passed => true,
        Status::Failed | Status::Errored | Status::TimedOut | Status::Crashed => {
            red_code(test) != Code::RedMissingSymbol
        }
        Status::Flaky
        | Status::Xpassed
        | Status::Xfailed
        | Status::Todo
        | Status::Skipped
        | Status::NotRun => false,
    };
    let all: Vec<&Test> = with.tests.iter().filter(is_theirs).filter(tells).collect();
    let passed = all.iter().filter(|test| test.status == Status::Passed).count();
    let count = |tests: usize| u64::try_from(tests).unwrap_or(u64::MAX);
    PassCount { passed: count(passed), of: count(all.len()) }
}

impl PassCount {
    #[must_use]
    pub fn and(self, more: Self) -> Self {
        Self {
            passed: self.passed.saturating_add(more.passed),
            of: self.of.saturating_add(more.of),
        }
    }
}

impl Selection {
    pub fn of(choice: &Choice, candidates: &[Candidate]) -> Self {
        Self {
            chosen: choice.number,
            by: choice.by,
            why: choice.why.clone(),
            candidates: candidates.iter().map(Candidate::summary).collect(),
        }
    }

    /// One line for each attempt.
    pub fn lines(&self) -> Vec<String> {
        let line = |one: &Summary| match one.number == self.chosen {
            true => format!("{}, chosen", one.line()),
            false => one.line(),
        };
        self.settled().candidates.iter().map(line).collect()
    }

    /// The same once the chosen work is part of the run, and no longer kept aside.
    #[must_use]
    pub fn settled(&self) -> Self {
        let mut settled = self.clone();
        let chosen = settled.candidates.iter_mut().filter(|one| one.number == self.chosen);
        chosen.for_each(|one| one.salvage = None);
        settled
    }
}

impl Candidate {
    /// Whether its events are those of one attempt at this phase.
    pub fn is_attempt_at(&self, phase: Phase, in_role: Role) -> bool {
        let (turned, rest) = match self.events.split_first() {
            Some((Event::Turned { role, turn, human: false, .. }, rest)) if *role == in_role => {
                (turn, rest)
            }
            Some(_) | None => return false,
        };
        let is_done = matches!(turned, Turn::Done { .. });
        let is_numbered = (1..=ATTEMPTS_MAX).contains(&self.number);
        let is_whole = match rest {
            [] => !is_done,
            [Event::Judged { phase: judged, .. }] => is_done && *judged == phase,
            [Event::Judged { phase: judged, verdict, .. }, Event::Linted { .. }] => {
                is_done && *judged == phase && verdict.decision == Decision::Accepted
            }
            _ => false,
        };
        is_numbered && is_whole
    }

    pub fn summary(&self) -> Summary {
        let cost = self.cost();
        Summary {
            number: self.number,
            agent: self.agent.clone(),
            result: self.rank(),
            code: self.code(),
            withheld: self.withheld(),
            others: self.others,
            mutants: self.verdict().and_then(|verdict| verdict.mutants),
            findings: self.findings(),
            lines: self.lines,
            tokens: cost.tokens,
            microdollars: cost.microdollars,
            salvage: self.salvage.clone(),
        }
    }

    pub fn rank(&self) -> Rank {
        match self.verdict().map(|verdict| verdict.decision) {
            None => Rank::Failed,
            Some(Decision::Refused) => Rank::Refused,
            Some(Decision::Undecided) => Rank::Undecided,
            Some(Decision::Accepted) if self.findings() > 0 => Rank::Refused,
            Some(Decision::Accepted) => Rank::Accepted,
        }
    }

    /// The tree that the agent left.
    pub fn tree(&self) -> Option<&Oid> {
        self.events.iter().find_map(|event| {
            if let Event::Turned { tree, .. } = event { Some(tree) } else { None }
        })
    }

    pub fn verdict(&self) -> Option<&Verdict> {
        self.events.iter().find_map(|event| {
            if let Event::Judged { verdict, .. } = event { Some(verdict) } else { None }
        })
    }

    pub fn cost(&self) -> Cost {
        let cost = self.events.iter().find_map(|event| {
            if let Event::Turned { cost, .. } = event { Some(*cost) } else { None }
        });
        cost.unwrap_or_default()
    }

    fn failure(&self) -> Option<Failure> {
        self.events.iter().find_map(|event| {
            if let Event::Turned { turn: Turn::Failed { failure, .. }, .. } = event {
                Some(*failure)
            } else {
                None
            }
        })
    }

    fn withheld(&self) -> Option<PassCount> {
        self.events
            .iter()
            .find_map(|event| if let Event::Judged { unseen, .. } = event { *unseen } else { None })
    }

    /// What the linters and the task's criteria object to.
    fn findings(&self) -> u64 {
        let linted = self.events.iter().filter_map(|event| {
            let Event::Linted { findings, criteria, .. } = event else { return None };
            Some(findings.len() + criteria.len())
        });
        u64::try_from(linted.sum::<usize>()).unwrap_or(u64::MAX)
    }

    fn code(&self) -> Option<String> {
        let of_verdict = || self.verdict()?.first().map(|reason| reason.code.as_str().to_owned());
        self.failure().map(|failure| failure.as_str().to_owned()).or_else(of_verdict)
    }

    /// Refused work that can be built upon is better than work that has to be rolled back, and a
    /// failure that a retry can fix is better than one that stops the run.
    fn grade(&self) -> (Rank, bool, Option<TestProgress>) {
        let rank = self.rank();
        match rank {
            Rank::Accepted | Rank::Undecided => (rank, true, None),
            Rank::Refused => {
                let verdict = self.verdict();
                let lint_only =
                    verdict.is_some_and(|verdict| verdict.decision == Decision::Accepted);
                (rank, lint_only, verdict.and_then(|verdict| verdict.standing))
            }
            Rank::Failed => {
                let stops = matches!(self.failure(), Some(Failure::Unusable | Failure::Budget));
                (rank, !stops, None)
            }
        }
    }
}

/// The best attempts by this criterion, and the others. Unknown evidence does not decide.
fn best(criterion: Criterion, left: Vec<&Candidate>) -> (Vec<&Candidate>, Vec<&Candidate>) {
    let compare = |one: &Candidate, other: &Candidate| match criterion {
        Criterion::Verdict => one.grade().cmp(&other.grade()),
        Criterion::Withheld => withheld(one.withheld(), other.withheld()),
        Criterion::OthersTests => failures(one.others, other.others),
        Criterion::Mutants => kill_rate(one, other),
        Criterion::Lint => other.findings().cmp(&one.findings()),
        Criterion::Size => size(other).cmp(&size(one)),
        Criterion::Cost => cheaper(one, other),
        Criterion::First | Criterion::Human => Ordering::Equal,
    };
    let is_known = match criterion {
        Criterion::Mutants => left.iter().all(|one| one.summary().mutants.is_some()),
        Criterion::Cost => {
            left.iter().all(|one| one.cost().microdollars.is_some())
                || left.iter().all(|one| one.cost().tokens.is_some())
        }
        Criterion::Verdict
        | Criterion::Withheld
        | Criterion::OthersTests
        | Criterion::Lint
        | Criterion::Size
        | Criterion::First
        | Criterion::Human => true,
    };
    let is_best = |one: &&Candidate| left.iter().all(|other| compare(one, other) != Ordering::Less);
    if !is_known {
        return (left, Vec::new());
    }
    let kept: Vec<&Candidate> = left.iter().copied().filter(is_best).collect();
    let out = left.into_iter().filter(|one| !numbers(&kept).contains(&one.number)).collect();
    (kept, out)
}

/// Greater is better. All attempts have the same withheld tests, so after the failures it counts
/// how many could run.
fn withheld(one: Option<PassCount>, other: Option<PassCount>) -> Ordering {
    match one.zip(other) {
        Some((one, other)) => failures(Some(one), Some(other)).then(one.passed.cmp(&other.passed)),
        None => Ordering::Equal,
    }
}

/// Greater is better: fewer failures. The tests of the other attempts differ from attempt to
/// attempt, so more passed tests only mean that the others wrote more.
fn failures(one: Option<PassCount>, other: Option<PassCount>) -> Ordering {
    let failed = |tested: PassCount| tested.of.saturating_sub(tested.passed);
    match one.map(failed).zip(other.map(failed)) {
        Some((one, other)) => other.cmp(&one),
        None => Ordering::Equal,
    }
}

fn kill_rate(one: &Candidate, other: &Candidate) -> Ordering {
    let rate = |candidate: &Candidate| candidate.verdict().and_then(|verdict| verdict.mutants);
    let (one, other) = (rate(one).unwrap_or_default(), rate(other).unwrap_or_default());
    let share = |killed: Mutants, of: Mutants| u32::from(killed.killed) * u32::from(of.tried);
    share(one, other).cmp(&share(other, one))
}

/// A refactoring that changes nothing is not better than one that improves something.
fn size(candidate: &Candidate) -> u64 {
    if candidate.lines == 0 { u64::MAX } else { candidate.lines }
}

fn cheaper(one: &Candidate, other: &Candidate) -> Ordering {
    let (one, other) = (one.cost(), other.cost());
    match (one.microdollars, other.microdollars) {
        (Some(one), Some(other)) if one != other => other.cmp(&one),
        _ => other.tokens.cmp(&one.tokens),
    }
}

/// The same code has the same evidence, however long it takes to collect it. Where nothing is
/// accepted, the run continues with the first of the best.
fn same_result(left: &[&Candidate]) -> bool {
    left.iter().all(|one| one.tree() == left.first().and_then(|first| first.tree()))
}

/// Only accepted code is compared: tests of a refused attempt may be wrong.
fn lacks_comparison(left: &[&Candidate]) -> bool {
    left.iter().all(|one| one.rank() == Rank::Accepted)
        && left.iter().any(|one| !one.tests.is_empty())
        && left.iter().any(|one| one.others.is_none())
}

fn numbers(all: &[&Candidate]) -> Vec<u32> {
    all.iter().map(|one| one.number).collect()
}

fn list(all: &[&Candidate]) -> String {
    let numbers: Vec<String> = numbers(all).iter().map(ToString::to_string).collect();
    match numbers.split_last() {
        Some((last, rest)) if !rest.is_empty() => format!("{} and {last}", rest.join(", ")),
        Some((last, _)) => last.clone(),
        None => String::new(),
    }
}

fn head(winner: &Candidate, of: usize) -> String {
    format!("attempt {} of {of} ({}) is chosen", winner.number, winner.agent)
}

fn sentence(criterion: Criterion, winner: &Candidate, out: &[&Candidate], of: usize) -> String {
    let others: Vec<String> = out
        .iter()
        .map(|one| format!("attempt {} ({}): {}", one.number, one.agent, value(criterion, one)))
        .collect();
    format!(
        "{} by {}: {}; {}",
        head(winner, of),
        criterion.words(),
        value(criterion, winner),
        others.join("; ")
    )
}

fn tie(left: &[&Candidate]) -> AttemptFailure {
    let lines: Vec<String> = left.iter().map(|one| one.summary().line()).collect();
    let message = format!(
        "attempts {} are accepted, and all evidence about them is equal\n{}",
        list(left),
        lines.join("\n")
    );
    AttemptFailure { kind: TIE.to_owned(), message }
}

fn value(criterion: Criterion, one: &Candidate) -> String {
    let summary = one.summary();
    match criterion {
        Criterion::Verdict => {
            let standing = one.grade().2.filter(|all| *all != TestProgress { kept: 0, reached: 0 });
            let standing = standing.map(|TestProgress { kept, reached }| {
                format!(", {kept} earlier and {reached} new tests pass")
            });
            format!("{}{}", summary.verdict(), standing.unwrap_or_default())
        }
        Criterion::Withheld => passed(one.withheld(), "withheld tests"),
        Criterion::OthersTests => passed(one.others, "tests of the other attempts"),
        Criterion::Mutants => summary.mutants.map_or_else(String::new, |mutants| {
            format!("{} of {} mutants killed", mutants.killed, mutants.tried)
        }),
        Criterion::Lint => counted(summary.findings, "finding"),
        Criterion::Size => counted(summary.lines, "changed line"),
        Criterion::Cost => cost(&summary).unwrap_or_else(|| "unknown".to_owned()),
        Criterion::First | Criterion::Human => String::new(),
    }
}

fn passed(tested: Option<PassCount>, what: &str) -> String {
    match tested {
        Some(PassCount { passed, of }) => format!("{passed} of {of} {what} pass"),
        None => format!("no {what}"),
    }
}

fn counted(count: u64, word: &str) -> String {
    if count == 1 { format!("1 {word}") } else { format!("{count} {word}s") }
}

fn cost(summary: &Summary) -> Option<String> {
    match (summary.microdollars, summary.tokens) {
        (Some(microdollars), _) if microdollars > 0 => Some(dollars(microdollars)),
        (_, Some(tokens)) => Some(counted(tokens, "token")),
        (microdollars, None) => microdollars.map(dollars),
    }
}

impl Summary {
    /// The verdict with its code, such as `refused [green.overfits]`.
    pub fn verdict(&self) -> String {
        match (self.result, &self.code) {
            (Rank::Accepted, _) | (_, None) => self.result.as_str().to_owned(),
            (Rank::Refused, Some(_)) if self.findings > 0 => {
                format!("refused, {} of linters", counted(self.findings, "finding"))
            }
            (_, Some(code)) => format!("{} [{code}]", self.result.as_str()),
        }
    }

    /// The attempt with all that is known about it, and where its work is kept.
    pub fn line(&self) -> String {
        let kept = self.salvage.as_ref().map(|name| format!(", kept as {name}"));
        let (number, agent) = (self.number, &self.agent);
        format!("attempt {number} ({agent}): {}{}", self.words(), kept.unwrap_or_default())
    }

    /// All that is known about it, on one line.
    pub fn words(&self) -> String {
        let mut all = vec![self.verdict()];
        all.extend(self.withheld.map(|tested| passed(Some(tested), "withheld tests")));
        all.extend(self.others.map(|tested| passed(Some(tested), "tests of the other attempts")));
        all.extend(
            self.mutants
                .map(|mutants| format!("{} of {} mutants killed", mutants.killed, mutants.tried)),
        );
        all.push(counted(self.lines, "changed line"));
        all.extend(cost(self));
        all.join(", ")
    }
}

impl Rank {
    pub fn as_str(self) -> &'static str {
        match self {
            Rank::Failed => "failed",
            Rank::Refused => "refused",
            Rank::Undecided => "undecided",
            Rank::Accepted => "accepted",
        }
    }
}

impl Criterion {
    pub fn words(self) -> &'static str {
        match self {
            Criterion::Verdict => "verdict",
            Criterion::Withheld => "withheld tests",
            Criterion::OthersTests => "the tests of the other attempts",
            Criterion::Mutants => "mutants killed",
            Criterion::Lint => "linters",
            Criterion::Size => "size of the diff",
            Criterion::Cost => "cost",
            Criterion::First => "order",
            Criterion::Human => "a human",
        }
    }
}

#[cfg(test)]
mod tests;
