//! The crash matrix: a run that is killed before or after any effect ends like an undisturbed run.

use std::collections::VecDeque;
use std::fs;
use std::sync::Mutex;
use std::thread;
use std::time::Instant;

use super::{ProgramOutput, Story};

const SIGKILL: i32 = 9;
/// Tests one kill point out of this many, unless `is_all()`.
const STRIDE: usize = 3;
/// A run that needs more starts than this has a bug.
const STARTS_MAX: usize = 150;

/// A run as its user plays it: the commands up to the point where it waits for a human, and their
/// exit codes.
struct Play {
    script: &'static str,
    commands: &'static [(&'static str, i32)],
    moments: &'static [&'static str],
}

const CALCULATOR: Play = Play {
    script: super::CALCULATOR,
    commands: &[("run --script @kata.toml \"a calculator\"", 3)],
    moments: &["before", "after"],
};

const TROUBLED: Play = Play {
    script: include_str!("troubled.toml"),
    commands: &[("run --script @kata.toml --max-retries 1 \"a calculator\"", 1), ("resume", 3)],
    moments: &["after"],
};

/// A kill point: an effect of one of the commands. The approval is the last command.
#[derive(Clone, Copy, Debug)]
struct Point {
    command: usize,
    moment: &'static str,
    effect: usize,
}

/// The undisturbed run.
struct Expected {
    work: Vec<String>,
    merged: Vec<String>,
    salvages: Vec<String>,
    /// The effects of each command, by name.
    effects: Vec<Vec<String>>,
}

#[test]
fn killed_at_any_effect_a_run_comes_to_the_same() {
    matrix(&CALCULATOR);
}

#[test]
fn killed_at_any_effect_a_run_in_trouble_comes_to_the_same() {
    matrix(&TROUBLED);
}

#[test]
fn killed_at_every_effect_one_after_the_other_a_run_comes_to_the_same() {
    let expected = undisturbed(&CALCULATOR);
    let story = stage(&CALCULATOR);
    // Each start prepares the worktree, does one more effect, and is killed before the next.
    let (run, _) = CALCULATOR.commands[0];
    let mut said = kill_at(&story, run, "before:2");
    let mut starts = 1;
    while said.signal == Some(SIGKILL) {
        starts += 1;
        assert!(starts < STARTS_MAX, "no end in sight:\n{}", said.stderr);
        said = kill_at(&story, "resume", "before:3");
    }
    said.exits(3);
    assert_eq!(story.work(), expected.work);
    assert_eq!(kill_at(&story, "approve", "before:1").signal, Some(SIGKILL));
    assert_eq!(kill_at(&story, "approve", "after:1").signal, Some(SIGKILL));
    assert_eq!(kill_at(&story, "approve", "before:2").signal, Some(SIGKILL));
    story.redgreen("approve").exits(0).says("merged");
    assert_eq!(story.merged(), expected.merged);
}

fn matrix(play: &Play) {
    let started = Instant::now();
    let expected = undisturbed(play);
    let mut points = points(play, &expected);
    let all = points.len();
    if !is_all() {
        points = points.into_iter().step_by(STRIDE).collect();
    }
    let count = points.len();
    let queue = Mutex::new(points.into_iter().collect::<VecDeque<_>>());
    let workers = thread::available_parallelism().map_or(2, usize::from);
    thread::scope(|scope| {
        for _ in 0..workers {
            scope.spawn(|| {
                loop {
                    let next = queue.lock().unwrap().pop_front();
                    let Some(point) = next else { break };
                    check(play, point, &expected);
                }
            });
        }
    });
    #[expect(clippy::print_stderr, reason = "how much was covered is part of the answer")]
    {
        eprintln!("{count} of {all} kill points in {} s", started.elapsed().as_secs());
    }
}

/// Every effect of every command, and one past the last, where the command ends by itself.
fn points(play: &Play, expected: &Expected) -> Vec<Point> {
    let mut points = Vec::new();
    for (command, effects) in expected.effects.iter().enumerate() {
        let approving = command == play.commands.len();
        for moment in if approving { &["before", "after"][..] } else { play.moments } {
            points.extend((1..=effects.len()).map(|effect| Point { command, moment, effect }));
        }
        points.push(Point { command, moment: "before", effect: effects.len() + 1 });
    }
    points
}

