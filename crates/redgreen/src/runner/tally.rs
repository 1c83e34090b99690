//! The progress of the running test suite, read from its reporter's stream or from the runner's
//! output. Only for display: no verdict depends on it, because tests can write to both.

use std::fs::OpenOptions;
use std::io::{Read, Seek, SeekFrom};
use std::os::unix::fs::OpenOptionsExt;
use std::sync::Arc;

use redgreen_core::format::counter::Counter;
use redgreen_core::format::stream;
use rustix::fs::OFlags;

use crate::process::{RunningSuite, Stop};

/// The number of bytes read at once.
const READ_BYTES_MAX: u64 = 1 << 20;

/// Follows the running suites, one after the other.
#[derive(Debug, Default)]
pub struct Tally {
    suite: Option<Arc<RunningSuite>>,
    read: u64,
    streamed: Counter,
}

impl Tally {
    /// The running suite and its progress; `None` if no suite runs.
    pub fn look(&mut self, stop: &Stop) -> Option<(String, stream::Tally)> {
        let suite = stop.newest_suite()?;
        if self.suite.as_ref().is_none_or(|known| !Arc::ptr_eq(known, &suite)) {
            *self = Self { suite: Some(Arc::clone(&suite)), ..Self::default() };
        }
        let more = self.more(&suite).unwrap_or_default();
        self.streamed.hear(&more);
        // With redgreen's reporter, the output contains only what the tests print.
        let tally = match self.read {
            0 => suite.printed(),
            _ => self.streamed.tally(),
        };
        Some((suite.name.clone(), tally))
    }

    /// The bytes added since the last call.
    fn more(&mut self, suite: &RunningSuite) -> std::io::Result<Vec<u8>> {
        // A test may have replaced the file by a link or a pipe.
        let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK;
        let flags = i32::try_from(flags.bits()).unwrap_or_default();
        let mut file = OpenOptions::new().read(true).custom_flags(flags).open(&suite.stream)?;
        let mut bytes = Vec::new();
        if file.metadata()?.is_file() {
            file.seek(SeekFrom::Start(self.read))?;
            file.take(READ_BYTES_MAX).read_to_end(&mut bytes)?;
            self.read += bytes.len() as u64;
        }
        Ok(bytes)
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn counts_results_per_suite() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("stream.jsonl");
        let (stop, mut tally) = (Stop::default(), Tally::default());
        assert_eq!(tally.look(&stop), None);
        let seen = |tally: &mut Tally| {
            tally.look(&stop).map(|(_, tally)| (tally.done, tally.failed, tally.total))
        };
        let first = stop.part().suite_at_work("pytest", path.clone());
        assert_eq!(seen(&mut tally), Some((0, 0, None)), "nothing is written yet");
        fs::write(
            &path,
            "{\"event\":\"collected\",\"ids\":[\"a\",\"b\"]}\n{\"event\":\"passed\",\"id\":",
        )
        .unwrap();
        assert_eq!(seen(&mut tally), Some((0, 0, Some(2))));
        let text = fs::read_to_string(&path).unwrap();
        fs::write(
            &path,
            text + "\"a\"}\n{\"event\":\"result\",\"id\":\"b\",\"outcome\":\"failed\"}\nnoise\n",
        )
        .unwrap();
        assert_eq!(seen(&mut tally), Some((2, 1, Some(2))));
        drop(first);
        assert_eq!(seen(&mut tally), None);
        let link = folder.path().join("link");
        std::os::unix::fs::symlink(&path, &link).unwrap();
        let second = stop.suite_at_work("pytest", link);
        assert_eq!(seen(&mut tally), Some((0, 0, None)), "a link is not followed");
        drop(second);
        let third = stop.suite_at_work("cargo", folder.path().join("none"));
        third.hear(b"{ \"type\": \"test\", \"event\": \"ok\", \"name\": \"a\" }\n{ \"type\": ");
        assert_eq!(
            seen(&mut tally),
            Some((1, 0, None)),
            "without a stream, the output of the runner counts"
        );
    }
}
