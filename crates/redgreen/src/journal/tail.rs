//! Follows the journal of a run that another process writes.

use std::io::{ErrorKind, Read, Seek, SeekFrom};
use std::path::PathBuf;

use anyhow::{Context, Result};
use redgreen_core::state::State;

use super::{Body, FILE, Line, RunFolder, VERSION, damaged, newer};
use crate::foreign;

/// The position in a journal and the state there.
#[derive(Debug)]
pub struct Tail {
    path: PathBuf,
    read: u64,
    state: Option<State>,
}

impl Tail {
    pub fn new(folder: &RunFolder) -> Result<Self> {
        folder.check()?;
        Ok(Self { path: folder.path.join(FILE), read: 0, state: None })
    }

    pub fn state(&self) -> Option<&State> {
        self.state.as_ref()
    }

    /// The new lines, each with the state after it.
    pub fn more(&mut self) -> Result<Vec<(Line, State)>> {
        let act = || format!("read {}", self.path.display());
        let mut file = match foreign::open_file(&self.path) {
            Ok(file) => file,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => return Err(error).with_context(act),
        };
        let mut bytes = Vec::new();
        file.seek(SeekFrom::Start(self.read))
            .and_then(|_| file.read_to_end(&mut bytes))
            .with_context(act)?;
        let mut lines = Vec::new();
        // The last line may be incomplete.
        for raw in bytes.split_inclusive(|byte| *byte == b'\n').filter(|raw| raw.ends_with(b"\n")) {
            let wrong = |seq: u64, why: &str| damaged(&self.path, seq, why);
            let seq =
                lines.last().map_or(0, |(line, _): &(Line, State)| line.seq).saturating_add(1);
            let line: Line =
                serde_json::from_slice(raw).map_err(|error| wrong(seq, &error.to_string()))?;
            if line.version > VERSION {
                return Err(newer(&self.path, line.version));
            }
            let state = match (&line.body, self.state.take()) {
                (Body::Intent { .. }, state) => state,
                (Body::Event(event), state) => {
                    let state = match state {
                        None => State::begin(event),
                        Some(state) => state.apply(event, line.at / 1000),
                    };
                    let illegal = |illegal: redgreen_core::state::InvalidEvent| {
                        wrong(
                            line.seq,
                            &format!("{} cannot happen while {}", illegal.event, illegal.situation),
                        )
                    };
                    Some(state.map_err(illegal)?)
                }
            };
            self.read = self.read.saturating_add(raw.len() as u64);
            self.state = state;
            lines.extend(self.state.clone().map(|state| (line, state)));
        }
        Ok(lines)
    }
}
