//! Tests that the implementing agent does not see. The agent of RED writes them to a folder of the
//! worktree that is in no snapshot. From there they go to the folder of the run, and with the
//! commit of GREEN into the repository. Each step is safe to repeat: the journal names the file
//! that contains them.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use redgreen_core::agent::Assignment;
use redgreen_core::change::{self, Change, ChangedPath, Class, Kind};
use redgreen_core::names::{Oid, RunFile};
use redgreen_core::phase::Phase;
use redgreen_core::state::{Acceptance, Progress, Situation, Stage};
use redgreen_core::verdict::Decision;
use redgreen_core::withheld::{self, AddedTests, FILE_BYTES_MAX, FOLDER, TestFile, WithheldTests};

use super::Engine;
use super::turn::write;
use crate::failure::Failure;
use crate::foreign;
use crate::git::{Worktree, remove_folder};
use crate::runner::{self, Suite};
use crate::trial::TrialResult;

/// A line of a `.gitignore`, so that no snapshot, diff or salvage contains it.
pub(super) const IGNORED: &str = "/.redgreen/withheld/";
/// The maximum number of files in the folder.
const ENTRIES_MAX: usize = 1_000;

impl Engine<'_> {
    /// Before a turn: RED finds the tests it withheld so far. Other agents find nothing.
    pub(super) fn lay_out_withheld(
        &self,
        worktree: &Worktree,
        assignment: &Assignment,
        human: bool,
    ) -> Result<()> {
        let files =
            if assignment.withhold { self.withheld_tests(assignment.phase)? } else { Vec::new() };
        let Some(folder) = self.withheld_folder(worktree, !files.is_empty())? else {
            return Ok(());
        };
        // Files that a person started stay unchanged.
        if assignment.withhold && human && folder.exists() {
            return Ok(());
        }
        clear(&folder)?;
        for file in files {
            let place = folder.join(&file.path);
            let act = || format!("write {}", place.display());
            fs::create_dir_all(place.parent().unwrap_or(&folder)).with_context(act)?;
            fs::write(&place, &file.text).with_context(act)?;
        }
        Ok(())
    }

    /// After a turn: stores the tests that RED withholds, and reports those it cannot store. `tree`
    /// is the agent's result.
    pub(super) fn take_withheld(
        &self,
        worktree: &Worktree,
        assignment: &Assignment,
        tree: &Oid,
        name: &str,
    ) -> Result<(Option<WithheldTests>, Vec<String>)> {
        let Some(folder) = self.withheld_folder(worktree, false)?.filter(|_| assignment.withhold)
        else {
            return Ok((None, Vec::new()));
        };
        let found = found(&folder)?;
        if found.is_empty() {
            return Ok((None, Vec::new()));
        }
        let suite = runner::suite(&worktree.path, &self.project.file.test);
        let frameworks: Vec<_> = suite.as_ref().map_or_else(
            |_| Suite::every_framework().collect(),
            |suite| suite.frameworks().collect(),
        );
        let listed = self.project.git.tree_files(tree)?;
        let paths: Vec<&str> = listed.iter().filter_map(|file| file.path.to_str()).collect();
        let text = |path: &str| found.iter().find(|(name, _)| name == path)?.1.clone();
        // Files that the runner loads automatically affect other tests.
        let is_hook = |path: &str| {
            let added =
                ChangedPath { path: path.to_owned(), kind: Kind::Added, class: Class::Test };
            !change::hooks_added(Phase::Green, &Change { paths: vec![added] }, &paths, text)
                .is_empty()
        };
        let is_test =
            |path: &str| change::classify(path, &frameworks) == Class::Test && !is_hook(path);
        let sorted = withheld::sort(found.clone(), &paths, is_test);
        if sorted.files.is_empty() {
            return Ok((None, sorted.dropped));
        }
        let file = RunFile::parse(&format!("withheld/{name}.json"))?;
        let json =
            serde_json::to_string(&sorted.files).context("write the withheld tests as JSON")?;
        write(&self.folder.path, &file, json.as_bytes())?;
        let paths = sorted.files.iter().map(|file| file.path.clone()).collect();
        let kept = WithheldTests { file, paths, tests: withheld::count(&sorted.files) };
        Ok((Some(kept), sorted.dropped))
    }

    /// After the turn of an agent. A person's files stay until another agent works.
    pub(super) fn clear_withheld(&self, worktree: &Worktree) -> Result<()> {
        self.withheld_folder(worktree, false)?.map_or(Ok(()), |folder| clear(&folder))
    }

    /// The withheld tests for the verdict on this phase.
    pub(super) fn withheld_tests(&self, phase: Phase) -> Result<Vec<TestFile>> {
        let withheld = match (phase, &self.state.situation) {
            _ if !self.state.run.policy.withhold => None,
            (Phase::Red, Situation::Working { attempt, .. }) => attempt.withheld.as_ref(),
            (Phase::Green, _) => self.state.progress.withheld.as_ref(),
            (Phase::Red | Phase::Plan | Phase::Refactor | Phase::Complete, _) => None,
        };
        withheld.map_or_else(|| Ok(Vec::new()), |withheld| self.read_withheld(withheld))
    }

    /// The tree of a GREEN without the withheld tests that joined it. Changed ones stay.
    pub(super) fn without_joined(&self, tree: &Oid, before: &Progress) -> Result<Oid> {
        let git = &self.project.git;
        let mut left = tree.clone();
        for file in before
            .withheld
            .as_ref()
            .map_or_else(|| Ok(Vec::new()), |withheld| self.read_withheld(withheld))?
        {
            if git.read_file(&left, &file.path)?.is_some_and(|bytes| bytes == file.text.as_bytes())
            {
                left = git.with_file_of(&left, &before.head.tree, &file.path)?;
            }
        }
        Ok(left)
    }

    fn read_withheld(
        &self,
        WithheldTests { file, paths, .. }: &WithheldTests,
    ) -> Result<Vec<TestFile>> {
        let place = self.folder.path.join(file);
        let read = fs::read(&place).map_err(|error| error.to_string());
        let read = read
            .and_then(|bytes| serde_json::from_slice(&bytes).map_err(|error| error.to_string()));
        let files: Vec<TestFile> = read.map_err(|why| {
            Failure::environment(format!("cannot read the withheld tests of the run: {why}"))
                .evidence(place.display().to_string())
                .next(format!("redgreen resume {} --no-withhold", self.folder.id))
        })?;
        Ok(files.into_iter().filter(|file| paths.contains(&file.path)).collect())
    }

    /// For a run from another machine: how many withheld tests stayed there.
    pub(super) fn withheld_elsewhere(&self, phase: Phase) -> Option<String> {
        let progress = &self.state.progress;
        let handoff = progress.handoff.as_ref().filter(|handoff| handoff.phase == Phase::Red)?;
        let missing =
            phase == Phase::Green && progress.withheld.is_none() && handoff.withheld_tests > 0;
        let count = handoff.withheld_tests;
        missing.then(|| {
            format!(
                "{count} withheld tests are on the machine that started the run; this verdict does \
                 not include them"
            )
        })
    }

    /// RED: the tests that stay withheld.
    pub(super) fn kept_back(
        &self,
        phase: Phase,
        files: &[TestFile],
        tried: &TrialResult,
    ) -> Option<WithheldTests> {
        let Situation::Working { attempt, .. } = &self.state.situation else { return None };
        let accepted = phase == Phase::Red && tried.verdict.decision == Decision::Accepted;
        let written =
            attempt.withheld.as_ref().filter(|_| accepted && !tried.unseen.paths.is_empty())?;
        let is_kept = |file: &&TestFile| tried.unseen.paths.contains(&file.path);
        let kept: Vec<TestFile> = files.iter().filter(is_kept).cloned().collect();
        let (file, paths) = (written.file.clone(), tried.unseen.paths.clone());
        Some(WithheldTests { file, paths, tests: withheld::count(&kept) })
    }

    /// GREEN: the tree to commit, with the withheld tests that it passes.
    pub(super) fn join(
        &self,
        tree: &Oid,
        files: &[TestFile],
        tried: &TrialResult,
    ) -> Result<Option<AddedTests>> {
        let unseen = &tried.unseen;
        if tried.verdict.decision != Decision::Accepted || unseen.paths.is_empty() {
            return Ok(None);
        }
        let joining = files.iter().filter(|file| unseen.paths.contains(&file.path));
        let joining: Vec<(&Path, &str)> =
            joining.map(|file| (file.path.as_ref(), file.text.as_str())).collect();
        let tree = self.project.git.with_files(tree, &joining)?;
        let tests = u64::try_from(unseen.passed.len()).unwrap_or(u64::MAX);
        Ok(Some(AddedTests { tree, paths: unseen.paths.clone(), tests }))
    }

    /// The commit in progress, if it contains withheld tests.
    pub(super) fn joining(&self) -> Option<&AddedTests> {
        match &self.state.situation {
            Situation::Working { stage: Stage::Committing { acceptance }, .. } => {
                let Acceptance { joined, .. } = acceptance.as_ref();
                joined.as_ref()
            }
            _ => None,
        }
    }

    /// A person's files stay unchanged, and the tests that joined are added.
    pub(super) fn lay_out_joined(&self, worktree: &Worktree) -> Result<()> {
        let Some(joined) = self.joining() else { return Ok(()) };
        for path in &joined.paths {
            let place = worktree.path.join(path);
            let bytes = self.project.git.read_file(&joined.tree, path)?;
            let is_taken =
                place.symlink_metadata().is_ok() || foreign::stays(&worktree.path, &place).is_err();
            let (Some(bytes), false) = (bytes, is_taken) else { continue };
            let act = || format!("write {}", place.display());
            fs::create_dir_all(place.parent().unwrap_or(&worktree.path)).with_context(act)?;
            fs::write(&place, bytes).with_context(act)?;
        }
        Ok(())
    }

    /// The folder if it exists or is `needed`, unless the project uses this name or it is a link.
    fn withheld_folder(&self, worktree: &Worktree, needed: bool) -> Result<Option<PathBuf>> {
        let folder = worktree.path.join(FOLDER);
        let is_link = |above: &Path| above.symlink_metadata().is_ok_and(|facts| !facts.is_dir());
        let is_there = folder.symlink_metadata().is_ok();
        if folder.parent().is_some_and(is_link) || !(needed || is_there) {
            return Ok(None);
        }
        let listed = self.project.git.tree_files(&self.state.progress.head.tree)?;
        let own = listed.iter().any(|file| file.path.starts_with(FOLDER));
        Ok((!own).then_some(folder))
    }
}

