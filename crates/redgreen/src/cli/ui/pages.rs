//! The contents of the pages. The templates only arrange it.

use anyhow::Result;
use askama::Template;
use redgreen_core::attempts::Selection;
use redgreen_core::names::RunId;
use redgreen_core::phase::Phase;
use redgreen_core::policy::{RunCost, dollars};
use redgreen_core::report::Counts;
use redgreen_core::review::comment::CommentStatus;
use redgreen_core::steps::{Step, Steps, Work};
use redgreen_core::tally;
use redgreen_core::verdict::{Decision, Reason};

use super::code;
use crate::cli::report::html::{decision, sign};
use crate::ops::ui::{
    Actions, Diff, Evidence, FailedTest, Notice, PlacedComment, Row, RunStatus, View,
};
use crate::view;

/// The maximum number of lines of an agent's text next to the verdict. The transcript has the rest.
const SAID_LINES_MAX: usize = 40;
const NOTES_MAX: usize = 6;

/// The common parts of every page.
#[derive(Clone, Debug)]
pub(super) struct Chrome {
    pub(super) name: String,
    pub(super) read_only: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Layout {
    Unified,
    Split,
}

impl Layout {
    pub(super) fn parse(text: Option<&str>) -> Self {
        if text == Some("split") { Self::Split } else { Self::Unified }
    }

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Unified => "unified",
            Self::Split => "split",
        }
    }

    fn other(self) -> Self {
        match self {
            Self::Unified => Self::Split,
            Self::Split => Self::Unified,
        }
    }
}

/// What to show of a run, and how. Without a diff, only the parts that change while it works.
pub(super) struct PageContent {
    pub(super) view: View,
    pub(super) layout: Layout,
    pub(super) drafts: usize,
    pub(super) diff: Option<Diff>,
}

#[derive(Template)]
#[template(path = "runs.html")]
struct RunsPage {
    name: String,
    read_only: bool,
    rows: Vec<RunRow>,
    unreadable: Vec<RunId>,
}

struct RunRow {
    id: String,
    title: String,
    standing: String,
    colour: &'static str,
    facts: String,
}

pub(super) fn runs(chrome: Chrome, rows: &[Row], unreadable: Vec<RunId>) -> Result<String> {
    let row = |row: &Row| {
        let standing =
            if row.at_work { format!("at work, {}", row.phase) } else { row.standing.to_owned() };
        let facts = [
            row.id.tail().to_owned(),
            view::date(row.started / 1000),
            view::count(usize::try_from(row.cycles).unwrap_or(usize::MAX), "cycle"),
            view::count(usize::try_from(row.written).unwrap_or(usize::MAX), "test"),
            money(&row.spent),
        ];
        let facts: Vec<String> = facts.into_iter().filter(|fact| !fact.is_empty()).collect();
        RunRow {
            id: row.id.to_string(),
            title: view::brief(&row.request),
            colour: colour(row.standing, row.at_work),
            standing,
            facts: facts.join(" · "),
        }
    };
    let Chrome { name, read_only } = chrome;
    Ok(RunsPage { name, read_only, rows: rows.iter().map(row).collect(), unreadable }.render()?)
}

#[derive(Template)]
#[template(path = "error.html")]
struct ErrorPage<'a> {
    name: String,
    read_only: bool,
    title: &'a str,
    words: &'a str,
}

pub(super) fn error(chrome: Chrome, title: &str, words: &str) -> Result<String> {
    let Chrome { name, read_only } = chrome;
    Ok(ErrorPage { name, read_only, title, words }.render()?)
}

#[derive(Template)]
#[template(path = "transcript.html")]
struct TranscriptPage<'a> {
    name: String,
    read_only: bool,
    id: &'a str,
    turn: &'a str,
    words: &'a str,
}

pub(super) fn transcript(chrome: Chrome, id: &str, turn: &str, words: &str) -> Result<String> {
    let Chrome { name, read_only } = chrome;
    Ok(TranscriptPage { name, read_only, id, turn, words }.render()?)
}

