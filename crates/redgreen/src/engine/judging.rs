//! Runs the tests and linters, and passes the results to the judge.

use std::fs;
use std::io::ErrorKind;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use redgreen_core::change::{Change, Class};
use redgreen_core::contest::Contest;
use redgreen_core::event::{Event, PlanResult, StoredReport};
use redgreen_core::experiment::examples::{self, Example};
use redgreen_core::names::{Oid, RunFile};
use redgreen_core::phase::{JudgedPhase, Phase};
use redgreen_core::report::places::Places;
use redgreen_core::report::{Exit, Flag, Outcome, Report};
use redgreen_core::state::Situation;
use redgreen_core::verdict::{Decision, Verdict};
use redgreen_core::{test_list, text};

use super::turn::{agent_environment, last_lines, write};
use super::{Engine, elapsed_ms};
use crate::agent::command::{CommandContext, Commands};
use crate::failure::Failure;
use crate::git::Worktree;
use crate::process::Limits;
use crate::runner::{self, Suite};
use crate::trial::{self, Candidate, Memory, StoredResult, TrialContext, WithheldSet};

const LINT_OUTPUT_BYTES_MAX: usize = 64 << 10;

impl Engine<'_> {
    /// Runs the tests and linters before any change. Failures here do not count against the run.
    pub(super) fn measure(&mut self) -> Result<Event> {
        let started = Instant::now();
        let timeout = Duration::from_millis(self.state.run.policy.red_timeout_ms);
        let worktree = self.worktree();
        let tree = self.state.expected_tree().to_owned();
        let baseline = self.baseline.take().filter(|(known, _)| *known == tree);
        let ground = self.ground(&worktree);
        let measured = match baseline {
            // Nothing changed since; only the environment of the worktree is new.
            Some((_, report)) => trial::remember(ground, &tree, report)?,
            None => trial::measure(ground, &tree, timeout)?,
        };
        self.memory()?.keep(&tree, &measured)?;
        let report = measured.report;
        // In RED of a run from another clone, the new test may not compile yet, or the command may
        // report only an exit code.
        let is_adopted = self.state.progress.handoff.is_some();
        let is_red =
            matches!(report.outcome, Outcome::DidNotCompile | Outcome::Failed | Outcome::Errored);
        let usable = report.is_baseline() || (is_adopted && is_red);
        let lint = if usable {
            self.unhappy(&self.state.run.linters)?.into_iter().map(|(line, _)| line).collect()
        } else {
            Vec::new()
        };
        self.sweep(self.state.expected_tree())?;
        let owes = matches!(self.state.situation, Situation::Measuring { then: Phase::Green });
        let failing = report.tests.iter().filter(|test| owes && test.status.is_failure());
        let failing = failing.map(|test| test.id.clone()).collect();
        let kept = self.keep_report(&report, "baseline", report.wall_ms)?;
        Ok(Event::Measured { report: kept, usable, lint, failing, took_ms: elapsed_ms(started) })
    }

    pub(super) fn judge(&mut self, phase: Phase, answer: &str, timeout: Duration) -> Result<Event> {
        let started = Instant::now();
        let tree = self.state.expected_tree().to_owned();
        let head = self.state.progress.head.tree.clone();
        if phase == Phase::Plan {
            let suite = runner::suite(&self.worktree().path, &self.project.file.test);
            // If the agent removed the manifest, no framework is found, but the names of tests are
            // still known.
            let frameworks: Vec<_> = suite.as_ref().map_or_else(
                |_| Suite::every_framework().collect(),
                |suite| suite.frameworks().collect(),
            );
            let change = trial::change(&self.project.git, phase, &head, &tree, &frameworks)?;
            let (verdict, planned) = self.judge_plan(answer, &tree, &change)?;
            if let Some(known) =
                self.memory()?.recall(&head)?.filter(|_| verdict.decision == Decision::Accepted)
            {
                // A list is not code: the test results and the environment before it are valid for
                // RED.
                self.memory()?.keep(&tree, &known)?;
            }
            return Ok(Event::Judged {
                phase,
                verdict,
                report: None,
                planned: Some(planned),
                written: None,
                test_file: None,
                withheld: None,
                joined: None,
                unseen: None,
                took_ms: elapsed_ms(started),
            });
        }
        if let Some(contest) = Contest::parse(answer).filter(|_| phase == Phase::Green) {
            let verdict = self.contested(&contest, &head)?;
            return Ok(judged(phase, verdict, None, started));
        }
        let claimed = JudgedPhase::of(phase);
        let covering = self.covering().cloned();
        let before = match covering.as_ref().and_then(|covering| covering.report.as_ref()) {
            Some(kept) => self.read_report(kept)?,
            None => self.accepted_report()?,
        };
        let memory = self.memory()?;
        let worktree = self.worktree();
        let targets = self.state.progress.targets.clone();
        let base = self.without_list(covering.as_ref().map_or(&head, |covering| &covering.tree))?;
        let without_list = self.without_list(&tree)?;
        let withheld_files = self.withheld_tests(phase)?;
        let candidate = Candidate {
            // When a step only adds coverage, apply the REFACTOR rules: nothing may change.
            phase: claimed.filter(|_| covering.is_none()).unwrap_or(JudgedPhase::Refactor),
            base: &base,
            head: &without_list,
            earlier: None,
            before: Some(before),
            targets: (phase == Phase::Green && covering.is_none()).then_some(targets),
            surroundings: memory.recall(&head)?.map(|known| known.surroundings),
            brief: &self.words(),
            withheld: WithheldSet {
                examples: &self.withheld()?,
                due: self.is_last_test(),
                tests: &withheld_files,
            },
            only: &[],
            timeout,
            explain: false,
        };
        let before = candidate.before.clone().unwrap_or_default();
        let mut tried = trial::hold(self.ground(&worktree), &candidate)?;
        tried.verdict.notes.extend(self.withheld_elsewhere(phase));
        let covered = self.weigh(phase, &tree, &before, &mut tried, timeout)?;
        let withheld = self.kept_back(phase, &withheld_files, &tried);
        let joined = match phase {
            Phase::Green => self.join(&tree, &withheld_files, &tried)?,
            Phase::Plan | Phase::Red | Phase::Refactor | Phase::Complete => None,
        };
        if joined.is_some() {
            tried.report.tests.extend(tried.unseen.passed.iter().cloned());
            tried.shown.tests.extend(tried.unseen.passed.iter().cloned());
        }
        let unseen = tried.unseen.tested().filter(|_| phase == Phase::Green);
        let (written, test_file) = self.keep_artifact(phase, &tree, &before, &tried, covered)?;
        let verdict = tried.verdict;
        if phase == Phase::Refactor && tried.change.paths.is_empty() {
            // The same tree was just judged.
            return Ok(judged(phase, verdict, None, started));
        }
        if verdict.decision == Decision::Accepted {
            let (report, targets) = (tried.report.clone(), verdict.targets.clone());
            let accepted = joined.as_ref().map_or(&tree, |joined| &joined.tree);
            memory.keep(
                accepted,
                &StoredResult { version: 1, report, targets, surroundings: tried.surroundings },
            )?;
        }
        let report = Some(self.keep_report(
            &tried.report,
            phase.as_str(),
            u64::try_from(tried.tests.as_millis()).unwrap_or(u64::MAX),
        )?);
        let took_ms = elapsed_ms(started);
        Ok(Event::Judged {
            phase,
            verdict,
            report,
            planned: None,
            written,
            test_file,
            withheld,
            joined: joined.map(Box::new),
            unseen,
            took_ms,
        })
    }

    /// Runs nothing: the human gets the test, as RED left it, and the brief.
    fn contested(&self, contest: &Contest, red: &str) -> Result<Verdict> {
        let report = self.accepted_report()?;
        let known = report.test(&contest.test).and_then(|test| test.file.clone());
        let named = contest.test.split("::").next().map(str::to_owned);
        let planned = self.state.progress.current.as_ref().map(|test| test.test_file.clone());
        // The agent has seen one of the withheld tests, and may contest that one.
        let unseen = self.withheld_tests(Phase::Green)?;
        let withheld = unseen.iter().map(|file| file.path.to_string());
        let files: Vec<String> =
            [known, named, planned].into_iter().flatten().chain(withheld).collect();
        let read = |path: &str| {
            if let Some(file) = unseen.iter().find(|file| file.path == path) {
                return Some(file.text.clone());
            }
            let bytes = self.project.git.read_file(red, path).ok().flatten()?;
            String::from_utf8(bytes).ok()
        };
        let source = contest.source(&files, &read);
        Ok(contest.ruling(source.as_ref(), &self.words()))
    }

    pub(super) fn lint(&mut self) -> Result<Event> {
        let started = Instant::now();
        let findings = self
            .unhappy(&self.state.run.linters)?
            .into_iter()
            .filter(|(line, _)| !self.state.lint_before.contains(line))
            .map(|(line, said)| format!("`{line}` reports:\n{said}"))
            .collect();
        let criteria = self
            .unhappy(&self.state.run.brief.convergence)?
            .into_iter()
            .map(|(line, said)| format!("`{line}` reports:\n{said}"))
            .collect();
        self.sweep(self.state.expected_tree())?;
        Ok(Event::Linted { findings, criteria, took_ms: elapsed_ms(started) })
    }

    /// Everything that was said about the feature, by the user and by the plan.
    pub(super) fn words(&self) -> String {
        let request = self.state.run.brief.words();
        match &self.state.progress.current {
            Some(test) => {
                format!("{request}\n{}\n{}\n{}", test.description, test.test_file, test.impl_file)
            }
            None => request,
        }
    }

    /// The withheld examples of the run. Read each time, so that they are stored nowhere else.
    fn withheld(&self) -> Result<Vec<Example>> {
        let path = self.folder.examples();
        let text = match fs::read_to_string(&path) {
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
            read => read.with_context(|| format!("read {}", path.display()))?,
        };
        examples::parse("examples.json", &text).map_err(|faults| {
            let failure = Failure::environment(format!("{} is damaged", path.display()));
            faults.into_iter().fold(failure, Failure::evidence).into()
        })
    }

    /// Whether no other item of the list is open.
    fn is_last_test(&self) -> bool {
        let progress = &self.state.progress;
        let current = progress.current.as_ref().map(|test| &test.description);
        progress.pending.iter().all(|pending| Some(pending) == current)
    }

    pub(super) fn ground<'a>(&'a self, worktree: &'a Worktree) -> TrialContext<'a> {
        let project = self.project;
        TrialContext {
            git: &project.git,
            checkout: &worktree.path,
            private: Some(&worktree.private),
            workshop: &project.workshop,
            environment: &project.environment,
            file: &project.file,
            command: None,
            stop: &project.stop,
        }
    }

    /// The stored results of accepted trees, with their environment.
    pub(super) fn memory(&self) -> Result<Memory> {
        Memory::new(&self.project.workshop, &self.project.file.test)
    }

    pub(super) fn accepted_report(&self) -> Result<Report> {
        self.state
            .progress
            .accepted
            .as_ref()
            .map_or_else(|| Ok(Report::default()), |kept| self.read_report(kept))
    }

    pub(super) fn read_report(&self, kept: &StoredReport) -> Result<Report> {
        let path = self.folder.path.join(&kept.file);
        let bytes = fs::read(&path).with_context(|| format!("read report {}", path.display()))?;
        serde_json::from_slice(&bytes).map_err(|error| {
            Failure::environment(format!("the report {} is damaged: {error}", path.display()))
                .next(format!("redgreen rollback {}", self.state.progress.head.commit))
                .into()
        })
    }

    fn judge_plan(
        &self,
        answer: &str,
        tree: &str,
        change: &Change,
    ) -> Result<(Verdict, PlanResult)> {
        let list = self.judged_list(tree)?;
        let harmless = |class: Class| matches!(class, Class::TestList | Class::Documentation);
        let strays: Vec<String> = change
            .paths
            .iter()
            .filter(|changed| !harmless(changed.class))
            .map(|changed| changed.path.clone())
            .collect();
        let mut planned = test_list::judge(answer, list.as_deref(), self.known_list(), &strays);
        test_list::remark(&mut planned, self.list_remarks());
        let planning = PlanResult {
            next: planned.next,
            completed: self.state.progress.completed.clone(),
            pending: planned.pending,
            removed: planned.removed,
        };
        Ok((planned.verdict, planning))
    }

    /// Removes files that the tests left, so that the worktree contains the candidate again.
    fn sweep(&self, tree: &Oid) -> Result<()> {
        let git = &self.project.git;
        let worktree: Worktree = self.worktree();
        let head = &self.state.progress.head;
        // A person may have continued typing.
        if self.is_humans(&worktree) {
            return Ok(());
        }
        if git.snapshot(&worktree, tree)?.tree != *tree {
            git.restore(&worktree, head, tree)?;
        }
        Ok(())
    }

    /// The commands that fail, and the end of their output.
    fn unhappy(&self, lines: &[String]) -> Result<Vec<(String, String)>> {
        let limits = Limits {
            wall: Duration::from_millis(self.state.run.policy.lint_timeout_ms),
            output_bytes_max: LINT_OUTPUT_BYTES_MAX,
        };
        if lines.is_empty() {
            return Ok(Vec::new());
        }
        let (project, worktree) = (self.project, self.worktree());
        let env = agent_environment(project, &self.folder.id, &worktree.path)?;
        let (packages, build) = (self.packages(&worktree), project.cargo_target());
        let context = CommandContext {
            file: &project.file,
            environment: &project.environment,
            git: &project.git,
            worktree: &worktree.path,
            records: project.store.root(),
            aside: &worktree.private,
            packages: &packages,
            env: &env,
            build: &build,
        };
        let commands = Commands::new(context)?;
        let places = Places::of(worktree.path.to_str());
        let mut unhappy = Vec::new();
        for line in lines {
            let output = commands.run(line, limits, &project.stop)?;
            if !output.success() {
                let said = last_lines(&(output.stdout_text() + &output.stderr_text()));
                unhappy.push((line.clone(), places.out_of(&commands.redacted(&said))));
            }
        }
        Ok(unhappy)
    }

    pub(super) fn keep_report(
        &self,
        report: &Report,
        name: &str,
        tests_ms: u64,
    ) -> Result<StoredReport> {
        let suffix = self.suffix();
        let file = format!("{:03}-{}{suffix}.json", self.state.reports + 1, name.to_lowercase());
        let json = serde_json::to_string(report).context("write a report as JSON")?;
        write(&self.folder.reports(), &file, text::json(&json).as_bytes())?;
        Ok(StoredReport {
            file: RunFile::parse(&format!("reports/{file}"))?,
            counts: report.counts(),
            summary: summary(report),
            tests_ms,
        })
    }
}

/// A verdict without a run of the tests.
fn judged(phase: Phase, verdict: Verdict, report: Option<StoredReport>, started: Instant) -> Event {
    let took_ms = elapsed_ms(started);
    Event::Judged {
        phase,
        verdict,
        report,
        planned: None,
        written: None,
        test_file: None,
        withheld: None,
        joined: None,
        unseen: None,
        took_ms,
    }
}

/// One line for people: the command, the result and the time.
fn summary(report: &Report) -> String {
    let counts = report.counts();
    let mut said = vec![format!("{} passed", counts.passed)];
    if report.has(Flag::ExitCodeAlone) {
        said = vec!["exit code only".to_owned()];
    }
    for (count, word) in
        [(counts.failed, "failed"), (counts.skipped, "skipped"), (counts.load_errors, "not loaded")]
    {
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
