//! A large fleet on a real nats-server, with agents that do nothing: how long a job takes to reach
//! one of many idle workers, what idle workers and jobs cost the server, and how many jobs it
//! handles. Each worker has a connection of its own, as on a machine of its own.

use std::fs;
use std::path::Path;
use std::sync::mpsc::{self, Sender};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use redgreen_core::fleet::lanes_for;
use redgreen_core::names::Label;

use super::fleet::{as_float, job, milliseconds, on_server, open, opened, perform};
use super::{Length, Measure};
use crate::config::Environment;
use crate::engine::now;
use crate::process::Stop;
use crate::queue::{Queue, WorkerV1};

/// How long idle workers are counted. Each announces itself in this time.
const IDLE: Duration = Duration::from_secs(20);
/// How many jobs reach idle workers one by one.
const SINGLE_JOBS: usize = 21;
/// How long a job may need to reach a worker.
const ARRIVES_MAX: Duration = Duration::from_secs(60);
/// Opening so many connections at once would need a long queue of the listener.
const CONNECT_PAUSE: Duration = Duration::from_millis(2);

impl Length {
    /// The numbers of workers, and the jobs for them at full speed.
    fn fleets(self) -> (&'static [usize], usize) {
        match self {
            Self::Quick => (&[10], 200),
            Self::Full => (&[10, 100, 1_000], 2_000),
        }
    }
}

pub(super) fn measures(
    folder: &Path,
    length: Length,
    environment: &Environment,
    stop: &Stop,
    tell: &mut dyn FnMut(&str),
) -> Result<Vec<Measure>> {
    if !environment.has_program("nats-server") {
        tell("skipping large fleets: nats-server is not on the PATH");
        return Ok(Vec::new());
    }
    let mut all = Vec::new();
    let (fleets, jobs) = length.fleets();
    for workers in fleets {
        let store = folder.join(format!("scale-nats-{workers}"));
        let fleet = Fleet { workers: *workers, jobs, environment, stop };
        let (measured, peak) = on_server(&store, stop, |url| fleet.measures(url, tell))?;
        all.extend(measured);
        let bytes = size_of(&store).with_context(|| format!("measure {}", store.display()))?;
        all.push(Measure {
            peak_memory_bytes: peak,
            bytes_sent: Some(bytes / u64::try_from(jobs + SINGLE_JOBS)?),
            requests: Some(0),
            ..Measure::new(format!("the server of {workers} workers: disk per job, memory"), 0.0)
        });
    }
    Ok(all)
}

struct Fleet<'a> {
    workers: usize,
    jobs: usize,
    environment: &'a Environment,
    stop: &'a Stop,
}

