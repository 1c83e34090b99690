//! `redgreen status`.

use anyhow::Result;
use redgreen_core::event::Outcome;
use redgreen_core::phase::Phase;

use super::CommandContext;
use crate::failure::Code;
use crate::ops;
use crate::ops::status::{self, Overview, Unreadable};
use crate::view;

/// The number of lines of a long reason. `redgreen why` shows the rest.
const STATE_LINES_MAX: usize = 4;

/// The number of messages of the user to show. `--json` has all.
const MESSAGES_MAX: usize = 3;

/// Show open runs and the last run
#[derive(clap::Args, Debug)]
#[command(after_help = "Examples:\n  redgreen status\n  redgreen status --all --json")]
pub(super) struct Args {
    /// Only this run
    run: Option<String>,
    /// All runs
    #[arg(long, conflicts_with = "run")]
    all: bool,
}

impl Args {
    pub(super) fn perform(self, desk: &CommandContext) -> Result<Code> {
        let status = status::status(&desk.project()?, self.run.as_deref(), self.all)?;
        let text = if status.runs.is_empty() && status.unreadable.is_empty() {
            format!(
                "no run yet\n{}",
                view::next_line(&format!("{}, or see it work: redgreen demo", ops::BEGIN))
            )
        } else {
            let runs = status.runs.iter().map(one);
            runs.chain(status.unreadable.iter().map(unread)).collect::<Vec<_>>().join("\n")
        };
        desk.printer.answer(&text, &status);
        Ok(if status.unreadable.is_empty() { Code::Done } else { Code::Environment })
    }
}

/// The rows about the state of a run.
pub(super) fn rows(run: &Overview) -> Vec<(&'static str, String)> {
    let done = run.completed_tests.len();
    let all = done + run.pending_tests.len();
    let tests = format!("{done} of {all} tests done");
    let phase = match run.phase {
        Phase::Complete if run.outcome == Some(Outcome::Aborted) => String::new(),
        Phase::Complete => format!("COMPLETE, {tests}"),
        Phase::Plan | Phase::Red | Phase::Green | Phase::Refactor if all == 0 => {
            format!("{} of cycle {}", run.phase, run.cycle)
        }
        Phase::Plan | Phase::Red | Phase::Green | Phase::Refactor => {
            format!("{} of cycle {}, {tests}", run.phase, run.cycle)
        }
    };
    let state = match (&run.outcome, run.at_work) {
        (_, true) => "at work".to_owned(),
        (Some(outcome), false) => view::clip(&view::outcome(outcome), STATE_LINES_MAX),
        (None, false) => "stopped early; nothing is lost".to_owned(),
    };
    vec![
        ("phase", phase),
        (
            "test",
            run.current_test
                .as_ref()
                .map_or_else(String::new, |test| view::brief(&test.description)),
        ),
        ("withheld", withheld(run)),
        ("state", state),
        ("you said", said(run)),
        (
            "plan",
            if run.plan_edited {
                "edited by you; used by the next PLAN".to_owned()
            } else {
                String::new()
            },
        ),
        ("branch", branch(run)),
        ("spent", view::cost(&run.spent)),
    ]
}

/// Tests that the implementer does not see, or did not see.
fn withheld(run: &Overview) -> String {
    let tests = |count: u64| view::count(usize::try_from(count).unwrap_or(usize::MAX), "test");
    match (run.tests_withheld, run.tests_joined) {
        (0, 0) => String::new(),
        (now, 0) => format!("{} until GREEN is accepted", tests(now)),
        (0, before) => format!("{} of accepted cycles, now part of the test suite", tests(before)),
        (now, before) => {
            format!("{} until GREEN is accepted; {} of earlier cycles", tests(now), tests(before))
        }
    }
}

/// The newest messages of the user, and whether any wait.
fn said(run: &Overview) -> String {
    let newest =
        run.messages.iter().rev().take(MESSAGES_MAX).rev().map(|message| view::brief(message));
    let unread = (run.unread > 0)
        .then(|| format!("({} for the next turn)", view::count(run.unread, "message")));
    newest.chain(unread).collect::<Vec<_>>().join("\n")
}

/// A run that is over has no branch any more.
fn branch(run: &Overview) -> String {
    match &run.outcome {
        Some(Outcome::Merged) => format!("merged into {}", run.target),
        Some(Outcome::Aborted) => String::new(),
        _ => format!("{} for {}", run.branch, run.target),
    }
}

fn one(run: &Overview) -> String {
    let rows = rows(run);
    let rows: Vec<_> = rows.iter().map(|(name, value)| (*name, value.as_str())).collect();
    format!("{}{}", view::title(&run.id, &run.request), view::block(&rows, &run.next))
}

fn unread(run: &Unreadable) -> String {
    let why = std::iter::once(&run.message)
        .chain(&run.evidence)
        .map(String::as_str)
        .collect::<Vec<_>>()
        .join("\n");
    let title = view::title(&run.id, "cannot be read");
    format!("{title}{}", view::block(&[("state", &why)], run.next.as_deref().unwrap_or_default()))
}
