//! What one run left behind: everything a parser may look at, and nothing else.

use crate::report::{Exit, Outcome, Report};

#[derive(Clone, Debug, Default)]
pub struct Captured {
    /// How the runner ended; `NotStarted` when a step before it failed.
    pub exit: Exit,
    pub stdout: Vec<u8>,
    pub stderr: Vec<u8>,
    /// Something was printed beyond the limit and is gone.
    pub cut: bool,
    /// The reports that exist after the run, by name. One that was opened and never written to is here with no bytes.
    pub reports: Vec<(String, Vec<u8>)>,
    /// The steps before the run, in order, as far as they were taken.
    pub steps: Vec<StepEnd>,
    /// Those after it.
    pub after: Vec<StepEnd>,
    /// Where the folder is, to make the runner's paths relative.
    pub root: String,
}

/// How a step before or after the run ended.
#[derive(Clone, Debug, Default)]
pub struct StepEnd {
    pub name: String,
    pub exit: Exit,
    pub stdout: Vec<u8>,
    pub stderr: Vec<u8>,
}

impl Captured {
    /// A report with what is known before anything is parsed. `decides` are the exit codes with one meaning.
    pub fn report(&self, runner: &str, decides: &[(i32, Outcome)]) -> Report {
        let decided = decides.iter().find(|(code, _)| self.exit == Exit::Code(*code)).map(|&(_, outcome)| outcome);
        Report { runner: runner.to_owned(), exit: self.exit, decided, ..Report::default() }
    }

    /// The first report whose name ends so; `None` when it was never opened.
    pub fn file(&self, ending: &str) -> Option<&[u8]> {
        self.reports.iter().find(|(name, _)| name.ends_with(ending)).map(|(_, bytes)| bytes.as_slice())
    }

    /// Every report whose name ends so.
    pub fn files<'a>(&'a self, ending: &'a str) -> impl Iterator<Item = &'a [u8]> {
        self.reports.iter().filter(move |(name, _)| name.ends_with(ending)).map(|(_, bytes)| bytes.as_slice())
    }

    /// The step that ended the run before it began.
    pub fn failed_step(&self) -> Option<&StepEnd> {
        self.steps.iter().find(|step| step.exit != Exit::Code(0))
    }

    /// The step after the run that has this name.
    pub fn step_after(&self, name: &str) -> Option<&StepEnd> {
        self.after.iter().find(|step| step.name == name)
    }

    /// A path of the runner's as a path from the folder, if it lies within.
    pub fn relative(&self, path: &str) -> String {
        let inside = path.strip_prefix(self.root.as_str()).and_then(|rest| rest.strip_prefix('/'));
        inside.filter(|_| !self.root.is_empty()).unwrap_or(path.strip_prefix("./").unwrap_or(path)).to_owned()
    }
}
