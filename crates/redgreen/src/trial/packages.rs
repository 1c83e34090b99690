//! What a project's manifests call its own packages.

use anyhow::Result;
use redgreen_core::syntax::{Package, package_name};

use crate::git::Git;

/// Beyond this many, imports of the rest are not recognised.
const MANIFESTS_MAX: usize = 50;
const NAMES: &[&str] = &["Cargo.toml", "package.json", "pyproject.toml", "go.mod"];

pub(super) fn of(git: &Git, tree: &str, paths: &[String]) -> Result<Vec<Package>> {
    let mut packages = Vec::new();
    let is_manifest = |path: &&String| NAMES.contains(&path.rsplit('/').next().unwrap_or(path));
    for path in paths.iter().filter(is_manifest).take(MANIFESTS_MAX) {
        let bytes = git.read_file(tree, path)?.unwrap_or_default();
        let (folder, name) = path.rsplit_once('/').unwrap_or(("", path));
        if let Some(name) = package_name(name, &String::from_utf8_lossy(&bytes)) {
            packages.push(Package { name, folder: folder.to_owned() });
        }
    }
    Ok(packages)
}
