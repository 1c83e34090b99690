//! The facts about one step, or about one of several attempts at it, above its diff.

use anyhow::Result;
use askama::Template;
use redgreen_core::attempts::{Candidate, Summary};
use redgreen_core::policy::RunCost;
use redgreen_core::steps::{AttemptRecord, Step, Steps, Work};
use redgreen_core::verdict::{Decision, Reason, Verdict};

use super::pages::{PageContent, seconds};
use crate::cli::report::html::decision;
use crate::ops::ui::{Reviews, View};
use crate::view;

/// The maximum number of lines of an agent's text next to the verdict. The transcript has the rest.
const SAID_LINES_MAX: usize = 40;

#[derive(Template)]
#[template(path = "step.html")]
struct StepPart<'a> {
    head: String,
    messages: &'a [String],
    reasons: Vec<ReasonRow>,
    notes: Vec<String>,
    tried: String,
    ran: String,
    turns: Vec<TurnRow>,
    /// Why this work was chosen among several attempts, and all of them.
    attempts: String,
    salvage: String,
}

struct ReasonRow {
    sentence: String,
    place: String,
    code: &'static str,
    next: &'static str,
}

struct TurnRow {
    number: u32,
    head: String,
    said: String,
    transcript: String,
}

/// The step or attempt of this view.
pub(super) fn detail(steps: &Steps, shown: &PageContent, id: &str) -> Result<String> {
    match shown.view {
        View::Whole | View::Cycle(_) => Ok(String::new()),
        View::Step(number) => match steps.steps.get(number) {
            Some(step) => of_step(step, number, shown, id),
            None => Ok(String::new()),
        },
        View::Attempt { step, number } => {
            let all = Reviews::attempts(steps, step);
            match all.iter().find(|one| one.number == number) {
                Some(one) => of_attempt(steps, one, step, shown, id),
                None => Ok(String::new()),
            }
        }
    }
}

fn of_step(step: &Step, number: usize, shown: &PageContent, id: &str) -> Result<String> {
    let part = StepPart {
        head: format!(
            "Cycle {} · {} · {}",
            step.cycle,
            step.phase,
            decision(step.verdict.decision)
        ),
        messages: &step.messages,
        reasons: reasons(&step.verdict),
        notes: step.verdict.notes.iter().chain(&step.findings).cloned().collect(),
        tried: view::experiments(&step.verdict.experiments),
        ran: step.report.as_ref().map(|report| report.summary.clone()).unwrap_or_default(),
        turns: step.turns.iter().map(|work| turn(work, id, None)).collect(),
        attempts: attempts_of(step, number, shown, id)?,
        salvage: step.salvage.as_ref().map(ToString::to_string).unwrap_or_default(),
    };
    Ok(part.render()?)
}

fn of_attempt(
    steps: &Steps,
    one: &AttemptRecord,
    step: usize,
    shown: &PageContent,
    id: &str,
) -> Result<String> {
    let judged = steps.steps.get(step);
    let selection = judged.and_then(|step| step.attempts.as_ref());
    let of_selection = selection.and_then(|all| {
        all.settled().candidates.into_iter().find(|known| known.number == one.number)
    });
    let of_round =
        || steps.candidates.iter().find(|known| known.number == one.number).map(Candidate::summary);
    let summary = of_selection.or_else(of_round);
    let (cycle, phase) = judged.map_or((steps.cycle, None), |step| (step.cycle, Some(step.phase)));
    let phase = phase.map(|phase| format!(" · {phase}")).unwrap_or_default();
    let words = summary.as_ref().map_or_else(String::new, |one| {
        format!("attempt {} ({}) · {}", one.number, one.agent, one.result.as_str())
    });
    let verdict = one.verdict.as_ref();
    let part = StepPart {
        head: format!("Cycle {cycle}{phase} · {words}"),
        messages: &[],
        reasons: verdict.map(reasons).unwrap_or_default(),
        notes: verdict
            .into_iter()
            .flat_map(|known| &known.notes)
            .chain(&one.findings)
            .cloned()
            .collect(),
        tried: verdict.map(|known| view::experiments(&known.experiments)).unwrap_or_default(),
        ran: String::new(),
        turns: one.turn.iter().map(|work| turn(work, id, Some(one.number))).collect(),
        // The ones at work are listed above.
        attempts: judged
            .map(|judged| attempts_of(judged, step, shown, id))
            .transpose()?
            .unwrap_or_default(),
        salvage: summary
            .and_then(|summary| summary.salvage)
            .map(|name| name.to_string())
            .unwrap_or_default(),
    };
    Ok(part.render()?)
}

