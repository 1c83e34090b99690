//! Runs a project's tests with its real runner, in a scrubbed environment and under one time limit, and hands what
//! they left behind to the parsers in `redgreen_core::framework`. It acts; how a framework is started and what its
//! report means is decided there.

mod cargo;
mod facts;
mod invocation;
pub mod python;
mod tally;

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::{Context, Error, Result};
use redgreen_core::coverage::Coverage;
use redgreen_core::egress::{AllowList, Entry, Target};
use redgreen_core::framework::command::Command;
use redgreen_core::framework::facts::Facts;
use redgreen_core::framework::invoke::{Selection, Unable};
use redgreen_core::framework::{self, FRAMEWORKS, Found, Framework, How};
use redgreen_core::report::places::Places;
use redgreen_core::report::{Exit, Outcome, Report};

pub use tally::Tally;

use crate::config;
use crate::egress::{Listen, Proxy, Rules};
use crate::failure::Failure;
use crate::foreign;
use crate::process::{AtWork, Attention, Limits, Output, Program, Stop, kill_marked};
use crate::room::{Request, Room};
use crate::sandbox::{Fence, Network, Outlet, Sandbox};

/// What is kept of each stream of a test process; beyond it the middle is dropped and the run does not count.
const OUTPUT_BYTES_MAX: usize = 64 << 20;
/// What a report keeps of the output, for a person.
const TAIL_BYTES_MAX: usize = 8 << 10;

/// What every reporter of ours calls its stream, in the scratch folder.
const STREAM: &str = "stream.jsonl";

/// In the environment of everything a run starts, with a value of its own for each run.
const MARK: &str = "REDGREEN_TEST_RUN";

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
    // GoogleTest counts the files that exist to name its next one, which two at once would do alike.
    "CTEST_PARALLEL_LEVEL",
    "GTEST_ALSO_RUN_DISABLED_TESTS",
    "GTEST_FAIL_FAST",
    "GTEST_FILTER",
    "GTEST_OUTPUT",
    "GTEST_REPEAT",
    "GTEST_SHARD_INDEX",
    "GTEST_TOTAL_SHARDS",
    // Git sets these for hooks; a test that uses git would work on the wrong repository.
    "GIT_DIR",
    "GIT_INDEX_FILE",
    "GIT_WORK_TREE",
];

/// The frameworks a project's tests need, and where.
#[derive(Clone, Debug)]
pub struct Suite {
    found: Vec<Found>,
}

/// Where tests run.
#[derive(Clone, Copy, Debug)]
pub enum Place<'a> {
    /// In a folder, with the user's rights and in the user's surroundings, but for what is scrubbed.
    Open(&'a Path),
    /// In a folder as it is, behind a fence: for an agent that looks how far it got.
    Fenced(&'a Fenced<'a>),
    /// In a clean room, behind a fence.
    Room(&'a Room, &'a Sandbox),
}

/// A folder and what fences in the programs that run in it.
#[derive(Clone, Copy, Debug)]
pub struct Fenced<'a> {
    pub folder: &'a Path,
    pub sandbox: &'a Sandbox,
    pub fence: &'a Fence,
    /// All that they know.
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

/// What a run needs to know beside the project.
#[derive(Clone, Debug)]
pub struct Settings {
    /// For everything together: building, collecting, running.
    pub timeout: Duration,
    /// Where cargo builds; `None` leaves it to cargo. Shared between worktrees it saves most of the time.
    pub cargo_target_dir: Option<PathBuf>,
    /// The virtual environment active in the user's shell, used when the project has none of its own.
    pub virtual_env: Option<PathBuf>,
    /// Where programs are looked for: the user's PATH.
    pub path: Option<OsString>,
    /// Told to the tests on top of their surroundings.
    pub variables: Vec<(OsString, OsString)>,
    /// Values that are cut out of all that is told.
    pub secrets: Vec<String>,
    /// Ports of this machine's loopback that tests behind a fence reach.
    pub services: Vec<u16>,
}

