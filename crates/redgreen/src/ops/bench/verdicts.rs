//! What a GREEN verdict costs, controls included, beside one bare run of the same suite.

use std::fmt::Write;
use std::path::Path;
use std::time::Duration;

use anyhow::{Context, Result, ensure};

use super::suites::write;
use super::{LIMITS, Length, Measure, python};
use crate::config::Environment;
use crate::git::Git;
use crate::process::{Program, Stop, Whose, cpu_time};

/// Tests of the old suite, each of which takes its share of the time.
const TESTS: usize = 10;
const STUB: &str = "def to_roman(n):\n    raise NotImplementedError\n";
const TEST: &str = "from roman import to_roman\n\n\ndef test_four():\n    assert to_roman(4) == \"IV\"\n";
const CODE: &str = "def to_roman(n):\n    out = \"\"\n    for value, sign in [(5, \"V\"), (4, \"IV\"), (1, \"I\")]:\n        \
                    out, n = out + sign * (n // value), n % value\n    return out\n";

pub(super) fn measures(
    folder: &Path,
    length: Length,
    environment: &Environment,
    ours: &Program,
    stop: &Stop,
    tell: &mut dyn FnMut(&str),
) -> Result<Vec<Measure>> {
    let mut measures = Vec::new();
    for &(seconds, turns) in length.verdicts() {
        tell(&format!("a GREEN verdict on a suite of {seconds} s"));
        let root = folder.join(format!("verdict-{seconds}"));
        let ours = ours.clone().arg("-C").arg(&root).cwd(&root).env("REDGREEN_WORKTREES", folder.join("rooms"));
        prepare(&root, seconds, &ours, stop)?;
        let judge = ours.args(["judge", "green", "--json"]);
        let bare = python(environment).args(["-m", "pytest", "-q"]).cwd(&root);
        measures.extend(compare(&format!("a GREEN verdict, suite of {seconds} s"), &judge, &bare, turns, stop)?);
    }
    Ok(measures)
}

/// One verdict beside one bare run.
struct Turn {
    judged: Sample,
    bare: Sample,
    /// Milliseconds of ours, as the verdict says.
    own: f64,
}

#[derive(Clone, Copy)]
struct Sample {
    wall: f64,
    /// Absent where the system does not tell.
    work: Option<f64>,
}

/// Both take turns, and each verdict is held against the bare run next to it: a machine that is busy is so for both.
fn compare(name: &str, judge: &Program, bare: &Program, turns: usize, stop: &Stop) -> Result<Vec<Measure>> {
    let mut all = Vec::new();
    for _ in 0..turns {
        let (bare, _) = sample(bare, stop)?;
        let (judged, said) = sample(judge, stop)?;
        let said: serde_json::Value = serde_json::from_slice(&said).context("read a verdict")?;
        all.push(Turn { judged, bare, own: said["ownMs"].as_f64().unwrap_or_default() });
    }
    let of = |value: &dyn Fn(&Turn) -> Option<f64>| median(all.iter().filter_map(value).collect());
    let mut measures = Vec::new();
    let ratio = of(&|turn| Some(turn.judged.wall / turn.bare.wall));
    let wall = (of(&|turn| Some(turn.judged.wall)), of(&|turn| Some(turn.bare.wall)));
    measures.extend(paired(name.to_owned(), wall, ratio));
    let ratio = of(&|turn| Some(turn.judged.work? / turn.bare.work?));
    let work = (of(&|turn| turn.judged.work), of(&|turn| turn.bare.work));
    measures.extend(paired(format!("{name}: CPU"), work, ratio));
    measures.extend(of(&|turn| Some(turn.own)).map(|own| Measure::new(format!("{name}: our own time"), own)));
    Ok(measures)
}

fn paired(name: String, (own, bare): (Option<f64>, Option<f64>), ratio: Option<f64>) -> Option<Measure> {
    let mut measure = Measure::new(name, own?).against("one bare run", bare?);
    if let Some(against) = measure.against.first_mut() {
        against.ratio = ratio?;
    }
    Some(measure)
}

fn sample(program: &Program, stop: &Stop) -> Result<(Sample, Vec<u8>)> {
    let before = cpu_time(Whose::Children);
    let output = program.output(LIMITS, stop)?;
    ensure!(output.success(), "{}: {}", program.line(), output.stderr_text().trim());
    let work = cpu_time(Whose::Children).zip(before).map(|(after, before)| after.saturating_sub(before));
    let ms = |time: Duration| time.as_secs_f64() * 1_000.0;
    Ok((Sample { wall: ms(output.wall), work: work.map(ms) }, output.stdout))
}

fn median(mut values: Vec<f64>) -> Option<f64> {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied()
}

/// A repository with an old suite, an accepted RED and a GREEN on top.
fn prepare(root: &Path, seconds: usize, ours: &Program, stop: &Stop) -> Result<()> {
    let share = format!("{}.{:03}", seconds / TESTS, seconds * 1000 / TESTS % 1000);
    let old = (0..TESTS).fold("import time\n".to_owned(), |mut text, number| {
        writeln!(text, "\n\ndef test_{number}():\n    time.sleep({share})").ok();
        text
    });
    let files = [("pytest.ini", "[pytest]\n"), ("roman.py", STUB), ("tests/test_old.py", &old), ("conftest.py", "")];
    let git = Git::create_scratch(root, &files, "base")?;
    for (path, text, phase) in [("tests/test_roman.py", TEST, "red"), ("roman.py", CODE, "green")] {
        write(root, &[(path.to_owned(), text.to_owned())])?;
        for arguments in [&["add", "-A"][..], &["commit", "-q", "-m", phase]] {
            let output = git.typed(arguments).output(LIMITS, stop)?;
            ensure!(output.success(), "git {}: {}", arguments.join(" "), output.stderr_text());
        }
        if phase == "red" {
            let judged = ours.clone().args(["judge", "red"]).output(LIMITS, stop).context("judge the RED")?;
            ensure!(judged.success(), "the RED of the bench was not accepted: {}", judged.stdout_text());
        }
    }
    Ok(())
}
