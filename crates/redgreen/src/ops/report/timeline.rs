//! A run from its first step to its last, from its journal: turns, verdicts with reasons, cost,
//! commits.

use anyhow::Result;
use redgreen_core::attempts::Selection;
use redgreen_core::phase::Phase;
use redgreen_core::steps::{self, Steps, Work};
use redgreen_core::tally;
use redgreen_core::verdict::{Decision, Verdict};
use serde::Serialize;

use crate::engine::Project;
use crate::git::{DiffText, Git};
use crate::journal::{self, Body, RunFolder};

/// The size limit of the diff of one commit.
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
    /// Turns with known tokens and unknown price.
    pub unpriced_turns: u32,
    pub work_ms: u64,
    /// Its state in a few words.
    pub standing: &'static str,
    /// Accepted cycles, and the tests they wrote.
    pub cycles: u32,
    pub tests_written: u64,
    /// Withheld tests that accepted GREENs passed.
    pub tests_joined: u64,
    pub summary: String,
}

/// One attempt of a phase: its turns, and the verdict.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Step {
    pub phase: Phase,
    pub cycle: u32,
    pub test: Option<String>,
    pub at: i64,
    /// Messages of the user since the step before.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub messages: Vec<String>,
    pub turns: Vec<Work>,
    pub verdict: Verdict,
    /// The command, the result and the time.
    pub ran: Option<String>,
    pub took_ms: u64,
    pub findings: Vec<String>,
    pub commit: Option<String>,
    /// How the work was chosen, if it was one of several attempts.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub attempts: Option<Selection>,
    /// The salvage of work that was not accepted and reverted.
    pub salvage: Option<String>,
    /// What was committed, or judged and not accepted.
    pub diff: Option<String>,
    pub diff_cut: bool,
}

pub(super) fn timeline(project: &Project, folder: &RunFolder, summary: String) -> Result<Timeline> {
    let (state, lines) = journal::read(folder)?;
    let state = state.ok_or_else(|| anyhow::anyhow!("run {} never started", folder.id))?;
    let mut told = Steps::default();
    for line in &lines {
        if let Body::Event(event) = &line.body {
            told.hear(line.at, event);
        }
    }
    let steps =
        told.steps.into_iter().map(|step| with_diff(&project.git, step)).collect::<Result<_>>()?;
    let run = &state.run;
    Ok(Timeline {
        version: 1,
        id: run.id.to_string(),
        request: run.brief.request.clone(),
        branch: run.branch.to_string(),
        target: run.target.to_string(),
        agent: run.agent.to_string(),
        started: lines.first().map_or(0, |line| line.at),
        ended: lines.last().map_or(0, |line| line.at),
        baseline: told.baseline,
        steps,
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

fn with_diff(git: &Git, step: steps::Step) -> Result<Step> {
    let diff = match (&step.to, step.verdict.decision) {
        (None, _) => None,
        (Some(to), Decision::Accepted) => Some(git.diff_text(&step.from, to, DIFF_BYTES_MAX)?)
            .filter(|diff| !diff.text.trim().is_empty()),
        (Some(to), Decision::Refused | Decision::Undecided) => attempt(git, &step.from, to),
    };
    Ok(Step {
        phase: step.phase,
        cycle: step.cycle,
        test: step.test,
        at: step.at,
        messages: step.messages,
        turns: step.turns,
        verdict: step.verdict,
        ran: step.report.map(|report| report.summary),
        took_ms: step.took_ms,
        findings: step.findings,
        commit: step.commit.map(|commit| commit.to_string()),
        attempts: step.attempts,
        salvage: step.salvage.map(|salvage| salvage.to_string()),
        diff_cut: diff.as_ref().is_some_and(|diff| diff.cut),
        diff: diff.map(|diff| diff.text),
    })
}

/// The changes of an attempt that was not accepted. Git keeps them as long as a salvage or the run
/// does. Without them, the rest is still shown.
pub(in crate::ops) fn attempt(git: &Git, head: &str, tree: &str) -> Option<DiffText> {
    git.diff_text(head, tree, DIFF_BYTES_MAX).ok().filter(|diff| !diff.text.trim().is_empty())
}
