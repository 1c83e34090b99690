//! The journal of a run, one line of versioned JSON per entry: the intent before an effect, the
//! event after it. A killed run continues from the state that is replayed from here.

mod live;
pub mod mailbox;
mod steps;
mod store;
mod tail;

use std::cell::Cell;
use std::fs::{File, OpenOptions, TryLockError};
use std::io::{Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use redgreen_core::event::Event;
use redgreen_core::names::RunId;
use redgreen_core::state::State;
use redgreen_core::text;
use redgreen_core::text::in_quotes;
use serde::{Deserialize, Serialize};

pub use live::{LivePlace, LiveReader, LiveWriter, words};
pub use steps::StepsTail;
pub use store::{RunFolder, Store};
pub use tail::Tail;

use crate::failure::Failure;
use crate::foreign;
use crate::private;

const VERSION: u32 = 1;
const FILE: &str = "journal.jsonl";
const LOCK: &str = "lock";
const LOCK_PATIENCE: Duration = Duration::from_millis(200);
const LOCK_POLL: Duration = Duration::from_millis(5);

/// One line of the journal and of `--json`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Line {
    #[serde(rename = "v")]
    pub version: u32,
    pub seq: u64,
    /// Milliseconds since 1970.
    pub at: i64,
    #[serde(flatten)]
    pub body: Body,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Body {
    Intent { intent: String },
    Event(Box<Event>),
}

/// Kills this process with SIGKILL at the n-th effect, so that anyone can test that nothing is
/// lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KillAt {
    pub moment: CrashPoint,
    pub effect: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CrashPoint {
    /// After the intent is written and before the effect.
    Before,
    /// After the effect and before the event is written.
    After,
}

/// Counts the effects of a command, and ends it at the one that [`KillAt`] names.
#[derive(Debug, Default)]
pub struct Effects {
    kill_at: Option<KillAt>,
    count: Cell<u64>,
}

impl Effects {
    pub fn new(kill_at: Option<KillAt>) -> Self {
        Self { kill_at, count: Cell::new(0) }
    }

    /// Something that lasts is done: files, refs, commits.
    pub fn perform<T>(&self, act: impl FnOnce() -> Result<T>) -> Result<T> {
        self.begin();
        let done = act()?;
        self.end();
        Ok(done)
    }

    fn begin(&self) {
        self.count.set(self.count.get().saturating_add(1));
        self.die_at(CrashPoint::Before);
    }

    fn end(&self) {
        self.die_at(CrashPoint::After);
    }

    fn die_at(&self, moment: CrashPoint) {
        if self.kill_at == Some(KillAt { moment, effect: self.count.get() }) {
            rustix::process::kill_process(rustix::process::getpid(), rustix::process::Signal::KILL)
                .ok();
        }
    }
}

/// A run's journal, open for writing. It locks the run for other processes.
#[derive(Debug)]
pub struct Journal {
    file: File,
    path: PathBuf,
    length: u64,
    seq: u64,
    effects: Effects,
    _lock: File,
}

/// Whether a line has to survive a power failure, not only a crash of redgreen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Durable {
    Yes,
    No,
}

impl KillAt {
    /// Parses `before:N` or `after:N`.
    pub fn parse(text: &str) -> Option<Self> {
        let (moment, effect) = text.split_once(':')?;
        let moment = match moment {
            "before" => CrashPoint::Before,
            "after" => CrashPoint::After,
            _ => return None,
        };
        Some(Self { moment, effect: effect.parse().ok()? })
    }
}

