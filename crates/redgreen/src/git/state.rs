//! Reads the state of the user's checkout without changing it.

use anyhow::{Context, Result};
use redgreen_core::names::Oid;

use super::Git;
use super::call::refused;
use crate::failure::Failure;

/// The commit and the branch of the checkout.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Head {
    pub commit: Oid,
    /// `None` if HEAD is detached.
    pub branch: Option<String>,
}

/// The number of files with uncommitted changes. One file can be both staged and unstaged.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Dirty {
    pub staged: usize,
    pub unstaged: usize,
    pub untracked: usize,
}

impl Dirty {
    pub fn is_clean(self) -> bool {
        self == Self::default()
    }
}

impl Git {
    pub fn head(&self) -> Result<Head> {
        let act = "read HEAD";
        let asked = self.call(["rev-parse", "HEAD", "--symbolic-full-name", "HEAD"]).ask(act)?;
        let stderr = asked.stderr_text();
        if !asked.success() && stderr.contains("unknown revision") {
            return Err(no_commit().into());
        }
        if !asked.success() {
            return Err(refused(act, &asked));
        }
        let answer = asked.stdout_text();
        let mut lines = answer.lines();
        let commit = Oid::parse(lines.next().unwrap_or_default()).context(act)?;
        let branch = lines.next().and_then(|name| name.strip_prefix("refs/heads/"));
        Ok(Head { commit, branch: branch.map(str::to_owned) })
    }

    /// The committer, as `Name <email>`.
    pub fn identity(&self) -> Result<String> {
        // Without this setting git makes up an address from the host name.
        let call = self.call(["-c", "user.useConfigOnly=true", "var", "GIT_COMMITTER_IDENT"]);
        let asked = call.ask("read who commits")?;
        if !asked.success() {
            return Err(no_identity());
        }
        let answer = asked.stdout_text();
        let person = answer.rsplit_once('>').map_or(answer.as_str(), |(person, _)| person);
        Ok(format!("{person}>"))
    }

    pub fn dirty_count(&self) -> Result<Dirty> {
        // Comparing a file with a new timestamp runs its filter, which the user may not have
        // trusted yet.
        let answer = self
            .call_without_commands([
                "status",
                "--porcelain=v1",
                "-z",
                "--no-renames",
                "--untracked-files=normal",
                "--ignore-submodules=dirty",
            ])?
            .run("read the state of the checkout")?;
        let mut dirty = Dirty::default();
        for entry in answer.split(|byte| *byte == 0) {
            match entry {
                [] => {}
                [b'?', ..] => dirty.untracked += 1,
                [staged, unstaged, ..] => {
                    dirty.staged += usize::from(*staged != b' ');
                    dirty.unstaged += usize::from(*unstaged != b' ');
                }
                [_] => {}
            }
        }
        Ok(dirty)
    }
}

pub(super) fn no_commit() -> Failure {
    Failure::environment("the repository has no commit yet")
        .next("git commit --allow-empty -m 'first commit'")
}

pub(super) fn no_identity() -> anyhow::Error {
    Failure::environment("git has no user name and email configured")
        .next("git config user.name 'Your Name' && git config user.email you@example.com")
        .into()
}
