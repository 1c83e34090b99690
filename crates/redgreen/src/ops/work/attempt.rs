//! One delivery of a job: whether it may start, the claim, the run with its pushes, and the result.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use redgreen_core::event::Outcome;
use redgreen_core::fleet::budget::{BudgetError, Share};
use redgreen_core::fleet::status::{
    Event, EventSource, JobState, Readiness, Rejected, Status, ready,
};
use redgreen_core::fleet::{BriefSource, Job, Syntax};
use redgreen_core::names::{JobId, Label};
use redgreen_core::report::Exit;
use redgreen_core::state::State;
use redgreen_core::steer::Message;

use super::ending::{failure_of, no_fault_of_the_job, pause, stopped, words_of};
use super::record::{PushResult, Record, ref_of};
use super::{LeaseClock, Worker, checkouts, merging};
use crate::config;
use crate::engine::{Project, now};
use crate::failure::Code;
use crate::git::Remote;
use crate::journal::{self, RunFolder, mailbox};
use crate::ops;
use crate::private;
use crate::process::{Answer, Attention, Limits, Output, ProcessEvent, Program, Stop};
use crate::queue::{Delivery, Queue};

/// How soon a job that cannot start yet comes back.
const NOT_YET: Duration = Duration::from_secs(2);
const NO_BUDGET: Duration = Duration::from_secs(20);
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
    /// Its disk or its network failed, and others get the job.
    Trouble(Label),
}

pub(super) fn attempt(worker: &Worker<'_>, delivery: &Delivery) -> Result<Attempted> {
    match claim(worker, delivery)? {
        Some(claim) => claim.perform(delivery),
        None => Ok(Attempted::Done),
    }
}

