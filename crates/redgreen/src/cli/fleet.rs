//! `redgreen fleet`.

use anyhow::Result;
use redgreen_core::fleet::budget::Allowance;
use redgreen_core::fleet::status::{JobState, Status};
use redgreen_core::policy::dollars;

use super::CommandContext;
use super::queue::{QueueArgs, line};
use crate::config;
use crate::failure::Code;
use crate::ops;
use crate::ops::fleet::Fleet;
use crate::queue::{Queue, WorkerV1};
use crate::view;

/// Show workers, jobs and their cost
#[derive(clap::Args, Debug)]
#[command(after_help = "Examples:\n  redgreen fleet\n  redgreen fleet --watch\n  \
                        redgreen fleet --usd-per-day 50 --tokens-per-day 20000000")]
pub(super) struct Args {
    /// Print every change until you stop it
    #[arg(long)]
    watch: bool,
    /// The most that all jobs may spend per day (UTC); 0 removes the limit
    #[arg(long, value_name = "USD")]
    usd_per_day: Option<f64>,
    /// The most tokens that all jobs may use per day (UTC); 0 removes the limit
    #[arg(long, value_name = "N")]
    tokens_per_day: Option<u64>,
    #[command(flatten)]
    queue: QueueArgs,
}

impl Args {
    pub(super) fn perform(self, desk: &CommandContext) -> Result<Code> {
        let queue = self.queue.open(desk)?;
        if self.usd_per_day.is_some() || self.tokens_per_day.is_some() {
            let known = queue.allowance()?;
            let microdollars = self
                .usd_per_day
                .map(|usd| config::microdollars(usd, "--usd-per-day"))
                .transpose()?;
            let set = |new: Option<u64>, known: Option<u64>| {
                new.map_or(known, |new| (new > 0).then_some(new))
            };
            queue.set_allowance(&Allowance {
                tokens: set(self.tokens_per_day, known.tokens),
                microdollars: set(microdollars, known.microdollars),
            })?;
        }
        if self.watch {
            return watch(desk, &queue);
        }
        let fleet = ops::fleet::fleet(&queue)?;
        desk.printer.answer(&words(&fleet), &fleet);
        Ok(Code::Done)
    }
}

/// Prints every change as it happens, without polling.
fn watch(desk: &CommandContext, queue: &Queue) -> Result<Code> {
    let printer = desk.printer;
    queue.watch(&mut |changed| {
        match changed {
            Some(status) if printer.json => printer.json_line(&status),
            Some(status) if status.state.is_over() && status.log.is_empty() => {}
            Some(status) => printer.answer(&(line(&status) + &needs_you(&status)), &status),
            None => {}
        }
        !desk.stop.requested()
    })?;
    Ok(Code::Done)
}

fn needs_you(status: &Status) -> String {
    match status.state {
        JobState::Waiting => view::next_line(&format!("redgreen approve {}", status.id)),
        JobState::Queued
        | JobState::Running
        | JobState::Merging
        | JobState::Merged { .. }
        | JobState::Aborted
        | JobState::Failed
        | JobState::Refused => String::new(),
    }
}

fn words(fleet: &Fleet) -> String {
    let mut text = format!("queue {}\n", view::name(&fleet.queue));
    for worker in &fleet.workers {
        text.push_str(&worker_line(worker));
    }
    if fleet.workers.is_empty() {
        text.push_str("no workers; start one: redgreen work\n");
    }
    for status in &fleet.jobs {
        text.push_str(&line(status));
    }
    text.push_str(&format!("{} finished\n", view::count(fleet.over, "job")));
    let Allowance { tokens, microdollars } = fleet.allowance;
    if let Some(limit) = microdollars {
        let spent = dollars(fleet.spent_today.microdollars);
        text.push_str(&format!("today {spent} of {} are spent or reserved\n", dollars(limit)));
    }
    if let Some(limit) = tokens {
        text.push_str(&format!(
            "today {} of {limit} tokens are spent or reserved\n",
            fleet.spent_today.tokens
        ));
    }
    let waiting = fleet.jobs.iter().find(|status| status.state == JobState::Waiting);
    text + &waiting.map(needs_you).unwrap_or_default()
}

fn worker_line(worker: &WorkerV1) -> String {
    let labels: Vec<&str> = worker.labels.iter().map(|label| label.as_str()).collect();
    let labels =
        if labels.is_empty() { String::new() } else { format!(" [{}]", labels.join(", ")) };
    let trouble =
        worker.trouble.as_ref().map(|why| format!("  ({})", view::name(why))).unwrap_or_default();
    format!(
        "worker {}{labels}  {} of {} at work{trouble}\n",
        view::name(&worker.name),
        worker.jobs.len(),
        worker.slots
    )
}
