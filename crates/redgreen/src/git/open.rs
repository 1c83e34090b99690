//! Finds the user's repository, or says why there is none to work with.

use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};

use anyhow::{Context, Error, Result};

use super::Git;
use super::call::{Call, at_once, complaint};
use crate::failure::Failure;
use crate::process::Output;

/// `merge-tree --write-tree` and `cat-file -z` came with this one.
const VERSION_MIN: (u32, u32) = (2, 38);

impl Git {
    /// The repository that `start` is in. Two processes at once.
    pub fn open(start: &Path) -> Result<Self> {
        if !start.is_dir() {
            return Err(Failure::environment(format!("there is no folder {}", start.display())).into());
        }
        let version = || Call::plumbing(start, &[]).arg("version").line("read git's version");
        // The two words between the paths tell them apart even when a path has line breaks.
        let place = || {
            Call::plumbing(start, &[])
                .args(["rev-parse", "--path-format=absolute", "--is-bare-repository", "--git-common-dir"])
                .args(["--is-shallow-repository", "--show-toplevel"])
                .ask("find the repository")
        };
        let (version, asked) = at_once(version, place);
        check_version(&version?)?;
        let asked = asked?;
        if asked.success() {
            found(&asked.stdout).context("find the repository: unknown answer of git")
        } else {
            Err(absent(start, &asked))
        }
    }

    /// History was cut off when this repository was cloned.
    pub fn is_shallow(&self) -> bool {
        self.shallow
    }
}

fn check_version(line: &str) -> Result<()> {
    let numbers: Vec<u32> =
        line.trim_start_matches("git version ").split('.').map_while(|part| part.parse().ok()).collect();
    match numbers.as_slice() {
        [major, minor, ..] if (*major, *minor) < VERSION_MIN => {
            let (major, minor) = VERSION_MIN;
            Err(Failure::environment(format!("git is too old: {major}.{minor} or newer is needed"))
                .evidence(format!("found {line}"))
                .next("git --version")
                .into())
        }
        // A version that we cannot read is not known to be too old.
        _ => Ok(()),
    }
}

fn found(answer: &[u8]) -> Option<Git> {
    let rest = answer.strip_prefix(b"false\n")?;
    let (at, word) = [&b"\nfalse\n"[..], b"\ntrue\n"]
        .iter()
        .find_map(|word| Some((rest.windows(word.len()).position(|window| window == *word)?, *word)))?;
    let root = rest.get(at + word.len()..)?.strip_suffix(b"\n")?;
    Some(Git { root: path(root), common_dir: path(rest.get(..at)?), shallow: word == b"\ntrue\n" })
}

fn absent(start: &Path, asked: &Output) -> Error {
    let stderr = asked.stderr_text();
    let place = start.display();
    let failure = if stderr.contains("dubious ownership") {
        let hint = stderr.lines().find(|line| line.contains("safe.directory"));
        Failure::environment(complaint(&stderr)).next(hint.map_or("git status", str::trim))
    } else if asked.stdout.starts_with(b"true\n") {
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

    fn check(line: &str, accepted: bool) {
        assert_eq!(check_version(line).is_ok(), accepted, "{line}");
    }

    #[test]
    fn a_git_that_cannot_do_the_work_is_named() {
        check("git version 2.37.7", false);
        check("git version 1.9", false);
        check("git version 2.38.0", true);
        check("git version 2.39.5 (Apple Git-154)", true);
        check("git version 3.0", true);
        check("git version unknown", true);
    }

    #[test]
    fn paths_with_line_breaks_are_told_apart() {
        let git = found(b"false\n/a\nb/.git\nfalse\n/a\nb\n").unwrap();
        assert_eq!((git.root, git.common_dir), ("/a\nb".into(), "/a\nb/.git".into()));
    }
}
