//! Finds the user's repository, or explains why it cannot be used.

use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};

use anyhow::{Error, Result};
use redgreen_core::text::in_quotes;

use super::call::{Call, complaint};
use super::special::refuse_special_files;
use super::tree::Listings;
use super::{Git, version};
use crate::failure::Failure;
use crate::foreign;
use crate::process::{Output, Stop};

impl Git {
    /// The repository that contains `start`. Its calls always run to completion.
    pub fn open(start: &Path) -> Result<Self> {
        Self::open_until(start, &Stop::default())
    }

    /// The repository that contains `start`. Calls that can be safely interrupted end when `stop`
    /// is set. Runs one process: the git version is checked only when git gives an unknown answer.
    pub fn open_until(start: &Path, stop: &Stop) -> Result<Self> {
        if !start.is_dir() {
            return Err(
                Failure::environment(format!("there is no folder {}", start.display())).into()
            );
        }
        if let Some((git, _)) = Self::locate(start) {
            refuse_special_files(&git.common_dir)?;
        }
        // The boolean between the two paths separates them even if a path contains line breaks.
        let asked = Call::plumbing(start, &[])
            // Ignore a committed folder that looks like a bare repository and brings its own
            // configuration.
            .args(["-c", "safe.bareRepository=explicit"])
            .args([
                "rev-parse",
                "--path-format=absolute",
                "--is-bare-repository",
                "--git-common-dir",
            ])
            .args(["--is-shallow-repository", "--show-toplevel"])
            .interruptible(stop)
            .ask("find the repository")?;
        if asked.success() {
            let unknown = || {
                version::check()
                    .err()
                    .unwrap_or_else(|| Error::msg("find the repository: unexpected output of git"))
            };
            found(&asked.stdout, stop).ok_or_else(unknown)
        } else {
            Err(absent(start, &asked))
        }
    }

    /// Finds the checkout that contains `start` by reading files only, without starting a process.
    /// For callers that ask often and usually have nothing to do. Also returns git's folder for
    /// this checkout (its HEAD and index).
    pub fn locate(start: &Path) -> Option<(Self, PathBuf)> {
        Self::locate_at(Self::roots_around(start).first()?)
    }

    /// The roots of all checkouts that contain `start`, innermost first.
    pub fn roots_around(start: &Path) -> Vec<PathBuf> {
        let Ok(start) = start.canonicalize() else { return Vec::new() };
        let is_root = |folder: &&Path| folder.join(".git").symlink_metadata().is_ok();
        start.ancestors().filter(is_root).map(Path::to_owned).collect()
    }

    /// The checkout with this root. Reads files only.
    pub fn locate_at(root: &Path) -> Option<(Self, PathBuf)> {
        let link = root.join(".git");
        let admin = if link.is_dir() {
            link
        } else {
            let line = foreign_line(&link)?;
            root.join(path(line.strip_prefix(b"gitdir: ")?)).canonicalize().ok()?
        };
        let common_dir = match foreign_line(&admin.join("commondir")) {
            Some(line) => admin.join(path(&line)).canonicalize().ok()?,
            None => admin.clone(),
        };
        let shallow = common_dir.join("shallow").is_file();
        let stop = Stop::default();
        Some((
            Self { root: root.to_owned(), common_dir, shallow, listed: Listings::default(), stop },
            admin,
        ))
    }

    /// Git's folder for this checkout: its HEAD and index.
    pub fn own_dir(&self) -> Result<PathBuf> {
        let own = self.admin_dir(&self.root)?.unwrap_or_else(|| self.common_dir.clone());
        Ok(own.canonicalize().unwrap_or(own))
    }

