//! The running test suites and their report streams.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use redgreen_core::format::counter::Counter;
use redgreen_core::format::stream::Tally;

use super::Stop;

/// A running test suite.
#[derive(Debug)]
pub struct RunningSuite {
    /// The name of the framework.
    pub name: String,
    /// The stream of our reporter, one line per test. Tests can write to it.
    pub stream: PathBuf,
    /// Counts results in the runner's output, if it prints each test.
    printed: Mutex<Counter>,
}

/// Marks the suite as running until dropped.
#[derive(Debug)]
pub struct SuiteGuard {
    stop: Stop,
    suite: Arc<RunningSuite>,
}

impl Stop {
    pub fn suite_at_work(&self, name: &str, stream: PathBuf) -> SuiteGuard {
        let suite =
            Arc::new(RunningSuite { name: name.to_owned(), stream, printed: Mutex::default() });
        let stop = self.whole().clone();
        stop.0.suites.lock().unwrap_or_else(PoisonError::into_inner).push(Arc::clone(&suite));
        SuiteGuard { stop, suite }
    }

    /// The suite that was started last.
    pub fn newest_suite(&self) -> Option<Arc<RunningSuite>> {
        self.whole().0.suites.lock().unwrap_or_else(PoisonError::into_inner).last().cloned()
    }

    fn whole(&self) -> &Stop {
        self.0.above.as_ref().map_or(self, Stop::whole)
    }
}

impl RunningSuite {
    /// The progress according to the runner's output.
    pub fn printed(&self) -> Tally {
        self.printed.lock().unwrap_or_else(PoisonError::into_inner).tally()
    }
}

impl SuiteGuard {
    /// Processes output of the runner as it arrives.
    pub fn hear(&self, bytes: &[u8]) {
        self.suite.printed.lock().unwrap_or_else(PoisonError::into_inner).hear(bytes);
    }
}

impl Drop for SuiteGuard {
    fn drop(&mut self) {
        let mut suites = self.stop.0.suites.lock().unwrap_or_else(PoisonError::into_inner);
        suites.retain(|suite| !Arc::ptr_eq(suite, &self.suite));
    }
}
