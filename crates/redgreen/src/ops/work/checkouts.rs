//! The folders of a worker: one checkout for each attempt at a job, the cache of git objects, and the
//! checkouts that are kept because another worker has the job now.

use std::fs::{self, File, OpenOptions};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

use crate::private;

/// The number of kept checkouts.
const SALVAGE_MAX: usize = 20;
const LOCK: &str = "lock";

/// Creates the folders, and keeps what workers that were killed left in them.
pub(super) fn prepare(home: &Path) -> Result<()> {
    for folder in ["jobs", "cache", "salvage"] {
        let folder = home.join(folder);
        private::create_dir_all(&folder).with_context(|| format!("create {}", folder.display()))?;
    }
    let jobs = home.join("jobs");
    let entries = fs::read_dir(&jobs).with_context(|| format!("read {}", jobs.display()))?;
    for entry in entries.flatten().filter(|entry| entry.path().is_dir()) {
        // Another worker in the same folder holds the locks of its own.
        let lock = open_lock(&entry.path())?;
        if lock.try_lock().is_ok() {
            salvage(home, &entry.path());
        }
    }
    Ok(())
}

/// Marks a checkout as used, until this process drops the lock or dies.
pub(super) fn lock(checkout: &Path) -> Result<File> {
    let lock = open_lock(checkout)?;
    lock.try_lock().with_context(|| format!("lock {}", checkout.display()))?;
    Ok(lock)
}

pub(super) fn remove(checkout: &Path) {
    fs::remove_dir_all(checkout).ok();
    fs::remove_file(lock_of(checkout)).ok();
}

/// Keeps a checkout, and removes the oldest of those kept before.
pub(super) fn salvage(home: &Path, checkout: &Path) {
    let kept = home.join("salvage");
    fs::remove_file(lock_of(checkout)).ok();
    if fs::rename(checkout, kept.join(checkout.file_name().unwrap_or_default())).is_err() {
        return;
    }
    let entries = fs::read_dir(&kept).into_iter().flatten().flatten();
    let mut all: Vec<_> = entries
        .filter_map(|entry| Some((entry.metadata().ok()?.modified().ok()?, entry.path())))
        .collect();
    all.sort();
    for (_, old) in all.iter().take(all.len().saturating_sub(SALVAGE_MAX)) {
        fs::remove_dir_all(old).ok();
    }
}

fn lock_of(checkout: &Path) -> PathBuf {
    checkout.with_extension(LOCK)
}

fn open_lock(checkout: &Path) -> Result<File> {
    let path = lock_of(checkout);
    private::open(OpenOptions::new().create(true).write(true).truncate(false), &path)
        .with_context(|| format!("lock {}", path.display()))
}
