//! Commits made from a tree, without a checkout, a hook or a signature.

use anyhow::{Context, Result};
use redgreen_core::names::Oid;

use super::Git;
use super::call::refused;
use super::state::no_identity;

impl Git {
    /// A commit that nothing points to yet. The same arguments and the same identity give the same id, so that doing
    /// it again after a crash changes nothing. The date is in seconds since 1970.
    pub fn commit_tree(&self, tree: &str, parents: &[&str], message: &str, date: i64) -> Result<Oid> {
        let act = format!("commit tree {tree}");
        // The `@` lets git take small numbers for seconds, too.
        let date = format!("@{date} +0000");
        let asked = self
            .call(["-c", "user.useConfigOnly=true", "-c", "i18n.commitEncoding=UTF-8", "commit-tree", "--no-gpg-sign"])
            .args(parents.iter().flat_map(|parent| ["-p", parent]))
            .args(["-F", "-", tree])
            .env("GIT_AUTHOR_DATE", &date)
            .env("GIT_COMMITTER_DATE", &date)
            .stdin(message)
            .ask(&act)?;
        match asked.success() {
            true => Oid::parse(asked.stdout_text().trim()).context(act),
            false if asked.stderr_text().contains("Please tell me who you are") => Err(no_identity()),
            false if asked.stderr_text().contains("auto-detection is disabled") => Err(no_identity()),
            false => Err(refused(&act, &asked)),
        }
    }
}
