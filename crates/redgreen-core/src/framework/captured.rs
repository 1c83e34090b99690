//! The captured output of one run. Parsers see this and nothing else.

use crate::report::{Exit, Outcome, Report};

#[derive(Clone, Debug, Default)]
pub struct Capture {
    /// The runner's exit; `NotStarted` if an earlier step failed.
    pub exit: Exit,
    pub stdout: Vec<u8>,
    pub stderr: Vec<u8>,
    /// The output exceeded the limit and the rest was dropped.
    pub cut: bool,
    /// The reports that exist after the run, by name. A report that was opened but never written is
    /// present and empty.
    pub reports: Vec<(String, Vec<u8>)>,
    /// The completed steps before the run, in order.
    pub steps: Vec<StepEnd>,
    /// The steps after the run.
    pub after: Vec<StepEnd>,
    /// The absolute path of the folder, used to make the runner's paths relative.
    pub root: String,
}

/// The exit of a step before or after the run.
#[derive(Clone, Debug, Default)]
pub struct StepEnd {
    pub name: String,
    pub exit: Exit,
    pub stdout: Vec<u8>,
    pub stderr: Vec<u8>,
}

impl Capture {
    /// Creates a report with the facts known before parsing. `decides` maps exit codes that have
    /// only one meaning.
    pub fn report(&self, runner: &str, decides: &[(i32, Outcome)]) -> Report {
        let decided = decides
            .iter()
            .find(|(code, _)| self.exit == Exit::Code(*code))
            .map(|&(_, outcome)| outcome);
        Report { runner: runner.to_owned(), exit: self.exit, decided, ..Report::default() }
    }

    /// The first report whose name has this ending; `None` if it was never opened.
    pub fn file(&self, ending: &str) -> Option<&[u8]> {
        self.reports
            .iter()
            .find(|(name, _)| name.ends_with(ending))
            .map(|(_, bytes)| bytes.as_slice())
    }

    /// All reports whose name has this ending.
    pub fn files<'a>(&'a self, ending: &'a str) -> impl Iterator<Item = &'a [u8]> {
        self.reports
            .iter()
            .filter(move |(name, _)| name.ends_with(ending))
            .map(|(_, bytes)| bytes.as_slice())
    }

    /// The step that failed and prevented the run.
    pub fn failed_step(&self) -> Option<&StepEnd> {
        self.steps.iter().find(|step| step.exit != Exit::Code(0))
    }

    /// The step with this name after the run.
    pub fn step_after(&self, name: &str) -> Option<&StepEnd> {
        self.after.iter().find(|step| step.name == name)
    }

    /// Makes a path of the runner relative to the folder if it is inside the folder.
    pub fn relative(&self, path: &str) -> String {
        let inside = path.strip_prefix(self.root.as_str()).and_then(|rest| rest.strip_prefix('/'));
        inside
            .filter(|_| !self.root.is_empty())
            .unwrap_or(path.strip_prefix("./").unwrap_or(path))
            .to_owned()
    }
}
