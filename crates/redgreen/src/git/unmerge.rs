//! Undoes a merge: moves the branch back and leaves files that the user changed since alone.

use std::fs;

use anyhow::Result;
use redgreen_core::names::{Branch, Oid};

use super::call::{CHECKOUT_MAX, refused};
use super::merge_checkout::MergeCheckout;
use super::{Git, Status};

/// Whether an earlier attempt was killed and may have left the checkout half done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IsRetry {
    Yes,
    No,
}

/// If blocked, everything is as before.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Unmerge {
    Done,
    Blocked { by: String, evidence: String },
}

/// The number of file names in a message.
const NAMED_MAX: usize = 8;

impl Git {
    /// Remote-tracking branches that contain the commit, which means that others may have it too.
    pub fn published(&self, commit: &str) -> Result<Vec<String>> {
        let contains = format!("--contains={commit}");
        let format = "--format=%(symref)%00%(refname:short)";
        let call = self.call(["for-each-ref", format, &contains, "refs/remotes"]);
        let answer = call.run(&format!("look for {commit} on remote branches"))?;
        let text = String::from_utf8_lossy(&answer);
        // Skip `origin/HEAD`, an alias of one of the branches.
        Ok(text.lines().filter_map(|line| line.strip_prefix('\0')).map(str::to_owned).collect())
    }

    /// Moves `target` from `merge` back to `to`, together with its checkout if there is one. The
    /// caller makes sure that the commits stay reachable.
    pub fn unmerge(
        &self,
        target: &Branch,
        merge: &Oid,
        to: &Oid,
        again: IsRetry,
    ) -> Result<Unmerge> {
        let name = target.full_ref();
        if self.read_ref(&name)?.as_ref() == Some(to) {
            return Ok(Unmerge::Done);
        }
        if let Some(folder) = self.rebase_of(target)? {
            return Ok(blocked(
                format!("a rebase of {target} is in progress"),
                folder.display().to_string(),
            ));
        }
        match self.merge_checkout(target)? {
            Some(checkout) => {
                self.uninterrupted().unmerge_at(&checkout, target, [merge, to], again)
            }
            None => self.move_back(&name, merge, to),
        }
    }

    /// Moves a branch that is not checked out. `edit_refs` refuses to move the user's branches;
    /// here the user asked for it.
    fn move_back(&self, name: &str, merge: &Oid, to: &Oid) -> Result<Unmerge> {
        let act = format!("move {name} back to {to}");
        let asked =
            self.call(["update-ref", "--no-deref", name, to.as_str(), merge.as_str()]).ask(&act)?;
        if asked.success() {
            return Ok(Unmerge::Done);
        }
        if self.read_ref(name)?.as_ref() != Some(merge) {
            return Ok(blocked(format!("{name} has moved"), String::new()));
        }
        Err(refused(&act, &asked))
    }

    fn unmerge_at(
        &self,
        checkout: &MergeCheckout,
        target: &Branch,
        [merge, to]: [&Oid; 2],
        again: IsRetry,
    ) -> Result<Unmerge> {
        let place = checkout.folder.display().to_string();
        if let Some(what) = checkout.under_way() {
            return Ok(blocked(format!("a {what} is in progress"), place));
        }
        let lock = checkout.admin.join("index.lock");
        if lock.exists() {
            return Ok(blocked(
                "another git process is running".to_owned(),
                format!("it holds {}", lock.display()),
            ));
        }
        let probe = self.probe(checkout, merge, &self.tree_of(to)?)?;
        if again == IsRetry::Yes {
            // Git writes the files first, then the index, then the branch. All files it wrote are
            // in `to`.
            self.take_back(checkout, &probe, "", &[])?;
        }
        // `git reset` would discard changes that exist only in the index.
        if checkout.is_staged()? {
            return Ok(blocked("changes are staged".to_owned(), place));
        }
        // Git overwrites ignored files that are in the way.
        let in_the_way: Vec<String> = self
            .diff(merge, to)?
            .into_iter()
            .filter(|change| change.status == Status::Added)
            .filter(|change| fs::symlink_metadata(checkout.folder.join(&change.path)).is_ok())
            .map(|change| change.path)
            .collect();
        if !in_the_way.is_empty() {
            let names = in_the_way.iter().take(NAMED_MAX).cloned().collect::<Vec<_>>().join(", ");
            return Ok(blocked("your files block files to restore".to_owned(), names));
        }
        let theirs = self.written(checkout, &probe)?;
        // A rewritten file with the same content is not a change, but git compares timestamps. The
        // result is ignored because the reset below reports files that differ.
        checkout
            .call()
            .args(["update-index", "-q", "--refresh"])
            .wall(CHECKOUT_MAX)
            .ask("refresh the index")?;
        let act = format!("reset {target} to {to}");
        // `--keep` refuses to touch a file that the user changed.
        let reset = checkout
            .call()
            .args(["reset", "--quiet", "--keep", to])
            .wall(CHECKOUT_MAX)
            .output(&act);
        if self.read_ref(&target.full_ref())?.as_ref() == Some(to) {
            return Ok(Unmerge::Done);
        }
        self.take_back(checkout, &probe, "", &theirs)?;
        let words = reset?.stderr_text().trim().to_owned();
        Ok(blocked("git refuses to overwrite your changes".to_owned(), words))
    }
}

fn blocked(by: String, evidence: String) -> Unmerge {
    Unmerge::Blocked { by, evidence }
}
