//! Several attempts at a phase: each one in a worktree and a thread of its own, judged there, and
//! salvaged before its worktree is removed. The chosen one is taken over into the run's worktree.
//!
//! Each attempt is recorded as it ends, so a run that was killed makes only the missing ones again.

use std::fs;
use std::sync::mpsc::{self, Sender};
use std::thread::{self, Scope};
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use redgreen_core::agent::{AgentActivity, Assignment};
use redgreen_core::attempts::{self, Candidate, Comparison, PassCount};
use redgreen_core::change::{Class, Kind};
use redgreen_core::event::{Event, Outcome};
use redgreen_core::names::{Label, Oid};
use redgreen_core::phase::{Phase, Role};
use redgreen_core::state::State;
use redgreen_core::step::{self, Step};

use super::turn::write;
use super::{Engine, Progress, Project, elapsed_ms, now};
use crate::agent::Team;
use crate::journal::{LiveWriter, RunFolder};
use crate::runner::Suite;
use crate::trial;

/// One attempt at work, told to the engine of the run.
enum Message {
    Said(u32, Role, AgentActivity),
    Ended(u32, Box<Result<Candidate>>),
}

/// What a thread needs to make one attempt.
struct Start<'a> {
    project: &'a Project,
    folder: RunFolder,
    state: State,
    team: Option<Team>,
    assignment: Assignment,
    time: Duration,
    number: u32,
}

/// What the names of an attempt's files and folders end with.
pub(super) fn suffix(number: u32) -> String {
    format!("-attempt-{number}")
}

impl<'a> Engine<'a> {
    /// Makes all missing attempts, up to the limit at the same time, and records each one as it
    /// ends. The core decides before each start whether the budget allows another one.
    pub(super) fn make_attempts(&mut self) -> Result<()> {
        if let Some(event) = self.notice_commits()? {
            return self.record(&event);
        }
        thread::scope(|scope| self.make_attempts_in(scope))
    }

    fn make_attempts_in<'scope, 'env>(&mut self, scope: &'scope Scope<'scope, 'env>) -> Result<()>
    where
        'a: 'scope,
    {
        let (sender, receiver) = mpsc::channel();
        let mut at_work: Vec<u32> = Vec::new();
        let mut failed = None;
        let mut live = LiveWriter::begin(&self.folder);
        loop {
            if let (Step::Attempt { assignment, time_ms, numbers, jobs }, None, false) =
                (step::next(&self.state), &failed, self.project.stop.requested())
            {
                let jobs = jobs.and_then(|jobs| usize::try_from(jobs).ok()).unwrap_or_else(cores);
                let is_idle = |number: &&u32| !at_work.contains(number);
                let next: Vec<u32> = numbers.iter().filter(is_idle).copied().collect();
                for number in next.into_iter().take(jobs.saturating_sub(at_work.len())) {
                    let time = Duration::from_millis(time_ms);
                    let start = self.start(number, &assignment, time, numbers.len());
                    let sender = sender.clone();
                    scope.spawn(move || start.make(&sender));
                    at_work.push(number);
                }
            }
            if at_work.is_empty() {
                break;
            }
            match receiver.recv().context("wait for the attempts")? {
                Message::Said(number, role, said) => {
                    let said = match said {
                        // The words of several agents cannot be distinguished.
                        AgentActivity::Text(_) | AgentActivity::Cost(_) => continue,
                        AgentActivity::Tool { name, what } => {
                            AgentActivity::Tool { name: format!("attempt {number}: {name}"), what }
                        }
                    };
                    live.said(now(), role, &said);
                    (self.observe)(Progress::Live(role, &said));
                }
                Message::Ended(number, ended) => {
                    at_work.retain(|other| *other != number);
                    match *ended {
                        Ok(candidate) => {
                            self.record(&Event::Attempted { candidate: Box::new(candidate) })?;
                        }
                        Err(error) => failed = Some(failed.unwrap_or(error)),
                    }
                }
            }
        }
        failed.map_or(Ok(()), Err)
    }

    /// Each attempt gets an equal part of what is left of the budget.
    fn start(
        &self,
        number: u32,
        assignment: &Assignment,
        time: Duration,
        unfinished: usize,
    ) -> Start<'a> {
        let mut state = self.state.clone();
        let budget = &mut state.run.policy.budget;
        *budget = budget.left_after(&self.state.spent).shared_by(unfinished);
        state.spent = redgreen_core::policy::RunCost::default();
        Start {
            project: self.project,
            folder: self.folder.clone(),
            state,
            team: self.team.clone(),
            assignment: Assignment { candidate: Some(number), ..assignment.clone() },
            time,
            number,
        }
    }

