//! `redgreen bench`: the cost of redgreen itself, next to something to compare with. Compared
//! programs take turns, so that a busy moment affects all of them. The ratio is more reliable than
//! the milliseconds.

mod agents;
mod concurrent;
mod edits;
mod fleet;
pub mod goals;
mod guards;
mod katas;
mod large_history;
pub mod models;
mod pages;
mod parsing;
mod peers;
mod phases;
mod server;
mod suites;
mod turns;
mod verdicts;

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use serde::Serialize;

use goals::{Goal, Regression};
use verdicts::{Plan, Start, Verb};

use crate::config::Environment;
use crate::failure::Failure;
use crate::process::{self, Limits, Measured, Output, Program, Stop};

/// More than may be sent at once. The guards must detect that quickly, too.
const CONTEXT_BYTES: usize = 10_000_000;
const LIMITS: Limits = Limits { wall: Duration::from_secs(600), output_bytes_max: 16 << 20 };

/// How much time to spend.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Length {
    Quick,
    Full,
}

/// Parts that can be measured separately.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// A run of three cycles; start-up, `status` and `history` with its handoffs.
    Run,
    /// A turn of an external agent.
    Agents,
    Reports,
    Suites,
    Verdicts,
    /// Turns of the built-in agent, and of others.
    Turns,
    /// Many runs at the same time.
    AtOnce,
    /// The check before an edit of a coding agent.
    Hook,
    /// The queue of a fleet.
    Fleet,
}

impl Part {
    /// Its projects use pytest.
    fn needs_pytest(self) -> bool {
        matches!(self, Self::Turns | Self::AtOnce)
    }
}

#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Bench {
    pub version: u32,
    /// How often each program was timed.
    pub turns: usize,
    pub measures: Vec<Measure>,
    /// The peak memory of a process that did a whole run. Absent if the system does not report it.
    pub peak_memory_bytes: Option<u64>,
    /// The size of the program file.
    pub program_bytes: Option<u64>,
    /// Figures that have a goal.
    pub goals: Vec<Goal>,
    /// Figures that got worse.
    pub losses: Vec<Regression>,
}

/// A median, and its comparisons.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Measure {
    pub name: String,
    pub median_ms: f64,
    /// CPU time. Absent if the system does not report it.
    pub cpu_ms: Option<f64>,
    pub against: Vec<PeerComparison>,
    /// Reading speed.
    pub megabytes_per_second: Option<f64>,
    /// The peak memory in addition to the input. Absent if the system does not report it.
    pub memory_bytes: Option<u64>,
    /// The requests of an agent's turn, and their total size.
    pub requests: Option<u64>,
    pub bytes_sent: Option<u64>,
    /// The peak memory of a process: ours, or a peer's with its process group. Absent if the system
    /// does not report it.
    pub peak_memory_bytes: Option<u64>,
    /// How many of the parallel runs finished.
    pub finished: Option<u64>,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct PeerComparison {
    pub name: String,
    pub median_ms: f64,
    pub ratio: f64,
    pub cpu_ms: Option<f64>,
    pub cpu_ratio: Option<f64>,
}

impl Length {
    fn turns(self) -> usize {
        match self {
            Self::Quick => 5,
            Self::Full => 31,
        }
    }

    /// The size of a suite that runs as a whole, and how often. It takes long.
    fn suite(self) -> (usize, usize) {
        match self {
            Self::Quick => (300, 2),
            Self::Full => (10_000, 5),
        }
    }

    /// The suites for verdicts.
    fn verdicts(self) -> Vec<Plan> {
        let plan =
            |verb, (seconds, turns, start)| Plan { verb, framework: None, seconds, turns, start };
        let all =
            [(1, 5, Start::Warm), (1, 3, Start::Cold), (30, 1, Start::Warm), (30, 1, Start::Cold)];
        let verbs = [Verb::Judge, Verb::Verify];
        match self {
            Self::Quick => {
                let quick = verbs.map(|verb| plan(verb, (1, 1, Start::Warm)));
                quick.map(|quick| Plan { framework: Some("pytest"), ..quick }).to_vec()
            }
            Self::Full => verbs.iter().flat_map(|verb| all.map(|row| plan(*verb, row))).collect(),
        }
    }

    /// The number of test cases in a report.
    fn report_cases(self) -> usize {
        match self {
            Self::Quick => 20_000,
            Self::Full => 1_000_000,
        }
    }

    /// The size of a report.
    fn report_bytes(self) -> usize {
        match self {
            Self::Quick => 1 << 20,
            Self::Full => 32 << 20,
        }
    }

    /// How often the turn of another agent runs. It takes seconds.
    fn peer_turns(self) -> usize {
        match self {
            Self::Quick => 1,
            Self::Full => 5,
        }
    }

    /// The number of parallel runs.
    fn at_once(self) -> usize {
        match self {
            Self::Quick => 5,
            Self::Full => 50,
        }
    }