/// What a run showed.
struct Ran {
    report: Report,
    listed: Vec<String>,
    coverage: Option<Coverage>,
}

/// How a project's tests are run: as its settings say, else as is found out. The settings are the user's, not those of
/// the folder: in a worktree an agent may have changed them.
pub fn suite(project: &Path, test: &config::Test) -> Result<Suite> {
    test.command()?.map_or_else(|| detect(project), |command| Suite::of(project, command))
}

/// Finds out which frameworks a project's tests need.
pub fn detect(project: &Path) -> Result<Suite> {
    let mut found = framework::detect(&facts::folders(project)?);
    if found.is_empty() {
        // Nothing says how tests are run, but tests may stand beside the code.
        found = framework::detect(&[facts::with_all_tests(project)?]);
    }
    if found.is_empty() {
        let failure = Failure::environment(format!("no test framework found in {}", project.display()));
        let looked = FRAMEWORKS.iter().map(|row| format!("{}: looked for {}", row.name, row.looks_for));
        let failure = looked.fold(failure, Failure::evidence);
        return Err(failure
            .next("run in the folder that has one of these, or set test.command in redgreen.toml")
            .into());
    }
    Ok(Suite { found })
}

impl Suite {
    /// What a command runs: a known runner if it is a plain call of one, else the command itself.
    pub fn of(project: &Path, command: Command) -> Result<Suite> {
        Ok(Suite { found: vec![command.found(facts::folder(project, "")?)] })
    }

    /// In a few words, such as `pytest + cargo`.
    pub fn describe(&self) -> String {
        self.found.iter().map(|found| found.outward_id(found.row.name)).collect::<Vec<_>>().join(" + ")
    }

    /// Each framework as a suite of its own.
    pub fn parts(&self) -> impl Iterator<Item = Suite> {
        self.found.iter().map(|found| Suite { found: vec![found.clone()] })
    }

    /// What was found where: the framework, its folder from the project's root, and what it is known by.
    pub fn evidence(&self) -> impl Iterator<Item = (&'static str, &str, &'static str)> {
        self.found.iter().map(|found| (found.row.name, found.folder.path.as_str(), found.row.looks_for))
    }

    /// Whether one of the frameworks can be asked for this id, or for one of these files.
    pub fn concerns(&self, selection: &Selection) -> bool {
        self.found.iter().any(|found| found.inward(selection).is_some())
    }

