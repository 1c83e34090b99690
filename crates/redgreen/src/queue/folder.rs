//! The queue in a folder of one machine. One lock covers every change; files are replaced by
//! renaming, so that readers need no lock. A message is a file in one of three folders of its lane:
//! `ready`, `taken` (until its lease ends) and `later` (until its time comes).

use std::fs::{self, File, OpenOptions};
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use anyhow::{Context, Result};
use redgreen_core::fleet::MERGE_LANE;
use redgreen_core::names::JobId;
use serde::{Deserialize, Serialize};

use super::{Delivery, Kind, Lease};
use crate::{foreign, platform, private};

/// How often an idle worker checks again: an expired lease sends no event.
const LOOK_AGAIN: Duration = Duration::from_millis(100);
/// How often a watcher is asked whether to continue.
const WATCH_IDLE: Duration = Duration::from_millis(250);
/// A worker's record is valid for this many leases.
const WORKER_LEASES: u32 = 3;
/// File names start with the message number, padded to this many digits so that they sort.
const DIGITS: usize = 12;
/// The maximum size of a record in a local queue.
const RECORD_BYTES_MAX: u64 = 1 << 20;

#[derive(Debug)]
pub struct Folder {
    pub(super) root: PathBuf,
    pub(super) lease: Duration,
}

/// A message, as stored in its file.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Message {
    job: JobId,
    deliveries: u64,
    /// When it becomes ready again, in milliseconds since 1970.
    until: u64,
}

impl Folder {
    pub(super) fn open(root: &Path, lease: Duration) -> Result<Self> {
        for name in
            [Kind::Job, Kind::Status, Kind::Worker, Kind::Day, Kind::Allowance].map(Kind::name)
        {
            make(&root.join("records").join(name))?;
        }
        make(&root.join("lanes"))?;
        private::close(root).with_context(|| format!("close {} to others", root.display()))?;
        Ok(Self { root: root.to_owned(), lease })
    }

    pub(super) fn create(&self, kind: Kind, key: &str, bytes: &[u8]) -> Result<bool> {
        let _lock = self.lock()?;
        let path = self.record(kind, key);
        if path.exists() {
            return Ok(false);
        }
        write(&path, 1, bytes)?;
        Ok(true)
    }

    pub(super) fn read(&self, kind: Kind, key: &str) -> Result<Option<(Vec<u8>, u64)>> {
        read(&self.record(kind, key))
    }

    pub(super) fn swap(&self, kind: Kind, key: &str, bytes: &[u8], revision: u64) -> Result<bool> {
        let _lock = self.lock()?;
        let path = self.record(kind, key);
        match read(&path)? {
            Some((_, latest)) if latest == revision => {
                write(&path, revision + 1, bytes)?;
                Ok(true)
            }
            Some(_) | None => Ok(false),
        }
    }

    pub(super) fn put(&self, kind: Kind, key: &str, bytes: &[u8]) -> Result<()> {
        let _lock = self.lock()?;
        let path = self.record(kind, key);
        let revision = read(&path)?.map_or(0, |(_, revision)| revision);
        write(&path, revision + 1, bytes)
    }

    pub(super) fn delete(&self, kind: Kind, key: &str) -> Result<()> {
        let _lock = self.lock()?;
        remove(&self.record(kind, key))
    }

    pub(super) fn list(&self, kind: Kind) -> Result<Vec<Vec<u8>>> {
        let folder = self.root.join("records").join(kind.name());
        let mut found = Vec::new();
        for name in names(&folder)? {
            let path = folder.join(name);
            let silent = || {
                let written =
                    path.metadata().and_then(|facts| facts.modified()).unwrap_or(UNIX_EPOCH);
                written.elapsed().unwrap_or_default() > self.lease * WORKER_LEASES
            };
            if kind == Kind::Worker && silent() {
                continue;
            }
            found.extend(read(&path)?.map(|(bytes, _)| bytes));
        }
        Ok(found)
    }

