//! Messages from a user to a running run: text for the agents, and changes to the plan. Both arrive
//! as files in the run's folder, which anyone with write access could have created. They are
//! bounded and sanitized here.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::test_list::{self, EngineItems, TestList};
use crate::text;

/// Maximum length of a message. Longer text belongs in a project file.
pub const MESSAGE_BYTES_MAX: usize = 4 << 10;
/// Maximum size of a plan.
pub const PLAN_BYTES_MAX: usize = 64 << 10;
/// Maximum size of a message file: JSON can need six bytes for one.
pub const FILE_BYTES_MAX: u64 = 512 << 10;
/// How many of the newest messages an agent sees.
pub const SHOWN_MAX: usize = 20;
/// Introduces the user's messages in a prompt.
pub const USER_SAYS: &str =
    "The user says, newest last. Follow it as far as the rules of your phase allow:";
/// Introduces messages that reach an agent during its turn.
const USER_SAYS_NOW: &str =
    "The user says, while you work. Follow it as far as the rules of your phase allow:";
const ITEMS_MAX: usize = 300;
const ITEM_CHARS_MAX: usize = 300;
const VERSION: u32 = 1;

/// One message to a run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum Message {
    /// Text for the agents.
    Say { text: String },
    /// Pause the run after the current phase.
    Pause,
    /// The test list that the user wants. `before` are the open items that they saw.
    Plan { text: String, before: Vec<String> },
}

/// The file format of a message.
#[derive(Serialize, Deserialize)]
struct MessageV1 {
    version: u32,
    #[serde(flatten)]
    message: Message,
}

/// The reason why a message cannot be used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MessageError {
    Empty,
    TooLong {
        bytes: usize,
        most: usize,
    },
    NoItems,
    TooManyItems(usize),
    LongItem(String),
    /// The user ticked an item that no accepted cycle implemented.
    Ticked(String),
    Unreadable,
}

/// A valid plan.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plan {
    pub text: String,
    /// Its open items.
    pub pending: Vec<String>,
}

impl Message {
    pub fn parse(bytes: &[u8]) -> Result<Self, MessageError> {
        match serde_json::from_slice::<MessageV1>(bytes) {
            Ok(read) if read.version == VERSION => Ok(read.message),
            Ok(_) | Err(_) => Err(MessageError::Unreadable),
        }
    }

    pub fn render(&self) -> String {
        serde_json::to_string(&MessageV1 { version: VERSION, message: self.clone() })
            .unwrap_or_default()
    }
}

/// The user's text, sanitized for display and sending.
pub fn words(text: &str) -> Result<String, MessageError> {
    let text = text::visible(text.trim());
    if text.is_empty() {
        return Err(MessageError::Empty);
    }
    if text.len() > MESSAGE_BYTES_MAX {
        return Err(MessageError::TooLong { bytes: text.len(), most: MESSAGE_BYTES_MAX });
    }
    Ok(text.into_owned())
}

/// The list that a user edited, with the engine's ticks. Keeps items that planning added since the
/// user opened it.
pub fn plan(edited: &str, before: &[String], known: EngineItems<'_>) -> Result<Plan, MessageError> {
    let edited = text::visible(edited);
    if edited.len() > PLAN_BYTES_MAX {
        return Err(MessageError::TooLong { bytes: edited.len(), most: PLAN_BYTES_MAX });
    }
    let owned = test_list::own(Some(&edited), known);
    for undone in owned.undone {
        match undone {
            test_list::Correction::Ticked(item) => return Err(MessageError::Ticked(item)),
            // Completed items stay in the list, with their tick.
            test_list::Correction::Hidden(_) | test_list::Correction::Deleted => {}
        }
    }
    let pending = TestList::parse(&owned.text).pending();
    let is_new = |item: &&String| !before.contains(item) && !pending.contains(item);
    let added: Vec<String> = known.pending.iter().filter(is_new).cloned().collect();
    let list = with_open(owned.text, &added);
    let pending = TestList::parse(&list).pending();
    if pending.is_empty() && known.completed.is_empty() {
        return Err(MessageError::NoItems);
    }
    if pending.len() > ITEMS_MAX {
        return Err(MessageError::TooManyItems(pending.len()));
    }
    if let Some(long) = pending.iter().find(|item| item.chars().count() > ITEM_CHARS_MAX) {
        return Err(MessageError::LongItem(long.chars().take(40).collect()));
    }
    Ok(Plan { text: list, pending })
}

/// Adds an open item to the list.
pub fn with_item(
    list: Option<&str>,
    item: &str,
    known: EngineItems<'_>,
) -> Result<String, MessageError> {
    let item = words(item)?;
    let item = item.split_whitespace().collect::<Vec<_>>().join(" ");
    Ok(with_open(test_list::own(list, known).text, &[item]))
}

/// Adds open items: at the end, or at the beginning if a code fence would swallow them.
fn with_open(list: String, items: &[String]) -> String {
    if items.is_empty() {
        return list;
    }
    let lines: String = items.iter().map(|item| format!("- [ ] {item}\n")).collect();
    let open = TestList::parse(&list).items.len();
    let line = if list.is_empty() || list.ends_with('\n') { "" } else { "\n" };
    let longer = format!("{list}{line}{lines}");
    if TestList::parse(&longer).items.len() > open { longer } else { format!("{lines}{list}") }
}

/// The newest messages for an agent's prompt, each on its own lines.
pub fn shown(messages: &[String]) -> Option<String> {
    let skipped = messages.len().saturating_sub(SHOWN_MAX);
    let lines: Vec<String> = messages
        .iter()
        .skip(skipped)
        .map(|message| format!("- {}", message.replace('\n', "\n  ")))
        .collect();
    (!lines.is_empty()).then(|| lines.join("\n"))
}

/// New messages for an agent in the middle of its turn.
pub fn told_now(messages: &[String]) -> Option<String> {
    shown(messages).map(|messages| format!("{USER_SAYS_NOW}\n{messages}"))
}

impl fmt::Display for MessageError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            MessageError::Empty => write!(out, "the message is empty"),
            MessageError::TooLong { bytes, most } => {
                write!(out, "it has {bytes} bytes; the limit is {most}")
            }
            MessageError::NoItems => {
                write!(out, "the list has no items; write one line `- [ ] <behaviour>` for each")
            }
            MessageError::TooManyItems(items) => {
                write!(out, "the list has {items} open items; the limit is {ITEMS_MAX}")
            }
            MessageError::LongItem(start) => {
                write!(out, "the item {start:?}… is longer than {ITEM_CHARS_MAX} characters")
            }
            MessageError::Ticked(item) => write!(
                out,
                "{item:?} is ticked, but no accepted cycle of this run implemented it; to drop it, \
                 delete its line"
            ),
            MessageError::Unreadable => write!(out, "it is not a redgreen message"),
        }
    }
}

#[cfg(test)]
mod tests;
