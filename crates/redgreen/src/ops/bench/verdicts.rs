//! The cost of a GREEN verdict with all experiments, and of the proof of a range, compared with one
//! plain run of the same suite.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result, ensure};

use super::goals::BARE;
use super::katas::{KATAS, Kata};
use super::suites::write;
use super::{LIMITS, Length, Measure};
use crate::config::Environment;
use crate::git::Git;
use crate::process::{Measured, Program, Stop, cpu_time};

/// Whether earlier results and builds exist.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Start {
    /// RED was judged here, and its results and builds are stored.
    Warm,
    Cold,
}

/// The measured command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verb {
    Judge,
    Verify,
}

impl Verb {
    fn name(self) -> &'static str {
        match self {
            Self::Judge => "a GREEN verdict",
            Self::Verify => "a proof of a range",
        }
    }

    fn arguments(self) -> &'static [&'static str] {
        match self {
            Self::Judge => &["judge", "green", "--json"],
            Self::Verify => &["verify", "HEAD~2..HEAD", "--commits", "never", "--json"],
        }
    }

    /// Our own milliseconds, from the answer.
    fn own(self, said: &serde_json::Value) -> f64 {
        let own = match self {
            Self::Judge => &said["ownMs"],
            Self::Verify => &said["evidence"]["ownMs"],
        };
        own.as_f64().unwrap_or_default()
    }
}

/// A measurement: the framework, the seconds of its old suite, the repetitions, and the start.
#[derive(Clone, Copy, Debug)]
pub(super) struct Plan {
    pub(super) verb: Verb,
    pub(super) framework: Option<&'static str>,
    pub(super) seconds: u32,
    pub(super) turns: usize,
    pub(super) start: Start,
}

pub(super) fn measures(
    folder: &Path,
    length: Length,
    environment: &Environment,
    ours: &Program,
    stop: &Stop,
    tell: &mut dyn FnMut(&str),
) -> Result<Vec<Measure>> {
    let mut measures = Vec::new();
    for plan in &length.verdicts() {
        for kata in KATAS.iter().filter(|kata| plan.framework.is_none_or(|name| name == kata.name))
        {
            let cold = if plan.start == Start::Cold { ", cold" } else { "" };
            let name = format!("{}, {}, {} s{cold}", plan.verb.name(), kata.name, plan.seconds);
            tell(&name);
            let root = folder.join(name.replace(", ", "-").replace(' ', "-"));
            match trial(kata, &root, plan, environment, ours, stop)? {
                Ok(trial) => measures.extend(trial.compare(&name, plan, stop)?),
                Err(why) => tell(&format!("skipped: {why}")),
            }
        }
    }
    Ok(measures)
}

/// A project with an accepted RED and a GREEN, and the two compared programs.
struct Trial<'a> {
    kata: &'a Kata,
    root: PathBuf,
    rooms: PathBuf,
    judge: Program,
    bare: Program,
}

/// One verdict, next to one plain run.
struct Turn {
    judged: Sample,
    bare: Sample,
    /// Our own milliseconds, from the verdict.
    own: f64,
}

#[derive(Clone, Copy)]
struct Sample {
    wall: f64,
    /// Absent if the system does not report it.
    work: Option<f64>,
}

impl Trial<'_> {
    /// Both take turns, and each verdict is compared with the plain run next to it: a busy machine
    /// affects both.
    fn compare(&self, name: &str, plan: &Plan, stop: &Stop) -> Result<Vec<Measure>> {
        let mut all = Vec::new();
        // The first plain run fills caches and does not count.
        sample(&self.bare, stop)?;
        for _ in 0..plan.turns {
            if plan.start == Start::Cold {
                fs::remove_dir_all(&self.rooms).ok();
            }
            // As after every edit: changed code is built.
            let (path, text) = self.kata.code;
            write(&self.root, &[(path.to_owned(), text.to_owned())])?;
            let (bare, _) = sample(&self.bare, stop)?;
            let (judged, said) = sample(&self.judge, stop)?;
            let said: serde_json::Value =
                serde_json::from_slice(&said).context("read a verdict")?;
            all.push(Turn { judged, bare, own: plan.verb.own(&said) });
        }
        Ok(compared(name, &all))
    }
}

