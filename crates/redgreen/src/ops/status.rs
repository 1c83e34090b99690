//! `redgreen status`: the open runs, and the last one. Its cost does not depend on the length of
//! the history.

use anyhow::{Error, Result};
use redgreen_core::agent::AttemptFailure;
use redgreen_core::attempts::{Candidate, Summary, TIE};
use redgreen_core::brief::TestCase;
use redgreen_core::event::Outcome;
use redgreen_core::names::{Branch, Oid, RunBranch, RunId};
use redgreen_core::phase::Phase;
use redgreen_core::policy::RunCost;
use redgreen_core::state::review::Reviewing;
use redgreen_core::state::{Ending, Situation, Stage, State};
use redgreen_core::tally::Tally;
use serde::Serialize;

use super::notes::RunAndState;
use super::{notes, unblock};
use crate::engine::Project;
use crate::failure::Failure;
use crate::journal::{self, RunFolder, mailbox};

#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Status {
    pub version: u32,
    pub runs: Vec<Overview>,
    pub unreadable: Vec<Unreadable>,
}

/// A run whose journal cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Unreadable {
    pub id: RunId,
    pub message: String,
    pub evidence: Vec<String>,
    pub next: Option<String>,
}

/// A summary of one run.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Overview {
    pub id: RunId,
    pub request: String,
    pub phase: Phase,
    pub cycle: u32,
    pub current_test: Option<TestCase>,
    pub completed_tests: Vec<String>,
    pub pending_tests: Vec<String>,
    /// Open items that PLAN dropped or reworded.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub removed_tests: Vec<String>,
    /// Accepted cycles, and the tests they wrote.
    pub cycles: u32,
    pub tests_written: u64,
    /// Tests that the implementer does not see at present, and those that joined the test suite.
    pub tests_withheld: u64,
    pub tests_joined: u64,
    /// Messages of the user to the agents.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub messages: Vec<String>,
    /// Messages that wait for the next turn.
    #[serde(skip_serializing_if = "is_none")]
    pub unread: usize,
    /// The user edited the list, and no PLAN has used it yet.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub plan_edited: bool,
    /// The attempts at the current phase that ended, if several are made.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub attempts: Vec<Summary>,
    /// A process works on it now.
    pub at_work: bool,
    pub situation: String,
    /// Why it stopped, if it did.
    pub outcome: Option<Outcome>,
    pub trouble: Option<AttemptFailure>,
    pub branch: RunBranch,
    pub target: Branch,
    pub head: Oid,
    pub spent: RunCost,
    pub folder: String,
    /// The next command.
    pub next: String,
}

pub fn status(project: &Project, named: Option<&str>, all: bool) -> Result<Status> {
    let latest = notes::looked_at(project)?;
    notes::check_of(project, &latest)?;
    let read = |folder: RunFolder| {
        let state = journal::read(&folder).map(|(state, _)| state);
        (folder, state)
    };
    let looked_at: Box<dyn Iterator<Item = RunAndState>> = match named {
        Some(id) => Box::new(std::iter::once(read(project.store.find(id)?))),
        None if all => Box::new(project.store.all()?.into_iter().map(read)),
        None => Box::new(latest.into_iter()),
    };
    let (mut runs, mut unreadable) = (Vec::new(), Vec::new());
    for (folder, state) in looked_at {
        match state {
            Ok(Some(state)) => runs.push(overview(&folder, &state)),
            Ok(None) => {}
            Err(error) if named.is_some() => return Err(error),
            // One damaged journal does not hide the other runs.
            Err(error) => unreadable.push(unread(&folder, &error)),
        }
    }
    Ok(Status { version: 1, runs, unreadable })
}

fn unread(folder: &RunFolder, error: &Error) -> Unreadable {
    let id = folder.id.clone();
    match error.downcast_ref::<Failure>() {
        Some(Failure { what, evidence, next, .. }) => {
            Unreadable { id, message: what.clone(), evidence: evidence.clone(), next: next.clone() }
        }
        None => Unreadable { id, message: format!("{error:#}"), evidence: Vec::new(), next: None },
    }
}

pub fn overview(folder: &RunFolder, state: &State) -> Overview {
    let at_work = journal::is_busy(folder);
    let tally = Tally::of(state);
    Overview {
        id: state.run.id.clone(),
        request: state.run.brief.request.clone(),
        phase: state.phase(),
        cycle: Tally::cycle(state),
        current_test: state.progress.current.clone(),
        completed_tests: state.progress.completed.clone(),
        pending_tests: state.progress.pending.clone(),
        removed_tests: tally.removed,
        cycles: tally.cycles,
        tests_written: tally.written,
        tests_withheld: tally.withheld,
        tests_joined: tally.joined,
        messages: state.steering.messages.clone(),
        unread: mailbox::waiting(folder).map_or(0, |waiting| waiting.len()),
        plan_edited: state.steering.plan.is_some(),
        attempts: state.candidates().iter().map(Candidate::summary).collect(),
        at_work,
        situation: state.situation.name().to_owned(),
        outcome: state.left.clone(),
        trouble: trouble(state),
        branch: state.run.branch.clone(),
        target: state.run.target.clone(),
        head: state.progress.head.commit.clone(),
        spent: state.spent.clone(),
        folder: folder.path.display().to_string(),
        next: next_command(state, at_work),
    }
}

