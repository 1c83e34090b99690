//! The contents of the pages. The templates only arrange it.

use anyhow::Result;
use askama::Template;
use redgreen_core::names::RunId;
use redgreen_core::phase::Phase;
use redgreen_core::policy::{RunCost, dollars};
use redgreen_core::report::Counts;
use redgreen_core::review::comment::{CommentStatus, Side};
use redgreen_core::steps::Steps;
use redgreen_core::tally;
use redgreen_core::verdict::Decision;

use super::{code, step};
use crate::cli::report::html::{decision, sign};
use crate::cli::why;
use crate::ops::ui::{
    Actions, Diff, Evidence, FailedTest, Notice, PlacedComment, Row, RunStatus, View,
};
use crate::view;

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

    /// The address of a view of the same run.
    pub(super) fn address(self, view: View) -> String {
        let layout = if self == Self::Split { "&layout=split" } else { "" };
        format!("?view={}{layout}", view.name())
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
    what: &'a str,
    words: &'a str,
}

pub(super) fn transcript(chrome: Chrome, id: &str, what: &str, words: &str) -> Result<String> {
    let Chrome { name, read_only } = chrome;
    Ok(TranscriptPage { name, read_only, id, what, words }.render()?)
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
    /// When the current action began, in milliseconds since 1970.
    since: Option<i64>,
    notice: Option<Notice>,
    tiles: Vec<(String, String)>,
    cycles: Vec<CycleRow>,
    pending: &'a [String],
    said: &'a [String],
    attempts: String,
    can: Actions,
    drafts: usize,
    unread: usize,
    resume_words: &'static str,
    view: String,
    whole: String,
    layout: &'static str,
    other_layout: String,
    is_live: bool,
    detail: String,
    diff_title: String,
    diff: String,
}

struct CycleRow {
    number: u32,
    test: String,
    address: String,
    is_open: bool,
    is_current: bool,
    /// How many steps were not accepted.
    refused: usize,
    steps: Vec<StepRow>,
}

impl CycleRow {
    fn new(number: u32, shown: &PageContent) -> Self {
        let view = View::Cycle(number);
        Self {
            number,
            test: String::new(),
            address: shown.layout.address(view),
            is_open: shown.view == view,
            is_current: shown.view == view,
            refused: 0,
            steps: Vec::new(),
        }
    }
}

struct StepRow {
    address: String,
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
            // The attempts are listed below.
            let lines = if now.can.choose { 1 } else { usize::MAX };
            let words = words.lines().take(lines).collect::<Vec<_>>().join("\n");
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
            let detail = step::detail(steps, shown, &id)?;
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
        since: steps.doing.as_ref().map(|(_, at)| *at).filter(|_| now.at_work),
        notice: now.notice.clone(),
        tiles: tiles(steps),
        cycles: cycles(steps, shown),
        pending: &steps.pending,
        said: &steps.said,
        attempts: step::attempts_now(steps, shown, &id, now.can.choose && !read_only)?,
        can: now.can,
        drafts: shown.drafts,
        unread: now.unread,
        resume_words: if now.can.reject { "Accept and continue" } else { "Continue" },
        view: shown.view.name(),
        whole: shown.layout.address(View::Whole),
        layout: shown.layout.name(),
        other_layout: shown.layout.other().address(shown.view),
        is_live: shown.diff.is_none(),
        detail,
        diff_title,
        diff,
        id,
    };
    Ok(page.render()?)
}

fn doing(steps: &Steps) -> String {
    let test = steps.current.as_ref().map(|test| format!(": {test}")).unwrap_or_default();
    let last = steps
        .steps
        .last()
        .map(|step| format!(" · {} {}", step.phase, decision(step.verdict.decision)));
    let now = steps.doing.as_ref().map(|(intent, _)| format!(" · now {}", why::doing(intent)));
    format!("cycle {}{test}{}{}", steps.cycle, last.unwrap_or_default(), now.unwrap_or_default())
}

fn diff_title(view: View, diff: &Diff) -> String {
    let files = view::count(diff.files.len(), "file");
    match view {
        View::Whole => format!("The whole run · {files}"),
        View::Cycle(cycle) => format!("Cycle {cycle} · {files}"),
        View::Step(step) => format!("Step {step} · {files}"),
        View::Attempt { number, .. } => format!("Attempt {number} · {files}"),
    }
}

