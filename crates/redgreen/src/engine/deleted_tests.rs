//! Changes that others made on the target branch, which the run is not responsible for.

use std::time::Duration;

use anyhow::Result;
use redgreen_core::names::Oid;
use redgreen_core::report::Report;
use redgreen_core::verdict::{Code, Verdict};

use super::Engine;
use crate::trial;

/// Whether the verdict reports missing tests, which others may have deleted.
pub(super) fn misses_tests(verdict: &Verdict) -> bool {
    verdict.reasons.iter().any(|reason| reason.code == Code::RefactorTestsVanished)
}

impl Engine<'_> {
    /// The report without the tests that the target branch had at the start of the run and no
    /// longer has at `tip`. Needs the worktree.
    pub(super) fn without_deleted(&self, mut report: Report, tip: &Oid) -> Result<Report> {
        let now = self.seen_at(&self.project.git.tree_of(tip)?)?;
        // A test that does not load is not deleted.
        if !now.finished || !now.load_errors.is_empty() {
            return Ok(report);
        }
        let began = self.seen_at(&self.state.run.base.tree)?;
        report.tests.retain(|test| began.test(&test.id).is_none() || now.test(&test.id).is_some());
        Ok(report)
    }

    fn seen_at(&self, tree: &Oid) -> Result<Report> {
        if let Some(known) = self.memory()?.recall(tree)? {
            return Ok(known.report);
        }
        let timeout = Duration::from_millis(self.state.run.policy.red_timeout_ms);
        Ok(trial::measure(self.ground(&self.worktree()), tree, timeout)?.report)
    }
}