/// The next command for a run in this state.
pub fn next_command(state: &State, at_work: bool) -> String {
    let id = state.run.id.tail();
    if at_work {
        return format!("redgreen why {id}");
    }
    match &state.left {
        Some(Outcome::BudgetSpent { .. }) => {
            return format!(
                "redgreen resume {id} with a larger --budget-tokens, --budget-usd, --deadline or --max-cycles"
            );
        }
        Some(Outcome::AgentUnusable { .. }) => {
            return format!(
                "fix it, or choose another agent (--model, --agent, --script FILE), then run: \
                 redgreen resume {id}"
            );
        }
        Some(Outcome::Undecided { .. }) if is_contested(state) => {
            let anew = state.before_test().map(|_| {
                format!("if the test is wrong: redgreen reject {id} \"<why>\", then resume\n")
            });
            return format!(
                "{}if the test is right: redgreen resume {id}\nto give up: redgreen abort {id}",
                anew.unwrap_or_default()
            );
        }
        Some(Outcome::Undecided { trouble, .. }) if trouble.kind == TIE => {
            return format!("redgreen resume {id} --choose <attempt>    (or: redgreen abort {id})");
        }
        Some(Outcome::Undecided { trouble, .. }) if unblock::is_of_the_branch(trouble) => {
            return unblock::commands(state, trouble, id);
        }
        Some(Outcome::BaselineUnusable { .. } | Outcome::Undecided { .. }) => {
            return format!(
                "fix the error above, then run: redgreen resume {id}    (or: redgreen abort {id})"
            );
        }
        Some(Outcome::Paused { after, trouble }) => {
            return after_pause(state, *after, trouble.is_some());
        }
        Some(Outcome::GaveUp { .. } | Outcome::NothingDeveloped { .. }) => {
            return format!("redgreen resume {id}    (or: redgreen abort {id})");
        }
        Some(
            Outcome::Merged
            | Outcome::Aborted
            | Outcome::Waiting
            | Outcome::MergeBlocked { .. }
            | Outcome::Interrupted
            | Outcome::RolledBack { .. },
        )
        | None => {}
    }
    match &state.situation {
        Situation::Reviewing(review) if matches!(review.before, Situation::Merging { .. }) => {
            format!("redgreen approve {id}")
        }
        Situation::Waiting { trouble: None } | Situation::Merging { .. } => {
            format!("redgreen approve {id}    (or: redgreen abort {id})")
        }
        Situation::Waiting { trouble: Some(trouble) } => unblock::commands(state, trouble, id),
        Situation::Discarding => format!("redgreen abort {id}"),
        Situation::Ended(Ending::Merged { .. }) => "redgreen history".to_owned(),
        Situation::Ended(Ending::Aborted) => "redgreen salvage".to_owned(),
        Situation::Measuring { .. }
        | Situation::Unmeasurable { .. }
        | Situation::Working { .. }
        | Situation::Reverting { .. }
        | Situation::Reviewing(_)
        | Situation::Paused { .. }
        | Situation::Halted { .. } => format!("redgreen resume {id}"),
    }
}

/// What a user can do with a paused run.
fn after_pause(state: &State, after: Phase, is_refused: bool) -> String {
    let id = state.run.id.tail();
    let place = state.worktree.as_deref().unwrap_or("the worktree");
    let go_on = match is_refused {
        true => format!("change it again in {place}, then run: redgreen resume {id}"),
        false => format!("continue: redgreen resume {id}"),
    };
    let mut lines = vec![go_on];
    match after {
        Phase::Plan => lines.push(format!("change the plan: redgreen plan {id}, then resume")),
        Phase::Red | Phase::Green | Phase::Refactor | Phase::Complete => {
            if !is_refused {
                lines.push(format!(
                    "change it by hand: edit {place}, then resume to judge it again"
                ));
            }
            lines.push(format!("get a new test: redgreen reject {id} \"<why>\", then resume"));
        }
    }
    lines.push(format!("send the agents a message: redgreen say {id} \"<words>\", then resume"));
    lines.join("\n")
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks for a reference")]
fn is_none(count: &usize) -> bool {
    *count == 0
}

fn is_contested(state: &State) -> bool {
    matches!(&state.situation, Situation::Working { stage: Stage::Contested { .. }, .. })
}

fn trouble(state: &State) -> Option<AttemptFailure> {
    match &state.situation {
        Situation::Working { stage: Stage::EditRefused { trouble }, .. } => Some(trouble.clone()),
        Situation::Working { attempt, .. } => match &state.left {
            Some(Outcome::Undecided { trouble, .. }) if trouble.kind == TIE => {
                Some(trouble.clone())
            }
            Some(_) | None => attempt.trouble.clone(),
        },
        Situation::Unmeasurable { trouble, .. }
        | Situation::Reverting { trouble, .. }
        | Situation::Halted { trouble, .. } => Some(trouble.clone()),
        Situation::Waiting { trouble } => trouble.clone(),
        Situation::Reviewing(review) => match &review.stage {
            Reviewing::Refused { trouble } => Some(trouble.clone()),
            Reviewing::Judging | Reviewing::Noting => None,
        },
        Situation::Measuring { .. }
        | Situation::Paused { .. }
        | Situation::Merging { .. }
        | Situation::Discarding
        | Situation::Ended(_) => None,
    }
}
