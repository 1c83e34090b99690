//! `redgreen judge`.

use std::path::PathBuf;
use std::time::Duration;

use anyhow::Result;
use redgreen_core::phase::JudgedPhase;
use redgreen_core::verdict::{Decision, Reason};

use super::CommandContext;
use crate::failure::Code;
use crate::ops::judge::{self, Question};
use crate::view;

/// Judge one step: is it a valid RED, GREEN or REFACTOR?
#[derive(clap::Args, Debug)]
#[command(after_help = "Examples:\n  \
                        redgreen judge red --base main --head HEAD\n  \
                        redgreen judge green --base HEAD~1 --head HEAD --json\n  \
                        redgreen judge green --explain\n  \
                        redgreen judge refactor --head WORKTREE\n  \
                        redgreen judge green --examples ../withheld.toml\n\n\
                        Exit codes: 0 accepted, 1 refused, 3 undecided")]
pub(super) struct Args {
    /// The phase
    phase: PhaseName,
    /// The last accepted commit [default: the parent of the head]
    #[arg(long, value_name = "REV")]
    base: Option<String>,
    /// The commit to judge; WORKTREE for the files in the checkout, INDEX for the staged files
    #[arg(long, value_name = "REV", default_value = "HEAD")]
    head: String,
    /// The request, in words
    #[arg(long, value_name = "TEXT", default_value = "", hide_default_value = true)]
    brief: String,
    /// The request, as a TDD task (JSON); its `examples` are withheld examples
    #[arg(long, value_name = "FILE", conflicts_with = "brief")]
    task: Option<PathBuf>,
    /// Calls with expected results (TOML or JSON), outside of the repository; GREEN must match them
    #[arg(long, value_name = "FILE")]
    examples: Option<PathBuf>,
    /// The command that runs the tests. A command that only has an exit code is used if no
    /// framework is detected
    #[arg(long, value_name = "CMD")]
    test_command: Option<String>,
    /// Timeout for one run of the tests, in seconds
    #[arg(long, value_name = "SECONDS")]
    timeout: Option<f64>,
    /// Accept that installed packages changed since the base was judged, and measure the base again
    #[arg(long)]
    new_packages: bool,
    /// Show every experiment, its result, and how to repeat it
    #[arg(long)]
    explain: bool,
}

#[derive(Clone, Copy, Debug, clap::ValueEnum)]
enum PhaseName {
    Red,
    Green,
    Refactor,
}

impl Args {
    pub(super) fn perform(self, desk: &CommandContext) -> Result<Code> {
        let phase = match self.phase {
            PhaseName::Red => JudgedPhase::Red,
            PhaseName::Green => JudgedPhase::Green,
            PhaseName::Refactor => JudgedPhase::Refactor,
        };
        let timeout = self.timeout.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
        let Self { base, head, brief, task, examples, test_command, new_packages, explain, .. } =
            self;
        let question = Question {
            phase,
            base,
            head,
            brief,
            task,
            examples,
            test_command,
            timeout,
            new_packages,
            explain,
        };
        let project = desk.trusted_project()?;
        let pulse = desk.pulse("judging");
        let judgement = judge::judge(&project, &question)?;
        drop(pulse);
        let word = word(judgement.verdict);
        let reasons: Vec<String> =
            judgement.reasons.iter().map(|told| reason_line(&told.reason)).collect();
        let counts = format!("{}: {}", judgement.ran, judgement.counts);
        let tried = if explain { view::experiments(&judgement.experiments) } else { String::new() };
        let rows = [
            ("why", reasons.join("\n")),
            ("ran", counts),
            ("fence", judgement.fence.clone()),
            ("note", judgement.notes.join("\n")),
            ("tried", tried),
        ];
        let rows: Vec<(&str, &str)> =
            rows.iter().map(|(name, value)| (*name, value.as_str())).collect();
        let next = judgement.reasons.first().map_or("", |told| told.next);
        let text = format!("{phase} {word}\n{}", view::block(&rows, next));
        desk.printer.answer(&text, &judgement);
        Ok(judgement.code())
    }
}

pub(super) fn word(decision: Decision) -> &'static str {
    match decision {
        Decision::Accepted => "accepted",
        Decision::Refused => "refused",
        Decision::Undecided => "undecided",
    }
}

pub(super) fn reason_line(reason: &Reason) -> String {
    let place = match (&reason.file, reason.line) {
        (Some(file), Some(line)) => format!(" ({}:{line})", view::name(file)),
        (Some(file), None) => format!(" ({})", view::name(file)),
        (None, _) => String::new(),
    };
    format!("{}: {}{place}", reason.code.as_str(), reason.sentence)
}
