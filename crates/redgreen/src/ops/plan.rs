//! `redgreen plan`: the test list of a run, edited by the user. The next PLAN starts with it.

use anyhow::Result;
use redgreen_core::names::RunId;
use redgreen_core::state::State;
use redgreen_core::steer::{self, Message, MessageError};
use redgreen_core::test_list::{self, EngineItems, TestList};
use serde::Serialize;

use super::{notes, pick, state_of};
use crate::engine::{Project, now};
use crate::failure::Failure;
use crate::journal::{self, RunFolder, mailbox};

/// The list of a run, to edit.
#[derive(Clone, Debug)]
pub struct Draft {
    pub text: String,
    /// Its open items.
    before: Vec<String>,
    folder: RunFolder,
    state: State,
}

/// The result of the edit.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct PlanEdit {
    pub version: u32,
    pub run: RunId,
    pub pending_tests: Vec<String>,
    pub added: Vec<String>,
    pub removed: Vec<String>,
    /// A process works on the run, and uses the list in its next PLAN.
    pub at_work: bool,
}

/// The current list, including earlier edits that were not used yet.
pub fn draft(project: &Project, run: Option<&str>) -> Result<Draft> {
    notes::check(project)?;
    let folder = pick(project, run)?;
    let state = state_of(&folder)?;
    has_plan(&state)?;
    let text = list(project, &folder, &state)?;
    let before = TestList::parse(&text).pending();
    Ok(Draft { text, before, folder, state })
}

/// Leaves the edited list for the run, or returns why it is not valid.
pub fn edit(draft: &Draft, text: &str) -> Result<Result<PlanEdit, MessageError>> {
    let known = known(&draft.state);
    let plan = match steer::plan(text, &draft.before, known) {
        Ok(plan) => plan,
        Err(unusable) => return Ok(Err(unusable)),
    };
    let missing = |from: &[String], other: &[String]| -> Vec<String> {
        from.iter().filter(|item| !other.contains(item)).cloned().collect()
    };
    let edited = PlanEdit {
        version: 1,
        run: draft.folder.id.clone(),
        added: missing(&plan.pending, &draft.before),
        removed: missing(&draft.before, &plan.pending),
        pending_tests: plan.pending,
        at_work: journal::is_busy(&draft.folder),
    };
    mailbox::post(
        &draft.folder,
        &Message::Plan { text: text.to_owned(), before: draft.before.clone() },
        now(),
    )?;
    Ok(Ok(edited))
}

/// Adds one item to the list of a run that the caller has locked.
pub(super) fn add(project: &Project, folder: &RunFolder, state: &State, item: &str) -> Result<()> {
    has_plan(state)?;
    let list = list(project, folder, state)?;
    let before = TestList::parse(&list).pending();
    let text = steer::with_item(Some(&list), item, known(state)).and_then(|text| {
        steer::plan(&text, &before, known(state))?;
        Ok(text)
    });
    let text = text.map_err(|why| {
        Failure::usage("cannot add this to the list")
            .evidence(why.to_string())
            .next(format!("redgreen resume {} --more \"<another case>\"", folder.id))
    })?;
    mailbox::post(folder, &Message::Plan { text, before }, now()).map(drop)
}

fn known(state: &State) -> EngineItems<'_> {
    EngineItems { completed: &state.progress.completed, pending: &state.progress.pending }
}

/// The list that the next PLAN would start with.
fn list(project: &Project, folder: &RunFolder, state: &State) -> Result<String> {
    let waiting =
        mailbox::waiting(folder)?.into_iter().rev().find_map(|waiting| match waiting.message {
            Ok(Message::Plan { text, .. }) => Some(text),
            Ok(Message::Say { .. } | Message::Pause) | Err(_) => None,
        });
    if let Some(text) = waiting.or_else(|| state.steering.plan.clone()) {
        return Ok(text);
    }
    // Before the first PLAN, the file does not belong to this run.
    let committed = match state.progress.handoff {
        Some(_) => project.git.read_file(&state.progress.head.tree, test_list::FILE)?,
        None => None,
    };
    let committed = committed.map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
    Ok(test_list::own(committed.as_deref(), known(state)).text)
}

/// The tests of an input file are its plan. When they are done, the run can continue like any
/// other.
fn has_plan(state: &State) -> Result<()> {
    let (id, progress) = (&state.run.id, &state.progress);
    if state.is_over() {
        return Err(Failure::usage(format!("run {id} is over")).next("redgreen history").into());
    }
    let is_done = state.phase() == redgreen_core::phase::Phase::Complete;
    if state.run.brief.batch().is_none() || progress.more || is_done {
        return Ok(());
    }
    Err(Failure::usage(format!("run {id} has no plan to edit: its input file lists all tests"))
        .evidence("you can add items when all tests are done")
        .next(format!("redgreen resume {id}, and when it is done: redgreen resume {id} --more \"<another case>\""))
        .into())
}
