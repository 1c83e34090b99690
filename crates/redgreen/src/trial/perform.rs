//! Runs experiments in the clean room. Decides nothing.

use std::fs::{self, FileTimes};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, UNIX_EPOCH};

use anyhow::{Context, Result};
use redgreen_core::experiment::{
    Allowance, Build, Driver, Experiment, Interpreter, Method, Observation, Question, Tree, bodies,
};
use redgreen_core::framework::invoke::Selection;
use redgreen_core::judge::SLOWER_MAX;
use redgreen_core::report::{Exit, Outcome, Report};
use redgreen_core::syntax::{INERT_LOG, INERT_PLACE};

use super::Candidate;
use super::open::Trial;
use crate::failure::{self, Failure};
use crate::foreign;
use crate::process::{Limits, Output, Program};
use crate::room::{Options, Request};
use crate::sandbox::Network;

/// The time limit of a mutant beyond twice the usual duration. A mutant may cause an endless loop,
/// which counts as detected.
const MUTANT_GRACE: Duration = Duration::from_millis(500);
/// The time limit for builds, in addition to twice the duration of the tests.
const BUILD_WALL: Duration = Duration::from_secs(60);
const DRIVER_WALL: Duration = Duration::from_secs(10);
const OUTPUT_BYTES_MAX: usize = 8 << 20;
/// The log written by the experiment's own code, in the room's temporary folder.
const CALLS: &str = "calls";
const CALLS_BYTES_MAX: u64 = 64 << 20;

/// The common conditions of the experiments of a trial.
#[derive(Clone)]
pub(super) struct Conditions<'a> {
    pub(super) candidate: &'a Candidate<'a>,
    /// The files of the candidate with the frozen tests.
    pub(super) frozen: Options,
    /// For the whole suite.
    pub(super) timeout: Duration,
    /// The usual duration of the whole suite.
    pub(super) usual: Duration,
}

impl Conditions<'_> {
    /// Updates the usual duration from a run of the whole suite.
    pub(super) fn expect(&mut self, report: &Report) {
        if report.outcome != Outcome::TimedOut {
            self.usual = Duration::from_millis(report.wall_ms);
            self.timeout = self.candidate.timeout.max(self.usual * SLOWER_MAX);
        }
    }

    fn timeout(&self, question: Question) -> Duration {
        match question.allowance() {
            Allowance::Needed | Allowance::Expectation | Allowance::Order => self.timeout,
            Allowance::Mutant | Allowance::Comparison => {
                (self.usual * 2 + MUTANT_GRACE).min(self.timeout)
            }
            Allowance::Program => self.usual * 2 + BUILD_WALL,
        }
    }
}

/// Detects by access times which files were read. Detects nothing if the file system does not keep
/// them.
struct Watch<'a> {
    folder: &'a Path,
    files: &'a [String],
}

impl<'a> Watch<'a> {
    /// Sets each access time to before the modification time.
    fn begin(folder: &'a Path, files: &'a [String]) -> Result<Self> {
        for file in files {
            let act = || format!("watch {file}");
            match fs::File::options().write(true).open(folder.join(file)) {
                Ok(opened) => {
                    opened
                        .set_times(FileTimes::new().set_accessed(UNIX_EPOCH))
                        .with_context(act)?;
                }
                Err(error) if error.kind() == ErrorKind::NotFound => {}
                Err(error) => return Err(error).with_context(act),
            }
        }
        Ok(Self { folder, files })
    }

    fn opened(&self) -> Vec<String> {
        let is_read = |file: &&String| {
            let accessed = fs::metadata(self.folder.join(file)).and_then(|facts| facts.accessed());
            accessed.is_ok_and(|at| at > UNIX_EPOCH)
        };
        self.files.iter().filter(is_read).cloned().collect()
    }
}

