//! `redgreen fleet`.

use anyhow::Result;
use redgreen_core::fleet::budget::Allowance;
use redgreen_core::fleet::status::{JobState, Status};
use redgreen_core::policy::dollars;
use serde::Serialize;

use super::CommandContext;
use super::queue::{QueueArgs, line};
use crate::config;
use crate::failure::Code;
use crate::ops;
use crate::ops::fleet::Fleet;
use crate::ops::fleet::follow::{News, follow};
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
            return Ok(watch(desk, &queue));
        }
        let fleet = ops::fleet::fleet(&queue)?;
        desk.printer.answer(&words(&fleet), &fleet);
        Ok(Code::Done)
    }
}

/// A change of a worker, for programs.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct WorkerChange<'a> {
    version: u32,
    worker: &'a WorkerV1,
    /// It ended, or is silent for too long.
    gone: bool,
}

/// Prints every change as it happens, without polling.
fn watch(desk: &CommandContext, queue: &Queue) -> Code {
    let printer = desk.printer;
    follow(queue, &desk.stop, &|news| match news {
        News::Job(status) => printer.answer(&(line(status) + &needs_you(status)), status),
        // The work itself is told by the jobs.
        News::Worker { before: Some(before), worker } if before.trouble == worker.trouble => {}
        News::Worker { worker, .. } => {
            printer.answer(&worker_line(worker), &WorkerChange { version: 1, worker, gone: false });
        }
        News::Gone(worker) => printer.answer(
            &format!("worker {}  gone\n", view::name(&worker.name)),
            &WorkerChange { version: 1, worker, gone: true },
        ),
        News::Lost(words) => {
            printer.talk(&view::notice_line(&format!("{words}; trying again")));
        }
    });
    Code::Done
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
    for words in budget_lines(fleet) {
        text.push_str(&format!("{words}\n"));
    }
    let waiting = fleet.jobs.iter().find(|status| status.state == JobState::Waiting);
    text + &waiting.map(needs_you).unwrap_or_default()
}

/// What all jobs of the day have spent, if there is a limit.
pub(super) fn budget_lines(fleet: &Fleet) -> Vec<String> {
    let Allowance { tokens, microdollars } = fleet.allowance;
    let money = microdollars.map(|limit| {
        let spent = dollars(fleet.spent_today.microdollars);
        format!("today {spent} of {} are spent or reserved", dollars(limit))
    });
    let tokens = tokens.map(|limit| {
        format!("today {} of {limit} tokens are spent or reserved", fleet.spent_today.tokens)
    });
    money.into_iter().chain(tokens).collect()
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
