//! Messages of people to a job: they go into the mailbox of its run, once, whatever worker has it. A
//! message to a run that waited makes it continue.

use anyhow::Result;
use redgreen_core::event::Outcome;
use redgreen_core::fleet::status::Status;
use redgreen_core::state::State;
use redgreen_core::steer::Message;
use redgreen_core::text::on_one_line;

use crate::journal::{RunFolder, mailbox};

/// The maximum length of an item that a message adds to the plan of a finished run.
const ITEM_CHARS_MAX: usize = 120;

/// Leaves the messages from this one on for the engine. Their names are the same on every worker.
pub(super) fn post(folder: &RunFolder, status: &Status, from: usize) -> Result<()> {
    for (number, text) in status.messages.iter().enumerate().skip(from) {
        mailbox::post_once(folder, &name(number), &Message::Say { text: text.clone() })?;
    }
    Ok(())
}

/// Whether the run waited, and was sent back with a message that no agent has got yet.
pub(super) fn continues(status: &Status, state: &State) -> bool {
    let last = status.messages.len().checked_sub(1);
    status.continued > 0 && last.is_some_and(|last| !state.steering.has(&name(last)))
}

/// What a finished run has to develop in addition.
pub(super) fn item(status: &Status, state: &State) -> Option<String> {
    let is_done = matches!(state.left, Some(Outcome::Waiting | Outcome::MergeBlocked { .. }));
    let message = status.messages.last().filter(|_| is_done && continues(status, state))?;
    let words: String = on_one_line(message).chars().take(ITEM_CHARS_MAX).collect();
    Some(format!("review: {words}"))
}

fn name(number: usize) -> String {
    format!("job-{number:04}")
}
