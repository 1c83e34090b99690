//! The steps of a run, read from its journal as it grows. Costs what was written since, and keeps
//! no state of the run.

use std::io::{ErrorKind, Read, Seek, SeekFrom};
use std::path::PathBuf;

use anyhow::{Context, Result};
use redgreen_core::names::Oid;
use redgreen_core::steps::Steps;
use serde::Deserialize;

use super::{Body, FILE, Line, RunFolder, VERSION, damaged, newer};
use crate::foreign;

/// How far into a line its kind is written: after the version, the number and the time.
const HEAD_BYTES: usize = 90;
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
struct NotedLine {
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
        let act = || format!("read {}", self.path.display());
        let mut file = match foreign::open_file(&self.path) {
            Ok(file) => file,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
            Err(error) => return Err(error).with_context(act),
        };
        let mut bytes = Vec::new();
        file.seek(SeekFrom::Start(self.read))
            .and_then(|_| file.read_to_end(&mut bytes))
            .with_context(act)?;
        // The last line may be on its way.
        for raw in bytes.split_inclusive(|byte| *byte == b'\n').filter(|raw| raw.ends_with(b"\n")) {
            self.lines = self.lines.saturating_add(1);
            self.hear(raw)?;
            self.read = self.read.saturating_add(raw.len() as u64);
        }
        Ok(())
    }

    fn hear(&mut self, raw: &[u8]) -> Result<()> {
        let wrong = |error: &serde_json::Error| damaged(&self.path, self.lines, &error.to_string());
        let head = String::from_utf8_lossy(raw.get(..HEAD_BYTES).unwrap_or(raw));
        if head.contains(NOTED) {
            let line: NotedLine = serde_json::from_slice(raw).map_err(|error| wrong(&error))?;
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
        if let Body::Event(event) = &line.body {
            self.steps.hear(line.at, event);
        }
        Ok(())
    }
}
