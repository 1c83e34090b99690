//! The storage of a checkout's session: in the user's state folder, so that a cloned repository
//! cannot contain a session. A ref of the checkout keeps the accepted trees. It shows that there was
//! a session if its record is missing, and which trees were accepted if its record is changed.

use std::fs::{self, File, TryLockError};
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result};
use redgreen_core::names::Oid;
use redgreen_core::session::ledger::{self, Entry};
use redgreen_core::session::{BYTES_MAX, Session};
use sha2::{Digest, Sha256};

use crate::config::Environment;
use crate::failure::Failure;
use crate::git::{Git, RefEdit, Snapshot, Swap};
use crate::journal::Effects;
use crate::ops::kill_at;
use crate::runner::Suite;
use crate::{foreign, private};

const FOLDER: &str = "sessions";
const RECORD: &str = "session.json";
const LOCK: &str = "lock";
const FILES_LOCK: &str = "files.lock";
/// How long to wait for other hooks. Hosts give a hook 30 seconds.
const READ_WAIT: Duration = Duration::from_secs(20);
/// Keeps the accepted trees. Git has one such ref for each checkout.
pub const REF: &str = "refs/worktree/redgreen/session";
const REVIEW: &str =
    "review git log -p refs/worktree/redgreen/session, then run: redgreen session end";

/// The storage of a checkout's session, whether or not there is one.
#[derive(Debug)]
pub struct Store {
    folder: PathBuf,
    /// Git's folder of this checkout.
    own_dir: PathBuf,
    effects: Effects,
}

/// The stored session.
#[derive(Clone, Debug)]
pub enum StoredSession {
    Nothing,
    Session(Box<Session>),
    /// There is a ref but no record: somebody removed it.
    RecordGone,
}

impl StoredSession {
    pub fn session(self) -> Result<Session> {
        match self {
            Self::Session(session) => Ok(*session),
            Self::Nothing => Err(Failure::usage("no session is open in this checkout")
                .next("redgreen session start \"<brief>\"")
                .into()),
            Self::RecordGone => Err(record_gone().into()),
        }
    }
}

