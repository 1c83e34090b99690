//! A run's records as a commit that is pushed with the run: the journal up to the last accepted
//! phase, reports, withheld tests. Its parents are the run's branch and the notes. Every push names
//! the expected value of the ref, so a replaced worker cannot push. The queue knows the ids of the
//! commits, so records of others are not used.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use redgreen_core::fleet::status::Status;
use redgreen_core::names::{Branch, JobId, Oid, RunBranch, RunFile, RunId};

use crate::engine::{Project, now};
use crate::git::{Change, Expected, Git, PushOutcome, Remote};
use crate::journal::{self, Body, Line, RunFolder};
use crate::private;

/// Files of a run that another worker needs.
const FILES: [&str; 4] = ["agents.json", "script.toml", "examples.json", "given-tests.json"];
const FOLDERS: [&str; 3] = ["reports", "withheld", "artifacts"];
const JOURNAL: &str = "journal.jsonl";
/// More than any run creates.
const FILES_MAX: usize = 10_000;
const BYTES_MAX: u64 = 64 << 20;
/// The maximum depth of the folders of a run.
const DEPTH_MAX: usize = 4;
const EPOCH: &str = "epoch: ";

/// The ref of a job's run in the shared repository.
pub(super) fn ref_of(id: &JobId) -> String {
    format!("refs/redgreen/runs/{id}")
}

/// The records of one run, as this worker last pushed them.
#[derive(Debug)]
pub(super) struct Record<'a> {
    pub(super) remote: &'a Remote,
    pub(super) git: Git,
    id: JobId,
    branch: RunBranch,
    epoch: u64,
    /// The commit of the run's ref on the remote.
    at: Option<Oid>,
    /// The run's branch on the remote.
    tip: Option<Oid>,
    tree: Oid,
}

/// Whether a push succeeded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum PushResult {
    Yes,
    /// Another worker has the job.
    Fenced,
    /// Something else prevented it.
    No {
        words: String,
    },
}

/// A commit to push.
#[derive(Debug)]
pub(super) struct Draft {
    pub(super) commit: Oid,
    tree: Oid,
    tip: Option<Oid>,
}

impl<'a> Record<'a> {
    /// What the checkout fetched of the run. Empty for a new one.
    pub(super) fn read(remote: &'a Remote, git: Git, status: &Status) -> Result<Self> {
        let at = git.read_ref(&ref_of(&status.id))?;
        let tip = git.read_ref(&status.branch.full_ref())?;
        let tree = match &at {
            Some(commit) => git.tree_of(commit)?,
            None => git.empty_tree()?,
        };
        let (id, branch, epoch) = (status.id.clone(), status.branch.clone(), status.epoch);
        Ok(Self { remote, git, id, branch, epoch, at, tip, tree })
    }

    /// The commit of the ref on the remote.
    pub(super) fn at(&self) -> Option<&Oid> {
        self.at.as_ref()
    }

    /// The same records under this worker's epoch. After they are pushed, no worker of an earlier
    /// epoch can push.
    pub(super) fn claim(&self, base: &Oid) -> Result<Draft> {
        let parents = match &self.at {
            Some(at) => self.git.parents_and_message(at)?.0,
            None => vec![base.clone()],
        };
        let commit = self.commit(&self.tree, &parents)?;
        Ok(Draft { commit, tree: self.tree.clone(), tip: self.tip.clone() })
    }

    /// The records of a run up to a line of its journal, or all.
    pub(super) fn draft(&self, folder: &RunFolder, upto: Option<u64>) -> Result<Draft> {
        let (text, tip) = cut_journal(folder, upto)?;
        let mut files = vec![(PathBuf::from(JOURNAL), text)];
        for name in FILES {
            add(&folder.path, &folder.path.join(name), &mut files, DEPTH_MAX)?;
        }
        for name in FOLDERS {
            add(&folder.path, &folder.path.join(name), &mut files, DEPTH_MAX)?;
        }
        let known = self.git.tree_files(&self.tree)?;
        // All files except the journal are written once.
        let is_new =
            |path: &Path| path == Path::new(JOURNAL) || !known.iter().any(|file| file.path == path);
        let new: Vec<(&Path, &str)> = files
            .iter()
            .filter(|(path, _)| is_new(path))
            .map(|(path, text)| (path.as_path(), text.as_str()))
            .collect();
        let tree = self.git.with_files(&self.tree, &new)?;
        let tip = tip.or_else(|| self.tip.clone());
        let parents: Vec<Oid> = tip.iter().cloned().chain(self.git.notes_tip()?).collect();
        Ok(Draft { commit: self.commit(&tree, &parents)?, tree, tip })
    }

    /// Pushes the records together with the run's branch, if this worker still has the job.
    pub(super) fn push(&mut self, draft: Draft) -> Result<PushResult> {
        let branch = Change {
            name: self.branch.full_ref(),
            new: draft.tip.clone(),
            expected: Expected::Is(self.tip.clone()),
        };
        let changed = draft.tip.is_some() && draft.tip != self.tip;
        self.push_with(draft, if changed { vec![branch] } else { Vec::new() })
    }

