//! The queue of a fleet, with agents that only wait: what it costs a job, how close 8 workers come to
//! the ideal, and how it does with many jobs. The queue is the real one, in a folder and, if
//! installed, on a nats-server.

use std::io;
use std::net::TcpListener;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use redgreen_core::fleet::status::{Event, EventSource, JobState};
use redgreen_core::fleet::{
    BriefSource, Job, Limits as JobLimits, MergeWhen, Priority, VERSION, lanes_for,
};
use redgreen_core::names::{Branch, Label, Oid, Repository};
use redgreen_core::phase::Phase;

use super::{Length, Measure, Memory, in_turns, watched};
use crate::config::Environment;
use crate::engine::now;
use crate::process::{Limits, Program, Stop};
use crate::queue::{Delivery, Place, Queue};

/// The workers, and how long each agent waits.
const WORKERS: usize = 8;
const WAIT: Duration = Duration::from_secs(2);
/// The phases of a job, each of which is pushed.
const PHASES: [Phase; 5] =
    [Phase::Plan, Phase::Red, Phase::Green, Phase::Refactor, Phase::Complete];
const LEASE: Duration = Duration::from_secs(30);
/// How long an idle worker is watched.
const IDLE: Limits = Limits { wall: Duration::from_secs(3), output_bytes_max: 1 << 20 };
const SERVER_MAX: Limits = Limits { wall: Duration::from_secs(3600), output_bytes_max: 1 << 20 };
const SERVER_STARTS_MAX: Duration = Duration::from_secs(10);
/// A queue that lists its jobs takes this many turns.
const TURNS: usize = 5;

impl Length {
    fn jobs_of_a_worker(self) -> usize {
        match self {
            Self::Quick => 2,
            Self::Full => 10,
        }
    }

    fn queued_jobs(self) -> usize {
        match self {
            Self::Quick => 500,
            Self::Full => 10_000,
        }
    }
}

pub(super) fn measures(
    folder: &Path,
    length: Length,
    environment: &Environment,
    ours: &Program,
    stop: &Stop,
    tell: &mut dyn FnMut(&str),
) -> Result<Vec<Measure>> {
    let path = folder.join("fleet-queue");
    let bench = Fleet { length, environment, ours, stop };
    let mut all = bench.measures("a folder", &path.display().to_string(), folder, tell)?;
    if !environment.has_program("nats-server") {
        tell("skipping the queue on NATS: nats-server is not on the PATH");
        return Ok(all);
    }
    let over = stop.part();
    let port = free_port().context("find a free port")?;
    let server = Program::new("nats-server")
        .cwd(folder)
        .args(["-js", "-a", "127.0.0.1", "-p"])
        .arg(port.to_string())
        .arg("-sd")
        .arg(folder.join("fleet-nats"));
    thread::scope(|scope| {
        let running = scope.spawn(|| server.output(SERVER_MAX, &over));
        let measured = bench.measures("NATS", &format!("nats://127.0.0.1:{port}"), folder, tell);
        over.request();
        running.join().ok();
        all.extend(measured?);
        Ok(all)
    })
}

/// A port that was free a moment ago. The listener ends here, so that the server can take the port.
fn free_port() -> io::Result<u16> {
    Ok(TcpListener::bind("127.0.0.1:0")?.local_addr()?.port())
}

struct Fleet<'a> {
    length: Length,
    environment: &'a Environment,
    ours: &'a Program,
    stop: &'a Stop,
}

