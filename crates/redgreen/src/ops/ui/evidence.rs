//! The evidence of a cycle: which test failed before there was code and how, what passes now, and
//! the mutants.

use std::collections::HashSet;

use redgreen_core::artifact::Green;
use redgreen_core::phase::Phase;
use redgreen_core::report::{Counts, Report, Status};
use redgreen_core::steps::{Step, Steps};
use redgreen_core::verdict::{Decision, Mutants};

use crate::foreign;
use crate::journal::RunFolder;

/// The largest report that is read for a page.
const REPORT_BYTES_MAX: u64 = 16 << 20;
const FAILED_MAX: usize = 8;
const MESSAGE_LINES_MAX: usize = 6;

/// The evidence of one cycle.
#[derive(Clone, Debug, Default)]
pub struct Evidence {
    pub cycle: u32,
    pub test: Option<String>,
    /// The tests that failed at the accepted RED.
    pub failed: Vec<FailedTest>,
    /// How many more failed.
    pub failed_more: usize,
    /// The test counts after the last accepted GREEN or REFACTOR.
    pub now: Option<Counts>,
    /// The tests that pass there and did not pass at the accepted RED.
    pub passes: Vec<String>,
    /// How many more of them there are.
    pub passes_more: usize,
    pub ran: Option<String>,
    pub mutants: Option<Mutants>,
    pub coverage: Option<String>,
    pub notes: Vec<String>,
    /// Withheld tests: how many there were, and how many the code passed.
    pub withheld: u64,
    pub withheld_passed: u64,
    /// Withheld tests that a refused GREEN failed, as reported by the judge.
    pub withheld_failed: Vec<String>,
    /// The numbers of the steps that were not accepted.
    pub refused: Vec<usize>,
}

/// A test that failed before there was code.
#[derive(Clone, Debug)]
pub struct FailedTest {
    pub test: String,
    pub how: String,
}

impl Evidence {
    pub(super) fn of(folder: &RunFolder, steps: &Steps, cycle: u32) -> Self {
        use redgreen_core::verdict::Code;
        let mut evidence = Self { cycle, ..Self::default() };
        let (mut red, mut last) = (None, None);
        for (number, step) in steps.steps.iter().enumerate().filter(|(_, step)| step.cycle == cycle)
        {
            evidence.test = evidence.test.or_else(|| step.test.clone());
            if step.verdict.decision != Decision::Accepted {
                evidence.refused.push(number);
                let overfits =
                    step.verdict.reasons.iter().filter(|reason| reason.code == Code::GreenOverfits);
                evidence.withheld_failed.extend(overfits.map(|reason| reason.sentence.clone()));
                continue;
            }
            match step.phase {
                Phase::Red => {
                    red = Some(step);
                    evidence.withheld = step.withheld;
                }
                Phase::Green | Phase::Refactor => {
                    if let Some(report) = &step.report {
                        last = Some(step);
                        evidence.now = Some(report.counts);
                        evidence.ran = Some(report.summary.clone());
                    }
                    evidence.mutants = step.verdict.mutants.or(evidence.mutants);
                    // The page has a line of its own for the mutants.
                    let mutants = step.verdict.mutants.map(|mutants| mutants.to_string());
                    let notes =
                        step.verdict.notes.iter().filter(|note| Some(*note) != mutants.as_ref());
                    evidence.notes.extend(notes.chain(&step.findings).cloned());
                    if step.phase == Phase::Green {
                        evidence.withheld_passed = step.withheld;
                    }
                }
                Phase::Plan | Phase::Complete => {}
            }
        }
        evidence.compare(folder, red, last);
        let green = folder.artifacts().join(format!("cycle-{cycle}/green.json"));
        let green = foreign::read(&green, REPORT_BYTES_MAX).ok().flatten();
        let green = green.and_then(|bytes| serde_json::from_slice::<Green>(&bytes).ok());
        evidence.coverage = green.and_then(|green| green.coverage);
        evidence
    }
}

impl Evidence {
    /// What failed at the accepted RED, and what passes since.
    fn compare(&mut self, folder: &RunFolder, red: Option<&Step>, last: Option<&Step>) {
        let Some((step, report)) = red.and_then(|step| Some((step, report(folder, step)?))) else {
            return;
        };
        (self.failed, self.failed_more) = failed(step, &report);
        let passed: HashSet<String> = passing(report).collect();
        let Some(report) = last.and_then(|step| self::report(folder, step)) else { return };
        self.passes = passing(report).filter(|id| !passed.contains(id)).collect();
        self.passes_more = self.passes.len().saturating_sub(FAILED_MAX);
        self.passes.truncate(FAILED_MAX);
    }
}

fn report(folder: &RunFolder, step: &Step) -> Option<Report> {
    let stored = step.report.as_ref()?;
    let bytes = foreign::read(&folder.path.join(&stored.file), REPORT_BYTES_MAX).ok().flatten()?;
    serde_json::from_slice(&bytes).ok()
}

fn passing(report: Report) -> impl Iterator<Item = String> {
    report.tests.into_iter().filter(|test| test.status == Status::Passed).map(|test| test.id)
}

/// The tests that RED made fail, with their messages. If they do not load yet, why.
fn failed(step: &Step, report: &Report) -> (Vec<FailedTest>, usize) {
    let clipped = |text: &str| text.lines().take(MESSAGE_LINES_MAX).collect::<Vec<_>>().join("\n");
    let how = |id: &str| {
        let test = report.test(id)?;
        Some(clipped(test.message.as_deref().or(test.exception.as_deref()).unwrap_or("it failed")))
    };
    let mut all: Vec<FailedTest> = step
        .verdict
        .targets
        .iter()
        .map(|id| FailedTest { test: id.clone(), how: how(id).unwrap_or_default() })
        .collect();
    if all.is_empty() {
        let unloaded = report.unloaded().map(|error| {
            let test = error.file.clone().unwrap_or_else(|| "the tests".to_owned());
            FailedTest { test: format!("{test} does not load"), how: clipped(&error.message) }
        });
        all = unloaded.collect();
    }
    let more = all.len().saturating_sub(FAILED_MAX);
    all.truncate(FAILED_MAX);
    (all, more)
}
