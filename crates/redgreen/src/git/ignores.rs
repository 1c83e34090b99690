//! Which untracked files of a worktree do not count. The rules are written down before an agent starts and kept, since
//! an agent could otherwise hide files by editing the exclude file that all worktrees share. A `.gitignore` in the tree
//! is different: to change it is a change that everyone sees.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

use super::call::CHECKOUT_MAX;
use super::open::path;
use super::{Git, Worktree};
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
    /// Writes the rules down unless they already are.
    pub(super) fn remember_ignores(&self, worktree: &Worktree) -> Result<()> {
        let file = worktree.ignores();
        if file.is_file() {
            return Ok(());
        }
        private::create_dir_all(&worktree.private)
            .with_context(|| format!("create folder {}", worktree.private.display()))?;
        let mut rules = Vec::new();
        for source in [self.global_ignores()?, Some(self.common_dir.join("info/exclude"))].into_iter().flatten() {
            // Most users have neither file.
            rules.extend(fs::read(source).unwrap_or_default());
            rules.push(b'\n');
        }
        for pattern in &worktree.litter {
            rules.extend(pattern.bytes().chain([b'\n']));
        }
        write_whole(&file, &rules)
    }

    /// Whether the rules of the user's checkout say that a folder in it does not count.
    pub fn is_ignored(&self, folder: &Path) -> Result<bool> {
        let call = self.call(["ls-files", "-z", "--others", "--ignored", "--exclude-standard", "--directory", "--"]);
        // What git cannot say of a folder, such as one in a submodule, is not ignored.
        let names = call.arg(folder).wall(CHECKOUT_MAX).ask("read the ignore rules")?.stdout;
        Ok(names.split(|byte| *byte == 0).any(|name| path(name.strip_suffix(b"/").unwrap_or(name)) == folder))
    }

    /// Untracked files that do not count, from the folder's root; a folder of nothing else is told as one.
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

    /// The file with the user's ignore rules for all repositories: configured, or where git looks by default.
    fn global_ignores(&self) -> Result<Option<PathBuf>> {
        let asked =
            self.call(["config", "-z", "--type=path", "--get", "core.excludesFile"]).ask("read core.excludesFile")?;
        if asked.success() {
            return Ok(Some(path(asked.stdout.strip_suffix(b"\0").unwrap_or(&asked.stdout))));
        }
        let Some(user) = directories::BaseDirs::new() else {
            return Ok(None);
        };
        // Git keeps to ~/.config on a Mac, too.
        let config =
            if cfg!(target_os = "macos") { user.home_dir().join(".config") } else { user.config_dir().to_owned() };
        Ok(Some(config.join("git/ignore")))
    }
}

/// A reader sees the old bytes or the new ones; a full disk leaves the old.
pub(super) fn write_whole(file: &Path, bytes: &[u8]) -> Result<()> {
    let act = || format!("write {}", file.display());
    let folder = file.parent().with_context(act)?;
    let mut part = tempfile::NamedTempFile::new_in(folder).with_context(act)?;
    std::io::Write::write_all(&mut part, bytes).with_context(act)?;
    part.persist(file).map_err(|error| error.error).with_context(act)?;
    Ok(())
}

/// The same for a file that nobody reads meanwhile and that is made again after a crash. To put a file in the place of
/// another makes some file systems wait for the disk; to put it where there is none does not.
pub(super) fn write_anew(file: &Path, bytes: &[u8]) -> Result<()> {
    match fs::remove_file(file) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            Err(error).with_context(|| format!("remove {}", file.display()))
        }
        Ok(()) | Err(_) => write_whole(file, bytes),
    }
}
