//! A report to look things up in.

use std::collections::HashMap;
use std::ops::Deref;

use crate::framework;
use crate::report::{Report, Status, Test};

/// A report whose tests are found by id without a walk through all of them.
pub(super) struct Seen<'a> {
    pub(super) report: &'a Report,
    by_id: HashMap<&'a str, &'a Test>,
}

impl<'a> Seen<'a> {
    pub(super) fn of(report: &'a Report) -> Self {
        Self { report, by_id: report.tests.iter().map(|test| (test.id.as_str(), test)).collect() }
    }

    pub(super) fn test(&self, id: &str) -> Option<&'a Test> {
        self.by_id.get(id).copied()
    }

    /// The subtests of a test of Go, which says nothing of its own once it has some.
    pub(super) fn subtests<'i>(&self, id: &'i str) -> impl Iterator<Item = &'a Test> + use<'a, 'i> {
        let told = framework::identity(id);
        self.report.tests.iter().filter(move |test| told.runs(&test.identity()))
    }

    /// What became of a test, also where it has subtests by now: it fails with any of them, and passes with one that does.
    pub(super) fn result(&self, id: &str) -> Option<&'a Test> {
        let below = || {
            let (failing, passed) =
                (|test: &&Test| test.status.is_failure(), |test: &&Test| test.status == Status::Passed);
            let mut all = self.subtests(id);
            self.subtests(id).find(failing).or_else(|| self.subtests(id).find(passed)).or_else(|| all.next())
        };
        self.test(id).or_else(below)
    }
}

impl Deref for Seen<'_> {
    type Target = Report;

    fn deref(&self) -> &Report {
        self.report
    }
}
