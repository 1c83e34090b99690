//! A run from its first step to its last, as its journal tells it: who worked, what was judged and why, what it cost, what
//! was committed.

use anyhow::Result;
use redgreen_core::agent::Turn;
use redgreen_core::event::{Event, Mark};
use redgreen_core::phase::{Phase, Role};
use redgreen_core::state::State;
use redgreen_core::tally;
use redgreen_core::verdict::{Decision, Verdict};
use serde::Serialize;

use crate::engine::Project;
use crate::git::{DiffText, Git};
use crate::journal::{self, Body, Line, RunFolder};

/// What is shown of one commit's changes.
const DIFF_BYTES_MAX: usize = 64 << 10;

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Timeline {
    pub version: u32,
    pub id: String,
    pub request: String,
    pub branch: String,
    pub target: String,
    pub agent: String,
    /// Milliseconds since 1970.
    pub started: i64,
    pub ended: i64,
    pub baseline: Option<String>,
    pub steps: Vec<Step>,
    pub tokens: u64,
    pub microdollars: u64,
    pub unknown_turns: u32,
    /// Turns whose tokens are known and whose price is not.
    pub unpriced_turns: u32,
    pub work_ms: u64,
    /// How it stands, as one word.
    pub standing: &'static str,
    /// Cycles that were accepted, and the tests they wrote.
    pub cycles: u32,
    pub tests_written: u64,
    /// Tests that the implementer did not see, and that accepted GREENs passed.
    pub tests_joined: u64,
    pub summary: String,
}

/// One try at a phase: the turns that led to it, and the verdict.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Step {
    pub phase: Phase,
    pub cycle: u32,
    pub test: Option<String>,
    pub at: i64,
    /// What the user said since the step before.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub messages: Vec<String>,
    pub turns: Vec<Work>,
    pub verdict: Verdict,
    /// What was run, how it ended, how long it took.
    pub ran: Option<String>,
    pub took_ms: u64,
    pub findings: Vec<String>,
    pub commit: Option<String>,
    /// Where the work is kept that was not accepted and taken back.
    pub salvage: Option<String>,
    /// What was committed, or what was judged and not accepted.
    pub diff: Option<String>,
    pub diff_cut: bool,
}

#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Work {
    pub role: Role,
    pub said: String,
    pub failed: bool,
    pub tokens: Option<u64>,
    pub microdollars: Option<u64>,
    pub took_ms: u64,
}

pub(super) fn timeline(project: &Project, folder: &RunFolder, summary: String) -> Result<Timeline> {
    let (state, lines) = journal::read(folder)?;
    let state = state.ok_or_else(|| anyhow::anyhow!("run {} never began", folder.id))?;
    let run = &state.run;
    let mut teller = Teller {
        git: &project.git,
        head: run.base.clone(),
        tree: None,
        steps: Vec::new(),
        turns: Vec::new(),
        messages: Vec::new(),
        baseline: None,
    };
    let mut now: Option<State> = None;
    for line in &lines {
        let Body::Event(event) = &line.body else { continue };
        teller.hear(line, event, now.as_ref())?;
        now = match now {
            None => State::begin(event).ok(),
            Some(state) => state.apply(event, line.at / 1000).ok(),
        };
    }
    Ok(Timeline {
        version: 1,
        id: run.id.to_string(),
        request: run.brief.request.clone(),
        branch: run.branch.to_string(),
        target: run.target.to_string(),
        agent: run.agent.to_string(),
        started: lines.first().map_or(0, |line| line.at),
        ended: lines.last().map_or(0, |line| line.at),
        baseline: teller.baseline,
        steps: teller.steps,
        tokens: state.spent.tokens,
        microdollars: state.spent.microdollars,
        unknown_turns: state.spent.unknown_turns,
        unpriced_turns: state.spent.unpriced_turns,
        work_ms: state.spent.work_ms,
        standing: tally::standing(&state),
        cycles: state.cycles(),
        tests_written: state.progress.written,
        tests_joined: state.progress.joined,
        summary,
    })
}

struct Teller<'a> {
    git: &'a Git,
    head: Mark,
    /// What the last turn left in the worktree.
    tree: Option<String>,
    steps: Vec<Step>,
    turns: Vec<Work>,
    messages: Vec<String>,
    baseline: Option<String>,
}

