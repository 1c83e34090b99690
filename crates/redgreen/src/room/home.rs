//! The home of who works in a room: empty, but for the stores of packages of the user's tools, which can be read and not
//! changed, and for what tells those tools that there is no network.

use std::ffi::OsString;
use std::fs;
use std::io;
use std::os::unix::fs::symlink;
use std::path::Path;

use anyhow::{Context, Result};

use crate::config::{Store, Way};

/// Maven asks for news of what it has, and mistrusts what came from another mirror than it knows of; Gradle asks as well.
const FILES: &[(&str, &str)] = &[
    (".m2/settings.xml", "<settings><offline>true</offline></settings>\n"),
    (".mavenrc", "MAVEN_OPTS=\"$MAVEN_OPTS -Dmaven.legacyLocalRepo=true\"\n"),
    (".gradle/init.d/offline.gradle", "gradle.startParameter.offline = true\n"),
];

/// `gradle-8.5-bin/<hash>` holds what was unpacked, beside files that say so and that are locked.
const LAID_DEPTH: u32 = 2;
/// A larger file is an archive that was unpacked.
const COPIED_BYTES_MAX: u64 = 64 << 10;

/// Java asks the system for its home, not the environment. Paths may hold blanks.
pub(super) fn java(home: &Path) -> [(&'static str, OsString); 2] {
    let options = format!("-Duser.home=\"{}\"", home.display());
    [("JDK_JAVA_OPTIONS", options.into()), ("GRADLE_USER_HOME", home.join(".gradle").into())]
}

/// Variables that lead tools to stores of packages in another place than this home, and Java to this home.
pub fn variables(home: &Path, stores: &[Store]) -> Vec<(&'static str, OsString)> {
    let named = stores.iter().filter_map(|store| match store.way {
        Way::Named(variable) => Some((variable, store.from.clone().into())),
        Way::Linked | Way::Laid => None,
    });
    named.chain(java(home)).collect()
}

/// Makes the home.
pub fn furnish(home: &Path, stores: &[Store]) -> Result<()> {
    let act = || format!("furnish {}", home.display());
    fs::create_dir(home).with_context(act)?;
    let below = |at: &Path| -> Result<_> {
        let place = home.join(at);
        fs::create_dir_all(place.parent().unwrap_or(home)).with_context(act)?;
        Ok(place)
    };
    for Store { at, from, way } in stores {
        match way {
            Way::Linked => symlink(from, below(at)?).with_context(act)?,
            Way::Laid => lay(from, &below(at)?, LAID_DEPTH).with_context(act)?,
            Way::Named(_) => {}
        }
    }
    for (at, text) in FILES {
        fs::write(below(Path::new(at))?, text).with_context(act)?;
    }
    Ok(())
}

/// Folders of our own for so many levels, with links to the folders below them and copies of the small files.
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
    fn what_gradle_unpacked_is_linked_and_its_marks_are_its_own() {
        let folder = tempfile::tempdir().unwrap();
        let unpacked = folder.path().join("dists/gradle-8.5-bin/abc");
        fs::create_dir_all(unpacked.join("gradle-8.5/bin")).unwrap();
        for mark in ["gradle-8.5-bin.zip.ok", "gradle-8.5-bin.zip.lck"] {
            fs::write(unpacked.join(mark), "").unwrap();
        }
        let store = Store { at: ".gradle/wrapper/dists".into(), from: folder.path().join("dists"), way: Way::Laid };
        let home = folder.path().join("home");
        furnish(&home, &[store]).unwrap();
        let laid = home.join(".gradle/wrapper/dists/gradle-8.5-bin/abc");
        assert_eq!(fs::read_link(laid.join("gradle-8.5")).unwrap(), unpacked.join("gradle-8.5"));
        fs::write(laid.join("gradle-8.5-bin.zip.lck"), "mine").unwrap();
        assert_eq!(fs::read_to_string(unpacked.join("gradle-8.5-bin.zip.lck")).unwrap(), "");
    }
}
