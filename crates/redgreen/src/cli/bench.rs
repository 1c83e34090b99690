//! `redgreen bench`.

use std::fmt::Write;
use std::path::{Path, PathBuf};

use anyhow::Result;
use clap::ValueEnum;
use redgreen_core::text::shell_word;

use super::CommandContext;
use crate::failure::{Code, Failure};
use crate::foreign;
use crate::ops::bench::goals::{StoredFigures, Unit, losses, mebibytes};
use crate::ops::bench::{self, Bench, Length, Part, models};

/// Measure the time and memory that redgreen itself needs on this machine
#[derive(clap::Args, Debug)]
#[command(after_help = "Works in a temporary folder. Needs git and cargo; no key, no network.\n\n\
                        Examples:\n  redgreen bench\n  redgreen bench suites\n  redgreen bench --quick --json\n  redgreen bench --compare docs/figures.json\n  \
                        redgreen bench models --server http://127.0.0.1:11434/v1 --model qwen2.5-coder:7b")]
pub(super) struct Args {
    /// What to measure [default: everything]
    #[arg(value_name = "PART")]
    parts: Vec<Choice>,
    /// Use fewer rounds and smaller repositories
    #[arg(long)]
    quick: bool,
    /// For `models`: the address of a model server, such as http://127.0.0.1:11434/v1
    #[arg(long, value_name = "URL")]
    server: Option<String>,
    /// For `models`: the model [default: the first that the server lists]
    #[arg(long, value_name = "NAME", requires = "server")]
    model: Option<String>,
    /// For `models`: the language of the tasks
    #[arg(long, value_name = "LANGUAGE", requires = "server", default_value = "python")]
    lang: models::Language,
    /// For `models`: only this kata; can be repeated
    #[arg(long, value_name = "NAME", requires = "server")]
    kata: Vec<String>,
    /// For `models`: keep the exchanges with the model in this folder, one cassette for each kata
    #[arg(long, value_name = "FOLDER", requires = "server")]
    record: Option<PathBuf>,
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
    /// A turn of the built-in agent with a model that answers at once, and of other installed
    /// agents
    Turns,
    /// Many runs at once in one repository
    AtOnce,
    /// The check before an edit of a coding agent, in a repository of 50,000 files
    Hook,
    /// The queue of a fleet, in a folder and (if installed) on a nats-server
    Fleet,
    /// Small tasks with a model of your own, from the request to a finished run; needs --server
    Models,
}

impl Choice {
    /// `None` for the part that measures a model instead of redgreen.
    fn part(self) -> Option<Part> {
        match self {
            Choice::Run => Some(Part::Run),
            Choice::Agents => Some(Part::Agents),
            Choice::Reports => Some(Part::Reports),
            Choice::Suites => Some(Part::Suites),
            Choice::Verdicts => Some(Part::Verdicts),
            Choice::Turns => Some(Part::Turns),
            Choice::AtOnce => Some(Part::AtOnce),
            Choice::Hook => Some(Part::Hook),
            Choice::Fleet => Some(Part::Fleet),
            Choice::Models => None,
        }
    }
}

impl Args {
    pub(super) fn perform(self, desk: &CommandContext) -> Result<Code> {
        if self.server.is_some() || self.parts.iter().any(|part| part.part().is_none()) {
            return self.models(desk);
        }
        let length = if self.quick { Length::Quick } else { Length::Full };
        let mut tell = |what: &str| desk.printer.talk(&format!("measuring {what}\n"));
        let all = Choice::value_variants();
        let chosen = if self.parts.is_empty() { all } else { &self.parts };
        let parts: Vec<Part> = chosen.iter().filter_map(|choice| choice.part()).collect();
        let landed = self.compare.as_deref().map(landed).transpose()?;
        let mut bench = bench::bench(length, &parts, &desk.environment, &desk.stop, &mut tell)?;
        bench.losses =
            landed.as_ref().map(|landed| losses(landed, &bench.goals)).unwrap_or_default();
        let text = format!("{}\n{}{}", table(&bench), goals(&bench), lost(&bench));
        desk.printer.answer(&text, &bench);
        Ok(if bench.losses.is_empty() { Code::Done } else { Code::No })
    }
}

