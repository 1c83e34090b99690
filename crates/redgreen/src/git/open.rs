//! Finds the user's repository, or says why there is none to work with.

use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};

use anyhow::{Error, Result};

use super::call::{Call, complaint};
use super::tree::Listings;
use super::{Git, version};
use crate::failure::Failure;
use crate::foreign;
use crate::process::{Output, Stop};

impl Git {
    /// The repository that `start` is in, for whoever waits for every call to come to its end.
    pub fn open(start: &Path) -> Result<Self> {
        Self::open_until(start, &Stop::default())
    }

    /// The repository that `start` is in; calls that lose nothing by it end when the user wants to stop. One process: a git
    /// that is too old is found out when it cannot do something.
    pub fn open_until(start: &Path, stop: &Stop) -> Result<Self> {
        if !start.is_dir() {
            return Err(Failure::environment(format!("there is no folder {}", start.display())).into());
        }
        // The two words between the paths tell them apart even when a path has line breaks.
        let asked = Call::plumbing(start, &[])
            // A folder that was committed with the files of a bare repository in it, and a configuration of its own, is
            // not taken for the repository.
            .args(["-c", "safe.bareRepository=explicit"])
            .args(["rev-parse", "--path-format=absolute", "--is-bare-repository", "--git-common-dir"])
            .args(["--is-shallow-repository", "--show-toplevel"])
            .unless(stop)
            .ask("find the repository")?;
        if asked.success() {
            let unknown =
                || version::check().err().unwrap_or_else(|| Error::msg("find the repository: unknown answer of git"));
            found(&asked.stdout, stop).ok_or_else(unknown)
        } else {
            Err(absent(start, &asked))
        }
    }

    /// The checkout that `start` is in, found by its files alone: no process is started. For who asks often and mostly hears
    /// that there is nothing to do; git itself still decides what it works on. With it goes the folder where git keeps what
    /// belongs to this checkout alone.
    pub fn locate(start: &Path) -> Option<(Self, PathBuf)> {
        let start = start.canonicalize().ok()?;
        let root = start.ancestors().find(|folder| folder.join(".git").symlink_metadata().is_ok())?;
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
        Some((Self { root: root.to_owned(), common_dir, shallow, listed: Listings::default(), stop }, admin))
    }

    /// The folder where git keeps what belongs to this checkout alone: its HEAD, its index.
    pub fn own_dir(&self) -> Result<PathBuf> {
        let own = self.admin_dir(&self.root)?.unwrap_or_else(|| self.common_dir.clone());
        Ok(own.canonicalize().unwrap_or(own))
    }

    /// Where git looks for this repository's hooks when its user runs it; our own calls have none. A folder that the
    /// repository's own settings name has to be inside of it.
    pub fn hooks_folder(&self) -> Result<PathBuf> {
        let named = |scope: &str| -> Result<Option<PathBuf>> {
            let asked = self.call(["config", scope, "--type=path", "--get", "core.hooksPath"]).ask("find the hooks")?;
            Ok(asked.success().then(|| self.root.join(asked.stdout_text().trim_end())))
        };
        let Some(own) = named("--local")? else {
            return Ok(named("--global")?.unwrap_or_else(|| self.common_dir.join("hooks")));
        };
        let really = own.canonicalize().unwrap_or_default();
        let inside = [&self.root, &self.common_dir].into_iter().filter_map(|folder| folder.canonicalize().ok());
        if !inside.into_iter().any(|folder| really.starts_with(folder)) {
            return Err(Failure::environment("core.hooksPath of this repository names no folder inside of it")
                .evidence(own.display().to_string())
                .next("git config --local core.hooksPath")
                .into());
        }
        Ok(own)
    }

    /// History was cut off when this repository was cloned.
    pub fn is_shallow(&self) -> bool {
        self.shallow
    }
}

/// The first line of a small plain file; no pipe is waited for.
fn foreign_line(file: &Path) -> Option<Vec<u8>> {
    const LINE_BYTES_MAX: u64 = 1 << 16;
    let bytes = foreign::read(file, LINE_BYTES_MAX).ok()??;
    Some(bytes.split(|byte| *byte == b'\n').next()?.to_vec())
}

fn found(answer: &[u8], stop: &Stop) -> Option<Git> {
    let rest = answer.strip_prefix(b"false\n")?;
    let (at, word) = [&b"\nfalse\n"[..], b"\ntrue\n"]
        .iter()
        .find_map(|word| Some((rest.windows(word.len()).position(|window| window == *word)?, *word)))?;
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
        Failure::environment(format!("{place} is inside a git folder, not in a checkout")).next("cd ..")
    } else if stderr.contains("not a git repository") {
        Failure::environment(format!("{place} is not in a git repository"))
            .next("git init && git add -A && git commit -m 'first commit'")
    } else {
        Failure::environment(format!("find the repository of {place}: {}", complaint(&stderr))).next("git status")
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
    fn paths_with_line_breaks_are_told_apart() {
        let git = found(b"false\n/a\nb/.git\nfalse\n/a\nb\n", &Stop::default()).unwrap();
        assert_eq!((git.root, git.common_dir), ("/a\nb".into(), "/a\nb/.git".into()));
    }
}
