//! `redgreen queue`, `cancel` and `fleet`, and decisions about a job from anywhere.

use anyhow::Result;
use redgreen_core::fleet::budget::{Allowance, Share};
use redgreen_core::fleet::status::{Event, EventSource, JobState, Status};
use redgreen_core::names::Label;
use redgreen_core::steer;
use serde::Serialize;

use super::work::{settle, today};
use crate::engine::now;
use crate::failure::Failure;
use crate::queue::{Queue, WorkerV1};

/// The visible state of a fleet.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Fleet {
    pub version: u32,
    pub queue: String,
    pub workers: Vec<WorkerV1>,
    /// The jobs that are not over.
    pub jobs: Vec<Status>,
    pub over: usize,
    pub allowance: Allowance,
    pub spent_today: Share,
}

/// The jobs, oldest first. Jobs that are over only on request.
pub fn jobs(queue: &Queue, all: bool) -> Result<Vec<Status>> {
    let jobs = queue.statuses()?;
    Ok(jobs.into_iter().filter(|status| all || !status.state.is_over()).collect())
}

pub fn fleet(queue: &Queue) -> Result<Fleet> {
    let all = queue.statuses()?;
    let over = all.iter().filter(|status| status.state.is_over()).count();
    Ok(Fleet {
        version: 1,
        queue: queue.name(),
        workers: queue.workers()?,
        jobs: all.into_iter().filter(|status| !status.state.is_over()).collect(),
        over,
        allowance: queue.allowance()?,
        spent_today: queue.day(&today())?.total(),
    })
}

/// Ends a job: at once if no worker has it, otherwise as soon as its worker notices.
pub fn cancel(queue: &Queue, job: &str, by: &str) -> Result<Status> {
    let status = find(queue, job)?;
    let status = tell(queue, &status, &Event::StopAsked { by: Label::of(by) })?;
    // No worker has it any more, so nobody else returns its reservation.
    settle(queue, &status)?;
    Ok(status)
}

/// Puts a job that waits into the merge queue of its target.
pub fn approve(queue: &Queue, job: &str, by: &str) -> Result<Status> {
    let status = find(queue, job)?;
    // An approval that was interrupted is repeated.
    let status = match status.state {
        JobState::Merging => status,
        _ => tell(queue, &status, &Event::Approved { by: Label::of(by) })?,
    };
    queue.send_merge(&status)?;
    Ok(status)
}

/// A message for the agents of a job. Its worker gets it with the next heartbeat.
pub fn say(queue: &Queue, job: &str, words: &str) -> Result<Status> {
    let status = find(queue, job)?;
    let text = steer::words(words).map_err(|why| {
        Failure::usage("cannot send this message")
            .evidence(why.to_string())
            .next("redgreen say JOB \"<words>\"")
    })?;
    if let Some(secret) = redgreen_core::guard::secret::find(&text).first() {
        let line = format!("line {} looks like a credential ({})", secret.line, secret.rule);
        return Err(Failure::usage("cannot send this message: the queue must not contain secrets")
            .evidence(line)
            .into());
    }
    tell(queue, &status, &Event::Said { text })
}

fn find(queue: &Queue, job: &str) -> Result<Status> {
    match queue.find(job)? {
        Some(status) => Ok(status),
        None => Err(Failure::usage(format!("there is no job {job:?} in {}", queue.name()))
            .next("redgreen queue --all")
            .into()),
    }
}

fn tell(queue: &Queue, status: &Status, event: &Event) -> Result<Status> {
    match queue.append(&status.id, EventSource::Anyone, event, now())? {
        Ok(status) => Ok(status),
        Err(rejected) => Err(Failure::usage(format!("job {}: {rejected}", status.id))
            .next("redgreen queue")
            .into()),
    }
}
