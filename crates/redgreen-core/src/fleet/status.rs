//! The status of a job, as a fold over events. Every claim starts a new epoch, and events of older
//! epochs are refused, so a late worker changes nothing. The queue stores the status by
//! compare-and-swap.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::budget::Share;
use super::{Job, MergeWhen, Priority, VERSION};
use crate::names::{Branch, JobId, Label, Oid, Repository, RunBranch, RunId, Tag};
use crate::phase::Phase;

/// A job fails after this many failures of workers.
pub const FAILURES_MAX: u32 = 5;
/// A job fails after this many workers could not work on it for reasons of their own, such as a full
/// disk or no network.
pub const TROUBLES_MAX: u32 = 12;
/// A job fails after this many workers in a row that were lost with it, such as killed by what its
/// tests do. An accepted phase resets the count.
pub const LOST_WORKERS_MAX: u32 = 5;
/// The latest events that a status keeps.
const LOG_MAX: usize = 40;
/// The number of kept records. A push that failed leaves one that is not the last.
const RECORDS_MAX: usize = 8;
/// The maximum number of messages for a job.
const MESSAGES_MAX: usize = 100;

/// A job as the queue sees it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Status {
    pub version: u32,
    pub id: JobId,
    pub headline: Label,
    pub repository: Repository,
    pub base: Branch,
    pub branch: RunBranch,
    pub priority: Priority,
    #[serde(default)]
    pub labels: Vec<Tag>,
    #[serde(default)]
    pub after: Vec<JobId>,
    pub merge: MergeWhen,
    pub state: JobState,
    /// The number of claims. Only events of the latest one count.
    pub epoch: u64,
    /// The queue message of the latest claim.
    #[serde(default)]
    pub message: u64,
    pub worker: Option<Label>,
    pub run: Option<RunId>,
    pub phase: Option<Phase>,
    /// The latest commits that workers made for the run's ref. Any other commit there is from
    /// somebody else.
    #[serde(default)]
    pub records: Vec<Oid>,
    /// The cost of the run so far.
    #[serde(default)]
    pub spent: Share,
    /// The day of its budget reservation.
    #[serde(default)]
    pub day: Option<Label>,
    #[serde(default)]
    pub failures: u32,
    /// How often a worker gave it to others because of its own disk or network.
    #[serde(default)]
    pub troubles: u32,
    /// The workers that were lost with it since its last accepted phase.
    #[serde(default)]
    pub lost: u32,
    /// How often it entered the merge queue.
    #[serde(default)]
    pub merges: u32,
    /// Messages for the agents of the run, in the order they were sent.
    #[serde(default)]
    pub messages: Vec<String>,
    /// Somebody requested its end, and its worker does not know yet.
    #[serde(default)]
    pub stop_asked: bool,
    /// A remark about the state, if there is one.
    pub remark: Option<Label>,
    /// Milliseconds since 1970.
    pub submitted_at: i64,
    pub changed_at: i64,
    #[serde(default)]
    pub log: Vec<Entry>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "state", rename_all = "kebab-case", rename_all_fields = "camelCase")]
pub enum JobState {
    /// Waits for a worker.
    Queued,
    Running,
    /// The run waits for a human.
    Waiting,
    /// Approved: it is in the merge queue of its target, or being merged.
    Merging,
    Merged {
        commit: Oid,
    },
    /// Somebody cancelled or aborted it.
    Aborted,
    /// Workers could not do it.
    Failed,
    /// It must not run.
    Refused,
}

/// One line of a job's history.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Entry {
    pub at: i64,
    pub epoch: u64,
    pub event: Label,
}

