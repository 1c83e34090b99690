//! Stores the results of accepted candidates for the next verdict, in our own folder outside the
//! repository.

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use redgreen_core::report::Report;
use serde::{Deserialize, Serialize};

use super::environment::EnvironmentRecord;
use crate::config;

#[derive(Clone, Debug)]
pub struct Memory {
    folder: PathBuf,
    /// A hash of the test settings: with others the same tree may have other results.
    key: String,
}

/// The results of an accepted tree.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct StoredResult {
    pub version: u32,
    pub report: Report,
    pub targets: Vec<String>,
    pub surroundings: EnvironmentRecord,
}

impl Memory {
    pub fn new(workshop: &Path, test: &config::Test) -> Result<Self> {
        Ok(Self { folder: workshop.join("judged"), key: test.key()? })
    }

    /// For trees that were only run, not judged. No verdict builds on them.
    pub fn of_runs(workshop: &Path, test: &config::Test) -> Result<Self> {
        Ok(Self { folder: workshop.join("measured"), key: test.key()? })
    }

    /// The results of a tree; `None` if it was not accepted, or by another version of redgreen.
    pub fn recall(&self, tree: &str) -> Result<Option<StoredResult>> {
        let path = self.path(tree);
        let bytes = match fs::read(&path) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(error).with_context(|| format!("read {}", path.display())),
        };
        Ok(serde_json::from_slice(&bytes).ok())
    }

    pub fn keep(&self, tree: &str, remembered: &StoredResult) -> Result<()> {
        let path = self.path(tree);
        let act = || format!("write {}", path.display());
        fs::create_dir_all(&self.folder).with_context(act)?;
        let bytes = serde_json::to_vec(remembered).context("write a verdict as JSON")?;
        let mut file = tempfile::NamedTempFile::new_in(&self.folder).with_context(act)?;
        std::io::Write::write_all(&mut file, &bytes).with_context(act)?;
        file.persist(&path).with_context(act)?;
        Ok(())
    }

    fn path(&self, tree: &str) -> PathBuf {
        let mark = if self.key.is_empty() { "" } else { "-" };
        self.folder.join(format!("{tree}{mark}{}.json", self.key))
    }
}
