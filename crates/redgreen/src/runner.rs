//! Runs a project's tests with its real test runner, in a clean environment and with one time
//! limit, and passes the results to the parsers in `redgreen_core::framework`. The core decides how
//! a framework is started and what its report means.

mod cargo;
mod facts;
mod invocation;
pub mod python;
mod tally;

use std::borrow::Cow;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::{Context, Error, Result};
use redgreen_core::coverage::Coverage;
use redgreen_core::egress::{AllowList, Entry, Target};
use redgreen_core::framework::command::Command;
use redgreen_core::framework::facts::Facts;
use redgreen_core::framework::invoke::{CannotRun, Selection};
use redgreen_core::framework::{self, Detection, Execution, FRAMEWORKS, Framework};
use redgreen_core::report::places::Places;
use redgreen_core::report::{Exit, Outcome, Report};

pub use tally::Tally;

use crate::config;
use crate::egress::{Listen, Proxy, Rules};
use crate::failure::Failure;
use crate::foreign;
use crate::process::{Attention, Limits, Output, Program, Stop, SuiteGuard, kill_marked};
use crate::room::{Request, Room};
use crate::sandbox::{Fence, Network, Outlet, Sandbox};

/// The output limit per stream of a test process. If it is exceeded, the middle is dropped and the
/// run does not count.
const OUTPUT_BYTES_MAX: usize = 64 << 20;
/// The length of the output kept in a report for people.
const TAIL_BYTES_MAX: usize = 8 << 10;

/// The name of our reporters' stream in the scratch folder.
const STREAM: &str = "stream.jsonl";

/// Set in the environment of every process of a run, with a unique value per run.
const MARK: &str = "REDGREEN_TEST_RUN";

/// Variables that select tests or change their results. A verdict must not depend on the user's
/// shell.
const SCRUBBED: &[&str] = &[
    "PYTEST_ADDOPTS",
    "PYTEST_PLUGINS",
    "PYTEST_DISABLE_PLUGIN_AUTOLOAD",
    "PYTHONINSPECT",
    // With -O Python ignores every assert.
    "PYTHONOPTIMIZE",
    "PYTHONSAFEPATH",
    "PYTHONWARNINGS",
    // A `-D warnings` or `--cfg` of the user's shell would change what compiles. Permanent flags
    // belong in the project's .cargo/config.toml, which is used.
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
    "NEXTEST_FLAKY_RESULT",
    "NEXTEST_MESSAGE_FORMAT",
    "NEXTEST_NO_TESTS",
    "NEXTEST_PROFILE",
    "NEXTEST_RETRIES",
    "NEXTEST_TEST_THREADS",
    "NODE_OPTIONS",
    "NODE_TEST_CONTEXT",
    "VITEST",
    "JEST_WORKER_ID",
    "GOFLAGS",
    "RUBYOPT",
    "SPEC_OPTS",
    "RUBYLIB",
    "MT_NO_PLUGINS",
    "BATS_TEST_RETRIES",
    "BATS_TEST_TIMEOUT",
    "MIX_ENV",
    "ELIXIR_ERL_OPTIONS",
    "JAVA_TOOL_OPTIONS",
    "MAVEN_ARGS",
    "MAVEN_OPTS",
    "CTEST_NO_TESTS_ACTION",
    "CTEST_OUTPUT_ON_FAILURE",
    // GoogleTest counts existing files to name the next one, so two parallel tests would use the
    // same name.
    "CTEST_PARALLEL_LEVEL",
    "GTEST_ALSO_RUN_DISABLED_TESTS",
    "GTEST_FAIL_FAST",
    "GTEST_FILTER",
    "GTEST_OUTPUT",
    "GTEST_REPEAT",
    "GTEST_SHARD_INDEX",
    "GTEST_TOTAL_SHARDS",
    // Git sets these for hooks. A test that uses git would work on the wrong repository.
    "GIT_DIR",
    "GIT_INDEX_FILE",
    "GIT_WORK_TREE",
];

/// The test frameworks of a project and their folders.
#[derive(Clone, Debug)]
pub struct Suite {
    found: Vec<Detection>,
}

#[derive(Clone, Copy, Debug)]
pub enum Place<'a> {
    /// In a folder, with the user's rights and environment, except for scrubbed variables.
    Open(&'a Path),
    /// In a folder inside a sandbox, for an agent that checks its progress.
    Fenced(&'a SandboxedFolder<'a>),
    /// In a clean room inside a sandbox.
    Room(&'a Room, &'a Sandbox),
}

