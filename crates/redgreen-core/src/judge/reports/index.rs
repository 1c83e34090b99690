//! A report with an index.

use std::collections::HashMap;
use std::ops::Deref;

use crate::framework;
use crate::report::{Report, Status, Test};

/// A report that finds tests by id without searching all of them.
pub(super) struct IndexedReport<'a> {
    pub(super) report: &'a Report,
    by_id: HashMap<&'a str, &'a Test>,
}

impl<'a> IndexedReport<'a> {
    pub(super) fn of(report: &'a Report) -> Self {
        Self { report, by_id: report.tests.iter().map(|test| (test.id.as_str(), test)).collect() }
    }

    pub(super) fn test(&self, id: &str) -> Option<&'a Test> {
        self.by_id.get(id).copied()
    }

    /// The subtests of a Go test. A test with subtests has no separate result.
    pub(super) fn subtests<'i>(&self, id: &'i str) -> impl Iterator<Item = &'a Test> + use<'a, 'i> {
        let told = framework::identity(id);
        self.report.tests.iter().filter(move |test| told.runs(&test.identity()))
    }

    /// The result of a test, even if it now has subtests: it fails if one of them fails, and passes
    /// if one passes.
    pub(super) fn result(&self, id: &str) -> Option<&'a Test> {
        let below = || {
            let (failing, passed) = (
                |test: &&Test| test.status.is_failure(),
                |test: &&Test| test.status == Status::Passed,
            );
            let mut all = self.subtests(id);
            self.subtests(id)
                .find(failing)
                .or_else(|| self.subtests(id).find(passed))
                .or_else(|| all.next())
        };
        self.test(id).or_else(below)
    }
}

impl Deref for IndexedReport<'_> {
    type Target = Report;

    fn deref(&self) -> &Report {
        self.report
    }
}
