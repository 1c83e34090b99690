//! Everything that happens in a fleet, as it happens. The queue reports changes; nothing asks for
//! them again and again.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::Result;
use redgreen_core::fleet::status::Status;
use redgreen_core::names::JobId;

use crate::engine::now;
use crate::process::Stop;
use crate::queue::{Change, Kind, Queue, WorkerV1};

/// How soon a queue that was lost is tried again.
const AGAIN: Duration = Duration::from_secs(1);

/// A change in a fleet.
#[derive(Clone, Copy, Debug)]
pub enum News<'a> {
    Job(&'a Status),
    /// A worker is new or changed.
    Worker {
        before: Option<&'a WorkerV1>,
        worker: &'a WorkerV1,
    },
    /// It ended, or is silent for too long.
    Gone(&'a WorkerV1),
    /// The queue does not answer. It is tried again.
    Lost(&'a str),
}

/// Receives news from several threads.
pub type Tell<'a> = &'a (dyn Fn(News<'_>) + Sync);

/// Tells everything that is not over and every change, until the stop is requested.
pub fn follow(queue: &Queue, stop: &Stop, tell: Tell<'_>) {
    let (jobs, mut workers) = (Mutex::new(Jobs::new()), HashMap::new());
    let follow_jobs = |kind| {
        queue.watch(kind, &mut |change| {
            if let Some(Change { value: Some(bytes), .. }) = change
                && let Ok(status) = serde_json::from_slice::<Status>(bytes)
            {
                jobs.lock().unwrap_or_else(PoisonError::into_inner).hear(status, tell);
            }
            !stop.requested()
        })
    };
    thread::scope(|scope| {
        scope.spawn(|| until_stopped(stop, &|_| {}, || follow_jobs(Kind::Over)));
        scope.spawn(|| {
            until_stopped(stop, &|_| {}, || follow_workers(queue, &mut workers, stop, tell));
        });
        until_stopped(stop, tell, || follow_jobs(Kind::Status));
    });
}

/// A queue that is lost is told once, and tried again.
fn until_stopped(stop: &Stop, tell: Tell<'_>, mut act: impl FnMut() -> Result<()>) {
    let mut told = None;
    while !stop.requested() {
        let words = act().err().map(|error| format!("{error:#}"));
        if words != told
            && let Some(words) = &words
        {
            tell(News::Lost(words));
        }
        told = words;
        stop.sleep(AGAIN).ok();
    }
}

/// What was told about jobs.
struct Jobs {
    known: HashMap<JobId, Status>,
    since: i64,
}

impl Jobs {
    fn new() -> Self {
        Self { known: HashMap::new(), since: now() }
    }

    fn hear(&mut self, status: Status, tell: Tell<'_>) {
        if self.is_news(&status) {
            tell(News::Job(&status));
            self.known.insert(status.id.clone(), status);
        }
    }

    /// After a lost connection, the queue reports everything again.
    fn is_news(&self, status: &Status) -> bool {
        match self.known.get(&status.id) {
            // The records of a job that is over are told by two watches.
            Some(known) if known.state.is_over() => false,
            Some(known) => known != status,
            None => !status.state.is_over() || status.changed_at >= self.since,
        }
    }
}

type Workers = HashMap<String, (WorkerV1, Instant)>;

fn follow_workers(queue: &Queue, known: &mut Workers, stop: &Stop, tell: Tell<'_>) -> Result<()> {
    let silence = queue.silence_max();
    queue.watch(Kind::Worker, &mut |change| {
        match change {
            Some(Change { key, value: Some(bytes) }) => {
                if let Some(worker) = announced(queue, bytes) {
                    let before = known.insert(key.to_owned(), (worker.clone(), Instant::now()));
                    let before = before.as_ref().map(|(before, _)| before);
                    if !before.is_some_and(|before| is_same(before, &worker)) {
                        tell(News::Worker { before, worker: &worker });
                    }
                }
            }
            Some(Change { key, value: None }) => {
                if let Some((worker, _)) = known.remove(key) {
                    tell(News::Gone(&worker));
                }
            }
            None => {}
        }
        // Nothing reports that a worker became silent.
        known.retain(|_, (worker, heard)| {
            let is_silent = heard.elapsed() > silence;
            if is_silent {
                tell(News::Gone(worker));
            }
            !is_silent
        });
        !stop.requested()
    })
}

/// A folder keeps the records of workers that were killed.
fn announced(queue: &Queue, bytes: &[u8]) -> Option<WorkerV1> {
    let worker: WorkerV1 = serde_json::from_slice(bytes).ok()?;
    let silence = i64::try_from(queue.silence_max().as_millis()).unwrap_or(i64::MAX);
    let is_old = now().saturating_sub(worker.seen_at) > silence;
    (!is_old || matches!(queue, Queue::Nats(_))).then_some(worker)
}

fn is_same(one: &WorkerV1, other: &WorkerV1) -> bool {
    *one == WorkerV1 { seen_at: one.seen_at, ..other.clone() }
}
