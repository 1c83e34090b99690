//! Which runs were started here. A journal contains commands (linters, checks of a task, a script),
//! and the journal in a copied folder comes from somebody else. So redgreen remembers each run in
//! the user's own folder, outside the repository. It continues an unknown run only with the user's
//! consent.

use std::fs;
use std::path::PathBuf;

use anyhow::{Context, Result};
use redgreen_core::names::RunId;
use sha2::{Digest, Sha256};

use super::Project;
use crate::failure::Failure;

const FOLDER: &str = "runs";

impl Project {
    /// Remembers the run as one of this user. Without a home folder, it remembers nothing.
    pub fn remember_run(&self, id: &RunId) -> Result<()> {
        let Some(path) = self.origin(id) else { return Ok(()) };
        let folder = path.parent().unwrap_or(&path);
        fs::create_dir_all(folder).with_context(|| format!("create {}", folder.display()))?;
        fs::write(&path, format!("{}\n{id}\n", self.git.common_dir.display()))
            .with_context(|| format!("write {}", path.display()))
    }

    /// Whether this user started the run here, or took it over.
    pub fn knows_run(&self, id: &RunId) -> bool {
        self.environment.trust || self.origin(id).is_some_and(|path| path.is_file())
    }

    /// Whether this user started the run here, also if they trust everything. Without a home folder
    /// it is not known.
    pub fn started_run(&self, id: &RunId) -> bool {
        self.origin(id).is_none_or(|path| path.is_file())
    }

    /// Stops a command that would continue a run of somebody else. `again` is the command that was
    /// used.
    pub fn check_run(&self, id: &RunId, again: &str) -> Result<()> {
        if self.knows_run(id) {
            return Ok(());
        }
        Err(Failure::usage(format!(
            "run {id} was not started here: its records came with the folder, or the folder was \
             moved"
        ))
        .evidence(format!("they are in {}", self.store.named(id).path.display()))
        .evidence("they contain commands that redgreen would run")
        .next(format!("redgreen why {id}, and if the folder is yours: redgreen {again} --trust"))
        .into())
    }

    /// The run is over for good.
    pub(super) fn forget_run(&self, id: &RunId) {
        if let Some(path) = self.origin(id) {
            // A leftover file only says that there was a run.
            fs::remove_file(path).ok();
        }
    }

    fn origin(&self, id: &RunId) -> Option<PathBuf> {
        let mut hash = Sha256::new();
        hash.update(self.git.common_dir.as_os_str().as_encoded_bytes());
        hash.update([0]);
        hash.update(id.as_bytes());
        let name: String = hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect();
        Some(self.environment.state.as_ref()?.join(FOLDER).join(name))
    }
}
