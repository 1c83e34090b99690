//! `redgreen approve` and `redgreen abort`.

use anyhow::Result;
use redgreen_core::event::{Commits, Outcome};

use super::CommandContext;
use super::queue::{QueueArgs, cancelled, who};
use crate::engine::Project;
use crate::failure::Code;
use crate::ops::{self, RunEnd};
use crate::view;

/// Merge a finished run, with your git hooks and signature
#[derive(clap::Args, Debug)]
#[command(
    after_help = "Examples:\n  redgreen approve\n  redgreen approve k3x9\n  redgreen approve --squash\n  redgreen approve --push"
)]
pub(super) struct ApproveArgs {
    /// The run [default: the only open one], or a job of the queue
    run: Option<String>,
    /// Squash the run into one commit; `redgreen salvage` keeps the original commits
    #[arg(long)]
    squash: bool,
    /// Push the target branch to its upstream after the merge
    #[arg(long)]
    push: bool,
    #[command(flatten)]
    queue: QueueArgs,
}

/// End a run without merging it; `redgreen salvage` keeps its commits
#[derive(clap::Args, Debug)]
#[command(after_help = "Examples:\n  redgreen abort\n  redgreen abort k3x9")]
pub(super) struct AbortArgs {
    /// The run [default: the only open one], or a job of the queue
    run: Option<String>,
    #[command(flatten)]
    queue: QueueArgs,
}

impl ApproveArgs {
    pub(super) fn perform(self, desk: &CommandContext) -> Result<Code> {
        if let Some(queue) = self.queue.of_job(desk, self.run.as_deref())? {
            let status =
                ops::fleet::approve(&queue, self.run.as_deref().unwrap_or_default(), &who(desk))?;
            let words = format!(
                "job {} is in the merge queue of {}\n",
                status.id,
                view::name(&status.base)
            );
            desk.printer.answer(&(words + &view::next_line("redgreen fleet")), &status);
            return Ok(Code::Done);
        }
        let commits = if self.squash { Commits::Squashed } else { Commits::Merged };
        let project = desk.trusted_project()?;
        if self.push {
            ops::push::check(&project, self.run.as_deref())?;
        }
        let stopped =
            ops::decide::approve(&project, self.run.as_deref(), commits, &mut desk.watch())?;
        if self.push && stopped.outcome == Outcome::Merged {
            pushed(desk, &project, &stopped)?;
        } else {
            approved(desk, &project, &stopped);
        }
        Ok(stopped.code())
    }
}

/// The closing text of an approved run: what can be done with the merge.
pub(super) fn approved(desk: &CommandContext, project: &Project, stopped: &RunEnd) {
    if stopped.outcome != Outcome::Merged {
        return desk.stopped(stopped);
    }
    // It is merged, even if no place to push it to is found.
    let way = ops::push::way(project, stopped).unwrap_or(None);
    let push = way.as_ref().map(|way| way.command.clone()).unwrap_or_default();
    let page =
        way.and_then(|way| way.pull_request).map(|page| format!("{page}    (once it is pushed)"));
    merged(
        desk,
        stopped,
        &[("push", push), ("pull request", page.unwrap_or_default()), ("undo", undo(stopped))],
    );
}

fn pushed(desk: &CommandContext, project: &Project, stopped: &RunEnd) -> Result<()> {
    match ops::push::push(project, stopped) {
        Ok(way) => {
            if desk.printer.json {
                desk.printer.json_line(&way);
            }
            let words = format!("{} to {}", view::name(&way.branch), view::name(&way.upstream));
            merged(
                desk,
                stopped,
                &[("pushed", words), ("pull request", way.pull_request.unwrap_or_default())],
            );
            Ok(())
        }
        Err(error) => {
            desk.stopped(stopped);
            Err(error)
        }
    }
}

fn merged(desk: &CommandContext, stopped: &RunEnd, rows: &[(&'static str, String)]) {
    desk.stopped_with_rows(stopped, &view::outcome(&stopped.outcome), rows);
}

fn undo(stopped: &RunEnd) -> String {
    format!("redgreen undo {}", stopped.folder.id)
}

impl AbortArgs {
    pub(super) fn perform(self, desk: &CommandContext) -> Result<Code> {
        if let Some(queue) = self.queue.of_job(desk, self.run.as_deref())? {
            return cancelled(desk, &queue, self.run.as_deref().unwrap_or_default());
        }
        let stopped =
            ops::decide::abort(&desk.clearing_project()?, self.run.as_deref(), &mut desk.watch())?;
        desk.stopped(&stopped);
        // The user asked to abort, so the command succeeds.
        Ok(if stopped.outcome == Outcome::Aborted { Code::Done } else { stopped.code() })
    }
}
