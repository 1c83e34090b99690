//! Which runs were begun here. A journal says what to run (linters, checks of a task, a script); one that came with a
//! copied folder was written by somebody else. So each run is remembered in the user's own folder, outside the repository,
//! and a run that is not known there goes on only when the user says so.

use std::fs;
use std::path::PathBuf;

use anyhow::{Context, Result};
use redgreen_core::names::RunId;
use sha2::{Digest, Sha256};

use super::Project;
use crate::failure::Failure;

const FOLDER: &str = "runs";

impl Project {
    /// From now on the run is one of this user's. Without a home folder nothing is remembered.
    pub fn remember_run(&self, id: &RunId) -> Result<()> {
        let Some(path) = self.origin(id) else { return Ok(()) };
        let folder = path.parent().unwrap_or(&path);
        fs::create_dir_all(folder).with_context(|| format!("create {}", folder.display()))?;
        fs::write(&path, format!("{}\n{id}\n", self.git.common_dir.display()))
            .with_context(|| format!("write {}", path.display()))
    }

    /// Whether this user began the run here, or took it over.
    pub fn knows_run(&self, id: &RunId) -> bool {
        self.environment.trust || self.origin(id).is_some_and(|path| path.is_file())
    }

    /// Stops a verb that would go on with a run of somebody else's; `again` is how it was asked for.
    pub fn check_run(&self, id: &RunId, again: &str) -> Result<()> {
        if self.knows_run(id) {
            return Ok(());
        }
        Err(Failure::usage(format!("run {id} was not begun here: its records came with the folder, or it was moved"))
            .evidence(format!("they are in {}", self.store.named(id).path.display()))
            .evidence("they name commands that redgreen would run")
            .next(format!("redgreen why {id}, and if the folder is yours: redgreen {again} --trust"))
            .into())
    }

    /// The run is over for good, so nobody will ask any more.
    pub(super) fn forget_run(&self, id: &RunId) {
        if let Some(path) = self.origin(id) {
            // What is left behind says only that a run once was.
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
