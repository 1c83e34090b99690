//! Reads the history: order, parents and messages of commits.

use anyhow::{Context, Result};
use redgreen_core::event::Mark;
use redgreen_core::names::Oid;
use redgreen_core::proof::hints::Hints;

use super::Git;

impl Git {
    /// The commits after `old` up to `new`, along first parents, oldest first.
    pub fn commits_since(&self, old: &str, new: &str) -> Result<Vec<Mark>> {
        let range = format!("{old}..{new}");
        let act = format!("list the commits of {range}");
        let answer = self
            .call(["log", "--first-parent", "--reverse", "--format=%H %T", &range])
            .run(&act)?;
        let text = String::from_utf8_lossy(&answer);
        let mark = |line: &str| {
            let (commit, tree) = line.split_once(' ')?;
            Some(Mark { commit: Oid::parse(commit).ok()?, tree: Oid::parse(tree).ok()? })
        };
        text.lines().map(mark).collect::<Option<Vec<_>>>().context(act)
    }

    /// Like `commits_since`, with what messages say about phases; at most `limit` commits, the newest
    /// ones.
    pub fn hints_since(&self, old: &Oid, new: &Oid, limit: usize) -> Result<Vec<(Mark, Hints)>> {
        let range = format!("{old}..{new}");
        let act = format!("list the commits of {range}");
        let most = format!("--max-count={limit}");
        let format = "--format=%H %T %(trailers:key=Redgreen-Phase,valueonly,separator=%x20)%x00%s";
        let call = self.call(["log", "--first-parent", "--reverse", &most, format, &range]);
        let answer = call.run(&act)?;
        let mark = |line: &str| {
            let mut fields = line.splitn(3, ' ');
            let (commit, tree) =
                (Oid::parse(fields.next()?).ok()?, Oid::parse(fields.next()?).ok()?);
            let (trailers, subject) = fields.next()?.split_once('\0')?;
            let (trailers, subject) = (trailers.to_owned(), subject.to_owned());
            Some((Mark { commit, tree }, Hints { subject, trailers, note: None }))
        };
        String::from_utf8_lossy(&answer).lines().map(mark).collect::<Option<Vec<_>>>().context(act)
    }

    /// The trees and subjects of the newest commits of a ref along first parents, newest first;
    /// nothing if the ref does not exist.
    pub fn first_parents(&self, name: &str, limit: usize) -> Result<Vec<(Oid, String)>> {
        let act = format!("list the commits of {name}");
        let most = format!("--max-count={limit}");
        let options = ["rev-list", "--first-parent", &most, "--no-commit-header", "--format=%T %s"];
        let asked = self.call(options).args(["--end-of-options", name, "--"]).ask(&act)?;
        if !asked.success() {
            return Ok(Vec::new());
        }
        let entry = |line: &str| {
            let (tree, subject) = line.split_once(' ')?;
            Some((Oid::parse(tree).ok()?, subject.to_owned()))
        };
        asked.stdout_text().lines().map(entry).collect::<Option<Vec<_>>>().context(act)
    }

    /// The merge base of two commits; the message of git if they have none.
    pub fn merge_base(&self, one: &Oid, other: &Oid) -> Result<Result<Oid, String>> {
        let act = format!("find the merge base of {one} and {other}");
        let asked = self.call(["merge-base", one, other]).ask(&act)?;
        let said = asked.stdout_text();
        Ok(match said.lines().next().map(Oid::parse) {
            Some(Ok(base)) if asked.success() => Ok(base),
            _ => Err(asked.stderr_text().trim().to_owned()),
        })
    }

    /// The full ref name of the default branch: the remote's, or one of the usual names.
    pub fn default_branch(&self) -> Result<Option<String>> {
        let asked = self
            .call(["symbolic-ref", "--quiet", "refs/remotes/origin/HEAD"])
            .ask("find the default branch")?;
        let told = asked.success().then(|| asked.stdout_text().trim().to_owned());
        let usual = [
            "refs/remotes/origin/main",
            "refs/remotes/origin/master",
            "refs/heads/main",
            "refs/heads/master",
        ];
        for name in told.into_iter().chain(usual.map(str::to_owned)) {
            if self.resolve(&format!("{name}^{{commit}}"))?.is_some() {
                return Ok(Some(name));
            }
        }
        Ok(None)
    }

    pub fn parents(&self, commit: &str) -> Result<Vec<Oid>> {
        let call = self.call(["log", "-1", "--format=%P", "--end-of-options", commit]);
        let answer = call.run(&format!("read the parents of {commit}"))?;
        Ok(String::from_utf8_lossy(&answer)
            .split_whitespace()
            .filter_map(|id| Oid::parse(id).ok())
            .collect())
    }

    /// Whether the commit's message has the trailer of the run.
    pub fn names_run(&self, commit: &str, run: &str) -> Result<bool> {
        let answer = self
            .call(["log", "-1", "--format=%B", commit])
            .run(&format!("read the message of {commit}"))?;
        let line = format!("Redgreen-Run: {run}");
        Ok(String::from_utf8_lossy(&answer).lines().any(|found| found.trim_end() == line))
    }
}
