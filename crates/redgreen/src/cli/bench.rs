//! `redgreen bench`.

use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Result;
use clap::ValueEnum;
use redgreen_core::text::shell_word;

use super::Desk;
use crate::failure::{Code, Failure};
use crate::ops::bench::goals::{Landed, Unit, losses, mebibytes};
use crate::ops::bench::{self, Bench, Length, Part};

/// Measure the time and memory that redgreen itself needs on this machine
#[derive(clap::Args, Debug)]
#[command(after_help = "Works in a temporary folder. Needs git and cargo; no key, no network.\n\n\
                        Examples:\n  redgreen bench\n  redgreen bench suites\n  redgreen bench --quick --json\n  redgreen bench --compare docs/figures.json")]
pub(super) struct Args {
    /// What to measure [default: everything]
    #[arg(value_name = "PART")]
    parts: Vec<Choice>,
    /// Use fewer rounds and smaller repositories
    #[arg(long)]
    quick: bool,
    /// Compare with the output of an earlier `bench --json`; exit with 1 if a figure got worse
    #[arg(long, value_name = "FILE")]
    compare: Option<PathBuf>,
}

#[derive(Clone, Copy, Debug, clap::ValueEnum)]
enum Choice {
    /// A run of three cycles, start-up, status and history
    Run,
    /// A turn of an external agent
    Agents,
    /// Reading test reports
    Reports,
    /// `redgreen test`, compared with the test runner alone
    Suites,
    /// A GREEN verdict, compared with the test runner alone
    Verdicts,
    /// A turn of the built-in agent with a model that answers at once, and of other installed agents
    Turns,
    /// Many runs at once in one repository
    AtOnce,
    /// The check before an edit of a coding agent, in a repository of 50,000 files
    Hook,
}

impl From<Choice> for Part {
    fn from(choice: Choice) -> Self {
        match choice {
            Choice::Run => Self::Run,
            Choice::Agents => Self::Agents,
            Choice::Reports => Self::Reports,
            Choice::Suites => Self::Suites,
            Choice::Verdicts => Self::Verdicts,
            Choice::Turns => Self::Turns,
            Choice::AtOnce => Self::AtOnce,
            Choice::Hook => Self::Hook,
        }
    }
}

impl Args {
    pub(super) fn perform(self, desk: &Desk) -> Result<Code> {
        let length = if self.quick { Length::Quick } else { Length::Full };
        let mut tell = |what: &str| desk.printer.talk(&format!("measuring {what}\n"));
        let all = Choice::value_variants();
        let chosen = if self.parts.is_empty() { all } else { &self.parts };
        let parts: Vec<Part> = chosen.iter().copied().map(Part::from).collect();
        let landed = self.compare.as_deref().map(landed).transpose()?;
        let mut bench = bench::bench(length, &parts, &desk.environment, &desk.stop, &mut tell)?;
        bench.losses = landed.as_ref().map(|landed| losses(landed, &bench.goals)).unwrap_or_default();
        let text = format!("{}\n{}{}", table(&bench), goals(&bench), lost(&bench));
        desk.printer.answer(&text, &bench);
        Ok(if bench.losses.is_empty() { Code::Done } else { Code::No })
    }
}

/// The figures of before, read first: a bench takes minutes.
fn landed(path: &Path) -> Result<Landed> {
    let unusable = |error: String| {
        Failure::usage(format!("{} holds no figures to compare with", path.display()))
            .evidence(error)
            .next(format!("redgreen bench --json > {}", shell_word(&path.to_string_lossy())))
    };
    let text = fs::read_to_string(path).map_err(|error| unusable(error.to_string()))?;
    Ok(serde_json::from_str(&text).map_err(|error| unusable(error.to_string()))?)
}

/// Each figure that is to be something, and whether it is.
fn goals(bench: &Bench) -> String {
    let width = bench.goals.iter().map(|goal| goal.name.chars().count()).max().unwrap_or_default();
    let mut text = String::new();
    for goal in &bench.goals {
        let word = if goal.met { "met" } else { "NOT MET" };
        let (value, below) = (shown(goal.value, goal.unit), shown(goal.below, goal.unit));
        writeln!(text, "{:<width$} {value:>11}   goal: below {below}   {word}", goal.name).ok();
    }
    text
}

fn lost(bench: &Bench) -> String {
    bench.losses.iter().fold(String::new(), |mut text, loss| {
        let (value, landed) = (shown(loss.value, loss.unit), shown(loss.landed, loss.unit));
        writeln!(text, "worse than before: {} is {value}, and was {landed}", loss.name).ok();
        text
    })
}

fn shown(value: f64, unit: Unit) -> String {
    match unit {
        Unit::Milliseconds => format!("{value:.1} ms"),
        Unit::Ratio => format!("{value:.2} x"),
        Unit::Mebibytes => format!("{value:.1} MiB"),
    }
}

fn table(bench: &Bench) -> String {
    let mut text = format!("{:<26} {:>12}   against\n", "", "median");
    for measure in &bench.measures {
        let mut against = measure
            .against
            .iter()
            .flat_map(|against| {
                let by =
                    |ratio: f64, ms: f64, what: &str| format!("{ratio:>6.2} x {}{what} ({ms:.1} ms)", against.name);
                let cpu = against.cpu_ratio.zip(against.cpu_ms).map(|(ratio, ms)| by(ratio, ms, ", CPU time"));
                std::iter::once(by(against.ratio, against.median_ms, "")).chain(cpu)
            })
            .chain(measure.megabytes_per_second.map(|rate| format!("{rate:>6.0} MB/s")))
            .chain(
                measure
                    .megabytes_per_second
                    .zip(measure.cpu_ms)
                    .map(|(rate, cpu)| format!("{:>6.0} MB in a second of CPU time", rate * measure.median_ms / cpu)),
            )
            .chain(
                measure
                    .requests
                    .zip(measure.bytes_sent)
                    .map(|(requests, bytes)| format!("{requests:>6} requests, {bytes} bytes sent")),
            )
            .chain(measure.finished.map(|count| format!("{count:>6} finished")))
            .chain(measure.peak_memory_bytes.map(|bytes| format!("{:>6.1} MiB at most", mebibytes(bytes))))
            .chain(measure.memory_bytes.map(|bytes| format!("{:>6.1} MiB more than before", mebibytes(bytes))));
        let first = against.next().unwrap_or_default();
        // Writing to a String cannot fail.
        writeln!(text, "{:<26} {:>9.1} ms  {first}", measure.name, measure.median_ms).ok();
        for more in against {
            writeln!(text, "{:<26} {:>9}     {more}", "", "").ok();
        }
    }
    if let Some(bytes) = bench.peak_memory_bytes {
        writeln!(text, "{:<26} {:>9.1} MiB", "peak memory of a run", mebibytes(bytes)).ok();
    }
    text
}
