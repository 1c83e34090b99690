//! Which untracked files of a worktree are ignored. The rules are saved before an agent starts,
//! because an agent could hide files by editing the exclude file that all worktrees share. A change
//! of a `.gitignore` in the tree is visible to everyone.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

use super::call::CHECKOUT_MAX;
use super::open::path;
use super::{Git, Worktree};
use crate::foreign::{self, TEXT_BYTES_MAX};
use crate::private;

impl Worktree {
    pub(super) fn ignores(&self) -> PathBuf {
        self.private.join("ignores")
    }

    pub(super) fn index(&self) -> PathBuf {
        self.private.join("index")
    }
}

impl Git {
    /// Saves the rules unless they are already saved.
    pub(super) fn remember_ignores(&self, worktree: &Worktree) -> Result<()> {
        let file = worktree.ignores();
        if file.is_file() {
            return Ok(());
        }
        private::create_dir_all(&worktree.private)
            .with_context(|| format!("create folder {}", worktree.private.display()))?;
        let mut rules = Vec::new();
        for source in [self.global_ignores()?, Some(self.common_dir.join("info/exclude"))]
            .into_iter()
            .flatten()
        {
            // Most users have neither file.
            rules.extend(foreign::read_file(&source, TEXT_BYTES_MAX).unwrap_or_default());
            rules.push(b'\n');
        }
        for pattern in &worktree.litter {
            rules.extend(pattern.bytes().chain([b'\n']));
        }
        write_whole(&file, &rules)
    }

    /// Whether a folder of the user's checkout is ignored.
    pub fn is_ignored(&self, folder: &Path) -> Result<bool> {
        let call = self.call([
            "ls-files",
            "-z",
            "--others",
            "--ignored",
            "--exclude-standard",
            "--directory",
            "--",
        ]);
        // A folder that git cannot list, such as one in a submodule, is not ignored.
        let names = call.arg(folder).wall(CHECKOUT_MAX).ask("read the ignore rules")?.stdout;
        Ok(names
            .split(|byte| *byte == 0)
            .any(|name| path(name.strip_suffix(b"/").unwrap_or(name)) == folder))
    }

    /// Ignored untracked files, relative to the folder. A folder that contains nothing else is one
    /// entry.
    pub fn ignored(&self, worktree: &Worktree) -> Result<Vec<PathBuf>> {
        self.remember_ignores(worktree)?;
        let names = self
            .call_in(worktree)
            .args(["ls-files", "-z", "--others", "--ignored", "--directory"])
            .args(["--exclude-per-directory=.gitignore", "--exclude-from"])
            .arg(worktree.ignores())
            .wall(CHECKOUT_MAX)
            .run("find ignored files")?;
        let names = names.split(|byte| *byte == 0).filter(|name| !name.is_empty());
        // Without the slash that marks a folder.
        Ok(names.map(|name| path(name.strip_suffix(b"/").unwrap_or(name))).collect())
    }

    /// The user's global ignore file: the configured one or git's default.
    fn global_ignores(&self) -> Result<Option<PathBuf>> {
        let asked = self
            .call(["config", "-z", "--type=path", "--get", "core.excludesFile"])
            .ask("read core.excludesFile")?;
        if asked.success() {
            return Ok(Some(path(asked.stdout.strip_suffix(b"\0").unwrap_or(&asked.stdout))));
        }
        let Some(user) = directories::BaseDirs::new() else {
            return Ok(None);
        };
        // Git uses ~/.config on macOS, too.
        let config = if cfg!(target_os = "macos") {
            user.home_dir().join(".config")
        } else {
            user.config_dir().to_owned()
        };
        Ok(Some(config.join("git/ignore")))
    }
}

/// Replaces a file atomically. If the disk is full, the old content stays.
pub(super) fn write_whole(file: &Path, bytes: &[u8]) -> Result<()> {
    let act = || format!("write {}", file.display());
    let folder = file.parent().with_context(act)?;
    let mut part = tempfile::NamedTempFile::new_in(folder).with_context(act)?;
    std::io::Write::write_all(&mut part, bytes).with_context(act)?;
    part.persist(file).map_err(|error| error.error).with_context(act)?;
    Ok(())
}

/// Like `write_whole`, for a file without concurrent readers that is recreated after a crash.
/// Replacing an existing file makes some file systems wait for the disk; creating a new one does
/// not.
pub(super) fn write_anew(file: &Path, bytes: &[u8]) -> Result<()> {
    match fs::remove_file(file) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            Err(error).with_context(|| format!("remove {}", file.display()))
        }
        Ok(()) | Err(_) => write_whole(file, bytes),
    }
}
