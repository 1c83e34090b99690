//! `redgreen why`: the present state of a run on one screen: phase, gate, command, decisive line, who is at fault, what
//! happens next.

use anyhow::Result;
use redgreen_core::event::Event;
use redgreen_core::phase::Phase;
use redgreen_core::state::Situation;
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
pub struct Why {
    pub version: u32,
    pub run: Overview,
    /// What has to hold for the phase to be accepted.
    pub gate: &'static str,
    /// Merged or aborted: nothing is asked of anybody.
    #[serde(skip)]
    pub is_over: bool,
    /// The last verdict, if there was one.
    pub verdict: Option<LastVerdict>,
    /// What is being done now, or was being done when it was killed.
    pub doing: Option<String>,
    pub artifacts: Vec<String>,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct LastVerdict {
    pub phase: Phase,
    pub verdict: Verdict,
    /// What was run, how it ended, how long it took.
    pub ran: Option<String>,
    pub side: Side,
    pub next_step: &'static str,
    /// What was judged and not accepted, as a patch; of a large one, its beginning and its end.
    pub diff: Option<String>,
    pub diff_cut: bool,
}

pub fn why(project: &Project, named: Option<&str>) -> Result<Why> {
    notes::check(project)?;
    let folder = match (named, project.store.latest()) {
        (None, Some(latest)) if project.store.open()?.is_empty() => latest,
        (named, _) => pick(project, named)?,
    };
    let (state, lines) = journal::read(&folder)?;
    let state = state.ok_or_else(|| {
        Failure::usage(format!("run {} never began", folder.id)).next(format!("redgreen abort {}", folder.id))
    })?;
    Ok(Why {
        version: 1,
        gate: tally::gate(&state),
        is_over: matches!(state.situation, Situation::Ended(_)),
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

/// What was written, each file once, in the order of its last writing.
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

/// The verdict, and the tree that it is about.
fn last_verdict(lines: &[Line]) -> Option<(LastVerdict, Option<&str>)> {
    // What was judged before a rollback is about commits that the run does not have any more.
    let rolled_back = |line: &&Line| matches!(&line.body, Body::Event(event) if matches!(**event, Event::RolledBack { .. } | Event::TestRejected { .. } | Event::WorkEdited { .. }));
    let mut events = lines.iter().rev().take_while(|line| !rolled_back(line)).filter_map(|line| match &line.body {
        Body::Event(event) => Some(event.as_ref()),
        Body::Intent { .. } => None,
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
