//! The runs of a repository: `<git common dir>/redgreen/runs/<id>/`, with a marker for each open
//! run, so that listing them does not get slower with the number of old runs.

use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use redgreen_core::names::RunId;
use redgreen_core::text::in_quotes;

use crate::failure::Failure;
use crate::foreign;
use crate::private;

/// All runs of one repository.
#[derive(Clone, Debug)]
pub struct Store {
    root: PathBuf,
}

/// The folder of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunFolder {
    pub id: RunId,
    pub path: PathBuf,
}

/// The number of ids that are tried for a new run.
const ID_TRIES_MAX: u32 = 100;
/// The maximum number of folders in a run, which has a few per turn.
const FOLDERS_MAX: usize = 100_000;

impl Store {
    pub fn new(common_dir: &Path) -> Self {
        Self { root: common_dir.join("redgreen") }
    }

    /// Checks that our folder contains only files and folders. A link, pipe or device can only be
    /// there if the repository was copied from someone else: we would write through it, or block on
    /// it.
    pub fn check(&self) -> Result<()> {
        plain(&self.root)?;
        for folder in [self.root.clone(), self.runs(), self.open_runs()] {
            for entry in entries(&folder)? {
                plain(&entry)?;
            }
        }
        all_plain(&self.cassettes(), || {
            format!("rm -r {}", in_quotes(&self.cassettes().to_string_lossy()))
        })
    }

    /// Recorded exchanges with models.
    pub fn cassettes(&self) -> PathBuf {
        self.root.join("cassettes")
    }

