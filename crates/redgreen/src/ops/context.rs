//! `redgreen context`: what would be sent to an agent, its size, and the recipient.

use std::path::{Path, PathBuf};

use anyhow::Result;
use redgreen_core::guard::{TOKENS_MAX, TOKENS_PER_REQUEST};
use serde::Serialize;

use super::team;
use crate::agent::Team;
use crate::agent::choice::Choice;
use crate::engine::Project;
use crate::failure::Failure;
use crate::guard;

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Context {
    pub version: u32,
    pub files: Vec<File>,
    pub refused: Vec<RefusedFile>,
    pub bytes: usize,
    /// Counted like the service that counts most.
    pub tokens: u64,
    pub tokens_max: u64,
    pub to: String,
    /// What to do before anything can be sent.
    #[serde(skip)]
    pub first: Option<String>,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct File {
    pub path: String,
    pub bytes: usize,
    pub tokens: u64,
    /// Lines that look random. A person should check them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub hints: Vec<usize>,
}

#[derive(Debug, Serialize)]
pub struct RefusedFile {
    pub path: String,
    pub why: String,
}

impl Context {
    /// Whether a run with these paths would start.
    pub fn is_fine(&self) -> bool {
        self.refused.is_empty() && self.tokens <= self.tokens_max
    }
}

pub fn context(
    project: &Project,
    agents: &Choice,
    here: &Path,
    paths: &[PathBuf],
) -> Result<Context> {
    let gathered = guard::gather(&project.git.root, here, paths);
    let refused = gathered
        .refused
        .iter()
        .map(|(path, why)| RefusedFile { path: path.clone(), why: why.to_string() });
    let files = gathered.sent.iter().map(|sent| File {
        path: sent.document.path.clone(),
        bytes: sent.bytes,
        tokens: sent.tokens,
        hints: sent.hints.clone(),
    });
    let (to, first) = recipient(project, agents)?;
    Ok(Context {
        version: 1,
        refused: refused.collect(),
        bytes: gathered.sent.iter().map(|sent| sent.bytes).sum(),
        tokens: gathered.tokens(),
        tokens_max: project.file.model.window.unwrap_or(TOKENS_PER_REQUEST).min(TOKENS_MAX),
        files: files.collect(),
        to,
        first,
    })
}

/// The recipient; and if a run could not start with these agents, what to do.
fn recipient(project: &Project, agents: &Choice) -> Result<(String, Option<String>)> {
    match team(project, agents, None) {
        Ok((team, ..)) => Ok((reader(&team), None)),
        Err(error) => {
            let failure = error.downcast::<Failure>()?;
            Ok((format!("no agent yet: {}", failure.what), failure.next))
        }
    }
}

/// Who receives what these agents are sent.
pub fn reader(team: &Team) -> String {
    match team.script() {
        Some(_) => {
            format!("{}, which replays a local file: nothing leaves this machine", team.name())
        }
        None => team.recipients(),
    }
}
