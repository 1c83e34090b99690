//! Sets up a new worktree with everything that is not in git: files from the settings, installed
//! packages, and results of setup commands.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result};

use super::Engine;
use super::turn::{agent_environment, last_lines, write};
use crate::agent::Team;
use crate::config;
use crate::failure::Failure;
use crate::foreign;
use crate::git::Worktree;
use crate::process::Limits;
use crate::{room, trial};

const SETUP_OUTPUT_BYTES_MAX: usize = 64 << 10;
/// Next to the private index: package folders that are links in the worktree, one per line.
const LINKED: &str = "linked";

impl Engine<'_> {
    /// The worktree, after it is decided which packages of the user's checkout it gets: all that
    /// git ignores, unless the settings say otherwise. Decided once, so that an agent has no
    /// influence on it.
    pub(super) fn choose_packages(&self, worktree: &Worktree, tree: &str) -> Result<Worktree> {
        if worktree.private.join(LINKED).exists() {
            return Ok(worktree.clone());
        }
        let (git, settings) = (&self.project.git, &self.project.file.worktree);
        let mut chosen = Vec::new();
        if settings.setup.is_empty() {
            for place in trial::installed_places(git, &git.root, tree)? {
                let is_named = settings
                    .copy
                    .iter()
                    .chain(&settings.link)
                    .any(|named| place.starts_with(named));
                if let Some(name) = place.to_str().filter(|_| !is_named)
                    && git.is_ignored(&place)?
                {
                    chosen.push(name.to_owned());
                }
            }
        }
        write(&worktree.private, LINKED, chosen.join("\n").as_bytes())?;
        Ok(self.worktree())
    }

    /// Ignore rules for everything from the user's checkout. A rule of the user that ends with a
    /// slash matches a folder, but not the link to it.
    pub(super) fn brought(&self, private: &Path) -> Vec<String> {
        let settings = &self.project.file.worktree;
        let named = settings.copy.iter().chain(&settings.link).cloned();
        named.chain(linked(private)).map(|path| format!("/{}", path.display())).collect()
    }

    /// A worktree has only files from git. The rest is copied, linked or created.
    pub(super) fn set_up(&self, worktree: &Worktree) -> Result<()> {
        let settings = &self.project.file.worktree;
        let linked = linked(&worktree.private);
        for (paths, link) in
            [(&settings.copy, false), (&settings.link, true), (&linked, self.is_held()?)]
        {
            for path in paths {
                bring(&self.project.git.root, &worktree.path, path, link)?;
            }
        }
        let wall = Duration::from_millis(self.state.run.policy.setup_timeout_ms);
        for line in &settings.setup {
            let limits = Limits { wall, output_bytes_max: SETUP_OUTPUT_BYTES_MAX };
            let mut program = config::setup_program(line, &worktree.path);
            for (name, value) in agent_environment(self.project, &self.folder.id, &worktree.path)? {
                program = program.env(name, value);
            }
            let output = program.output(limits, &self.project.stop)?;
            if !output.success() {
                let said = output.stderr_text() + &output.stdout_text();
                return Err(Failure::environment(format!(
                    "the setup command `{line}` failed ({})",
                    output.exit
                ))
                .evidence(last_lines(&said))
                .next(format!("fix worktree.setup in {}, then run: redgreen resume", config::FILE))
                .into());
            }
        }
        Ok(())
    }

    /// The locations of linked packages, from our own record: an agent may have created other
    /// links.
    pub(super) fn packages(&self, worktree: &Worktree) -> Vec<PathBuf> {
        let root = &self.project.git.root;
        let named = linked(&worktree.private)
            .into_iter()
            .chain(self.project.file.worktree.link.iter().cloned());
        let places = named.filter(|place| root.join(place).exists()).flat_map(|place| {
            let folder = root.join(&place);
            let real = folder.canonicalize().unwrap_or_else(|_| folder.clone());
            let originals = room::originals(&real, &place);
            [folder, real].into_iter().chain(originals)
        });
        places.collect()
    }

    /// Whether a sandbox prevents every agent from writing through a link into the user's checkout.
    fn is_held(&self) -> Result<bool> {
        self.team.as_ref().map_or(Ok(false), Team::is_held)
    }

    /// Packages that the user installed and the worktree does not have.
    pub(super) fn left_behind(&self, worktree: &Worktree) -> Vec<String> {
        let is_missed = |name: &&&str| {
            self.project.git.root.join(name).is_dir() && !worktree.path.join(name).exists()
        };
        let tell = |name: &&str| {
            let file = config::FILE;
            format!(
                "the worktree does not contain {name} of your checkout; if tests need it, create \
                 it with worktree.setup in {file}, or add it to worktree.link"
            )
        };
        trial::FOLDERS.iter().filter(is_missed).map(tell).collect()
    }
}

fn linked(private: &Path) -> Vec<PathBuf> {
    // A worktree that was never completed has none.
    let said = fs::read_to_string(private.join(LINKED)).unwrap_or_default();
    said.lines().map(PathBuf::from).collect()
}

/// Copies or links one path of the user's checkout. A missing path is ignored.
fn bring(from: &Path, to: &Path, path: &Path, link: bool) -> Result<()> {
    let inside = path.is_relative()
        && !path.components().any(|part| part == std::path::Component::ParentDir);
    if !inside {
        return Err(Failure::usage(format!(
            "{} in worktree.copy or worktree.link is outside the project",
            path.display()
        ))
        .next(format!("use paths relative to the project in {}", config::FILE))
        .into());
    }
    let (source, target) = (from.join(path), to.join(path));
    if !source.exists() || target.exists() {
        return Ok(());
    }
    if let Err(why) = foreign::stays(to, &target) {
        return Err(Failure::usage(format!(
            "{} in worktree.copy or worktree.link is outside the worktree",
            path.display()
        ))
        .evidence(why)
        .next(format!("use a path without that link in {}", config::FILE))
        .into());
    }
    if let Some(parent) = target.parent() {
        fs::create_dir_all(parent).with_context(|| format!("create {}", parent.display()))?;
    }
    if link && room::is_scribbled_in(path) {
        let source =
            source.canonicalize().with_context(|| format!("look at {}", source.display()))?;
        return room::mirror(&source, &target, path);
    }
    if link {
        return std::os::unix::fs::symlink(&source, &target)
            .with_context(|| format!("link {}", target.display()));
    }
    copy(&source, &target)
}

fn copy(source: &Path, target: &Path) -> Result<()> {
    let act = || format!("copy {}", source.display());
    let facts = fs::symlink_metadata(source).with_context(act)?;
    if facts.is_symlink() {
        let to = fs::read_link(source).with_context(act)?;
        return std::os::unix::fs::symlink(to, target).with_context(act);
    }
    if facts.is_dir() {
        fs::create_dir_all(target).with_context(act)?;
        for entry in fs::read_dir(source).with_context(act)? {
            let entry = entry.with_context(act)?;
            copy(&entry.path(), &target.join(entry.file_name()))?;
        }
        return Ok(());
    }
    fs::copy(source, target).with_context(act)?;
    Ok(())
}
