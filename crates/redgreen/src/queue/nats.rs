//! The queue on a NATS server. `redgreen_serve` implements the protocol; this module words its
//! errors.

use std::fs;
use std::time::Duration;

use anyhow::{Context, Result};
use redgreen_core::names::JobId;
use redgreen_serve::nats::{Address, Keep, LeasedMessage, Nats, Versioned};

use super::{Delivery, Kind, Lease, Place};
use crate::failure::Failure;

/// How long an idle worker sleeps before it looks for redelivered messages.
const IDLE_MAX: Duration = Duration::from_secs(1);
/// How often a watcher is asked whether to continue.
const WATCH_IDLE: Duration = Duration::from_millis(250);

#[derive(Debug)]
pub struct Server {
    pub(super) name: String,
    pub(super) lease: Duration,
    nats: Nats,
}

impl Server {
    pub(super) fn connect(url: &str, place: &Place, lease: Duration) -> Result<Self> {
        let name = without_password(url);
        let credentials = place.credentials.as_ref().map(|file| {
            fs::read_to_string(file)
                .with_context(|| format!("read the credentials {}", file.display()))
        });
        let certificate = place.certificate.clone();
        let address = Address {
            url: url.to_owned(),
            credentials: credentials.transpose()?,
            certificate,
            lease,
        };
        let nats = Nats::connect(&address).map_err(|why| {
            Failure::environment(format!("the queue {name} cannot be used: {why}"))
                .evidence("expected a nats-server with JetStream")
                .next("nats-server -js, or omit --queue to use a folder on this machine")
        })?;
        Ok(Self { name, lease, nats })
    }

    pub(super) fn traffic(&self) -> (u64, u64) {
        self.nats.traffic()
    }

    pub(super) fn create(&self, kind: Kind, key: &str, bytes: Vec<u8>) -> Result<bool> {
        self.told("write a record", self.nats.create(kind.name(), key, bytes))
    }

    pub(super) fn read(&self, kind: Kind, key: &str) -> Result<Option<Versioned>> {
        self.told("read a record", self.nats.read(kind.name(), key))
    }

    pub(super) fn swap(
        &self,
        kind: Kind,
        key: &str,
        bytes: Vec<u8>,
        revision: u64,
    ) -> Result<bool> {
        self.told("change a record", self.nats.swap(kind.name(), key, bytes, revision))
    }

    pub(super) fn put(&self, kind: Kind, key: &str, bytes: Vec<u8>) -> Result<()> {
        self.told("write a record", self.nats.put(kind.name(), key, bytes, keep(kind)))
    }

    pub(super) fn delete(&self, kind: Kind, key: &str) -> Result<()> {
        self.told("remove a record", self.nats.delete(kind.name(), key, keep(kind)))
    }

    pub(super) fn list(&self, kind: Kind) -> Result<Vec<Vec<u8>>> {
        self.told("list records", self.nats.list(kind.name(), keep(kind)))
    }

    pub(super) fn watch(&self, see: &mut dyn FnMut(Option<&[u8]>) -> bool) -> Result<()> {
        self.told("watch the jobs", self.nats.watch(Kind::Status.name(), WATCH_IDLE, see))
    }

    pub(super) fn send(&self, lane: &str, alone: bool, id: &str, job: &JobId) -> Result<()> {
        self.told("send a job", self.nats.send(lane, alone, id, job))
    }

    pub(super) fn lanes(&self) -> Result<Vec<String>> {
        self.told("list the lanes", self.nats.lanes())
    }

    pub(super) fn take(&self, lane: &str) -> Result<Option<Delivery>> {
        let Some(taken) = self.told("take a job", self.nats.take(lane))? else { return Ok(None) };
        match JobId::parse(&taken.text) {
            Ok(job) => {
                let (number, lane) = (taken.sequence, lane.to_owned());
                Ok(Some(Delivery { job, number, lane, lease: Lease::Nats(Box::new(taken)) }))
            }
            Err(_) => {
                // Not one of our messages; it would be redelivered forever.
                self.told("drop a message", self.nats.done(&taken))?;
                Ok(None)
            }
        }
    }

    pub(super) fn wait(&self) -> Result<()> {
        self.told("wait for jobs", self.nats.wait(IDLE_MAX))
    }

    pub(super) fn beat(&self, taken: &LeasedMessage) -> Result<()> {
        self.told("extend the lease of a job", self.nats.beat(taken))
    }

    pub(super) fn done(&self, taken: &LeasedMessage) -> Result<()> {
        self.told("finish a job", self.nats.done(taken))
    }

    pub(super) fn later(&self, taken: &LeasedMessage, after: Duration) -> Result<()> {
        self.told("give a job back", self.nats.later(taken, after))
    }

    fn told<T>(&self, act: &str, answer: Result<T, String>) -> Result<T> {
        answer.map_err(|why| anyhow::anyhow!("{act}: {why} ({})", self.name))
    }
}

fn keep(kind: Kind) -> Keep {
    match kind {
        Kind::Worker => Keep::Briefly,
        Kind::Job | Kind::Status | Kind::Day | Kind::Allowance => Keep::Always,
    }
}

/// The address, safe to print.
fn without_password(url: &str) -> String {
    match (url.split_once("://"), url.rsplit_once('@')) {
        (Some((scheme, _)), Some((_, host))) => format!("{scheme}://{host}"),
        _ => url.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_password_in_the_address_is_never_printed() {
        assert_eq!(without_password("nats://ada:secret@host:4222"), "nats://host:4222");
        assert_eq!(without_password("nats://host:4222"), "nats://host:4222");
    }
}
