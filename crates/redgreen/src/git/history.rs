//! What commits say of themselves: their order, their parents, the run that made them.

use anyhow::{Context, Result};
use redgreen_core::event::Mark;
use redgreen_core::names::Oid;

use super::Git;

impl Git {
    /// The commits from `old` (without it) to `new`, along first parents, oldest first.
    pub fn commits_since(&self, old: &str, new: &str) -> Result<Vec<Mark>> {
        let range = format!("{old}..{new}");
        let act = format!("list the commits of {range}");
        let answer = self.call(["log", "--first-parent", "--reverse", "--format=%H %T", &range]).run(&act)?;
        let text = String::from_utf8_lossy(&answer);
        let mark = |line: &str| {
            let (commit, tree) = line.split_once(' ')?;
            Some(Mark { commit: Oid::parse(commit).ok()?, tree: Oid::parse(tree).ok()? })
        };
        text.lines().map(mark).collect::<Option<Vec<_>>>().context(act)
    }

    pub fn parents(&self, commit: &str) -> Result<Vec<Oid>> {
        let call = self.call(["log", "-1", "--format=%P", "--end-of-options", commit]);
        let answer = call.run(&format!("read the parents of {commit}"))?;
        Ok(String::from_utf8_lossy(&answer).split_whitespace().filter_map(|id| Oid::parse(id).ok()).collect())
    }

    /// Whether the commit's message names the run, as the engine's own do.
    pub fn names_run(&self, commit: &str, run: &str) -> Result<bool> {
        let answer = self.call(["log", "-1", "--format=%B", commit]).run(&format!("read the message of {commit}"))?;
        let line = format!("Redgreen-Run: {run}");
        Ok(String::from_utf8_lossy(&answer).lines().any(|found| found.trim_end() == line))
    }
}
