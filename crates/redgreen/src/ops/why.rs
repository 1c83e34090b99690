//! `redgreen why`: the state of a run on one screen: phase, gate, command, decisive line,
//! responsible side, next step.

use anyhow::Result;
use redgreen_core::attempts::Selection;
use redgreen_core::event::Event;
use redgreen_core::phase::Phase;
use redgreen_core::state::Situation;
use redgreen_core::steps::Steps;
use redgreen_core::tally;
use redgreen_core::verdict::{Decision, Reason, Side, Verdict};
use serde::Serialize;

use super::report::attempt;
use super::status::{Overview, overview};
use super::{notes, pick};
use crate::engine::Project;
use crate::failure::Failure;
use crate::journal::{self, Body, Line, RunFolder};

#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Explanation {
    pub version: u32,
    pub run: Overview,
    /// What must hold for the phase to be accepted.
    pub gate: &'static str,
    /// Merged or aborted: nothing is left to do.
    #[serde(skip)]
    pub is_over: bool,
    /// How the work of the last verdict was chosen, if it was one of several attempts.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub attempts: Option<Selection>,
    /// The last verdict, if there was one.
    pub verdict: Option<LastVerdict>,
    /// The current step, or the step during which it was killed.
    pub doing: Option<String>,
    pub artifacts: Vec<String>,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct LastVerdict {
    pub phase: Phase,
    pub verdict: Verdict,
    /// The command, the result and the time.
    pub ran: Option<String>,
    pub side: Side,
    pub next_step: &'static str,
    /// What was judged and not accepted, as a patch. A large one is shortened in the middle.
    pub diff: Option<String>,
    pub diff_cut: bool,
}

pub fn why(project: &Project, named: Option<&str>) -> Result<Explanation> {
    notes::check(project)?;
    let folder = match (named, project.store.latest()) {
        (None, Some(latest)) if project.store.open()?.is_empty() => latest,
        (named, _) => pick(project, named)?,
    };
    let (state, lines) = journal::read(&folder)?;
    let state = state.ok_or_else(|| {
        Failure::usage(format!("run {} never started", folder.id))
            .next(format!("redgreen abort {}", folder.id))
    })?;
    Ok(Explanation {
        version: 1,
        gate: tally::gate(&state),
        is_over: matches!(state.situation, Situation::Ended(_)),
        attempts: selection(&lines),
        verdict: last_verdict(&lines).map(|(last, tree)| match tree {
            Some(tree) if last.verdict.decision != Decision::Accepted => {
                let diff = attempt(&project.git, &state.progress.head.tree, tree);
                let diff_cut = diff.as_ref().is_some_and(|diff| diff.cut);
                LastVerdict { diff: diff.map(|diff| diff.text), diff_cut, ..last }
            }
            Some(_) | None => last,
        }),
        doing: if state.left.is_some() { None } else { last_intent(&lines) },
        artifacts: artifacts(&folder, &lines),
        run: overview(&folder, &state),
    })
}

fn selection(lines: &[Line]) -> Option<Selection> {
    let mut steps = Steps::default();
    for line in lines {
        if let Body::Event(event) = &line.body {
            steps.hear(line.at, event);
        }
    }
    steps.steps.pop().filter(|_| steps.candidates.is_empty())?.attempts
}

/// The written files, each once, in the order of their last change.
fn artifacts(folder: &RunFolder, lines: &[Line]) -> Vec<String> {
    let mut files: Vec<String> = Vec::new();
    for line in lines {
        if let Body::Event(event) = &line.body
            && let Event::Recorded { file } = event.as_ref()
        {
            let path = folder.path.join(file).display().to_string();
            files.retain(|known| *known != path);
            files.push(path);
        }
    }
    files
}

fn last_intent(lines: &[Line]) -> Option<String> {
    lines.iter().rev().find_map(|line| match &line.body {
        Body::Intent { intent } => Some(intent.clone()),
        Body::Event(_) => None,
    })
}

/// The verdict, and its tree.
fn last_verdict(lines: &[Line]) -> Option<(LastVerdict, Option<&str>)> {
    // Verdicts before a rollback are about commits that the run no longer has.
    let rolled_back = |line: &&Line| matches!(&line.body, Body::Event(event) if matches!(**event, Event::RolledBack { .. } | Event::TestRejected { .. } | Event::WorkEdited { .. }));
    let mut events = lines.iter().rev().take_while(|line| !rolled_back(line)).filter_map(|line| {
        match &line.body {
            Body::Event(event) => Some(event.as_ref()),
            Body::Intent { .. } => None,
        }
    });
    let last = events.find_map(|event| match event {
        Event::Judged { phase, verdict, report, .. } => {
            let code = verdict.first().map(|Reason { code, .. }| *code);
            Some(LastVerdict {
                phase: *phase,
                verdict: verdict.clone(),
                ran: report.as_ref().map(|report| report.summary.clone()),
                side: code.map_or(Side::Nobody, |code| code.side()),
                next_step: code.map_or("", |code| code.next_step()),
                diff: None,
                diff_cut: false,
            })
        }
        _ => None,
    })?;
    let tree = events.find_map(|event| match event {
        Event::Turned { tree, .. } => Some(tree.as_str()),
        _ => None,
    });
    Some((last, tree))
}
