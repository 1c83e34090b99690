//! `redgreen salvage`: what was set aside before something was taken back, and the way to get it.

use anyhow::Result;
use redgreen_core::names::{Branch, Oid, SalvageName};
use serde::Serialize;

use crate::engine::Project;
use crate::failure::Failure;
use crate::git::Salvage;

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Salvages {
    pub version: u32,
    pub salvages: Vec<Item>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Item {
    /// What to name it by: `<run>/<number>-<why>`.
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

/// Makes a branch of it. The checkout is not touched.
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

/// Lets go of it for good.
pub fn drop(project: &Project, name: &str) -> Result<Item> {
    let item = find(project, name)?;
    project.git.salvage_drop(&item.name)?;
    Ok(item)
}

/// By its name, or by a part of it that only one has.
fn find(project: &Project, name: &str) -> Result<Item> {
    let all = list(project)?.salvages;
    if let Some(exact) = all.iter().find(|item| item.name == name) {
        return Ok(exact.clone());
    }
    let mut matching = all.into_iter().filter(|item| item.name.contains(name));
    match (matching.next(), matching.next()) {
        (Some(only), None) if !name.is_empty() => Ok(only),
        (Some(_), _) => {
            Err(Failure::usage(format!("{name:?} stands for several salvages")).next("redgreen salvage").into())
        }
        (None, _) => Err(Failure::usage(format!("there is no salvage {name:?}")).next("redgreen salvage").into()),
    }
}

fn item(salvage: Salvage) -> Item {
    Item { name: salvage.name, commit: salvage.commit, date: salvage.date, why: salvage.why }
}
