//! The loop: ask the core for the next step, perform it, and record the result. The intent is
//! journalled before the effect and the event after it. Every effect is safe to repeat, so a run
//! that was killed in between continues as if nothing had happened.

mod attempts;
mod batching;
mod deleted_tests;
mod finish;
mod human;
mod judging;
mod list;
mod origin;
mod refs;
mod results;
mod review;
mod stale;
mod steering;
mod todo;
mod turn;
mod withheld;
mod worktree_setup;

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use anyhow::{Context, Result};
use redgreen_core::agent::AgentActivity;
use redgreen_core::event::{Event, Outcome};
use redgreen_core::names::Oid;
use redgreen_core::phase::Role;
use redgreen_core::report::Report;
use redgreen_core::state::{Ending, Situation, State};
use redgreen_core::step::{self, Step};

use crate::agent::Team;
use crate::config::{Environment, File};
use crate::failure::Failure;
use crate::git::{Git, Worktree};
use crate::journal::{Journal, Line, RunFolder, Store};
use crate::process::{Interrupted, Stop};
use crate::runner::Suite;
use crate::trial::TrialContext;

pub use results::{export, keep_export, seen};
pub use stale::run_of_folder;

/// A repository, its settings, and the location of its runs.
#[derive(Debug)]
pub struct Project {
    pub git: Git,
    pub store: Store,
    pub file: File,
    pub environment: Environment,
    /// The folder for worktrees and build output of this repository.
    pub workshop: PathBuf,
    pub stop: Stop,
}

