//! The home folder in a room: empty, except for read-only package caches of the user's tools, and
//! settings that put those tools into offline mode.

use std::ffi::OsString;
use std::fs;
use std::io;
use std::os::unix::fs::symlink;
use std::path::Path;

use anyhow::{Context, Result};

use crate::config::{Access, Store};

/// Maven checks for updates and distrusts packages from another mirror. Gradle checks for updates,
/// too.
const FILES: &[(&str, &str)] = &[
    (".m2/settings.xml", "<settings><offline>true</offline></settings>\n"),
    (".mavenrc", "MAVEN_OPTS=\"$MAVEN_OPTS -Dmaven.legacyLocalRepo=true\"\n"),
    (".gradle/init.d/offline.gradle", "gradle.startParameter.offline = true\n"),
];

/// `gradle-8.5-bin/<hash>` contains the unpacked distribution, next to marker files that Gradle
/// locks.
const LAID_DEPTH: u32 = 2;
/// A larger file is an archive that is already unpacked.
const COPIED_BYTES_MAX: u64 = 64 << 10;

/// Java asks the system for the home folder, not the environment. Paths may contain spaces.
pub(super) fn java(home: &Path) -> [(&'static str, OsString); 2] {
    let options = format!("-Duser.home=\"{}\"", home.display());
    [("JDK_JAVA_OPTIONS", options.into()), ("GRADLE_USER_HOME", home.join(".gradle").into())]
}

/// Variables that point tools to package caches outside this home, and Java to this home.
pub fn variables(home: &Path, stores: &[Store]) -> Vec<(&'static str, OsString)> {
    let named = stores.iter().filter_map(|store| match store.way {
        Access::Named(variable) => Some((variable, store.from.clone().into())),
        Access::Linked | Access::Laid => None,
    });
    named.chain(java(home)).collect()
}

/// Creates the home.
pub fn furnish(home: &Path, stores: &[Store]) -> Result<()> {
    let act = || format!("create the home {}", home.display());
    fs::create_dir(home).with_context(act)?;
    let below = |at: &Path| -> Result<_> {
        let place = home.join(at);
        fs::create_dir_all(place.parent().unwrap_or(home)).with_context(act)?;
        Ok(place)
    };
    for Store { at, from, way } in stores {
        match way {
            Access::Linked => symlink(from, below(at)?).with_context(act)?,
            Access::Laid => lay(from, &below(at)?, LAID_DEPTH).with_context(act)?,
            Access::Named(_) => {}
        }
    }
    for (at, text) in FILES {
        fs::write(below(Path::new(at))?, text).with_context(act)?;
    }
    Ok(())
}

/// Creates folders for this many levels, with links to the folders below and copies of small files.
fn lay(from: &Path, to: &Path, levels: u32) -> io::Result<()> {
    fs::create_dir(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let (old, new) = (entry.path(), to.join(entry.file_name()));
        let facts = fs::metadata(&old)?;
        if facts.is_dir() && levels > 0 {
            lay(&old, &new, levels - 1)?;
        } else if facts.is_dir() {
            symlink(old, new)?;
        } else if facts.len() <= COPIED_BYTES_MAX {
            fs::copy(old, new)?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gradle_distributions_are_linked_and_marker_files_copied() {
        let folder = tempfile::tempdir().unwrap();
        let unpacked = folder.path().join("dists/gradle-8.5-bin/abc");
        fs::create_dir_all(unpacked.join("gradle-8.5/bin")).unwrap();
        for mark in ["gradle-8.5-bin.zip.ok", "gradle-8.5-bin.zip.lck"] {
            fs::write(unpacked.join(mark), "").unwrap();
        }
        let store = Store {
            at: ".gradle/wrapper/dists".into(),
            from: folder.path().join("dists"),
            way: Access::Laid,
        };
        let home = folder.path().join("home");
        furnish(&home, &[store]).unwrap();
        let laid = home.join(".gradle/wrapper/dists/gradle-8.5-bin/abc");
        assert_eq!(fs::read_link(laid.join("gradle-8.5")).unwrap(), unpacked.join("gradle-8.5"));
        fs::write(laid.join("gradle-8.5-bin.zip.lck"), "mine").unwrap();
        assert_eq!(fs::read_to_string(unpacked.join("gradle-8.5-bin.zip.lck")).unwrap(), "");
    }
}
