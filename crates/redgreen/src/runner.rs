//! Runs a project's tests with its real runner, in a scrubbed environment and under one time limit, and hands what
//! they wrote to the parsers in `redgreen_core::framework`. It acts; what a report means is decided elsewhere.

mod cargo;
mod pytest;

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::{Context, Error, Result};
use redgreen_core::framework::{self, FRAMEWORKS, Framework, Kind, LISTED_FOLDERS, READ_MANIFESTS, Root};
use redgreen_core::report::Report;

use crate::failure::Failure;
use crate::process::{Limits, Output, Program, Stop};

/// What is kept of each stream of a test process; beyond it the middle is dropped and the run does not count.
const OUTPUT_BYTES_MAX: usize = 64 << 20;
/// What a report keeps of the output, for a person.
const TAIL_BYTES_MAX: usize = 8 << 10;
/// A manifest larger than this is not read for detection.
const MANIFEST_BYTES_MAX: u64 = 1 << 20;
/// A report file larger than this is not a report.
const REPORT_BYTES_MAX: u64 = 256 << 20;

/// Variables that choose which tests run or how they end. A verdict must not depend on the shell it was asked from.
const SCRUBBED: &[&str] = &[
    "PYTEST_ADDOPTS",
    "PYTEST_PLUGINS",
    "PYTEST_DISABLE_PLUGIN_AUTOLOAD",
    "PYTHONINSPECT",
    // With -O the interpreter drops every assert.
    "PYTHONOPTIMIZE",
    "PYTHONSAFEPATH",
    "PYTHONWARNINGS",
    // A `-D warnings` or a `--cfg` of the user's shell would decide what compiles; lasting flags belong in the
    // project's .cargo/config.toml, which is kept.
    "RUSTFLAGS",
    "RUSTDOCFLAGS",
    "CARGO_ENCODED_RUSTFLAGS",
    "CARGO_ENCODED_RUSTDOCFLAGS",
    "CARGO_BUILD_RUSTFLAGS",
    "RUSTC_BOOTSTRAP",
    "RUST_TEST_NOCAPTURE",
    "RUST_TEST_SHUFFLE",
    "RUST_TEST_SHUFFLE_SEED",
    "RUST_TEST_THREADS",
    "RUST_TEST_TIME_UNIT",
    "NODE_OPTIONS",
    "GOFLAGS",
    "RUBYOPT",
    "SPEC_OPTS",
    "JAVA_TOOL_OPTIONS",
    "MAVEN_ARGS",
    "MAVEN_OPTS",
    // Git sets these for hooks; a test that uses git would work on the wrong repository.
    "GIT_DIR",
    "GIT_INDEX_FILE",
    "GIT_WORK_TREE",
];

/// The frameworks a project's tests need.
#[derive(Clone, Debug)]
pub struct Suite {
    frameworks: Vec<&'static Framework>,
}

/// What a run needs to know beside the project.
#[derive(Clone, Debug)]
pub struct Settings {
    /// For everything together: building, collecting, running.
    pub timeout: Duration,
    /// Where cargo builds; `None` leaves it to cargo. Shared between worktrees it saves most of the time.
    pub cargo_target_dir: Option<PathBuf>,
    /// The virtual environment active in the user's shell, used when the project has none of its own.
    pub virtual_env: Option<PathBuf>,
}

/// Finds out which frameworks a project's tests need.
pub fn detect(project: &Path) -> Result<Suite> {
    let frameworks = framework::detect(&list(project)?);
    if frameworks.is_empty() {
        let failure = Failure::environment(format!("no test framework found in {}", project.display()));
        let looked = FRAMEWORKS.iter().map(|row| format!("{}: looked for {}", row.name, row.looks_for));
        let failure = looked.fold(failure, Failure::evidence);
        return Err(failure.next("run in the folder that has one of these, or create one").into());
    }
    Ok(Suite { frameworks })
}

impl Suite {
    /// In a few words, such as `pytest + cargo`.
    pub fn describe(&self) -> String {
        self.frameworks.iter().map(|row| row.name).collect::<Vec<_>>().join(" + ")
    }

