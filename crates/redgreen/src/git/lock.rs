//! Locks between redgreen processes where git has none. The lock of a killed process is released.

use std::fs::{File, TryLockError};
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};

use super::Git;
use crate::failure::Failure;
use crate::private;
use crate::process::Interrupted;

const LOCK_POLL: Duration = Duration::from_millis(3);

impl Git {
    /// Waits for the lock. `doing` is used in the message about a process that holds it for too
    /// long.
    pub(super) fn lock(&self, name: &str, doing: &str, wait_max: Duration) -> Result<File> {
        self.lock_in(&self.common_dir.join("redgreen"), name, doing, wait_max)
    }

    /// The same for a lock in another folder.
    pub fn lock_in(
        &self,
        folder: &Path,
        name: &str,
        doing: &str,
        wait_max: Duration,
    ) -> Result<File> {
        let path = folder.join(name);
        let act = || format!("lock {}", path.display());
        private::create_dir_all(folder)
            .with_context(|| format!("create folder {}", folder.display()))?;
        let file =
            private::open(File::options().create(true).append(true), &path).with_context(act)?;
        let deadline = Instant::now() + wait_max;
        let leaving = self.stop.requested();
        loop {
            match file.try_lock() {
                Ok(()) => return Ok(file),
                Err(TryLockError::Error(error)) => return Err(error).with_context(act),
                Err(TryLockError::WouldBlock) if self.stop.requested() && !leaving => {
                    return Err(Interrupted.into());
                }
                Err(TryLockError::WouldBlock) if Instant::now() >= deadline => {
                    let seconds = wait_max.as_secs();
                    return Err(Failure::environment(format!(
                        "another redgreen has been {doing} for {seconds} s"
                    ))
                    .evidence(format!("it holds {}", path.display()))
                    .into());
                }
                Err(TryLockError::WouldBlock) => thread::sleep(LOCK_POLL),
            }
        }
    }
}
