//! Logs every connection of an agent as a line of JSON in the run's folder.

use std::fs::{File, OpenOptions};
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};

use anyhow::{Context, Result};
use redgreen_core::egress::Target;
use serde::Serialize;

use super::stream::ByteCounts;

/// The file name in the folder of a turn.
pub const FILE: &str = "network.jsonl";
/// Further connections are not logged.
const LINES_MAX: usize = 20_000;
/// The number of refused hosts reported per turn.
const REFUSALS_MAX: usize = 20;
const VERSION: u32 = 1;

/// The result of a connection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Outcome {
    Passed(ByteCounts),
    Refused(&'static str),
    /// Allowed, but the connection failed for this reason.
    Failed(String),
}

/// A refused host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    pub target: Target,
    pub why: &'static str,
}

#[derive(Debug)]
pub(super) struct Log {
    kept: Mutex<LogState>,
}

#[derive(Debug)]
struct LogState {
    file: File,
    lines: usize,
    refusals: Vec<Refusal>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct LineV1<'a> {
    version: u32,
    time: String,
    host: &'a str,
    port: u16,
    outcome: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<&'a str>,
    bytes_sent: u64,
    bytes_received: u64,
}

impl Log {
    pub(super) fn open(path: &Path) -> Result<Self> {
        let file = OpenOptions::new().create(true).append(true).mode(0o600).open(path);
        let file = file.with_context(|| format!("open {}", path.display()))?;
        Ok(Self { kept: Mutex::new(LogState { file, lines: 0, refusals: Vec::new() }) })
    }

    pub(super) fn add(&self, target: &Target, outcome: &Outcome) {
        let (word, reason, passed) = match outcome {
            Outcome::Passed(passed) => ("allowed", None, *passed),
            Outcome::Refused(why) => ("refused", Some(*why), ByteCounts::default()),
            Outcome::Failed(why) => ("failed", Some(why.as_str()), ByteCounts::default()),
        };
        let line = LineV1 {
            version: VERSION,
            time: jiff::Timestamp::now().to_string(),
            host: &target.host,
            port: target.port,
            outcome: word,
            reason,
            bytes_sent: passed.sent,
            bytes_received: passed.received,
        };
        let mut kept = self.kept();
        if let Outcome::Refused(why) = outcome {
            let refusal = Refusal { target: target.clone(), why };
            if kept.refusals.len() < REFUSALS_MAX && !kept.refusals.contains(&refusal) {
                kept.refusals.push(refusal);
            }
        }
        kept.lines += 1;
        if kept.lines <= LINES_MAX
            && let Ok(mut text) = serde_json::to_string(&line)
        {
            text.push('\n');
            // A full disk must neither open the network nor end the turn.
            kept.file.write_all(text.as_bytes()).ok();
        }
    }

    pub(super) fn refusals(&self) -> Vec<Refusal> {
        std::mem::take(&mut self.kept().refusals)
    }

    fn kept(&self) -> MutexGuard<'_, LogState> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
