//! `redgreen why`.

use anyhow::Result;
use redgreen_core::attempts::Summary;
use redgreen_core::verdict::{Decision, Side};

use super::{CommandContext, status};
use crate::failure::Code;
use crate::ops::why;
use crate::view;

/// The maximum number of reasons on one screen.
const REASON_LINES_MAX: usize = 5;
/// Notes may contain two texts to compare.
const NOTE_LINES_MAX: usize = 90;
/// The maximum number of lines of a refused attempt. The report has more.
const DIFF_LINES_MAX: usize = 40;

/// Explain the state of a run on one screen
#[derive(clap::Args, Debug)]
#[command(after_help = "Examples:\n  redgreen why\n  redgreen why k3x9 --json")]
pub(super) struct Args {
    /// The run [default: the only open one, or the last one]
    run: Option<String>,
}

impl Args {
    pub(super) fn perform(self, desk: &CommandContext) -> Result<Code> {
        let why = why::why(&desk.project()?, self.run.as_deref())?;
        let mut rows = status::rows(&why.run);
        rows.push(("gate", why.gate.to_owned()));
        rows.push(("attempts", attempts(&why)));
        if let Some(last) = &why.verdict {
            let word = match last.verdict.decision {
                Decision::Accepted => "accepted",
                Decision::Refused => "refused",
                Decision::Undecided => "undecided",
            };
            let reasons = view::clip(&last.verdict.sentences(), REASON_LINES_MAX);
            rows.push(("verdict", format!("{} {word}\n{reasons}", last.phase)));
            rows.push(("note", view::clip(&last.verdict.notes.join("\n"), NOTE_LINES_MAX)));
            rows.push(("tried", view::experiments(&last.verdict.experiments)));
            rows.push(("ran", last.ran.clone().unwrap_or_default()));
            rows.push(("fault", side(last.side).to_owned()));
            // The next step of the verdict is already done, or never will be.
            let asked = if why.is_over { "" } else { last.next_step };
            rows.push(("asked", asked.to_owned()));
            rows.push(("diff", patch(last.diff.as_deref().unwrap_or_default())));
        }
        rows.push(("doing", why.doing.as_deref().map_or("", doing).to_owned()));
        rows.push(("see", newest(&why.artifacts)));
        let rows: Vec<_> = rows.iter().map(|(name, value)| (*name, value.as_str())).collect();
        let text = format!(
            "{}{}",
            view::title(&why.run.id, &why.run.request),
            view::block(&rows, &why.run.next)
        );
        desk.printer.answer(&text, &why);
        Ok(Code::Done)
    }
}

/// Several attempts: each with its verdict, and why one of them was chosen.
fn attempts(why: &why::Explanation) -> String {
    let lines = match &why.attempts {
        Some(all) => all.lines().into_iter().chain([all.why.clone()]).collect(),
        None => why.run.attempts.iter().map(Summary::line).collect::<Vec<_>>(),
    };
    lines.join("\n")
}

/// A coloured patch without technical lines of git.
fn patch(text: &str) -> String {
    let git = ["diff --git ", "index ", "--- ", "new file mode ", "deleted file mode "];
    let mut lines = text.lines().filter(|line| !git.iter().any(|head| line.starts_with(head)));
    let painted = |line: &str| match line.strip_prefix("+++ b/") {
        Some(path) => view::paint(view::STRONG, path),
        None if line.starts_with('+') => view::paint(view::GOOD, line),
        None if line.starts_with('-') => view::paint(view::BAD, line),
        None => view::paint(view::QUIET, line),
    };
    let mut shown: Vec<String> = lines.by_ref().take(DIFF_LINES_MAX).map(painted).collect();
    let left = lines.count();
    if left > 0 {
        shown.push(format!(
            "and {}: redgreen report --html run.html",
            view::count(left, "more line")
        ));
    }
    shown.join("\n")
}

/// An intent of the journal, for people.
pub(super) fn doing(intent: &str) -> &str {
    match intent {
        "prepare" => "setting up the worktree",
        "measure" => "running the tests and linters before any change",
        "pause" => "waiting before the next attempt",
        "listen" => "reading what you said",
        "ask" => "the agent's turn",
        "attempt" => "several attempts at the phase",
        "compare" => "running the tests of each attempt with the code of the others",
        "choose" => "choosing the best attempt",
        "take" => "taking over the chosen attempt",
        "judge" => "running the tests to judge the turn",
        "lint" => "running the linters",
        "restore" => "reverting unaccepted work",
        "record" => "writing an artifact",
        "commit" => "committing what was accepted",
        "note" => "writing the handoff note",
        "review" => "judging commits that were added to the run's branch",
        "merge" => "merging",
        "discard" => "cleaning up",
        "leave" => "removing the worktree",
        "rollback" => "rolling back",
        "undo" => "undoing the merge",
        other => other,
    }
}

/// The newest artifacts. The folder has all of them.
fn newest(artifacts: &[String]) -> String {
    const ARTIFACTS_MAX: usize = 3;
    artifacts.iter().rev().take(ARTIFACTS_MAX).cloned().collect::<Vec<_>>().join("\n")
}

fn side(side: Side) -> &'static str {
    match side {
        Side::Nobody => "",
        Side::Plan => "with the plan",
        Side::Test => "with the test",
        Side::Code => "with the code",
        Side::Runner => "with the test runner",
    }
}
