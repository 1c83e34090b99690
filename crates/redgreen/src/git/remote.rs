//! Repositories elsewhere, for workers of a fleet: a cache of objects that all jobs of a machine
//! share, checkouts that borrow from it, and pushes that hold only if the refs are as the worker
//! knows them.

use std::fmt;
use std::fs::{self, File, OpenOptions};
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Error, Result, bail};
use redgreen_core::names::{Branch, Oid, Repository};

use super::Git;
use super::call::{Call, complaint, refused};
use super::notes::NOTES;
use crate::private;
use crate::process::Stop;

/// A first clone of a large repository takes a while.
const TRANSFER_MAX: Duration = Duration::from_secs(1800);
const WORDS_BYTES_MAX: usize = 1 << 20;
/// Addresses are already checked; this makes git check them too.
const PROTOCOLS: &str = "file:https:ssh";
/// How often the notes of all runs are merged and pushed again while others push theirs.
const NOTES_TRIES_MAX: u32 = 50;
/// The notes in the other repository.
const FETCHED_NOTES: &str = "refs/notes/redgreen-fetched/tdd-handoffs";

/// How git says that the repository answers, and does not have what was asked for.
const ANSWERED: &str = "couldn't find remote ref";

/// The repository did not answer this machine. Another one may reach it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Unreachable;

impl fmt::Display for Unreachable {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("this machine cannot reach the repository")
    }
}

/// A repository elsewhere, and the folder that keeps its objects here.
#[derive(Clone, Debug)]
pub struct Remote {
    pub url: Repository,
    pub cache: PathBuf,
    pub stop: Stop,
}

