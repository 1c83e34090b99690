//! File metadata that reveals whether a file was touched.

use std::fs::Metadata;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// A file touched this shortly before a moment may have been touched after it: file system clocks
/// are coarse.
const SETTLED: Duration = Duration::from_secs(1);

/// The metadata of a file, and of its target if it is a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stamp {
    own: Facts,
    behind: Option<Facts>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Facts {
    place: (u64, u64),
    mode: u32,
    size: u64,
    modified: (i64, i64),
    /// The ctime, which programs cannot set.
    changed: (i64, i64),
}

impl Stamp {
    /// `None` if the file does not exist.
    pub fn of(path: &Path) -> Option<Self> {
        let own = path.symlink_metadata().ok()?;
        let behind = if own.is_symlink() { path.metadata().ok() } else { None };
        Some(Self { own: Facts::of(&own), behind: behind.as_ref().map(Facts::of) })
    }

    /// Whether it was certainly touched before that moment.
    pub fn is_settled(self, moment: SystemTime) -> bool {
        let settled = |facts: Facts| {
            let (seconds, _) = facts.changed;
            let changed =
                UNIX_EPOCH + Duration::from_secs(u64::try_from(seconds).unwrap_or_default() + 1);
            changed + SETTLED <= moment
        };
        settled(self.own) && self.behind.is_none_or(settled)
    }
}

impl Facts {
    fn of(facts: &Metadata) -> Self {
        Self {
            place: (facts.dev(), facts.ino()),
            mode: facts.mode(),
            size: facts.size(),
            modified: (facts.mtime(), facts.mtime_nsec()),
            changed: (facts.ctime(), facts.ctime_nsec()),
        }
    }
}
