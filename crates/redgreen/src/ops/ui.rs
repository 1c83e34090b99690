//! `redgreen ui`: all runs of a repository for a reviewer, and the reviewer's actions. Every action
//! uses the same functions as the commands.

mod act;
mod comments;
mod diff;
mod evidence;

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;

use anyhow::Result;
use redgreen_core::agent::AgentActivity;
use redgreen_core::event::Outcome;
use redgreen_core::names::RunId;
use redgreen_core::phase::Phase;
use redgreen_core::policy::RunCost;
use redgreen_core::steps::{AttemptRecord, Steps};
use redgreen_core::{attempts, tally, text};

use act::Notices;
pub use act::{Action, Notice};
pub use comments::{Draft, PlacedComment};
pub use diff::{Diff, FileDiff, HunkCycles, View};
pub use evidence::{Evidence, FailedTest};

use super::open;
use crate::config::Environment;
use crate::engine::Project;
use crate::failure::Failure;
use crate::foreign;
use crate::journal::{self, LivePlace, RunFolder, StepsTail, mailbox};
use crate::process::Stop;

/// The maximum number of runs in memory: the last ones that were viewed.
const KEPT_RUNS_MAX: usize = 3;
/// The maximum number of runs in the list.
const ROWS_MAX: usize = 1_000;
/// The size limit of a transcript.
const TRANSCRIPT_BYTES_MAX: u64 = 1 << 20;

/// The runs of one repository.
#[derive(Debug)]
pub struct Reviews {
    /// For reading. Actions open their own, with the current settings.
    project: Project,
    folder: PathBuf,
    environment: Environment,
    stop: Stop,
    rows: Mutex<HashMap<RunId, (u64, Row)>>,
    /// The last viewed run is last.
    kept: Mutex<Vec<(RunId, Arc<Mutex<StepsTail>>)>>,
    /// One writer of comments at a time.
    writing: Mutex<()>,
    notices: Notices,
    workers: Mutex<Vec<JoinHandle<()>>>,
}

/// A run in the list.
#[derive(Clone, Debug)]
pub struct Row {
    pub id: RunId,
    pub request: String,
    pub standing: &'static str,
    pub phase: Phase,
    pub cycles: u32,
    pub written: u64,
    pub at_work: bool,
    pub is_over: bool,
    pub started: i64,
    pub spent: RunCost,
}

/// The current state of a run, next to its steps.
#[derive(Clone, Debug)]
pub struct RunStatus {
    pub at_work: bool,
    /// Messages that wait for the next turn.
    pub unread: usize,
    pub notice: Option<Notice>,
    pub can: Actions,
}

/// The possible actions on a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "each is a separate button")]
pub struct Actions {
    pub approve: bool,
    pub abort: bool,
    pub resume: bool,
    pub reject: bool,
    pub say: bool,
    pub pause: bool,
    pub request_changes: bool,
    /// REFACTOR can be repeated with the comments.
    pub refactor: bool,
    /// The evidence about several attempts is equal.
    pub choose: bool,
}

impl Reviews {
    pub fn new(folder: PathBuf, environment: Environment, stop: Stop) -> Result<Self> {
        let project = open(&folder, environment.clone(), &stop)?;
        Ok(Self {
            project,
            folder,
            environment,
            stop,
            rows: Mutex::default(),
            kept: Mutex::default(),
            writing: Mutex::default(),
            notices: Notices::default(),
            workers: Mutex::default(),
        })
    }

    pub fn is_over(&self) -> bool {
        self.stop.requested()
    }

    /// The name of the repository's folder.
    pub fn name(&self) -> String {
        self.project
            .git
            .root
            .file_name()
            .map_or_else(String::new, |name| name.to_string_lossy().into_owned())
    }

    /// All runs, newest first, open ones before the others. Unreadable runs are listed separately.
    pub fn runs(&self) -> Result<(Vec<Row>, Vec<RunId>)> {
        let (mut rows, mut unreadable) = (Vec::new(), Vec::new());
        for folder in self.project.store.all()?.into_iter().rev().take(ROWS_MAX) {
            match self.row(&folder) {
                Ok(Some(row)) => rows.push(row),
                Ok(None) => {}
                Err(_) => unreadable.push(folder.id),
            }
        }
        rows.sort_by_key(|row| row.is_over);
        Ok((rows, unreadable))
    }

    fn row(&self, folder: &RunFolder) -> Result<Option<Row>> {
        let length = journal_bytes(folder);
        let at_work = journal::is_busy(folder);
        if let Some((known, row)) = locked(&self.rows).get(&folder.id)
            && *known == length
        {
            return Ok(Some(Row { at_work, ..row.clone() }));
        }
        let mut tail = StepsTail::new(folder)?;
        tail.more()?;
        let Some(run) = &tail.steps.run else { return Ok(None) };
        let row = Row {
            id: folder.id.clone(),
            request: run.brief.request.clone(),
            standing: tally::standing_of(tail.steps.left.as_ref()),
            phase: tail.steps.phase.unwrap_or(Phase::Plan),
            cycles: tail.steps.cycles(),
            written: tail.steps.written,
            at_work,
            is_over: tail.steps.is_over,
            started: tail.steps.started,
            spent: tail.steps.spent.clone(),
        };
        locked(&self.rows).insert(folder.id.clone(), (tail.read_bytes(), row.clone()));
        Ok(Some(row))
    }

    /// The run with this id, or the end of it.
    pub fn find(&self, id: &str) -> Result<RunFolder> {
        self.project.store.find(id)
    }