impl Fleet<'_> {
    fn measures(
        &self,
        name: &str,
        url: &str,
        folder: &Path,
        tell: &mut dyn FnMut(&str),
    ) -> Result<Vec<Measure>> {
        let begun = Instant::now();
        let queue = loop {
            match self.open(url) {
                Ok(queue) => break queue,
                Err(error) if begun.elapsed() > SERVER_STARTS_MAX => return Err(error),
                Err(_) => self.stop.sleep(Duration::from_millis(50))?,
            }
        };
        let mut all = self.throughput(name, url, &queue, tell)?;

        tell(&format!("an idle worker, queue in {name}"));
        let idle = self
            .ours
            .clone()
            .args(["work", "--quiet", "--queue", url, "--name", "idle", "--home"])
            .arg(folder.join("fleet-idle"));
        let (_, peak) = watched_until_the_limit(&idle, self.stop)?;
        all.push(Measure {
            peak_memory_bytes: peak,
            ..Measure::new(format!("an idle worker, {name}"), milliseconds(IDLE.wall))
        });

        let count = self.length.queued_jobs();
        tell(&format!("{count} queued jobs in {name}"));
        let begun = Instant::now();
        for number in 0..count {
            queue.submit(&job(&format!("queued job {number}"))?, now())?;
        }
        let each = milliseconds(begun.elapsed()) / as_float(count);
        all.push(Measure::new(format!("submit one of {count} jobs, {name}"), each));
        let list = self.ours.clone().args(["queue", "--queue", url]);
        let medians = in_turns(&[list], TURNS, self.stop)?;
        let median = medians.first().copied().context("time the list of jobs")?;
        all.push(Measure::new(format!("the list of {count} queued jobs, {name}"), median));
        Ok(all)
    }

    fn open(&self, url: &str) -> Result<Queue> {
        let place = Place {
            queue: Some(url.to_owned()),
            credentials: None,
            certificate: None,
            lease: Some(LEASE),
        };
        Queue::open(&place, self.environment)
    }

    /// Workers that do with the queue what `redgreen work` does, with agents that wait.
    fn throughput(
        &self,
        name: &str,
        url: &str,
        queue: &Queue,
        tell: &mut dyn FnMut(&str),
    ) -> Result<Vec<Measure>> {
        let each = self.length.jobs_of_a_worker();
        let count = WORKERS * each;
        tell(&format!("{WORKERS} workers on {count} jobs, queue in {name}"));
        for number in 0..count {
            queue.submit(&job(&format!("waiting job {number}"))?, now())?;
        }
        let begun = Instant::now();
        let done = thread::scope(|scope| {
            let workers: Vec<_> =
                (0..WORKERS).map(|number| scope.spawn(move || self.worker(url, number))).collect();
            let ended = workers.into_iter().map(|worker| match worker.join() {
                Ok(done) => done,
                Err(_) => bail!("a worker of the bench ended early"),
            });
            ended.collect::<Result<Vec<Done>>>()
        })?;
        let took = milliseconds(begun.elapsed());
        let ideal = milliseconds(WAIT) * as_float(each);
        let jobs: usize = done.iter().map(|done| done.jobs).sum();
        ensure!(jobs == count, "the workers of the bench did {jobs} of {count} jobs");
        let messages: u64 = done.iter().map(|done| done.messages).sum();
        let bytes: u64 = done.iter().map(|done| done.bytes).sum();
        let own: f64 = done.iter().map(|done| milliseconds(done.own)).sum();
        let per_job = u64::try_from(count).unwrap_or(1);
        let overhead =
            Measure::new(format!("queue overhead of a job, {name}"), own / as_float(count));
        let throughput =
            Measure::new(format!("{WORKERS} workers on agents that wait, {name}"), took);
        Ok(vec![
            Measure {
                requests: (messages > 0).then_some(messages / per_job),
                bytes_sent: (messages > 0).then_some(bytes / per_job),
                ..overhead
            },
            throughput.against("the ideal", ideal),
        ])
    }

    fn worker(&self, url: &str, number: usize) -> Result<Done> {
        let queue = self.open(url)?;
        let name = Label::of(&format!("bench {number}"));
        let before = queue.traffic();
        let mut done = Done::default();
        loop {
            ensure!(!self.stop.requested(), "the bench was stopped");
            let begun = Instant::now();
            let lanes = lanes_for(&[], &queue.lanes()?);
            let Some(delivery) = queue.take(&lanes)? else { break };
            perform(&queue, &delivery, &name)?;
            done.own += begun.elapsed().saturating_sub(WAIT);
            done.jobs += 1;
        }
        let after = queue.traffic();
        done.messages = after.0.saturating_sub(before.0);
        done.bytes = after.1.saturating_sub(before.1);
        Ok(done)
    }
}

/// What one worker did, and how long without the waiting.
#[derive(Default)]
struct Done {
    jobs: usize,
    own: Duration,
    messages: u64,
    bytes: u64,
}

/// The messages of a worker for one job: the claim, each pushed phase, the end.
fn perform(queue: &Queue, delivery: &Delivery, name: &Label) -> Result<()> {
    let (job, status) = (queue.job(&delivery.job)?, queue.status(&delivery.job)?);
    ensure!(job.is_some() && status.is_some(), "job {} is incomplete", delivery.job);
    let tell =
        |from: EventSource, event: &Event| match queue.append(&delivery.job, from, event, now())? {
            Ok(status) => Ok(status),
            Err(rejected) => bail!("job {}: {rejected}", delivery.job),
        };
    let message = delivery.number;
    let claim = Event::Claimed { worker: name.clone(), message, day: None };
    let from = EventSource::Worker { epoch: tell(EventSource::Anyone, &claim)?.epoch };
    for (number, phase) in PHASES.into_iter().enumerate() {
        thread::sleep(WAIT / 5);
        let record = Oid::parse(&format!("{number:040x}")).context("name a commit")?;
        let (phase, spent) = (Some(phase), redgreen_core::fleet::budget::Share::default());
        tell(from, &Event::Progress { run: None, record, phase, spent })?;
    }
    queue.beat(delivery)?;
    let why = Label::of("waiting for a human");
    let status = tell(from, &Event::Stopped { why, finished: true })?;
    ensure!(status.state == JobState::Waiting, "job {} is {}", status.id, status.state.name());
    queue.done(delivery)
}

fn job(text: &str) -> Result<Job> {
    Ok(Job {
        version: VERSION,
        repository: Repository::parse("https://example.com/a/b.git")?,
        base: Branch::parse("main")?,
        wish: BriefSource::Request { text: text.to_owned() },
        agent: None,
        model: None,
        limits: JobLimits::default(),
        labels: Vec::new(),
        after: Vec::new(),
        priority: Priority::Normal,
        merge: MergeWhen::Approved,
        again: None,
    })
}

/// A worker does not end by itself.
fn watched_until_the_limit(program: &Program, stop: &Stop) -> Result<(bool, Option<u64>)> {
    let (output, peak) = watched(program, IDLE, Memory::Own, stop)?;
    Ok((output.success(), peak))
}

fn milliseconds(time: Duration) -> f64 {
    time.as_secs_f64() * 1_000.0
}

#[expect(clippy::cast_precision_loss, reason = "a number of jobs")]
fn as_float(count: usize) -> f64 {
    count as f64
}
