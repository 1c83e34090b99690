//! Finds the upstream of a branch and pushes to it.

use std::time::Duration;

use anyhow::Result;

use super::Git;
use super::call::Call;
use crate::process::Stop;

/// A `pre-push` hook may run a whole test suite.
const PUSH_MAX: Duration = Duration::from_secs(1800);
const WORDS_BYTES_MAX: usize = 64 << 10;

/// The upstream of a local branch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Upstream {
    pub remote: String,
    /// The full name on the remote, such as `refs/heads/main`.
    pub branch: String,
    /// The URL of the remote.
    pub url: String,
    /// Whether it is the remote's default branch, as far as is known.
    pub is_default: bool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Push {
    Done,
    Refused { words: String },
}

impl Upstream {
    /// Such as `origin/main`.
    pub fn name(&self) -> String {
        format!("{}/{}", self.remote, self.short())
    }

    /// The branch name without `refs/heads/`.
    pub fn short(&self) -> &str {
        self.branch.strip_prefix("refs/heads/").unwrap_or(&self.branch)
    }
}

impl Git {
    /// `None` if the branch has no upstream, or if its upstream is a local branch.
    pub fn upstream(&self, branch: &str) -> Result<Option<Upstream>> {
        let name = format!("refs/heads/{branch}");
        let format = "--format=%(refname)%00%(upstream:remotename)%00%(upstream:remoteref)";
        let answer = self
            .call(["for-each-ref", format, &name])
            .run(&format!("find the upstream of {branch}"))?;
        let text = String::from_utf8_lossy(&answer);
        let found = text.lines().find_map(|line| {
            let mut fields = line.split('\0');
            let (known, remote, there) = (fields.next()?, fields.next()?, fields.next()?);
            let is_remote =
                known == name && !there.is_empty() && !remote.is_empty() && remote != ".";
            is_remote.then(|| (remote.to_owned(), there.to_owned()))
        });
        let Some((remote, there)) = found else { return Ok(None) };
        let asked = self
            .call(["remote", "get-url", "--", &remote])
            .ask(&format!("find the address of {remote}"))?;
        // A branch may have a URL instead of a remote.
        let url =
            if asked.success() { asked.stdout_text().trim().to_owned() } else { remote.clone() };
        let mut upstream = Upstream { remote, branch: there, url, is_default: false };
        let head = format!("refs/remotes/{}/HEAD", upstream.remote);
        let asked =
            self.call(["symbolic-ref", "--quiet", &head]).ask("find the remote's own branch")?;
        upstream.is_default = if asked.success() {
            asked.stdout_text().trim() == format!("refs/remotes/{}", upstream.name())
        } else {
            // `git init` and `git remote add` do not record the default branch.
            matches!(upstream.short(), "main" | "master")
        };
        Ok(Some(upstream))
    }

    /// Pushes a branch to its upstream with the user's hooks and credentials. Never forces.
    pub fn push(&self, branch: &str, to: &Upstream, stop: &Stop) -> Result<Push> {
        let act = format!("push {branch} to {}", to.name());
        let what = format!("refs/heads/{branch}:{}", to.branch);
        let output = Call::as_the_user(&self.root)
            .args(["push", "--", &to.remote, &what])
            .wall(PUSH_MAX)
            .bytes_max(WORDS_BYTES_MAX)
            .stop(stop)
            .output(&act)?;
        if output.success() {
            return Ok(Push::Done);
        }
        let words = [output.stderr_text(), output.stdout_text()].join("\n").trim().to_owned();
        Ok(Push::Refused { words })
    }
}