    /// Runs the tests that attempts wrote with the code of the others.
    pub(super) fn compare(&mut self, numbers: &[u32], timeout: Duration) -> Result<Event> {
        let started = Instant::now();
        let (git, worktree) = (&self.project.git, self.worktree());
        let of = |candidate: &&Candidate| numbers.contains(&candidate.number);
        let candidates: Vec<&Candidate> = self.state.candidates().iter().filter(of).collect();
        let mut results = Vec::new();
        for one in &candidates {
            let mut others = PassCount::default();
            let theirs = candidates
                .iter()
                .filter(|other| other.number != one.number && !other.tests.is_empty());
            for other in theirs {
                let (Some(code), Some(tests)) = (one.tree(), other.tree()) else { continue };
                let paths: Vec<&str> = other.tests.iter().map(String::as_str).collect();
                let tree = self.without_list(&git.with_paths_of(code, tests, &paths)?)?;
                let report = trial::measure(self.ground(&worktree), &tree, timeout)?.report;
                others = others.and(attempts::tests_of_others(&other.tests, &report));
            }
            results.push(Comparison { number: one.number, others });
        }
        Ok(Event::Compared { results, took_ms: elapsed_ms(started) })
    }

    /// Takes over a part of the chosen attempt, as if the run's own agent had done it.
    pub(super) fn take_over(&mut self, event: &Event) -> Result<Event> {
        let chosen = self.state.selection().map(|selection| selection.chosen);
        let ending = chosen.map(suffix).unwrap_or_default();
        match event {
            Event::Turned { role, tree, .. } => {
                let (git, head) = (&self.project.git, &self.state.progress.head);
                git.restore(&self.worktree(), head, tree)?;
                let name = self.turn_name(*role);
                let transcripts = self.folder.transcripts();
                copy(&transcripts, &format!("{name}{ending}.md"), &format!("{name}.md"))?;
                self.drop_salvage_of_chosen(chosen, tree)?;
            }
            Event::Judged { phase, .. } => {
                let cycle = format!("cycle-{}", self.state.progress.cycle);
                let folder = self.folder.artifacts().join(cycle);
                let name = phase.as_str().to_lowercase();
                for kind in ["yaml", "json"] {
                    copy(&folder, &format!("{name}{ending}.{kind}"), &format!("{name}.{kind}"))?;
                }
            }
            _ => {}
        }
        Ok(event.clone())
    }

    /// The chosen work is in the run's worktree now. The name comes from the journal, which may name
    /// the work of another run or other work of this one.
    fn drop_salvage_of_chosen(&self, chosen: Option<u32>, tree: &Oid) -> Result<()> {
        let candidates = self.state.selection().map(|selection| &selection.candidates);
        let summary = candidates.and_then(|all| all.iter().find(|one| Some(one.number) == chosen));
        let Some(name) = summary.and_then(|summary| summary.salvage.as_ref()) else {
            return Ok(());
        };
        let git = &self.project.git;
        let all = git.salvages()?;
        let kept =
            all.iter().find(|salvage| salvage.name == *name && salvage.is_of(&self.folder.id));
        match kept {
            Some(kept) if git.tree_of(&kept.commit)? == *tree => git.salvage_drop(name),
            Some(_) | None => Ok(()),
        }
    }

    /// Removes the worktrees of attempts that were killed; their work is salvaged.
    pub(super) fn clear_attempts(&self) -> Result<()> {
        for number in 1..=attempts::ATTEMPTS_MAX {
            let place = self.project.workshop.join(format!("{}{}", self.folder.id, suffix(number)));
            if place.exists() {
                let mut silent = |_: Progress<'_>| {};
                self.beside(number, &mut silent).clear_attempt()?;
            }
        }
        Ok(())
    }

    /// The engine of one attempt, without a journal.
    fn beside<'b>(&self, number: u32, observe: super::Observer<'b>) -> Engine<'b>
    where
        'a: 'b,
    {
        Engine {
            project: self.project,
            folder: self.folder.clone(),
            journal: None,
            state: self.state.clone(),
            team: None,
            observe,
            baseline: None,
            candidate: Some(number),
            choice: None,
        }
    }

    /// The attempt to take where all evidence is equal.
    pub fn choose(&mut self, number: Option<u32>) {
        self.choice = number;
    }

    /// The user's choice in place of the question.
    pub(super) fn with_choice(&mut self, step: Step) -> Step {
        let chosen = match (&step, self.choice) {
            (Step::Leave { outcome: Outcome::Undecided { trouble, .. } }, Some(number))
                if trouble.kind == attempts::TIE =>
            {
                attempts::chosen_by_human(self.state.candidates(), number)
            }
            _ => None,
        };
        chosen.map_or(step, |choice| {
            self.choice = None;
            Step::Choose { choice }
        })
    }
}

