//! Plain runs of whole trees. Results of bases and heads are stored, because the head of one range
//! is often the base of the next.

use anyhow::Result;
use redgreen_core::names::Oid;
use redgreen_core::phase::JudgedPhase;
use redgreen_core::proof::Evidence;
use redgreen_core::report::{Report, Test};
use redgreen_core::verdict::Decision;

use super::{Case, Reports};
use crate::trial::{self, Memory, StoredResult};

impl Case<'_> {
    /// The test results of the base, without tests that the policy exempts.
    pub(super) fn base_report(&self, evidence: &mut Evidence) -> Result<Report> {
        let mut report = self.report_of(&self.trees.base, evidence)?;
        report.tests.retain(|test| {
            evidence.policy.exemption(test.file.as_deref(), Some(&test.id)).is_none()
        });
        Ok(report)
    }

    /// The test results of a tree: stored for an equivalent environment, or measured now.
    pub(super) fn report_of(&self, tree: &Oid, evidence: &mut Evidence) -> Result<Report> {
        let memory = self.memory()?;
        let stored = memory.recall(tree)?;
        let scanned = self.environment.borrow().clone();
        let scanned = scanned.as_ref().or(stored.as_ref().map(|stored| &stored.surroundings));
        let now = trial::look_around(self.ground(), tree, scanned)?;
        self.environment.replace(Some(now.clone()));
        if let Some(stored) = stored.filter(|stored| stored.surroundings.is_equivalent(&now)) {
            return Ok(stored.report);
        }
        let timeout = self.timeout(JudgedPhase::Green)?;
        let measured = trial::measure_part(self.ground(), tree, &[], timeout, Some(&now))?;
        evidence.tests_ms += measured.report.wall_ms;
        memory.keep(tree, &measured)?;
        Ok(measured.report)
    }

    /// The test results of a tree that nobody needs later. All tests run if there are no files.
    pub(super) fn measured(
        &self,
        tree: &str,
        files: &[String],
        evidence: &mut Evidence,
    ) -> Result<Report> {
        let timeout = self.timeout(JudgedPhase::Green)?;
        let scanned = self.environment.borrow().clone();
        let report =
            trial::measure_part(self.ground(), tree, files, timeout, scanned.as_ref())?.report;
        evidence.tests_ms += report.wall_ms;
        Ok(report)
    }

    /// Stores the results of an accepted head, unless a test failed that did not fail before. It
    /// may be flaky, and a failure that is stored is not blamed on later ranges.
    pub(super) fn keep_head(&self, evidence: &Evidence, seen: &Reports) -> Result<()> {
        let steps = &evidence.steps;
        let is_accepted =
            !steps.is_empty() && steps.iter().all(|step| step.decision == Decision::Accepted);
        let failed =
            |test: &Test| seen.base.test(&test.id).is_some_and(|before| before.status.is_failure());
        let is_steady =
            seen.head.tests.iter().all(|test| !test.status.is_failure() || failed(test));
        let scanned = self.environment.borrow().clone();
        let Some(surroundings) = scanned.filter(|_| is_accepted && is_steady) else {
            return Ok(());
        };
        if seen.head.tests.is_empty() {
            return Ok(());
        }
        let report = seen.head.clone();
        self.memory()?.keep(
            &self.trees.head,
            &StoredResult { version: 1, report, targets: Vec::new(), surroundings },
        )
    }

    fn memory(&self) -> Result<Memory> {
        let mut test = self.file.test.clone();
        // Another command may have other results.
        test.command = self.question.test_command.clone().or(test.command);
        Memory::of_runs(&self.project.workshop, &test)
    }
}
