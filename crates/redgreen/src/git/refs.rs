//! Names for commits: read, and changed only from the value that the caller knows of.

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

/// A change of one ref that holds only if the ref is as described.
#[derive(Clone, Copy, Debug)]
pub enum RefEdit<'a> {
    Create { name: &'a str, new: &'a str },
    Update { name: &'a str, new: &'a str, old: &'a str },
    Delete { name: &'a str, old: &'a str },
}

/// Whether a change of refs took place; it is all of them or none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub enum Swap {
    Done,
    /// A ref was not as described: someone else was faster.
    Moved,
}

/// What git says about a ref that is not as described, in the versions we know.
const MOVED: &[&str] =
    &["but expected", "reference already exists", "unable to resolve reference", "reference is missing"];

/// Where the refs are that redgreen moves and deletes, beside its notes.
const OWN: [&str; 4] =
    ["refs/heads/redgreen/", "refs/redgreen/", "refs/worktree/redgreen/", "refs/notes/redgreen-tmp/"];

/// Where the branches of runs are, here and on the remotes that were fetched.
pub(super) const RUN_BRANCHES: [&str; 2] = ["refs/heads/redgreen/**", "refs/remotes/*/redgreen/**"];

/// Refs that are the same in every checkout; some others have a file for each.
const OF_ALL_CHECKOUTS: [&str; 3] = ["refs/heads/", "refs/redgreen/", "refs/notes/"];

impl Git {
    /// The object that any name git understands stands for.
    pub fn resolve(&self, rev: &str) -> Result<Option<Oid>> {
        let asked =
            self.call(["rev-parse", "--verify", "--quiet", "--end-of-options", rev]).ask(&format!("resolve {rev}"))?;
        Ok(if asked.success() { Oid::parse(asked.stdout_text().trim()).ok() } else { None })
    }

    /// What git says of a name that stands for nothing.
    pub fn complaint_about(&self, rev: &str) -> Result<String> {
        let asked = self.call(["rev-parse", "--verify", "--end-of-options", rev]).ask(&format!("resolve {rev}"))?;
        Ok(asked.stderr_text().trim().to_owned())
    }

    pub fn branch_exists(&self, branch: &str) -> Result<bool> {
        Ok(self.read_ref(&format!("refs/heads/{branch}"))?.is_some())
    }

    /// Whether git takes this for the name of a branch.
    pub fn is_branch_name(&self, name: &str) -> Result<bool> {
        let asked = self.call(["check-ref-format", "--branch", name]).ask(&format!("check the name {name}"))?;
        Ok(asked.success() && asked.stdout_text().trim_end() == name)
    }

    /// The branches that runs work on, here and on the remotes that were fetched, and their tips. A ref whose name no run
    /// would give its branch is left out.
    pub fn run_branch_tips(&self) -> Result<Vec<(RunBranch, Oid)>> {
        let call = self.call(["for-each-ref", "--format=%(objectname) %(refname)"]).args(RUN_BRANCHES);
        let answer = call.run("list the branches of runs")?;
        let tip = |line: &str| {
            let (id, name) = line.split_once(' ')?;
            let local = name.strip_prefix("refs/heads/");
            let fetched = || name.strip_prefix("refs/remotes/")?.split_once('/').map(|(_, branch)| branch);
            Some((RunBranch::parse(local.or_else(fetched)?).ok()?, Oid::parse(id).ok()?))
        };
        Ok(String::from_utf8_lossy(&answer).lines().filter_map(tip).collect())
    }

    pub fn read_ref(&self, name: &str) -> Result<Option<Oid>> {
        // A file of its own comes before any other way of keeping a ref. One that is not there, or says something else
        // than a name, is git's to find.
        let file = is_of_all_checkouts(name).then(|| fs::read_to_string(self.common_dir.join(name)).ok()).flatten();
        if let Some(found) = file.and_then(|line| Oid::parse(line.trim_end()).ok()) {
            return Ok(Some(found));
        }
        let found = self.read_refs(&[name])?;
        Ok(found.into_iter().find(|(found, _)| found == name).map(|(_, commit)| commit))
    }

    /// Every ref that is, or lies under, one of the names, in the order of names. One process.
    pub fn read_refs(&self, names: &[&str]) -> Result<Vec<(String, Oid)>> {
        // Only the object's name is asked for, so that a ref to a missing object can be read too.
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

    /// The full names of all refs that have the commit in their history.
    pub fn refs_containing(&self, commit: &Oid) -> Result<Vec<String>> {
        let call = self.call(["for-each-ref", "--format=%(refname)", "--contains", commit.as_str()]);
        let answer = call.run(&format!("look for the refs that keep {commit}"))?;
        Ok(String::from_utf8_lossy(&answer).lines().map(str::to_owned).collect())
    }

    /// The checkout that has the branch, by its full name. No process: this is asked before every change of a branch.
    pub fn checked_out(&self, branch: &str) -> Result<Option<PathBuf>> {
        let has = |admin: &Path| {
            let head = fs::read_to_string(admin.join("HEAD")).unwrap_or_default();
            head.strip_prefix("ref:").is_some_and(|name| name.trim() == branch)
        };
        // A bare repository with worktrees has a HEAD as well, and no checkout that goes with it.
        if has(&self.common_dir) {
            return Ok(Some(self.common_dir.parent().unwrap_or(&self.common_dir).to_owned()));
        }
        let linked = self.common_dir.join("worktrees");
        let entries = match fs::read_dir(&linked) {
            Ok(entries) => entries,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(error).with_context(|| format!("read folder {}", linked.display())),
        };
        for entry in entries {
            let admin = entry.with_context(|| format!("read folder {}", linked.display()))?.path();
            if has(&admin) {
                let recorded = fs::read_to_string(admin.join("gitdir")).unwrap_or_default();
                let folder = Path::new(recorded.trim_end()).parent().unwrap_or(&admin).to_owned();
                return Ok(Some(folder));
            }
        }
        Ok(None)
    }

    /// Refuses what is not redgreen's to change. Whatever led here, a branch of the user's is never moved or deleted, and
    /// no branch is that is checked out; creating one takes nothing away.
    fn check_edit(&self, edit: &RefEdit<'_>) -> Result<()> {
        let name = match edit {
            RefEdit::Create { name, .. } => name,
            RefEdit::Update { name, .. } | RefEdit::Delete { name, .. } => {
                let own = OWN.iter().any(|start| name.starts_with(start)) || *name == NOTES;
                ensure!(own, "{}: that ref is not redgreen's", edit.act());
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
                .next(format!("git -C {} switch <another branch>", in_quotes(&folder.to_string_lossy())))
                .into());
        }
        Ok(())
    }

    /// Changes refs together. One process.
    pub fn edit_refs(&self, edits: &[RefEdit<'_>]) -> Result<Swap> {
        for edit in edits {
            self.check_edit(edit)?;
        }
        let act = edits.iter().map(RefEdit::act).collect::<Vec<_>>().join(", ");
        let lines: String = edits.iter().map(RefEdit::line).collect();
        let asked = self.call(["update-ref", "--no-deref", "--stdin", "-z"]).stdin(lines).ask(&act)?;
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

/// Whether a ref has one file for the whole repository, if it has one, and the name leads to no other.
fn is_of_all_checkouts(name: &str) -> bool {
    OF_ALL_CHECKOUTS.iter().any(|start| name.starts_with(start)) && name.split('/').all(|part| part != "..")
}
