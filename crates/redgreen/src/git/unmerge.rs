//! A merge taken back: the branch stands where it stood before, and no file that the user changed since is touched.

use std::fs;

use anyhow::Result;
use redgreen_core::names::{Branch, Oid};

use super::call::{CHECKOUT_MAX, refused};
use super::landing::Landing;
use super::{Git, Status};

/// Whether an earlier try was killed, and may have left the checkout half-way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Again {
    Yes,
    No,
}

/// How it ended. If blocked, everything is as before.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Unmerge {
    Done,
    Blocked { by: String, evidence: String },
}

/// So many names are shown.
const NAMED_MAX: usize = 8;

impl Git {
    /// Remote-tracking branches that have the commit: somebody else may have it too.
    pub fn published(&self, commit: &str) -> Result<Vec<String>> {
        let contains = format!("--contains={commit}");
        let format = "--format=%(symref)%00%(refname:short)";
        let call = self.call(["for-each-ref", format, &contains, "refs/remotes"]);
        let answer = call.run(&format!("look for {commit} on remote branches"))?;
        let text = String::from_utf8_lossy(&answer);
        // `origin/HEAD` is another name for one of them.
        Ok(text.lines().filter_map(|line| line.strip_prefix('\0')).map(str::to_owned).collect())
    }

    /// Moves `target` from `merge` back to `to`, in the checkout that has it, or the branch alone. The caller made sure
    /// that the commits stay reachable.
    pub fn unmerge(&self, target: &Branch, merge: &Oid, to: &Oid, again: Again) -> Result<Unmerge> {
        let name = target.full_ref();
        if self.read_ref(&name)?.as_ref() == Some(to) {
            return Ok(Unmerge::Done);
        }
        if let Some(folder) = self.rebase_of(target)? {
            return Ok(blocked(format!("a rebase of {target} is under way"), folder.display().to_string()));
        }
        match self.landing(target)? {
            Some(landing) => self.to_the_end().unmerge_at(&landing, target, [merge, to], again),
            None => self.move_back(&name, merge, to),
        }
    }

    /// Moves a branch that is checked out nowhere. `edit_refs` leaves branches of the user's alone; here the user asked.
    fn move_back(&self, name: &str, merge: &Oid, to: &Oid) -> Result<Unmerge> {
        let act = format!("move {name} back to {to}");
        let asked = self.call(["update-ref", "--no-deref", name, to.as_str(), merge.as_str()]).ask(&act)?;
        if asked.success() {
            return Ok(Unmerge::Done);
        }
        if self.read_ref(name)?.as_ref() != Some(merge) {
            return Ok(blocked(format!("{name} has moved"), String::new()));
        }
        Err(refused(&act, &asked))
    }

    fn unmerge_at(&self, landing: &Landing, target: &Branch, [merge, to]: [&Oid; 2], again: Again) -> Result<Unmerge> {
        let place = landing.folder.display().to_string();
        if let Some(what) = landing.under_way() {
            return Ok(blocked(format!("a {what} is under way"), place));
        }
        let lock = landing.admin.join("index.lock");
        if lock.exists() {
            return Ok(blocked("another git process is at work".to_owned(), format!("it holds {}", lock.display())));
        }
        let probe = self.probe(landing, merge, &self.tree_of(to)?)?;
        if again == Again::Yes {
            // Git writes files first, then the index, then the branch; what was written is in `to`.
            self.take_back(landing, &probe, "", &[])?;
        }
        // `git reset` would drop what is in the index and nowhere else.
        if landing.is_staged()? {
            return Ok(blocked("changes are staged".to_owned(), place));
        }
        // Git overwrites an ignored file that stands where a file comes back.
        let in_the_way: Vec<String> = self
            .diff(merge, to)?
            .into_iter()
            .filter(|change| change.status == Status::Added)
            .filter(|change| fs::symlink_metadata(landing.folder.join(&change.path)).is_ok())
            .map(|change| change.path)
            .collect();
        if !in_the_way.is_empty() {
            let names = in_the_way.iter().take(NAMED_MAX).cloned().collect::<Vec<_>>().join(", ");
            return Ok(blocked("files of yours stand where files of the branch come back".to_owned(), names));
        }
        let theirs = self.written(landing, &probe)?;
        // A file that was written again with the same bytes is no change of the user's, and git asks only for its date.
        // The answer is about files that differ, which the reset finds out too.
        landing.call().args(["update-index", "-q", "--refresh"]).wall(CHECKOUT_MAX).ask("refresh the index")?;
        let act = format!("reset {target} to {to}");
        // Refuses to touch a file with changes of the user's.
        let reset = landing.call().args(["reset", "--quiet", "--keep", to]).wall(CHECKOUT_MAX).output(&act);
        if self.read_ref(&target.full_ref())?.as_ref() == Some(to) {
            return Ok(Unmerge::Done);
        }
        self.take_back(landing, &probe, "", &theirs)?;
        let words = reset?.stderr_text().trim().to_owned();
        Ok(blocked("git does not reset over changes of yours".to_owned(), words))
    }
}

fn blocked(by: String, evidence: String) -> Unmerge {
    Unmerge::Blocked { by, evidence }
}
