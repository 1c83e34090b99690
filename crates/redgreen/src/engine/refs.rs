//! What an agent did to the repository's refs beside its work. Where our fence holds it cannot reach them. Where it does
//! not, the run's own branch and note are put back; what may as well be the user's doing is only told of.

use std::collections::BTreeMap;
use std::fs;

use anyhow::Result;
use redgreen_core::names::Oid;

use super::Engine;
use crate::git::{RefEdit, Swap};

/// Refs that runs move themselves, other runs too, and those that a fetch moves.
const OTHERS: [&str; 4] = ["refs/redgreen/", "refs/heads/redgreen/", "refs/notes/", "refs/remotes/"];
/// So many are named.
const NAMED_MAX: usize = 8;

/// Where everything stood before a turn.
pub(super) struct Refs {
    all: BTreeMap<String, Oid>,
    /// What the user has checked out.
    head: String,
}

impl Engine<'_> {
    pub(super) fn remember_refs(&self) -> Result<Refs> {
        let head = fs::read_to_string(self.project.git.common_dir.join("HEAD")).unwrap_or_default();
        Ok(Refs { all: self.project.git.read_refs(&[])?.into_iter().collect(), head: head.trim().to_owned() })
    }

    /// Puts back what is the run's own; says what else moved.
    pub(super) fn settle_refs(&self, before: &Refs) -> Result<Vec<String>> {
        let after = self.remember_refs()?;
        let mut notices: Vec<String> = self.put_back_branch(&after)?;
        notices.extend(self.put_back_note(before, &after)?);
        let ours = |name: &str| OTHERS.iter().any(|start| name.starts_with(start)) || name == self.branch_ref();
        let names = before.all.keys().chain(after.all.keys()).filter(|name| !ours(name));
        let mut moved: Vec<&str> =
            names.filter(|name| before.all.get(*name) != after.all.get(*name)).map(String::as_str).collect();
        if before.head != after.head {
            moved.push("HEAD");
        }
        moved.sort_unstable();
        moved.dedup();
        if !moved.is_empty() {
            let more = if moved.len() > NAMED_MAX { ", and more" } else { "" };
            let names = moved.iter().take(NAMED_MAX).copied().collect::<Vec<_>>().join(", ");
            notices.push(format!("moved while the agent worked, by it or by you, and left as is: {names}{more}"));
        }
        Ok(notices)
    }

    /// Whoever moved it, an agent or a person beside it: what it pointed to is salvaged.
    fn put_back_branch(&self, after: &Refs) -> Result<Vec<String>> {
        let git = &self.project.git;
        let (name, new) = (self.branch_ref(), &self.state.progress.head.commit);
        let mut notices = Vec::new();
        let (edit, from) = match after.all.get(&name) {
            Some(old) if old == new => return Ok(notices),
            Some(old) if !git.contains(new, old)? => {
                let kept = git.salvage(&self.folder.id, "branch-moved", &git.tree_of(old)?, old)?;
                notices.push(format!("the commits it was moved to are kept as {kept}"));
                (RefEdit::Update { name: &name, new, old }, format!("from {old}"))
            }
            Some(old) => (RefEdit::Update { name: &name, new, old }, format!("from {old}")),
            None => (RefEdit::Create { name: &name, new }, "after it was deleted".to_owned()),
        };
        match git.edit_refs(&[edit])? {
            Swap::Done => {
                notices.insert(0, format!("the run's branch was moved while the agent worked; put back {from}"));
                Ok(notices)
            }
            // Somebody is at it right now; the commit will tell.
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
                Swap::Done => Some("the agent deleted the handoff notes; they were put back".to_owned()),
                Swap::Moved => None,
            });
        }
        // Other runs write notes too; only the one of our own commit is known.
        let commit = &self.state.progress.head.commit;
        let known = self.state.progress.handoff.as_ref().map(|handoff| handoff.render());
        let found = self.project.git.notes().read(commit)?;
        match known {
            Some(known) if found.as_deref().map(str::trim_end) != Some(known.trim_end()) => {
                self.project.git.notes().write(commit, &known)?;
                Ok(Some("the agent changed the run's handoff note; it was written again".to_owned()))
            }
            // A note on the commit the run started from is another run's.
            Some(_) | None => Ok(None),
        }
    }
}
