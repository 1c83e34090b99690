//! Stores the results of accepted candidates for the next verdict, in our own folder outside the
//! repository.

use std::fs;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use redgreen_core::report::Report;
use serde::{Deserialize, Serialize};

use super::environment::EnvironmentRecord;
use crate::config;

/// How many results of trees that were only run are kept: CI systems save them after every run.
const RUNS_MAX: usize = 16;

#[derive(Clone, Debug)]
pub struct Memory {
    folder: PathBuf,
    /// The maximum number of results, if there is one. The oldest are removed.
    most: Option<usize>,
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
        Ok(Self { folder: workshop.join("judged"), most: None, key: test.key()? })
    }

    /// For trees that were only run, not judged. No verdict builds on them.
    pub fn of_runs(workshop: &Path, test: &config::Test) -> Result<Self> {
        Ok(Self { folder: workshop.join("measured"), most: Some(RUNS_MAX), key: test.key()? })
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
        io::Write::write_all(&mut file, &bytes).with_context(act)?;
        file.persist(&path).with_context(act)?;
        if let Some(most) = self.most {
            self.forget_all_but(most).with_context(|| format!("tidy {}", self.folder.display()))?;
        }
        Ok(())
    }

    /// Removes the oldest results.
    fn forget_all_but(&self, most: usize) -> io::Result<()> {
        let mut known = Vec::new();
        for entry in fs::read_dir(&self.folder)? {
            let entry = entry?;
            // Another process may have removed it.
            let Ok(modified) = entry.metadata().and_then(|facts| facts.modified()) else {
                continue;
            };
            known.push((modified, entry.path()));
        }
        known.sort_unstable();
        let more = known.len().saturating_sub(most);
        for (_, path) in known.iter().take(more) {
            match fs::remove_file(path) {
                Err(error) if error.kind() != ErrorKind::NotFound => return Err(error),
                Ok(()) | Err(_) => {}
            }
        }
        Ok(())
    }

    fn path(&self, tree: &str) -> PathBuf {
        let mark = if self.key.is_empty() { "" } else { "-" };
        self.folder.join(format!("{tree}{mark}{}.json", self.key))
    }
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, SystemTime};

    use super::*;

    #[test]
    fn only_the_newest_runs_are_kept() {
        let workshop = tempfile::tempdir().unwrap();
        let memory = Memory::of_runs(workshop.path(), &config::Test::default()).unwrap();
        let result = StoredResult {
            version: 1,
            report: Report::default(),
            targets: Vec::new(),
            surroundings: EnvironmentRecord::default(),
        };
        let trees: Vec<String> = (0..RUNS_MAX + 3).map(|at| format!("tree{at}")).collect();
        for (at, tree) in (0..).zip(&trees) {
            memory.keep(tree, &result).unwrap();
            let time = SystemTime::UNIX_EPOCH + Duration::from_secs(at);
            let file = fs::File::options().write(true).open(memory.path(tree)).unwrap();
            file.set_modified(time).unwrap();
        }
        let is_known = |tree: &&String| memory.recall(tree).unwrap().is_some();
        let kept: Vec<&String> = trees.iter().filter(is_known).collect();
        assert_eq!(kept, trees[3..].iter().collect::<Vec<_>>());
    }
}