impl Teller<'_> {
    fn hear(&mut self, line: &Line, event: &Event, before: Option<&State>) -> Result<()> {
        match event {
            Event::Measured { report, .. } => self.baseline = Some(report.summary.clone()),
            Event::Turned { role, turn, cost, took_ms, tree, .. } => {
                self.tree = Some(tree.to_string());
                let (said, failed) = match turn {
                    Turn::Done { answer } => (answer.clone(), false),
                    Turn::Failed { message, .. } => (message.clone(), true),
                };
                let (tokens, microdollars) = (cost.tokens, cost.microdollars);
                self.turns.push(Work { role: *role, said, failed, tokens, microdollars, took_ms: *took_ms });
            }
            Event::Judged { phase, verdict, report, took_ms, .. } => {
                let progress = before.map(|state| &state.progress);
                let attempt = match verdict.decision {
                    // Its commit is told with its changes.
                    Decision::Accepted => None,
                    Decision::Refused | Decision::Undecided => {
                        self.tree.as_deref().and_then(|tree| attempt(self.git, &self.head.tree, tree))
                    }
                };
                let diff_cut = attempt.as_ref().is_some_and(|diff| diff.cut);
                self.steps.push(Step {
                    phase: *phase,
                    cycle: progress.map_or(1, |progress| progress.cycle),
                    test: progress.and_then(|progress| Some(progress.current.as_ref()?.description.clone())),
                    at: line.at,
                    messages: std::mem::take(&mut self.messages),
                    turns: std::mem::take(&mut self.turns),
                    verdict: verdict.clone(),
                    ran: report.as_ref().map(|report| report.summary.clone()),
                    took_ms: *took_ms,
                    findings: Vec::new(),
                    commit: None,
                    salvage: None,
                    diff: attempt.map(|diff| diff.text),
                    diff_cut,
                });
            }
            Event::Linted { findings, criteria, .. } => {
                if let Some(step) = self.steps.last_mut() {
                    step.findings.extend(findings.iter().chain(criteria).cloned());
                }
            }
            Event::Committed { mark } => {
                let diff = self.git.diff_text(&self.head.tree, &mark.tree, DIFF_BYTES_MAX)?;
                if let Some(step) = self.steps.last_mut() {
                    step.commit = Some(mark.commit.to_string());
                    step.diff = Some(diff.text).filter(|text| !text.trim().is_empty());
                    step.diff_cut = diff.cut;
                }
                self.head = mark.clone();
            }
            Event::Restored { salvage, .. } => {
                if let Some(step) = self.steps.last_mut().filter(|step| step.verdict.decision != Decision::Accepted) {
                    step.salvage = salvage.as_ref().map(ToString::to_string).or(step.salvage.take());
                }
            }
            Event::Adopted { head, .. } => self.head = head.clone(),
            Event::UserSaid { message, .. } => self.messages.push(message.clone()),
            Event::WorkEdited { to, tree, .. } => {
                self.tree = Some(tree.to_string());
                if let Ok(tree) = self.git.tree_of(to) {
                    self.head = Mark { commit: to.clone(), tree };
                }
            }
            Event::TestRejected { to, message, .. } => {
                self.messages.push(format!("The test was rejected: {message}"));
                if let Ok(tree) = self.git.tree_of(to) {
                    self.head = Mark { commit: to.clone(), tree };
                }
            }
            Event::RolledBack { to, .. } => {
                if let Ok(tree) = self.git.tree_of(to) {
                    self.head = Mark { commit: to.clone(), tree };
                }
            }
            Event::Reviewed { commit, verdict, .. } => {
                if let (Decision::Accepted, Ok(tree)) = (verdict.decision, self.git.tree_of(commit)) {
                    self.head = Mark { commit: commit.clone(), tree };
                }
            }
            Event::Started { .. }
            | Event::Prepared { .. }
            | Event::HumanCommitted { .. }
            | Event::Paused
            | Event::PlanEdited { .. }
            | Event::Recorded { .. }
            | Event::Noted { .. }
            | Event::Left { .. }
            | Event::Resumed { .. }
            | Event::Decided { .. }
            | Event::MergeBlocked { .. }
            | Event::Merged { .. }
            | Event::Undone { .. }
            | Event::Discarded { .. } => {}
        }
        Ok(())
    }
}

/// What an attempt that was not accepted changed. Git keeps it as long as a salvage or the run holds it; when it is gone,
/// the rest of the story is still told.
pub(in crate::ops) fn attempt(git: &Git, head: &str, tree: &str) -> Option<DiffText> {
    git.diff_text(head, tree, DIFF_BYTES_MAX).ok().filter(|diff| !diff.text.trim().is_empty())
}
