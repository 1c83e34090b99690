//! Messages to a run that another process works on: files in its folder, written atomically, read
//! by the engine when an agent's turn begins. Any process with write access can write anything:
//! names and sizes are checked here, the text in the core.

use std::fs;
use std::hash::{BuildHasher, RandomState};
use std::io::{self, Write};

use anyhow::{Context, Result};
use redgreen_core::steer::{FILE_BYTES_MAX, Message, MessageError};

use super::RunFolder;
use crate::failure::Failure;
use crate::foreign;
use crate::private;

/// The maximum number of waiting messages.
const WAITING_MAX: usize = 100;
const ENDING: &str = ".json";
const NAME_CHARS_MAX: usize = 64;

/// A message that is not in the journal yet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnreadMessage {
    pub id: String,
    pub message: Result<Message, MessageError>,
}

/// Leaves a message for the run. `at` is in milliseconds since 1970. Returns its id.
pub fn post(folder: &RunFolder, message: &Message, at: i64) -> Result<String> {
    let mailbox = folder.mailbox();
    private::create_dir_all(&mailbox).with_context(|| format!("create {}", mailbox.display()))?;
    if names(folder)?.len() >= WAITING_MAX {
        return Err(Failure::usage(format!(
            "{WAITING_MAX} messages are already waiting for run {}",
            folder.id
        ))
        .next(format!("redgreen resume {}", folder.id))
        .into());
    }
    let id = format!("{at:013}-{:016x}", RandomState::new().hash_one((at, std::process::id())));
    let act = || format!("write a message to {}", mailbox.display());
    // The reader sees the whole message or nothing.
    let mut file = tempfile::NamedTempFile::new_in(&mailbox).with_context(act)?;
    file.write_all(message.render().as_bytes())
        .and_then(|()| file.as_file().sync_all())
        .with_context(act)?;
    file.persist_noclobber(mailbox.join(format!("{id}{ENDING}"))).with_context(act)?;
    Ok(id)
}

/// The waiting messages, oldest first.
pub fn waiting(folder: &RunFolder) -> Result<Vec<UnreadMessage>> {
    let mut found = Vec::new();
    for id in names(folder)?.into_iter().take(WAITING_MAX) {
        let path = folder.mailbox().join(format!("{id}{ENDING}"));
        let bytes = foreign::read(&path, FILE_BYTES_MAX)
            .with_context(|| format!("read {}", path.display()))?;
        let message =
            bytes.ok_or(MessageError::Unreadable).and_then(|bytes| Message::parse(&bytes));
        found.push(UnreadMessage { id, message });
    }
    Ok(found)
}

/// Removes a message that is in the journal or unusable.
pub fn remove(folder: &RunFolder, id: &str) -> Result<()> {
    let path = folder.mailbox().join(format!("{id}{ENDING}"));
    match fs::remove_file(&path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            Err(error).with_context(|| format!("remove {}", path.display()))
        }
        Ok(()) | Err(_) => Ok(()),
    }
}

/// The ids of the waiting messages, oldest first.
fn names(folder: &RunFolder) -> Result<Vec<String>> {
    let mailbox = folder.mailbox();
    let entries = match fs::read_dir(&mailbox) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(error).with_context(|| format!("read {}", mailbox.display())),
    };
    let is_plain = |id: &str| {
        id.len() <= NAME_CHARS_MAX
            && !id.is_empty()
            && id.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
    };
    let id = |name: std::ffi::OsString| {
        let id = name.to_str()?.strip_suffix(ENDING)?;
        is_plain(id).then(|| id.to_owned())
    };
    let mut names: Vec<String> = entries.filter_map(|entry| id(entry.ok()?.file_name())).collect();
    names.sort();
    Ok(names)
}
