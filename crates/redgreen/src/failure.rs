//! Errors for the user: one sentence, the evidence, the next command and an exit code.

use std::fmt;
use std::path::Path;

/// The exit codes, which are a stable interface.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Code {
    Done = 0,
    /// The answer is no: refused, gave up, aborted.
    No = 1,
    /// The command line, a script or the configuration is invalid.
    Usage = 2,
    /// A human has to decide or check something.
    Human = 3,
    /// Git, the runner, the agent or the repository cannot be used.
    Environment = 4,
    /// The budget of money, tokens or time is spent.
    Budget = 5,
    /// A bug in redgreen.
    Bug = 70,
    Interrupted = 130,
}

/// An error that the user can act on.
#[derive(Debug)]
pub struct Failure {
    pub code: Code,
    /// What happened, in one sentence: lower case, no full stop.
    pub what: String,
    /// Lines of evidence.
    pub evidence: Vec<String>,
    /// The command to run next.
    pub next: Option<String>,
}

impl Failure {
    pub fn new(code: Code, what: impl Into<String>) -> Self {
        Self { code, what: what.into(), evidence: Vec::new(), next: None }
    }

    pub fn usage(what: impl Into<String>) -> Self {
        Self::new(Code::Usage, what)
    }

    pub fn environment(what: impl Into<String>) -> Self {
        Self::new(Code::Environment, what)
    }

    #[must_use]
    pub fn evidence(mut self, line: impl Into<String>) -> Self {
        self.evidence.push(line.into());
        self
    }

    #[must_use]
    pub fn next(mut self, command: impl Into<String>) -> Self {
        self.next = Some(command.into());
        self
    }
}

impl Failure {
    /// Replaces one folder by another in all texts.
    #[must_use]
    pub fn moved(mut self, from: &Path, to: &Path) -> Self {
        let (from, to) = (from.to_string_lossy(), to.to_string_lossy());
        let moved = |text: &mut String| *text = text.replace(&*from, &to);
        moved(&mut self.what);
        self.evidence.iter_mut().chain(&mut self.next).for_each(moved);
        self
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.what)
    }
}

impl std::error::Error for Failure {}
