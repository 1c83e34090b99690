//! redgreen's own time per phase: a run of three cycles, without what the agent and the tests took.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use redgreen_core::event::{Event, Outcome};
use redgreen_core::report::Report;

use super::super::{Stopped, decide, run};
use super::{Measure, in_turns, median_ms};
use crate::config::Environment;
use crate::engine::Project;
use crate::git::Git;
use crate::journal::{Body, Line};
use crate::process::{Program, Stop};

/// The project the run starts from.
const FILES: [(&str, &str); 4] = [
    ("Cargo.toml", "[package]\nname = \"kata\"\nversion = \"0.1.0\"\nedition = \"2021\"\n\n[workspace]\n"),
    (".gitignore", "/target\n/Cargo.lock\n"),
    ("src/lib.rs", "//! A calculator.\n"),
    ("tests/stands.rs", "#[test]\nfn stands() {}\n"),
];
const SCRIPT: &str = include_str!("../../../bench/kata.toml");
/// The steps whose share is shown; the others of an accepted phase take next to nothing.
const STEPS: [&str; 4] = ["ask", "judge", "commit", "note"];

/// The run, and when each line of its journal was written.
pub(super) struct Developed {
    pub(super) project: Project,
    pub(super) stopped: Stopped,
    moments: Vec<(Instant, Line)>,
    target: PathBuf,
}

/// One step of a phase, without what others took in it.
struct Step {
    name: String,
    own: Duration,
}

/// Develops the kata and approves it.
pub(super) fn develop(folder: &Path, environment: &Environment, stop: &Stop) -> Result<Developed> {
    let script = folder.join("kata.toml");
    fs::write(&script, SCRIPT).with_context(|| format!("write {}", script.display()))?;
    let root = folder.join("kata");
    Git::create_scratch(&root, &FILES, "chore: an empty kata")?;
    let environment =
        Environment { worktrees: Some(folder.join("worktrees")), kill_at: None, script: None, ..environment.clone() };
    let project = super::super::open(&root, environment, stop)?;
    let request = run::Request { request: "a calculator".to_owned(), script: Some(script), ..run::Request::default() };
    let mut moments = Vec::new();
    let stopped = run::run(&project, &request, &mut |line, _| moments.push((Instant::now(), line.clone())))?;
    ensure!(stopped.outcome == Outcome::Waiting, "the run of the bench ended as {:?}", stopped.outcome);
    let stopped = decide::approve(&project, Some(&stopped.folder.id), &mut |_, _| {})?;
    let target = project.cargo_target();
    Ok(Developed { project, stopped, moments, target })
}

impl Developed {
    pub(super) fn measures(&self, turns: usize, stop: &Stop) -> Result<Vec<Measure>> {
        let bare = Program::new("cargo")
            .args(["test", "--workspace", "--no-fail-fast"])
            .cwd(&self.project.git.root)
            .env("CARGO_TARGET_DIR", &self.target);
        let medians = in_turns(&[bare, self.project.git.typed(&["status"])], turns.div_ceil(3), stop)?;
        let [tests, status] = medians.as_slice() else { return Ok(Vec::new()) };
        let compared = |name: &str, own: f64| {
            Measure::new(name, own).against("one bare cargo test", *tests).against("git status", *status)
        };
        let (phases, steps) = self.own_times()?;
        let mut measures = vec![compared("a phase, own time", median_ms(phases))];
        for name in STEPS {
            let own = steps.iter().filter(|step| step.name == name).map(|step| step.own).collect();
            measures.push(compared(&format!("  of which {name}"), median_ms(own)));
        }
        Ok(measures)
    }

    /// Our own time of each phase, from the agent's turn to the note; and of each step.
    fn own_times(&self) -> Result<(Vec<Duration>, Vec<Step>)> {
        let (mut phases, mut steps) = (Vec::new(), Vec::new());
        let mut began: Option<(Instant, String)> = None;
        let mut phase_began = None;
        let mut others = Duration::ZERO;
        for (at, line) in &self.moments {
            match &line.body {
                Body::Intent { intent } => {
                    began = Some((*at, intent.clone()));
                    if intent == "ask" {
                        phase_began.get_or_insert(*at);
                    }
                }
                Body::Event(event) => {
                    let outside = self.outside(event)?;
                    others += outside;
                    if let Some((since, name)) = began.take() {
                        steps.push(Step { name, own: at.duration_since(since).saturating_sub(outside) });
                    }
                    if let (Event::Noted { .. }, Some(since)) = (event.as_ref(), phase_began) {
                        phases.push(at.duration_since(since).saturating_sub(others));
                        // What follows, up to the next note, is the next phase's.
                        phase_began = Some(*at);
                    }
                    if phase_began.is_none() || matches!(event.as_ref(), Event::Noted { .. }) {
                        others = Duration::ZERO;
                    }
                }
            }
        }
        Ok((phases, steps))
    }

    /// What the agent and the tests took of the time before an event.
    fn outside(&self, event: &Event) -> Result<Duration> {
        match event {
            Event::Turned { took_ms, .. } | Event::Linted { took_ms, .. } => Ok(Duration::from_millis(*took_ms)),
            Event::Judged { report: Some(kept), .. } | Event::Measured { report: kept, .. } => {
                let path = self.stopped.folder.path.join(&kept.file);
                let text = fs::read(&path).with_context(|| format!("read {}", path.display()))?;
                let report: Report = serde_json::from_slice(&text).context("read a report")?;
                Ok(Duration::from_millis(report.wall_ms))
            }
            _ => Ok(Duration::ZERO),
        }
    }
}
