//! Describes how to start a framework, as data. The program executes it and returns what it
//! [`Captured`](super::captured).

use super::captured::Capture;
use crate::coverage::Format;
use crate::syntax::glob;

/// Which tests of a suite to run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Selection {
    All,
    /// Paths relative to the folder, with `/`. For Rust also doc tests, as
    /// [`super::cargo::example`] names them: a path alone never runs them.
    Files(Vec<String>),
    /// A test, by the id from a report.
    One(String),
    /// Runs no test; the runner lists the tests it would run.
    List,
    /// All tests, with line coverage.
    Coverage,
}

/// One run of a framework.
#[derive(Clone, Debug)]
pub struct Invocation {
    /// If it has no words, nothing is started: the results already exist.
    pub call: Call,
    /// Additional arguments that are known only after the build.
    pub choice: Option<Choice>,
    /// The command as a user would type it.
    pub shown: String,
    /// Files to write into the scratch folder before the run.
    pub inject: Vec<ReporterFile>,
    /// Files of an earlier run that this run would read. They are removed first.
    pub stale: Vec<Stale>,
    /// Builds and preparations. The first failure ends the run.
    pub before: Vec<Step>,
    /// Steps that convert or complete the results. The parser decides what their exit means.
    pub after: Vec<Step>,
    pub reports: Vec<ReportAt>,
    pub coverage: Option<CoverageAt>,
    /// Distinguish a missing installation from a runner that wrote nothing.
    pub probes: Vec<Probe>,
}

/// Selects the tests to run from the output of the steps before the run.
#[derive(Clone, Debug)]
pub struct Choice {
    /// The files that the user named.
    pub files: Vec<String>,
    /// Returns the arguments that select the tests in those files.
    pub args: fn(&Capture, &[String]) -> Vec<String>,
}

/// A program with its arguments and additions to its scrubbed environment.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Call {
    /// The program comes first.
    pub words: Vec<String>,
    pub env: Vec<(String, String)>,
}

/// A process before or after the run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Step {
    pub name: &'static str,
    pub call: Call,
}

/// One of our reporters. The runner loads it, and it reports each event as a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReporterFile {
    /// Relative to the scratch folder, with `/`.
    pub path: &'static str,
    /// Text that starts with `#!` is made executable. [`SCRATCH`] is replaced by the scratch
    /// folder.
    pub text: &'static str,
}

pub const SCRATCH: &str = "@SCRATCH@";

/// The location of a report.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ReportAt {
    /// A file in the scratch folder, which is always new.
    Scratch(String),
    /// Files in the scratch folder, by a pattern as in [`ReportAt::Tree`].
    ScratchTree(&'static str),
    /// Files in the worktree, for runners whose output path cannot be set: `*` matches within a
    /// name, `**` any folders. Existing matches are removed before the run, so that no old report
    /// is read.
    Tree(&'static str),
    /// Files in the worktree that the run does not write, such as sources.
    Source(&'static str),
    /// Files in the worktree that match a pattern of the user. It can match more than reports, so
    /// nothing is removed, and files that the run did not write are ignored.
    Fresh(String),
}

/// Files in the worktree, by a pattern as in [`ReportAt::Tree`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stale {
    Always(&'static str),
    /// Python's bytecode. The interpreter compares sizes and whole seconds only, so it can mistake
    /// the bytecode of an older source for current. Bytecode written well after the last change of
    /// its source is current and stays, which saves compiling it again.
    Bytecode(&'static str),
}

/// A coverage report in the scratch folder, or one in each module of the worktree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CoverageAt {
    /// A pattern as in [`ReportAt::Tree`] if `built_in` is set.
    pub file: String,
    pub format: Format,
    /// The prefix that its paths have in place of the folder.
    pub below: Option<String>,
    /// The folder of a module that contains its report, if it is not in the scratch folder. Paths
    /// in the report are then relative to the module.
    pub built_in: Option<&'static str>,
}

/// Runs if no report was written. If the probe fails, something is not installed, and that is
/// reported instead.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Probe {
    pub call: Call,
    pub missing: Missing,
}

/// Something that the user has to install.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Missing {
    pub what: String,
    pub evidence: String,
    /// The command that fixes it.
    pub next: String,
}

/// The reason why there is no invocation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CannotRun {
    Missing(Missing),
    /// The runner does not support this; nothing is broken.
    Unsupported(&'static str),
}

impl Call {
    pub fn new<S: Into<String>>(words: impl IntoIterator<Item = S>) -> Self {
        Self { words: words.into_iter().map(Into::into).collect(), env: Vec::new() }
    }

    #[must_use]
    pub fn args<S: Into<String>>(mut self, args: impl IntoIterator<Item = S>) -> Self {
        self.words.extend(args.into_iter().map(Into::into));
        self
    }

    #[must_use]
    pub fn env(mut self, name: &str, value: impl Into<String>) -> Self {
        self.env.push((name.to_owned(), value.into()));
        self
    }
}

impl CoverageAt {
    pub fn new(file: &str, format: Format) -> Self {
        Self { file: file.to_owned(), format, below: None, built_in: None }
    }

    pub fn in_modules(pattern: &str, format: Format, built_in: &'static str) -> Self {
        Self { built_in: Some(built_in), ..Self::new(pattern, format) }
    }
}

impl Invocation {
    pub fn new(shown: impl Into<String>, call: Call) -> Self {
        Self {
            call,
            choice: None,
            shown: shown.into(),
            inject: Vec::new(),
            stale: Vec::new(),
            before: Vec::new(),
            after: Vec::new(),
            reports: Vec::new(),
            coverage: None,
            probes: Vec::new(),
        }
    }
}

/// Whether a path matches a pattern of [`ReportAt::Tree`].
pub fn matches(pattern: &str, path: &str) -> bool {
    let pattern: Vec<&str> = pattern.split('/').collect();
    let path: Vec<&str> = path.split('/').collect();
    parts_match(&pattern, &path)
}

fn parts_match(pattern: &[&str], path: &[&str]) -> bool {
    match (pattern, path) {
        ([], []) => true,
        (["**", rest @ ..], _) => {
            (0..=path.len()).any(|skip| parts_match(rest, path.get(skip..).unwrap_or_default()))
        }
        ([part, rest @ ..], [name, names @ ..]) => {
            glob::matches(part, name) && parts_match(rest, names)
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::matches;

    #[test]
    fn patterns_match_paths() {
        let surefire = "**/target/surefire-reports/TEST-*.xml";
        for (path, expected) in [
            ("target/surefire-reports/TEST-demo.CalcTest.xml", true),
            ("a/b/target/surefire-reports/TEST-x.xml", true),
            ("target/surefire-reports/TEST-x.txt", false),
            ("target/surefire-reports/old/TEST-x.xml", false),
            ("TEST-x.xml", false),
        ] {
            assert_eq!(matches(surefire, path), expected, "{path}");
        }
        assert!(matches(
            "**/build/test-results/*/TEST-*.xml",
            "build/test-results/test/TEST-a.xml"
        ));
        assert!(!matches("a*a", "a") && matches("a*a", "aba"));
    }
}