    /// Reports every job, then waits for file system events.
    pub(super) fn watch(&self, see: &mut dyn FnMut(Option<&[u8]>) -> bool) -> Result<()> {
        let folder = self.root.join("records").join(Kind::Status.name());
        let act = || format!("watch {}", folder.display());
        let mut watcher = platform::Watcher::new(&folder).with_context(act)?;
        for name in names(&folder)? {
            if let Some((bytes, _)) = read(&folder.join(name))?
                && !see(Some(&bytes))
            {
                return Ok(());
            }
        }
        loop {
            let changed = watcher.changed(WATCH_IDLE).with_context(act)?;
            let mut goes_on = !changed.is_empty() || see(None);
            let names = changed.iter().filter_map(|name| name.to_str());
            for name in names.filter(|name| !name.starts_with('.')) {
                if let Some((bytes, _)) = read(&folder.join(name))?.filter(|_| goes_on) {
                    goes_on = see(Some(&bytes));
                }
            }
            if !goes_on {
                return Ok(());
            }
        }
    }

    /// Drops a message that was sent under this id before.
    pub(super) fn send(&self, lane: &str, id: &str, job: &JobId) -> Result<()> {
        let _lock = self.lock()?;
        let folder = self.lane(lane);
        for name in ["ready", "taken", "later", "sent"] {
            make(&folder.join(name))?;
        }
        let sent = folder.join("sent").join(id);
        if sent.exists() {
            return Ok(());
        }
        let number = self.next_number()?;
        let message = Message { job: job.clone(), deliveries: 0, until: 0 };
        self.store(&folder.join("ready").join(format!("{number:0DIGITS$}")), &message)?;
        write(&sent, number, b"")
    }

    pub(super) fn lanes(&self) -> Result<Vec<String>> {
        names(&self.root.join("lanes"))
    }

    pub(super) fn take(&self, lane: &str) -> Result<Option<Delivery>> {
        let folder = self.lane(lane);
        // Checking needs no lock; only a worker that may find a message takes it.
        let is_empty = |name: &str| names(&folder.join(name)).is_ok_and(|names| names.is_empty());
        if ["ready", "taken", "later"].into_iter().all(is_empty) {
            return Ok(None);
        }
        let _lock = self.lock()?;
        let now = now();
        for waits in ["taken", "later"] {
            for name in names(&folder.join(waits))? {
                let path = folder.join(waits).join(&name);
                if load(&path)?.is_some_and(|message| message.until <= now) {
                    rename(&path, &folder.join("ready").join(&name))?;
                }
            }
        }
        if lane.starts_with(MERGE_LANE) && !names(&folder.join("taken"))?.is_empty() {
            return Ok(None);
        }
        let Some(name) = names(&folder.join("ready"))?.into_iter().min() else { return Ok(None) };
        let path = folder.join("ready").join(&name);
        let Some(mut message) = load(&path)? else { return Ok(None) };
        message.deliveries += 1;
        message.until = now.saturating_add(millis(self.lease));
        self.store(&path, &message)?;
        rename(&path, &folder.join("taken").join(&name))?;
        let number = name.parse().unwrap_or(0);
        let lease = Lease::Folder { name, deliveries: message.deliveries };
        Ok(Some(Delivery { job: message.job, number, lane: lane.to_owned(), lease }))
    }

    pub(super) fn wait(&self) {
        thread::sleep(LOOK_AGAIN);
    }

    pub(super) fn beat(&self, lane: &str, name: &str, deliveries: u64) -> Result<bool> {
        let _lock = self.lock()?;
        let path = self.lane(lane).join("taken").join(name);
        match load(&path)?.filter(|message| message.deliveries == deliveries) {
            Some(mut message) => {
                message.until = now().saturating_add(millis(self.lease));
                self.store(&path, &message)?;
                Ok(true)
            }
            None => Ok(false),
        }
    }

    pub(super) fn done(&self, lane: &str, name: &str, deliveries: u64) -> Result<()> {
        let _lock = self.lock()?;
        let path = self.lane(lane).join("taken").join(name);
        match load(&path)?.filter(|message| message.deliveries == deliveries) {
            Some(_) => remove(&path),
            None => Ok(()),
        }
    }