impl Trial<'_> {
    /// Writes the experiment's files over its tree and runs it.
    pub(super) fn perform(
        &mut self,
        conditions: &Conditions<'_>,
        experiment: &Experiment,
    ) -> Result<Observation> {
        self.lay_out(conditions, experiment, &experiment.removed)?;
        self.timeout = conditions.timeout(experiment.question);
        match &experiment.way {
            Method::Tests(selection) => self.run_tests(experiment, selection),
            Method::Watched { selection, files } => {
                let folder = self.room.folder().to_owned();
                let watch = Watch::begin(&folder, files)?;
                let ran = self.run_tests(experiment, selection)?;
                let report = ran.report().cloned().unwrap_or_default();
                let log = format!("{}{}", ran.log(), watch.opened().join("\n"));
                Ok(Observation::Ran { report: Box::new(report), log })
            }
            Method::Driver { driver, question } => self.ask(*driver, question),
            Method::Program { build, root, home, apart } => {
                let Some(built) = self.build_program(build, root)? else {
                    return Ok(Observation::Nothing);
                };
                let kept = self.room.kept();
                crate::git::remove_folder(&kept).context("clear a folder of the room")?;
                fs::create_dir(&kept).context("create a folder of the room")?;
                let copied = foreign::copy(&built, &kept, bodies::NAME);
                if !copied.context("keep a program")? {
                    return Ok(Observation::Nothing);
                }
                self.lay_out(
                    conditions,
                    &Experiment { edits: Vec::new(), ..experiment.clone() },
                    apart,
                )?;
                fs::copy(kept.join(bodies::NAME), &built).context("copy a program")?;
                let home = self.room.folder().join(home);
                let output =
                    self.start(&self.given(self.room.program(built).cwd(&home)), DRIVER_WALL)?;
                Ok(Observation::Said(self.told(&output)))
            }
        }
    }

    fn lay_out(
        &mut self,
        conditions: &Conditions<'_>,
        experiment: &Experiment,
        removed: &[String],
    ) -> Result<()> {
        let mut options = conditions.frozen.clone();
        options.removed.extend(removed.iter().map(PathBuf::from));
        self.enter(experiment.tree, conditions.candidate, &options)?;
        let log = self.calls_log().to_string_lossy().into_owned();
        for (path, text) in &experiment.edits {
            let place = self.room.folder().join(path);
            let act = || format!("write {path} to the room");
            fs::create_dir_all(place.parent().unwrap_or(self.room.folder())).with_context(act)?;
            fs::write(&place, text.replace(INERT_PLACE, &log)).with_context(act)?;
        }
        Ok(())
    }

    /// The log of calls.
    fn calls_log(&self) -> PathBuf {
        self.room.scratch().join(CALLS)
    }

    fn run_tests(&mut self, experiment: &Experiment, selection: &Selection) -> Result<Observation> {
        let log =
            foreign::write(&self.room.scratch(), CALLS, b"").context("make a list of calls")?;
        let mut variables = vec![(INERT_LOG.into(), log.clone().into())];
        variables.extend(
            experiment.variables.iter().map(|(name, value)| ((*name).into(), value.into())),
        );
        let report = match self.run(selection, &variables) {
            // The tree itself can be tested, but with these files the runner does not start. The
            // project may be a part of its runner, like pluggy, so the experiment is impossible.
            Err(error) if !experiment.edits.is_empty() && is_unable(&error) => {
                return Ok(Observation::Nothing);
            }
            ran => ran?,
        };
        let calls = match foreign::read(&log, CALLS_BYTES_MAX).context("read the list of calls")? {
            Some(calls) => String::from_utf8_lossy(&calls).into_owned(),
            // The tests removed or replaced the log. It only matters if our code writes to it.
            None if experiment.edits.is_empty() => String::new(),
            None => return Ok(Observation::Nothing),
        };
        Ok(Observation::Ran { report: Box::new(report), log: calls })
    }

    /// Builds the program and copies it to a folder without tests. `None` if it cannot be built.
    fn build_program(&mut self, build: &Build, root: &str) -> Result<Option<PathBuf>> {
        let place = self.room.scratch().join(bodies::NAME);
        let root = self.room.folder().join(root);
        let (built, program) = match build {
            Build::Cargo { packages } => {
                let Some(built) =
                    self.room.build().map(|folder| folder.join("debug").join(bodies::NAME))
                else {
                    return Ok(None);
                };
                // Use the profile of the tests, so that dependencies are not built again.
                let program = self.room.program("cargo").args([
                    "build",
                    "--profile",
                    "test",
                    "--bin",
                    bodies::NAME,
                ]);
                let without = |name: &String| {
                    format!("profile.test.package.\"{name}\".debug-assertions=false")
                };
                let program = packages
                    .iter()
                    .fold(program, |program, name| program.args(["--config", &without(name)]));
                (built, program)
            }
            Build::Go { package } => {
                let program =
                    self.room.program("go").args(["build", "-o"]).arg(&place).arg(package);
                (place.clone(), program)
            }
        };
        // Remove older programs, which would run instead.
        for old in [&built, &place] {
            match fs::remove_file(old) {
                Err(error) if error.kind() != ErrorKind::NotFound => {
                    return Err(error).context("remove an old program");
                }
                Ok(()) | Err(_) => {}
            }
        }
        let output = self.start(&program.cwd(&root), self.timeout)?;
        if !output.success() || !built.is_file() {
            return Ok(None);
        }
        if built != place
            && !foreign::copy(&built, &self.room.scratch(), bodies::NAME)
                .context("copy a program")?
        {
            return Ok(None);
        }
        Ok(Some(place))
    }

    /// Runs a driver and returns its output; nothing if its interpreter is missing.
    fn ask(&mut self, driver: Driver, question: &str) -> Result<Observation> {
        let interpreter = match driver.interpreter {
            Interpreter::Python => self.python(),
            Interpreter::Node => self.room.tool("node"),
        };
        let Some(interpreter) = interpreter else { return Ok(Observation::Nothing) };
        let file = foreign::write(&self.room.scratch(), driver.file, driver.source.as_bytes());
        let file = file.context("write the driver")?;
        let program = self.room.program(interpreter).arg(&file).stdin(question.to_owned());
        // The order of a set is not behaviour.
        let program = program.env("PYTHONDONTWRITEBYTECODE", "1").env("PYTHONHASHSEED", "0");
        let output = self.start(&self.given(program), DRIVER_WALL)?;
        Ok(Observation::Said(self.told(&output)))
    }

    /// The output of our program, and whether it ended normally.
    fn told(&self, output: &Output) -> String {
        let said = self.redacted(&output.stdout_text());
        match output.exit {
            Exit::TimedOut => format!("{said}\n{}", bodies::UNFINISHED),
            Exit::Code(_) | Exit::Signal(_) | Exit::NotStarted => format!("{said}\n"),
        }
    }

    fn start(&mut self, program: &Program, wall: Duration) -> Result<Output> {
        let limits = Limits { wall, output_bytes_max: OUTPUT_BYTES_MAX };
        let request = Request {
            network: Network::Loopback,
            outlet: None,
            extra: &[],
            limits,
            stop: self.ground.stop,
        };
        let started = Instant::now();
        let output = self.room.run(&self.sandbox, program, &request)?.output;
        self.running += started.elapsed();
        Ok(output)
    }

    /// The interpreter of the tests.
    fn python(&self) -> Option<PathBuf> {
        let inside =
            [".venv/bin/python", "venv/bin/python"].map(|path| self.room.folder().join(path));
        let inside = inside.into_iter().find(|path| self.room.real_path(path).exists());
        let active =
            self.ground.environment.virtual_env.as_ref().map(|folder| folder.join("bin/python"));
        inside.or(active.filter(|path| path.exists())).or_else(|| self.room.tool("python3"))
    }

    /// Switches the room to the tree.
    pub(super) fn enter(
        &mut self,
        tree: Tree,
        candidate: &Candidate<'_>,
        frozen: &Options,
    ) -> Result<()> {
        let as_is = Options { base: Some(candidate.base.to_owned()), ..Options::default() };
        let (name, options) = match tree {
            Tree::Base => (candidate.base, Options::default()),
            Tree::Earlier => (candidate.earlier.unwrap_or(candidate.base), Options::default()),
            Tree::Head => (candidate.head, frozen.clone()),
            Tree::AsIs => (candidate.head, as_is),
        };
        let has_builds = !self.is_interpreted();
        if let Some(builds) = &mut self.builds {
            match tree {
                // Nothing of it is needed, and code could remember something there.
                _ if !has_builds => builds.clear()?,
                Tree::Base | Tree::Earlier => builds.use_accepted()?,
                Tree::Head | Tree::AsIs => {
                    builds.use_candidate(candidate.before.is_none(), self.ground.stop)?;
                }
            }
        }
        self.room.change_to(self.ground.git, name, &options)
    }
}

/// Whether a runner could not be started, which is an environment error.
fn is_unable(error: &anyhow::Error) -> bool {
    error
        .downcast_ref::<Failure>()
        .is_some_and(|failure| failure.code == failure::Code::Environment)
}