/// An event of a job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// A worker takes it, to run or to merge it.
    Claimed {
        worker: Label,
        message: u64,
        day: Option<Label>,
    },
    /// The run is about to be pushed. `record` is the next commit of its ref.
    Progress {
        run: Option<RunId>,
        record: Oid,
        phase: Option<Phase>,
        spent: Share,
    },
    /// The run needs a human.
    Stopped {
        why: Label,
        finished: bool,
    },
    /// The run failed on this worker.
    Failed {
        why: Label,
    },
    /// The worker cannot work, for a reason that has nothing to do with the job.
    Troubled {
        why: Label,
    },
    /// The worker stops, and leaves the job to others.
    HandedBack,
    /// The job cannot start yet.
    Deferred {
        why: Label,
    },
    /// It must not run at all.
    Refused {
        why: Label,
    },
    /// A human approves the run.
    Approved {
        by: Label,
    },
    Merged {
        commit: Oid,
    },
    MergeBlocked {
        why: Label,
    },
    /// A human requests its end.
    StopAsked {
        by: Label,
    },
    Aborted,
    /// A human sends a message to the agents.
    Said {
        text: String,
    },
}

/// The origin of an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EventSource {
    /// The worker with the claim of this epoch.
    Worker { epoch: u64 },
    /// A human, or a worker before its claim.
    Anyone,
}

/// Why an event was refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Rejected {
    /// Another worker has claimed the job since.
    Fenced {
        epoch: u64,
        latest: u64,
    },
    /// It cannot happen in this state.
    Unfit {
        event: &'static str,
        state: &'static str,
    },
    /// Another message for the same job is being worked on.
    Duplicate,
    TooManyMessages,
}

impl fmt::Display for Rejected {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Rejected::Fenced { epoch, latest } => {
                write!(
                    out,
                    "another worker has the job: this is claim {epoch}, the latest is {latest}"
                )
            }
            Rejected::Unfit { event, state } => {
                write!(out, "a job that is {state} cannot be {event}")
            }
            Rejected::Duplicate => out.write_str("a worker already works on the job"),
            Rejected::TooManyMessages => {
                write!(out, "the job has {MESSAGES_MAX} messages, and takes no more")
            }
        }
    }
}

impl JobState {
    pub fn name(&self) -> &'static str {
        match self {
            JobState::Queued => "queued",
            JobState::Running => "running",
            JobState::Waiting => "waiting",
            JobState::Merging => "merging",
            JobState::Merged { .. } => "merged",
            JobState::Aborted => "aborted",
            JobState::Failed => "failed",
            JobState::Refused => "refused",
        }
    }

    /// Whether the job is over.
    pub fn is_over(&self) -> bool {
        match self {
            JobState::Queued | JobState::Running | JobState::Waiting | JobState::Merging => false,
            JobState::Merged { .. } | JobState::Aborted | JobState::Failed | JobState::Refused => {
                true
            }
        }
    }
}

impl Event {
    fn name(&self) -> &'static str {
        match self {
            Event::Claimed { .. } => "claimed",
            Event::Progress { .. } => "pushed",
            Event::Stopped { .. } => "stopped",
            Event::Failed { .. } | Event::Troubled { .. } => "failed",
            Event::HandedBack => "handed back",
            Event::Deferred { .. } => "deferred",
            Event::Refused { .. } => "refused",
            Event::Approved { .. } => "approved",
            Event::Merged { .. } => "merged",
            Event::MergeBlocked { .. } => "blocked",
            Event::StopAsked { .. } => "stopped",
            Event::Aborted => "aborted",
            Event::Said { .. } => "told anything",
        }
    }

    /// The text for the history. Progress and deferrals are omitted, because there are many.
    fn words(&self) -> Option<String> {
        match self {
            Event::Claimed { worker, .. } => Some(format!("claimed by {worker}")),
            Event::Progress { .. } | Event::Deferred { .. } => None,
            Event::Stopped { why, .. } => Some(format!("stopped: {why}")),
            Event::Failed { why } => Some(format!("failed: {why}")),
            Event::Troubled { why } => Some(format!("returned to the queue: {why}")),
            Event::Refused { why } => Some(format!("refused: {why}")),
            Event::Approved { by } => Some(format!("approved by {by}")),
            Event::MergeBlocked { why } => Some(format!("not merged: {why}")),
            Event::StopAsked { by } => Some(format!("stop requested by {by}")),
            Event::HandedBack | Event::Merged { .. } | Event::Aborted | Event::Said { .. } => {
                Some(self.name().to_owned())
            }
        }
    }
}