/// A folder and the sandbox of the programs that run in it.
#[derive(Clone, Copy, Debug)]
pub struct SandboxedFolder<'a> {
    pub folder: &'a Path,
    pub sandbox: &'a Sandbox,
    pub fence: &'a Fence,
    /// Their complete environment.
    pub env: &'a [(OsString, OsString)],
}

impl<'a> From<&'a Path> for Place<'a> {
    fn from(folder: &'a Path) -> Self {
        Self::Open(folder)
    }
}

impl<'a> From<&'a PathBuf> for Place<'a> {
    fn from(folder: &'a PathBuf) -> Self {
        Self::Open(folder)
    }
}

impl<'a> Place<'a> {
    pub fn folder(self) -> &'a Path {
        match self {
            Self::Open(folder) => folder,
            Self::Fenced(fenced) => fenced.folder,
            Self::Room(room, _) => room.folder(),
        }
    }
}

#[derive(Clone, Debug)]
pub struct Settings {
    /// The limit for everything together: building, collecting, running.
    pub timeout: Duration,
    /// The build folder of cargo; `None` uses cargo's default. Sharing it between worktrees saves
    /// most of the time.
    pub cargo_target_dir: Option<PathBuf>,
    /// The active virtual environment of the user's shell, used if the project has none.
    pub virtual_env: Option<PathBuf>,
    /// The user's PATH.
    pub path: Option<OsString>,
    /// More variables for the tests.
    pub variables: Vec<(OsString, OsString)>,
    /// Values that are removed from all reports.
    pub secrets: Vec<String>,
    /// Loopback ports of this machine that sandboxed tests can reach.
    pub services: Vec<u16>,
}

/// The result of a run.
struct RunOutput {
    report: Report,
    listed: Vec<String>,
    coverage: Option<Coverage>,
}

/// The test suite of a project: configured, or detected. `test` comes from the user's settings,
/// because an agent may have changed those in the worktree.
pub fn suite(project: &Path, test: &config::Test) -> Result<Suite> {
    test.command()?.map_or_else(|| detect(project), |command| Suite::of(project, command))
}

/// Detects the test frameworks of a project.
pub fn detect(project: &Path) -> Result<Suite> {
    let mut found = framework::detect(&facts::folders(project)?);
    if found.is_empty() {
        // There is no configuration, but there may be test files next to the code.
        found = framework::detect(&[facts::with_all_tests(project)?]);
    }
    if found.is_empty() {
        let failure =
            Failure::environment(format!("no test framework found in {}", project.display()));
        let looked =
            FRAMEWORKS.iter().map(|row| format!("{}: looked for {}", row.name, row.looks_for));
        let failure = looked.fold(failure, Failure::evidence);
        return Err(failure
            .next("run in the folder that has one of these, or set test.command in redgreen.toml")
            .into());
    }
    Ok(Suite { found })
}

impl Suite {
    /// The suite of a command: a known runner if it is a plain call of one, otherwise the command
    /// itself.
    pub fn of(project: &Path, command: Command) -> Result<Suite> {
        Ok(Suite { found: vec![command.found(facts::folder(project, "")?)] })
    }

    /// Whether the results are per test, and not only the exit code of a command.
    pub fn reports_each_test(&self) -> bool {
        self.found.iter().all(|found| found.command.is_none())
    }

    /// A short description, such as `pytest + cargo`.
    pub fn describe(&self) -> String {
        self.found
            .iter()
            .map(|found| found.outward_id(found.row.name))
            .collect::<Vec<_>>()
            .join(" + ")
    }

    /// Each framework as a separate suite.
    pub fn parts(&self) -> impl Iterator<Item = Suite> {
        self.found.iter().map(|found| Suite { found: vec![found.clone()] })
    }

    /// What was detected: the framework, its folder relative to the project, and the evidence.
    pub fn evidence(&self) -> impl Iterator<Item = (&'static str, &str, &'static str)> {
        self.found
            .iter()
            .map(|found| (found.row.name, found.folder.path.as_str(), found.row.looks_for))
    }

    /// Whether one of the frameworks can run this id or one of these files.
    pub fn concerns(&self, selection: &Selection) -> bool {
        self.found.iter().any(|found| found.inward(selection).is_some())
    }