    /// The numbers of handoffs for the reading commands.
    fn crowds(self) -> &'static [usize] {
        match self {
            Self::Quick => &[100, 1_000],
            Self::Full => &[100, 1_000, 10_000],
        }
    }
}

impl Bench {
    fn empty(turns: usize) -> Self {
        Self {
            version: 1,
            turns,
            measures: Vec::new(),
            peak_memory_bytes: None,
            program_bytes: None,
            goals: Vec::new(),
            losses: Vec::new(),
        }
    }
}

impl Measure {
    fn new(name: impl Into<String>, median_ms: f64) -> Self {
        Self {
            name: name.into(),
            median_ms,
            cpu_ms: None,
            against: Vec::new(),
            megabytes_per_second: None,
            memory_bytes: None,
            requests: None,
            bytes_sent: None,
            peak_memory_bytes: None,
            finished: None,
        }
    }

    /// The times of two programs, compared by wall time and CPU time.
    fn of(name: impl Into<String>, own: Times, other_name: &str, other: Times) -> Self {
        let mut measure = Self { cpu_ms: own.cpu_ms, ..Self::new(name, own.median_ms) };
        measure = measure.against(other_name, other.median_ms);
        for against in &mut measure.against {
            against.cpu_ms = other.cpu_ms;
            against.cpu_ratio = own.cpu_ms.zip(other.cpu_ms).map(|(own, other)| own / other);
        }
        measure
    }

    fn against(mut self, name: impl Into<String>, median_ms: f64) -> Self {
        let ratio = self.median_ms / median_ms;
        self.against.push(PeerComparison {
            name: name.into(),
            median_ms,
            ratio,
            cpu_ms: None,
            cpu_ratio: None,
        });
        self
    }
}

/// Measures these parts in a temporary folder. `tell` reports progress.
pub fn bench(
    length: Length,
    parts: &[Part],
    environment: &Environment,
    stop: &Stop,
    tell: &mut dyn FnMut(&str),
) -> Result<Bench> {
    for program in ["git", "cargo"] {
        if !environment.has_program(program) {
            return Err(Failure::environment(format!(
                "the bench needs {program}, which is not on the PATH"
            ))
            .next(format!("{program} --version"))
            .into());
        }
    }
    let scratch = tempfile::Builder::new()
        .prefix("redgreen-bench-")
        .tempdir()
        .context("create a scratch folder")?;
    let folder = scratch.path().canonicalize().context("find the scratch folder")?;
    let ours = Program::new(ours()?).cwd(&folder);
    let turns = length.turns();
    let pytest = has_pytest(environment, stop);
    if !pytest && parts.iter().any(|part| part.needs_pytest()) {
        tell("skipping built-in agent and parallel runs: pytest is not installed");
    }
    let parts: Vec<Part> =
        parts.iter().copied().filter(|part| pytest || !part.needs_pytest()).collect();

    let mut bench = Bench::empty(turns);
    bench.program_bytes = fs::metadata(self::ours()?).ok().map(|facts| facts.len());
    // This comes first, because it measures the memory of this process.
    if parts.contains(&Part::Agents) {
        tell("a turn of an agent");
        bench.measures.extend(agents::measures(&folder, turns, environment, stop)?);
    }
    if parts.contains(&Part::Hook) {
        tell("an edit check in a large repository");
        bench.measures.extend(edits::measures(&folder, length, environment, &ours, stop)?);
    }
    if parts.contains(&Part::Run) {
        let (measures, peak) = a_run(length, &folder, environment, &ours, stop, tell)?;
        bench.measures.extend(measures);
        bench.peak_memory_bytes = peak;
    }
    if parts.contains(&Part::Reports) {
        tell("reading reports");
        bench.measures.extend(parsing::measures(
            length.report_cases(),
            length.report_bytes(),
            turns,
        ));
        tell("guards on context files");
        bench.measures.push(guards::measure(&folder, CONTEXT_BYTES, turns)?);
    }
    if parts.contains(&Part::Suites) {
        bench.measures.extend(suites::measures(
            &folder,
            length,
            pytest,
            environment,
            &ours,
            stop,
            tell,
        )?);
    }
    if parts.contains(&Part::Verdicts) {
        bench.measures.extend(verdicts::measures(&folder, length, environment, &ours, stop, tell)?);
    }
    if parts.contains(&Part::Turns) {
        bench.measures.extend(turns::measures(&folder, length, environment, stop, tell)?);
    }
    if parts.contains(&Part::AtOnce) {
        bench.measures.extend(concurrent::measures(&folder, length.at_once(), &ours, stop, tell)?);
    }
    if parts.contains(&Part::Fleet) {
        let measures = fleet::measures(&folder, length, environment, &ours, stop, tell)?;
        bench.measures.extend(measures);
    }
    bench.goals = goals::goals(&bench);
    Ok(bench)
}

