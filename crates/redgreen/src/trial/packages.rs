//! The names of a project's own packages, from its manifests.

use anyhow::Result;
use redgreen_core::syntax::{Package, package_name};

use crate::git::Git;

/// Imports of further packages are not recognised.
const MANIFESTS_MAX: usize = 50;
const NAMES: &[&str] = &["Cargo.toml", "package.json", "pyproject.toml", "go.mod"];

pub(super) fn of(git: &Git, tree: &str, paths: &[String]) -> Result<Vec<Package>> {
    let is_manifest = |path: &&String| NAMES.contains(&path.rsplit('/').next().unwrap_or(path));
    let manifests: Vec<&String> = paths.iter().filter(is_manifest).take(MANIFESTS_MAX).collect();
    let asked: Vec<(&str, &str)> = manifests.iter().map(|path| (tree, path.as_str())).collect();
    let mut packages = Vec::new();
    for (path, text) in manifests.iter().zip(git.read_texts(&asked)?) {
        let (folder, name) = path.rsplit_once('/').unwrap_or(("", path));
        if let Some(name) = text.and_then(|text| package_name(name, &text)) {
            packages.push(Package { name, folder: folder.to_owned() });
        }
    }
    Ok(packages)
}