/// A ref that a push changes, and what it has to be there before.
#[derive(Clone, Debug)]
pub struct Change {
    pub name: String,
    /// `None` deletes it.
    pub new: Option<Oid>,
    pub expected: Expected,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Expected {
    /// It is at this commit, or absent.
    Is(Option<Oid>),
    /// It is an ancestor of what is pushed.
    Before,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PushOutcome {
    Done,
    /// A ref is not as expected, or the server refuses.
    Refused {
        words: String,
    },
}

impl Remote {
    /// Brings a branch and what is under these prefixes into the cache. One at a time for each
    /// repository.
    pub fn fetch(&self, base: &Branch, prefixes: &[String]) -> Result<()> {
        private::create_dir_all(&self.cache)
            .with_context(|| format!("create {}", self.cache.display()))?;
        let _lock = self.lock()?;
        if !self.cache.join("HEAD").is_file() {
            let act = format!("make the cache {}", self.cache.display());
            Call::plumbing(&self.cache, &[]).args(["init", "--quiet", "--bare", "."]).run(&act)?;
        }
        let base = format!("+{0}:{0}", base.full_ref());
        let others = prefixes.iter().map(|prefix| format!("+{prefix}*:{prefix}*"));
        let refs =
            std::iter::once(base).chain(others).chain(["+refs/notes/*:refs/notes/*".to_owned()]);
        let act = format!("fetch {}", self.url);
        let call = self.call(&self.cache).args([
            "fetch",
            "--quiet",
            "--no-tags",
            "--no-auto-gc",
            "--",
            &self.url,
        ]);
        call.args(refs).run(&act).map(drop).map_err(unreachable)
    }

    /// A checkout of a branch of the cache, which borrows its objects.
    pub fn checkout(&self, folder: &Path, base: &Branch, prefixes: &[String]) -> Result<Git> {
        let act = format!("make the checkout {}", folder.display());
        private::create_dir_all(folder).with_context(|| act.clone())?;
        let here = || Call::plumbing(folder, &[]);
        here().args(["init", "--quiet", "--initial-branch", base.as_str(), "."]).run(&act)?;
        let borrowed = format!("{}\n", self.cache.join("objects").display());
        fs::write(folder.join(".git/objects/info/alternates"), borrowed)
            .with_context(|| act.clone())?;
        here().args(["remote", "add", "--", "origin", &self.url]).run(&act)?;
        let tracked = format!("+{}:refs/remotes/origin/{base}", base.full_ref());
        let others = prefixes.iter().map(|prefix| format!("+{prefix}*:{prefix}*"));
        let refs =
            std::iter::once(tracked).chain(others).chain(["+refs/notes/*:refs/notes/*".to_owned()]);
        let call = self.call(folder).args(["fetch", "--quiet", "--no-tags", "--no-auto-gc", "--"]);
        call.arg(self.cache.as_os_str()).args(refs).run(&act)?;
        let call = here().args(["reset", "--quiet", "--hard"]).wall(TRANSFER_MAX);
        call.arg(format!("refs/remotes/origin/{base}")).run(&act)?;
        Git::open_until(folder, &self.stop)
    }

    /// What a ref is at now, there.
    pub fn read(&self, name: &str) -> Result<Option<Oid>> {
        let call = self.call(&self.cache).args(["ls-remote", "--quiet", "--", &self.url, name]);
        let answer = call.run(&format!("read {name} of {}", self.url)).map_err(unreachable)?;
        let text = String::from_utf8_lossy(&answer);
        let found =
            text.lines().filter_map(|line| line.split_once('\t')).find(|(_, found)| *found == name);
        Ok(found.and_then(|(id, _)| Oid::parse(id).ok()))
    }

    /// Changes refs there, all of them or none.
    pub fn push(&self, git: &Git, changes: &[Change]) -> Result<PushOutcome> {
        let mut call = self.call(&git.root).args(["push", "--quiet", "--atomic", "--no-verify"]);
        for change in changes {
            if let Expected::Is(old) = &change.expected {
                let old = old.as_ref().map_or("", Oid::as_str);
                call = call.arg(format!("--force-with-lease={}:{old}", change.name));
            }
        }
        let refs = changes.iter().map(|change| {
            let new = change.new.as_ref().map_or("", Oid::as_str);
            format!("{new}:{}", change.name)
        });
        let act = format!("push to {}", self.url);
        let output = call.args(["--", &self.url]).args(refs).ask(&act)?;
        if output.success() {
            return Ok(PushOutcome::Done);
        }
        let words = output.stderr_text();
        let is_no = ["[rejected]", "[remote rejected]", "stale info", "atomic"]
            .iter()
            .any(|no| words.contains(no));
        if is_no {
            Ok(PushOutcome::Refused { words: complaint(&words) })
        } else {
            Err(unreachable(refused(&act, &output)))
        }
    }

    /// Merges the notes of this checkout with those there, and pushes them. Notes of different runs
    /// are on different commits, so nothing is ever in the way but other pushes.
    pub fn push_notes(&self, git: &Git) -> Result<()> {
        let act = format!("push notes to {}", self.url);
        if git.read_ref(NOTES)?.is_none() {
            return Ok(());
        }
        for attempt in 0..NOTES_TRIES_MAX {
            let before = self.read(NOTES)?;
            if before.is_some() {
                let refs = format!("+{NOTES}:{FETCHED_NOTES}");
                let call = self.call(&git.root).args([
                    "fetch",
                    "--quiet",
                    "--no-tags",
                    "--no-auto-gc",
                    "--",
                    &self.url,
                ]);
                call.arg(refs).run(&act).map_err(unreachable)?;
                git.merge_notes(FETCHED_NOTES)?;
            }
            let new = git.read_ref(NOTES)?;
            if new == before {
                return Ok(());
            }
            let change = Change { name: NOTES.to_owned(), new, expected: Expected::Is(before) };
            match self.push(git, &[change])? {
                PushOutcome::Done => return Ok(()),
                PushOutcome::Refused { .. } => {
                    self.stop.sleep(Duration::from_millis(20 * u64::from(attempt % 10 + 1)))?;
                }
            }
        }
        bail!("{act}: other processes keep pushing to it")
    }

    fn call(&self, folder: &Path) -> Call {
        Call::plumbing(folder, &[])
            .env("GIT_ALLOW_PROTOCOL", PROTOCOLS)
            .wall(TRANSFER_MAX)
            .bytes_max(WORDS_BYTES_MAX)
            .interruptible(&self.stop)
    }

    fn lock(&self) -> Result<File> {
        let path = self.cache.join("redgreen.lock");
        let act = || format!("lock {}", path.display());
        let file =
            private::open(OpenOptions::new().create(true).write(true).truncate(false), &path)
                .with_context(act)?;
        // Whoever holds it fetches, which has a time limit; a process that dies lets go of it.
        file.lock().with_context(act)?;
        Ok(file)
    }
}

fn unreachable(error: Error) -> Error {
    let has_answered = format!("{error:#}").contains(ANSWERED);
    if has_answered { error } else { error.context(Unreachable) }
}

impl Git {
    /// The address of a remote, if there is one of that name.
    pub fn remote_url(&self, remote: &str) -> Result<Option<String>> {
        let asked = self
            .call(["remote", "get-url", "--", remote])
            .ask(&format!("find the address of {remote}"))?;
        Ok(asked.success().then(|| asked.stdout_text().trim().to_owned()))
    }

    /// Takes the notes of another ref in; where both have one on a commit, the other's counts.
    pub fn merge_notes(&self, other: &str) -> Result<()> {
        let act = "merge notes";
        if self.read_ref(NOTES)?.is_none() {
            return self.call(["update-ref", "--no-deref", NOTES, other]).run(act).map(drop);
        }
        let call =
            self.call(["notes", "--ref", NOTES, "merge", "--quiet", "--strategy", "theirs", other]);
        call.run(act).map(drop)
    }

    /// The notes of this repository.
    pub fn notes_tip(&self) -> Result<Option<Oid>> {
        self.read_ref(NOTES)
    }

    /// The tree without files.
    pub fn empty_tree(&self) -> Result<Oid> {
        let line =
            self.call(["hash-object", "-t", "tree", "-w", "--stdin"]).line("make an empty tree")?;
        Oid::parse(&line).context("make an empty tree")
    }

    /// The parents of a commit, and its message.
    pub fn parents_and_message(&self, commit: &Oid) -> Result<(Vec<Oid>, String)> {
        let act = format!("read commit {commit}");
        let text = self
            .call([
                "log",
                "-1",
                "--no-color",
                "--format=%P%n%B",
                "--no-show-signature",
                commit.as_str(),
            ])
            .run(&act)?;
        let text = String::from_utf8_lossy(&text).into_owned();
        let (parents, message) = text.split_once('\n').unwrap_or((&text, ""));
        Ok((parents.split(' ').filter_map(|id| Oid::parse(id).ok()).collect(), message.to_owned()))
    }
}