fn tiles(steps: &Steps) -> Vec<(String, String)> {
    let accepted =
        steps.steps.iter().filter(|step| step.verdict.decision == Decision::Accepted).count();
    let refused = steps.steps.len() - accepted;
    let mut tiles = vec![
        (steps.cycles().to_string(), "cycles done".to_owned()),
        (format!("{accepted} / {refused}"), "steps accepted / not".to_owned()),
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

fn cycles(steps: &Steps, shown: &PageContent) -> Vec<CycleRow> {
    let mut rows: Vec<CycleRow> = Vec::new();
    for (number, step) in steps.steps.iter().enumerate() {
        let is_current = match shown.view {
            View::Step(current) | View::Attempt { step: current, .. } => current == number,
            View::Whole | View::Cycle(_) => false,
        };
        let row = StepRow {
            address: shown.layout.address(View::Step(number)),
            phase: step.phase,
            word: decision(step.verdict.decision),
            sign: sign(step.verdict.decision),
            took: seconds(step.took_ms),
            is_current,
        };
        let known = rows.iter().rposition(|known| known.number == step.cycle);
        let at = known.unwrap_or_else(|| {
            rows.push(CycleRow::new(step.cycle, shown));
            rows.len() - 1
        });
        let Some(cycle) = rows.get_mut(at) else { continue };
        cycle.is_open |= is_current;
        cycle.refused += usize::from(step.verdict.decision != Decision::Accepted);
        if cycle.test.is_empty() {
            cycle.test = step.test.clone().unwrap_or_default();
        }
        cycle.steps.push(row);
    }
    for row in rows.iter_mut().filter(|row| row.test.is_empty()) {
        if row.steps.iter().all(|step| step.phase == Phase::Plan) {
            row.test = "planning".to_owned();
        }
    }
    if let Some(last) = rows.last_mut() {
        last.is_open = true;
    }
    rows
}

#[derive(Template)]
#[template(path = "evidence.html")]
struct EvidencePart<'a> {
    cycle: u32,
    address: String,
    test: &'a str,
    failed: &'a [FailedTest],
    failed_more: usize,
    now: String,
    passes: &'a [String],
    passes_more: usize,
    mutants: String,
    coverage: &'a str,
    withheld: String,
    withheld_failed: &'a [String],
    notes: &'a [String],
    /// The number and the address of each.
    refused: Vec<(usize, String)>,
}

/// The evidence of a cycle, for display next to a hunk.
pub(super) fn evidence(evidence: &Evidence, layout: Layout) -> Result<String> {
    let part = EvidencePart {
        cycle: evidence.cycle,
        address: layout.address(View::Cycle(evidence.cycle)),
        test: evidence.test.as_deref().unwrap_or_default(),
        failed: &evidence.failed,
        failed_more: evidence.failed_more,
        now: evidence.now.as_ref().map(counts).unwrap_or_default(),
        passes: &evidence.passes,
        passes_more: evidence.passes_more,
        mutants: evidence.mutants.map(|mutants| mutants.to_string()).unwrap_or_default(),
        coverage: evidence.coverage.as_deref().unwrap_or_default(),
        withheld: withheld(evidence),
        withheld_failed: &evidence.withheld_failed,
        notes: evidence.notes.get(..NOTES_MAX).unwrap_or(&evidence.notes),
        refused: evidence
            .refused
            .iter()
            .map(|number| (*number, layout.address(View::Step(*number))))
            .collect(),
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
    let mut words = vec![match counts.passed {
        1 => "1 test passes now".to_owned(),
        passed => format!("{passed} tests pass now"),
    }];
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
    file: &'a str,
    side: &'static str,
    line: u32,
    tree: &'a str,
    code: &'a str,
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
        file: comment.file.as_str(),
        side: match comment.side {
            Side::New => "new",
            Side::Old => "old",
        },
        line: comment.line,
        tree: comment.tree.as_str(),
        code: &comment.code,
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

pub(super) fn seconds(ms: u64) -> String {
    format!("{}.{} s", ms / 1000, ms % 1000 / 100)
}
