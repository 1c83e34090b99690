//! A client for NATS with JetStream, as blocking functions: buckets of values with
//! compare-and-swap, and lanes of messages that are leased to one worker at a time. The server
//! handles leases, redelivery and durability. The runtime has one thread, which keeps the
//! connection alive between calls.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::atomic::Ordering;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use async_nats::ConnectOptions;
use async_nats::jetstream::consumer::{AckPolicy, DeliverPolicy, ReplayPolicy, pull, push};
use async_nats::jetstream::kv::{self, CreateErrorKind, Operation, Store, UpdateErrorKind};
use async_nats::jetstream::message::{AckKind, PublishMessage};
use async_nats::jetstream::stream::{self, RetentionPolicy};
use async_nats::jetstream::{self, Context, Message};
use futures_util::StreamExt;
use tokio::runtime::Runtime;
use tokio::time::timeout;

const STREAM: &str = "redgreen";
const SUBJECT: &str = "redgreen.lane.";
/// Wakes idle workers when there is a new message. It has no content.
const WAKE: &str = "redgreen.wake";
/// The time limit of a call.
const CALL_MAX: Duration = Duration::from_secs(10);
const CONNECT_MAX: Duration = Duration::from_secs(5);
/// Duplicates of a message are dropped within this time.
const DUPLICATE_WINDOW: Duration = Duration::from_secs(600);
/// How long the list of lanes is cached.
const LANES_KNOWN: Duration = Duration::from_secs(1);
/// The server deletes a lane that nobody used for this long. It is created again when needed.
const LANE_IDLE_MAX: Duration = Duration::from_secs(30 * 24 * 3600);
/// The maximum number of messages in progress per lane. No fleet has this many workers.
const AT_WORK_MAX: i64 = 100_000;
/// An empty lane answers at once; this limit is for a server that does not.
const EMPTY_MAX: Duration = Duration::from_secs(2);

/// How to connect to the server.
#[derive(Clone, Debug, Default)]
pub struct Address {
    /// `nats://host:4222` or `tls://host:4222`.
    pub url: String,
    /// The content of a credentials file (`.creds`).
    pub credentials: Option<String>,
    /// A certificate to verify the server with, in addition to the root store.
    pub certificate: Option<PathBuf>,
    /// How long a worker may be silent.
    pub lease: Duration,
}

/// A connection. Any thread can use it.
pub struct Nats {
    runtime: Runtime,
    client: async_nats::Client,
    jetstream: Context,
    stream: stream::Stream,
    buckets: Mutex<HashMap<String, Store>>,
    lanes: Mutex<Option<(Instant, Vec<String>)>>,
    lease: Duration,
}

/// A value, and the revision that a change must match.
pub type Versioned = (Vec<u8>, u64);

/// A message that this process has leased.
pub struct LeasedMessage {
    pub text: String,
    /// The sequence number of the message.
    pub sequence: u64,
    /// The number of deliveries, including this one.
    pub delivered: u64,
    message: Message,
}

impl std::fmt::Debug for Nats {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.write_str("Nats")
    }
}

impl std::fmt::Debug for LeasedMessage {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(out, "Taken {{ {} }}", self.sequence)
    }
}

type NatsResult<T> = Result<T, String>;

/// Whether the values of a bucket expire.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Keep {
    Always,
    /// After a few leases.
    Briefly,
}

