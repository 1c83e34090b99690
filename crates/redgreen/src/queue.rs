//! The queue of a fleet: a folder on this machine, or a NATS server. Both offer records with
//! compare-and-swap, and lanes of messages. A message is leased to one worker at a time and comes
//! back if the worker falls silent. `redgreen_core::fleet` decides what may happen to a job; the
//! queue only stores it.

mod folder;
mod nats;

use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use redgreen_core::fleet::budget::{Allowance, Day};
use redgreen_core::fleet::status::{Event, EventSource, Rejected, Status};
use redgreen_core::fleet::{Job, MERGE_LANE};
use redgreen_core::names::{JobId, Label};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::config::Environment;
use crate::failure::Failure;

/// How often a change of a record is retried while others change it.
const TRIES_MAX: u32 = 200;
/// The minimum lease: a busy machine must not count as dead.
const LEASE_MIN: Duration = Duration::from_secs(1);
pub const LEASE_USUAL: Duration = Duration::from_secs(30);

/// The kinds of records, stored apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Job,
    Status,
    /// Expires unless it is written again.
    Worker,
    Day,
    Allowance,
}

impl Kind {
    fn name(self) -> &'static str {
        match self {
            Kind::Job => "jobs",
            Kind::Status => "status",
            Kind::Worker => "workers",
            Kind::Day => "days",
            Kind::Allowance => "allowance",
        }
    }
}

/// A message that this worker has leased.
#[derive(Debug)]
pub struct Delivery {
    pub job: JobId,
    /// The sequence number of the message.
    pub number: u64,
    lane: String,
    lease: Lease,
}

#[derive(Debug)]
enum Lease {
    Folder { name: String, deliveries: u64 },
    Nats(Box<redgreen_serve::nats::LeasedMessage>),
}

impl Delivery {
    /// Whether the job is to be merged instead of run.
    pub fn is_merge(&self) -> bool {
        self.lane.starts_with(MERGE_LANE)
    }
}

/// A worker, as it describes itself.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct WorkerV1 {
    pub version: u32,
    pub name: Label,
    pub labels: Vec<redgreen_core::names::Tag>,
    pub jobs: Vec<JobId>,
    pub slots: usize,
    /// Why it takes no jobs, if it does not.
    pub trouble: Option<Label>,
    /// Milliseconds since 1970.
    pub seen_at: i64,
}

/// The address of the queue.
#[derive(Clone, Debug)]
pub struct Place {
    /// `nats://…`, `tls://…` or a folder; the user's own folder if absent.
    pub queue: Option<String>,
    pub credentials: Option<PathBuf>,
    pub certificate: Option<PathBuf>,
    pub lease: Option<Duration>,
}

/// The queue. Any thread can use it.
#[derive(Debug)]
pub enum Queue {
    Folder(folder::Folder),
    Nats(Box<nats::Server>),
}

/// The result of a submission.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Submission {
    New,
    /// It was already in the queue.
    Known,
}

impl Queue {
    pub fn open(place: &Place, environment: &Environment) -> Result<Self> {
        let lease = place.lease.unwrap_or(LEASE_USUAL).max(LEASE_MIN);
        match &place.queue {
            Some(url) if url.starts_with("nats://") || url.starts_with("tls://") => {
                nats::Server::connect(url, place, lease).map(|server| Queue::Nats(Box::new(server)))
            }
            Some(url) if url.contains("://") => {
                Err(Failure::usage(format!("{url:?} is not a queue"))
                    .evidence(
                        "a queue is nats://host:4222, tls://host:4222, or a folder of this machine",
                    )
                    .next("redgreen work --queue nats://host:4222")
                    .into())
            }
            Some(folder) => {
                let folder = std::path::absolute(folder)
                    .with_context(|| format!("find the folder {folder}"))?;
                folder::Folder::open(&folder, lease).map(Queue::Folder)
            }
            None => {
                let Some(state) = &environment.state else {
                    return Err(Failure::environment(
                        "no place for a queue: cannot find the home folder",
                    )
                    .next("redgreen submit --queue /some/folder …")
                    .into());
                };
                folder::Folder::open(&state.join("queue"), lease).map(Queue::Folder)
            }
        }
    }