    /// Everything of redgreen in the repository.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Creates the folder of a new run. Ids sort by time. `at` is in milliseconds since 1970.
    pub fn create(&self, at: i64) -> Result<RunFolder> {
        private::create_dir_all(&self.runs())
            .with_context(|| format!("create {}", self.runs().display()))?;
        private::create_dir_all(&self.open_runs())
            .with_context(|| format!("create {}", self.open_runs().display()))?;
        for attempt in 0..ID_TRIES_MAX {
            let id = new_id(at, attempt)?;
            let path = self.runs().join(&id);
            match fs::DirBuilder::new().mode(0o700).create(&path) {
                Ok(()) => {
                    let folder = RunFolder { id, path };
                    return match self.mark_open(&folder) {
                        Ok(()) => Ok(folder),
                        Err(error) => {
                            // Nothing has begun, so do not leave an empty run.
                            self.forget(&folder).ok();
                            Err(error)
                        }
                    };
                }
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) => {
                    return Err(error).with_context(|| format!("create {}", path.display()));
                }
            }
        }
        anyhow::bail!("create a run in {}: {ID_TRIES_MAX} names are taken", self.runs().display())
    }

    /// The folder of a run with a known id, created if necessary (for a run of another clone).
    pub fn adopt(&self, id: &RunId) -> Result<RunFolder> {
        let folder = self.folder(id);
        private::create_dir_all(&folder.path)
            .with_context(|| format!("create {}", folder.path.display()))?;
        private::create_dir_all(&self.open_runs())
            .with_context(|| format!("create {}", self.open_runs().display()))?;
        self.mark_open(&folder)?;
        Ok(folder)
    }

    /// Finds a run by its id, or by a unique prefix or suffix.
    pub fn find(&self, id: &str) -> Result<RunFolder> {
        let ids = self.ids()?;
        if let Some(exact) = ids.iter().find(|known| *known == id) {
            return Ok(self.folder(exact));
        }
        let mut matching: Vec<RunId> =
            ids.into_iter().filter(|known| known.starts_with(id) || known.ends_with(id)).collect();
        match (matching.pop(), matching.is_empty()) {
            (Some(only), true) => Ok(self.folder(&only)),
            (Some(_), false) => Err(Failure::usage(format!("several runs match {id:?}"))
                .next("redgreen status --all")
                .into()),
            (None, _) => Err(Failure::usage(format!("no run {id:?} here"))
                .next("redgreen status --all")
                .into()),
        }
    }

    /// Whether a name means at least one run here.
    pub fn has(&self, id: &str) -> bool {
        let is_meant = |known: &RunId| known.starts_with(id) || known.ends_with(id);
        self.ids().is_ok_and(|ids| ids.iter().any(is_meant))
    }

    /// The open runs, newest last.
    pub fn open(&self) -> Result<Vec<RunFolder>> {
        Ok(names(&self.open_runs())?
            .into_iter()
            .map(|id| self.folder(&id))
            .filter(|run| run.path.is_dir())
            .collect())
    }

    /// All runs, newest last.
    pub fn all(&self) -> Result<Vec<RunFolder>> {
        Ok(self.ids()?.into_iter().map(|id| self.folder(&id)).collect())
    }

    /// The run that was started last, without reading the others.
    pub fn latest(&self) -> Option<RunFolder> {
        let id = foreign::read_text(&self.root.join("latest")).ok()?;
        let folder = self.folder(&RunId::parse(id.trim()).ok()?);
        folder.path.is_dir().then_some(folder)
    }

    /// Marks the run as finished.
    pub fn close(&self, run: &RunFolder) -> Result<()> {
        let marker = self.open_runs().join(&run.id);
        match fs::remove_file(&marker) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                Err(error).with_context(|| format!("remove {}", marker.display()))
            }
            Ok(()) | Err(_) => Ok(()),
        }
    }

    /// Marks the run as open again.
    pub fn reopen(&self, run: &RunFolder) -> Result<()> {
        let marker = self.open_runs().join(&run.id);
        fs::create_dir_all(self.open_runs())
            .with_context(|| format!("create {}", self.open_runs().display()))?;
        let opened = OpenOptions::new().create(true).append(true).open(&marker);
        opened.map(drop).with_context(|| format!("create {}", marker.display()))
    }

    /// Removes a run that never began.
    pub fn forget(&self, run: &RunFolder) -> Result<()> {
        self.close(run)?;
        fs::remove_dir_all(&run.path).with_context(|| format!("remove {}", run.path.display()))
    }

    fn mark_open(&self, run: &RunFolder) -> Result<()> {
        let marker = self.open_runs().join(&run.id);
        // Older versions left the records readable for others.
        private::close(&self.root)
            .with_context(|| format!("close {} to others", self.root.display()))?;
        private::open(OpenOptions::new().create(true).append(true), &marker)
            .with_context(|| format!("create {}", marker.display()))?;
        let mut latest = tempfile::NamedTempFile::new_in(&self.root)
            .with_context(|| format!("create a file in {}", self.root.display()))?;
        latest.write_all(run.id.as_bytes()).context("write the name of the latest run")?;
        latest.persist(self.root.join("latest")).context("name the latest run")?;
        Ok(())
    }

    /// The folder of a run with this id, whether or not it exists.
    pub fn named(&self, id: &RunId) -> RunFolder {
        self.folder(id)
    }

    fn ids(&self) -> Result<Vec<RunId>> {
        names(&self.runs())
    }

    fn folder(&self, id: &RunId) -> RunFolder {
        RunFolder { id: id.clone(), path: self.runs().join(id) }
    }

    fn runs(&self) -> PathBuf {
        self.root.join("runs")
    }

    fn open_runs(&self) -> PathBuf {
        self.root.join("open")
    }
}

impl RunFolder {
    /// Checks everything in the run's folder before its journal is opened.
    pub fn check(&self) -> Result<()> {
        all_plain(&self.path, || {
            format!("mv {} ~/{}.damaged", in_quotes(&self.path.to_string_lossy()), self.id)
        })
    }

    pub fn reports(&self) -> PathBuf {
        self.path.join("reports")
    }

    pub fn artifacts(&self) -> PathBuf {
        self.path.join("artifacts")
    }

    pub fn transcripts(&self) -> PathBuf {
        self.path.join("transcripts")
    }

    /// The folders of turns.
    pub fn desks(&self) -> PathBuf {
        self.path.join("turns")
    }