    pub fn frameworks(&self) -> impl Iterator<Item = &'static Framework> {
        self.found.iter().map(|found| found.row)
    }

    /// All supported frameworks, for projects whose own cannot be detected.
    pub fn every_framework() -> impl Iterator<Item = &'static Framework> {
        FRAMEWORKS.iter()
    }

    /// Files that any framework leaves in a checkout, as lines of a `.gitignore`.
    pub fn all_litter() -> impl Iterator<Item = &'static str> {
        FRAMEWORKS.iter().flat_map(|row| row.litter.iter().copied())
    }

    /// Runs the selected tests. A failing test is a result, not an error. If the selection belongs
    /// to no framework, the report has no tests.
    pub fn run<'a>(
        &self,
        place: impl Into<Place<'a>>,
        selection: &Selection,
        settings: &Settings,
        stop: &Stop,
    ) -> Result<Report> {
        let ran = self.each(place.into(), selection, settings, stop)?;
        if ran.is_empty() {
            return Ok(Report { finished: true, outcome: Outcome::NoTests, ..Report::default() });
        }
        Ok(Report::merge(ran.into_iter().map(|ran| ran.report).collect()))
    }

    /// The ids of all tests, without running them. Skips frameworks that cannot list tests.
    pub fn list<'a>(
        &self,
        place: impl Into<Place<'a>>,
        settings: &Settings,
        stop: &Stop,
    ) -> Result<Vec<String>> {
        let ran = self.each(place.into(), &Selection::List, settings, stop)?;
        Ok(ran.into_iter().flat_map(|ran| ran.listed).collect())
    }

    /// Runs all tests and returns the covered lines; `None` means unknown. Without a coverage tool
    /// the tests run normally.
    pub fn coverage<'a>(
        &self,
        place: impl Into<Place<'a>>,
        settings: &Settings,
        stop: &Stop,
    ) -> Result<(Report, Option<Coverage>)> {
        let mut ran = self.each(place.into(), &Selection::Coverage, settings, stop)?;
        let known = ran.iter_mut().filter_map(|ran| ran.coverage.take());
        let coverage = known.reduce(|mut whole, part| {
            whole.merge(part);
            whole
        });
        Ok((Report::merge(ran.into_iter().map(|ran| ran.report).collect()), coverage))
    }

    /// Runs one framework after the other, because they share the machine, the worktree and the
    /// time limit.
    fn each(
        &self,
        place: Place<'_>,
        selection: &Selection,
        settings: &Settings,
        stop: &Stop,
    ) -> Result<Vec<RunOutput>> {
        let workdir = place.folder();
        let deadline = Instant::now() + settings.timeout;
        let mut all = Vec::new();
        for found in &self.found {
            let within = || framework::otherwise(found)?.inward(selection);
            let Some(selection) = found.inward(selection).or_else(within) else { continue };
            let scratch = tempfile::Builder::new()
                .prefix("redgreen-run-")
                .tempdir()
                .context("create a folder for reports")?;
            // Joining an empty path would add a trailing `/`.
            let folder = match found.folder.path.as_str() {
                "" => workdir.to_owned(),
                below => workdir.join(below),
            };
            let at_work = &stop.suite_at_work(found.row.name, scratch.path().join(STREAM));
            let run = Run {
                place,
                workdir: &folder,
                settings,
                stop,
                at_work,
                scratch: scratch.path(),
                deadline,
            };
            let started = Instant::now();
            let (found, ran) = run.installed(found, &selection)?;
            let Some(mut ran) = ran else { continue };
            ran.report.wall_ms = u64::try_from(started.elapsed().as_millis()).unwrap_or(u64::MAX);
            ran.report = found.outward(ran.report);
            ran.report.without(&run.places()?);
            ran.report.redact(&settings.secrets);
            ran.listed = ran.listed.iter().map(|id| found.outward_id(id)).collect();
            ran.coverage = ran.coverage.map(|coverage| found.outward_lines(coverage));
            all.push(ran);
        }
        Ok(all)
    }
}

struct Run<'a> {
    place: Place<'a>,
    workdir: &'a Path,
    settings: &'a Settings,
    stop: &'a Stop,
    /// Receives the output of the programs, to show progress.
    at_work: &'a SuiteGuard,
    /// A temporary folder outside the worktree that only we can read.
    scratch: &'a Path,
    deadline: Instant,
}

