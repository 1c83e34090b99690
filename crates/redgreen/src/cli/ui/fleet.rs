//! The page of the fleet: workers, jobs, what waits for a person.

use anyhow::Result;
use askama::Template;
use redgreen_core::fleet::status::{JobState, Status};

use super::pages::Chrome;
use crate::cli::fleet::budget_lines;
use crate::cli::queue::facts;
use crate::ops::fleet::Fleet;
use crate::ops::fleet::board::Answer;
use crate::queue::WorkerV1;
use crate::view;

/// More jobs are in `redgreen queue`.
const JOBS_MAX: usize = 200;

#[derive(Template)]
#[template(path = "fleet.html")]
struct FleetPage {
    name: String,
    read_only: bool,
    queue: String,
    standing: String,
    answer: Option<Answer>,
    budget: Vec<String>,
    workers: Vec<WorkerRow>,
    jobs: Vec<JobRow>,
    more: usize,
    over: String,
}

struct WorkerRow {
    name: String,
    colour: &'static str,
    work: String,
    facts: String,
}

struct JobRow {
    id: String,
    title: String,
    state: &'static str,
    colour: &'static str,
    facts: String,
    remark: String,
    can_approve: bool,
    can_say: bool,
    can_abort: bool,
    say_label: &'static str,
    log: Vec<String>,
}

pub(super) fn page(chrome: Chrome, fleet: &Fleet, answer: Option<Answer>) -> Result<String> {
    let Chrome { name, read_only } = chrome;
    let mut jobs: Vec<&Status> = fleet.jobs.iter().collect();
    jobs.sort_by_key(|status| urgency(&status.state));
    let waiting = jobs.iter().filter(|status| status.state == JobState::Waiting).count();
    let standing = match waiting {
        0 => "No run waits for you.".to_owned(),
        1 => "1 run waits for you.".to_owned(),
        _ => format!("{waiting} runs wait for you."),
    };
    let page = FleetPage {
        name,
        read_only,
        queue: fleet.queue.clone(),
        standing,
        answer,
        budget: budget_lines(fleet),
        workers: fleet.workers.iter().map(worker).collect(),
        more: jobs.len().saturating_sub(JOBS_MAX),
        jobs: jobs.into_iter().take(JOBS_MAX).map(job).collect(),
        over: format!("{} finished", view::count(fleet.over, "job")),
    };
    Ok(page.render()?)
}

/// What needs a person comes first.
fn urgency(state: &JobState) -> u8 {
    match state {
        JobState::Waiting => 0,
        JobState::Merging => 1,
        JobState::Running => 2,
        JobState::Queued => 3,
        JobState::Merged { .. } | JobState::Aborted | JobState::Failed | JobState::Refused => 4,
    }
}

fn worker(worker: &WorkerV1) -> WorkerRow {
    let labels: Vec<&str> = worker.labels.iter().map(|label| label.as_str()).collect();
    let trouble = worker.trouble.as_ref().map(ToString::to_string);
    let facts: Vec<String> = [labels.join(", "), trouble.clone().unwrap_or_default()]
        .into_iter()
        .filter(|fact| !fact.is_empty())
        .collect();
    WorkerRow {
        name: worker.name.to_string(),
        colour: match (trouble.is_some(), worker.jobs.is_empty()) {
            (true, _) => "refused",
            (false, true) => "plain",
            (false, false) => "accepted",
        },
        work: format!("{} of {} at work", worker.jobs.len(), worker.slots),
        facts: facts.join(" · "),
    }
}

fn job(status: &Status) -> JobRow {
    let is_open = !status.state.is_over();
    let waits = status.state == JobState::Waiting;
    let mut shown = vec![status.id.to_string()];
    shown.extend(facts(status));
    JobRow {
        id: status.id.to_string(),
        title: status.headline.to_string(),
        state: if waits { "waits for you" } else { status.state.name() },
        colour: match status.state {
            JobState::Waiting => "undecided",
            JobState::Running | JobState::Merging | JobState::Merged { .. } => "accepted",
            JobState::Queued | JobState::Aborted => "plain",
            JobState::Failed | JobState::Refused => "refused",
        },
        facts: shown.join(" · "),
        remark: status.remark.as_ref().map(ToString::to_string).unwrap_or_default(),
        can_approve: waits,
        can_say: matches!(status.state, JobState::Queued | JobState::Running | JobState::Waiting),
        can_abort: is_open && status.state != JobState::Merging,
        say_label: match waits {
            true => "Message to the agents; a worker continues the run with it",
            false => "Message to the agents, for their next turn",
        },
        log: status
            .log
            .iter()
            .map(|entry| format!("{} · {}", view::date(entry.at / 1000), entry.event))
            .collect(),
    }
}
