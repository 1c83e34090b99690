//! Names for commits: read, and changed only from the value that the caller knows of.

use anyhow::Result;

use super::Git;
use super::call::refused;

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

/// Where the branches of runs are, here and on the remotes that were fetched.
pub(super) const RUN_BRANCHES: [&str; 2] = ["refs/heads/redgreen/**", "refs/remotes/*/redgreen/**"];

impl Git {
    /// The object that any name git understands stands for.
    pub fn resolve(&self, rev: &str) -> Result<Option<String>> {
        let asked =
            self.call(["rev-parse", "--verify", "--quiet", "--end-of-options", rev]).ask(&format!("resolve {rev}"))?;
        let found = asked.stdout_text().trim().to_owned();
        Ok((asked.success() && !found.is_empty()).then_some(found))
    }

    pub fn branch_exists(&self, branch: &str) -> Result<bool> {
        Ok(self.read_ref(&format!("refs/heads/{branch}"))?.is_some())
    }

    /// Whether git takes this for the name of a branch.
    pub fn is_branch_name(&self, name: &str) -> Result<bool> {
        let asked = self.call(["check-ref-format", "--branch", name]).ask(&format!("check the name {name}"))?;
        Ok(asked.success() && asked.stdout_text().trim_end() == name)
    }

    /// The tips of the branches that runs work on.
    pub fn run_branch_tips(&self) -> Result<Vec<String>> {
        let call = self.call(["for-each-ref", "--format=%(objectname)"]).args(RUN_BRANCHES);
        let answer = call.run("list the branches of runs")?;
        Ok(String::from_utf8_lossy(&answer).lines().map(str::to_owned).collect())
    }

    pub fn read_ref(&self, name: &str) -> Result<Option<String>> {
        let found = self.read_refs(&[name])?;
        Ok(found.into_iter().find(|(found, _)| found == name).map(|(_, commit)| commit))
    }

    /// Every ref that is, or lies under, one of the names, in the order of names. One process.
    pub fn read_refs(&self, names: &[&str]) -> Result<Vec<(String, String)>> {
        // Only the object's name is asked for, so that a ref to a missing object can be read too.
        let answer = self
            .call(["for-each-ref", "--format=%(objectname) %(refname)"])
            .args(names.iter().copied())
            .run("read refs")?;
        let text = String::from_utf8_lossy(&answer);
        Ok(text
            .lines()
            .filter_map(|line| line.split_once(' '))
            .map(|(id, name)| (name.to_owned(), id.to_owned()))
            .collect())
    }

    /// Changes refs together. One process.
    pub fn edit_refs(&self, edits: &[RefEdit<'_>]) -> Result<Swap> {
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