    pub fn frameworks(&self) -> impl Iterator<Item = &'static Framework> {
        self.found.iter().map(|found| found.row)
    }

    /// Every framework there is, for when a project's own cannot be told.
    pub fn every_framework() -> impl Iterator<Item = &'static Framework> {
        FRAMEWORKS.iter()
    }

    /// What any framework leaves behind in a checkout, as lines of a `.gitignore`.
    pub fn all_litter() -> impl Iterator<Item = &'static str> {
        FRAMEWORKS.iter().flat_map(|row| row.litter.iter().copied())
    }

    /// Runs what is selected and says what was seen; a failing test is an answer, not an error. An id or a file that
    /// belongs to none of the frameworks is a run without tests.
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

    /// The ids of all tests, without running one; what a framework cannot list is left out.
    pub fn list<'a>(&self, place: impl Into<Place<'a>>, settings: &Settings, stop: &Stop) -> Result<Vec<String>> {
        let ran = self.each(place.into(), &Selection::List, settings, stop)?;
        Ok(ran.into_iter().flat_map(|ran| ran.listed).collect())
    }

    /// Runs all tests and says which lines they reached; `None` is "unknown", not nothing. Where nothing can measure
    /// lines, the tests are run without.
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

    /// One after the other: they share the machine, the worktree and one time limit.
    fn each(&self, place: Place<'_>, selection: &Selection, settings: &Settings, stop: &Stop) -> Result<Vec<Ran>> {
        let workdir = place.folder();
        let deadline = Instant::now() + settings.timeout;
        let mut all = Vec::new();
        for found in &self.found {
            let Some(selection) = found.inward(selection) else { continue };
            let scratch =
                tempfile::Builder::new().prefix("redgreen-run-").tempdir().context("create a folder for reports")?;
            // Joined with nothing, a path would end with a `/`.
            let folder = match found.folder.path.as_str() {
                "" => workdir.to_owned(),
                below => workdir.join(below),
            };
            let at_work = &stop.suite_at_work(found.row.name, scratch.path().join(STREAM));
            let run = Run { place, workdir: &folder, settings, stop, at_work, scratch: scratch.path(), deadline };
            let started = Instant::now();
            let ran = match run.framework(found, &selection)? {
                None if selection == Selection::Coverage => run.framework(found, &Selection::All)?,
                ran => ran,
            };
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

/// One run of one framework in one folder.
struct Run<'a> {
    place: Place<'a>,
    workdir: &'a Path,
    settings: &'a Settings,
    stop: &'a Stop,
    /// Is told what the programs print, for whoever watches.
    at_work: &'a AtWork,
    /// A fresh folder outside the worktree that only we can read; gone after the run.
    scratch: &'a Path,
    deadline: Instant,
}

impl Run<'_> {
    /// `None` when the framework has no such thing as what is selected.
    fn framework(&self, found: &Found, selection: &Selection) -> Result<Option<Ran>> {
        let facts = Facts {
            folder: found.folder.clone(),
            root: text(self.workdir)?,
            scratch: text(self.scratch)?,
            tools: facts::tools(found.row.tools, self.place, self.workdir, self.settings),
            imports: facts::imports(self.place, self.settings),
            chosen: facts::chosen(self.workdir, selection),
        };
        let invoked = match (&found.row.how, &found.command) {
            (How::Cargo, _) => return cargo::run(self, selection),
            (How::Process(process), _) => (process.invoke)(&facts, selection),
            (How::Command, Some(command)) => command.invoke(selection),
            (How::Command, None) => return Ok(None),
        };
        let invocation = match invoked {
            Ok(invocation) => invocation,
            Err(Unable::Unsupported(_)) => return Ok(None),
            Err(Unable::Missing(missing)) => return Err(invocation::missing(&missing).into()),
        };
        let performed = invocation::perform(self, &facts, &invocation)?;
        let captured = &performed.captured;
        let (mut report, listed) = match (&found.row.how, &found.command) {
            (How::Process(process), _) if *selection == Selection::List => {
                ((process.parse)(captured), (process.list)(captured))
            }
            (How::Process(process), _) => ((process.parse)(captured), Vec::new()),
            (How::Command, Some(command)) => (command.parse(captured), Vec::new()),
            (How::Cargo | How::Command, _) => return Ok(None),
        };
        report.command = invocation.shown;
        report.output_tail = tail(&performed.words);
        Ok(Some(Ran { report, listed, coverage: performed.coverage }))
    }

    /// The folders that nobody is told of, by the names they have for whoever runs the tests.
    fn places(&self) -> Result<Places> {
        let root = self.place.folder();
        let real = root.canonicalize().unwrap_or_else(|_| root.to_owned());
        let places = Places::of([text(root)?.as_str(), &text(&real)?]).and(&text(self.scratch)?, "…");
        let Place::Room(room, _) = self.place else { return Ok(places) };
        room.folders().into_iter().try_fold(places, |places, (folder, name)| Ok(places.and(&text(&folder)?, name)))
    }

    /// A program in a scrubbed environment; what it needs is added by the caller, afterwards.
    fn program(&self, name: impl Into<OsString>) -> Program {
        let program = match self.place {
            Place::Open(_) => {
                SCRUBBED.iter().fold(Program::new(name), |program, variable| program.env_remove(*variable))
            }
            Place::Fenced(fenced) => {
                let known = fenced.env.iter().filter(|(name, _)| !SCRUBBED.iter().any(|scrubbed| name == scrubbed));
                known.fold(Program::new(name).env_clear(), |program, (name, value)| program.env(name, value))
            }
            // A room is not used again, and what it holds is compared with what it held.
            // Python's sets have the same order in every run: names of tests may be made from them.
            Place::Room(room, _) => {
                room.program(name.into()).env("PYTHONDONTWRITEBYTECODE", "1").env("PYTHONHASHSEED", "0")
            }
        };
        // With CI set, snapshot tests fail instead of writing the snapshot they are to be compared with.
        let program = program.env("CI", "1").env("NO_COLOR", "1").env("LC_ALL", "C.UTF-8").env("RUST_BACKTRACE", "0");
        let program = program.cwd(self.workdir);
        let program = match &self.settings.cargo_target_dir {
            Some(folder) => program.env("CARGO_TARGET_DIR", folder),
            None => program,
        };
        self.settings.variables.iter().fold(program, |program, (name, value)| program.env(name, value))
    }

    /// The way to the services that the settings let in, for as long as it is held. Where programs share the machine's
    /// loopback, or have a way out already, nothing has to be done.
    fn services(&self, sandbox: &Sandbox, has_a_way_out: bool) -> Result<Option<(Proxy, Outlet)>> {
        let targets = self.settings.services.iter().filter_map(|port| Target::new(SERVICE_HOST, *port));
        let targets: Vec<Target> = targets.collect();
        if targets.is_empty() || has_a_way_out || !sandbox.binds() {
            return Ok(None);
        }
        let allowed = AllowList::new(targets.iter().cloned().map(Entry::Exact));
        let rules = Rules { allowed, upstream: config::Models::default() };
        let log = foreign::write(self.scratch, SERVICES_LOG, b"").context("make a list of connections")?;
        let proxy = Proxy::start(Listen::Socket, rules, &log).context("let services in")?;
        let outlet = Outlet { proxy: proxy.address().clone(), tunnels: targets };
        Ok(Some((proxy, outlet)))
    }

    /// Runs one of the suite's programs within what is left of the time. One that did not end by itself leaves nothing
    /// behind, not even a daemon that has left its process group; what a run left that did end may be meant to stay.
    fn output(&self, program: &Program) -> Result<Output> {
        let mark = text(self.scratch)?;
        let wall = self.deadline.saturating_duration_since(Instant::now());
        let limits = Limits { wall, output_bytes_max: OUTPUT_BYTES_MAX };
        let mut hear = |bytes: &[u8]| self.at_work.hear(bytes);
        let attention = Attention::Watching(&mut hear);
        match self.place {
            Place::Open(_) => {
                let output = program.clone().env(MARK, &mark).attended(limits, self.stop, attention);
                let ended = output.as_ref().is_ok_and(|output| output.exit != Exit::TimedOut);
                if !ended {
                    kill_marked(MARK, &mark);
                }
                output
            }
            // A fence leaves nobody behind.
            Place::Fenced(fenced) => {
                let mut fence = fenced.fence.clone();
                fence.writable.push(self.scratch.to_owned());
                let services =
                    self.services(fenced.sandbox, fence.outlet.is_some() || fence.network == Network::Full)?;
                fence.outlet = fence.outlet.or(services.as_ref().map(|(_, outlet)| outlet.clone()));
                Ok(fenced.sandbox.attended(program, &fence, limits, self.stop, attention)?.output)
            }
            Place::Room(room, sandbox) => {
                let extra = [self.scratch.to_owned()];
                let services = self.services(sandbox, false)?;
                let outlet = services.as_ref().map(|(_, outlet)| outlet);
                let request = Request { network: Network::Loopback, outlet, extra: &extra, limits, stop: self.stop };
                Ok(room.attended(sandbox, program, &request, attention)?.output)
            }
        }
    }
}

/// Where a service of this machine is found.
const SERVICE_HOST: &str = "127.0.0.1";
/// In the scratch folder: the connections to services.
const SERVICES_LOG: &str = "services.log";

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

/// A path as an argument or a variable of another program.
fn text(path: &Path) -> Result<String> {
    path.to_str().map(str::to_owned).with_context(|| format!("the path {} is not UTF-8", path.display()))
}
