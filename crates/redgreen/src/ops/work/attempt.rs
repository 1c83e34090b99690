//! One delivery of a job: whether it may start, the claim, the run with its pushes, and the result.

use std::fs::{self, File};
use std::iter;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use redgreen_core::event::Outcome;
use redgreen_core::fleet::budget::Share;
use redgreen_core::fleet::status::{Event, EventSource, JobState, Rejected, Status, Verdicts};
use redgreen_core::fleet::{BriefSource, Job, Syntax};
use redgreen_core::names::{JobId, Label};
use redgreen_core::report::Exit;
use redgreen_core::state::State;

use super::ending::{failure_of, no_fault_of_the_job, pause, stopped, words_of};
use super::record::{PushResult, Record, ref_of};
use super::start::{Start, is_left_to_others, may_start, records, settle};
use super::verdicts::{self, Heard};
use super::{LeaseClock, Worker, checkouts, merging, steering};
use crate::config;
use crate::engine::{Project, now};
use crate::failure::Code;
use crate::git::Remote;
use crate::journal::{self, RunFolder};
use crate::ops;
use crate::private;
use crate::process::{Answer, Attention, Limits, Output, ProcessEvent, Program, Stop};
use crate::queue::Delivery;

/// An upper limit. The limits of a run are much smaller.
const RUN_MAX: Duration = Duration::from_secs(7 * 24 * 3600);
const OUTPUT_BYTES_MAX: usize = 256 << 10;
/// How often a claim is repeated because an earlier worker pushed meanwhile.
const CLAIM_TRIES_MAX: u32 = 10;

/// A job that this worker has claimed.
pub(super) struct Claim<'a> {
    pub(super) worker: &'a Worker<'a>,
    pub(super) job: Job,
    pub(super) status: Status,
    pub(super) remote: Remote,
    /// For this attempt only.
    pub(super) folder: PathBuf,
    /// Held while the folder is in use.
    _lock: File,
    /// Ends the programs of this attempt.
    pub(super) stop: Stop,
    /// Another worker has the job, or the lease is over.
    lost: AtomicBool,
    /// Somebody requested that the job ends.
    stop_asked: AtomicBool,
    pulse: LeaseClock,
}

/// The result of an attempt.
pub(super) enum End {
    Event(Event),
    /// Another worker has it. The checkout is kept.
    Fenced,
}

/// The result of a delivery for the worker.
pub(super) enum Attempted {
    Done,
    /// It was not started.
    NotNow,
    /// It failed here, perhaps because of this machine, and others get the job.
    Trouble(Label),
}

pub(super) fn attempt(worker: &Worker<'_>, delivery: &Delivery) -> Result<Attempted> {
    match claim(worker, delivery)? {
        Some(claim) => claim.perform(delivery),
        None => Ok(Attempted::NotNow),
    }
}