/// Receives the progress of a run.
pub type Observer<'a> = &'a mut dyn FnMut(Progress<'_>);

/// The visible progress of a run.
#[derive(Clone, Copy, Debug)]
pub enum Progress<'a> {
    /// A line of the journal, with the state after it.
    Line(&'a Line, &'a State),
    /// Output of an agent.
    Live(Role, &'a AgentActivity),
    /// A remark before the run starts.
    Remark(&'a str),
    /// A slow step before there is a journal.
    Doing(&'a str),
}

/// An active run. While it exists, the run is locked.
pub struct Engine<'a> {
    project: &'a Project,
    folder: RunFolder,
    /// One of several attempts has none: the engine of the run records the result.
    journal: Option<Journal>,
    state: State,
    team: Option<Team>,
    observe: Observer<'a>,
    /// A tree, and the test report that the clean room just produced for it.
    baseline: Option<(Oid, Report)>,
    /// The number of the attempt, if this engine makes one of several; it has a worktree and files
    /// of its own.
    candidate: Option<u32>,
    /// The attempt that the user chose.
    choice: Option<u32>,
}

/// Milliseconds since 1970.
pub fn now() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
}

impl<'a> Engine<'a> {
    /// Starts a run with its first event.
    pub fn begin(
        project: &'a Project,
        folder: RunFolder,
        mut journal: Journal,
        first: &Event,
        team: Option<Team>,
        observe: Observer<'a>,
    ) -> Result<Self> {
        let state = State::begin(first)
            .map_err(|illegal| anyhow::anyhow!("begin a run with {}", illegal.event))?;
        project.remember_run(&folder.id)?;
        let line = journal.record(first, now())?;
        observe(Progress::Line(&line, &state));
        Ok(Self::reopen(project, folder, journal, state, team, observe))
    }

    /// Continues a run where its journal ends.
    pub fn reopen(
        project: &'a Project,
        folder: RunFolder,
        journal: Journal,
        state: State,
        team: Option<Team>,
        observe: Observer<'a>,
    ) -> Self {
        let journal = Some(journal);
        let (baseline, candidate, choice) = (None, None, None);
        Self { project, folder, journal, state, team, observe, baseline, candidate, choice }
    }

    /// Sets the test report of the start commit.
    #[must_use]
    pub fn with_baseline(self, baseline: Option<(Oid, Report)>) -> Self {
        Self { baseline, ..self }
    }

    pub fn state(&self) -> &State {
        &self.state
    }

    /// Continues until nothing is left to do, and returns why it stopped.
    pub fn run(&mut self) -> Result<Outcome> {
        loop {
            let step = match step::next(&self.state) {
                Step::Stop => break,
                step if self.listens_before(&step) && self.read_messages()? => continue,
                step if self.project.stop.requested() && !matches!(step, Step::Leave { .. }) => {
                    Step::Leave { outcome: Outcome::Interrupted }
                }
                step => self.with_choice(step),
            };
            self.intend(step.name())?;
            match self.perform_and_record(&step) {
                Ok(()) => {}
                // The step did not finish, so it is not recorded. The loop ends, and resume repeats
                // it.
                Err(error) if error.is::<Interrupted>() => {}
                Err(error) => return Err(error),
            }
        }
        // This comes last, so that a run that was killed before is still found.
        if self.state.is_over() {
            self.project.store.close(&self.folder)?;
            // A merge can be undone, and then the run continues.
            if matches!(self.state.situation, Situation::Ended(Ending::Aborted)) {
                self.project.forget_run(&self.folder.id);
            }
        }
        self.state.left.clone().context("the engine stopped without a reason")
    }

    /// Records an external decision: a resume, or a choice of the human.
    pub fn record(&mut self, event: &Event) -> Result<()> {
        let at = now();
        let line = self.open_journal()?.record(event, at)?;
        let state = self.state.clone().apply(event, at / 1000);
        self.state = state.map_err(|illegal| {
            anyhow::anyhow!(
                "{} cannot happen while the run is {}",
                illegal.event,
                illegal.situation
            )
        })?;
        (self.observe)(Progress::Line(&line, &self.state));
        Ok(())
    }

    fn intend(&mut self, what: &str) -> Result<()> {
        let line = self.open_journal()?.intend(what, now())?;
        (self.observe)(Progress::Line(&line, &self.state));
        Ok(())
    }

    fn open_journal(&mut self) -> Result<&mut Journal> {
        self.journal.as_mut().context("one of several attempts has no journal")
    }

    fn perform_and_record(&mut self, step: &Step) -> Result<()> {
        if let Step::Attempt { .. } = step {
            return self.make_attempts();
        }
        let event = self.perform(step)?;
        self.record(&event)
    }

    fn perform(&mut self, step: &Step) -> Result<Event> {
        match step {
            Step::Prepare { tree } => self.prepare(tree),
            Step::Measure => self.measure(),
            Step::Pause { ms } => {
                self.project.stop.sleep(Duration::from_millis(*ms))?;
                Ok(Event::Paused)
            }
            Step::Ask { assignment, time_ms } => {
                self.ask(assignment, Duration::from_millis(*time_ms))
            }
            Step::Judge { phase, answer, timeout_ms } => {
                self.judge(*phase, answer, Duration::from_millis(*timeout_ms))
            }
            Step::Compare { numbers, timeout_ms } => {
                self.compare(numbers, Duration::from_millis(*timeout_ms))
            }
            Step::Choose { choice } => Ok(Event::Chosen { choice: choice.clone() }),
            Step::Take { event } => self.take_over(event),
            Step::Lint => self.lint(),
            Step::Restore { tree, why } => self.restore(tree, why),
            Step::Record { file, text } => self.write_artifact(file, text),
            Step::Commit { tree, message, at } => self.commit(tree, message, *at),
            Step::Note { commit, handoff } => {
                self.project.git.notes().write(commit, &handoff.render())?;
                Ok(Event::Noted { commit: commit.clone(), handoff: handoff.clone() })
            }
            Step::Review { commit } => self.review(commit),
            Step::Merge { message, manner } => self.merge(message, *manner),
            Step::Discard => self.discard(),
            Step::Leave { outcome } => self.leave(outcome),
            Step::Attempt { .. } | Step::Stop => anyhow::bail!("there is no single event"),
        }
    }

    /// The worktree of the run, with its private index.
    fn worktree(&self) -> Worktree {
        let suffix = self.suffix();
        let private = self.folder.path.join(format!("worktree{suffix}"));
        let litter = Suite::all_litter().chain([withheld::IGNORED]).map(str::to_owned);
        let litter = litter.chain(self.brought(&private)).collect();
        let path = self.project.workshop.join(format!("{}{suffix}", self.folder.id));
        Worktree { path, private, litter }
    }

    /// What the names of files and folders of one of several attempts end with.
    fn suffix(&self) -> String {
        self.candidate.map(attempts::suffix).unwrap_or_default()
    }

    fn branch_ref(&self) -> String {
        format!("refs/heads/{}", self.state.run.branch)
    }

    /// Keeps unaccepted work while the run is not active.
    fn work_ref(&self) -> String {
        format!("refs/redgreen/work/{}", self.folder.id)
    }
}

impl Project {
    /// The folder for the worktrees of a repository, below `root`, named by its path.
    pub fn workshop(root: &Path, git: &Git) -> PathBuf {
        let name = git
            .root
            .file_name()
            .map(|name| name.to_string_lossy().into_owned())
            .unwrap_or_default();
        let mut hash: u64 = 0xcbf2_9ce4_8422_2325;
        for byte in git.common_dir.as_os_str().as_encoded_bytes() {
            hash = (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
        }
        root.join(format!("{name}-{hash:016x}"))
    }

    /// Where the tests of a commit run for a verdict if there is no worktree: with the packages of
    /// the checkout.
    pub fn ground(&self) -> TrialContext<'_> {
        TrialContext {
            git: &self.git,
            checkout: &self.git.root,
            private: None,
            workshop: &self.workshop,
            environment: &self.environment,
            file: &self.file,
            command: None,
            stop: &self.stop,
        }
    }

    /// Build output that test runs in all worktrees of this repository share.
    pub fn cargo_target(&self) -> PathBuf {
        self.workshop.join("cargo-target")
    }
}

/// Why a run in this state cannot be approved, or `None`.
pub fn not_ready(state: &State) -> Option<Failure> {
    let id = &state.run.id;
    match &state.situation {
        Situation::Waiting { .. } | Situation::Merging { .. } => None,
        Situation::Reviewing(review) if matches!(review.before, Situation::Merging { .. }) => None,
        Situation::Ended(_) => {
            Some(Failure::usage(format!("run {id} is over")).next("redgreen history"))
        }
        Situation::Discarding => Some(
            Failure::usage(format!("run {id} is being aborted"))
                .next(format!("redgreen abort {id}")),
        ),
        Situation::Measuring { .. }
        | Situation::Unmeasurable { .. }
        | Situation::Working { .. }
        | Situation::Reverting { .. }
        | Situation::Reviewing(_)
        | Situation::Paused { .. }
        | Situation::Halted { .. } => Some(
            Failure::usage(format!("run {id} is not done yet: it is in {}", state.phase()))
                .next(format!("redgreen resume {id}")),
        ),
    }
}

fn elapsed_ms(since: Instant) -> u64 {
    u64::try_from(since.elapsed().as_millis()).unwrap_or(u64::MAX)
}
