//! `redgreen salvage`: work that was saved before it was removed, and how to restore it.

use anyhow::{Context, Result};
use redgreen_core::names::{Branch, Oid, RunId, SalvageName};
use serde::Serialize;

use crate::engine::Project;
use crate::failure::Failure;
use crate::git::Salvage;
use crate::journal;

/// The size limit of a diff.
const DIFF_BYTES_MAX: usize = 16 << 20;

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Salvages {
    pub version: u32,
    pub salvages: Vec<Item>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Item {
    /// Its name: `<run>/<number>-<why>`.
    pub name: SalvageName,
    pub commit: Oid,
    /// Seconds since 1970.
    pub date: i64,
    pub why: String,
}

pub fn list(project: &Project) -> Result<Salvages> {
    let salvages = project.git.salvages()?.into_iter().map(item).collect();
    Ok(Salvages { version: 1, salvages })
}

/// The changes of one salvage.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Changes {
    pub version: u32,
    pub salvage: Item,
    /// The request of its run, if it is known here.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub request: Option<String>,
    /// The commit it is compared with.
    pub base: String,
    pub files: Vec<Lines>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub diff: Option<String>,
    pub diff_cut: bool,
}

/// Lines added and removed; both absent for binary files.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Lines {
    pub path: String,
    pub added: Option<u64>,
    pub removed: Option<u64>,
}

/// Whether to include a line-by-line diff.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Detail {
    Files,
    Diff,
}

/// Its changes, compared with the start commit of the run. If that is unknown, with the accepted
/// commit below it.
pub fn changes(project: &Project, name: &str, detail: Detail) -> Result<Changes> {
    let item = find(project, name)?;
    let git = &project.git;
    let run = item.name.split('/').next().unwrap_or_default();
    let known =
        RunId::parse(run).ok().and_then(|run| journal::read(&project.store.named(&run)).ok());
    let (started, request) = match known.and_then(|(state, _)| Some(state?.run)) {
        Some(run) => (Some(run.base.commit), Some(run.brief.request)),
        None => (None, None),
    };
    let base = match started
        .map(|commit| git.resolve(&format!("{commit}^{{commit}}")))
        .transpose()?
        .flatten()
    {
        Some(commit) => commit,
        None => git
            .resolve(&format!("{}^", item.commit))?
            .with_context(|| format!("{} has no parent", item.commit))?,
    };
    let stats = git.diff_stat(&base, &item.commit)?.into_iter();
    let files = stats
        .map(|stat| Lines { path: stat.path, added: stat.added, removed: stat.removed })
        .collect();
    let diff = match detail {
        Detail::Files => None,
        Detail::Diff => Some(git.diff_text(&base, &item.commit, DIFF_BYTES_MAX)?),
    };
    let diff_cut = diff.as_ref().is_some_and(|diff| diff.cut);
    let (base, diff) = (base.to_string(), diff.map(|diff| diff.text));
    Ok(Changes { version: 1, salvage: item, request, base, files, diff, diff_cut })
}

/// Creates a branch from it. The checkout does not change.
pub fn restore(project: &Project, name: &str, branch: Option<&str>) -> Result<(Item, Branch)> {
    let item = find(project, name)?;
    let branch = branch.map_or_else(|| format!("salvage/{}", item.name), str::to_owned);
    let branch = Branch::parse(&branch).map_err(|invalid| {
        Failure::usage(invalid.to_string())
            .next(format!("redgreen salvage restore {} --branch <another name>", item.name))
    })?;
    project.git.salvage_to_branch(&item.name, &branch)?;
    Ok((item, branch))
}

/// Deletes it permanently.
pub fn drop(project: &Project, name: &str) -> Result<Item> {
    let item = find(project, name)?;
    project.git.salvage_drop(&item.name)?;
    Ok(item)
}

/// Finds it by name, or by a unique part of the name.
fn find(project: &Project, name: &str) -> Result<Item> {
    let all = list(project)?.salvages;
    if let Some(exact) = all.iter().find(|item| item.name == name) {
        return Ok(exact.clone());
    }
    let mut matching = all.into_iter().filter(|item| item.name.contains(name));
    match (matching.next(), matching.next()) {
        (Some(only), None) if !name.is_empty() => Ok(only),
        (Some(_), _) => Err(Failure::usage(format!("{name:?} matches several salvages"))
            .next("redgreen salvage")
            .into()),
        (None, _) => Err(Failure::usage(format!("there is no salvage {name:?}"))
            .next("redgreen salvage")
            .into()),
    }
}

fn item(salvage: Salvage) -> Item {
    Item { name: salvage.name, commit: salvage.commit, date: salvage.date, why: salvage.why }
}
