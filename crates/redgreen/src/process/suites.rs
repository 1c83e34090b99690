//! The test suites at work, and the files that they report to while they run.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use redgreen_core::format::counter::Counter;
use redgreen_core::format::stream::Tally;

use super::Stop;

/// A test suite that runs now.
#[derive(Debug)]
pub struct SuiteAtWork {
    /// The framework.
    pub name: String,
    /// Grows line by line, where the framework has a reporter of ours. Tests can write to it.
    pub stream: PathBuf,
    /// Counts what the runner prints, where it tells of each test.
    printed: Mutex<Counter>,
}

/// While it lives, the suite is at work.
#[derive(Debug)]
pub struct AtWork {
    stop: Stop,
    suite: Arc<SuiteAtWork>,
}

impl Stop {
    pub fn suite_at_work(&self, name: &str, stream: PathBuf) -> AtWork {
        let suite = Arc::new(SuiteAtWork { name: name.to_owned(), stream, printed: Mutex::default() });
        let stop = self.whole().clone();
        stop.0.suites.lock().unwrap_or_else(PoisonError::into_inner).push(Arc::clone(&suite));
        AtWork { stop, suite }
    }

    /// The one that was started last.
    pub fn newest_suite(&self) -> Option<Arc<SuiteAtWork>> {
        self.whole().0.suites.lock().unwrap_or_else(PoisonError::into_inner).last().cloned()
    }

    fn whole(&self) -> &Stop {
        self.0.above.as_ref().map_or(self, Stop::whole)
    }
}

impl SuiteAtWork {
    /// What its runner printed tells this of how far it got.
    pub fn printed(&self) -> Tally {
        self.printed.lock().unwrap_or_else(PoisonError::into_inner).tally()
    }
}

impl AtWork {
    /// Hears what its runner prints, as it comes.
    pub fn hear(&self, bytes: &[u8]) {
        self.suite.printed.lock().unwrap_or_else(PoisonError::into_inner).hear(bytes);
    }
}

impl Drop for AtWork {
    fn drop(&mut self) {
        let mut suites = self.stop.0.suites.lock().unwrap_or_else(PoisonError::into_inner);
        suites.retain(|suite| !Arc::ptr_eq(suite, &self.suite));
    }
}
