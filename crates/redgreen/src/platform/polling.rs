//! Watching a folder where the system does not report changes: by looking again.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs;
use std::io::Result;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

/// Tells which files were moved into a folder.
#[derive(Debug)]
pub struct Watcher {
    folder: PathBuf,
    /// A file that is replaced by a rename has another inode or another time of change.
    known: BTreeMap<OsString, (u64, i64, i64)>,
}

impl Watcher {
    pub fn new(folder: &Path) -> Result<Self> {
        Ok(Self { folder: folder.to_owned(), known: look(folder)? })
    }

    /// The names that were moved there since the last call. Waits for at most this long.
    pub fn changed(&mut self, wait: Duration) -> Result<Vec<OsString>> {
        thread::sleep(wait);
        let now = look(&self.folder)?;
        let is_new = |name: &&OsString| self.known.get(*name) != now.get(*name);
        let changed = now.keys().filter(is_new).cloned().collect();
        self.known = now;
        Ok(changed)
    }
}

fn look(folder: &Path) -> Result<BTreeMap<OsString, (u64, i64, i64)>> {
    let mut found = BTreeMap::new();
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        // It may be removed meanwhile.
        if let Ok(facts) = entry.metadata() {
            found.insert(entry.file_name(), (facts.ino(), facts.ctime(), facts.ctime_nsec()));
        }
    }
    Ok(found)
}