/// A run, measurements with its handoffs, and the peak memory until the run was over.
fn a_run(
    length: Length,
    folder: &Path,
    environment: &Environment,
    ours: &Program,
    stop: &Stop,
    tell: &mut dyn FnMut(&str),
) -> Result<(Vec<Measure>, Option<u64>)> {
    let turns = length.turns();
    tell("a run of three cycles");
    let developed = phases::develop(folder, environment, stop)?;
    // Before this process creates repositories with thousands of handoffs.
    let peak = process::peak_memory_bytes();
    let mut measures = developed.measures()?;

    tell("start-up");
    let start_up = [ours.clone().arg("--version"), developed.project.git.typed(&["--version"])];
    let medians = in_turns(&start_up, turns, stop)?;
    if let [version, git] = medians.as_slice() {
        measures.insert(0, Measure::new("start-up", *version).against("git --version", *git));
    }

    let mut crowds = Vec::new();
    for handoffs in length.crowds() {
        tell(&format!("a repository with {handoffs} handoffs"));
        crowds.push(large_history::make(folder, *handoffs, &developed)?);
    }
    tell("status and history");
    measures.extend(large_history::measures(&crowds, ours, turns, stop)?);
    tell("pages of a review");
    measures.extend(pages::measures(length, &developed, ours, stop)?);
    Ok((measures, peak))
}

/// The running program.
fn ours() -> Result<PathBuf> {
    std::env::current_exe().context("find the program that is running")
}

/// The Python interpreter for the tests of the bench.
fn python(environment: &Environment) -> Program {
    let own = environment.virtual_env.as_ref().map(|venv| venv.join("bin/python"));
    Program::new(own.unwrap_or_else(|| PathBuf::from("python3")))
}

fn has_pytest(environment: &Environment, stop: &Stop) -> bool {
    // If there is no interpreter, it cannot start, which is the same to us.
    let asked = python(environment).args(["-c", "import pytest"]).output(LIMITS, stop);
    asked.is_ok_and(|output| output.success())
}

/// Whose memory to measure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Memory {
    Own,
    /// For a program that runs for milliseconds.
    ShortLived,
    /// Includes its process group.
    Group,
}

/// Runs a program to its end, and returns its peak memory. `None` if the system does not report it.
fn watched(
    program: &Program,
    limits: Limits,
    memory: Memory,
    stop: &Stop,
) -> Result<(Output, Option<u64>)> {
    let look = match memory {
        Memory::Own | Memory::Group => Duration::from_millis(50),
        Memory::ShortLived => Duration::from_micros(200),
    };
    let (part, over) = (stop.part(), AtomicBool::new(false));
    thread::scope(|scope| {
        let watcher = scope.spawn(|| {
            let mut most = None;
            while !over.load(Ordering::SeqCst) {
                most = match memory {
                    // The system keeps the peak. Before the program is loaded, it is redgreen's own peak.
                    Memory::Own | Memory::ShortLived => part.peak_memory_at_work().or(most),
                    Memory::Group => most.max(part.memory_at_work()),
                };
                thread::sleep(look);
            }
            most
        });
        let output = program.output(limits, &part);
        over.store(true, Ordering::SeqCst);
        Ok((output?, watcher.join().unwrap_or_default()))
    })
}

/// The median times of a program.
#[derive(Clone, Copy, Debug)]
struct Times {
    median_ms: f64,
    cpu_ms: Option<f64>,
}

/// The median time of each program in milliseconds.
fn in_turns(programs: &[Program], turns: usize, stop: &Stop) -> Result<Vec<f64>> {
    Ok(took_in_turns(programs, turns, stop)?.into_iter().map(|took| took.median_ms).collect())
}

fn took_in_turns(programs: &[Program], turns: usize, stop: &Stop) -> Result<Vec<Times>> {
    let mut samples = vec![(Vec::new(), Vec::new()); programs.len()];
    // The first turn fills caches and does not count.
    for turn in 0..=turns {
        for (program, (walls, cpus)) in programs.iter().zip(&mut samples) {
            let before = process::cpu_time(Measured::Children);
            let wall = timed(program, stop)?;
            if turn > 0 {
                walls.push(wall);
                cpus.extend(
                    process::cpu_time(Measured::Children)
                        .zip(before)
                        .map(|(after, before)| after.saturating_sub(before)),
                );
            }
        }
    }
    let took = |(walls, cpus): (Vec<Duration>, Vec<Duration>)| {
        let cpu_ms = (!cpus.is_empty()).then(|| median_ms(cpus));
        Times { median_ms: median_ms(walls), cpu_ms }
    };
    Ok(samples.into_iter().map(took).collect())
}

fn timed(program: &Program, stop: &Stop) -> Result<Duration> {
    let output = program.output(LIMITS, stop)?;
    ensure!(output.success(), "{}: {}", program.line(), output.stderr_text().trim());
    Ok(output.wall)
}

fn median_ms(mut samples: Vec<Duration>) -> f64 {
    samples.sort_unstable();
    samples.get(samples.len() / 2).map_or(0.0, |median| median.as_secs_f64() * 1_000.0)
}