/// Claims the job. `None` if there is nothing to do now, and the message is handled.
fn claim<'a>(worker: &'a Worker<'a>, delivery: &Delivery) -> Result<Option<Claim<'a>>> {
    let queue = worker.queue;
    let handled = || queue.done(delivery).map(|()| None);
    let Some((job, status)) = records(worker, delivery)? else { return Ok(None) };
    match (&status.state, delivery.is_merge()) {
        (JobState::Queued | JobState::Running, false) | (JobState::Merging, true) => {}
        (JobState::Merging, false) => {
            // Its worker died between the end of the run and the merge message.
            queue.send_merge(&status)?;
            return handled();
        }
        // A message of a job that is already further.
        _ => return handled(),
    }
    if is_left_to_others(worker, delivery, &status)? {
        return Ok(None);
    }
    let day = match may_start(worker, delivery, &job, &status)? {
        Start::Yes { day } => day,
        Start::No => return Ok(None),
    };
    let (name, message) = (worker.options.name.clone(), delivery.number);
    let claimed = Event::Claimed { worker: name, message, day: day.clone() };
    let status = match queue.append(&delivery.job, EventSource::Anyone, &claimed, now())? {
        Ok(status) => status,
        Err(Rejected::Duplicate) => return handled(),
        Err(Rejected::Unfit { .. }) => {
            // It was cancelled after the reservation, which its status does not know.
            let status = queue.status(&delivery.job)?.unwrap_or(status);
            settle(queue, &Status { day: status.day.clone().or(day), ..status })?;
            return handled();
        }
        Err(Rejected::Fenced { .. } | Rejected::TooManyMessages) => return Ok(None),
    };
    if status.state.is_over() {
        let why = status.remark.as_ref().map(|why| format!(": {why}")).unwrap_or_default();
        (worker.tell)(&format!("job {} {}{why}", status.id.head(), status.state.name()));
        settle(queue, &status)?;
        return handled();
    }
    (worker.tell)(&format!("job {} claimed: {}", status.id.head(), status.headline));
    let stop = worker.stop.part();
    let cache = worker.options.home.join("cache").join(queue_name(&status));
    let remote = Remote { url: job.repository.clone(), cache, stop: stop.clone() };
    let folder = worker.options.home.join("jobs").join(format!("{}-{}", status.id, status.epoch));
    let lock = checkouts::lock(&folder)?;
    let (lost, stop_asked, pulse) =
        (AtomicBool::new(false), AtomicBool::new(false), LeaseClock::new());
    Ok(Some(Claim {
        worker,
        job,
        status,
        remote,
        folder,
        _lock: lock,
        stop,
        lost,
        stop_asked,
        pulse,
    }))
}

/// The cache folder of a repository.
fn queue_name(status: &Status) -> String {
    use sha2::{Digest, Sha256};
    JobId::of_digest(&Sha256::digest(status.repository.as_bytes())).to_string()
}

