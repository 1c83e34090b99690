//! The steps of a run, read from its journal as it grows. Costs what was written since, and keeps
//! no state of the run.

use std::io::{BufRead, BufReader, ErrorKind, Read, Seek, SeekFrom};
use std::path::PathBuf;

use anyhow::{Context, Result};
use redgreen_core::names::Oid;
use redgreen_core::steps::Steps;
use serde::Deserialize;

use super::{Body, FILE, Line, RunFolder, VERSION, damaged, newer};
use crate::foreign;

/// How far into a line its kind is written: after the version, the number and the time.
const HEAD_BYTES: usize = 90;
/// Longer than any line that the engine writes.
const LINE_BYTES_MAX: u64 = 256 << 20;
const NOTED: &str = "\"event\":\"noted\"";

/// Reads a run's journal from where it stopped reading.
#[derive(Clone, Debug, Default)]
pub struct StepsTail {
    path: PathBuf,
    read: u64,
    lines: u64,
    pub steps: Steps,
}

/// A line about a note. Its lists of tests grow with the run and are skipped.
#[derive(Deserialize)]
struct NoteLine {
    #[serde(rename = "v")]
    version: u32,
    commit: Oid,
}

impl StepsTail {
    pub fn new(folder: &RunFolder) -> Result<Self> {
        folder.check()?;
        Ok(Self { path: folder.path.join(FILE), ..Self::default() })
    }

    /// How much of the journal was read.
    pub fn read_bytes(&self) -> u64 {
        self.read
    }

    /// Reads what was written since.
    pub fn more(&mut self) -> Result<()> {
        let path = self.path.clone();
        let act = || format!("read {}", path.display());
        let mut file = match foreign::open_file(&self.path) {
            Ok(file) => file,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
            Err(error) => return Err(error).with_context(act),
        };
        file.seek(SeekFrom::Start(self.read)).with_context(act)?;
        // One line at a time: a long journal is larger than what is kept of it.
        let mut file = BufReader::new(file);
        let mut raw = Vec::new();
        loop {
            raw.clear();
            let mut limited = (&mut file).take(LINE_BYTES_MAX);
            limited.read_until(b'\n', &mut raw).with_context(act)?;
            // The last line may be on its way.
            if !raw.ends_with(b"\n") {
                return self.check_length(&raw);
            }
            self.lines = self.lines.saturating_add(1);
            self.hear(&raw)?;
            self.read = self.read.saturating_add(raw.len() as u64);
        }
    }

    /// The maximum length of a line that redgreen writes.
    fn check_length(&self, raw: &[u8]) -> Result<()> {
        if raw.len() as u64 >= LINE_BYTES_MAX {
            let why = format!("a line is longer than {LINE_BYTES_MAX} bytes");
            return Err(damaged(&self.path, self.lines.saturating_add(1), &why));
        }
        Ok(())
    }

    fn hear(&mut self, raw: &[u8]) -> Result<()> {
        let wrong = |error: &serde_json::Error| damaged(&self.path, self.lines, &error.to_string());
        let head = String::from_utf8_lossy(raw.get(..HEAD_BYTES).unwrap_or(raw));
        if head.contains(NOTED) {
            let line: NoteLine = serde_json::from_slice(raw).map_err(|error| wrong(&error))?;
            if line.version > VERSION {
                return Err(newer(&self.path, line.version));
            }
            self.steps.noted(&line.commit);
            return Ok(());
        }
        let line: Line = serde_json::from_slice(raw).map_err(|error| wrong(&error))?;
        if line.version > VERSION {
            return Err(newer(&self.path, line.version));
        }
        match &line.body {
            Body::Event(event) => self.steps.hear(line.at, event),
            Body::Intent { intent } => self.steps.intend(line.at, intent),
        }
        Ok(())
    }
}