impl Journal {
    /// Opens the journal of a run to continue: takes the lock, drops an incomplete last line,
    /// replays the rest.
    pub fn open(folder: &RunFolder, kill_at: Option<KillAt>) -> Result<(Self, Option<State>)> {
        folder.check()?;
        let lock = lock(folder)?;
        let path = folder.path.join(FILE);
        let mut file =
            private::open(OpenOptions::new().read(true).append(true).create(true), &path)
                .with_context(|| format!("open journal {}", path.display()))?;
        let (lines, whole) = read_lines(&mut file, &path)?;
        // A line that was being written at a power failure is dropped.
        file.set_len(whole)
            .with_context(|| format!("remove the incomplete end of {}", path.display()))?;
        let seq = lines.last().map_or(0, |line| line.seq);
        let state = replay(&lines, &path)?;
        Ok((
            Self { file, path, length: whole, seq, effects: Effects::new(kill_at), _lock: lock },
            state,
        ))
    }

    /// Records an intent.
    pub fn intend(&mut self, intent: &str, at: i64) -> Result<Line> {
        let destructive = matches!(intent, "merge" | "discard" | "restore" | "rollback" | "undo");
        let durable = if destructive { Durable::Yes } else { Durable::No };
        let line = self.append(Body::Intent { intent: intent.to_owned() }, at, durable)?;
        self.effects.begin();
        Ok(line)
    }

    /// Records an event.
    pub fn record(&mut self, event: &Event, at: i64) -> Result<Line> {
        self.effects.end();
        let durable = match event {
            Event::Started { .. }
            | Event::Adopted { .. }
            | Event::Turned { .. }
            | Event::Attempted { .. }
            | Event::Chosen { .. }
            | Event::Committed { .. }
            | Event::HumanCommitted { .. }
            | Event::RolledBack { .. }
            | Event::TestRejected { .. }
            | Event::WorkEdited { .. }
            | Event::UserSaid { .. }
            | Event::PauseAsked { .. }
            | Event::PlanEdited { .. }
            | Event::Decided { .. }
            | Event::Merged { .. }
            | Event::Undone { .. }
            | Event::Discarded { .. }
            | Event::Left { .. } => Durable::Yes,
            // These are recovered by repeating the effect.
            Event::Prepared { .. }
            | Event::Measured { .. }
            | Event::Judged { .. }
            | Event::Linted { .. }
            | Event::Compared { .. }
            | Event::Paused
            | Event::Restored { .. }
            | Event::Recorded { .. }
            | Event::Noted { .. }
            | Event::Resumed { .. }
            | Event::Reviewed { .. }
            | Event::MergeBlocked { .. } => Durable::No,
        };
        self.append(Body::Event(Box::new(event.clone())), at, durable)
    }

    fn append(&mut self, body: Body, at: i64, durable: Durable) -> Result<Line> {
        let line = Line { version: VERSION, seq: self.seq.saturating_add(1), at, body };
        let json = serde_json::to_string(&line).context("write a journal line as JSON")?;
        // People read it with `cat`.
        let mut bytes = text::json(&json).into_owned().into_bytes();
        bytes.push(b'\n');
        let written = self.file.write_all(&bytes).and_then(|()| match durable {
            Durable::Yes => self.file.sync_data(),
            Durable::No => Ok(()),
        });
        if let Err(error) = written {
            // Half a line is worse than none. If this fails too, the next reader drops it.
            self.file.set_len(self.length).ok();
            return Err(error).with_context(|| format!("write to journal {}", self.path.display()));
        }
        self.length += bytes.len() as u64;
        self.seq = self.seq.saturating_add(1);
        Ok(line)
    }
}

/// The state and the lines of a run, without locking it.
pub fn read(folder: &RunFolder) -> Result<(Option<State>, Vec<Line>)> {
    folder.check()?;
    let path = folder.path.join(FILE);
    let mut file = match foreign::open_file(&path) {
        Ok(file) => file,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            return Ok((None, Vec::new()));
        }
        Err(error) => {
            return Err(error).with_context(|| format!("open journal {}", path.display()));
        }
    };
    let (lines, _) = read_lines(&mut file, &path)?;
    Ok((replay(&lines, &path)?, lines))
}

/// A new id for something that begins at `at`, in milliseconds since 1970.
pub fn new_id(at: i64) -> Result<RunId> {
    store::new_id(at, 0)
}

