//! Keeps work that would otherwise be lost under `refs/redgreen/salvage/` until the user drops it.

use std::time::{SystemTime, UNIX_EPOCH};

use anyhow::{Context, Result, bail};
use redgreen_core::names::{Branch, Oid, RunId, SalvageName};

use super::{Git, RefEdit, Swap};
use crate::failure::Failure;

const PREFIX: &str = "refs/redgreen/salvage";
/// The number of attempts to find a free number while other processes take them.
const NUMBER_ATTEMPTS_MAX: u64 = 20;
const WHY_CHARS_MAX: usize = 40;

/// One piece of kept work.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Salvage {
    /// `<run>/<number>-<why>`, the name that the user types.
    pub name: SalvageName,
    pub commit: Oid,
    /// Seconds since 1970.
    pub date: i64,
    pub why: String,
    pub subject: String,
}

impl Salvage {
    pub fn is_of(&self, run_id: &RunId) -> bool {
        self.name.split_once('/').is_some_and(|(run, _)| *run_id == run)
    }
}

impl Git {
    /// Stores a tree as a commit on top of `parent` and returns its name. If a killed process
    /// already stored it, returns that name. Runs three processes.
    pub fn salvage(
        &self,
        run_id: &RunId,
        why: &str,
        tree: &Oid,
        parent: &Oid,
    ) -> Result<SalvageName> {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).context("read the clock")?.as_secs();
        let message =
            format!("salvaged from {run_id}: {}\n", if why.is_empty() { "work" } else { why });
        let under = format!("{PREFIX}/{run_id}/");
        let format = "--format=%(tree) %(parent) %(refname)";
        let answer = self.call(["for-each-ref", format, &under]).run("list salvaged work")?;
        let taken = String::from_utf8_lossy(&answer);
        let kept = format!("{tree} {parent} {under}");
        let same =
            |line: &&str| line.starts_with(&kept) && line.ends_with(&format!("-{}", slug(why)));
        if let Some((_, name)) =
            taken.lines().find(same).and_then(|line| line.split_once(&format!("{PREFIX}/")))
        {
            return SalvageName::parse(name).context("read the name of salvaged work");
        }
        // It is the user's work and bears their name, but must not be lost where git knows none.
        let commit = match self.identity() {
            Ok(_) => self.commit_tree(tree, &[parent], &message, i64::try_from(now)?)?,
            Err(_) => self.keep_tree(tree, &[parent], &message, i64::try_from(now)?)?,
        };
        let last = taken.lines().filter_map(number).max().unwrap_or(0);
        for number in last + 1..=last + NUMBER_ATTEMPTS_MAX {
            let name = SalvageName::parse(&format!("{run_id}/{number}-{}", slug(why)))
                .context("name salvaged work")?;
            match self
                .edit_refs(&[RefEdit::Create { name: &format!("{PREFIX}/{name}"), new: &commit }])?
            {
                Swap::Done => return Ok(name),
                Swap::Moved => {}
            }
        }
        bail!("keep the work of {run_id} as {commit}: no free name under {under}")
    }

    /// Whether this tree is among the salvaged work of the run. Runs one process.
    pub fn is_salvaged(&self, run_id: &RunId, tree: &Oid) -> Result<bool> {
        let under = format!("{PREFIX}/{run_id}/");
        let answer =
            self.call(["for-each-ref", "--format=%(tree)", &under]).run("list salvaged work")?;
        Ok(String::from_utf8_lossy(&answer).lines().any(|kept| kept == *tree))
    }

    /// All salvaged work, newest first. Runs one process.
    pub fn salvages(&self) -> Result<Vec<Salvage>> {
        let format =
            "--format=%(refname)%00%(objectname)%00%(committerdate:unix)%00%(contents:subject)%00";
        let answer = self.call(["for-each-ref", format, PREFIX]).run("list salvaged work")?;
        let text = String::from_utf8_lossy(&answer);
        let mut all: Vec<Salvage> = text.lines().filter_map(salvage).collect();
        all.sort_by_key(|one| std::cmp::Reverse((one.date, number(&one.name))));
        Ok(all)
    }

    /// Creates a branch from salvaged work. The checkout does not change.
    pub fn salvage_to_branch(&self, name: &SalvageName, branch: &Branch) -> Result<()> {
        let commit = self.salvaged(name)?;
        match self.edit_refs(&[RefEdit::Create { name: &branch.full_ref(), new: &commit }])? {
            Swap::Done => Ok(()),
            Swap::Moved => Err(Failure::usage(format!("there is already a branch {branch}"))
                .next("git branch --list")
                .into()),
        }
    }

    pub fn salvage_drop(&self, name: &SalvageName) -> Result<()> {
        let commit = self.salvaged(name)?;
        match self
            .edit_refs(&[RefEdit::Delete { name: &format!("{PREFIX}/{name}"), old: &commit }])?
        {
            Swap::Done => Ok(()),
            Swap::Moved => bail!("drop salvaged work {name}: it changed meanwhile"),
        }
    }

    fn salvaged(&self, name: &SalvageName) -> Result<Oid> {
        let found = self.read_ref(&format!("{PREFIX}/{name}"))?;
        found.ok_or_else(|| Failure::usage(format!("there is no salvaged work {name}")).into())
    }
}

fn salvage(line: &str) -> Option<Salvage> {
    let mut fields = line.split('\0');
    let name = SalvageName::parse(fields.next()?.strip_prefix(PREFIX)?.strip_prefix('/')?).ok()?;
    let commit = Oid::parse(fields.next()?).ok()?;
    let date = fields.next()?.parse().ok()?;
    let subject = fields.next()?.to_owned();
    let why = name.rsplit('/').next()?.split_once('-')?.1.to_owned();
    Some(Salvage { name, commit, date, why, subject })
}

fn number(name: &str) -> Option<u64> {
    name.rsplit('/').next()?.split_once('-')?.0.parse().ok()
}

/// Converts a text to a part of a ref name that needs no quoting in a shell.
fn slug(why: &str) -> String {
    let plain = |letter: char| {
        if letter.is_ascii_alphanumeric() { letter.to_ascii_lowercase() } else { '-' }
    };
    let slug: String = why.chars().take(WHY_CHARS_MAX).map(plain).collect();
    let words: Vec<&str> = slug.split('-').filter(|word| !word.is_empty()).collect();
    if words.is_empty() { "work".to_owned() } else { words.join("-") }
}
