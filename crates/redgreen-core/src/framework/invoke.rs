//! How a framework is started, as data: the program performs it and hands back what it [`Captured`](super::captured).

use super::captured::Captured;
use crate::coverage::Format;
use crate::syntax::glob;

/// What of a suite to run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Selection {
    All,
    /// Paths relative to the folder, with `/`. In Rust also examples in documentation, as [`super::cargo::example`]
    /// names them: they are never run for a path alone.
    Files(Vec<String>),
    /// A test by the id a report gave it.
    One(String),
    /// No test is run; the runner names those it would run.
    List,
    /// All, with the lines they reach.
    Coverage,
}

/// One run of a framework.
#[derive(Clone, Debug)]
pub struct Invocation {
    /// Without words nothing is started: what is to be read is there already.
    pub call: Call,
    /// Where the runner is to be told more than can be said before it was built.
    pub choice: Option<Choice>,
    /// The command as a person would type it.
    pub shown: String,
    /// Files to write into the scratch folder beforehand.
    pub inject: Vec<Injected>,
    /// What an older run left in the worktree and this one would believe: removed before it.
    pub stale: Vec<Stale>,
    /// Builds and preparations; the first that fails ends the run.
    pub before: Vec<Step>,
    /// Conversions of what the run left behind, and what it left out; how they ended is the parser's to judge.
    pub after: Vec<Step>,
    pub reports: Vec<ReportAt>,
    pub coverage: Option<CoverageAt>,
    /// Tell what is not installed from a runner that wrote nothing.
    pub probes: Vec<Probe>,
}

/// What of the tests to run, as the steps before the run tell.
#[derive(Clone, Debug)]
pub struct Choice {
    /// The files that the user named.
    pub files: Vec<String>,
    /// The arguments that choose the tests in those files.
    pub args: fn(&Captured, &[String]) -> Vec<String>,
}

/// A program with its arguments and what is added to its environment, which is scrubbed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Call {
    /// The program first.
    pub words: Vec<String>,
    pub env: Vec<(String, String)>,
}

/// A process before or after the run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Step {
    pub name: &'static str,
    pub call: Call,
}

/// A reporter of ours: what the runner loads to tell us, line by line, what it does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Injected {
    /// From the scratch folder, with `/`.
    pub path: &'static str,
    /// What begins with `#!` can be started. [`SCRATCH`] stands for the scratch folder.
    pub text: &'static str,
}

pub const SCRATCH: &str = "@SCRATCH@";

/// Where a report will be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ReportAt {
    /// A file of the scratch folder: fresh by nature.
    Scratch(String),
    /// Files of the scratch folder, by a pattern as in [`ReportAt::Tree`].
    ScratchTree(&'static str),
    /// Files of the worktree, for runners that cannot be told where to write: `*` matches within a name, `**` any
    /// folders. Those that exist are removed before the run, so that none is of an older one.
    Tree(&'static str),
    /// Files of the worktree that no run writes, to be read: sources.
    Source(&'static str),
    /// Files of the worktree whose pattern is the user's, and may match more than reports: none is removed, and those
    /// that the run did not write are left out.
    Fresh(String),
}

/// Files of the worktree by a pattern as in [`ReportAt::Tree`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stale {
    Always(&'static str),
    /// Python's bytecode. The interpreter compares whole seconds and sizes, and so takes that of an older source for
    /// the new one's; what was written well after its source last changed is the new one's, and saves compiling it.
    Bytecode(&'static str),
}

/// A coverage report in the scratch folder, or one in each module of the worktree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CoverageAt {
    /// With `built_in` a pattern as in [`ReportAt::Tree`].
    pub file: String,
    pub format: Format,
    /// What its paths begin with in place of the folder.
    pub below: Option<String>,
    /// The folder of a module that its report is in, if it is not in the scratch folder; its paths are from the module.
    pub built_in: Option<&'static str>,
}

/// Run when not one report was written: if it fails, the answer is not a report but that something is missing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Probe {
    pub call: Call,
    pub missing: Missing,
}

/// Something a person has to install.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Missing {
    pub what: String,
    pub evidence: String,
    /// The command that fixes it.
    pub next: String,
}

/// Why there is no invocation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Unable {
    Missing(Missing),
    /// The runner has no such thing, and nothing is broken.
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
        (["**", rest @ ..], _) => (0..=path.len()).any(|skip| parts_match(rest, path.get(skip..).unwrap_or_default())),
        ([part, rest @ ..], [name, names @ ..]) => glob::matches(part, name) && parts_match(rest, names),
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
        assert!(matches("**/build/test-results/*/TEST-*.xml", "build/test-results/test/TEST-a.xml"));
        assert!(!matches("a*a", "a") && matches("a*a", "aba"));
    }
}
