//! Ignored files made by set-up commands: generated code, settings, build output. They are listed
//! before an agent works. Exactly these files are copied to the clean room, and checked like
//! packages.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use redgreen_core::framework::FRAMEWORKS;

use super::environment::FOLDERS;
use crate::git::{Git, Worktree};

/// An entry with more is not generated code. It is left out with a notice.
const FILES_MAX: usize = 5_000;
const BYTES_MAX: u64 = 64 << 20;
/// Next to the private index of the worktree.
const LIST: &str = "made";

/// Lists the files, except known ones. Returns notices for the user.
pub fn note(git: &Git, worktree: &Worktree, known: &[PathBuf]) -> Result<Vec<String>> {
    let (mut list, mut notices) = (Vec::new(), Vec::new());
    for entry in git.ignored(worktree)? {
        let brought =
            known.iter().any(|place| entry.starts_with(place) || place.starts_with(&entry));
        if brought || entry.iter().any(|part| part.to_str().is_some_and(is_known)) {
            continue;
        }
        let mut found = CreatedFiles::default();
        if found
            .walk(&worktree.path, &entry)
            .with_context(|| format!("look into {}", entry.display()))?
        {
            list.extend(found.files);
        } else {
            let shown = entry.display();
            notices.push(format!(
                "{shown} is too large for the clean room, so tests run without it; add it to worktree.link if they need it"
            ));
        }
    }
    let text = serde_json::to_vec(&list).context("write a list as JSON")?;
    let path = worktree.private.join(LIST);
    crate::private::write(&path, &text).with_context(|| format!("write {}", path.display()))?;
    Ok(notices)
}

/// The listed files; none if there were no set-up commands.
pub(super) fn listed(private: &Path) -> Vec<PathBuf> {
    let text = fs::read(private.join(LIST)).unwrap_or_default();
    serde_json::from_slice(&text).unwrap_or_default()
}

/// A package folder, which is mounted anyway, or output of a test runner.
fn is_known(name: &str) -> bool {
    let litter = FRAMEWORKS.iter().flat_map(|row| row.litter).map(|line| line.trim_matches('/'));
    let is = |pattern: &str| {
        pattern.strip_prefix('*').map_or(name == pattern, |end| name.ends_with(end))
    };
    FOLDERS.contains(&name) || litter.filter(|pattern| !pattern.contains('/')).any(is)
}

#[derive(Default)]
struct CreatedFiles {
    files: Vec<PathBuf>,
    bytes: u64,
}

impl CreatedFiles {
    /// False if it is too large. Links are skipped: their targets are not made by the set-up.
    fn walk(&mut self, root: &Path, below: &Path) -> Result<bool> {
        let facts = fs::symlink_metadata(root.join(below))?;
        if facts.is_file() {
            self.bytes += facts.len();
            self.files.push(below.to_owned());
        } else if facts.is_dir() {
            for entry in fs::read_dir(root.join(below))? {
                let name = entry?.file_name();
                if !name.to_str().is_some_and(is_known) && !self.walk(root, &below.join(&name))? {
                    return Ok(false);
                }
            }
        }
        Ok(self.files.len() <= FILES_MAX && self.bytes <= BYTES_MAX)
    }
}
