//! Input of the user during a run: messages are read at the start of a turn, and files that the
//! user changed during a pause are judged when the run continues.

use anyhow::{Context, Result};
use redgreen_core::event::{Event, Outcome};
use redgreen_core::names::Oid;
use redgreen_core::phase::Phase;
use redgreen_core::policy::Policy;
use redgreen_core::state::State;
use redgreen_core::steer::{self, Message, MessageError};
use redgreen_core::step::Step;
use redgreen_core::test_list;

use super::{Engine, Progress, now};
use crate::journal::mailbox::{self, UnreadMessage};
use crate::journal::{Journal, Line, RunFolder};

/// The user's messages during a turn, for agents that can be told in the middle of it. A message is
/// in the journal before the agent gets it, so every later turn gets it as well.
pub(super) struct Inbox<'a> {
    folder: &'a RunFolder,
    /// One of several attempts has none: the engine of the run journals the messages afterwards.
    journal: Option<&'a mut Journal>,
    pub(super) state: &'a mut State,
    /// The messages that this agent got.
    told: Vec<String>,
    failed: Option<anyhow::Error>,
}

impl<'a> Inbox<'a> {
    pub(super) fn new(
        folder: &'a RunFolder,
        journal: Option<&'a mut Journal>,
        state: &'a mut State,
    ) -> Self {
        Self { folder, journal, state, told: Vec::new(), failed: None }
    }

    /// Messages that the agent does not know yet. An error stops the deliveries and ends the turn
    /// with it.
    pub(super) fn messages(&mut self, observe: impl FnMut(&Line, &State)) -> Vec<String> {
        if self.failed.is_some() {
            return Vec::new();
        }
        self.take(observe).unwrap_or_else(|error| {
            self.failed = Some(error);
            Vec::new()
        })
    }

    /// The error of a delivery, if there was one.
    pub(super) fn end(self) -> Result<()> {
        self.failed.map_or(Ok(()), Err)
    }

    fn take(&mut self, mut observe: impl FnMut(&Line, &State)) -> Result<Vec<String>> {
        let mut new = Vec::new();
        for UnreadMessage { id, message } in mailbox::waiting(self.folder)? {
            // The engine handles the others after the turn.
            let Ok(Message::Say { text }) = message else { continue };
            let Ok(message) = steer::words(&text) else { continue };
            if self.told.contains(&id) || self.state.steering.has(&id) {
                continue;
            }
            if let Some(journal) = &mut self.journal {
                let (at, event) = (now(), Event::UserSaid { id: id.clone(), message });
                let line = journal.record(&event, at)?;
                let state = self.state.clone().apply(&event, at / 1000);
                *self.state = state.map_err(|illegal| {
                    anyhow::anyhow!("{} cannot happen during a turn", illegal.event)
                })?;
                observe(&line, self.state);
                mailbox::remove(self.folder, &id)?;
                new.extend(self.state.steering.messages.last().cloned());
            } else {
                new.push(message);
            }
            self.told.push(id);
        }
        Ok(new)
    }
}

impl Engine<'_> {
    /// Whether to read messages before this step: before an agent's turn, after several attempts, and before a finished run
    /// waits for approval. A pause takes effect at the end of the current phase, so it is also read
    /// there.
    pub(super) fn listens_before(&self, step: &Step) -> bool {
        let is_time = match step {
            // Several attempts may have been told something that is not in the journal yet.
            Step::Ask { .. }
            | Step::Attempt { .. }
            | Step::Choose { .. }
            | Step::Leave { outcome: Outcome::Waiting } => true,
            Step::Note { .. } => self.is_pause_asked(),
            _ => false,
        };
        is_time && self.team.is_some() && !self.project.stop.requested()
    }

    fn is_pause_asked(&self) -> bool {
        let waiting = mailbox::waiting(&self.folder).unwrap_or_default();
        waiting.iter().any(|waiting| waiting.message == Ok(Message::Pause))
    }

    /// Journals waiting messages. False if there are none.
    pub(super) fn read_messages(&mut self) -> Result<bool> {
        let waiting = mailbox::waiting(&self.folder)?;
        if waiting.is_empty() {
            return Ok(false);
        }
        self.intend("listen")?;
        for UnreadMessage { id, message } in waiting {
            if !self.state.steering.has(&id) {
                match message.and_then(|message| self.heard(&id, message)) {
                    Ok(event) => self.record(&event)?,
                    Err(unusable) => {
                        let words = format!("a message to this run was not used: {unusable}");
                        (self.observe)(Progress::Remark(&words));
                    }
                }
            }
            mailbox::remove(&self.folder, &id)?;
        }
        Ok(true)
    }

    fn heard(&self, id: &str, message: Message) -> Result<Event, MessageError> {
        let id = id.to_owned();
        match message {
            Message::Say { text } => Ok(Event::UserSaid { id, message: steer::words(&text)? }),
            Message::Pause => Ok(Event::PauseAsked { id }),
            Message::Plan { text, before } => {
                let steer::Plan { text, pending } = steer::plan(&text, &before, self.known_list())?;
                Ok(Event::PlanEdited { id, text, pending })
            }
        }
    }

    /// Continues the run, with the user's messages and changes since it stopped.
    pub fn take_up(&mut self, policy: Option<Box<Policy>>) -> Result<()> {
        if !self.state.is_over() {
            self.read_messages()?;
            self.take_edits()?;
        }
        self.record(&Event::Resumed { policy })
    }

    /// Files that the user changed replace the accepted ones, and are judged.
    fn take_edits(&mut self) -> Result<()> {
        let (git, worktree) = (&self.project.git, self.worktree());
        let Some(phase) = self.state.editable() else { return Ok(()) };
        if !self.is_humans(&worktree) || !self.is_ready(&worktree)? {
            return Ok(());
        }
        let (head, expected) = (&self.state.progress.head.tree, self.state.expected_tree());
        // The list is handled separately.
        let held = git.with_file_of(&git.snapshot(&worktree, head)?.tree, head, test_list::FILE)?;
        let before = &self
            .state
            .before(phase)
            .with_context(|| format!("find the commit before {phase}"))?
            .progress;
        let tree = match phase {
            Phase::Green => self.without_joined(&held, before)?,
            Phase::Plan | Phase::Red | Phase::Refactor | Phase::Complete => held.clone(),
        };
        if held == *expected || tree == *expected {
            // Unchanged, so the next agent can use the worktree.
            return self.unmark_human(&worktree);
        }
        let to = before.head.commit.clone();
        self.intend("rollback")?;
        let salvage = self.move_branch_back(&to, "edited")?;
        self.record(&Event::WorkEdited { to, tree, salvage })
    }

    /// Returns the run to before the test of the current cycle. The next author of the test gets
    /// the reason.
    pub fn reject(&mut self, to: &Oid, message: &str) -> Result<Outcome> {
        self.go_back(to, |to, salvage| Event::TestRejected {
            to,
            message: message.to_owned(),
            salvage,
        })
    }

    /// A pause hands the worktree to the user, who may change accepted work.
    pub(super) fn hand_to_user(&self, outcome: &Outcome) -> Result<()> {
        let worktree = self.worktree();
        match outcome {
            Outcome::Paused { after, .. }
                if *after != Phase::Plan && self.is_ready(&worktree)? =>
            {
                self.mark_paused(&worktree, *after)
            }
            _ => Ok(()),
        }
    }
}
