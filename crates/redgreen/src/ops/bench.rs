//! `redgreen bench`: what redgreen itself costs, beside what it is compared with. Programs that are compared take turns,
//! so that a busy moment of the machine meets all of them; the ratio says more than the milliseconds.

mod crowd;
mod guards;
mod parsing;
mod phases;
mod suites;
mod verdicts;

use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use serde::Serialize;

use crate::config::Environment;
use crate::failure::Failure;
use crate::process::{self, Limits, Program, Stop};

/// More than may be sent at once: the guards have to find that out quickly, too.
const CONTEXT_BYTES: usize = 10_000_000;
const LIMITS: Limits = Limits { wall: Duration::from_secs(600), output_bytes_max: 16 << 20 };

/// How much time to spend on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Length {
    Quick,
    Full,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Bench {
    pub version: u32,
    /// How often each program was timed.
    pub turns: usize,
    pub measures: Vec<Measure>,
    /// The most memory that a process with a whole run in it ever held; absent where the system does not tell.
    pub peak_memory_bytes: Option<u64>,
}

/// A median, and how it compares.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Measure {
    pub name: String,
    pub median_ms: f64,
    pub against: Vec<Against>,
    /// Of what reads: how much of it in a second.
    pub megabytes_per_second: Option<f64>,
    /// Of what reads: the most memory it took beside what it read; absent where the system does not tell.
    pub memory_bytes: Option<u64>,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Against {
    pub name: String,
    pub median_ms: f64,
    pub ratio: f64,
}

impl Length {
    fn turns(self) -> usize {
        match self {
            Self::Quick => 5,
            Self::Full => 31,
        }
    }

    /// The size of a suite that is run as a whole, and how often: it takes its time.
    fn suite(self) -> (usize, usize) {
        match self {
            Self::Quick => (300, 2),
            Self::Full => (10_000, 5),
        }
    }

    /// Suites that a verdict is measured with: what they take, in seconds, and how often.
    fn verdicts(self) -> &'static [(usize, usize)] {
        match self {
            Self::Quick => &[(1, 1)],
            Self::Full => &[(1, 5), (30, 1)],
        }
    }

    /// How much of a report is read.
    fn report_bytes(self) -> usize {
        match self {
            Self::Quick => 1 << 20,
            Self::Full => 32 << 20,
        }
    }

    /// The numbers of handoffs that the verbs for reading are tried with.
    fn crowds(self) -> &'static [usize] {
        match self {
            Self::Quick => &[100, 1_000],
            Self::Full => &[100, 1_000, 10_000],
        }
    }
}

impl Measure {
    fn new(name: impl Into<String>, median_ms: f64) -> Self {
        Self { name: name.into(), median_ms, against: Vec::new(), megabytes_per_second: None, memory_bytes: None }
    }

    fn against(mut self, name: impl Into<String>, median_ms: f64) -> Self {
        self.against.push(Against { name: name.into(), median_ms, ratio: self.median_ms / median_ms });
        self
    }
}

/// Measures in a scratch folder, which is gone afterwards. `tell` hears what is being done.
pub fn bench(length: Length, environment: &Environment, stop: &Stop, tell: &mut dyn FnMut(&str)) -> Result<Bench> {
    for program in ["git", "cargo"] {
        if !environment.has_program(program) {
            return Err(Failure::environment(format!("the bench needs {program}, which is not on the PATH"))
                .next(format!("{program} --version"))
                .into());
        }
    }
    let scratch = tempfile::Builder::new().prefix("redgreen-bench-").tempdir().context("create a scratch folder")?;
    let folder = scratch.path().canonicalize().context("find the scratch folder")?;
    let ours = Program::new(ours()?).cwd(&folder);
    let turns = length.turns();

    tell("a run of three cycles");
    let developed = phases::develop(&folder, environment, stop)?;
    let peak_memory_bytes = process::peak_memory_bytes();
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
        crowds.push(crowd::make(&folder, *handoffs, &developed)?);
    }
    tell("status and history");
    measures.extend(crowd::measures(&crowds, &ours, turns, stop)?);
    tell("guards on context files");
    measures.push(guards::measure(&folder, CONTEXT_BYTES, turns)?);
    tell("reading reports");
    measures.extend(parsing::measures(length.report_bytes(), turns));
    measures.extend(suites::measures(&folder, length, environment, &ours, stop, tell)?);
    measures.extend(verdicts::measures(&folder, length, environment, &ours, stop, tell)?);
    Ok(Bench { version: 1, turns, measures, peak_memory_bytes })
}

/// The program that is running.
fn ours() -> Result<PathBuf> {
    std::env::current_exe().context("find the program that is running")
}

/// The median time of each program in milliseconds.
fn in_turns(programs: &[Program], turns: usize, stop: &Stop) -> Result<Vec<f64>> {
    let mut samples = vec![Vec::new(); programs.len()];
    // The first turn fills the caches and does not count.
    for turn in 0..=turns {
        for (program, samples) in programs.iter().zip(&mut samples) {
            let wall = timed(program, stop)?;
            if turn > 0 {
                samples.push(wall);
            }
        }
    }
    Ok(samples.into_iter().map(median_ms).collect())
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