fn compared(name: &str, all: &[Turn]) -> Vec<Measure> {
    let of = |value: &dyn Fn(&Turn) -> Option<f64>| median(all.iter().filter_map(value).collect());
    let mut measures = Vec::new();
    let ratio = of(&|turn| Some(turn.judged.wall / turn.bare.wall));
    let wall = (of(&|turn| Some(turn.judged.wall)), of(&|turn| Some(turn.bare.wall)));
    measures.extend(paired(name.to_owned(), wall, ratio));
    let ratio = of(&|turn| Some(turn.judged.work? / turn.bare.work?));
    let work = (of(&|turn| turn.judged.work), of(&|turn| turn.bare.work));
    measures.extend(paired(format!("{name}: CPU"), work, ratio));
    measures.extend(
        of(&|turn| Some(turn.own)).map(|own| Measure::new(format!("{name}: our own time"), own)),
    );
    measures
}

fn paired(
    name: String,
    (own, bare): (Option<f64>, Option<f64>),
    ratio: Option<f64>,
) -> Option<Measure> {
    let mut measure = Measure::new(name, own?).against(BARE, bare?);
    if let Some(against) = measure.against.first_mut() {
        against.ratio = ratio?;
    }
    Some(measure)
}

fn sample(program: &Program, stop: &Stop) -> Result<(Sample, Vec<u8>)> {
    let before = cpu_time(Measured::Children);
    let output = program.output(LIMITS, stop)?;
    ensure!(output.success(), "{}: {}", program.line(), output.stderr_text().trim());
    let work = cpu_time(Measured::Children)
        .zip(before)
        .map(|(after, before)| after.saturating_sub(before));
    let ms = |time: Duration| time.as_secs_f64() * 1_000.0;
    Ok((Sample { wall: ms(output.wall), work: work.map(ms) }, output.stdout))
}

fn median(mut values: Vec<f64>) -> Option<f64> {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied()
}

/// A repository with an old suite, an accepted RED and a GREEN, or why there is none.
fn trial<'a>(
    kata: &'a Kata,
    root: &Path,
    plan: &Plan,
    environment: &Environment,
    ours: &Program,
    stop: &Stop,
) -> Result<Result<Trial<'a>, String>> {
    let old = (kata.old.1)(plan.seconds * 1000);
    let files: Vec<(&str, &str)> =
        kata.files.iter().copied().chain([(kata.old.0, old.as_str())]).collect();
    let git = Git::create_scratch(root, &files, "base")?;
    if let Some(packages) = (kata.packages)() {
        symlink(&packages, root.join("node_modules")).context("link to the packages")?;
    }
    let Some(bare) = (kata.bare)(environment, root).map(|bare| bare.cwd(root)) else {
        return Ok(Err(format!("{} is not installed", kata.name)));
    };
    let rooms = root.with_extension("rooms");
    let ours = ours.clone().arg("-C").arg(root).cwd(root).env("REDGREEN_WORKTREES", &rooms);
    for ((path, text), phase) in [(kata.test, "red"), (kata.code, "green")] {
        write(root, &[(path.to_owned(), text.to_owned())])?;
        for arguments in [&["add", "-A"][..], &["commit", "-q", "-m", phase]] {
            let output = git.typed(arguments).output(LIMITS, stop)?;
            ensure!(output.success(), "git {}: {}", arguments.join(" "), output.stderr_text());
        }
        if phase == "red" {
            let judged = ours
                .clone()
                .args(["judge", "red"])
                .output(LIMITS, stop)
                .context("judge the RED")?;
            if !judged.success() {
                let (said, complaint) = (judged.stdout_text(), judged.stderr_text());
                return Ok(Err(format!(
                    "the RED of the bench was not accepted: {}{}",
                    said.trim(),
                    complaint.trim()
                )));
            }
        }
    }
    let judge = ours.args(plan.verb.arguments());
    Ok(Ok(Trial { kata, root: root.to_owned(), rooms, judge, bare }))
}