/// Locks the session while it exists.
#[derive(Debug)]
pub struct SessionLock(#[expect(dead_code, reason = "the lock goes with the file")] File);

impl Store {
    pub fn of(git: &Git, environment: &Environment) -> Result<Self> {
        Self::at(&git.own_dir()?, environment)
    }

    /// For git's folder of the checkout.
    pub fn at(own_dir: &Path, environment: &Environment) -> Result<Self> {
        let Some(state) = environment.state.as_ref() else {
            return Err(Failure::environment("cannot store the session: no home folder")
                .next("export HOME")
                .into());
        };
        let mut hash = Sha256::new();
        hash.update(own_dir.as_os_str().as_encoded_bytes());
        let name: String = hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect();
        let effects = Effects::new(kill_at(environment)?);
        Ok(Self { folder: state.join(FOLDER).join(name), own_dir: own_dir.to_owned(), effects })
    }

    /// The session, if its record matches the commits that keep its accepted trees.
    pub fn read(&self, git: &Git) -> Result<StoredSession> {
        let found = self.record()?;
        if let StoredSession::Session(session) = &found {
            let kept = git.first_parents(REF, ledger::ENTRIES_MAX)?;
            let entry = |(tree, subject)| Entry { tree, subject };
            let kept: Vec<Entry> = kept.into_iter().map(entry).collect();
            if let Some(why) = ledger::mismatch(session, &kept) {
                return Err(self.forged(&why).into());
            }
        }
        Ok(found)
    }

    fn forged(&self, why: &str) -> Failure {
        let what = "the record of this checkout's session does not match its commits, so its state \
                    is unproven";
        Failure::environment(what)
            .evidence(self.folder.join(RECORD).display().to_string())
            .evidence(format!("{REF}: {why}"))
            .next(REVIEW)
    }

    /// The record as it is. Its folder is writable for every program of the user.
    pub fn record(&self) -> Result<StoredSession> {
        let path = self.folder.join(RECORD);
        match foreign::read(&path, BYTES_MAX).with_context(|| format!("read {}", path.display()))? {
            Some(bytes) => match Session::parse(&bytes) {
                Ok(session) => Ok(StoredSession::Session(Box::new(session))),
                Err(unreadable) => {
                    Err(Failure::environment("cannot read the record of the session")
                        .evidence(format!("{}: {unreadable}", path.display()))
                        .next("redgreen session end")
                        .into())
                }
            },
            None if self.own_dir.join(REF).is_file() => Ok(StoredSession::RecordGone),
            None => Ok(StoredSession::Nothing),
        }
    }

    /// The session, or an error if there is none.
    pub fn session(&self, git: &Git) -> Result<Session> {
        self.read(git)?.session()
    }

    /// Does not wait, because a check takes as long as the tests.
    pub fn hold(&self) -> Result<SessionLock> {
        let act = || format!("lock {}", self.folder.display());
        private::create_dir_all(&self.folder).with_context(act)?;
        let file = File::options()
            .create(true)
            .append(true)
            .open(self.folder.join(LOCK))
            .with_context(act)?;
        match file.try_lock() {
            Ok(()) => Ok(SessionLock(file)),
            Err(TryLockError::WouldBlock) => {
                Err(Failure::environment("another redgreen is checking this session")
                    .next("wait for it, then run: redgreen session status")
                    .into())
            }
            Err(TryLockError::Error(error)) => Err(error).with_context(act),
        }
    }

    /// Performs an effect, as a point where tests can kill redgreen.
    pub fn perform<T>(&self, act: impl FnOnce() -> Result<T>) -> Result<T> {
        self.effects.perform(act)
    }

    /// Writes the record atomically: a kill leaves the old or the new one.
    pub fn write(&self, _held: &SessionLock, session: &mut Session) -> Result<()> {
        session.revision += 1;
        let bytes = serde_json::to_vec_pretty(session).context("write the session as JSON")?;
        self.put(RECORD, &bytes)
    }

    /// Writes a file next to the record.
    pub fn put(&self, name: &str, bytes: &[u8]) -> Result<()> {
        let path = self.folder.join(name);
        let act = || format!("write {}", path.display());
        self.perform(|| {
            let mut file = tempfile::NamedTempFile::new_in(&self.folder).with_context(act)?;
            file.write_all(bytes).with_context(act)?;
            file.as_file().sync_data().with_context(act)?;
            file.persist(&path).with_context(act)?;
            Ok(())
        })
    }

    pub fn get(&self, name: &str) -> Option<Vec<u8>> {
        foreign::read(&self.folder.join(name), BYTES_MAX).ok()?
    }

    /// The files of the checkout as a tree. Cached, so that a later call reads only changed files.
    /// The cache has one user at a time, but agents call several tools and so several hooks at once.
    pub fn snapshot(&self, git: &Git, base: &Oid) -> Result<Snapshot> {
        let _lock = git.lock_in(&self.folder, FILES_LOCK, "reading this checkout", READ_WAIT)?;
        git.checkout_snapshot(&self.folder.join("files"), base, Suite::all_litter())
    }

    /// Without nested repositories: tests run without their files, so they cannot change a verdict.
    pub fn tree(&self, git: &Git, base: &Oid) -> Result<Oid> {
        Ok(self.snapshot(git, base)?.tree)
    }

    /// Keeps an accepted tree. Safe to repeat.
    pub fn keep(&self, git: &Git, tree: &Oid, subject: &str, at: i64) -> Result<()> {
        let old = git.resolve(REF)?;
        let head = if old.is_none() { git.resolve("HEAD^{commit}")? } else { None };
        let parents: Vec<&str> = old.iter().chain(&head).map(Oid::as_str).collect();
        let commit = git.keep_tree(tree, &parents, &format!("{subject}\n"), at / 1000)?;
        let edit = match &old {
            Some(old) => RefEdit::Update { name: REF, new: &commit, old },
            None => RefEdit::Create { name: REF, new: &commit },
        };
        match self.perform(|| git.edit_refs(&[edit]))? {
            Swap::Done => Ok(()),
            Swap::Moved => {
                Err(Failure::environment(format!("{REF} was changed by another process"))
                    .next("redgreen session check")
                    .into())
            }
        }
    }

    /// Removes everything of the session. Safe to repeat after a kill.
    pub fn remove(&self, git: &Git) -> Result<()> {
        if let Some(old) = git.resolve(REF)? {
            match self.perform(|| git.edit_refs(&[RefEdit::Delete { name: REF, old: &old }]))? {
                Swap::Done | Swap::Moved => {}
            }
        }
        self.perform(|| match fs::remove_dir_all(&self.folder) {
            Err(error) if error.kind() != ErrorKind::NotFound => {
                Err(error).with_context(|| format!("remove {}", self.folder.display()))
            }
            Ok(()) | Err(_) => Ok(()),
        })
    }
}

pub fn record_gone() -> Failure {
    Failure::environment(
        "the record of this checkout's session is missing, so its state is unproven",
    )
    .evidence(format!("{REF} still contains the last accepted tree"))
    .next(REVIEW)
}
