//! Commits made from a tree, without a checkout, a hook or a signature.

use std::time::Duration;

use anyhow::{Context, Result};
use redgreen_core::names::Oid;

use super::Git;
use super::call::{Call, refused};
use super::state::no_identity;
use crate::process::Stop;

/// A user's hooks may run a whole suite.
const COMMIT_MAX: Duration = Duration::from_secs(1800);

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

    /// Commits some paths of the checkout as they are in its files, as the user would: with their hooks and signature, and
    /// with whatever else is staged left staged. The answer is git's complaint where it refused.
    pub fn commit_paths(&self, paths: &[String], message: &str, stop: &Stop) -> Result<Result<(), String>> {
        let act = "commit what was accepted";
        let names: Vec<u8> = paths.iter().flat_map(|path| path.bytes().chain([0])).collect();
        let steps: [&[&str]; 2] = [
            // Files that git does not know yet cannot be committed by their names.
            &["add", "--intent-to-add", "--pathspec-from-file=-", "--pathspec-file-nul"],
            &["commit", "--quiet", "--message", message, "--only", "--pathspec-from-file=-", "--pathspec-file-nul"],
        ];
        for step in steps {
            let call = Call::as_the_user(&self.root).args(step.iter().copied()).env("GIT_LITERAL_PATHSPECS", "1");
            let output = call.stdin(names.clone()).wall(COMMIT_MAX).stop(stop).output(act)?;
            if !output.success() {
                return Ok(Err([output.stderr_text(), output.stdout_text()].join("\n").trim().to_owned()));
            }
        }
        Ok(Ok(()))
    }
}
