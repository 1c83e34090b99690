//! The running test suites and their report streams.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use redgreen_core::format::counter::Counter;
use redgreen_core::format::stream::Tally;

use super::Stop;

/// A running test suite.
#[derive(Debug)]
pub struct SuiteAtWork {
    /// The name of the framework.
    pub name: String,
    /// The stream of our reporter, one line per test. Tests can write to it.
    pub stream: PathBuf,
    /// Counts results in the runner's output, if it prints each test.
    printed: Mutex<Counter>,
}

/// Marks the suite as running until dropped.
#[derive(Debug)]
pub struct AtWork {
    stop: Stop,
    suite: Arc<SuiteAtWork>,
}

impl Stop {
    pub fn suite_at_work(&self, name: &str, stream: PathBuf) -> AtWork {
        let suite =
            Arc::new(SuiteAtWork { name: name.to_owned(), stream, printed: Mutex::default() });
        let stop = self.whole().clone();
        stop.0.suites.lock().unwrap_or_else(PoisonError::into_inner).push(Arc::clone(&suite));
        AtWork { stop, suite }
    }

    /// The suite that was started last.
    pub fn newest_suite(&self) -> Option<Arc<SuiteAtWork>> {
        self.whole().0.suites.lock().unwrap_or_else(PoisonError::into_inner).last().cloned()
    }

    fn whole(&self) -> &Stop {
        self.0.above.as_ref().map_or(self, Stop::whole)
    }
}

impl SuiteAtWork {
    /// The progress according to the runner's output.
    pub fn printed(&self) -> Tally {
        self.printed.lock().unwrap_or_else(PoisonError::into_inner).tally()
    }
}

impl AtWork {
    /// Processes output of the runner as it arrives.
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
