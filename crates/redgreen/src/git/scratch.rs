//! Temporary repositories for the demo and the bench. They do not use the user's hooks, signing and
//! identity.

use std::fmt::Write;
use std::fs;
use std::path::Path;

use anyhow::{Context, Result};

use super::Git;
use super::call::{CHECKOUT_MAX, Call, base};
use super::notes::NOTES;
use crate::process::Program;

/// The author of commits in them and of commits that only refs of redgreen keep.
pub(super) const NAME: &str = "redgreen";
pub(super) const EMAIL: &str = "redgreen@redgreen.invalid";
/// The date of the first imported commit. Each later commit is one minute newer.
const FIRST_DATE: usize = 1_700_000_000;
const MINUTE: usize = 60;

/// A commit to import, with its note.
#[derive(Clone, Debug)]
pub struct NotedCommit {
    pub subject: String,
    pub note: String,
}

impl Git {
    /// Creates a repository in the folder and commits these files to `main`.
    pub fn create_scratch(folder: &Path, files: &[(&str, &str)], subject: &str) -> Result<Self> {
        for (name, text) in files {
            let path = folder.join(name);
            if let Some(parent) = path.parent() {
                fs::create_dir_all(parent)
                    .with_context(|| format!("create {}", parent.display()))?;
            }
            fs::write(&path, text).with_context(|| format!("write {}", path.display()))?;
        }
        for arguments in [
            &["init", "--quiet", "--initial-branch=main"][..],
            &["config", "user.name", NAME],
            &["config", "user.email", EMAIL],
            &["config", "commit.gpgsign", "false"],
            &["config", "core.hooksPath", "/dev/null"],
            &["add", "--all"],
            &["commit", "--quiet", "--message", subject],
        ] {
            let call = Call::as_the_user(folder).args(arguments.iter().copied());
            call.run(&format!("make a repository in {}", folder.display()))?;
        }
        Self::open(folder)
    }

    /// Adds commits to `main`, oldest first, each with its note. Runs two processes.
    pub fn import(&self, commits: &[NotedCommit]) -> Result<()> {
        let act = format!("import commits into {}", self.root.display());
        let mut stream = String::new();
        let mut notes = String::new();
        for (mark, commit) in (1..).zip(commits) {
            let date = FIRST_DATE + mark * MINUTE;
            let from = if mark == 1 { "from refs/heads/main^0\n" } else { "" };
            // Writing to a String cannot fail.
            write!(
                stream,
                "commit refs/heads/main\nmark :{mark}\ncommitter {NAME} <{EMAIL}> {date} +0000\n{}{from}\
                 M 100644 inline progress.txt\n{}\n",
                data(&commit.subject),
                data(&mark.to_string()),
            )
            .ok();
            write!(notes, "N inline :{mark}\n{}", data(&commit.note)).ok();
        }
        let date = FIRST_DATE + commits.len() * MINUTE;
        write!(
            stream,
            "commit {NOTES}\ncommitter {NAME} <{EMAIL}> {date} +0000\n{}{notes}\n",
            data("import")
        )
        .ok();
        self.call(["fast-import", "--quiet"]).stdin(stream).wall(CHECKOUT_MAX).run(&act)?;
        self.call(["reset", "--quiet", "--hard"]).wall(CHECKOUT_MAX).run(&act).map(drop)
    }

    /// A git command as the user would type it, for comparison.
    pub fn typed(&self, arguments: &[&str]) -> Program {
        base(&self.root).args(arguments.iter().copied())
    }
}

/// A text in the format of `git fast-import`.
fn data(text: &str) -> String {
    format!("data {}\n{text}\n", text.len())
}
