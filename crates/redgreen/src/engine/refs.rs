//! Checks what an agent did to the refs of the repository. In the sandbox it cannot reach them.
//! Without one, redgreen restores the run's branch and note, and reports other refs that moved,
//! because the user may have moved them.

use std::collections::BTreeMap;

use anyhow::Result;
use redgreen_core::names::Oid;

use super::Engine;
use crate::foreign;
use crate::git::{RefEdit, Swap};

/// Refs that runs move themselves, including other runs, and refs that a fetch moves.
const OTHERS: [&str; 4] =
    ["refs/redgreen/", "refs/heads/redgreen/", "refs/notes/", "refs/remotes/"];
/// The maximum number of refs to list.
const NAMED_MAX: usize = 8;

/// The refs before a turn.
pub(super) struct Refs {
    all: BTreeMap<String, Oid>,
    /// The user's checked-out ref.
    head: String,
}

impl Engine<'_> {
    pub(super) fn remember_refs(&self) -> Result<Refs> {
        let head =
            foreign::read_text(&self.project.git.common_dir.join("HEAD")).unwrap_or_default();
        Ok(Refs {
            all: self.project.git.read_refs(&[])?.into_iter().collect(),
            head: head.trim().to_owned(),
        })
    }

    /// Restores the refs of the run, and reports others that moved.
    pub(super) fn settle_refs(&self, before: &Refs) -> Result<Vec<String>> {
        let after = self.remember_refs()?;
        let mut notices: Vec<String> = self.put_back_branch(&after)?;
        notices.extend(self.put_back_note(before, &after)?);
        let ours = |name: &str| {
            OTHERS.iter().any(|start| name.starts_with(start)) || name == self.branch_ref()
        };
        let names = before.all.keys().chain(after.all.keys()).filter(|name| !ours(name));
        let mut moved: Vec<&str> = names
            .filter(|name| before.all.get(*name) != after.all.get(*name))
            .map(String::as_str)
            .collect();
        if before.head != after.head {
            moved.push("HEAD");
        }
        moved.sort_unstable();
        moved.dedup();
        if !moved.is_empty() {
            let more = if moved.len() > NAMED_MAX { ", and more" } else { "" };
            let names = moved.iter().take(NAMED_MAX).copied().collect::<Vec<_>>().join(", ");
            notices.push(format!(
                "moved during the agent's turn, by the agent or by you, and not restored: \
                 {names}{more}"
            ));
        }
        Ok(notices)
    }

    /// Salvages the commits that the branch pointed to before it was moved.
    fn put_back_branch(&self, after: &Refs) -> Result<Vec<String>> {
        let git = &self.project.git;
        let (name, new) = (self.branch_ref(), &self.state.progress.head.commit);
        let mut notices = Vec::new();
        let (edit, from) = match after.all.get(&name) {
            Some(old) if old == new => return Ok(notices),
            Some(old) if !git.contains(new, old)? => {
                let kept = git.salvage(&self.folder.id, "branch-moved", &git.tree_of(old)?, old)?;
                notices.push(format!("the commits it pointed to are kept as {kept}"));
                (RefEdit::Update { name: &name, new, old }, format!("from {old}"))
            }
            Some(old) => (RefEdit::Update { name: &name, new, old }, format!("from {old}")),
            None => (RefEdit::Create { name: &name, new }, "after it was deleted".to_owned()),
        };
        match git.edit_refs(&[edit])? {
            Swap::Done => {
                notices.insert(
                    0,
                    format!("the run's branch moved during the agent's turn; restored {from}"),
                );
                Ok(notices)
            }
            // Another process is changing it right now. The commit step will notice.
            Swap::Moved => Ok(notices),
        }
    }

    fn put_back_note(&self, before: &Refs, after: &Refs) -> Result<Option<String>> {
        let notes = redgreen_core::handoff::NOTES_REF;
        if before.all.get(notes) == after.all.get(notes) {
            return Ok(None);
        }
        if let (Some(old), None) = (before.all.get(notes), after.all.get(notes)) {
            let edit = RefEdit::Create { name: notes, new: old };
            return Ok(match self.project.git.edit_refs(&[edit])? {
                Swap::Done => {
                    Some("the agent deleted the handoff notes; redgreen restored them".to_owned())
                }
                Swap::Moved => None,
            });
        }
        // Other runs write notes too. Only the note of our own commit is known.
        let commit = &self.state.progress.head.commit;
        let known = self.state.progress.handoff.as_ref().map(|handoff| handoff.render());
        let found = self.project.git.notes().read(commit)?;
        match known {
            Some(known) if found.as_deref().map(str::trim_end) != Some(known.trim_end()) => {
                self.project.git.notes().write(commit, &known)?;
                Ok(Some(
                    "the agent changed the run's handoff note; redgreen restored it".to_owned(),
                ))
            }
            // A note on the start commit of the run belongs to another run.
            Some(_) | None => Ok(None),
        }
    }
}