    /// The name of the queue.
    pub fn name(&self) -> String {
        match self {
            Queue::Folder(folder) => folder.root.display().to_string(),
            Queue::Nats(server) => server.name.clone(),
        }
    }

    /// The messages to and from the server so far, and their size. None without a server.
    pub fn traffic(&self) -> (u64, u64) {
        match self {
            Queue::Folder(_) => (0, 0),
            Queue::Nats(server) => server.traffic(),
        }
    }

    pub fn lease(&self) -> Duration {
        match self {
            Queue::Folder(folder) => folder.lease,
            Queue::Nats(server) => server.lease,
        }
    }

    /// Puts a job into the queue, once.
    pub fn submit(&self, job: &Job, at: i64) -> Result<(Status, Submission)> {
        let id = job_id(job);
        let status = Status::submitted(&id, job, at);
        // The job and its status are written first, so that every message refers to an existing
        // job.
        let created = self.create(Kind::Job, &id, job)?;
        self.create(Kind::Status, &id, &status)?;
        let known = self.status(&id)?.unwrap_or(status);
        // If an earlier submission was interrupted, its message is still missing. The queue drops
        // duplicates.
        if created || (known.epoch == 0 && !known.state.is_over()) {
            self.send(&job.lane(), &format!("{id}-run"), &id)?;
        }
        Ok((known, if created { Submission::New } else { Submission::Known }))
    }

    /// Puts a job into the merge queue of its target branch.
    pub fn send_merge(&self, status: &Status) -> Result<()> {
        self.send(
            &merge_lane(status),
            &format!("{}-merge-{}", status.id, status.merges),
            &status.id,
        )
    }

    pub fn job(&self, id: &JobId) -> Result<Option<Job>> {
        Ok(self.read(Kind::Job, id)?.map(|(job, _)| job))
    }

    pub fn status(&self, id: &JobId) -> Result<Option<Status>> {
        Ok(self.read(Kind::Status, id)?.map(|(status, _)| status))
    }

    /// All jobs, oldest first.
    pub fn statuses(&self) -> Result<Vec<Status>> {
        let mut all: Vec<Status> = self.list(Kind::Status)?;
        all.sort_by(|one, other| (one.submitted_at, &one.id).cmp(&(other.submitted_at, &other.id)));
        Ok(all)
    }

    /// A job by its id, or by a unique prefix of it.
    pub fn find(&self, name: &str) -> Result<Option<Status>> {
        if let Ok(id) = JobId::parse(name) {
            return self.status(&id);
        }
        let is_meant = |status: &Status| {
            status.id.starts_with(name)
                || status.run.as_ref().is_some_and(|run| *run == name || run.tail() == name)
        };
        let mut found =
            self.statuses()?.into_iter().filter(|status| !name.is_empty() && is_meant(status));
        match (found.next(), found.next()) {
            (Some(one), Some(other)) => {
                Err(Failure::usage(format!("{name:?} is the beginning of several jobs"))
                    .evidence(one.id.to_string())
                    .evidence(other.id.to_string())
                    .next("redgreen queue")
                    .into())
            }
            (found, _) => Ok(found),
        }
    }

    /// Records an event of a job. Retries while others change the record; the event may be
    /// rejected.
    pub fn append(
        &self,
        id: &JobId,
        from: EventSource,
        event: &Event,
        at: i64,
    ) -> Result<Result<Status, Rejected>> {
        for _ in 0..TRIES_MAX {
            let Some((status, revision)) = self.read::<Status>(Kind::Status, id)? else {
                bail!("there is no job {id} in {}", self.name());
            };
            let next = match status.apply(from, event, at) {
                Ok(next) => next,
                Err(rejected) => return Ok(Err(rejected)),
            };
            if self.swap(Kind::Status, id, &next, revision)? {
                return Ok(Ok(next));
            }
        }
        bail!("change job {id}: something else keeps changing it")
    }

