//! Creates commits from a tree, without a checkout, hooks or signing.

use std::time::Duration;

use anyhow::{Context, Result};
use redgreen_core::names::Oid;

use super::Git;
use super::call::{Call, refused};
use super::scratch::{EMAIL, NAME};
use super::state::no_identity;
use crate::process::Stop;

/// The user's hooks may run a whole test suite.
const COMMIT_MAX: Duration = Duration::from_secs(1800);

impl Git {
    /// Creates a commit without a ref. The same arguments and identity give the same id, so it can
    /// be repeated after a crash. `date` is in seconds since 1970.
    pub fn commit_tree(
        &self,
        tree: &str,
        parents: &[&str],
        message: &str,
        date: i64,
    ) -> Result<Oid> {
        self.commit_as(&[], tree, parents, message, date)
    }

    /// The same as redgreen: commits that only refs of its own keep need no name of the user's, and
    /// no git has to know one.
    pub fn keep_tree(&self, tree: &str, parents: &[&str], message: &str, date: i64) -> Result<Oid> {
        let own = [
            ("GIT_AUTHOR_NAME", NAME),
            ("GIT_AUTHOR_EMAIL", EMAIL),
            ("GIT_COMMITTER_NAME", NAME),
            ("GIT_COMMITTER_EMAIL", EMAIL),
        ];
        self.commit_as(&own, tree, parents, message, date)
    }

    fn commit_as(
        &self,
        person: &[(&str, &str)],
        tree: &str,
        parents: &[&str],
        message: &str,
        date: i64,
    ) -> Result<Oid> {
        let act = format!("commit tree {tree}");
        // With `@` git parses small numbers as seconds, too.
        let date = format!("@{date} +0000");
        let call = self
            .call([
                "-c",
                "user.useConfigOnly=true",
                "-c",
                "i18n.commitEncoding=UTF-8",
                "commit-tree",
                "--no-gpg-sign",
            ])
            .args(parents.iter().flat_map(|parent| ["-p", parent]))
            .args(["-F", "-", tree])
            .env("GIT_AUTHOR_DATE", &date)
            .env("GIT_COMMITTER_DATE", &date)
            .stdin(message);
        let asked =
            person.iter().fold(call, |call, (name, value)| call.env(name, value)).ask(&act)?;
        match asked.success() {
            true => Oid::parse(asked.stdout_text().trim()).context(act),
            false if asked.stderr_text().contains("Please tell me who you are") => {
                Err(no_identity())
            }
            false if asked.stderr_text().contains("auto-detection is disabled") => {
                Err(no_identity())
            }
            false => Err(refused(&act, &asked)),
        }
    }

    /// Commits some paths of the checkout as the user would, with hooks and signing. Other staged
    /// changes stay staged. Returns git's error message if it refuses.
    pub fn commit_paths(
        &self,
        paths: &[String],
        message: &str,
        stop: &Stop,
    ) -> Result<Result<(), String>> {
        let act = "commit what was accepted";
        let names: Vec<u8> = paths.iter().flat_map(|path| path.bytes().chain([0])).collect();
        let steps: [&[&str]; 2] = [
            // `commit --only` does not accept untracked files.
            &["add", "--intent-to-add", "--pathspec-from-file=-", "--pathspec-file-nul"],
            &[
                "commit",
                "--quiet",
                "--message",
                message,
                "--only",
                "--pathspec-from-file=-",
                "--pathspec-file-nul",
            ],
        ];
        for step in steps {
            let call = Call::as_the_user(&self.root)
                .args(step.iter().copied())
                .env("GIT_LITERAL_PATHSPECS", "1");
            let output = call.stdin(names.clone()).wall(COMMIT_MAX).stop(stop).output(act)?;
            if !output.success() {
                return Ok(Err([output.stderr_text(), output.stdout_text()]
                    .join("\n")
                    .trim()
                    .to_owned()));
            }
        }
        Ok(Ok(()))
    }
}
