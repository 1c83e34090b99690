//! Reads and changes refs. A change states the old value it expects.

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use redgreen_core::names::{Oid, RunBranch};
use redgreen_core::text::in_quotes;

use super::Git;
use super::call::refused;
use super::notes::NOTES;
use crate::failure::Failure;
use crate::foreign;

/// A change of one ref with its expected old state.
#[derive(Clone, Copy, Debug)]
pub enum RefEdit<'a> {
    Create { name: &'a str, new: &'a str },
    Update { name: &'a str, new: &'a str, old: &'a str },
    Delete { name: &'a str, old: &'a str },
}

/// Whether a transaction succeeded: all changes or none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub enum Swap {
    Done,
    /// A ref did not have the expected value: another process changed it.
    Moved,
}

/// Git's messages about an unexpected old value, for the versions we support.
const MOVED: &[&str] = &[
    "but expected",
    "reference already exists",
    "unable to resolve reference",
    "reference is missing",
];

/// The refs that redgreen may move and delete, besides its notes.
const OWN: [&str; 4] = [
    "refs/heads/redgreen/",
    "refs/redgreen/",
    "refs/worktree/redgreen/",
    "refs/notes/redgreen-tmp/",
];

/// The branches of runs, local and fetched from remotes.
pub(super) const RUN_BRANCHES: [&str; 2] = ["refs/heads/redgreen/**", "refs/remotes/*/redgreen/**"];

/// Refs that all checkouts share. Others can differ between worktrees.
const SHARED_REFS: [&str; 3] = ["refs/heads/", "refs/redgreen/", "refs/notes/"];

impl Git {
    /// Resolves a revision to an object.
    pub fn resolve(&self, rev: &str) -> Result<Option<Oid>> {
        let asked = self
            .call(["rev-parse", "--verify", "--quiet", "--end-of-options", rev])
            .ask(&format!("resolve {rev}"))?;
        Ok(if asked.success() { Oid::parse(asked.stdout_text().trim()).ok() } else { None })
    }

    /// Git's error message for a revision that does not exist.
    pub fn complaint_about(&self, rev: &str) -> Result<String> {
        let asked = self
            .call(["rev-parse", "--verify", "--end-of-options", rev])
            .ask(&format!("resolve {rev}"))?;
        Ok(asked.stderr_text().trim().to_owned())
    }

    pub fn branch_exists(&self, branch: &str) -> Result<bool> {
        Ok(self.read_ref(&format!("refs/heads/{branch}"))?.is_some())
    }

    /// Whether git accepts this as a branch name.
    pub fn is_branch_name(&self, name: &str) -> Result<bool> {
        let asked = self
            .call(["check-ref-format", "--branch", name])
            .ask(&format!("check the name {name}"))?;
        Ok(asked.success() && asked.stdout_text().trim_end() == name)
    }

    /// The branches of runs, local and fetched from remotes, with their tips. Skips refs with a
    /// name that a run would not use.
    pub fn run_branch_tips(&self) -> Result<Vec<(RunBranch, Oid)>> {
        let call =
            self.call(["for-each-ref", "--format=%(objectname) %(refname)"]).args(RUN_BRANCHES);
        let answer = call.run("list the branches of runs")?;
        let tip = |line: &str| {
            let (id, name) = line.split_once(' ')?;
            let local = name.strip_prefix("refs/heads/");
            let fetched =
                || name.strip_prefix("refs/remotes/")?.split_once('/').map(|(_, branch)| branch);
            Some((RunBranch::parse(local.or_else(fetched)?).ok()?, Oid::parse(id).ok()?))
        };
        Ok(String::from_utf8_lossy(&answer).lines().filter_map(tip).collect())
    }

    pub fn read_ref(&self, name: &str) -> Result<Option<Oid>> {
        // A loose ref takes precedence over other storage, so read its file first. Anything else is
        // left to git.
        let file =
            is_shared(name).then(|| foreign::read_text(&self.common_dir.join(name)).ok()).flatten();
        if let Some(found) = file.and_then(|line| Oid::parse(line.trim_end()).ok()) {
            return Ok(Some(found));
        }
        let found = self.read_refs(&[name])?;
        Ok(found.into_iter().find(|(found, _)| found == name).map(|(_, commit)| commit))
    }

    /// All refs equal to or below one of the names, sorted by name. Runs one process.
    pub fn read_refs(&self, names: &[&str]) -> Result<Vec<(String, Oid)>> {
        // Do not ask for more than the object name, so that refs to missing objects can be read
        // too.
        let answer = self
            .call(["for-each-ref", "--format=%(objectname) %(refname)"])
            .args(names.iter().copied())
            .run("read refs")?;
        let text = String::from_utf8_lossy(&answer);
        Ok(text
            .lines()
            .filter_map(|line| line.split_once(' '))
            .filter_map(|(id, name)| Some((name.to_owned(), Oid::parse(id).ok()?)))
            .collect())
    }