    /// The daily budget of all jobs.
    pub fn allowance(&self) -> Result<Allowance> {
        Ok(self
            .read(Kind::Allowance, "allowance")?
            .map(|(allowance, _)| allowance)
            .unwrap_or_default())
    }

    pub fn set_allowance(&self, allowance: &Allowance) -> Result<()> {
        self.put(Kind::Allowance, "allowance", allowance)
    }

    pub fn day(&self, date: &str) -> Result<Day> {
        Ok(self.read(Kind::Day, date)?.map(|(day, _)| day).unwrap_or_default())
    }

    /// Changes the reservations of a day. `change` may be called several times, and may refuse.
    pub fn change_day<E>(
        &self,
        date: &str,
        change: impl Fn(Day) -> Result<Day, E>,
    ) -> Result<Result<Day, E>> {
        for _ in 0..TRIES_MAX {
            let (day, revision) = match self.read::<Day>(Kind::Day, date)? {
                Some((day, revision)) => (day, Some(revision)),
                None => (Day::default(), None),
            };
            let changed = match change(day) {
                Ok(changed) => changed,
                Err(refused) => return Ok(Err(refused)),
            };
            let done = match revision {
                Some(revision) => self.swap(Kind::Day, date, &changed, revision)?,
                None => self.create(Kind::Day, date, &changed)?,
            };
            if done {
                return Ok(Ok(changed));
            }
        }
        bail!("reserve a budget for {date}: something else keeps changing it")
    }

    pub fn workers(&self) -> Result<Vec<WorkerV1>> {
        let mut all: Vec<WorkerV1> = self.list(Kind::Worker)?;
        all.sort_by(|one, other| one.name.cmp(&other.name));
        Ok(all)
    }

    pub fn announce(&self, key: &str, worker: &WorkerV1) -> Result<()> {
        self.put(Kind::Worker, key, worker)
    }

    pub fn leave(&self, key: &str) -> Result<()> {
        match self {
            Queue::Folder(folder) => folder.delete(Kind::Worker, key),
            Queue::Nats(server) => server.delete(Kind::Worker, key),
        }
    }

    /// The existing lanes.
    pub fn lanes(&self) -> Result<Vec<String>> {
        match self {
            Queue::Folder(folder) => folder.lanes(),
            Queue::Nats(server) => server.lanes(),
        }
    }

    /// The first message of these lanes, if there is one.
    pub fn take(&self, lanes: &[String]) -> Result<Option<Delivery>> {
        for lane in lanes {
            let taken = match self {
                Queue::Folder(folder) => folder.take(lane)?,
                Queue::Nats(server) => server.take(lane)?,
            };
            if taken.is_some() {
                return Ok(taken);
            }
        }
        Ok(None)
    }

    /// Waits until there may be a message.
    pub fn wait(&self) -> Result<()> {
        match self {
            Queue::Folder(folder) => {
                folder.wait();
                Ok(())
            }
            Queue::Nats(server) => server.wait(),
        }
    }

    /// Extends the lease. Returns false if another worker has the message.
    pub fn beat(&self, delivery: &Delivery) -> Result<bool> {
        match (self, &delivery.lease) {
            (Queue::Folder(folder), Lease::Folder { name, deliveries }) => {
                folder.beat(&delivery.lane, name, *deliveries)
            }
            (Queue::Nats(server), Lease::Nats(taken)) => server.beat(taken).map(|()| true),
            (Queue::Folder(_), Lease::Nats(_)) | (Queue::Nats(_), Lease::Folder { .. }) => {
                Ok(false)
            }
        }
    }

    /// Acknowledges the message.
    pub fn done(&self, delivery: &Delivery) -> Result<()> {
        match (self, &delivery.lease) {
            (Queue::Folder(folder), Lease::Folder { name, deliveries }) => {
                folder.done(&delivery.lane, name, *deliveries)
            }
            (Queue::Nats(server), Lease::Nats(taken)) => server.done(taken),
            (Queue::Folder(_), Lease::Nats(_)) | (Queue::Nats(_), Lease::Folder { .. }) => Ok(()),
        }
    }