impl Nats {
    pub fn connect(address: &Address) -> NatsResult<Self> {
        let runtime =
            tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build();
        let runtime = runtime.map_err(|error| error.to_string())?;
        let connected = runtime.block_on(async {
            // The client reconnects by itself. A call made in the meantime ends at its time limit.
            let mut options = ConnectOptions::new()
                .name("redgreen")
                .connection_timeout(CONNECT_MAX)
                .request_timeout(Some(CALL_MAX))
                .reconnect_delay_callback(|attempt| {
                    Duration::from_millis(100 * attempt.clamp(1, 20) as u64)
                });
            if let Some(text) = &address.credentials {
                options =
                    options.credentials(text).map_err(|error| format!("credentials: {error}"))?;
            }
            if let Some(file) = &address.certificate {
                options = options.add_root_certificates(file.clone()).require_tls(true);
            }
            let client = timeout(CONNECT_MAX, options.connect(&address.url)).await;
            let client = client
                .map_err(|_| "it does not answer".to_owned())?
                .map_err(|error| error.to_string())?;
            let jetstream = jetstream::new(client.clone());
            let config = stream::Config {
                name: STREAM.to_owned(),
                subjects: vec![format!("{SUBJECT}>")],
                retention: RetentionPolicy::WorkQueue,
                duplicate_window: DUPLICATE_WINDOW,
                ..stream::Config::default()
            };
            let stream = jetstream.get_or_create_stream(config).await;
            let stream = stream.map_err(|error| format!("JetStream: {error}"))?;
            Ok::<_, String>((client, jetstream, stream))
        });
        let (client, jetstream, stream) = connected?;
        let (buckets, lanes) = (Mutex::default(), Mutex::default());
        Ok(Self { runtime, client, jetstream, stream, buckets, lanes, lease: address.lease })
    }

    /// The messages of this connection in both directions, and their bytes.
    pub fn traffic(&self) -> (u64, u64) {
        let seen = self.client.statistics();
        let messages =
            seen.in_messages.load(Ordering::Relaxed) + seen.out_messages.load(Ordering::Relaxed);
        let bytes = seen.in_bytes.load(Ordering::Relaxed) + seen.out_bytes.load(Ordering::Relaxed);
        (messages, bytes)
    }

    /// Creates a value. Returns false if it exists.
    pub fn create(&self, bucket: &str, key: &str, value: Vec<u8>) -> NatsResult<bool> {
        let store = self.bucket(bucket, Keep::Always)?;
        self.call(async {
            match store.create(key, value.into()).await {
                Ok(_) => Ok(true),
                Err(error) if error.kind() == CreateErrorKind::AlreadyExists => Ok(false),
                Err(error) => Err(error.to_string()),
            }
        })
    }

    pub fn read(&self, bucket: &str, key: &str) -> NatsResult<Option<Versioned>> {
        let store = self.bucket(bucket, Keep::Always)?;
        self.call(async {
            let entry = store.entry(key).await.map_err(|error| error.to_string())?;
            let there = entry.filter(|entry| entry.operation == Operation::Put);
            Ok(there.map(|entry| (entry.value.to_vec(), entry.revision)))
        })
    }

    /// Changes a value that still has this revision. Returns false if it changed.
    pub fn swap(&self, bucket: &str, key: &str, value: Vec<u8>, revision: u64) -> NatsResult<bool> {
        let store = self.bucket(bucket, Keep::Always)?;
        self.call(async {
            match store.update(key, value.into(), revision).await {
                Ok(_) => Ok(true),
                Err(error) if error.kind() == UpdateErrorKind::WrongLastRevision => Ok(false),
                Err(error) => Err(error.to_string()),
            }
        })
    }

    /// Sets a value in any case.
    pub fn put(&self, bucket: &str, key: &str, value: Vec<u8>, keep: Keep) -> NatsResult<()> {
        let store = self.bucket(bucket, keep)?;
        self.call(async {
            store.put(key, value.into()).await.map(drop).map_err(|error| error.to_string())
        })
    }

    pub fn delete(&self, bucket: &str, key: &str, keep: Keep) -> NatsResult<()> {
        let store = self.bucket(bucket, keep)?;
        self.call(async { store.purge(key).await.map_err(|error| error.to_string()) })
    }