impl Status {
    /// A job that was just submitted.
    pub fn submitted(id: &JobId, job: &Job, at: i64) -> Self {
        Self {
            version: VERSION,
            id: id.clone(),
            headline: job.headline(),
            repository: job.repository.clone(),
            base: job.base.clone(),
            branch: job.branch(id),
            priority: job.priority,
            labels: job.labels.clone(),
            after: job.after.clone(),
            merge: job.merge,
            state: JobState::Queued,
            epoch: 0,
            message: 0,
            worker: None,
            run: None,
            phase: None,
            records: Vec::new(),
            spent: Share::default(),
            day: None,
            failures: 0,
            troubles: 0,
            lost: 0,
            merges: 0,
            messages: Vec::new(),
            stop_asked: false,
            remark: None,
            submitted_at: at,
            changed_at: at,
            log: Vec::new(),
        }
    }

    /// The status after an event, or why it was refused.
    pub fn apply(mut self, from: EventSource, event: &Event, at: i64) -> Result<Self, Rejected> {
        if let EventSource::Worker { epoch } = from
            && epoch != self.epoch
        {
            return Err(Rejected::Fenced { epoch, latest: self.epoch });
        }
        let unfit = Rejected::Unfit { event: event.name(), state: self.state.name() };
        self.state = match (event, self.state.clone()) {
            (Event::Claimed { message, .. }, JobState::Running) if *message != self.message => {
                return Err(Rejected::Duplicate);
            }
            (
                Event::Claimed { worker, message, day },
                state @ (JobState::Queued | JobState::Running | JobState::Merging),
            ) => {
                self.epoch = self.epoch.saturating_add(1);
                self.message = *message;
                self.day = day.clone().or(self.day);
                // A worker that ends says so; this one's lease ended by itself.
                self.lost = self.lost.saturating_add(u32::from(self.worker.is_some()));
                match (self.lost >= LOST_WORKERS_MAX, state) {
                    (true, _) => {
                        self.remark = self.worker.take().as_ref().map(lost_workers);
                        JobState::Failed
                    }
                    (false, state) => {
                        self.worker = Some(worker.clone());
                        self.remark = None;
                        if state == JobState::Merging { state } else { JobState::Running }
                    }
                }
            }
            (
                Event::Progress { run, record, phase, spent },
                state @ (JobState::Running | JobState::Merging),
            ) => {
                self.run = run.clone().or(self.run);
                self.records.push(record.clone());
                let extra = self.records.len().saturating_sub(RECORDS_MAX);
                self.records.drain(..extra);
                self.lost = if phase.is_some() { 0 } else { self.lost };
                self.phase = phase.or(self.phase);
                self.spent = *spent;
                state
            }
            (Event::Stopped { why, finished }, JobState::Running) => {
                self.worker = None;
                self.remark = Some(why.clone());
                match (finished, self.merge) {
                    (true, MergeWhen::Finished) => {
                        self.merges = self.merges.saturating_add(1);
                        JobState::Merging
                    }
                    (true, MergeWhen::Approved) | (false, _) => JobState::Waiting,
                }
            }
            (Event::Failed { why }, JobState::Running | JobState::Merging) => {
                self.failures = self.failures.saturating_add(1);
                self.remark = Some(why.clone());
                self.worker = None;
                match (self.failures >= FAILURES_MAX, self.state) {
                    (true, _) => JobState::Failed,
                    (false, JobState::Merging) => JobState::Merging,
                    (false, _) => JobState::Queued,
                }
            }
            (Event::Troubled { why }, state @ (JobState::Running | JobState::Merging)) => {
                self.troubles = self.troubles.saturating_add(1);
                self.remark = Some(why.clone());
                self.worker = None;
                match (self.troubles >= TROUBLES_MAX, state) {
                    (true, _) => JobState::Failed,
                    (false, JobState::Merging) => JobState::Merging,
                    (false, _) => JobState::Queued,
                }
            }
            (Event::HandedBack, JobState::Running) => {
                self.worker = None;
                JobState::Queued
            }
            (Event::HandedBack, JobState::Merging) => {
                self.worker = None;
                JobState::Merging
            }
            (Event::Deferred { why }, state @ (JobState::Queued | JobState::Merging)) => {
                self.remark = Some(why.clone());
                state
            }
            (Event::Refused { why }, JobState::Queued | JobState::Running) => {
                self.remark = Some(why.clone());
                self.worker = None;
                JobState::Refused
            }
            (Event::Approved { .. }, JobState::Waiting) => {
                self.remark = None;
                self.merges = self.merges.saturating_add(1);
                JobState::Merging
            }
            (Event::Merged { commit }, JobState::Merging) => {
                self.worker = None;
                self.remark = None;
                JobState::Merged { commit: commit.clone() }
            }
            (Event::MergeBlocked { why }, JobState::Merging) => {
                self.worker = None;
                self.remark = Some(why.clone());
                JobState::Waiting
            }
            (Event::StopAsked { .. }, JobState::Queued | JobState::Waiting) => JobState::Aborted,
            (Event::StopAsked { .. }, JobState::Running) => {
                self.stop_asked = true;
                JobState::Running
            }
            (Event::Aborted, JobState::Running) => {
                self.worker = None;
                JobState::Aborted
            }
            (Event::Said { text }, JobState::Queued | JobState::Running) => {
                if self.messages.len() >= MESSAGES_MAX {
                    return Err(Rejected::TooManyMessages);
                }
                self.messages.push(text.clone());
                self.state
            }
            (_, _) => return Err(unfit),
        };
        self.changed_at = at;
        let failed = |why: &Label| Event::Failed { why: why.clone() }.words();
        let words = match (event, &self.state) {
            (Event::Claimed { .. }, JobState::Failed) => self.remark.as_ref().and_then(failed),
            (event, _) => event.words(),
        };
        if let Some(words) = words {
            self.log.push(Entry { at, epoch: self.epoch, event: Label::of(&words) });
            let extra = self.log.len().saturating_sub(LOG_MAX);
            self.log.drain(..extra);
        }
        Ok(self)
    }
}

fn lost_workers(last: &Label) -> Label {
    Label::of(&format!(
        "{LOST_WORKERS_MAX} workers in a row were lost with this job and no phase was accepted; \
         the last one was {last}"
    ))
}

/// Whether a job may start, given the jobs it waits for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Readiness {
    Yes,
    NotYet { why: Label },
    Never { why: Label },
}

/// Checks the earlier jobs. `find` returns the status of one.
pub fn ready(after: &[JobId], find: impl Fn(&JobId) -> Option<JobState>) -> Readiness {
    for id in after {
        match find(id) {
            None => {
                return Readiness::Never {
                    why: Label::of(&format!("there is no job {id} to wait for")),
                };
            }
            Some(JobState::Merged { .. }) => {}
            Some(state) if state.is_over() => {
                return Readiness::Never {
                    why: Label::of(&format!("job {} before it is {}", id.head(), state.name())),
                };
            }
            Some(state) => {
                return Readiness::NotYet {
                    why: Label::of(&format!(
                        "waits for job {}, which is {}",
                        id.head(),
                        state.name()
                    )),
                };
            }
        }
    }
    Readiness::Yes
}

#[cfg(test)]
mod tests;