    /// The full names of all refs whose history contains the commit.
    pub fn refs_containing(&self, commit: &Oid) -> Result<Vec<String>> {
        let call =
            self.call(["for-each-ref", "--format=%(refname)", "--contains", commit.as_str()]);
        let answer = call.run(&format!("look for the refs that keep {commit}"))?;
        Ok(String::from_utf8_lossy(&answer).lines().map(str::to_owned).collect())
    }

    /// The checkout that has the branch, given by its full name. Runs no process, because every
    /// change of a branch asks this.
    pub fn checked_out(&self, branch: &str) -> Result<Option<PathBuf>> {
        let has = |admin: &Path| {
            let head = foreign::read_text(&admin.join("HEAD")).unwrap_or_default();
            head.strip_prefix("ref:").is_some_and(|name| name.trim() == branch)
        };
        // A bare repository with worktrees has a HEAD as well, but no checkout for it.
        if has(&self.common_dir) {
            return Ok(Some(self.common_dir.parent().unwrap_or(&self.common_dir).to_owned()));
        }
        let linked = self.common_dir.join("worktrees");
        let entries = match fs::read_dir(&linked) {
            Ok(entries) => entries,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
            Err(error) => {
                return Err(error).with_context(|| format!("read folder {}", linked.display()));
            }
        };
        for entry in entries {
            let admin = entry.with_context(|| format!("read folder {}", linked.display()))?.path();
            if has(&admin) {
                let recorded = foreign::read_text(&admin.join("gitdir")).unwrap_or_default();
                let folder = Path::new(recorded.trim_end()).parent().unwrap_or(&admin).to_owned();
                return Ok(Some(folder));
            }
        }
        Ok(None)
    }

    /// Only refs of redgreen may be moved or deleted, never a branch of the user or one that is
    /// checked out. Creating a ref is always safe.
    fn check_edit(&self, edit: &RefEdit<'_>) -> Result<()> {
        let name = match edit {
            RefEdit::Create { name, .. } => name,
            RefEdit::Update { name, .. } | RefEdit::Delete { name, .. } => {
                let own = OWN.iter().any(|start| name.starts_with(start)) || *name == NOTES;
                ensure!(own, "{}: this ref does not belong to redgreen", edit.act());
                name
            }
        };
        if name.starts_with("refs/heads/")
            && let Some(folder) = self.checked_out(name)?
        {
            let branch = name.trim_start_matches("refs/heads/");
            let what = format!("the branch {branch} is checked out, so it was not changed");
            return Err(Failure::environment(what)
                .evidence(format!("in {}", folder.display()))
                .next(format!(
                    "git -C {} switch <another branch>",
                    in_quotes(&folder.to_string_lossy())
                ))
                .into());
        }
        Ok(())
    }

    /// Changes refs in one transaction. Runs one process.
    pub fn edit_refs(&self, edits: &[RefEdit<'_>]) -> Result<Swap> {
        for edit in edits {
            self.check_edit(edit)?;
        }
        let act = edits.iter().map(RefEdit::act).collect::<Vec<_>>().join(", ");
        let lines: String = edits.iter().map(RefEdit::line).collect();
        let asked =
            self.call(["update-ref", "--no-deref", "--stdin", "-z"]).stdin(lines).ask(&act)?;
        let stderr = asked.stderr_text();
        match asked.success() {
            true => Ok(Swap::Done),
            false if MOVED.iter().any(|words| stderr.contains(words)) => Ok(Swap::Moved),
            false => Err(refused(&act, &asked)),
        }
    }
}

impl RefEdit<'_> {
    fn line(&self) -> String {
        match self {
            Self::Create { name, new } => format!("create {name}\0{new}\0"),
            Self::Update { name, new, old } => format!("update {name}\0{new}\0{old}\0"),
            Self::Delete { name, old } => format!("delete {name}\0{old}\0"),
        }
    }

    fn act(&self) -> String {
        match self {
            Self::Create { name, .. } => format!("create {name}"),
            Self::Update { name, .. } => format!("update {name}"),
            Self::Delete { name, .. } => format!("delete {name}"),
        }
    }
}

/// Whether a ref has a single file for the whole repository, and its name does not lead to another
/// one.
fn is_shared(name: &str) -> bool {
    SHARED_REFS.iter().any(|start| name.starts_with(start))
        && name.split('/').all(|part| part != "..")
}
