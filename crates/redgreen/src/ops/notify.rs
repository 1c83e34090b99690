//! Runs the user's command when a run waits for them.

use std::time::Duration;

use redgreen_core::event::Outcome;
use redgreen_core::tally;
use redgreen_core::text;

use super::RunEnd;
use crate::engine::{Observer, Progress, Project};
use crate::process::{Limits, Program};

/// A slower command is ended: the run is done, and the user wants the terminal back.
const TIME_MAX: Duration = Duration::from_secs(10);
const OUTPUT_BYTES_MAX: usize = 4 << 10;
const MESSAGE_CHARS_MAX: usize = 200;

/// Runs `notify.command` with a sentence as its last argument, if the run needs somebody. Failures
/// are only reported.
pub(super) fn waits(project: &Project, stopped: &RunEnd, observe: Observer<'_>) {
    let Some((name, args)) = project.file.notify.command.split_first() else { return };
    if !needs_somebody(&stopped.outcome) {
        return;
    }
    let program = Program::new(name).args(args).arg(sentence(stopped)).cwd(&project.git.root);
    let program =
        project.environment.secrets.iter().fold(program, |program, name| program.env_remove(name));
    let limits = Limits { wall: TIME_MAX, output_bytes_max: OUTPUT_BYTES_MAX };
    let failed = match program.output(limits, &project.stop) {
        Ok(output) if output.success() => return,
        Ok(output) => output.exit.to_string(),
        Err(error) => format!("{error:#}"),
    };
    observe(Progress::Remark(&format!(
        "notify.command {} failed: {failed}",
        text::on_one_line(name)
    )));
}

/// No shell reads it, so nothing in it is a command.
fn sentence(stopped: &RunEnd) -> String {
    let why = match &stopped.outcome {
        Outcome::Paused { after, trouble: None } => {
            format!("{after} is accepted and the run is paused")
        }
        Outcome::Paused { trouble: Some(trouble), .. }
        | Outcome::MergeBlocked { trouble }
        | Outcome::Undecided { trouble, .. }
        | Outcome::GaveUp { trouble, .. }
        | Outcome::NothingDeveloped { trouble }
        | Outcome::AgentUnusable { trouble }
        | Outcome::BaselineUnusable { trouble } => {
            trouble.message.lines().next().unwrap_or_default().to_owned()
        }
        Outcome::BudgetSpent { what } => what.clone(),
        Outcome::Waiting => "all phases are accepted".to_owned(),
        Outcome::Merged | Outcome::Aborted | Outcome::Interrupted | Outcome::RolledBack { .. } => {
            String::new()
        }
    };
    let words =
        format!("run {}, {}: {why}", stopped.folder.id.tail(), tally::standing(&stopped.state));
    text::on_one_line(&words.chars().take(MESSAGE_CHARS_MAX).collect::<String>()).into_owned()
}

fn needs_somebody(outcome: &Outcome) -> bool {
    match outcome {
        Outcome::Waiting
        | Outcome::Paused { .. }
        | Outcome::MergeBlocked { .. }
        | Outcome::Undecided { .. }
        | Outcome::GaveUp { .. }
        | Outcome::NothingDeveloped { .. }
        | Outcome::AgentUnusable { .. }
        | Outcome::BaselineUnusable { .. }
        | Outcome::BudgetSpent { .. } => true,
        Outcome::Merged | Outcome::Aborted | Outcome::Interrupted | Outcome::RolledBack { .. } => {
            false
        }
    }
}