/// Claims the job. `None` if there is nothing to do now, and the message is handled.
fn claim<'a>(worker: &'a Worker<'a>, delivery: &Delivery) -> Result<Option<Claim<'a>>> {
    let queue = worker.queue;
    let handled = || queue.done(delivery).map(|()| None);
    let Some((job, status)) = queue.job(&delivery.job)?.zip(queue.status(&delivery.job)?) else {
        return handled();
    };
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

enum Start {
    Yes {
        day: Option<Label>,
    },
    /// The message is handled.
    No,
}

/// Whether earlier jobs are done, and the budget suffices.
fn may_start(
    worker: &Worker<'_>,
    delivery: &Delivery,
    job: &Job,
    status: &Status,
) -> Result<Start> {
    let queue = worker.queue;
    if delivery.is_merge() {
        return Ok(Start::Yes { day: None });
    }
    let refuse = |why: Label| -> Result<Start> {
        (worker.tell)(&format!("job {} refused: {why}", status.id.head()));
        // Another worker was faster and already reported it.
        queue.append(&status.id, EventSource::Anyone, &Event::Refused { why }, now())?.ok();
        queue.done(delivery)?;
        Ok(Start::No)
    };
    let defer = |why: Label, pause: Duration| -> Result<Start> {
        if status.remark.as_ref() != Some(&why) {
            queue.append(&status.id, EventSource::Anyone, &Event::Deferred { why }, now())?.ok();
        }
        queue.later(delivery, pause)?;
        Ok(Start::No)
    };
    let mut before = Vec::new();
    for id in &job.after {
        before.push((id, queue.status(id)?.map(|status| status.state)));
    }
    match ready(&job.after, |id| before.iter().find(|(known, _)| *known == id)?.1.clone()) {
        Readiness::Yes => {}
        Readiness::NotYet { why } => return defer(why, NOT_YET),
        Readiness::Never { why } => return refuse(why),
    }
    let allowance = queue.allowance()?;
    if allowance.is_unlimited() || status.day.is_some() {
        return Ok(Start::Yes { day: None });
    }
    let today = today();
    match queue.change_day(&today, |day| day.reserve(&allowance, &status.id, &job.limits))? {
        Ok(_) => Ok(Start::Yes { day: Some(Label::of(&today)) }),
        Err(BudgetError::Today { words }) => defer(Label::of(&words), NO_BUDGET),
        Err(BudgetError::Never { words }) => refuse(Label::of(&words)),
        Err(BudgetError::NoLimit { option }) => refuse(Label::of(&format!(
            "the fleet has a daily budget, but the job has no budget: {option}"
        ))),
    }
}

/// Returns what a job has reserved and will not spend.
pub fn settle(queue: &Queue, status: &Status) -> Result<()> {
    let may_spend = matches!(status.state, JobState::Queued | JobState::Running);
    if let (Some(day), false) = (&status.day, may_spend) {
        let (id, spent) = (&status.id, status.spent);
        queue.change_day(day, |day| Ok::<_, ()>(day.settle(id, spent)))?.ok();
    }
    Ok(())
}

/// The day for budgets, the same on every worker.
pub fn today() -> String {
    let date = jiff::Timestamp::from_millisecond(now()).unwrap_or_default();
    date.strftime("%Y-%m-%d").to_string()
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
                if let Event::Troubled { why } = event {
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
                for text in status.messages.iter().skip(told) {
                    mailbox::post(&folder, &Message::Say { text: text.clone() }, now()).ok();
                }
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
        state: Option<&State>,
    ) -> Result<bool> {
        let spent = state.map_or(self.status.spent, |state| Share {
            tokens: state.spent.tokens,
            microdollars: state.spent.microdollars,
        });
        let run = state.map(|state| state.run.id.clone());
        let event =
            Event::Progress { run, record: record.clone(), phase: state.map(State::phase), spent };
        Ok(self.worker.queue.append(&self.status.id, self.epoch(), &event, now())?.is_ok())
    }

    fn run(&self) -> Result<End> {
        let (mut record, restored) = match self.take_over()? {
            Ok(taken) => taken,
            Err(end) => return Ok(end),
        };
        let known = restored.as_ref().map(state_of).transpose()?.flatten();
        // The worker before may have died between its last push and its last message.
        let finished = known.as_ref().is_some_and(|state| {
            state.left.as_ref().is_some_and(|left| *left != Outcome::Interrupted)
        });
        let mut output = None;
        if !finished {
            let program = match &restored {
                Some(folder) => self.program(&["resume", "--json", &folder.id]),
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
        let left = state.left.as_ref().is_some_and(|left| *left != Outcome::Interrupted);
        if !finished && left {
            let draft = record.draft(&folder, None)?;
            if !self.progress(&draft.commit, Some(&state))?
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

    /// Runs the engine, and pushes each accepted phase during the next one.
    fn attend(&self, program: &Program, record: &mut Record<'_>) -> Result<(Output, bool)> {
        let (sender, phases) = mpsc::channel::<u64>();
        let limits = Limits { wall: RUN_MAX, output_bytes_max: OUTPUT_BYTES_MAX };
        thread::scope(|scope| {
            let pusher = scope.spawn(move || -> Result<bool> {
                while let Ok(mut line) = phases.recv() {
                    // Only the latest counts.
                    while let Ok(later) = phases.try_recv() {
                        line = later;
                    }
                    if !self.push_phase(record, line)? {
                        self.lose();
                        return Ok(false);
                    }
                }
                Ok(true)
            });
            let mut listener = |heard: ProcessEvent<'_>| {
                if let ProcessEvent::Line { text, .. } = heard
                    && let Some(line) = accepted(text)
                {
                    sender.send(line).ok();
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
        if !self.progress(&draft.commit, Some(&state))? {
            return Ok(false);
        }
        match record.push(draft)? {
            PushResult::Yes => Ok(true),
            PushResult::Fenced => Ok(false),
            PushResult::No { words } => bail!("push the run: {words}"),
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

/// The journal line of an accepted phase with its note.
fn accepted(text: &[u8]) -> Option<u64> {
    #[derive(serde::Deserialize)]
    struct JournalLine {
        seq: u64,
        event: String,
    }
    let noted: JournalLine = serde_json::from_slice(text).ok()?;
    (noted.event == "noted").then_some(noted.seq)
}

pub(super) fn state_of(folder: &RunFolder) -> Result<Option<State>> {
    Ok(journal::read(folder)?.0)
}

/// The default folder for the checkouts of workers.
pub fn usual_home() -> Result<PathBuf> {
    let folder = config::worktree_root(&config::File::default(), &config::Environment::default())?;
    Ok(folder.parent().unwrap_or(Path::new("/")).join("fleet"))
}