fn undisturbed(play: &Play) -> Expected {
    let story = stage(play);
    let mut effects = Vec::new();
    let mut known = 0;
    let mut count = |story: &Story| {
        let all = intents(story);
        effects.push(all[known..].to_vec());
        known = all.len();
    };
    for (line, code) in play.commands {
        story.redgreen(line).exits(*code);
        count(&story);
        story.assert_no_worktree();
    }
    let work = story.work();
    let salvages = story.salvages();
    story.redgreen("approve").exits(0);
    count(&story);
    Expected { work, merged: story.merged(), salvages, effects }
}

fn check(play: &Play, point: Point, expected: &Expected) {
    let story = stage(play);
    let before = story.belongings();
    for (line, code) in &play.commands[..point.command] {
        story.redgreen(line).exits(*code);
    }
    let approving = point.command == play.commands.len();
    let (line, code) = play.commands.get(point.command).copied().unwrap_or(("approve", 0));
    let said = kill_at(&story, line, &format!("{}:{}", point.moment, point.effect));
    let effect = expected.effects[point.command].get(point.effect - 1).map(String::as_str);
    match effect {
        Some(_) => assert_eq!(said.signal, Some(SIGKILL), "{point:?}\n{}", said.stderr),
        None => drop(said.exits(code)),
    }
    if !approving {
        assert_eq!(
            story.belongings(),
            before,
            "{point:?} {effect:?}: the user's checkout was touched"
        );
        wait_for_human(&story, point);
        assert_eq!(story.work(), expected.work, "{point:?} {effect:?}");
        assert_eq!(
            story.belongings(),
            before,
            "{point:?} {effect:?}: the user's checkout was touched"
        );
        story.assert_no_worktree();
    }
    if effect.is_some() || !approving {
        story.redgreen("approve").exits(0).says("merged");
    }
    assert_eq!(story.merged(), expected.merged, "{point:?} {effect:?}");
    let mut salvages = story.salvages();
    if (effect, point.moment) == (Some("ask"), "after") {
        salvages.retain(|name| !name.ends_with("-interrupted"));
        salvages.truncate(expected.salvages.len());
        assert_eq!(salvages.len(), expected.salvages.len(), "{point:?} {effect:?}");
    } else {
        assert_eq!(salvages, expected.salvages, "{point:?} {effect:?}");
    }
}

/// Resumes until everything is done. A run in trouble stops once on the way.
fn wait_for_human(story: &Story, point: Point) {
    let mut said = story.redgreen("resume");
    if said.code == Some(1) {
        said = story.redgreen("resume");
    }
    assert_eq!(said.code, Some(3), "{point:?}\n{}\n{}", said.stdout, said.stderr);
}

fn stage(play: &Play) -> Story {
    let story = Story::new().quick();
    story.script("kata.toml", play.script);
    story
}

pub(super) fn kill_at(story: &Story, line: &str, point: &str) -> ProgramOutput {
    let mut command = story.prepare(line);
    command.env("REDGREEN_KILL_AT", point);
    ProgramOutput::of(line, &command.output().unwrap())
}

/// The names of all effects in the only run's journal.
fn intents(story: &Story) -> Vec<String> {
    let runs = fs::read_dir(story.root.join(".git/redgreen/runs")).unwrap();
    let run = runs.map(|entry| entry.unwrap().path()).next().unwrap();
    let journal = fs::read_to_string(run.join("journal.jsonl")).unwrap();
    let lines =
        journal.lines().map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap());
    lines.filter_map(|line| Some(line.get("intent")?.as_str()?.to_owned())).collect()
}

/// Whether `scripts/test --all` runs the tests.
pub(crate) fn is_all() -> bool {
    #[expect(clippy::disallowed_methods, reason = "a variable selects the long form")]
    std::env::var_os("REDGREEN_TEST_ALL").is_some()
}