#[derive(Template)]
#[template(path = "run.html")]
struct RunPage<'a> {
    name: String,
    read_only: bool,
    id: String,
    head: String,
    title: String,
    meta: String,
    standing: &'static str,
    colour: &'static str,
    at_work: bool,
    outcome: String,
    notice: Option<Notice>,
    tiles: Vec<(String, String)>,
    cycles: Vec<CycleRow>,
    pending: &'a [String],
    said: &'a [String],
    can: Actions,
    drafts: usize,
    unread: usize,
    resume_words: &'static str,
    view: String,
    layout: &'static str,
    other_layout: &'static str,
    is_live: bool,
    detail: String,
    diff_title: String,
    diff: String,
}

struct CycleRow {
    number: u32,
    test: String,
    is_open: bool,
    is_current: bool,
    steps: Vec<StepRow>,
}

struct StepRow {
    number: usize,
    phase: Phase,
    word: &'static str,
    sign: &'static str,
    took: String,
    is_current: bool,
}

pub(super) fn run(
    chrome: Chrome,
    steps: &Steps,
    now: &RunStatus,
    shown: &PageContent,
) -> Result<String> {
    let Some(run) = &steps.run else { return error(chrome, "This run never started", "") };
    let Chrome { name, read_only } = chrome;
    let id = run.id.to_string();
    let title = view::brief(&run.brief.request);
    let meta = [
        format!("run {id}"),
        format!("on {}", run.branch),
        format!("for {}", run.target),
        format!("by {}", run.agent),
        view::date(steps.started / 1000),
    ];
    let standing = tally::standing_of(steps.left.as_ref());
    let outcome = match &steps.left {
        Some(outcome) if !now.at_work => {
            // The state is shown next to it.
            let words = view::plain(&view::outcome(outcome));
            words
                .strip_prefix(standing)
                .map_or(words.as_str(), |rest| rest.trim_start_matches(": "))
                .to_owned()
        }
        _ => doing(steps),
    };
    let (detail, diff_title, diff) = match &shown.diff {
        None => (String::new(), String::new(), String::new()),
        Some(diff) => {
            let detail = detail(steps, shown.view, &id)?;
            (detail, diff_title(shown.view, diff), code::diff(diff, &id, shown.layout, !read_only)?)
        }
    };
    let page = RunPage {
        name,
        read_only,
        head: steps.head.as_ref().map_or_else(String::new, ToString::to_string),
        title,
        meta: meta.join(" · "),
        standing,
        colour: colour(standing, now.at_work),
        at_work: now.at_work,
        outcome,
        notice: now.notice.clone(),
        tiles: tiles(steps),
        cycles: cycles(steps, shown.view),
        pending: &steps.pending,
        said: &steps.said,
        can: now.can,
        drafts: shown.drafts,
        unread: now.unread,
        resume_words: if now.can.reject { "Accept and continue" } else { "Continue" },
        view: shown.view.name(),
        layout: shown.layout.name(),
        other_layout: shown.layout.other().name(),
        is_live: shown.diff.is_none(),
        detail,
        diff_title,
        diff,
        id,
    };
    Ok(page.render()?)
}

fn doing(steps: &Steps) -> String {
    let phase = steps.phase.unwrap_or(Phase::Plan);
    let test = steps.current.as_ref().map(|test| format!(": {test}")).unwrap_or_default();
    format!("cycle {}, after {phase}{test}", steps.cycle)
}

fn diff_title(view: View, diff: &Diff) -> String {
    let files = view::count(diff.files.len(), "file");
    match view {
        View::Whole => format!("The whole run · {files}"),
        View::Cycle(cycle) => format!("Cycle {cycle} · {files}"),
        View::Step(step) => format!("Step {step} · {files}"),
    }
}

fn tiles(steps: &Steps) -> Vec<(String, String)> {
    let accepted =
        steps.steps.iter().filter(|step| step.verdict.decision == Decision::Accepted).count();
    let refused = steps.steps.len() - accepted;
    let mut tiles = vec![
        (steps.cycles().to_string(), "cycles done".to_owned()),
        (format!("{accepted} / {refused}"), "accepted / not".to_owned()),
        (steps.written.to_string(), "tests written".to_owned()),
        (seconds(steps.spent.work_ms), "at work".to_owned()),
    ];
    if let Some(withheld) = withheld_tile(steps) {
        tiles.push(withheld);
    }
    let money = money(&steps.spent);
    if !money.is_empty() {
        tiles.push((money, "cost".to_owned()));
    }
    tiles
}