    /// Where git looks for this repository's hooks when the user runs it; our own calls disable
    /// hooks. A `core.hooksPath` in the repository's own configuration, and a link in place of the
    /// folder, must lead into the repository: it may have been copied from someone else.
    pub fn hooks_folder(&self) -> Result<PathBuf> {
        let named = |scope: &str| -> Result<Option<PathBuf>> {
            let asked = self
                .call(["config", scope, "--type=path", "--get", "core.hooksPath"])
                .ask("find the hooks")?;
            Ok(asked.success().then(|| self.root.join(asked.stdout_text().trim_end())))
        };
        let usual = self.common_dir.join("hooks");
        let (own, look) = match named("--local")? {
            Some(own) => (own, "git config --local core.hooksPath".to_owned()),
            None => match named("--global")? {
                Some(global) => return Ok(global),
                // It is created.
                None if usual.symlink_metadata().is_err() => return Ok(usual),
                None => {
                    let look = format!("ls -ld {}", in_quotes(&usual.to_string_lossy()));
                    (usual, look)
                }
            },
        };
        let really = own.canonicalize().unwrap_or_default();
        let inside = [&self.root, &self.common_dir]
            .into_iter()
            .filter_map(|folder| folder.canonicalize().ok());
        if !inside.into_iter().any(|folder| really.starts_with(folder)) {
            return Err(Failure::environment(
                "the folder of this repository's hooks is outside of it",
            )
            .evidence(own.display().to_string())
            .next(look)
            .into());
        }
        Ok(own)
    }

    /// Whether the repository is a shallow clone.
    pub fn is_shallow(&self) -> bool {
        self.shallow
    }
}

/// The first line of a small regular file. Does not block on a pipe.
fn foreign_line(file: &Path) -> Option<Vec<u8>> {
    const LINE_BYTES_MAX: u64 = 1 << 16;
    let bytes = foreign::read(file, LINE_BYTES_MAX).ok()??;
    Some(bytes.split(|byte| *byte == b'\n').next()?.to_vec())
}

fn found(answer: &[u8], stop: &Stop) -> Option<Git> {
    let rest = answer.strip_prefix(b"false\n")?;
    let (at, word) = [&b"\nfalse\n"[..], b"\ntrue\n"].iter().find_map(|word| {
        Some((rest.windows(word.len()).position(|window| window == *word)?, *word))
    })?;
    let root = rest.get(at + word.len()..)?.strip_suffix(b"\n")?;
    Some(Git {
        root: path(root),
        common_dir: path(rest.get(..at)?),
        shallow: word == b"\ntrue\n",
        listed: Listings::default(),
        stop: stop.clone(),
    })
}

fn absent(start: &Path, asked: &Output) -> Error {
    let stderr = asked.stderr_text();
    let place = start.display();
    let failure = if stderr.contains("dubious ownership") {
        let hint = stderr.lines().find(|line| line.contains("safe.directory"));
        Failure::environment(complaint(&stderr)).next(hint.map_or("git status", str::trim))
    } else if asked.stdout.starts_with(b"true\n") || stderr.contains("cannot use bare repository") {
        Failure::environment(format!("{place} is a bare repository, which has no files to work on"))
            .next("git worktree add ../checkout   (then run it there)")
    } else if stderr.contains("must be run in a work tree") {
        Failure::environment(format!("{place} is inside a git folder, not in a checkout"))
            .next("cd ..")
    } else if stderr.contains("not a git repository") {
        Failure::environment(format!("{place} is not in a git repository"))
            .next("git init && git add -A && git commit -m 'first commit'")
    } else {
        Failure::environment(format!("find the repository of {place}: {}", complaint(&stderr)))
            .next("git status")
    };
    failure.into()
}

pub(super) fn path(bytes: &[u8]) -> PathBuf {
    OsString::from_vec(bytes.to_vec()).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn separates_paths_with_line_breaks() {
        let git = found(b"false\n/a\nb/.git\nfalse\n/a\nb\n", &Stop::default()).unwrap();
        assert_eq!((git.root, git.common_dir), ("/a\nb".into(), "/a\nb/.git".into()));
    }
}
