//! Finding out: the suite and the linters are run, and the mind rules on what they showed.

use std::fs;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use redgreen_core::change::{self, Change, ChangedPath, Class, Kind};
use redgreen_core::event::{Event, Kept, Planning};
use redgreen_core::framework::invoke::Selection;
use redgreen_core::judge::{self, Evidence};
use redgreen_core::phase::Phase;
use redgreen_core::report::{Exit, Outcome, Report};
use redgreen_core::syntax::SOURCE_BYTES_MAX;
use redgreen_core::test_list;
use redgreen_core::verdict::{Decision, Verdict};

use super::turning::{last_lines, write};
use super::{Engine, elapsed_ms};
use crate::failure::Failure;
use crate::git::{Status, Worktree};
use crate::process::{Limits, Program};
use crate::runner::{self, Settings, Suite};

const LINT_OUTPUT_BYTES_MAX: usize = 64 << 10;

impl Engine<'_> {
    /// The suite's colour and the linters' before anything was changed: what fails here is not blamed on the run.
    pub(super) fn measure(&mut self) -> Result<Event> {
        let started = Instant::now();
        let timeout = Duration::from_millis(self.state.run.policy.red_timeout_ms);
        let report = self.run_suite(timeout)?;
        let usable = match report.outcome {
            Outcome::Passed | Outcome::Failed | Outcome::Errored | Outcome::Skipped | Outcome::NoTests => true,
            // At RED of an adopted run the new test may not compile yet.
            Outcome::DidNotCompile => !report.tests.is_empty() || self.state.progress.handoff.is_some(),
            Outcome::Crashed | Outcome::TimedOut | Outcome::UsageError => false,
        };
        let lint =
            if usable { self.unhappy_linters()?.into_iter().map(|(line, _)| line).collect() } else { Vec::new() };
        self.sweep(self.state.expected_tree())?;
        let kept = self.keep_report(&report, "baseline")?;
        Ok(Event::Measured { report: kept, usable, lint, took_ms: elapsed_ms(started) })
    }

    pub(super) fn judge(&mut self, phase: Phase, answer: &str, timeout: Duration) -> Result<Event> {
        let started = Instant::now();
        let tree = self.state.expected_tree().to_owned();
        let change = self.change(phase, &tree)?;
        if phase == Phase::Plan {
            let (verdict, planned) = self.judge_plan(answer, &tree, &change)?;
            return Ok(Event::Judged {
                phase,
                verdict,
                report: None,
                planned: Some(planned),
                took_ms: elapsed_ms(started),
            });
        }
        let before = self.accepted_report()?;
        if phase == Phase::Refactor && change.paths.is_empty() {
            // The same tree was judged a moment ago.
            let evidence = Evidence { change: &change, before: &before, after: &before, targets: &[] };
            let verdict = judge::judge(phase, evidence);
            return Ok(Event::Judged { phase, verdict, report: None, planned: None, took_ms: elapsed_ms(started) });
        }
        let after = self.run_suite(timeout)?;
        self.sweep(&tree)?;
        let targets = self.state.progress.targets.clone();
        let verdict =
            judge::judge(phase, Evidence { change: &change, before: &before, after: &after, targets: &targets });
        let report = match verdict.decision {
            Decision::Accepted => self.keep_report(&judge::carry(&before, &after), phase.as_str())?,
            Decision::Refused | Decision::Undecided => self.keep_report(&after, phase.as_str())?,
        };
        let report = Some(report);
        Ok(Event::Judged { phase, verdict, report, planned: None, took_ms: elapsed_ms(started) })
    }

    pub(super) fn lint(&mut self) -> Result<Event> {
        let started = Instant::now();
        let findings = self
            .unhappy_linters()?
            .into_iter()
            .filter(|(line, _)| !self.state.lint_before.contains(line))
            .map(|(line, said)| format!("`{line}` says:\n{said}"))
            .collect();
        self.sweep(self.state.expected_tree())?;
        Ok(Event::Linted { findings, took_ms: elapsed_ms(started) })
    }

    /// Runs the project's tests on what the worktree holds.
    pub(super) fn run_suite(&self, timeout: Duration) -> Result<Report> {
        let folder = self.worktree().path;
        let settings = Settings {
            timeout,
            cargo_target_dir: Some(self.project.cargo_target()),
            virtual_env: self.project.environment.virtual_env.clone(),
            path: self.project.environment.path.clone(),
        };
        runner::detect(&folder)?.run(&folder, &Selection::All, &settings, &self.project.stop)
    }

    pub(super) fn accepted_report(&self) -> Result<Report> {
        let Some(kept) = &self.state.progress.accepted else { return Ok(Report::default()) };
        let path = self.folder.path.join(&kept.file);
        let bytes = fs::read(&path).with_context(|| format!("read report {}", path.display()))?;
        serde_json::from_slice(&bytes).map_err(|error| {
            Failure::environment(format!("the report {} is damaged: {error}", path.display()))
                .next(format!("redgreen rollback {}", self.state.progress.head.commit))
                .into()
        })
    }

    fn judge_plan(&self, answer: &str, tree: &str, change: &Change) -> Result<(Verdict, Planning)> {
        let list = self.project.git.read_file(tree, test_list::FILE)?;
        let list = list.map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
        let harmless = |class: Class| matches!(class, Class::TestList | Class::Documentation);
        let strays: Vec<String> = change
            .paths
            .iter()
            .filter(|changed| !harmless(changed.class))
            .map(|changed| changed.path.clone())
            .collect();
        let planned = test_list::judge(answer, list.as_deref(), &strays);
        let planning = Planning { next: planned.next, completed: planned.completed, pending: planned.pending };
        Ok((planned.verdict, planning))
    }

    /// What the candidate changes, and what each path is.
    fn change(&self, phase: Phase, tree: &str) -> Result<Change> {
        let git = &self.project.git;
        let head = &self.state.progress.head.tree;
        let suite = runner::detect(&self.worktree().path);
        let frameworks: Vec<_> = match &suite {
            Ok(suite) => suite.frameworks().collect(),
            // Nothing is found when the agent took the manifest away; the names of tests are still known.
            Err(_) => Suite::every_framework().collect(),
        };
        let mut paths = Vec::new();
        for changed in git.diff(head, tree)? {
            let kind = match changed.status {
                Status::Added => Kind::Added,
                Status::Deleted => Kind::Deleted,
                Status::Modified | Status::TypeChanged => Kind::Modified,
            };
            let mut class = change::classify(&changed.path, &frameworks);
            if changed.is_submodule() {
                class = Class::Submodule;
            } else if change::needs_a_look(phase, class, kind)
                && let Some((old, new)) = self.both_versions(head, tree, &changed.path)?
            {
                class = change::look_closer(phase, class, &changed.path, &old, &new);
            }
            paths.push(ChangedPath { path: changed.path, kind, class });
        }
        Ok(Change { paths })
    }

    /// A file before and after, if it is text of a size that can be read; one that is not there is empty.
    fn both_versions(&self, old: &str, new: &str, path: &str) -> Result<Option<(String, String)>> {
        let git = &self.project.git;
        let mut texts = Vec::new();
        for tree in [old, new] {
            let bytes = git.read_file(tree, path)?.unwrap_or_default();
            let text = (bytes.len() <= SOURCE_BYTES_MAX).then(|| String::from_utf8(bytes).ok()).flatten();
            texts.extend(text);
        }
        Ok(<[String; 2]>::try_from(texts).ok().map(|[old, new]| (old, new)))
    }

    /// What tests leave lying about is nobody's work: the worktree holds the candidate again.
    fn sweep(&self, tree: &str) -> Result<()> {
        let git = &self.project.git;
        let worktree: Worktree = self.worktree();
        let head = &self.state.progress.head;
        if git.snapshot(&worktree, tree)?.tree != tree {
            git.restore(&worktree, head, tree)?;
        }
        Ok(())
    }

    /// The linters that end with an error, and the end of what they say.
    fn unhappy_linters(&self) -> Result<Vec<(String, String)>> {
        let limits = Limits {
            wall: Duration::from_millis(self.state.run.policy.lint_timeout_ms),
            output_bytes_max: LINT_OUTPUT_BYTES_MAX,
        };
        let folder = self.worktree().path;
        let mut unhappy = Vec::new();
        for line in &self.state.run.linters {
            let program = Program::shell(line)
                .cwd(&folder)
                .env("CI", "1")
                .env("NO_COLOR", "1")
                .env("CARGO_TARGET_DIR", self.project.cargo_target());
            let output = program.output(limits, &self.project.stop)?;
            if !output.success() {
                unhappy.push((line.clone(), last_lines(&(output.stdout_text() + &output.stderr_text()))));
            }
        }
        Ok(unhappy)
    }

    fn keep_report(&self, report: &Report, name: &str) -> Result<Kept> {
        let file = format!("{:03}-{}.json", self.state.reports + 1, name.to_lowercase());
        let bytes = serde_json::to_vec(report).context("write a report as JSON")?;
        write(&self.folder.reports(), &file, &bytes)?;
        Ok(Kept { file: format!("reports/{file}"), counts: report.counts(), summary: summary(report) })
    }
}

/// One line for a person: what was run, how it ended, how long it took.
fn summary(report: &Report) -> String {
    let counts = report.counts();
    let mut said = vec![format!("{} passed", counts.passed)];
    for (count, word) in [(counts.failed, "failed"), (counts.skipped, "skipped"), (counts.load_errors, "not loaded")] {
        if count > 0 {
            said.push(format!("{count} {word}"));
        }
    }
    let exit = match report.exit {
        Exit::NotStarted => "not started".to_owned(),
        Exit::Code(code) => format!("exit {code}"),
        Exit::Signal(signal) => format!("signal {signal}"),
        Exit::TimedOut => "time limit reached".to_owned(),
    };
    let seconds = format!("{}.{}", report.wall_ms / 1000, report.wall_ms % 1000 / 100);
    format!("{}: {} ({exit}, {seconds} s)", report.command, said.join(", "))
}