/// How many tests the implementer does not see, and how many of them the code passed.
fn withheld_tile(steps: &Steps) -> Option<(String, String)> {
    let failed = steps.steps.iter().filter(|step| {
        step.verdict
            .reasons
            .iter()
            .any(|reason| reason.code == redgreen_core::verdict::Code::GreenOverfits)
    });
    let failed = failed.count();
    if steps.withheld == 0 && steps.joined == 0 && failed == 0 {
        return None;
    }
    let words = match (steps.withheld, failed) {
        (0, 0) => "withheld tests passed".to_owned(),
        (0, failed) => {
            format!("withheld tests passed, {} refused by them", view::count(failed, "attempt"))
        }
        (hidden, failed) => {
            format!(
                "withheld tests passed, {hidden} hidden now, {} refused",
                view::count(failed, "attempt")
            )
        }
    };
    Some((steps.joined.to_string(), words))
}

fn cycles(steps: &Steps, view: View) -> Vec<CycleRow> {
    let mut rows: Vec<CycleRow> = Vec::new();
    for (number, step) in steps.steps.iter().enumerate() {
        let is_current = view == View::Step(number);
        let row = StepRow {
            number,
            phase: step.phase,
            word: decision(step.verdict.decision),
            sign: sign(step.verdict.decision),
            took: seconds(step.took_ms),
            is_current,
        };
        match rows.iter_mut().find(|known| known.number == step.cycle) {
            Some(known) => {
                known.is_open |= is_current;
                if known.test.is_empty() {
                    known.test = step.test.clone().unwrap_or_default();
                }
                known.steps.push(row);
            }
            None => rows.push(CycleRow {
                number: step.cycle,
                test: step.test.clone().unwrap_or_default(),
                is_open: is_current || view == View::Cycle(step.cycle),
                is_current: view == View::Cycle(step.cycle),
                steps: vec![row],
            }),
        }
    }
    if let Some(last) = rows.last_mut() {
        last.is_open = true;
    }
    rows
}

#[derive(Template)]
#[template(path = "step.html")]
struct StepPart<'a> {
    id: &'a str,
    cycle: u32,
    phase: Phase,
    word: &'static str,
    messages: &'a [String],
    reasons: Vec<ReasonRow>,
    notes: Vec<String>,
    tried: String,
    ran: String,
    turns: Vec<TurnRow>,
    /// Why this work was chosen among several attempts, and all of them.
    chosen: &'a str,
    attempts: Vec<String>,
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
}

/// The facts about one step above its diff.
fn detail(steps: &Steps, view: View, id: &str) -> Result<String> {
    let View::Step(number) = view else { return Ok(String::new()) };
    let Some(step) = steps.steps.get(number) else { return Ok(String::new()) };
    let part = StepPart {
        id,
        cycle: step.cycle,
        phase: step.phase,
        word: decision(step.verdict.decision),
        messages: &step.messages,
        reasons: step.verdict.reasons.iter().map(|reason| self::reason(step, reason)).collect(),
        notes: step.verdict.notes.iter().chain(&step.findings).cloned().collect(),
        tried: view::experiments(&step.verdict.experiments),
        ran: step.report.as_ref().map(|report| report.summary.clone()).unwrap_or_default(),
        turns: step.turns.iter().map(turn).collect(),
        chosen: step.attempts.as_ref().map_or("", |all| all.why.as_str()),
        attempts: step.attempts.as_ref().map(Selection::lines).unwrap_or_default(),
        salvage: step.salvage.as_ref().map(ToString::to_string).unwrap_or_default(),
    };
    Ok(part.render()?)
}

fn reason(step: &Step, reason: &Reason) -> ReasonRow {
    let place = match (&reason.file, reason.line) {
        (Some(file), Some(line)) => format!("{file}:{line}"),
        (Some(file), None) => file.clone(),
        (None, _) => String::new(),
    };
    let next = match step.verdict.decision {
        Decision::Accepted => "",
        Decision::Refused | Decision::Undecided => reason.code.next_step(),
    };
    ReasonRow { sentence: reason.sentence.clone(), place, code: reason.code.as_str(), next }
}

