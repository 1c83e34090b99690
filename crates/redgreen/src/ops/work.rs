//! `redgreen work`: takes jobs from a queue and runs them, each in its own checkout, with the
//! ordinary engine in its own process. If anything dies, the queue gives the job to another worker,
//! which continues from the last pushed phase.

mod attempt;
mod checkouts;
mod ending;
mod merging;
mod record;

use attempt::Attempted;
pub use attempt::{settle, today, usual_home};

use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use redgreen_core::fleet::lanes_for;
use redgreen_core::fleet::status::JobState;
use redgreen_core::names::{JobId, Label, Repository, Tag};
use serde::Serialize;

use crate::agent::choice::Choice;
use crate::config::Environment;
use crate::engine::now;
use crate::process::Stop;
use crate::queue::{Delivery, Queue, WorkerV1};

/// How long a worker pauses after a problem of its own. The pause doubles, up to the second value.
const TROUBLE_PAUSE_MIN: Duration = Duration::from_millis(500);
const TROUBLE_PAUSE_MAX: Duration = Duration::from_secs(60);
/// The free space that a job needs.
const SPACE_BYTES: &[u8] = &[0; 1 << 20];

/// The options of a worker.
#[derive(Clone, Debug)]
pub struct Options {
    pub name: Label,
    /// Jobs at a time.
    pub jobs: usize,
    pub labels: Vec<Tag>,
    /// Repositories whose commands may run. All of them if the environment says so.
    pub trusted: Vec<Repository>,
    /// The agents for jobs that name none.
    pub agents: Choice,
    /// The folder for checkouts and for the cache of git objects.
    pub home: PathBuf,
    /// Ends when no job is left to take or to wait for.
    pub until_empty: bool,
}

/// The result of a worker.
#[derive(Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct WorkerResult {
    pub version: u32,
    pub jobs: u64,
}

/// Receives progress messages.
pub type Tell<'a> = &'a (dyn Fn(&str) + Sync);

struct Worker<'a> {
    queue: &'a Queue,
    options: &'a Options,
    environment: &'a Environment,
    stop: &'a Stop,
    tell: Tell<'a>,
    at_work: Mutex<Vec<JobId>>,
    trouble: Mutex<Option<Label>>,
    done: AtomicU64,
}

/// Works until the user stops it, or no job is left.
pub fn work(
    queue: &Queue,
    options: &Options,
    environment: &Environment,
    stop: &Stop,
    tell: Tell<'_>,
) -> Result<WorkerResult> {
    checkouts::prepare(&options.home)?;
    let (at_work, trouble, done) = (Mutex::default(), Mutex::default(), AtomicU64::new(0));
    let worker = Worker { queue, options, environment, stop, tell, at_work, trouble, done };
    // Slots stop by themselves, and the announcements stop with the last of them.
    let over = Stop::default();
    thread::scope(|scope| {
        let announcer = scope.spawn(|| worker.announce(&over));
        let slots: Vec<_> =
            (0..options.jobs.max(1)).map(|_| scope.spawn(|| worker.slot())).collect();
        for slot in slots {
            slot.join().ok();
        }
        over.request();
        announcer.join().ok();
    });
    queue.leave(&worker.key()).ok();
    Ok(WorkerResult { version: 1, jobs: worker.done.load(Ordering::Relaxed) })
}

