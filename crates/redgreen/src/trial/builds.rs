//! Build output. It depends on its folder: a test binary contains the path of the program it
//! starts. So all trees of a room are built in one folder, and the output of accepted trees is kept
//! next to it, where no candidate writes.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result};

use crate::git::remove_folder;
use crate::process::{Limits, Program, Stop};
use crate::room::{GO_CACHE, Tools, build_folder};

/// Tools whose build output is kept, and the folders that show that there is some.
const COMPILERS: &[&str] = &["cargo", "go"];
const BUILT: &[&str] = &["debug", GO_CACHE];
const COPY_WALL: Duration = Duration::from_secs(300);

pub(super) struct Builds {
    /// The build folder.
    place: PathBuf,
    /// The output of accepted trees while a candidate is built.
    accepted: PathBuf,
    /// The output of the candidate while an accepted tree is built.
    candidate: PathBuf,
    holds: Holds,
}

/// Whose output is in the build folder.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Holds {
    Accepted,
    Candidate,
}

impl Builds {
    /// Starts with the output of accepted trees; `None` if nothing is compiled.
    pub(super) fn open(root: &Path, room: &Path, tools: &Tools) -> Result<Option<Self>> {
        if !COMPILERS.iter().any(|name| tools.get(name).is_some()) {
            return Ok(None);
        }
        let place = build_folder(root, room, tools);
        let (accepted, candidate) =
            (place.with_extension("accepted"), place.with_extension("candidate"));
        let builds = Self { place, accepted, candidate, holds: Holds::Accepted };
        // A killed trial may have left a candidate's output here.
        clear(&builds.place)?;
        clear(&builds.candidate)?;
        builds.take(&builds.accepted)?;
        Ok(Some(builds))
    }

    pub(super) fn place(&self) -> &Path {
        &self.place
    }

    /// Prepares to build an accepted tree.
    pub(super) fn use_accepted(&mut self) -> Result<()> {
        if self.holds == Holds::Candidate {
            rename(&self.place, &self.candidate)?;
            self.take(&self.accepted)?;
            self.holds = Holds::Accepted;
        }
        Ok(())
    }

    /// Prepares to build the candidate on top of the output of accepted trees. `expected` means
    /// that something was just built.
    pub(super) fn use_candidate(&mut self, expected: bool, stop: &Stop) -> Result<()> {
        if self.holds == Holds::Candidate {
            return Ok(());
        }
        if self.candidate.is_dir() {
            rename(&self.place, &self.accepted)?;
            self.take(&self.candidate)?;
        } else if expected || BUILT.iter().any(|folder| self.place.join(folder).is_dir()) {
            let limits = Limits { wall: COPY_WALL, output_bytes_max: 4 << 10 };
            let copy = Program::new("cp")
                .args(["-a", "--reflink=auto"])
                .args([&self.place, &self.accepted]);
            copy.output(limits, stop).context("copy build output")?;
        }
        self.holds = Holds::Candidate;
        Ok(())
    }

    /// Removes everything.
    pub(super) fn clear(&mut self) -> Result<()> {
        for folder in [&self.place, &self.accepted, &self.candidate] {
            clear(folder)?;
        }
        self.holds = Holds::Accepted;
        self.take(&self.accepted)
    }

    /// Keeps only the output of accepted trees.
    pub(super) fn close(mut self) -> Result<()> {
        self.use_accepted()?;
        clear(&self.candidate)?;
        rename(&self.place, &self.accepted)
    }

    /// Moves the folder to the build folder, or creates an empty one.
    fn take(&self, folder: &Path) -> Result<()> {
        if folder.is_dir() {
            return rename(folder, &self.place);
        }
        fs::create_dir_all(&self.place).with_context(|| format!("create {}", self.place.display()))
    }
}

fn rename(from: &Path, to: &Path) -> Result<()> {
    fs::rename(from, to).with_context(|| format!("move {} to {}", from.display(), to.display()))
}

fn clear(folder: &Path) -> Result<()> {
    remove_folder(folder).with_context(|| format!("clear {}", folder.display()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::room::Tool;

    fn open(root: &Path) -> Builds {
        let cargo = Tool { name: "cargo".to_owned(), path: "/bin/cargo".into(), needs: Vec::new() };
        let tools = Tools { found: vec![cargo], ..Tools::default() };
        Builds::open(root, Path::new("/room"), &tools).unwrap().unwrap()
    }

    fn has(builds: &Builds, name: &str) -> bool {
        builds.place().join("debug").join(name).exists()
    }

    fn build(builds: &Builds, name: &str) {
        fs::create_dir_all(builds.place().join("debug")).unwrap();
        fs::write(builds.place().join("debug").join(name), "").unwrap();
    }

    #[test]
    fn candidates_reuse_accepted_output_without_changing_it() {
        let root = tempfile::tempdir().unwrap();
        for end in ["closed", "killed"] {
            let mut builds = open(root.path());
            build(&builds, "accepted");
            let place = builds.place().to_owned();
            builds.use_candidate(false, &Stop::default()).unwrap();
            assert!(has(&builds, "accepted"));
            build(&builds, "planted");
            builds.use_accepted().unwrap();
            assert!(has(&builds, "accepted") && !has(&builds, "planted"));
            builds.use_candidate(false, &Stop::default()).unwrap();
            assert!(has(&builds, "accepted") && has(&builds, "planted"));
            assert_eq!(builds.place(), place, "the build folder is always the same");
            if end == "closed" {
                builds.close().unwrap();
            }
            let after = open(root.path());
            assert!(has(&after, "accepted") && !has(&after, "planted"), "{end}");
            after.close().unwrap();
        }
    }

    #[test]
    fn output_of_a_rebuilt_base_is_kept() {
        let root = tempfile::tempdir().unwrap();
        let mut builds = open(root.path());
        builds.use_candidate(false, &Stop::default()).unwrap();
        build(&builds, "planted");
        builds.use_accepted().unwrap();
        build(&builds, "accepted");
        builds.use_candidate(false, &Stop::default()).unwrap();
        builds.close().unwrap();
        let after = open(root.path());
        assert!(has(&after, "accepted") && !has(&after, "planted"));
    }
}
