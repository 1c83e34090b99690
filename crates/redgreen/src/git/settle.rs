//! After a crash: what became of a merge, and an end to one that was left half-way.

use std::path::Path;

use anyhow::Result;

use super::Git;
use super::landing::{Landing, temporary};
use crate::failure::Failure;

/// What became of a merge that nobody saw the end of. No trace of it is left but a finished one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Settled {
    /// The branch has it; this is the branch's commit now.
    Merged { commit: String },
    /// It was half-way, and was taken back.
    TakenBack,
    /// It never began.
    Untouched,
}

impl Git {
    /// `target` and `scratch` as the merge was asked for. A merge of the user's own is left alone.
    pub fn settle_merge(&self, target: &str, source: &str, scratch: &Path) -> Result<Settled> {
        let leftover = temporary(target, scratch);
        let was_there = self.admin_dir(&leftover)?.is_some() || leftover.exists();
        if was_there {
            self.remove_landing(&leftover)?;
        }
        let now = self
            .read_ref(&format!("refs/heads/{target}"))?
            .unwrap_or_default();
        if now.is_empty() {
            return Ok(Settled::Untouched);
        }
        if self.contains(&now, source)? {
            return Ok(Settled::Merged { commit: now });
        }
        let landing = self.landing(target)?;
        match landing {
            Some(landing) if self.half_merged(&landing, &now, source)? => {
                self.take_back(&landing)?;
                Ok(Settled::TakenBack)
            }
            _ if was_there => Ok(Settled::TakenBack),
            _ => Ok(Settled::Untouched),
        }
    }

    /// Git notes what it merges only when it stops for the user. A merge that was killed while a hook ran shows in the
    /// index alone, which holds exactly the merged tree.
    fn half_merged(&self, landing: &Landing, now: &str, source: &str) -> Result<bool> {
        match landing.merge_head() {
            Some(head) => Ok(head == source),
            None => {
                let Ok(merged) = self.merged_tree(now, source)? else {
                    return Ok(false);
                };
                if merged == self.tree_of(now)? {
                    return Ok(false);
                }
                let compared = landing
                    .call()
                    .args(["diff-index", "--cached", "--quiet", &merged])
                    .ask("read the index")?;
                Ok(compared.success())
            }
        }
    }

    fn take_back(&self, landing: &Landing) -> Result<()> {
        let lock = landing.admin.join("index.lock");
        if lock.exists() {
            let place = landing.folder.display();
            return Err(Failure::environment(format!(
                "a merge in {place} is half-way, and git still holds its index"
            ))
            .evidence("the merge may still be running; wait for it to end")
            .next(format!(
                "rm -f '{}'   (when no git is running there)",
                lock.display()
            ))
            .into());
        }
        landing.put_back()
    }
}