impl Worker<'_> {
    /// Takes jobs one after another.
    fn slot(&self) {
        let mut pause = TROUBLE_PAUSE_MIN;
        while !self.stop.requested() {
            match self.one() {
                Ok(Claimed::Job) => pause = TROUBLE_PAUSE_MIN,
                Ok(Claimed::Nothing) if self.options.until_empty && self.is_over() => return,
                Ok(Claimed::Nothing) => {
                    if self.queue.wait().is_err() {
                        self.stop.sleep(pause).ok();
                    }
                }
                Ok(Claimed::Trouble(why)) => {
                    self.pause(why, &mut pause);
                    continue;
                }
                Err(error) => {
                    let words = format!("{error:#}");
                    (self.tell)(&words);
                    self.pause(Label::of(&words), &mut pause);
                    if self.options.until_empty && self.is_over() {
                        return;
                    }
                    continue;
                }
            }
            *self.trouble.lock().unwrap_or_else(PoisonError::into_inner) = None;
        }
    }

    /// Others get the jobs meanwhile.
    fn pause(&self, why: Label, pause: &mut Duration) {
        *self.trouble.lock().unwrap_or_else(PoisonError::into_inner) = Some(why);
        self.stop.sleep(*pause).ok();
        *pause = (2 * *pause).min(TROUBLE_PAUSE_MAX);
    }

    /// Takes a job, if there is one, and runs it.
    fn one(&self) -> Result<Claimed> {
        self.has_space()?;
        let lanes = lanes_for(&self.options.labels, &self.queue.lanes()?);
        let Some(delivery) = self.queue.take(&lanes)? else { return Ok(Claimed::Nothing) };
        self.at_work.lock().unwrap_or_else(PoisonError::into_inner).push(delivery.job.clone());
        let done = self.deliver(&delivery);
        self.at_work
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .retain(|job| *job != delivery.job);
        if let Attempted::Trouble(why) = done? {
            return Ok(Claimed::Trouble(why));
        }
        self.done.fetch_add(1, Ordering::Relaxed);
        Ok(Claimed::Job)
    }

    fn deliver(&self, delivery: &Delivery) -> Result<Attempted> {
        match attempt::attempt(self, delivery) {
            Ok(attempted) => Ok(attempted),
            Err(error) => {
                // If even this fails, the lease ends by itself.
                self.queue.later(delivery, TROUBLE_PAUSE_MIN).ok();
                Err(error.context(format!("job {}", delivery.job.head())))
            }
        }
    }

    /// No job is left for anyone.
    fn is_over(&self) -> bool {
        let busy = |state: &JobState| {
            matches!(state, JobState::Queued | JobState::Running | JobState::Merging)
        };
        self.queue.statuses().is_ok_and(|all| !all.iter().any(|status| busy(&status.state)))
    }

    /// A worker with a full disk leaves the jobs to others.
    fn has_space(&self) -> Result<()> {
        use std::io::Write;
        let folder = self.options.home.join("jobs");
        let written =
            tempfile::tempfile_in(&folder).and_then(|mut file| file.write_all(SPACE_BYTES));
        written.with_context(|| {
            format!("write to {}; this worker takes no jobs until this is fixed", folder.display())
        })
    }

    /// Repeatedly announces this worker.
    fn announce(&self, over: &Stop) {
        let every = self.queue.lease() / 2;
        while !over.requested() {
            let worker = WorkerV1 {
                version: 1,
                name: self.options.name.clone(),
                labels: self.options.labels.clone(),
                jobs: self.at_work.lock().unwrap_or_else(PoisonError::into_inner).clone(),
                slots: self.options.jobs.max(1),
                trouble: self.trouble.lock().unwrap_or_else(PoisonError::into_inner).clone(),
                seen_at: now(),
            };
            // If the server is unreachable, this is repeated later.
            self.queue.announce(&self.key(), &worker).ok();
            over.sleep(every).ok();
        }
    }

    /// Unique, even if two workers have the same name.
    fn key(&self) -> String {
        let plain = |letter: char| if letter.is_ascii_alphanumeric() { letter } else { '-' };
        let name: String = self.options.name.chars().map(plain).take(40).collect();
        format!("{name}-{}", std::process::id())
    }
}

enum Claimed {
    Job,
    /// This worker could not work on it.
    Trouble(Label),
    Nothing,
}

/// When a lease was last extended.
struct LeaseClock(Mutex<Instant>);

impl LeaseClock {
    fn new() -> Self {
        Self(Mutex::new(Instant::now()))
    }

    fn beat(&self) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Instant::now();
    }

    fn since(&self) -> Duration {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).elapsed()
    }
}
