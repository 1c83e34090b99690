//! The fleet for a page: its queue is opened when somebody looks at the page for the first time, and
//! watched from then on.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};

use anyhow::Result;

use super::{Fleet, approve, cancel, fleet, follow, say};
use crate::config::Environment;
use crate::process::Stop;
use crate::queue::{Place, Queue};
use crate::view;

/// A decision of a person about a job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Decision {
    Approve,
    Abort,
    Say(String),
}

/// The result of the last decision.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    pub is_good: bool,
    pub text: String,
}

#[derive(Debug)]
pub struct Board {
    place: Place,
    environment: Environment,
    stop: Stop,
    /// The author of decisions.
    who: String,
    opened: Mutex<Option<(Arc<Queue>, JoinHandle<()>)>>,
    /// Counts the changes.
    changes: Arc<AtomicU64>,
    answer: Mutex<Option<Answer>>,
}

impl Board {
    pub fn new(place: Place, environment: Environment, stop: Stop, who: String) -> Self {
        let (opened, changes, answer) = Default::default();
        Self { place, environment, stop, who, opened, changes, answer }
    }

    /// The fleet as it is now, and the result of the last decision.
    pub fn look(&self) -> Result<(Fleet, Option<Answer>)> {
        let queue = self.queue()?;
        Ok((fleet(&queue)?, locked(&self.answer).clone()))
    }

    /// Changes whenever the page would.
    pub fn stamp(&self) -> String {
        self.changes.load(Ordering::Relaxed).to_string()
    }

    /// Performs a decision. Its result is shown on the page.
    pub fn decide(&self, job: &str, decision: &Decision) {
        let decided = self.queue().and_then(|queue| match decision {
            Decision::Approve => {
                let status = approve(&queue, job, &self.who)?;
                Ok(format!("Job {} is in the merge queue of {}.", status.id, status.base))
            }
            Decision::Abort => {
                let status = cancel(&queue, job, &self.who)?;
                let words = if status.state.is_over() { "is aborted" } else { "is being stopped" };
                Ok(format!("Job {} {words}.", status.id))
            }
            Decision::Say(words) => {
                let status = say(&queue, job, words)?;
                Ok(format!("The agents of job {} get the message at their next turn.", status.id))
            }
        });
        let (is_good, text) = match decided {
            Ok(text) => (true, text),
            Err(error) => (false, view::error_lines(&error)),
        };
        *locked(&self.answer) = Some(Answer { is_good, text });
        self.changes.fetch_add(1, Ordering::Relaxed);
    }

    /// Ends the watcher.
    pub fn end(&self) {
        self.stop.request();
        let opened = locked(&self.opened).take();
        if let Some((_, watcher)) = opened {
            watcher.join().ok();
        }
    }

    fn queue(&self) -> Result<Arc<Queue>> {
        let mut opened = locked(&self.opened);
        if let Some((queue, _)) = &*opened {
            return Ok(Arc::clone(queue));
        }
        let queue = Arc::new(Queue::open(&self.place, &self.environment)?);
        let (watched, stop, changes) =
            (Arc::clone(&queue), self.stop.clone(), Arc::clone(&self.changes));
        let watcher = thread::Builder::new().name("fleet".to_owned()).spawn(move || {
            follow::follow(&watched, &stop, &|_| {
                changes.fetch_add(1, Ordering::Relaxed);
            });
        })?;
        *opened = Some((Arc::clone(&queue), watcher));
        Ok(queue)
    }
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