impl Claim<'_> {
    fn perform(&self, delivery: &Delivery) -> Result<Attempted> {
        let over = Stop::default();
        let end = thread::scope(|scope| {
            let heart = scope.spawn(|| self.heart(delivery, &over));
            let end = if delivery.is_merge() { merging::merge(self) } else { self.run() };
            over.request();
            heart.join().ok();
            end
        });
        let lost = self.lost.load(Ordering::Relaxed);
        let end = match end {
            _ if lost => End::Fenced,
            Ok(end) => end,
            Err(_) if self.worker.stop.requested() => End::Event(Event::HandedBack),
            Err(error) => End::Event(failure_of(&error)),
        };
        match end {
            End::Event(event) => {
                let event = no_fault_of_the_job(event);
                self.finish(delivery, &event)?;
                if let Event::Troubled { why } | Event::Failed { why } = event {
                    return Ok(Attempted::Trouble(why));
                }
            }
            End::Fenced => self.fenced(),
        }
        Ok(Attempted::Done)
    }

    /// Reports the result, then acknowledges the message. An older claim is ignored, and must not
    /// acknowledge the message of the newer one.
    fn finish(&self, delivery: &Delivery, event: &Event) -> Result<()> {
        let (queue, id) = (self.worker.queue, &self.status.id);
        let status = match queue.append(id, self.epoch(), event, now())? {
            Ok(status) => status,
            Err(Rejected::Fenced { .. }) => {
                self.fenced();
                return Ok(());
            }
            Err(rejected) => bail!("{rejected}"),
        };
        let remark = status.remark.as_ref().map(|why| format!(": {why}")).unwrap_or_default();
        (self.worker.tell)(&format!("job {} {}{remark}", id.head(), status.state.name()));
        checkouts::remove(&self.folder);
        settle(queue, &status)?;
        match status.state {
            JobState::Queued if *event == Event::HandedBack => {
                queue.later(delivery, Duration::ZERO)
            }
            JobState::Queued => queue.later(delivery, pause(&status)),
            JobState::Merging if !delivery.is_merge() => {
                queue.send_merge(&status)?;
                queue.done(delivery)
            }
            JobState::Merging => queue.later(delivery, pause(&status)),
            JobState::Running
            | JobState::Waiting
            | JobState::Merged { .. }
            | JobState::Aborted
            | JobState::Failed
            | JobState::Refused => queue.done(delivery),
        }
    }

    fn fenced(&self) {
        let id = self.status.id.head();
        (self.worker.tell)(&format!(
            "job {id} went to another worker; the work done here is kept in salvage"
        ));
        checkouts::salvage(&self.worker.options.home, &self.folder);
    }

    pub(super) fn epoch(&self) -> EventSource {
        EventSource::Worker { epoch: self.status.epoch }
    }

    /// Extends the lease and reads requests of users, until the attempt is over.
    fn heart(&self, delivery: &Delivery, over: &Stop) {
        let lease = self.worker.queue.lease();
        let mut told = 0;
        while over.sleep(lease / 3).is_ok() {
            match self.worker.queue.beat(delivery) {
                Ok(true) => self.pulse.beat(),
                Ok(false) => self.lose(),
                Err(_) if self.pulse.since() > lease => self.lose(),
                Err(_) => continue,
            }
            let Ok(Some(status)) = self.worker.queue.status(&self.status.id) else { continue };
            if status.epoch != self.status.epoch {
                self.lose();
            }
            if status.stop_asked {
                self.stop_asked.store(true, Ordering::Relaxed);
                self.stop.request();
            }
            if let Some(folder) = self.run_folder() {
                steering::post(&folder, &status, told).ok();
                told = status.messages.len();
            }
        }
    }

    fn lose(&self) {
        self.lost.store(true, Ordering::Relaxed);
        self.stop.request();
    }

    pub(super) fn repository(&self) -> PathBuf {
        self.folder.join("repository")
    }

    fn run_folder(&self) -> Option<RunFolder> {
        let project = self.project().ok()?;
        project.store.open().ok()?.pop()
    }

    pub(super) fn project(&self) -> Result<Project> {
        let mut environment = self.worker.environment.clone();
        environment.worktrees = Some(self.folder.join("worktrees"));
        ops::open(&self.repository(), environment, &self.stop)
    }

    /// A checkout with all records of the run. From now on no other worker can push it.
    pub(super) fn take_over(&self) -> Result<Result<(Record<'_>, Option<RunFolder>), End>> {
        let base = &self.job.base;
        let prefixes = [ref_of(&self.status.id), self.status.branch.full_ref()];
        for _ in 0..CLAIM_TRIES_MAX {
            if self.folder.exists() {
                fs::remove_dir_all(&self.folder)
                    .with_context(|| format!("clear {}", self.folder.display()))?;
            }
            private::create_dir_all(&self.folder)
                .with_context(|| format!("create {}", self.folder.display()))?;
            self.remote.fetch(base, &prefixes)?;
            let git = self.remote.checkout(&self.repository(), base, &prefixes)?;
            let head = git.head()?.commit;
            let mut record = Record::read(&self.remote, git, &self.status)?;
            // The latest state in the queue: the worker before may have pushed a moment ago.
            let status = self
                .worker
                .queue
                .status(&self.status.id)?
                .context("the job does not exist any more")?;
            if let Some(at) = record.at()
                && !status.records.contains(at)
            {
                let why = "the run's records in the repository were changed by another process";
                return Ok(Err(End::Event(Event::Refused { why: Label::of(why) })));
            }
            let draft = record.claim(&head)?;
            if !self.progress(&draft.commit, None)? {
                return Ok(Err(End::Fenced));
            }
            match record.push(draft)? {
                PushResult::Yes => {
                    let project = self.project()?;
                    let restored = status
                        .run
                        .as_ref()
                        .map(|run| record.restore(&project, run))
                        .transpose()?
                        .flatten();
                    return Ok(Ok((record, restored)));
                }
                // The worker before pushed between the fetch and the claim. Its work counts.
                PushResult::Fenced => {}
                PushResult::No { words } => bail!("push the claim: {words}"),
            }
        }
        bail!("push the claim: another process keeps changing the run's refs")
    }

    /// Tells the queue the next commit of the run's ref. False: another worker has the job.
    pub(super) fn progress(
        &self,
        record: &redgreen_core::names::Oid,
        run: Option<(&State, Verdicts)>,
    ) -> Result<bool> {
        let (state, verdicts) = run.unzip();
        let spent = state.map_or(self.status.spent, |state| Share {
            tokens: state.spent.tokens,
            microdollars: state.spent.microdollars,
        });
        let run = state.map(|state| state.run.id.clone());
        let (record, phase) = (record.clone(), state.map(State::phase));
        let event = Event::Progress { run, record, phase, spent, verdicts };
        Ok(self.worker.queue.append(&self.status.id, self.epoch(), &event, now())?.is_ok())
    }

    fn run(&self) -> Result<End> {
        let (mut record, restored) = match self.take_over()? {
            Ok(taken) => taken,
            Err(end) => return Ok(end),
        };
        let known = restored.as_ref().map(state_of).transpose()?.flatten();
        if let Some(folder) = &restored {
            steering::post(folder, &self.status, 0)?;
        }
        // The worker before may have died between its last push and its last message.
        let finished = known.as_ref().is_some_and(|state| {
            state.left.as_ref().is_some_and(has_ended) && !steering::continues(&self.status, state)
        });
        let mut output = None;
        if !finished {
            let program = match &restored {
                Some(folder) => {
                    let more = known.as_ref().and_then(|state| steering::item(&self.status, state));
                    let more = more.map(|item| format!("--more={item}"));
                    let mut words = vec!["resume", "--json"];
                    words.extend(more.as_deref());
                    words.push(&folder.id);
                    self.program(&words)
                }
                None => self.first_program()?,
            };
            let (heard, fenced) = self.attend(&program, &mut record)?;
            if fenced {
                return Ok(End::Fenced);
            }
            output = Some(heard);
        }
        let project = self.project()?;
        let Some(folder) = project.store.all()?.pop() else {
            return Ok(End::Event(self.not_begun(output.as_ref())));
        };
        let Some(mut state) = state_of(&folder)? else {
            return Ok(End::Event(self.not_begun(output.as_ref())));
        };
        if self.stop_asked.load(Ordering::Relaxed) {
            let to_the_end = Stop::default();
            let abort = self.program(&["abort", "--json", &folder.id]);
            abort.output(
                Limits { wall: RUN_MAX, output_bytes_max: OUTPUT_BYTES_MAX },
                &to_the_end,
            )?;
            state = state_of(&folder)?.unwrap_or(state);
        }
        // A run that did not finish continues elsewhere from its last accepted phase, which is
        // already pushed.
        let left = state.left.as_ref().is_some_and(has_ended);
        if !finished && left {
            let draft = record.draft(&folder, None)?;
            if !self.progress(&draft.commit, Some((&state, verdicts::verdicts(&folder)?)))?
                || record.push(draft)? == PushResult::Fenced
            {
                return Ok(End::Fenced);
            }
        }
        self.remote_notes(&record)?;
        Ok(End::Event(self.ended(&state, output.as_ref())))
    }

    /// The notes of all runs, at their usual place. The records contain them too, so nothing is
    /// lost before.
    pub(super) fn remote_notes(&self, record: &Record<'_>) -> Result<()> {
        let remote = Remote { stop: Stop::default(), ..self.remote.clone() };
        remote.push_notes(&record.git)
    }

    /// Runs the engine, and pushes each accepted phase during the next one. Tells the queue about
    /// refused work at once.
    fn attend(&self, program: &Program, record: &mut Record<'_>) -> Result<(Output, bool)> {
        let (sender, phases) = mpsc::channel::<Heard>();
        let limits = Limits { wall: RUN_MAX, output_bytes_max: OUTPUT_BYTES_MAX };
        thread::scope(|scope| {
            let pusher = scope.spawn(move || -> Result<bool> {
                while let Ok(first) = phases.recv() {
                    // Only the latest of each kind counts.
                    let (mut line, mut objection) = (None, None);
                    for heard in iter::once(first).chain(phases.try_iter()) {
                        match heard {
                            Heard::Accepted(accepted) => (line, objection) = (Some(accepted), None),
                            Heard::Objected(why) => objection = Some(why),
                        }
                    }
                    let is_ours = match line {
                        Some(line) => self.push_phase(record, line)?,
                        None => true,
                    };
                    if !is_ours || !objection.map_or(Ok(true), |why| self.object(why))? {
                        self.lose();
                        return Ok(false);
                    }
                }
                Ok(true)
            });
            let mut listener = |heard: ProcessEvent<'_>| {
                if let ProcessEvent::Line { text, .. } = heard
                    && let Some(heard) = verdicts::heard(text)
                {
                    sender.send(heard).ok();
                }
                Answer::Nothing
            };
            let output = program.attended(limits, &self.stop, Attention::Listening(&mut listener));
            drop(sender);
            let pushed =
                pusher.join().unwrap_or_else(|_| bail!("the thread that pushes ended early"));
            let output = match output {
                Ok(output) => output,
                // Stopped by us. Accepted phases are pushed.
                Err(error) if error.is::<crate::process::Interrupted>() => Output {
                    exit: Exit::Code(Code::Interrupted as i32),
                    stdout: Vec::new(),
                    stderr: Vec::new(),
                    cut: false,
                    wall: Duration::ZERO,
                },
                Err(error) => return Err(error),
            };
            Ok((output, !pushed?))
        })
    }

    /// False: another worker has the job.
    fn push_phase(&self, record: &mut Record<'_>, line: u64) -> Result<bool> {
        let Some(folder) = self.run_folder() else { return Ok(true) };
        let Some(state) = state_of(&folder)? else { return Ok(true) };
        let draft = record.draft(&folder, Some(line))?;
        if !self.progress(&draft.commit, Some((&state, verdicts::verdicts(&folder)?)))? {
            return Ok(false);
        }
        match record.push(draft)? {
            PushResult::Yes => Ok(true),
            PushResult::Fenced => Ok(false),
            PushResult::No { words } => bail!("push the run: {words}"),
        }
    }

    /// False: another worker has the job.
    fn object(&self, why: Label) -> Result<bool> {
        let Some(folder) = self.run_folder() else { return Ok(true) };
        let event = Event::Objected { verdicts: verdicts::verdicts(&folder)?, why };
        match self.worker.queue.append(&self.status.id, self.epoch(), &event, now())? {
            Ok(_) | Err(Rejected::Unfit { .. }) => Ok(true),
            Err(Rejected::Fenced { .. } | Rejected::Duplicate | Rejected::TooManyMessages) => {
                Ok(false)
            }
        }
    }

    /// This program with a command, in the job's checkout.
    pub(super) fn program(&self, words: &[&str]) -> Program {
        let own = std::env::current_exe().unwrap_or_else(|_| PathBuf::from("redgreen"));
        let program = Program::new(own).args(words.iter().copied()).cwd(self.repository());
        let program = program
            .env("REDGREEN_WORKTREES", self.folder.join("worktrees"))
            .env("REDGREEN_OF_WORKER", "1");
        let trusted = self.worker.environment.trust
            || self.worker.options.trusted.contains(&self.job.repository);
        if trusted {
            program.env("REDGREEN_TRUST", "1")
        } else {
            program.env_remove("REDGREEN_TRUST")
        }
    }

    /// `redgreen run` with the options of the job.
    fn first_program(&self) -> Result<Program> {
        let Job { base, limits, .. } = &self.job;
        let mut words = vec!["run".to_owned(), "--json".to_owned(), "--no-input".to_owned()];
        let mut option = |name: &str, value: Option<String>| {
            words.extend(value.map(|value| format!("--{name}={value}")));
        };
        option("onto", Some(base.to_string()));
        option("branch", Some(self.status.branch.to_string()));
        option("budget-tokens", limits.tokens.map(|tokens| tokens.to_string()));
        option(
            "budget-usd",
            limits
                .microdollars
                .map(|count| format!("{}.{:06}", count / 1_000_000, count % 1_000_000)),
        );
        option("deadline", limits.seconds.map(|seconds| seconds.to_string()));
        option("max-cycles", limits.cycles.map(|cycles| cycles.to_string()));
        option("max-retries", limits.retries.map(|retries| retries.to_string()));
        let usual = &self.worker.options.agents;
        option(
            "agent",
            self.job.agent.as_ref().map(ToString::to_string).or_else(|| usual.agent.clone()),
        );
        option(
            "model",
            self.job.model.as_ref().map(ToString::to_string).or_else(|| usual.model.clone()),
        );
        option("script", usual.script.as_ref().map(|script| script.display().to_string()));
        match &self.job.wish {
            BriefSource::Request { text } => words.extend(["--".to_owned(), text.clone()]),
            BriefSource::Spec { syntax, text } => {
                let name = match syntax {
                    Syntax::Json => "spec.json",
                    Syntax::Yaml => "spec.yaml",
                };
                words.push(format!("--spec={}", self.brief(name, text)?.display()));
            }
            BriefSource::Task { text } => {
                words.push(format!("--task={}", self.brief("task.json", text)?.display()));
            }
            BriefSource::Design { issue, file } => {
                words.extend([format!("--issue={issue}"), format!("--lld={}", file.as_str())]);
            }
        }
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        Ok(self.program(&words))
    }

    /// A brief that came with the job, next to the checkout.
    fn brief(&self, name: &str, text: &str) -> Result<PathBuf> {
        let path = self.folder.join(name);
        private::write(&path, text.as_bytes())
            .with_context(|| format!("write {}", path.display()))?;
        Ok(path)
    }

    /// The engine ended before there was a run.
    fn not_begun(&self, output: Option<&Output>) -> Event {
        let Some(output) = output else { return Event::HandedBack };
        if self.stop_asked.load(Ordering::Relaxed) {
            return Event::Aborted;
        }
        if self.worker.stop.requested() {
            return Event::HandedBack;
        }
        let why = words_of(output);
        if output.exit == Exit::Code(Code::Usage as i32) {
            Event::Refused { why }
        } else {
            Event::Failed { why }
        }
    }

    fn ended(&self, state: &State, output: Option<&Output>) -> Event {
        if self.stop_asked.load(Ordering::Relaxed) {
            return Event::Aborted;
        }
        let failed =
            || Event::Failed { why: output.map_or_else(|| Label::of("the run stopped"), words_of) };
        match &state.left {
            Some(Outcome::Interrupted) | None if self.worker.stop.requested() => Event::HandedBack,
            Some(
                Outcome::Interrupted
                | Outcome::AgentUnusable { .. }
                | Outcome::BaselineUnusable { .. },
            )
            | None => failed(),
            Some(outcome @ Outcome::Waiting) => stopped(outcome, true),
            Some(
                outcome @ (Outcome::Merged
                | Outcome::Aborted
                | Outcome::MergeBlocked { .. }
                | Outcome::GaveUp { .. }
                | Outcome::NothingDeveloped { .. }
                | Outcome::Undecided { .. }
                | Outcome::BudgetSpent { .. }
                | Outcome::Paused { .. }
                | Outcome::RolledBack { .. }),
            ) => stopped(outcome, false),
        }
    }
}

/// Whether the run got as far as it can. Otherwise another worker may get further.
fn has_ended(left: &Outcome) -> bool {
    !matches!(
        left,
        Outcome::Interrupted | Outcome::AgentUnusable { .. } | Outcome::BaselineUnusable { .. }
    )
}

pub(super) fn state_of(folder: &RunFolder) -> Result<Option<State>> {
    Ok(journal::read(folder)?.0)
}

/// The default folder for the checkouts of workers.
pub fn usual_home() -> Result<PathBuf> {
    let folder = config::worktree_root(&config::File::default(), &config::Environment::default())?;
    Ok(folder.parent().unwrap_or(Path::new("/")).join("fleet"))
}
