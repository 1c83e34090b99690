//! Irregularities of a test run as a whole.

use serde::{Deserialize, Serialize};

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Flag {
    Focused,
    Flaky,
    DuplicateId,
    Stale,
    ExitCodeContradicts,
    /// The run exited with 0 without reporting its end.
    NoFinish,
    /// A planned test has no result.
    ResultMissing,
    /// A result for a test that never started: something other than the runner wrote it.
    ResultWithoutRun,
    /// A file ran as a test file and had no tests.
    FileWithoutTests,
    /// The exit code is the only result.
    ExitCodeAlone,
    /// Two reports of the same run contradict each other: something other than the runner wrote
    /// results.
    SourcesDisagree,
    /// The runner stopped by its own exit code: it was interrupted, or failed internally.
    RunnerStopped,
}

impl Flag {
    /// The explanation for users.
    pub fn words(self) -> &'static str {
        match self {
            Self::Focused => "some tests are marked to run alone, so the others did not run",
            Self::Flaky => "a test passed only after a retry",
            Self::DuplicateId => "several tests have the same name",
            Self::Stale => "the report is older than this run",
            Self::ExitCodeContradicts => "the exit code and the report disagree",
            Self::NoFinish => "the runner exited with 0 but did not report its end",
            Self::ResultMissing => "a planned test has no result",
            Self::ResultWithoutRun => "a test that never started has a result",
            Self::FileWithoutTests => "a test file has no tests",
            Self::ExitCodeAlone => "only the exit code is known: the command names no tests",
            Self::SourcesDisagree => "two reports of this run disagree",
            Self::RunnerStopped => {
                "the runner stopped early: it was interrupted, or failed internally"
            }
        }
    }
}
