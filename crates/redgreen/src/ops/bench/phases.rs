//! redgreen's own time per phase: a run of three cycles, without the agent and the tests.

use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use redgreen_core::event::{Commits, Event, Outcome};

use super::super::brief::BriefSource;
use super::super::{RunEnd, decide, run};
use super::{Measure, median_ms, timed};
use crate::agent::choice::Choice;
use crate::config::Environment;
use crate::engine::{Progress, Project};
use crate::git::Git;
use crate::journal::{Body, Line};
use crate::process::{Program, Stop};

/// The project the run starts from.
const FILES: [(&str, &str); 4] = [
    (
        "Cargo.toml",
        "[package]\nname = \"kata\"\nversion = \"0.1.0\"\nedition = \"2021\"\n\n[workspace]\n",
    ),
    (".gitignore", "/target\n/Cargo.lock\n"),
    ("src/lib.rs", "//! A calculator.\n"),
    ("tests/stands.rs", "#[test]\nfn stands() {}\n"),
];
const SCRIPT: &str = include_str!("../../../bench/kata.toml");
/// The steps to show. The others of an accepted phase take almost no time.
const STEPS: [&str; 4] = ["ask", "judge", "commit", "note"];

/// The run, the time of each journal line, and the time of other programs in between.
pub(super) struct MeasuredRun {
    pub(super) project: Project,
    pub(super) stopped: RunEnd,
    moments: Vec<TimedLine>,
    tests: Vec<Duration>,
    status: Vec<Duration>,
}

/// A line of the journal. Time between its two timestamps does not count.
struct TimedLine {
    at: Instant,
    left: Instant,
    line: Line,
}

/// One step of a phase, without the time of others.
struct Step {
    name: String,
    own: Duration,
}

/// Develops the kata and approves it. The compared programs run after each phase.
pub(super) fn develop(
    folder: &Path,
    environment: &Environment,
    stop: &Stop,
) -> Result<MeasuredRun> {
    let script = folder.join("kata.toml");
    fs::write(&script, SCRIPT).with_context(|| format!("write {}", script.display()))?;
    let root = folder.join("kata");
    let git = Git::create_scratch(&root, &FILES, "chore: an empty kata")?;
    let environment = Environment {
        worktrees: Some(folder.join("worktrees")),
        kill_at: None,
        script: None,
        ..environment.clone()
    };
    let project = super::super::open(&root, environment, stop)?;
    let agents = Choice { script: Some(script), ..Choice::default() };
    let request = run::Request {
        wish: BriefSource::Request("a calculator".to_owned()),
        agents,
        ..run::Request::default()
    };
    let bare = Program::new("cargo").args(["test", "--workspace", "--no-fail-fast"]).cwd(&root);
    let bare = bare.env("CARGO_TARGET_DIR", folder.join("bare"));
    let status = git.typed(&["status"]);
    // The first run builds.
    timed(&bare, stop)?;
    let (mut moments, mut taken) = (Vec::new(), Vec::new());
    let stopped = run::run(&project, &request, &mut |sight| {
        let Progress::Line(line, _) = sight else { return };
        let at = Instant::now();
        if matches!(&line.body, Body::Event(event) if matches!(event.as_ref(), Event::Noted { .. }))
        {
            taken.push(timed(&bare, stop).and_then(|tests| Ok((tests, timed(&status, stop)?))));
        }
        moments.push(TimedLine { at, left: Instant::now(), line: line.clone() });
    })?;
    ensure!(
        stopped.outcome == Outcome::Waiting,
        "the run of the bench ended as {:?}",
        stopped.outcome
    );
    let stopped =
        decide::approve(&project, Some(&stopped.folder.id), Commits::Merged, &mut |_| {})?;
    let (tests, status) = taken.into_iter().collect::<Result<Vec<_>>>()?.into_iter().unzip();
    Ok(MeasuredRun { project, stopped, moments, tests, status })
}

impl MeasuredRun {
    pub(super) fn measures(&self) -> Result<Vec<Measure>> {
        let (tests, status) = (median_ms(self.tests.clone()), median_ms(self.status.clone()));
        let compared = |name: &str, own: f64| {
            Measure::new(name, own)
                .against("one bare cargo test", tests)
                .against("git status", status)
        };
        let (phases, steps) = self.own_times()?;
        let mut measures = vec![compared("a phase, own time", median_ms(phases))];
        for name in STEPS {
            let own = steps.iter().filter(|step| step.name == name).map(|step| step.own).collect();
            measures.push(compared(&format!("  of which {name}"), median_ms(own)));
        }
        Ok(measures)
    }

    /// Our own time in each phase, from the agent's turn to the note, and in each step.
    fn own_times(&self) -> Result<(Vec<Duration>, Vec<Step>)> {
        let (mut phases, mut steps) = (Vec::new(), Vec::new());
        let mut step_began: Option<(Instant, &str)> = None;
        let mut phase_began: Option<Instant> = None;
        let mut others = Duration::ZERO;
        for TimedLine { at, left, line } in &self.moments {
            match &line.body {
                Body::Intent { intent } => {
                    step_began = Some((*left, intent));
                    if intent == "ask" && phase_began.is_none() {
                        phase_began = Some(*at);
                        others = Duration::ZERO;
                    }
                }
                Body::Event(event) => {
                    let outside = self.outside(event)?;
                    others += outside;
                    if let Some((since, name)) = step_began.take() {
                        let own = at.duration_since(since).saturating_sub(outside);
                        steps.push(Step { name: name.to_owned(), own });
                    }
                    if let (Event::Noted { .. }, Some(since)) = (event.as_ref(), phase_began) {
                        phases.push(at.duration_since(since).saturating_sub(others));
                        // Everything up to the next note belongs to the next phase.
                        phase_began = Some(*left);
                        others = Duration::ZERO;
                    }
                }
            }
        }
        Ok((phases, steps))
    }

    /// The time of the agent and the tests before an event.
    fn outside(&self, event: &Event) -> Result<Duration> {
        match event {
            Event::Turned { took_ms, .. } | Event::Linted { took_ms, .. } => {
                Ok(Duration::from_millis(*took_ms))
            }
            Event::Judged { report: Some(kept), .. } | Event::Measured { report: kept, .. } => {
                Ok(Duration::from_millis(kept.tests_ms))
            }
            _ => Ok(Duration::ZERO),
        }
    }
}
