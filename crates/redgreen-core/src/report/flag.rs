//! What is odd about a run of the tests as a whole.

use serde::{Deserialize, Serialize};

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Flag {
    Focused,
    Flaky,
    DuplicateId,
    Stale,
    ExitCodeContradicts,
    /// The run ended by exit 0 without a word about its end.
    NoFinish,
    /// A planned test has no result.
    ResultMissing,
    /// A result came for a test that was never started: something wrote it that is not the runner.
    ResultWithoutRun,
    /// A file that was run as a test file and held none.
    FileWithoutTests,
    /// Nothing but the exit code was there to go by.
    ExitCodeAlone,
    /// Two records of the same run tell different stories: something wrote results that is not the runner.
    SourcesDisagree,
    /// The runner itself stopped, by its own exit code: it was interrupted, or failed on an error of its own.
    RunnerStopped,
}

impl Flag {
    /// What it means, for a person.
    pub fn words(self) -> &'static str {
        match self {
            Self::Focused => "some tests are marked to run alone, so the others did not run",
            Self::Flaky => "a test passed only when it was tried again",
            Self::DuplicateId => "several tests have the same name",
            Self::Stale => "the report is older than this run",
            Self::ExitCodeContradicts => "the exit code and the report disagree",
            Self::NoFinish => "the runner ended with exit code 0 and did not say that it was done",
            Self::ResultMissing => "a test that was planned has no result",
            Self::ResultWithoutRun => "a result came for a test that was never started",
            Self::FileWithoutTests => "a test file has no tests",
            Self::ExitCodeAlone => "only the exit code is known: the command names no tests",
            Self::SourcesDisagree => "two records of this run disagree",
            Self::RunnerStopped => "the runner stopped by itself: it was interrupted, or failed internally",
        }
    }
}
