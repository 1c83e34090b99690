//! Actions of a person on a run: the commands of the command line, with the run of the page.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::thread;

use anyhow::Result;
use redgreen_core::event::{Commits, Outcome};
use redgreen_core::names::RunId;
use redgreen_core::phase::Phase;
use redgreen_core::text::on_one_line;

use super::{Reviews, locked};
use crate::engine::{Progress, Project};
use crate::failure::Failure;
use crate::journal::{self, RunFolder};
use crate::ops::resume::Request;
use crate::ops::{
    RunEnd, decide, open, pause, reject, resume, rollback, say, trust, with_packages,
};
use crate::view;

/// The maximum length of an item that a review adds to the plan.
const ITEM_CHARS_MAX: usize = 120;

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Action {
    Approve,
    Abort,
    Resume,
    Pause,
    Say(String),
    Reject(String),
    /// The comments go to the agents as one message, with this text, and the run continues.
    RequestChanges(String),
    /// The same, but the last REFACTOR is repeated, so behaviour and tests stay.
    RequestRefactoring(String),
    /// Takes this one of several attempts.
    Choose(u32),
}

/// The result of an action, until the next one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Notice {
    pub number: u64,
    pub is_good: bool,
    pub text: String,
}

/// The notices of all runs; clones share them.
#[derive(Clone, Debug, Default)]
pub(super) struct Notices(Arc<Mutex<HashMap<RunId, Notice>>>);

impl Notices {
    pub(super) fn get(&self, id: &RunId) -> Option<Notice> {
        locked(&self.0).get(id).cloned()
    }

    fn put(&self, id: &RunId, is_good: bool, text: String) {
        let mut notices = locked(&self.0);
        let number = notices.get(id).map_or(0, |notice| notice.number).saturating_add(1);
        notices.insert(id.clone(), Notice { number, is_good, text });
    }
}

impl Reviews {
    /// Performs or starts the action. Its result is a notice of the run.
    pub fn act(&self, folder: &RunFolder, action: &Action) {
        match self.perform(folder, action) {
            Ok(words) => self.notice(folder, true, words),
            Err(error) => self.notice(folder, false, words_of(&error)),
        }
    }

    fn perform(&self, folder: &RunFolder, action: &Action) -> Result<String> {
        let id = Some(folder.id.as_str());
        match action {
            Action::Approve => {
                let stopped = decide::approve(&self.trusted()?, id, Commits::Merged, &mut |_| {})?;
                Ok(ended(&stopped))
            }
            Action::Abort => {
                let project = self.project()?;
                trust::check_worktree_root(&project.git.root, &project.environment)?;
                Ok(ended(&decide::abort(&project, id, &mut |_| {})?))
            }
            Action::Pause => {
                let asked = pause::pause(&self.project()?, id)?;
                Ok(format!("The run will pause when {} is accepted.", asked.phase))
            }
            Action::Say(words) => {
                let told = say::say(&self.project()?, id, words)?;
                Ok(if told.at_work {
                    "The agent gets the message during this turn, or at its next one."
                } else {
                    "The agent gets the message when the run resumes."
                }
                .to_owned())
            }
            Action::Reject(why) => {
                reject::reject(&self.project()?, id, why, &mut |_| {})?;
                self.go_on(folder, Request::default())?;
                Ok("The test is rejected, and a new one is being written.".to_owned())
            }
            Action::Resume => {
                self.go_on(folder, Request::default())?;
                Ok("The run continues.".to_owned())
            }
            Action::RequestChanges(words) => self.request_changes(folder, words),
            Action::RequestRefactoring(words) => self.request_refactoring(folder, words),
            Action::Choose(number) => {
                self.go_on(folder, Request { choose: Some(*number), ..Request::default() })?;
                Ok(format!("The run continues with attempt {number}."))
            }
        }
    }

