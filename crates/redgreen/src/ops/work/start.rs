//! Whether a worker may start a job: its record is readable and allowed, another worker is not the
//! better choice, earlier jobs are done, and the budget of the day suffices.

use std::time::Duration;

use anyhow::Result;
use redgreen_core::fleet::Job;
use redgreen_core::fleet::budget::BudgetError;
use redgreen_core::fleet::status::{
    Candidate, Event, EventSource, JobState, Readiness, Status, leaves_to_others, ready,
};
use redgreen_core::names::Label;

use super::Worker;
use crate::engine::now;
use crate::queue::{Delivery, Queue, Unreadable};

/// How soon a job that cannot start yet comes back.
const NOT_YET: Duration = Duration::from_secs(2);
const NO_BUDGET: Duration = Duration::from_secs(20);
/// How soon a job that this redgreen cannot read comes back. A newer worker may take it meanwhile.
const NOT_FOR_ME: Duration = Duration::from_secs(60);

/// The job of a message and its status, or `None` if the message is handled. A record that this
/// redgreen cannot read is left to newer workers, and does not stop this one.
pub(super) fn records(worker: &Worker<'_>, delivery: &Delivery) -> Result<Option<(Job, Status)>> {
    let queue = worker.queue;
    let status = match queue.status(&delivery.job) {
        Ok(Some(status)) => status,
        Ok(None) => return queue.done(delivery).map(|()| None),
        Err(error) if error.is::<Unreadable>() => {
            (worker.tell)(&format!("job {} is left to others: {error:#}", delivery.job.head()));
            return queue.later(delivery, NOT_FOR_ME).map(|()| None);
        }
        Err(error) => return Err(error),
    };
    match queue.job(&delivery.job) {
        Ok(Some(job)) => Ok(Some((job, status))),
        Ok(None) => queue.done(delivery).map(|()| None),
        Err(error) if error.is::<Unreadable>() => {
            let name = &worker.options.name;
            let why = Label::of(&format!("{name} cannot read this job: {error:#}"));
            defer(worker, delivery, &status, why, NOT_FOR_ME)?;
            Ok(None)
        }
        Err(error) => Err(error),
    }
}

/// Leaves the job to a worker that has not failed with it.
pub(super) fn is_left_to_others(
    worker: &Worker<'_>,
    delivery: &Delivery,
    status: &Status,
) -> Result<bool> {
    if !status.tried.contains(&worker.options.name) {
        return Ok(false);
    }
    let workers = worker.queue.workers()?;
    let candidates: Vec<Candidate<'_>> = workers
        .iter()
        .map(|other| Candidate {
            name: &other.name,
            labels: &other.labels,
            in_trouble: other.trouble.is_some(),
        })
        .collect();
    let leaves = leaves_to_others(status, &worker.options.name, &candidates, now());
    if leaves {
        worker.queue.later(delivery, NOT_YET)?;
    }
    Ok(leaves)
}

fn defer(
    worker: &Worker<'_>,
    delivery: &Delivery,
    status: &Status,
    why: Label,
    pause: Duration,
) -> Result<Start> {
    let queue = worker.queue;
    if status.remark.as_ref() != Some(&why) {
        queue.append(&status.id, EventSource::Anyone, &Event::Deferred { why }, now())?.ok();
    }
    queue.later(delivery, pause)?;
    Ok(Start::No)
}

pub(super) enum Start {
    Yes {
        day: Option<Label>,
    },
    /// The message is handled.
    No,
}

/// Whether earlier jobs are done, and the budget suffices.
pub(super) fn may_start(
    worker: &Worker<'_>,
    delivery: &Delivery,
    job: &Job,
    status: &Status,
) -> Result<Start> {
    let queue = worker.queue;
    if delivery.is_merge() {
        return Ok(Start::Yes { day: None });
    }
    let refuse = |why: Label| -> Result<Start> {
        (worker.tell)(&format!("job {} refused: {why}", status.id.head()));
        // Another worker was faster and already reported it.
        queue.append(&status.id, EventSource::Anyone, &Event::Refused { why }, now())?.ok();
        queue.done(delivery)?;
        Ok(Start::No)
    };
    // `submit` refuses these, but anyone who reaches the queue can write to it.
    if let Some(refusal) = job.refusals().first() {
        return refuse(Label::of(&refusal.to_string()));
    }
    let mut before = Vec::new();
    for id in &job.after {
        before.push((id, queue.status(id)?.map(|status| status.state)));
    }
    match ready(&job.after, |id| before.iter().find(|(known, _)| *known == id)?.1.clone()) {
        Readiness::Yes => {}
        Readiness::NotYet { why } => return defer(worker, delivery, status, why, NOT_YET),
        Readiness::Never { why } => return refuse(why),
    }
    let allowance = queue.allowance()?;
    if allowance.is_unlimited() || status.day.is_some() {
        return Ok(Start::Yes { day: None });
    }
    let today = today();
    match queue.change_day(&today, |day| day.reserve(&allowance, &status.id, &job.limits))? {
        Ok(_) => Ok(Start::Yes { day: Some(Label::of(&today)) }),
        Err(BudgetError::Today { words }) => {
            defer(worker, delivery, status, Label::of(&words), NO_BUDGET)
        }
        Err(BudgetError::Never { words }) => refuse(Label::of(&words)),
        Err(BudgetError::NoLimit { option }) => refuse(Label::of(&format!(
            "the fleet has a daily budget, but the job has no budget: {option}"
        ))),
    }
}

/// Returns what a job has reserved and will not spend.
pub fn settle(queue: &Queue, status: &Status) -> Result<()> {
    let may_spend = matches!(status.state, JobState::Queued | JobState::Running);
    if let (Some(day), false) = (&status.day, may_spend) {
        let (id, spent) = (&status.id, status.spent);
        queue.change_day(day, |day| Ok::<_, ()>(day.settle(id, spent)))?.ok();
    }
    Ok(())
}

/// The day for budgets, the same on every worker.
pub fn today() -> String {
    let date = jiff::Timestamp::from_millisecond(now()).unwrap_or_default();
    date.strftime("%Y-%m-%d").to_string()
}
