//! A package folder of links to the packages of another one: installed packages are shared, files
//! that tools write are not.
//!
//! Links between packages of a project (`node_modules/@acme/util -> ../../packages/util`) are
//! copied as they are, so that they lead into the new checkout.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::symlink;
use std::path::{Component, Path, PathBuf};

use anyhow::{Context, Result};

use super::dependencies::is_litter;

/// Makes `to` a mirror of `from`. Both have the same `place` below the root of their checkouts.
pub fn mirror(from: &Path, to: &Path, place: &Path) -> Result<()> {
    let act = || format!("link the packages of {}", from.display());
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

/// The target of a link of a mirror, by its name in the checkout. `None` for any other link.
pub(super) fn original(link: &Path, name: &Path) -> Option<PathBuf> {
    let leads = fs::read_link(link).ok()?;
    (name.is_relative() && leads.is_absolute() && leads.ends_with(name) && leads != link)
        .then_some(leads)
}

/// The folders that contain the originals of a mirror.
pub fn originals(folder: &Path, place: &Path) -> BTreeSet<PathBuf> {
    let mut found = BTreeSet::new();
    // A missing or unreadable folder has no links.
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

/// `@acme` contains packages and is not a package itself.
fn is_scope(name: &std::ffi::OsStr) -> bool {
    name.as_bytes().starts_with(b"@")
}

/// Whether a link in `place` stays inside its checkout.
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

    /// Checks the target of a link of the mirror, for a scoped package that linked to `old`.
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
        assert_eq!(
            leads("@acme/util").to_str().unwrap(),
            expected.replace("ROOT", root.to_str().unwrap())
        );
        assert!(!to.join(".vite").exists(), "files of tools are not mirrored");
        assert_eq!(
            originals(&to, Path::new("node_modules")).into_iter().collect::<Vec<_>>(),
            [from]
        );
    }

    #[test]
    fn links_between_packages_stay_in_the_checkout() {
        check("../../packages/util", "../../packages/util");
        check("../.pnpm/util@1/node_modules/util", "../.pnpm/util@1/node_modules/util");
        check("../../../elsewhere", "ROOT/checkout/node_modules/@acme/../../../elsewhere");
        check("/usr/lib/util", "/usr/lib/util");
    }
}
