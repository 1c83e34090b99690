//! `redgreen doctor`.

use anyhow::Result;

use super::CommandContext;
use super::live_status::LiveStatus;
use crate::failure::Code;
use crate::ops;
use crate::ops::doctor::{self, Check, Finding};
use crate::view::{self, BAD, DOUBT, GOOD, HINT, QUIET, paint};

/// The width of the name column.
const NAME_WIDTH: usize = 10;
const SAW_LINES_MAX: usize = 40;

/// Check that a run can start here
#[derive(clap::Args, Debug)]
#[command(
    after_help = "Runs the tests in this checkout a few times: all, one, one that does not exist, with coverage.\n\
                        Exit codes: 0 a run can start, 4 it cannot. You can choose an agent later.\n\n\
                        Examples:\n  redgreen doctor\n  redgreen doctor --json"
)]
pub(super) struct Args {}

impl Args {
    #[expect(clippy::unused_self, reason = "every verb is performed alike")]
    pub(super) fn perform(self, desk: &CommandContext) -> Result<Code> {
        let pulse = LiveStatus::new(desk.printer, &desk.stop);
        let mut tell = |what: &str| match desk.printer.live_columns() {
            Some(_) => pulse.doing(what),
            None => desk.printer.talk(&paint(QUIET, &format!("{what}\n"))),
        };
        let doctor = doctor::doctor(&desk.folder, &desk.environment, &desk.stop, &mut tell)?;
        drop(pulse);
        let mut text: String = doctor.checks.iter().map(one).collect();
        let bad = doctor.checks.iter().filter(|check| check.finding == Finding::Bad).count();
        let (style, words, next) = match (doctor.ready, &doctor.agent) {
            (true, Some(agent)) => (GOOD, format!("ready: a run would use {agent}"), ops::BEGIN),
            (true, None) => {
                (DOUBT, "ready, but no agent is configured".to_owned(), "redgreen agents")
            }
            (false, _) => (
                BAD,
                format!("a run cannot start: {} to fix", view::count(bad, "problem")),
                "redgreen doctor",
            ),
        };
        text.push_str(&format!("{}\n{}", paint(style, &words), view::next_line(next)));
        desk.printer.answer(&text, &doctor);
        Ok(if doctor.ready { Code::Done } else { Code::Environment })
    }
}

fn one(check: &Check) -> String {
    let (style, mark) = match check.finding {
        Finding::Good => (GOOD, "ok  "),
        Finding::Note => (DOUBT, "note"),
        Finding::Bad => (BAD, "bad "),
    };
    let below = format!("\n{:width$}", "", width = NAME_WIDTH + 6);
    let saw = view::clip(&check.saw, SAW_LINES_MAX).replace('\n', &below);
    let mut text = format!(
        "{} {:<NAME_WIDTH$} {saw}{below}{}",
        paint(style, mark),
        check.name,
        paint(QUIET, &format!("how  {}", view::name(&check.ran)))
    );
    if let Some(fix) = &check.fix {
        text.push_str(&format!("{below}{}  {}", paint(HINT, "fix"), fix.replace('\n', &below)));
    }
    text.push('\n');
    text
}