/// The path of a run's journal.
pub fn path(folder: &RunFolder) -> PathBuf {
    folder.path.join(FILE)
}

/// Whether a process works on the run now.
pub fn is_busy(folder: &RunFolder) -> bool {
    foreign::open_file(&folder.path.join(LOCK)).is_ok_and(|file| file.try_lock_shared().is_err())
}

fn lock(folder: &RunFolder) -> Result<File> {
    let path = folder.path.join(LOCK);
    let file = private::open(OpenOptions::new().create(true).write(true).truncate(false), &path)
        .with_context(|| format!("open lock {}", path.display()))?;
    let deadline = Instant::now() + LOCK_PATIENCE;
    loop {
        match file.try_lock() {
            Ok(()) => return Ok(file),
            // `is_busy` holds the lock for a moment.
            Err(TryLockError::WouldBlock) if Instant::now() < deadline => thread::sleep(LOCK_POLL),
            Err(TryLockError::WouldBlock) => {
                return Err(Failure::environment(format!(
                    "another redgreen process is working on run {}",
                    folder.id
                ))
                .next(format!("redgreen status {}", folder.id))
                .into());
            }
            Err(TryLockError::Error(error)) => {
                return Err(error).with_context(|| format!("take lock {}", path.display()));
            }
        }
    }
}

/// All complete lines, and the length of the file up to the last one.
fn read_lines(file: &mut File, path: &Path) -> Result<(Vec<Line>, u64)> {
    let mut bytes = Vec::new();
    file.seek(SeekFrom::Start(0))
        .and_then(|_| file.read_to_end(&mut bytes))
        .with_context(|| format!("read {}", path.display()))?;
    let mut lines = Vec::new();
    let mut whole = 0;
    for raw in bytes.split_inclusive(|byte| *byte == b'\n') {
        let parsed = raw.ends_with(b"\n").then(|| serde_json::from_slice::<Line>(raw));
        match parsed {
            Some(Ok(line)) if line.version <= VERSION => lines.push(line),
            Some(Ok(line)) => return Err(newer(path, line.version)),
            // Only the end may be incomplete; a broken line in the middle means that the file was
            // modified.
            None => break,
            Some(Err(_)) if whole + raw.len() as u64 == bytes.len() as u64 => break,
            Some(Err(error)) => {
                return Err(damaged(path, lines.len() as u64 + 1, &error.to_string()));
            }
        }
        whole += raw.len() as u64;
    }
    Ok((lines, whole))
}

fn replay(lines: &[Line], path: &Path) -> Result<Option<State>> {
    let mut state: Option<State> = None;
    for line in lines {
        let Body::Event(event) = &line.body else { continue };
        let next = match state.take() {
            None => State::begin(event),
            Some(state) => state.apply(event, line.at / 1000),
        };
        state = Some(next.map_err(|illegal| {
            damaged(
                path,
                line.seq,
                &format!("{} cannot happen while {}", illegal.event, illegal.situation),
            )
        })?);
    }
    Ok(state)
}

fn damaged(path: &Path, line: u64, why: &str) -> anyhow::Error {
    let folder = path.parent().unwrap_or(path);
    let id = folder.file_name().unwrap_or_default().to_string_lossy();
    Failure::environment(format!("the journal {} is damaged in line {line}", path.display()))
        .evidence(why.to_owned())
        .evidence(
            "the commits and notes of the run are in git and are not affected; it can continue from its last note",
        )
        .next(format!("mv {} ~/{id}.damaged, then: redgreen resume {id}", in_quotes(&folder.to_string_lossy())))
        .into()
}

fn newer(path: &Path, version: u32) -> anyhow::Error {
    Failure::environment(format!(
        "the journal {} was written by a newer redgreen (version {version})",
        path.display()
    ))
    .next("redgreen --version, and update")
    .into()
}

#[cfg(test)]
mod tests;