impl Fleet<'_> {
    fn measures(&self, url: &str, tell: &mut dyn FnMut(&str)) -> Result<Vec<Measure>> {
        let (queue, workers) = (opened(url, self.environment, self.stop)?, self.workers);
        tell(&format!("{workers} workers connect"));
        let over = self.stop.part();
        let (done, finished) = mpsc::channel::<Instant>();
        let connected: Result<Vec<Queue>> = (0..workers)
            .map(|_| {
                thread::sleep(CONNECT_PAUSE);
                open(url, self.environment)
            })
            .collect();
        let connected = connected?;
        let traffic = || {
            connected
                .iter()
                .map(Queue::traffic)
                .fold((0, 0), |(messages, bytes), (more, size)| (messages + more, bytes + size))
        };
        thread::scope(|scope| {
            for (number, own) in connected.iter().enumerate() {
                let (done, over) = (done.clone(), &over);
                thread::Builder::new()
                    .name("worker".to_owned())
                    .spawn_scoped(scope, move || worker(own, number, over, &done))
                    .context("start a worker")?;
            }
            let measured = self.rounds(&queue, &finished, &traffic, tell);
            over.request();
            measured
        })
    }

    fn rounds(
        &self,
        queue: &Queue,
        finished: &mpsc::Receiver<Instant>,
        traffic: &dyn Fn() -> (u64, u64),
        tell: &mut dyn FnMut(&str),
    ) -> Result<Vec<Measure>> {
        let workers = self.workers;
        tell(&format!("{workers} workers are idle"));
        self.stop.sleep(Duration::from_secs(2))?;
        let before = traffic();
        self.stop.sleep(IDLE)?;
        let idle = since(before, traffic());
        let mut all = vec![Measure {
            requests: Some(idle.0 / IDLE.as_secs()),
            bytes_sent: Some(idle.1 / IDLE.as_secs()),
            ..Measure::new(format!("{workers} idle workers for a second"), 1_000.0)
        }];

        tell(&format!("a job for one of {workers} idle workers"));
        let mut times = Vec::new();
        for number in 0..SINGLE_JOBS {
            queue.submit(&job(&format!("single job {number}"))?, now())?;
            let begun = Instant::now();
            let taken = finished.recv_timeout(ARRIVES_MAX).context("wait for a worker")?;
            times.push(milliseconds(taken.saturating_duration_since(begun)));
            // All workers are idle again.
            self.stop.sleep(Duration::from_millis(200))?;
        }
        times.sort_by(f64::total_cmp);
        let median = times.get(times.len() / 2).copied().context("the median time")?;
        all.push(Measure::new(format!("a job reaches one of {workers} idle workers"), median));

        let jobs = self.jobs;
        tell(&format!("{jobs} jobs for {workers} workers"));
        let (before, begun) = (traffic(), Instant::now());
        for number in 0..jobs {
            queue.submit(&job(&format!("job {number}"))?, now())?;
        }
        for _ in 0..jobs {
            finished.recv_timeout(ARRIVES_MAX).context("wait for the workers")?;
        }
        let took = milliseconds(begun.elapsed());
        let cost = since(before, traffic());
        let count = u64::try_from(jobs)?;
        all.push(Measure {
            requests: Some(cost.0 / count),
            bytes_sent: Some(cost.1 / count),
            ..Measure::new(format!("a job at full speed, {workers} workers"), took / as_float(jobs))
        });
        let open = queue.statuses()?.len();
        ensure!(open == jobs + SINGLE_JOBS, "{open} jobs wait for a human, not all of them");
        Ok(all)
    }
}

/// What `redgreen work` does, with an agent that does nothing.
fn worker(queue: &Queue, number: usize, over: &Stop, done: &Sender<Instant>) {
    let name = Label::of(&format!("worker {number}"));
    let (mut listener, mut announced) = (None, None::<Instant>);
    while !over.requested() {
        if announced.is_none_or(|at| at.elapsed() > queue.lease() / 2) {
            announce(queue, &name).ok();
            announced = Some(Instant::now());
        }
        // An error is tried again, as by a worker.
        match take(queue, &name, done) {
            Ok(true) => listener = None,
            Ok(false) => match &mut listener {
                Some(listener) => queue.wait(listener),
                None => listener = queue.listen("any").ok(),
            },
            Err(_) => {
                over.sleep(Duration::from_millis(100)).ok();
            }
        }
    }
}

fn take(queue: &Queue, name: &Label, done: &Sender<Instant>) -> Result<bool> {
    let lanes = lanes_for(&[], &queue.lanes()?);
    let Some(delivery) = queue.take(&lanes)? else { return Ok(false) };
    let taken = Instant::now();
    perform(queue, &delivery, name, Duration::ZERO)?;
    if done.send(taken).is_err() {
        bail!("the measurement is over");
    }
    Ok(true)
}

fn announce(queue: &Queue, name: &Label) -> Result<()> {
    let worker = WorkerV1 {
        version: 1,
        name: name.clone(),
        labels: Vec::new(),
        jobs: Vec::new(),
        slots: 1,
        trouble: None,
        seen_at: now(),
    };
    queue.announce(&name.replace(' ', "-"), &worker)
}

fn since(before: (u64, u64), after: (u64, u64)) -> (u64, u64) {
    (after.0.saturating_sub(before.0), after.1.saturating_sub(before.1))
}

/// The bytes of all files of a folder.
fn size_of(folder: &Path) -> Result<u64> {
    let mut bytes = 0;
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let facts = entry.metadata()?;
        bytes += if facts.is_dir() { size_of(&entry.path())? } else { facts.len() };
    }
    Ok(bytes)
}