impl Start<'_> {
    fn make(self, sender: &Sender<Message>) {
        let Self { project, folder, state, team, assignment, time, number } = self;
        let live = sender.clone();
        let mut observe = |sight: Progress<'_>| {
            if let Progress::Live(role, said) = sight {
                // Nobody listens any more if the run failed.
                live.send(Message::Said(number, role, said.clone())).ok();
            }
        };
        let candidate = Some(number);
        let mut engine = Engine {
            project,
            folder,
            journal: None,
            state,
            team,
            observe: &mut observe,
            baseline: None,
            candidate,
            choice: None,
        };
        let made = engine.make_attempt(&assignment, time, number);
        let cleared = engine.clear_attempt();
        let ended = made.and_then(|candidate| cleared.map(|()| candidate));
        sender.send(Message::Ended(number, Box::new(ended))).ok();
    }
}

impl Engine<'_> {
    /// One attempt from its worktree to its verdict, by the steps of a single attempt.
    fn make_attempt(
        &mut self,
        assignment: &Assignment,
        time: Duration,
        number: u32,
    ) -> Result<Candidate> {
        let (head, tree) = (self.state.progress.head.clone(), self.state.expected_tree().clone());
        self.set_out(&head, &tree)?;
        let team = self.team.as_ref();
        let agent = team.map(|team| team.on_turn(assignment).name()).unwrap_or_default();
        let mut events = vec![self.take_turn(assignment, time)?];
        self.follow(events.last())?;
        loop {
            let event = match step::next(&self.state) {
                Step::Judge { phase, answer, timeout_ms } => {
                    self.judge(phase, &answer, Duration::from_millis(timeout_ms))?
                }
                Step::Lint => self.lint()?,
                // The verdict is there, or there will be none.
                _ => break,
            };
            events.push(event);
            self.follow(events.last())?;
        }
        let mut candidate = Candidate {
            number,
            agent: Label::of(&agent),
            events,
            lines: 0,
            tests: Vec::new(),
            others: None,
            salvage: None,
        };
        if let Some(left) = candidate.tree().cloned() {
            candidate.lines = self.changed_lines(&head.tree, &left)?;
            candidate.tests = self.own_tests(assignment.phase, &head.tree, &left)?;
            if left != head.tree && left != tree {
                let why = format!("attempt {number}");
                let (git, id) = (&self.project.git, &self.folder.id);
                candidate.salvage = Some(git.salvage(id, &why, &left, &head.commit)?);
            }
        }
        Ok(candidate)
    }

    fn follow(&mut self, event: Option<&Event>) -> Result<()> {
        let Some(event) = event else { return Ok(()) };
        let state = self.state.clone().apply(event, now() / 1000);
        self.state = state
            .map_err(|illegal| anyhow::anyhow!("{} cannot happen in an attempt", illegal.event))?;
        Ok(())
    }

    /// The worktree of this attempt is removed on every way out. What it holds and nobody knows
    /// is salvaged.
    fn clear_attempt(&self) -> Result<()> {
        let worktree = self.worktree();
        if self.is_ready(&worktree)? {
            let (head, tree) = (&self.state.progress.head.tree, self.state.expected_tree());
            let held = self.project.git.snapshot(&worktree, head)?.tree;
            let is_known = held == *head
                || held == *tree
                || self.project.git.is_salvaged(&self.folder.id, &held)?;
            if !is_known {
                self.salvage_unless(&worktree, "interrupted", &[])?;
            }
        }
        self.remove_worktree(&worktree)
    }

    fn changed_lines(&self, old: &Oid, new: &Oid) -> Result<u64> {
        let stats = self.project.git.diff_stat(old, new)?;
        let lines = stats
            .iter()
            .map(|stat| stat.added.unwrap_or(1).saturating_add(stat.removed.unwrap_or(0)));
        Ok(lines.sum())
    }

    /// Test files that the attempt added.
    fn own_tests(&self, phase: Phase, old: &Oid, new: &Oid) -> Result<Vec<String>> {
        if phase != Phase::Green {
            return Ok(Vec::new());
        }
        let frameworks: Vec<_> = Suite::every_framework().collect();
        let change = trial::change(&self.project.git, phase, old, new, &frameworks)?;
        let added = change
            .paths
            .into_iter()
            .filter(|changed| changed.class == Class::Test && changed.kind == Kind::Added);
        Ok(added.map(|changed| changed.path).collect())
    }
}

fn cores() -> usize {
    thread::available_parallelism().map_or(1, usize::from)
}

/// Copies a file of the attempt to where the run's own would be. It may be missing.
fn copy(folder: &std::path::Path, from: &str, to: &str) -> Result<()> {
    match fs::read(folder.join(from)) {
        Ok(bytes) => write(folder, to, &bytes),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(()),
        Err(error) => Err(error).with_context(|| format!("read {from}")),
    }
}