    pub(super) fn later(
        &self,
        lane: &str,
        name: &str,
        deliveries: u64,
        after: Duration,
    ) -> Result<()> {
        let _lock = self.lock()?;
        let folder = self.lane(lane);
        let path = folder.join("taken").join(name);
        if let Some(mut message) = load(&path)?.filter(|message| message.deliveries == deliveries) {
            message.until = now().saturating_add(millis(after));
            self.store(&path, &message)?;
            rename(&path, &folder.join("later").join(name))?;
        }
        Ok(())
    }

    fn store(&self, path: &Path, message: &Message) -> Result<()> {
        write(
            path,
            message.deliveries,
            &serde_json::to_vec(message).context("write a message as JSON")?,
        )
    }

    fn next_number(&self) -> Result<u64> {
        let path = self.root.join("last-number");
        let number = read(&path)?.map_or(0, |(_, number)| number) + 1;
        write(&path, number, b"")?;
        Ok(number)
    }

    fn record(&self, kind: Kind, key: &str) -> PathBuf {
        self.root.join("records").join(kind.name()).join(key)
    }

    fn lane(&self, lane: &str) -> PathBuf {
        self.root.join("lanes").join(lane)
    }

    fn lock(&self) -> Result<File> {
        let path = self.root.join("lock");
        let act = || format!("lock {}", path.display());
        let file =
            private::open(OpenOptions::new().create(true).write(true).truncate(false), &path)
                .with_context(act)?;
        // The holder only writes a few small files, and a process that dies releases the lock.
        file.lock().with_context(act)?;
        Ok(file)
    }
}

fn make(folder: &Path) -> Result<()> {
    private::create_dir_all(folder).with_context(|| format!("create {}", folder.display()))
}

/// The names in a folder, without files that are being written.
fn names(folder: &Path) -> Result<Vec<String>> {
    let act = || format!("read {}", folder.display());
    let entries = match fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(error).with_context(act),
    };
    let mut found = Vec::new();
    for entry in entries {
        let name = entry.with_context(act)?.file_name().into_string().unwrap_or_default();
        if !name.is_empty() && !name.starts_with('.') {
            found.push(name);
        }
    }
    Ok(found)
}

/// The content of a file, and the number in its first line.
fn read(path: &Path) -> Result<Option<(Vec<u8>, u64)>> {
    let act = || format!("read {}", path.display());
    let bytes = match foreign::read_file(path, RECORD_BYTES_MAX) {
        Ok(bytes) => bytes,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error).with_context(act),
    };
    let end = bytes.iter().position(|byte| *byte == b'\n').with_context(act)?;
    let (head, body) = bytes.split_at(end);
    let revision =
        std::str::from_utf8(head).ok().and_then(|head| head.parse().ok()).with_context(act)?;
    Ok(Some((body.get(1..).unwrap_or_default().to_vec(), revision)))
}

/// A reader sees either the old file or the new one.
fn write(path: &Path, revision: u64, bytes: &[u8]) -> Result<()> {
    let act = || format!("write {}", path.display());
    let folder = path.parent().unwrap_or(path);
    let mut part = tempfile::NamedTempFile::new_in(folder).with_context(act)?;
    let content = [format!("{revision}\n").as_bytes(), bytes].concat();
    part.write_all(&content).with_context(act)?;
    part.persist(path).map_err(|error| error.error).with_context(act)?;
    Ok(())
}

fn load(path: &Path) -> Result<Option<Message>> {
    let Some((bytes, _)) = read(path)? else { return Ok(None) };
    serde_json::from_slice(&bytes).map(Some).with_context(|| format!("read {}", path.display()))
}

fn rename(from: &Path, to: &Path) -> Result<()> {
    fs::rename(from, to).with_context(|| format!("move {} to {}", from.display(), to.display()))
}

fn remove(path: &Path) -> Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != ErrorKind::NotFound => {
            Err(error).with_context(|| format!("remove {}", path.display()))
        }
        Ok(()) | Err(_) => Ok(()),
    }
}

fn now() -> u64 {
    millis(SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default())
}

fn millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}