    /// Reads the current steps of a run.
    pub fn look<T>(&self, folder: &RunFolder, see: impl FnOnce(&Steps) -> T) -> Result<T> {
        let tail = self.tail(folder)?;
        let mut tail = locked(&tail);
        tail.more()?;
        if tail.steps.run.is_none() {
            return Err(Failure::environment(format!("run {} never started", folder.id))
                .next(format!("redgreen abort {}", folder.id))
                .into());
        }
        Ok(see(&tail.steps))
    }

    fn tail(&self, folder: &RunFolder) -> Result<Arc<Mutex<StepsTail>>> {
        let mut kept = locked(&self.kept);
        if let Some(at) = kept.iter().position(|(id, _)| *id == folder.id) {
            let known = kept.remove(at);
            let tail = Arc::clone(&known.1);
            kept.push(known);
            return Ok(tail);
        }
        if kept.len() >= KEPT_RUNS_MAX {
            kept.remove(0);
        }
        let tail = Arc::new(Mutex::new(StepsTail::new(folder)?));
        kept.push((folder.id.clone(), Arc::clone(&tail)));
        Ok(tail)
    }

    pub fn now(&self, folder: &RunFolder, steps: &Steps) -> RunStatus {
        let at_work = journal::is_busy(folder);
        RunStatus {
            at_work,
            unread: mailbox::waiting(folder).map_or(0, |waiting| waiting.len()),
            notice: self.notices.get(&folder.id),
            can: can(steps, at_work),
        }
    }

    /// The stored transcript of a turn. Each of several attempts has its own.
    pub fn transcript(
        &self,
        folder: &RunFolder,
        turn: u32,
        attempt: Option<u32>,
    ) -> Result<Option<String>> {
        let role = self.look(folder, |steps| {
            let now = steps.attempts_now();
            let of_attempts = steps.steps.iter().flat_map(|step| &step.candidates).chain(&now);
            let of_attempts = of_attempts.filter_map(|attempt| attempt.turn.as_ref());
            let mut turns = steps.steps.iter().flat_map(|step| &step.turns).chain(of_attempts);
            turns.find(|work| work.number == turn).map(|work| work.role)
        })?;
        let Some(role) = role else { return Ok(None) };
        let ending = attempt.map(|number| format!("-attempt-{number}")).unwrap_or_default();
        let path = folder.transcripts().join(format!("{turn:03}-{role}{ending}.md"));
        let bytes = foreign::read(&path, TRANSCRIPT_BYTES_MAX)?;
        Ok(bytes.map(|bytes| String::from_utf8_lossy(&bytes).into_owned()))
    }

    /// The attempts of a step, or of the round that is at work.
    pub fn attempts(steps: &Steps, step: usize) -> Vec<AttemptRecord> {
        diff::attempts(steps, step)
    }

    /// Changes whenever the page of these runs would.
    pub fn stamp(&self, run: Option<&str>) -> String {
        let one = |folder: &RunFolder| {
            let notice = self.notices.get(&folder.id).map_or(0, |notice| notice.number);
            let waiting = mailbox::waiting(folder).map_or(0, |waiting| waiting.len());
            let busy = u8::from(journal::is_busy(folder));
            format!(
                "{}-{busy}-{waiting}-{notice}-{}",
                journal_bytes(folder),
                file_bytes(&folder.comments())
            )
        };
        match run {
            Some(id) => self.find(id).map_or_else(|_| "none".to_owned(), |folder| one(&folder)),
            None => {
                let all = self.project.store.all().unwrap_or_default();
                let open = self.project.store.open().unwrap_or_default();
                let open: Vec<String> = open.iter().map(one).collect();
                format!("{} {}", all.len(), open.join(" "))
            }
        }
    }

    /// What the agent says in the turn that is going on, after a place, and where it ends now.
    pub fn live(&self, run: &str, from: LivePlace) -> (String, LivePlace) {
        let Ok(folder) = self.find(run) else { return Default::default() };
        // A run that was killed leaves its last words.
        if !journal::is_busy(&folder) {
            return Default::default();
        }
        let words = journal::words(&folder, from);
        let mut text = String::new();
        for (_, _, said) in words.said {
            match said {
                AgentActivity::Text(words) => text.push_str(&text::visible(&words)),
                AgentActivity::Tool { name, what } => {
                    let line = format!("\n\u{b7} {name} {what}\n");
                    text.push_str(&text::visible(&line));
                }
                AgentActivity::Cost(_) => {}
            }
        }
        (text, words.until)
    }

    /// Waits for runs that were started here. They stop on request, and can be resumed.
    pub fn end(&self) {
        for worker in std::mem::take(&mut *locked(&self.workers)) {
            // Errors were already shown as a notice.
            worker.join().ok();
        }
    }
}

fn can(steps: &Steps, at_work: bool) -> Actions {
    if steps.is_over {
        return Actions::default();
    }
    if at_work {
        return Actions { say: true, pause: true, request_changes: true, ..Actions::default() };
    }
    let is_done = matches!(steps.left, Some(Outcome::Waiting | Outcome::MergeBlocked { .. }));
    let is_tie = matches!(
        &steps.left,
        Some(Outcome::Undecided { trouble, .. }) if trouble.kind == attempts::TIE
    );
    let after_test = matches!(
        steps.left,
        Some(Outcome::Paused { after: Phase::Red | Phase::Green | Phase::Refactor, .. })
    );
    Actions {
        approve: is_done,
        abort: true,
        // Without a choice, it would stop again.
        resume: !is_done && !is_tie,
        reject: after_test,
        say: true,
        pause: false,
        request_changes: !is_tie,
        refactor: is_done && steps.last_green().is_some(),
        choose: is_tie,
    }
}

fn journal_bytes(folder: &RunFolder) -> u64 {
    file_bytes(&journal::path(folder))
}

fn file_bytes(path: &std::path::Path) -> u64 {
    std::fs::symlink_metadata(path).map_or(0, |facts| facts.len())
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
