//! Where compilers put what they build. Build output knows the folder it was built in: a test binary holds the path of
//! the program it starts. So all trees of a room are built in one folder, and what accepted trees built is kept beside
//! it, where no candidate writes.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result};

use crate::git::remove_folder;
use crate::process::{Limits, Program, Stop};
use crate::room::{GO_CACHE, Tools, build_folder};

/// Tools whose build output is kept, and the folders in which it shows that there is some.
const COMPILERS: &[&str] = &["cargo", "go"];
const BUILT: &[&str] = &["debug", GO_CACHE];
const COPY_WALL: Duration = Duration::from_secs(300);

pub(super) struct Builds {
    /// Everything is built here.
    place: PathBuf,
    /// What accepted trees built, while a candidate is built.
    accepted: PathBuf,
    /// What the candidate built, while an accepted tree is built.
    candidate: PathBuf,
    holds: Holds,
}

/// Whose build output lies in the place.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Holds {
    Accepted,
    Candidate,
}

impl Builds {
    /// Begins with what accepted trees built; `None` where nothing is compiled.
    pub(super) fn open(root: &Path, room: &Path, tools: &Tools) -> Result<Option<Self>> {
        if !COMPILERS.iter().any(|name| tools.get(name).is_some()) {
            return Ok(None);
        }
        let place = build_folder(root, room, tools);
        let (accepted, candidate) = (place.with_extension("accepted"), place.with_extension("candidate"));
        let builds = Self { place, accepted, candidate, holds: Holds::Accepted };
        // A trial that was killed may have left a candidate's here.
        clear(&builds.place)?;
        clear(&builds.candidate)?;
        builds.take(&builds.accepted)?;
        Ok(Some(builds))
    }

    pub(super) fn place(&self) -> &Path {
        &self.place
    }

    /// Candidates build upon what accepted trees have built. `expected` says that something was built just now.
    pub(super) fn begin_candidate(&mut self, expected: bool, stop: &Stop) -> Result<()> {
        if self.holds == Holds::Candidate {
            return Ok(());
        }
        if expected || BUILT.iter().any(|folder| self.place.join(folder).is_dir()) {
            let limits = Limits { wall: COPY_WALL, output_bytes_max: 4 << 10 };
            let copy = Program::new("cp").args(["-a", "--reflink=auto"]).args([&self.place, &self.accepted]);
            copy.output(limits, stop).context("copy build output")?;
        }
        self.holds = Holds::Candidate;
        Ok(())
    }

    /// The next build is one of an accepted tree.
    pub(super) fn use_accepted(&mut self) -> Result<()> {
        if self.holds == Holds::Candidate {
            rename(&self.place, &self.candidate)?;
            self.take(&self.accepted)?;
            self.holds = Holds::Accepted;
        }
        Ok(())
    }

    /// The next build is one of the candidate, if it has begun.
    pub(super) fn use_candidate(&mut self) -> Result<()> {
        if self.holds == Holds::Accepted && self.candidate.is_dir() {
            rename(&self.place, &self.accepted)?;
            self.take(&self.candidate)?;
            self.holds = Holds::Candidate;
        }
        Ok(())
    }

    /// Keeps what accepted trees built, and nothing else.
    pub(super) fn close(mut self) -> Result<()> {
        self.use_accepted()?;
        clear(&self.candidate)?;
        rename(&self.place, &self.accepted)
    }

    /// The folder becomes the place of builds, or an empty one does.
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
    fn candidates_build_upon_what_was_accepted_and_leave_nothing_in_it() {
        let root = tempfile::tempdir().unwrap();
        for end in ["closed", "killed"] {
            let mut builds = open(root.path());
            build(&builds, "accepted");
            let place = builds.place().to_owned();
            builds.begin_candidate(false, &Stop::default()).unwrap();
            assert!(has(&builds, "accepted"));
            build(&builds, "planted");
            builds.use_accepted().unwrap();
            assert!(has(&builds, "accepted") && !has(&builds, "planted"));
            builds.use_candidate().unwrap();
            assert!(has(&builds, "accepted") && has(&builds, "planted"));
            assert_eq!(builds.place(), place, "always built in one folder");
            if end == "closed" {
                builds.close().unwrap();
            }
            let after = open(root.path());
            assert!(has(&after, "accepted") && !has(&after, "planted"), "{end}");
            after.close().unwrap();
        }
    }

    #[test]
    fn a_base_that_is_built_again_joins_what_was_accepted() {
        let root = tempfile::tempdir().unwrap();
        let mut builds = open(root.path());
        builds.begin_candidate(false, &Stop::default()).unwrap();
        build(&builds, "planted");
        builds.use_accepted().unwrap();
        build(&builds, "accepted");
        builds.use_candidate().unwrap();
        builds.close().unwrap();
        let after = open(root.path());
        assert!(has(&after, "accepted") && !has(&after, "planted"));
    }
}