impl Args {
    fn models(self, desk: &CommandContext) -> Result<Code> {
        let usual = "redgreen bench models --server http://127.0.0.1:11434/v1";
        let [Choice::Models] = self.parts.as_slice() else {
            return Err(Failure::usage("--server requires `bench models`, which runs separately")
                .next(usual)
                .into());
        };
        let Some(server) = self.server else {
            return Err(Failure::usage("`bench models` needs the address of a model server")
                .next(usual)
                .into());
        };
        let wish = models::ModelRequest {
            server,
            language: self.lang,
            model: self.model,
            katas: self.kata,
            record: self.record,
        };
        let mut tell = |what: &str| desk.printer.talk(&format!("{what}\n"));
        let played = models::play(&wish, &desk.environment, &desk.stop, &mut tell)?;
        desk.printer.answer(&models_table(&played), &played);
        Ok(Code::Done)
    }
}

fn models_table(played: &models::Models) -> String {
    let mut text = format!("{}\n\n", played.model);
    let width =
        played.katas.iter().map(|kata| kata.name.len()).max().unwrap_or_default().max("kata".len());
    writeln!(text, "{:<width$}  finished  right  cycles  turns  requests  tokens  seconds", "kata")
        .ok();
    let word = |yes: bool| if yes { "yes" } else { "no" };
    for kata in &played.katas {
        let models::KataResult {
            name,
            finished,
            right,
            cycles,
            turns,
            requests,
            tokens,
            seconds,
            ..
        } = kata;
        let right = right.map_or("-", word);
        writeln!(
            text,
            "{name:<width$}  {:<8}  {right:<5}  {cycles:>6}  {turns:>5}  {requests:>8}  {tokens:>6}  {seconds:>7.0}",
            word(*finished)
        )
        .ok();
    }
    let finished = played.katas.iter().filter(|kata| kata.finished).count();
    let right = played.katas.iter().filter(|kata| kata.right == Some(true)).count();
    writeln!(
        text,
        "\n{finished} of {} finished, {right} correct by checks that the model did not see",
        played.katas.len()
    )
    .ok();
    text
}

/// Figures are a few kilobytes.
const FIGURES_BYTES_MAX: u64 = 1 << 20;

/// Reads the earlier figures first, because a bench takes minutes.
fn landed(path: &Path) -> Result<StoredFigures> {
    let unusable = |error: String| {
        Failure::usage(format!("{} contains no figures to compare with", path.display()))
            .evidence(error)
            .next(format!("redgreen bench --json > {}", shell_word(&path.to_string_lossy())))
    };
    let text = foreign::read_named(path, FIGURES_BYTES_MAX)
        .map_err(|error| unusable(error.to_string()))?;
    Ok(serde_json::from_str(&text).map_err(|error| unusable(error.to_string()))?)
}

/// Each figure with a goal, and whether it is met.
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
        writeln!(text, "worse: {} is {value}, was {landed}", loss.name).ok();
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
                let by = |ratio: f64, ms: f64, what: &str| {
                    format!("{ratio:>6.2} x {}{what} ({ms:.1} ms)", against.name)
                };
                let cpu = against
                    .cpu_ratio
                    .zip(against.cpu_ms)
                    .map(|(ratio, ms)| by(ratio, ms, ", CPU time"));
                std::iter::once(by(against.ratio, against.median_ms, "")).chain(cpu)
            })
            .chain(measure.megabytes_per_second.map(|rate| format!("{rate:>6.0} MB/s")))
            .chain(measure.megabytes_per_second.zip(measure.cpu_ms).map(|(rate, cpu)| {
                format!("{:>6.0} MB in a second of CPU time", rate * measure.median_ms / cpu)
            }))
            .chain(
                measure
                    .requests
                    .zip(measure.bytes_sent)
                    .map(|(requests, bytes)| format!("{requests:>6} requests, {bytes} bytes sent")),
            )
            .chain(measure.finished.map(|count| format!("{count:>6} finished")))
            .chain(
                measure
                    .peak_memory_bytes
                    .map(|bytes| format!("{:>6.1} MiB at most", mebibytes(bytes))),
            )
            .chain(
                measure
                    .memory_bytes
                    .map(|bytes| format!("{:>6.1} MiB more than before", mebibytes(bytes))),
            );
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
