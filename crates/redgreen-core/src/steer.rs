//! What a user tells a run while it goes on: words for the agents, and changes to the plan. Both reach the run through files
//! in its folder, which anybody who can write there could have made: they are bounded and made harmless here.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::test_list::{self, Known, TestList};
use crate::text;

/// The longest message. What is longer belongs into a file of the project.
pub const MESSAGE_BYTES_MAX: usize = 4 << 10;
/// The longest plan.
pub const PLAN_BYTES_MAX: usize = 64 << 10;
/// The longest file of a message: JSON may need six bytes for one.
pub const FILE_BYTES_MAX: u64 = 512 << 10;
/// Messages that an agent is shown, the newest ones.
pub const SHOWN_MAX: usize = 20;
/// How an agent is told whose words follow.
pub const USER_SAYS: &str = "The user says, newest last. Follow it as far as the rules of your phase allow:";
const ITEMS_MAX: usize = 300;
const ITEM_CHARS_MAX: usize = 300;
const VERSION: u32 = 1;

/// One message to a run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum Message {
    /// Words for the agents.
    Say { text: String },
    /// The test list as the user wants it; `before` are the open items that they saw.
    Plan { text: String, before: Vec<String> },
}

/// A message as its file holds it.
#[derive(Serialize, Deserialize)]
struct MessageV1 {
    version: u32,
    #[serde(flatten)]
    message: Message,
}

/// Why a message cannot be used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Unusable {
    Empty,
    TooLong {
        bytes: usize,
        most: usize,
    },
    NoItems,
    TooManyItems(usize),
    LongItem(String),
    /// The user ticked what no accepted cycle developed.
    Ticked(String),
    Unreadable,
}

/// A plan that planning can go on from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plan {
    pub text: String,
    /// Its open items.
    pub pending: Vec<String>,
}

impl Message {
    pub fn parse(bytes: &[u8]) -> Result<Self, Unusable> {
        match serde_json::from_slice::<MessageV1>(bytes) {
            Ok(read) if read.version == VERSION => Ok(read.message),
            Ok(_) | Err(_) => Err(Unusable::Unreadable),
        }
    }

    pub fn render(&self) -> String {
        serde_json::to_string(&MessageV1 { version: VERSION, message: self.clone() }).unwrap_or_default()
    }
}

/// A user's words, harmless to show and to send.
pub fn words(text: &str) -> Result<String, Unusable> {
    let text = text::visible(text.trim());
    if text.is_empty() {
        return Err(Unusable::Empty);
    }
    if text.len() > MESSAGE_BYTES_MAX {
        return Err(Unusable::TooLong { bytes: text.len(), most: MESSAGE_BYTES_MAX });
    }
    Ok(text.into_owned())
}

/// The list that a user edited, with the engine's ticks. Items that planning added since the user opened it stay.
pub fn plan(edited: &str, before: &[String], known: Known<'_>) -> Result<Plan, Unusable> {
    let edited = text::visible(edited);
    if edited.len() > PLAN_BYTES_MAX {
        return Err(Unusable::TooLong { bytes: edited.len(), most: PLAN_BYTES_MAX });
    }
    let owned = test_list::own(Some(&edited), known);
    for undone in owned.undone {
        match undone {
            test_list::Undone::Ticked(item) => return Err(Unusable::Ticked(item)),
            // What is done stays in the list, with its tick.
            test_list::Undone::Hidden(_) | test_list::Undone::Deleted => {}
        }
    }
    let pending = TestList::parse(&owned.text).pending();
    let is_new = |item: &&String| !before.contains(item) && !pending.contains(item);
    let added: Vec<String> = known.pending.iter().filter(is_new).cloned().collect();
    let list = with_open(owned.text, &added);
    let pending = TestList::parse(&list).pending();
    if pending.is_empty() && known.completed.is_empty() {
        return Err(Unusable::NoItems);
    }
    if pending.len() > ITEMS_MAX {
        return Err(Unusable::TooManyItems(pending.len()));
    }
    if let Some(long) = pending.iter().find(|item| item.chars().count() > ITEM_CHARS_MAX) {
        return Err(Unusable::LongItem(long.chars().take(40).collect()));
    }
    Ok(Plan { text: list, pending })
}

/// The list with one more open item.
pub fn with_item(list: Option<&str>, item: &str, known: Known<'_>) -> Result<String, Unusable> {
    let item = words(item)?;
    let item = item.split_whitespace().collect::<Vec<_>>().join(" ");
    Ok(with_open(test_list::own(list, known).text, &[item]))
}

/// The list with more open items: at its end, or at its beginning where a code fence would swallow them.
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

/// The user's messages for an agent's prompt: the newest ones, each on lines of its own.
pub fn shown(messages: &[String]) -> Option<String> {
    let skipped = messages.len().saturating_sub(SHOWN_MAX);
    let lines: Vec<String> =
        messages.iter().skip(skipped).map(|message| format!("- {}", message.replace('\n', "\n  "))).collect();
    (!lines.is_empty()).then(|| lines.join("\n"))
}

impl fmt::Display for Unusable {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Unusable::Empty => write!(out, "the message is empty"),
            Unusable::TooLong { bytes, most } => write!(out, "it has {bytes} bytes; at most {most} are sent"),
            Unusable::NoItems => write!(out, "the list has no item; one is a line `- [ ] <behaviour>`"),
            Unusable::TooManyItems(items) => write!(out, "the list has {items} open items; at most {ITEMS_MAX}"),
            Unusable::LongItem(start) => write!(out, "the item {start:?}… is longer than {ITEM_CHARS_MAX} characters"),
            Unusable::Ticked(item) => write!(
                out,
                "{item:?} is ticked, and no accepted cycle of this run developed it; to drop it, delete its line"
            ),
            Unusable::Unreadable => write!(out, "it is no message of redgreen"),
        }
    }
}

#[cfg(test)]
mod tests;
