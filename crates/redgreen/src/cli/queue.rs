//! `redgreen queue` and `redgreen cancel`, and the options for the location of the queue.

use std::path::PathBuf;
use std::time::Duration;

use anyhow::Result;
use redgreen_core::fleet::status::Status;
use redgreen_core::names::JobId;
use redgreen_core::policy::dollars;

use super::CommandContext;
use crate::config;
use crate::failure::Code;
use crate::ops;
use crate::queue::{Place, Queue};
use crate::view;

/// The location of the queue.
#[derive(clap::Args, Debug, Default)]
pub(super) struct QueueArgs {
    /// The queue: nats://host:4222, tls://host:4222, or a folder [default: a folder in your state
    /// folder]
    #[arg(long, value_name = "QUEUE", env = "REDGREEN_QUEUE", help_heading = HEADING)]
    queue: Option<String>,
    /// The credentials file for the NATS server
    #[arg(long, value_name = "FILE", env = "REDGREEN_NATS_CREDS", hide_env_values = true, help_heading = HEADING)]
    nats_creds: Option<PathBuf>,
    /// A certificate to verify the NATS server with
    #[arg(long, value_name = "FILE", env = "REDGREEN_NATS_CA", help_heading = HEADING)]
    nats_ca: Option<PathBuf>,
    /// Seconds after which a silent worker loses its job; the same for the whole fleet [default:
    /// 30]
    #[arg(long, value_name = "SECONDS", env = "REDGREEN_LEASE", help_heading = HEADING)]
    lease: Option<f64>,
}

const HEADING: &str = "Queue";

impl QueueArgs {
    pub(super) fn open(&self, desk: &CommandContext) -> Result<Queue> {
        let lease =
            self.lease.map(|seconds| config::milliseconds(seconds, "--lease")).transpose()?;
        let place = Place {
            queue: self.queue.clone(),
            credentials: self.nats_creds.clone(),
            certificate: self.nats_ca.clone(),
            lease: lease.map(Duration::from_millis),
        };
        Queue::open(&place, &desk.environment)
    }

    /// The queue, if the name is that of a job, or the beginning of one, and not of a run in this
    /// clone.
    pub(super) fn of_job(
        &self,
        desk: &CommandContext,
        name: Option<&str>,
    ) -> Result<Option<Queue>> {
        let Some(name) = name else { return Ok(None) };
        if JobId::parse(name).is_ok() {
            return self.open(desk).map(Some);
        }
        let is_run = desk.project().is_ok_and(|project| project.store.has(name));
        if is_run {
            return Ok(None);
        }
        match self.open(desk) {
            Ok(queue) => Ok(queue.find(name)?.is_some().then_some(queue)),
            // The default queue may be unreachable; then no run has this name.
            Err(_) if self.queue.is_none() => Ok(None),
            Err(error) => Err(error),
        }
    }
}

/// List the jobs in the queue
#[derive(clap::Args, Debug)]
#[command(after_help = "Examples:\n  redgreen queue\n  redgreen queue --all --json")]
pub(super) struct Args {
    /// Also list jobs that are over
    #[arg(long)]
    all: bool,
    #[command(flatten)]
    queue: QueueArgs,
}

impl Args {
    pub(super) fn perform(self, desk: &CommandContext) -> Result<Code> {
        let jobs = ops::fleet::jobs(&self.queue.open(desk)?, self.all)?;
        let text = match jobs.is_empty() {
            true => format!(
                "the queue is empty\n{}",
                view::next_line("redgreen submit \"<what to build>\"")
            ),
            false => jobs.iter().map(line).collect(),
        };
        desk.printer.answer(&text, &jobs);
        Ok(Code::Done)
    }
}

/// One job in a list.
pub(super) fn line(status: &Status) -> String {
    let mut more = Vec::new();
    more.extend(status.phase.map(|phase| phase.to_string()));
    more.extend(status.worker.as_ref().map(|worker| format!("on {}", view::name(worker))));
    if status.spent.microdollars > 0 {
        more.push(dollars(status.spent.microdollars));
    } else if status.spent.tokens > 0 {
        more.push(format!("{} tokens", status.spent.tokens));
    }
    more.extend(status.remark.as_ref().map(|why| view::name(why).into_owned()));
    let more = if more.is_empty() { String::new() } else { format!("  ({})", more.join(", ")) };
    format!("{}  {:8}  {}{more}\n", status.id, status.state.name(), view::name(&status.headline))
}

/// Take a job out of the queue, or end its run; the commits of the run are kept
#[derive(clap::Args, Debug)]
#[command(after_help = "Examples:\n  redgreen cancel k3x9m2p7qrst\n  redgreen cancel k3x9m2")]
pub(super) struct CancelArgs {
    /// The job, or the beginning of its id
    job: String,
    #[command(flatten)]
    queue: QueueArgs,
}

impl CancelArgs {
    pub(super) fn perform(self, desk: &CommandContext) -> Result<Code> {
        cancelled(desk, &self.queue.open(desk)?, &self.job)
    }
}

pub(super) fn cancelled(desk: &CommandContext, queue: &Queue, job: &str) -> Result<Code> {
    let status = ops::fleet::cancel(queue, job, &who(desk))?;
    let words = match status.state.is_over() {
        true => format!("job {} is aborted\n", status.id),
        false => {
            format!("job {} is being stopped\n{}", status.id, view::next_line("redgreen fleet"))
        }
    };
    desk.printer.answer(&words, &status);
    Ok(Code::Done)
}

/// The author of a decision, as far as git knows.
pub(super) fn who(desk: &CommandContext) -> String {
    let identity = desk.project().and_then(|project| project.git.identity());
    identity.unwrap_or_else(|_| "somebody".to_owned())
}