    /// Pushes the records of a merged run and its target branch, and deletes its own branch.
    pub(super) fn push_merge(
        &mut self,
        draft: Draft,
        base: &Branch,
        merged: &Oid,
    ) -> Result<PushResult> {
        let target =
            Change { name: base.full_ref(), new: Some(merged.clone()), expected: Expected::Before };
        let mut changes = vec![target];
        if self.tip.is_some() {
            let expected = Expected::Is(self.tip.clone());
            changes.push(Change { name: self.branch.full_ref(), new: None, expected });
        }
        self.push_with(draft, changes)
    }

    fn push_with(&mut self, draft: Draft, mut changes: Vec<Change>) -> Result<PushResult> {
        let name = ref_of(&self.id);
        let expected = Expected::Is(self.at.clone());
        changes.push(Change { name: name.clone(), new: Some(draft.commit.clone()), expected });
        match self.remote.push(&self.git, &changes)? {
            PushOutcome::Done => {}
            PushOutcome::Refused { words } => {
                let there = self.remote.read(&name)?;
                // A connection may break after the server has finished.
                if there.as_ref() != Some(&draft.commit) {
                    return Ok(if there == self.at {
                        PushResult::No { words }
                    } else {
                        PushResult::Fenced
                    });
                }
            }
        }
        self.at = Some(draft.commit);
        self.tip = draft.tip;
        self.tree = draft.tree;
        Ok(PushResult::Yes)
    }

    /// Restores the records into a checkout, as if the run had worked there. `None` if no phase was
    /// accepted yet.
    pub(super) fn restore(&self, project: &Project, run: &RunId) -> Result<Option<RunFolder>> {
        let Some(at) = &self.at else { return Ok(None) };
        let files = self.git.tree_files(&self.tree)?;
        if !files.iter().any(|file| file.path == Path::new(JOURNAL)) {
            return Ok(None);
        }
        let bytes: u64 = files.iter().filter_map(|file| file.size).sum();
        anyhow::ensure!(
            files.len() <= FILES_MAX && bytes <= BYTES_MAX,
            "the records of run {run} are too large"
        );
        let (parents, _) = self.git.parents_and_message(at)?;
        if let Some(notes) = parents.get(1) {
            self.git.merge_notes(notes)?;
        }
        let folder = project.store.adopt(run)?;
        let all: Vec<_> = files.iter().collect();
        self.git.read_files(&all, |file, bytes| {
            let name = file.path.to_str().and_then(|path| RunFile::parse(path).ok());
            let name =
                name.with_context(|| format!("{} is not a file of a run", file.path.display()))?;
            let path = folder.path.join(&name);
            let above = path.parent().unwrap_or(&folder.path);
            private::create_dir_all(above)
                .with_context(|| format!("create {}", above.display()))?;
            private::write(&path, &bytes).with_context(|| format!("write {}", path.display()))
        })?;
        // The queue knows this commit, so one of our workers wrote it.
        project.remember_run(run)?;
        Ok(Some(folder))
    }

    fn commit(&self, tree: &Oid, parents: &[Oid]) -> Result<Oid> {
        let message = format!("records of job {}\n\n{EPOCH}{}\n", self.id, self.epoch);
        let parents: Vec<&str> = parents.iter().map(Oid::as_str).collect();
        self.git.commit_tree(tree, &parents, &message, now() / 1000)
    }
}

/// The journal up to a line, and the commit of the run's branch at that point.
fn cut_journal(folder: &RunFolder, upto: Option<u64>) -> Result<(String, Option<Oid>)> {
    let path = journal::path(folder);
    let text = fs::read_to_string(&path).with_context(|| format!("read {}", path.display()))?;
    let (mut kept, mut tip) = (String::new(), None);
    for raw in text.split_inclusive('\n') {
        let Ok(line) = serde_json::from_str::<Line>(raw) else { break };
        if upto.is_some_and(|last| line.seq > last) {
            break;
        }
        if let Body::Event(event) = &line.body
            && let redgreen_core::event::Event::Noted { commit, .. } = event.as_ref()
        {
            tip = Some(commit.clone());
        }
        kept.push_str(raw);
    }
    Ok((kept, tip))
}

/// Adds a text file, or all text files of a folder.
fn add(root: &Path, path: &Path, files: &mut Vec<(PathBuf, String)>, depth: usize) -> Result<()> {
    let Ok(facts) = fs::symlink_metadata(path) else { return Ok(()) };
    if facts.is_dir() && depth > 0 {
        for entry in fs::read_dir(path).with_context(|| format!("read {}", path.display()))? {
            add(
                root,
                &entry.with_context(|| format!("read {}", path.display()))?.path(),
                files,
                depth - 1,
            )?;
        }
    }
    let name = path.strip_prefix(root).unwrap_or(path);
    let is_ours = name.to_str().is_some_and(|name| RunFile::parse(name).is_ok());
    if facts.is_file() && is_ours && files.len() < FILES_MAX {
        // A file that is being written may disappear.
        files.extend(fs::read_to_string(path).ok().map(|text| (name.to_owned(), text)));
    }
    Ok(())
}