    /// Sends the drafts. They reject a test that has no code yet, or add an item to a finished run.
    fn request_changes(&self, folder: &RunFolder, words: &str) -> Result<String> {
        let project = self.project()?;
        let messages = self.comments(folder)?.messages(words);
        let first = messages.first().ok_or_else(nothing_to_request)?;
        let left = self.look(folder, |steps| steps.left.clone())?;
        let is_at_work = journal::is_busy(folder);
        if matches!(left, Some(Outcome::Paused { after: Phase::Red, .. })) && !is_at_work {
            // A reason is one message. The rest is sent as further messages.
            for message in messages.iter().skip(1) {
                say::say(&project, Some(&folder.id), message)?;
            }
            reject::reject(&project, Some(&folder.id), first, &mut |_| {})?;
            self.sent(folder)?;
            self.go_on(folder, Request::default())?;
            return Ok("The test is rejected with your comments, and a new one is being written."
                .to_owned());
        }
        for message in &messages {
            say::say(&project, Some(&folder.id), message)?;
        }
        self.sent(folder)?;
        if is_at_work {
            return Ok("Your comments are sent; the agent gets them during this turn, or at \
                       its next one."
                .to_owned());
        }
        let is_done = matches!(left, Some(Outcome::Waiting | Outcome::MergeBlocked { .. }));
        let more = is_done.then(|| item(first));
        self.go_on(folder, Request { more, ..Request::default() })?;
        Ok("Your comments are sent, and the run continues.".to_owned())
    }

    /// Returns the run to its last GREEN, so that the next turn is a REFACTOR with the drafts.
    fn request_refactoring(&self, folder: &RunFolder, words: &str) -> Result<String> {
        let project = self.trusted()?;
        let messages = self.comments(folder)?.messages(words);
        messages.first().ok_or_else(nothing_to_request)?;
        let green = self.look(folder, |steps| steps.last_green().cloned())?;
        let green = green.ok_or_else(|| {
            Failure::usage(format!("run {} has no code to refactor yet", folder.id))
        })?;
        rollback::rollback(&project, &green, &mut |_| {})?;
        for message in &messages {
            say::say(&project, Some(&folder.id), message)?;
        }
        self.sent(folder)?;
        self.go_on(folder, Request::default())?;
        Ok("Your comments are sent, and the refactoring is being repeated with them.".to_owned())
    }

    /// Resumes the run inside the server, until it stops or the server ends.
    fn go_on(&self, folder: &RunFolder, request: Request) -> Result<()> {
        let project = self.trusted()?;
        let request = Request { run: Some(folder.id.to_string()), ..request };
        let (folder, notices) = (folder.clone(), self.notices.clone());
        let worker = thread::Builder::new().name("run".to_owned()).spawn(move || {
            let resumed = resume::resume(&project, &request, &mut |_: Progress<'_>| {});
            let (is_good, text) = match resumed {
                Ok(stopped) => (true, ended(&stopped)),
                Err(error) => (false, words_of(&error)),
            };
            notices.put(&folder.id, is_good, text);
        })?;
        let mut workers = locked(&self.workers);
        workers.retain(|worker| !worker.is_finished());
        workers.push(worker);
        Ok(())
    }

    fn notice(&self, folder: &RunFolder, is_good: bool, text: String) {
        self.notices.put(&folder.id, is_good, text);
    }

    fn project(&self) -> Result<Project> {
        open(&self.folder, self.environment.clone(), &self.stop)
    }

    /// For actions that run the project's commands: the user trusted them on a terminal.
    fn trusted(&self) -> Result<Project> {
        let project = self.project()?;
        trust::check(&project.git.root, &project.environment)?;
        with_packages(project)
    }
}

fn nothing_to_request() -> Failure {
    Failure::usage("nothing to request yet")
        .evidence("add a comment on a line, or type a message next to the button")
}

/// The item of the plan for a review.
fn item(message: &str) -> String {
    let first = message.lines().nth(1).unwrap_or_default().trim_start_matches("- ");
    let words: String = on_one_line(first).chars().take(ITEM_CHARS_MAX).collect();
    format!("review: {words}")
}

fn ended(stopped: &RunEnd) -> String {
    view::plain(&view::outcome(&stopped.outcome))
}

/// An error in a few lines, with the next step.
fn words_of(error: &anyhow::Error) -> String {
    match error.chain().find_map(|cause| cause.downcast_ref::<Failure>()) {
        Some(Failure { what, evidence, next, .. }) => {
            let next = next.iter().map(|next| format!("next: {next}"));
            std::iter::once(what.clone())
                .chain(evidence.iter().cloned())
                .chain(next)
                .collect::<Vec<_>>()
                .join("\n")
        }
        None => format!("{error:#}"),
    }
}
