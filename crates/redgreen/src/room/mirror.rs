//! A folder of packages made of links to another one's: what is installed is shared, what tools write beside it is not.
//!
//! A link that a package manager made between the packages of a project (`node_modules/@acme/util -> ../../packages/util`)
//! is made again as it is, so that it leads into the checkout that the new folder is part of, not into the old one.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::symlink;
use std::path::{Component, Path, PathBuf};

use anyhow::{Context, Result};

use super::dependencies::is_litter;

/// Makes `to` such a folder of `from`; both have the same `place` below the root of their checkouts.
pub fn mirror(from: &Path, to: &Path, place: &Path) -> Result<()> {
    let act = || format!("link to the packages of {}", from.display());
    fs::create_dir(to).with_context(act)?;
    for entry in fs::read_dir(from).with_context(act)? {
        let entry = entry.with_context(act)?;
        let (old, name) = (entry.path(), entry.file_name());
        let new = to.join(&name);
        if is_litter(&name) {
            continue;
        }
        let kind = entry.file_type().with_context(act)?;
        if kind.is_symlink() {
            let leads = fs::read_link(&old).with_context(act)?;
            let leads = if stays_inside(place, &leads) { leads } else { from.join(leads) };
            symlink(leads, new).with_context(act)?;
        } else if kind.is_dir() && is_scope(&name) {
            mirror(&old, &new, &place.join(&name))?;
        } else {
            symlink(old, new).with_context(act)?;
        }
    }
    Ok(())
}

/// What a link of such a folder stands for, by the name that it has in its checkout; `None` for any other link.
pub(super) fn original(link: &Path, name: &Path) -> Option<PathBuf> {
    let leads = fs::read_link(link).ok()?;
    (name.is_relative() && leads.is_absolute() && leads.ends_with(name) && leads != link).then_some(leads)
}

/// The folders that hold what a folder of packages has links to.
pub fn originals(folder: &Path, place: &Path) -> BTreeSet<PathBuf> {
    let mut found = BTreeSet::new();
    // One that is gone, or cannot be read, leads nowhere.
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let name = entry.file_name();
        if let Some(leads) = original(&entry.path(), &place.join(&name)) {
            found.extend(leads.parent().map(Path::to_owned));
        } else if is_scope(&name) && entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            found.extend(originals(&entry.path(), &place.join(&name)));
        }
    }
    found
}

/// `@acme` holds packages and is none.
fn is_scope(name: &std::ffi::OsStr) -> bool {
    name.as_bytes().starts_with(b"@")
}

/// Whether a link in `place` leads to somewhere in its checkout.
fn stays_inside(place: &Path, leads: &Path) -> bool {
    let mut depth = place.components().count();
    for part in leads.components() {
        match part {
            Component::Normal(_) => depth += 1,
            Component::CurDir => {}
            Component::ParentDir if depth > 0 => depth -= 1,
            Component::ParentDir | Component::RootDir | Component::Prefix(_) => return false,
        }
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Where a link of the mirror leads, for one that led to `old` in a scoped package's place.
    fn check(old: &str, expected: &str) {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        let from = root.join("checkout/node_modules");
        for package in ["@acme", "react", ".vite"] {
            fs::create_dir_all(from.join(package)).unwrap();
        }
        symlink(old, from.join("@acme/util")).unwrap();
        let to = root.join("mirror");
        mirror(&from, &to, Path::new("node_modules")).unwrap();
        let leads = |name: &str| fs::read_link(to.join(name)).unwrap();
        assert_eq!(leads("react"), from.join("react"));
        assert_eq!(leads("@acme/util").to_str().unwrap(), expected.replace("ROOT", root.to_str().unwrap()));
        assert!(!to.join(".vite").exists(), "tools have a place of their own");
        assert_eq!(originals(&to, Path::new("node_modules")).into_iter().collect::<Vec<_>>(), [from]);
    }

    #[test]
    fn links_between_packages_of_a_project_stay_in_the_project() {
        check("../../packages/util", "../../packages/util");
        check("../.pnpm/util@1/node_modules/util", "../.pnpm/util@1/node_modules/util");
        check("../../../elsewhere", "ROOT/checkout/node_modules/@acme/../../../elsewhere");
        check("/usr/lib/util", "/usr/lib/util");
    }
}