    /// All values of a bucket.
    pub fn list(&self, bucket: &str, keep: Keep) -> NatsResult<Vec<Vec<u8>>> {
        let store = self.bucket(bucket, keep)?;
        self.call(async {
            let consumer = store.stream.create_consumer(push::OrderedConfig {
                deliver_subject: self.client.new_inbox(),
                filter_subject: format!("{}>", store.prefix),
                replay_policy: ReplayPolicy::Instant,
                deliver_policy: DeliverPolicy::LastPerSubject,
                ..push::OrderedConfig::default()
            });
            let consumer = consumer.await.map_err(|error| error.to_string())?;
            let mut left = consumer.cached_info().num_pending;
            let mut messages = consumer.messages().await.map_err(|error| error.to_string())?;
            let mut found = Vec::new();
            while left > 0 {
                let Some(message) = messages.next().await else { break };
                let message = message.map_err(|error| error.to_string())?;
                // A deleted value leaves a marker without content.
                if !message.payload.is_empty() {
                    found.push(message.payload.to_vec());
                }
                left = message.info().map_err(|error| error.to_string())?.pending;
            }
            Ok(found)
        })
    }

    /// Reports all current values of a bucket, then every change, until `see` ends it or nothing
    /// happens for a while. Does not poll.
    pub fn watch(
        &self,
        bucket: &str,
        idle: Duration,
        see: &mut dyn FnMut(Option<&[u8]>) -> bool,
    ) -> NatsResult<()> {
        let store = self.bucket(bucket, Keep::Always)?;
        self.runtime.block_on(async {
            let mut changes = store.watch_all().await.map_err(|error| error.to_string())?;
            loop {
                let goes_on = match timeout(idle, changes.next()).await {
                    Ok(None) => return Ok(()),
                    Ok(Some(Ok(entry))) => see(Some(&entry.value)),
                    Ok(Some(Err(error))) => return Err(error.to_string()),
                    Err(_) => see(None),
                };
                if !goes_on {
                    return Ok(());
                }
            }
        })
    }

    /// Appends a message to a lane, unless it was sent before. `alone` lanes have at most one
    /// message in progress.
    pub fn send(&self, lane: &str, alone: bool, id: &str, text: &str) -> NatsResult<()> {
        self.lane(lane, alone)?;
        self.call(async {
            let message = PublishMessage::build().payload(text.to_owned().into()).message_id(id);
            let sent = self.jetstream.send_publish(format!("{SUBJECT}{lane}"), message).await;
            sent.map_err(|error| error.to_string())?.await.map_err(|error| error.to_string())?;
            self.client.publish(WAKE, bytes::Bytes::new()).await.map_err(|error| error.to_string())
        })
    }

    /// The existing lanes.
    pub fn lanes(&self) -> NatsResult<Vec<String>> {
        let known = self.lanes.lock().unwrap_or_else(PoisonError::into_inner).clone();
        if let Some((_, lanes)) = known.filter(|(since, _)| since.elapsed() < LANES_KNOWN) {
            return Ok(lanes);
        }
        let lanes = self.call(async {
            let mut names = self.stream.consumer_names();
            let mut lanes = Vec::new();
            while let Some(name) = names.next().await {
                lanes.push(name.map_err(|error| error.to_string())?);
            }
            Ok(lanes)
        })?;
        *self.lanes.lock().unwrap_or_else(PoisonError::into_inner) =
            Some((Instant::now(), lanes.clone()));
        Ok(lanes)
    }

    /// Leases the first message of a lane, if there is one.
    pub fn take(&self, lane: &str) -> NatsResult<Option<LeasedMessage>> {
        self.call(async {
            let consumer = self.stream.get_consumer::<pull::Config>(lane).await;
            // A deleted lane has no messages.
            let Ok(consumer) = consumer else { return Ok(None) };
            let batch = timeout(EMPTY_MAX, consumer.fetch().max_messages(1).messages()).await;
            let mut batch =
                batch.map_err(|_| "no answer".to_owned())?.map_err(|error| error.to_string())?;
            let Ok(Some(message)) = timeout(EMPTY_MAX, batch.next()).await else { return Ok(None) };
            let message = message.map_err(|error| error.to_string())?;
            let info = message.info().map_err(|error| error.to_string())?;
            let (sequence, delivered) =
                (info.stream_sequence, u64::try_from(info.delivered).unwrap_or(1));
            let text = String::from_utf8_lossy(&message.payload).into_owned();
            Ok(Some(LeasedMessage { text, sequence, delivered, message }))
        })
    }