fn reasons(verdict: &Verdict) -> Vec<ReasonRow> {
    verdict.reasons.iter().map(|reason| self::reason(verdict.decision, reason)).collect()
}

fn reason(decision: Decision, reason: &Reason) -> ReasonRow {
    let place = match (&reason.file, reason.line) {
        (Some(file), Some(line)) => format!("{file}:{line}"),
        (Some(file), None) => file.clone(),
        (None, _) => String::new(),
    };
    let next = match decision {
        Decision::Accepted => "",
        Decision::Refused | Decision::Undecided => reason.code.next_step(),
    };
    ReasonRow { sentence: reason.sentence.clone(), place, code: reason.code.as_str(), next }
}

fn turn(work: &Work, id: &str, attempt: Option<u32>) -> TurnRow {
    let cost = match (work.tokens, work.microdollars) {
        (None, None) => "cost unknown".to_owned(),
        (Some(tokens), None) => format!("{tokens} tokens, price unknown"),
        (tokens, Some(microdollars)) => {
            let spent = RunCost { tokens: tokens.unwrap_or(0), microdollars, ..RunCost::default() };
            Some(view::cost(&spent))
                .filter(|cost| !cost.is_empty())
                .unwrap_or_else(|| "no cost".to_owned())
        }
    };
    let failed = if work.failed { " failed" } else { "" };
    let head = format!(
        "turn {}: {} agent{failed} · {} · {cost}",
        work.number,
        work.role,
        seconds(work.took_ms)
    );
    let of_attempt = attempt.map(|number| format!("/attempts/{number}")).unwrap_or_default();
    TurnRow {
        number: work.number,
        head,
        said: view::clip(work.said.trim(), SAID_LINES_MAX),
        transcript: format!("/runs/{id}/turns/{}{of_attempt}", work.number),
    }
}

#[derive(Template)]
#[template(path = "attempts.html")]
struct AttemptsPart<'a> {
    run: &'a str,
    title: String,
    why: &'a str,
    rows: Vec<AttemptRow>,
    chooses: bool,
}

struct AttemptRow {
    number: u32,
    name: String,
    words: String,
    address: String,
    is_current: bool,
    is_chosen: bool,
}

/// The attempts that ended at the current phase. If the evidence about them is equal, one can be
/// chosen.
pub(super) fn attempts_now(
    steps: &Steps,
    shown: &PageContent,
    id: &str,
    chooses: bool,
) -> Result<String> {
    if steps.candidates.is_empty() {
        return Ok(String::new());
    }
    let step = steps.steps.len();
    let rows = steps.candidates.iter().map(|one| row(&one.summary(), step, None, shown));
    let part = AttemptsPart {
        run: id,
        title: "Attempts".to_owned(),
        why: if chooses { "All evidence about the best ones is equal: choose one." } else { "" },
        rows: rows.collect(),
        chooses,
    };
    Ok(part.render()?)
}

/// All attempts at a step, and why one of them was chosen.
fn attempts_of(step: &Step, number: usize, shown: &PageContent, id: &str) -> Result<String> {
    let Some(selection) = &step.attempts else { return Ok(String::new()) };
    let chosen = Some(selection.chosen);
    let rows = selection.candidates.iter().map(|one| row(one, number, chosen, shown));
    let part = AttemptsPart {
        run: id,
        title: format!("Attempts at {}", step.phase),
        why: &selection.why,
        rows: rows.collect(),
        chooses: false,
    };
    Ok(part.render()?)
}

fn row(one: &Summary, step: usize, chosen: Option<u32>, shown: &PageContent) -> AttemptRow {
    let number = one.number;
    let is_chosen = chosen == Some(number);
    // The chosen work is the step.
    let view = if is_chosen { View::Step(step) } else { View::Attempt { step, number } };
    AttemptRow {
        number,
        name: format!("attempt {number} ({})", one.agent),
        words: one.words(),
        address: shown.layout.address(view),
        is_current: shown.view == view,
        is_chosen,
    }
}