impl Run<'_> {
    /// Runs the framework, or the one that runs the same tests where it is not installed.
    fn installed<'f>(
        &self,
        found: &'f Detection,
        selection: &Selection,
    ) -> Result<(Cow<'f, Detection>, Option<RunOutput>)> {
        let missing = match self.measured(found, selection) {
            Ok(ran) => return Ok((Cow::Borrowed(found), ran)),
            Err(error) => error,
        };
        match framework::otherwise(found).filter(|_| missing.is::<Failure>()) {
            Some(other) => {
                let ran = self.measured(&other, selection).map_err(|_| missing)?;
                Ok((Cow::Owned(other), ran))
            }
            None => Err(missing),
        }
    }

    /// Where nothing can measure lines, the tests are run without.
    fn measured(&self, found: &Detection, selection: &Selection) -> Result<Option<RunOutput>> {
        match self.framework(found, selection)? {
            None if *selection == Selection::Coverage => self.framework(found, &Selection::All),
            ran => Ok(ran),
        }
    }

    /// `None` when the framework has no such thing as what is selected.
    fn framework(&self, found: &Detection, selection: &Selection) -> Result<Option<RunOutput>> {
        let facts = Facts {
            folder: found.folder.clone(),
            root: text(self.workdir)?,
            scratch: text(self.scratch)?,
            tools: facts::tools(found.row.tools, self.place, self.workdir, self.settings),
            imports: facts::imports(self.place, self.settings),
            chosen: facts::chosen(self.workdir, selection),
        };
        let invoked = match (&found.row.how, &found.command) {
            (Execution::Cargo, _) => return cargo::run(self, selection),
            (Execution::Process(process), _) => (process.invoke)(&facts, selection),
            (Execution::Command, Some(command)) => command.invoke(selection),
            (Execution::Command, None) => return Ok(None),
        };
        let invocation = match invoked {
            Ok(invocation) => invocation,
            Err(CannotRun::Unsupported(_)) => return Ok(None),
            Err(CannotRun::Missing(missing)) => return Err(invocation::missing(&missing).into()),
        };
        let performed = invocation::perform(self, &facts, &invocation)?;
        let captured = &performed.captured;
        let (mut report, listed) = match (&found.row.how, &found.command) {
            (Execution::Process(process), _) if *selection == Selection::List => {
                ((process.parse)(captured), (process.list)(captured))
            }
            (Execution::Process(process), _) => ((process.parse)(captured), Vec::new()),
            (Execution::Command, Some(command)) => (command.parse(captured), Vec::new()),
            (Execution::Cargo | Execution::Command, _) => return Ok(None),
        };
        report.command = invocation.shown;
        report.output_tail = tail(&performed.words);
        Ok(Some(RunOutput { report, listed, coverage: performed.coverage }))
    }

    /// The folders that are removed from reports, with the names that users see instead.
    fn places(&self) -> Result<Places> {
        let root = self.place.folder();
        let real = root.canonicalize().unwrap_or_else(|_| root.to_owned());
        let places =
            Places::of([text(root)?.as_str(), &text(&real)?]).and(&text(self.scratch)?, "…");
        let Place::Room(room, _) = self.place else { return Ok(places) };
        room.folders()
            .into_iter()
            .try_fold(places, |places, (folder, name)| Ok(places.and(&text(&folder)?, name)))
    }

    /// A program in a clean environment. The caller adds the variables it needs.
    fn program(&self, name: impl Into<OsString>) -> Program {
        let program = match self.place {
            Place::Open(_) => SCRUBBED
                .iter()
                .fold(Program::new(name), |program, variable| program.env_remove(*variable)),
            Place::Fenced(fenced) => {
                let known = fenced
                    .env
                    .iter()
                    .filter(|(name, _)| !SCRUBBED.iter().any(|scrubbed| name == scrubbed));
                known.fold(Program::new(name).env_clear(), |program, (name, value)| {
                    program.env(name, value)
                })
            }
            // A room is not reused, and its content is compared afterwards. A fixed hash seed gives
            // Python's sets the same order in every run, because test names may depend on it.
            Place::Room(room, _) => room
                .program(name.into())
                .env("PYTHONDONTWRITEBYTECODE", "1")
                .env("PYTHONHASHSEED", "0"),
        };
        // With CI set, snapshot tests fail instead of writing a new snapshot.
        let program = program
            .env("CI", "1")
            .env("NO_COLOR", "1")
            .env("LC_ALL", "C.UTF-8")
            .env("RUST_BACKTRACE", "0");
        let program = program.cwd(self.workdir);
        let program = match &self.settings.cargo_target_dir {
            Some(folder) => program.env("CARGO_TARGET_DIR", folder),
            None => program,
        };
        self.settings
            .variables
            .iter()
            .fold(program, |program, (name, value)| program.env(name, value))
    }

    /// The proxy to the configured services, while it is held. Not needed if programs share the
    /// machine's loopback or already have a proxy.
    fn services(&self, sandbox: &Sandbox, has_a_way_out: bool) -> Result<Option<(Proxy, Outlet)>> {
        let targets =
            self.settings.services.iter().filter_map(|port| Target::new(SERVICE_HOST, *port));
        let targets: Vec<Target> = targets.collect();
        if targets.is_empty() || has_a_way_out || !sandbox.binds() {
            return Ok(None);
        }
        let allowed = AllowList::new(targets.iter().cloned().map(Entry::Exact));
        let rules = Rules { allowed, upstream: config::Models::default() };
        let log = foreign::write(self.scratch, SERVICES_LOG, b"")
            .context("make a list of connections")?;
        let proxy =
            Proxy::start(Listen::Socket, rules, &log).context("start the proxy for services")?;
        let outlet = Outlet { proxy: proxy.address().clone(), tunnels: targets };
        Ok(Some((proxy, outlet)))
    }

    /// Runs a program of the suite within the remaining time. If it did not end by itself,
    /// everything it started is killed, even a daemon in another process group. Processes of a run
    /// that ended normally may be intended to stay.
    fn output(&self, program: &Program) -> Result<Output> {
        let mark = text(self.scratch)?;
        let wall = self.deadline.saturating_duration_since(Instant::now());
        let limits = Limits { wall, output_bytes_max: OUTPUT_BYTES_MAX };
        let mut hear = |bytes: &[u8]| self.at_work.hear(bytes);
        let attention = Attention::Watching(&mut hear);
        match self.place {
            Place::Open(_) => {
                let output =
                    program.clone().env(MARK, &mark).attended(limits, self.stop, attention);
                let ended = output.as_ref().is_ok_and(|output| output.exit != Exit::TimedOut);
                if !ended {
                    kill_marked(MARK, &mark);
                }
                output
            }
            // The sandbox leaves no processes behind.
            Place::Fenced(fenced) => {
                let mut fence = fenced.fence.clone();
                fence.writable.push(self.scratch.to_owned());
                let services = self.services(
                    fenced.sandbox,
                    fence.outlet.is_some() || fence.network == Network::Full,
                )?;
                fence.outlet = fence.outlet.or(services.as_ref().map(|(_, outlet)| outlet.clone()));
                Ok(fenced.sandbox.attended(program, &fence, limits, self.stop, attention)?.output)
            }
            Place::Room(room, sandbox) => {
                let extra = [self.scratch.to_owned()];
                let services = self.services(sandbox, false)?;
                let outlet = services.as_ref().map(|(_, outlet)| outlet);
                let request = Request {
                    network: Network::Loopback,
                    outlet,
                    extra: &extra,
                    limits,
                    stop: self.stop,
                };
                Ok(room.attended(sandbox, program, &request, attention)?.output)
            }
        }
    }
}

/// The address of local services.
const SERVICE_HOST: &str = "127.0.0.1";
/// The log of connections to services, in the scratch folder.
const SERVICES_LOG: &str = "services.log";

/// Whether an error means that the program does not exist.
fn is_missing(error: &Error) -> bool {
    error
        .downcast_ref::<std::io::Error>()
        .is_some_and(|error| error.kind() == std::io::ErrorKind::NotFound)
}

/// The end of the output, for people.
fn tail(text: &str) -> String {
    let text = text.trim();
    let start = text.len().saturating_sub(TAIL_BYTES_MAX);
    let start =
        (start..=text.len()).find(|&index| text.is_char_boundary(index)).unwrap_or(text.len());
    text[start..].to_owned()
}

/// A path as an argument or variable of another program.
fn text(path: &Path) -> Result<String> {
    path.to_str()
        .map(str::to_owned)
        .with_context(|| format!("the path {} is not UTF-8", path.display()))
}