    /// Waits for a possible change, at most this long.
    pub fn wait(&self, at_most: Duration) -> NatsResult<()> {
        self.runtime.block_on(async {
            let mut woken = self.client.subscribe(WAKE).await.map_err(|error| error.to_string())?;
            timeout(at_most, woken.next()).await.ok();
            Ok(())
        })
    }

    /// Extends the lease.
    pub fn beat(&self, taken: &LeasedMessage) -> NatsResult<()> {
        self.acknowledge(taken, AckKind::Progress)
    }

    /// Acknowledges the message. The server confirms it.
    pub fn done(&self, taken: &LeasedMessage) -> NatsResult<()> {
        self.call(async { taken.message.double_ack().await.map_err(|error| error.to_string()) })
    }

    /// Returns the message. The server delivers it again later.
    pub fn later(&self, taken: &LeasedMessage, after: Duration) -> NatsResult<()> {
        self.acknowledge(taken, AckKind::Nak(Some(after)))
    }

    fn acknowledge(&self, taken: &LeasedMessage, kind: AckKind) -> NatsResult<()> {
        self.call(async {
            taken.message.ack_with(kind).await.map_err(|error| error.to_string())?;
            // Flushes, so that a broken connection is noticed.
            self.client.flush().await.map_err(|error| error.to_string())
        })
    }

    /// Creates a lane if it does not exist.
    fn lane(&self, lane: &str, alone: bool) -> NatsResult<()> {
        let known = self.lanes.lock().unwrap_or_else(PoisonError::into_inner);
        if known.as_ref().is_some_and(|(_, lanes)| lanes.iter().any(|name| name == lane)) {
            return Ok(());
        }
        drop(known);
        self.call(async {
            let config = pull::Config {
                durable_name: Some(lane.to_owned()),
                filter_subject: format!("{SUBJECT}{lane}"),
                ack_policy: AckPolicy::Explicit,
                ack_wait: self.lease,
                max_ack_pending: if alone { 1 } else { AT_WORK_MAX },
                inactive_threshold: LANE_IDLE_MAX,
                ..pull::Config::default()
            };
            self.stream.create_consumer(config).await.map(drop).map_err(|error| error.to_string())
        })?;
        let mut known = self.lanes.lock().unwrap_or_else(PoisonError::into_inner);
        known.get_or_insert_with(|| (Instant::now(), Vec::new())).1.push(lane.to_owned());
        Ok(())
    }

    fn bucket(&self, name: &str, keep: Keep) -> NatsResult<Store> {
        let known = self.buckets.lock().unwrap_or_else(PoisonError::into_inner).get(name).cloned();
        if let Some(store) = known {
            return Ok(store);
        }
        let max_age = match keep {
            Keep::Always => Duration::ZERO,
            Keep::Briefly => 3 * self.lease,
        };
        let store = self.call(async {
            let bucket = format!("redgreen-{name}");
            match self.jetstream.get_key_value(&bucket).await {
                Ok(store) => Ok(store),
                Err(_) => {
                    let config =
                        kv::Config { bucket, history: 1, max_age, ..kv::Config::default() };
                    self.jetstream.create_key_value(config).await.map_err(|error| error.to_string())
                }
            }
        })?;
        self.buckets
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .insert(name.to_owned(), store.clone());
        Ok(store)
    }

    fn call<T>(&self, work: impl Future<Output = NatsResult<T>>) -> NatsResult<T> {
        let limited = async { timeout(CALL_MAX, work).await };
        self.runtime
            .block_on(limited)
            .unwrap_or_else(|_| Err("the server does not answer".to_owned()))
    }
}