    /// Messages from the user that are not in the journal yet.
    pub fn mailbox(&self) -> PathBuf {
        self.path.join("mailbox")
    }

    /// The user's comments on lines.
    pub fn comments(&self) -> PathBuf {
        self.path.join("comments.json")
    }

    /// The names of the agents when the run began.
    pub fn choice(&self) -> PathBuf {
        self.path.join("agents.json")
    }

    /// The script of a scripted run when it began.
    pub fn script(&self) -> PathBuf {
        self.path.join("script.toml")
    }

    /// The other folder in which the user wants the artifacts.
    pub fn artifacts_to(&self) -> PathBuf {
        self.path.join("artifacts-to")
    }

    /// Tests that the run began with, written in another RED.
    pub fn given_tests(&self) -> PathBuf {
        self.path.join("given-tests.json")
    }

    /// The examples that the run withholds from its agents.
    pub fn examples(&self) -> PathBuf {
        self.path.join("examples.json")
    }
}

/// `20261115-224849-k3x9`: the time and random letters, so that runs of the same second do not
/// collide.
pub(super) fn new_id(at: i64, attempt: u32) -> Result<RunId> {
    const LETTERS: &[u8; 32] = b"abcdefghijkmnpqrstuvwxyz23456789";
    let time = jiff::Timestamp::from_millisecond(at).unwrap_or_default();
    let mut random = std::hash::BuildHasher::hash_one(
        &std::collections::hash_map::RandomState::new(),
        (at, attempt, std::process::id()),
    );
    let mut tail = String::new();
    for _ in 0..4 {
        tail.push(char::from(LETTERS.get((random % 32) as usize).copied().unwrap_or(b'a')));
        random /= 32;
    }
    RunId::parse(&format!("{}-{tail}", time.strftime("%Y%m%d-%H%M%S"))).context("name a run")
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Plain {
    Absent,
    File,
    Folder,
}

/// Checks that a folder contains only files and folders. `next` is the command if there are too
/// many.
fn all_plain(folder: &Path, next: impl Fn() -> String) -> Result<()> {
    let mut folders = vec![folder.to_owned()];
    plain(folder)?;
    for _ in 0..FOLDERS_MAX {
        let Some(folder) = folders.pop() else { return Ok(()) };
        for entry in entries(&folder)? {
            if plain(&entry)? == Plain::Folder {
                folders.push(entry);
            }
        }
    }
    Err(Failure::environment(format!("{} has more than {FOLDERS_MAX} folders", folder.display()))
        .next(next())
        .into())
}

fn plain(path: &Path) -> Result<Plain> {
    let kind = match fs::symlink_metadata(path) {
        Ok(facts) => facts.file_type(),
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Plain::Absent),
        Err(error) => return Err(error).with_context(|| format!("look at {}", path.display())),
    };
    if kind.is_dir() {
        return Ok(Plain::Folder);
    }
    if kind.is_file() {
        return Ok(Plain::File);
    }
    let what = if kind.is_symlink() { "a link" } else { "neither a file nor a folder" };
    Err(Failure::environment(format!(
        "{} is {what}, which redgreen did not create",
        path.display()
    ))
    .evidence("nothing was read or written through it")
    .next(format!("ls -l {0}, and if it is not yours: rm {0}", in_quotes(&path.to_string_lossy())))
    .into())
}

fn entries(folder: &Path) -> Result<Vec<PathBuf>> {
    let act = || format!("read {}", folder.display());
    match fs::read_dir(folder) {
        Ok(entries) => entries.map(|entry| Ok(entry.with_context(act)?.path())).collect(),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
        Err(error) => Err(error).with_context(act),
    }
}

/// The runs in a folder. Other names are ignored.
fn names(folder: &Path) -> Result<Vec<RunId>> {
    let entries = match fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(error).with_context(|| format!("read {}", folder.display())),
    };
    let id = |name: std::ffi::OsString| RunId::parse(name.to_str()?).ok();
    let mut names: Vec<RunId> = entries.filter_map(|entry| id(entry.ok()?.file_name())).collect();
    names.sort();
    Ok(names)
}