fn turn(work: &Work) -> TurnRow {
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
    TurnRow { number: work.number, head, said: view::clip(work.said.trim(), SAID_LINES_MAX) }
}

#[derive(Template)]
#[template(path = "evidence.html")]
struct EvidencePart<'a> {
    cycle: u32,
    test: &'a str,
    failed: &'a [FailedTest],
    failed_more: usize,
    now: String,
    mutants: String,
    coverage: &'a str,
    withheld: String,
    withheld_failed: &'a [String],
    notes: &'a [String],
    refused: &'a [usize],
}

/// The evidence of a cycle, for display next to a hunk.
pub(super) fn evidence(evidence: &Evidence) -> Result<String> {
    let part = EvidencePart {
        cycle: evidence.cycle,
        test: evidence.test.as_deref().unwrap_or_default(),
        failed: &evidence.failed,
        failed_more: evidence.failed_more,
        now: evidence.now.as_ref().map(counts).unwrap_or_default(),
        mutants: evidence.mutants.map(|mutants| mutants.to_string()).unwrap_or_default(),
        coverage: evidence.coverage.as_deref().unwrap_or_default(),
        withheld: withheld(evidence),
        withheld_failed: &evidence.withheld_failed,
        notes: evidence.notes.get(..NOTES_MAX).unwrap_or(&evidence.notes),
        refused: &evidence.refused,
    };
    Ok(part.render()?)
}

/// How many tests were withheld in the cycle, and how many of them the code passes.
fn withheld(evidence: &Evidence) -> String {
    match (evidence.withheld, evidence.withheld_passed) {
        (0, 0) => String::new(),
        (all, 0) if evidence.now.is_none() => format!("{all} withheld tests, not run yet"),
        (all, passed) => format!("{passed} of {} withheld tests passed", all.max(passed)),
    }
}

fn counts(counts: &Counts) -> String {
    let mut words = vec![format!("{} pass now", counts.passed)];
    for (count, word) in
        [(counts.failed, "fail"), (counts.skipped, "skipped"), (counts.load_errors, "do not load")]
    {
        if count > 0 {
            words.push(format!("{count} {word}"));
        }
    }
    words.join(", ")
}

#[derive(Template)]
#[template(path = "comment.html")]
struct CommentPart<'a> {
    id: u64,
    run: &'a str,
    body: &'a str,
    standing: &'static str,
    colour: &'static str,
    place: String,
    writes: bool,
    is_draft: bool,
    is_resolved: bool,
}

pub(super) fn comment(
    placed: &PlacedComment,
    run: &str,
    writes: bool,
    with_place: bool,
) -> Result<String> {
    let comment = &placed.comment;
    let (standing, colour) = match (comment.standing, placed.is_addressed) {
        (CommentStatus::Draft, _) => ("draft", "plain"),
        (CommentStatus::Sent, true) => ("addressed: the code changed here", "accepted"),
        (CommentStatus::Sent, false) => ("sent", "undecided"),
        (CommentStatus::Resolved, _) => ("settled", "accepted"),
    };
    let place = if with_place {
        format!("{}:{}", comment.file.as_str(), comment.line)
    } else {
        String::new()
    };
    let part = CommentPart {
        id: comment.id,
        run,
        body: &comment.body,
        standing,
        colour,
        place,
        writes,
        is_draft: comment.standing == CommentStatus::Draft,
        is_resolved: comment.standing == CommentStatus::Resolved,
    };
    Ok(part.render()?)
}

fn money(spent: &RunCost) -> String {
    if spent.microdollars > 0 { dollars(spent.microdollars) } else { String::new() }
}

fn colour(standing: &str, at_work: bool) -> &'static str {
    match standing {
        _ if at_work => "accepted",
        "merged" | "waiting for a human" | "waiting for you" => "accepted",
        "gave up" | "nothing was developed" | "agent unusable" | "suite does not run" => "refused",
        "aborted" | "under way" => "plain",
        _ => "undecided",
    }
}

fn seconds(ms: u64) -> String {
    format!("{}.{} s", ms / 1000, ms % 1000 / 100)
}