    pub fn frameworks(&self) -> impl Iterator<Item = &'static Framework> {
        self.frameworks.iter().copied()
    }

    /// Every framework there is, for when a project's own cannot be told.
    pub fn every_framework() -> impl Iterator<Item = &'static Framework> {
        FRAMEWORKS.iter()
    }

    /// What any framework leaves behind in a checkout, as lines of a `.gitignore`.
    pub fn all_litter() -> impl Iterator<Item = &'static str> {
        FRAMEWORKS.iter().flat_map(|row| row.litter.iter().copied())
    }

    /// Runs every test and says what was seen; a failing test is an answer, not an error.
    pub fn run(&self, workdir: &Path, settings: &Settings, stop: &Stop) -> Result<Report> {
        let scratch =
            tempfile::Builder::new().prefix("redgreen-run-").tempdir().context("create a folder for reports")?;
        let run = Run { workdir, settings, stop, scratch: scratch.path(), deadline: Instant::now() + settings.timeout };
        let mut reports = Vec::new();
        for row in &self.frameworks {
            let started = Instant::now();
            let mut report = match row.kind {
                Kind::Pytest => pytest::run(&run)?,
                Kind::Cargo => cargo::run(&run)?,
            };
            report.wall_ms = u64::try_from(started.elapsed().as_millis()).unwrap_or(u64::MAX);
            reports.push(report);
        }
        Ok(Report::merge(reports))
    }
}

/// One run of a suite, as its frameworks see it.
struct Run<'a> {
    workdir: &'a Path,
    settings: &'a Settings,
    stop: &'a Stop,
    /// A fresh folder outside the worktree that only we can read; gone after the run.
    scratch: &'a Path,
    deadline: Instant,
}

impl Run<'_> {
    /// A program in a scrubbed environment; what it needs is added by the caller, afterwards.
    fn program(&self, name: impl Into<OsString>) -> Program {
        let program = SCRUBBED.iter().fold(Program::new(name), |program, variable| program.env_remove(*variable));
        // With CI set, snapshot tests fail instead of writing the snapshot they are to be compared with.
        let program = program.env("CI", "1").env("NO_COLOR", "1").env("LC_ALL", "C.UTF-8").env("RUST_BACKTRACE", "0");
        program.cwd(self.workdir)
    }

    /// Runs one of the suite's programs within what is left of the time.
    fn output(&self, program: &Program) -> Result<Output> {
        let wall = self.deadline.saturating_duration_since(Instant::now());
        program.output(Limits { wall, output_bytes_max: OUTPUT_BYTES_MAX }, self.stop)
    }
}

/// Whether an error says that the program to be started does not exist.
fn is_missing(error: &Error) -> bool {
    error.downcast_ref::<std::io::Error>().is_some_and(|error| error.kind() == std::io::ErrorKind::NotFound)
}

/// The end of what programs printed, for a person.
fn tail(text: &str) -> String {
    let text = text.trim();
    let start = text.len().saturating_sub(TAIL_BYTES_MAX);
    let start = (start..=text.len()).find(|&index| text.is_char_boundary(index)).unwrap_or(text.len());
    text[start..].to_owned()
}

/// A report file's bytes: none when it was never written, or is too large to be one.
fn read_report(path: &Path) -> Result<Vec<u8>> {
    match fs::metadata(path) {
        Ok(facts) if facts.len() <= REPORT_BYTES_MAX => {
            fs::read(path).with_context(|| format!("read report {}", path.display()))
        }
        Ok(_) | Err(_) => Ok(Vec::new()),
    }
}

fn list(project: &Path) -> Result<Root> {
    let mut root = Root { files: names(project)?, manifests: Vec::new() };
    for folder in LISTED_FOLDERS {
        let inside = project.join(folder);
        if inside.is_dir() {
            root.files.extend(names(&inside)?.into_iter().map(|name| format!("{folder}/{name}")));
        }
    }
    for &name in READ_MANIFESTS {
        let path = project.join(name);
        if fs::metadata(&path).is_ok_and(|facts| facts.is_file() && facts.len() <= MANIFEST_BYTES_MAX) {
            let text = fs::read(&path).with_context(|| format!("read {}", path.display()))?;
            root.manifests.push((name.to_owned(), String::from_utf8_lossy(&text).into_owned()));
        }
    }
    Ok(root)
}

fn names(folder: &Path) -> Result<Vec<String>> {
    let mut names = Vec::new();
    for entry in fs::read_dir(folder).with_context(|| format!("list {}", folder.display()))? {
        let entry = entry.with_context(|| format!("list {}", folder.display()))?;
        if !entry.path().is_dir() {
            names.push(entry.file_name().to_string_lossy().into_owned());
        }
    }
    Ok(names)
}