/// The files in a folder by relative path, in order, without following links. A file that is not
/// text of reasonable size has no content.
fn found(folder: &Path) -> Result<Vec<(String, Option<String>)>> {
    let mut found = Vec::new();
    let mut folders = vec![folder.to_owned()];
    let mut looked_at = 0;
    while let Some(inner) = folders.pop().filter(|_| looked_at < ENTRIES_MAX) {
        let is_folder = inner.symlink_metadata().is_ok_and(|facts| facts.is_dir());
        let entries = if is_folder { fs::read_dir(&inner) } else { continue };
        for entry in
            entries.with_context(|| format!("read folder {}", inner.display()))?.take(ENTRIES_MAX)
        {
            let path = entry.with_context(|| format!("read folder {}", inner.display()))?.path();
            looked_at += 1;
            let facts =
                path.symlink_metadata().with_context(|| format!("read {}", path.display()))?;
            let name = path.strip_prefix(folder).unwrap_or(&path).to_string_lossy().into_owned();
            if facts.is_dir() {
                folders.push(path);
            } else {
                let bytes = foreign::read(&path, FILE_BYTES_MAX as u64);
                let bytes = bytes.with_context(|| format!("read {}", path.display()))?;
                found.push((name, bytes.and_then(|bytes| String::from_utf8(bytes).ok())));
            }
        }
    }
    found.sort();
    Ok(found)
}

/// Also removes the folder above it, if it is empty.
fn clear(folder: &Path) -> Result<()> {
    remove_folder(folder).with_context(|| format!("remove {}", folder.display()))?;
    if let Some(above) = folder.parent() {
        // It does not exist, or is not empty.
        fs::remove_dir(above).ok();
    }
    Ok(())
}