    /// Returns the message, to be delivered again later.
    pub fn later(&self, delivery: &Delivery, after: Duration) -> Result<()> {
        match (self, &delivery.lease) {
            (Queue::Folder(folder), Lease::Folder { name, deliveries }) => {
                folder.later(&delivery.lane, name, *deliveries, after)
            }
            (Queue::Nats(server), Lease::Nats(taken)) => server.later(taken, after),
            (Queue::Folder(_), Lease::Nats(_)) | (Queue::Nats(_), Lease::Folder { .. }) => Ok(()),
        }
    }

    /// Reports every job, then every change, until `see` ends it. `None` means no news for a
    /// moment.
    pub fn watch(&self, see: &mut dyn FnMut(Option<Status>) -> bool) -> Result<()> {
        let mut read =
            |bytes: Option<&[u8]>| see(bytes.and_then(|bytes| serde_json::from_slice(bytes).ok()));
        match self {
            Queue::Folder(folder) => folder.watch(&mut read),
            Queue::Nats(server) => server.watch(&mut read),
        }
    }

    fn send(&self, lane: &str, id: &str, job: &JobId) -> Result<()> {
        let alone = lane.starts_with(MERGE_LANE);
        match self {
            Queue::Folder(folder) => folder.send(lane, id, job),
            Queue::Nats(server) => server.send(lane, alone, id, job),
        }
    }

    fn create<T: Serialize>(&self, kind: Kind, key: &str, value: &T) -> Result<bool> {
        let bytes = serde_json::to_vec(value).context("write a record as JSON")?;
        match self {
            Queue::Folder(folder) => folder.create(kind, key, &bytes),
            Queue::Nats(server) => server.create(kind, key, bytes),
        }
    }

    fn read<T: DeserializeOwned>(&self, kind: Kind, key: &str) -> Result<Option<(T, u64)>> {
        let found = match self {
            Queue::Folder(folder) => folder.read(kind, key)?,
            Queue::Nats(server) => server.read(kind, key)?,
        };
        let Some((bytes, revision)) = found else { return Ok(None) };
        let value = serde_json::from_slice(&bytes)
            .with_context(|| format!("read {key} of {}", self.name()))?;
        Ok(Some((value, revision)))
    }

    fn swap<T: Serialize>(&self, kind: Kind, key: &str, value: &T, revision: u64) -> Result<bool> {
        let bytes = serde_json::to_vec(value).context("write a record as JSON")?;
        match self {
            Queue::Folder(folder) => folder.swap(kind, key, &bytes, revision),
            Queue::Nats(server) => server.swap(kind, key, bytes, revision),
        }
    }

    fn put<T: Serialize>(&self, kind: Kind, key: &str, value: &T) -> Result<()> {
        let bytes = serde_json::to_vec(value).context("write a record as JSON")?;
        match self {
            Queue::Folder(folder) => folder.put(kind, key, &bytes),
            Queue::Nats(server) => server.put(kind, key, bytes),
        }
    }

    /// Skips records that it cannot read: another program wrote them.
    fn list<T: DeserializeOwned>(&self, kind: Kind) -> Result<Vec<T>> {
        let all = match self {
            Queue::Folder(folder) => folder.list(kind)?,
            Queue::Nats(server) => server.list(kind)?,
        };
        Ok(all.iter().filter_map(|bytes| serde_json::from_slice(bytes).ok()).collect())
    }
}

/// The id of a job, derived from its content.
pub fn job_id(job: &Job) -> JobId {
    JobId::of_digest(&Sha256::digest(job.fingerprint().as_bytes()))
}

/// One lane for each target branch, with at most one message in progress.
fn merge_lane(status: &Status) -> String {
    let mut hash = Sha256::new();
    hash.update(status.repository.as_bytes());
    hash.update([0]);
    hash.update(status.base.as_bytes());
    format!("{MERGE_LANE}{}", JobId::of_digest(&hash.finalize()))
}
