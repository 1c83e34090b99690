//! Notes on commits under `refs/notes/tdd-handoffs`.
//!
//! `git notes` updates its ref without checking for concurrent changes, so one of two notes written
//! at the same time can be lost. We edit a draft ref instead and publish it only if the notes did
//! not change. A lock keeps our own processes from racing. A write runs three processes,
//! independent of the number of notes.

use std::fs::{self, File};
use std::time::Duration;

use anyhow::{Context, Error, Result, bail};
use redgreen_core::names::Oid;

use super::call::{Call, refused};
use super::refs::RUN_BRANCHES;
use super::{Git, RefEdit, Swap};
use crate::failure::Failure;

pub(super) const NOTES: &str = "refs/notes/tdd-handoffs";
/// The draft ref. The lock makes a single name sufficient, and a crash leaves only this one behind.
const DRAFT: &str = "refs/notes/redgreen-tmp/draft";
/// A temporary ref needs no reflog.
const UNLOGGED: &str = "core.logAllRefUpdates=false";
/// A run may write the first note between our two checks. Real damage is still there on the next
/// attempt.
const LOOKS_MAX: usize = 3;
const LOCK_WAIT_MAX: Duration = Duration::from_secs(30);
/// Other programs do not know our lock. The number of retries after one of them changed the ref.
const ATTEMPTS_MAX: usize = 10;
/// `recent` scans few commits first, then more, up to a maximum.
const COMMITS_SCANNED_FIRST: usize = 60;
const COMMITS_SCANNED_MORE: usize = 1_000;
const COMMITS_SCANNED_MAX: usize = 20_000;
/// The largest count that git accepts.
const GIT_COUNT_MAX: usize = i32::MAX as usize;

#[derive(Clone, Copy, Debug)]
pub struct Notes<'a>(&'a Git);

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Note {
    pub commit: Oid,
    pub text: String,
}

/// A note with the data of its commit for a list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecentNote {
    pub commit: Oid,
    pub subject: String,
    /// Seconds since 1970.
    pub date: i64,
    pub text: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Health {
    Fine,
    Absent,
    /// The ref exists, but it points to a missing object or not to a commit.
    Dangling,
}

impl Git {
    pub fn notes(&self) -> Notes<'_> {
        Notes(self)
    }
}

impl Notes<'_> {
    /// Writes or replaces the note of a commit. Adds a final line break if there is none.
    pub fn write(&self, commit: &str, text: &str) -> Result<()> {
        let act = format!("write the note of {commit}");
        let line_end = if text.ends_with('\n') { "" } else { "\n" };
        let text = format!("{text}{line_end}");
        let add = || self.on_draft().args(["add", "--force"]);
        if is_tidy(&text) {
            return self.change(&act, || add().args(["-F", "-", commit]).stdin(text.clone()));
        }
        // Use a blob, because git cleans up whitespace in a text.
        let blob = self.0.call(["hash-object", "-w", "--stdin"]).stdin(text).line(&act)?;
        self.change(&act, || add().args(["-C", &blob, commit]))
    }

    pub fn remove(&self, commit: &str) -> Result<()> {
        if self.read(commit)?.is_none() {
            return Ok(());
        }
        let act = format!("remove the note of {commit}");
        self.change(&act, || self.on_draft().args(["remove", "--ignore-missing", commit]))
    }

    pub fn read(&self, commit: &str) -> Result<Option<String>> {
        Ok(self.read_many(&[commit])?.pop().map(|note| note.text))
    }

    /// The notes of the commits that have one, in the given order. Runs one process.
    pub fn read_many(&self, commits: &[&str]) -> Result<Vec<Note>> {
        if commits.is_empty() {
            return Ok(Vec::new());
        }
        let names: String = commits.iter().map(|commit| format!("{commit}\n")).collect();
        let answer =
            self.log().args(["--no-walk=unsorted", "--stdin"]).stdin(names).run("read notes")?;
        Ok(logged(&answer)
            .into_iter()
            .map(|note| Note { commit: note.commit, text: note.text })
            .collect())
    }

    /// The notes of the commits that have one. If some have none, also checks whether the notes ref
    /// is damaged. Runs one process if all is well.
    pub fn read_and_check(&self, commits: &[&str]) -> Result<(Vec<Note>, Health)> {
        let read = self.read_many(commits);
        if !commits.is_empty() && read.as_ref().is_ok_and(|found| found.len() == commits.len()) {
            return Ok((read?, Health::Fine));
        }
        match self.health()? {
            Health::Dangling => Ok((Vec::new(), Health::Dangling)),
            health => Ok((read?, health)),
        }
    }

    /// The newest commits with a note that are reachable from `starts` or from the branches of
    /// runs. The cost depends on the number of scanned commits, not of notes.
    pub fn recent(&self, limit: usize, starts: &[&str]) -> Result<Vec<RecentNote>> {
        let mut found = Vec::new();
        for scanned in [COMMITS_SCANNED_FIRST, COMMITS_SCANNED_MORE, COMMITS_SCANNED_MAX] {
            let scanned = scanned.max(limit.saturating_mul(2)).min(GIT_COUNT_MAX);
            // Git's default order. A stricter order would read the whole history.
            let call = self.log().args(["--max-count", &scanned.to_string()]);
            let call = call.args(RUN_BRANCHES.iter().map(|pattern| format!("--glob={pattern}")));
            let answer = call
                .arg("--end-of-options")
                .args(starts.iter().copied())
                .run("read recent notes")?;
            found = logged(&answer);
            if found.len() >= limit || entries(&answer).count() < scanned {
                break;
            }
        }
        found.truncate(limit);
        Ok(found)
    }

    /// All notes, unordered. Runs two processes.
    pub fn all(&self) -> Result<Vec<Note>> {
        let answer = self.0.call(["notes", "--ref", NOTES, "list"]).run("list notes")?;
        let list = String::from_utf8_lossy(&answer).into_owned();
        let pairs: Vec<(&str, &str)> =
            list.lines().filter_map(|line| line.split_once(' ')).collect();
        let blobs: Vec<String> = pairs.iter().map(|(blob, _)| (*blob).to_owned()).collect();
        let texts = self.0.read_objects(&blobs)?;
        let note = |((_, commit), text): (&(&str, &str), Option<Vec<u8>>)| {
            Some(Note {
                commit: Oid::parse(commit).ok()?,
                text: String::from_utf8_lossy(&text?).into_owned(),
            })
        };
        Ok(pairs.iter().zip(texts).filter_map(note).collect())
    }

    /// Runs one process if all is well.
    pub fn health(&self) -> Result<Health> {
        let tree = format!("{NOTES}^{{tree}}\n");
        for _ in 0..LOOKS_MAX {
            let call = self.0.call(["cat-file", "--batch-check=%(objecttype)"]).stdin(tree.clone());
            if call.line("check the notes")? == "tree" {
                return Ok(Health::Fine);
            }
            let listed = self
                .0
                .call(["for-each-ref", "--format=%(objectname)", NOTES])
                .ask("check the notes")?;
            // Git omits an unreadable ref and prints a warning.
            let there = !listed.stdout.is_empty()
                || listed.stderr_text().contains("broken ref")
                || !listed.success();
            if !there {
                return Ok(Health::Absent);
            }
        }
        Ok(Health::Dangling)
    }

    /// Deletes all notes, even if the ref is dangling.
    pub fn delete_ref(&self) -> Result<()> {
        let _lock = self.lock()?;
        let act = format!("delete {NOTES}");
        self.set_aside(&act)?;
        let asked = self.0.call(["update-ref", "--no-deref", "-d", NOTES]).ask(&act)?;
        if asked.success() {
            return Ok(());
        }
        let loose = self.0.common_dir.join(NOTES);
        // Git cannot delete a ref file without an object id in it.
        if asked.stderr_text().contains("reference broken") && loose.is_file() {
            return fs::remove_file(&loose).with_context(|| format!("remove {}", loose.display()));
        }
        Err(refused(&act, &asked))
    }

    /// Keeps the existing notes under a backup ref.
    fn set_aside(&self, act: &str) -> Result<()> {
        let Some(value) = self.0.read_ref(NOTES)? else { return Ok(()) };
        let there = self.0.call(["cat-file", "-e", value.as_str()]).ask(act)?.success();
        if there {
            // An existing backup has the same value: the object id is part of its name.
            let name = format!("refs/redgreen/notes-set-aside/{value}");
            match self.0.edit_refs(&[RefEdit::Create { name: &name, new: &value }])? {
                Swap::Done | Swap::Moved => {}
            }
        }
        Ok(())
    }

    /// Edits a draft of the notes and publishes it. Starts over if another process changed the
    /// notes.
    fn change(&self, act: &str, edit: impl Fn() -> Call) -> Result<()> {
        let _lock = self.lock()?;
        for _ in 0..ATTEMPTS_MAX {
            let first = !self.start_draft(act)?;
            if let Err(error) = edit().run(act) {
                // Clean up; the first error is the one to report.
                self.drop_draft(act).ok();
                return Err(self.damage(act)?.unwrap_or(error));
            }
            let before = format!("{DRAFT}^");
            let publish = if first {
                RefEdit::Create { name: NOTES, new: DRAFT }
            } else {
                RefEdit::Update { name: NOTES, new: DRAFT, old: &before }
            };
            match self.0.edit_refs(&[publish, RefEdit::Delete { name: DRAFT, old: DRAFT }])? {
                Swap::Done => return Ok(()),
                Swap::Moved => {}
            }
        }
        bail!("{act}: something else keeps changing {NOTES}")
    }

    /// Makes the draft equal to the notes. Returns false if there are no notes yet.
    fn start_draft(&self, act: &str) -> Result<bool> {
        let asked =
            self.0.call(["-c", UNLOGGED, "update-ref", "--no-deref", DRAFT, NOTES]).ask(act)?;
        if asked.success() {
            return Ok(true);
        }
        if let Some(failure) = self.damage(act)? {
            return Err(failure);
        }
        if self.0.read_ref(NOTES)?.is_some() {
            return Err(refused(act, &asked));
        }
        self.drop_draft(act)?;
        Ok(false)
    }

    fn on_draft(&self) -> Call {
        self.0.call(["-c", UNLOGGED, "notes", "--ref", DRAFT])
    }

    fn drop_draft(&self, act: &str) -> Result<()> {
        self.0.call(["update-ref", "--no-deref", "-d", DRAFT]).run(act).map(drop)
    }

    /// The error for the user if the notes are unreadable.
    fn damage(&self, act: &str) -> Result<Option<Error>> {
        let failure = || {
            Failure::environment(format!("{act}: {NOTES} points to nothing that git can read"))
                .evidence("a backup, or another clone, may still have the notes")
                .next(format!("git fetch origin +{NOTES}:{NOTES}"))
        };
        Ok((self.health()? == Health::Dangling).then(|| failure().into()))
    }

    fn log(&self) -> Call {
        let notes = format!("--notes={NOTES}");
        let format = "--format=%H%x00%ct%x00%s%x00%N";
        self.0.call([
            "-c",
            "i18n.logOutputEncoding=UTF-8",
            "log",
            "-z",
            "--ignore-missing",
            "--no-color",
            "--no-patch",
            "--no-show-signature",
            format,
            &notes,
        ])
    }

    fn lock(&self) -> Result<File> {
        self.0.lock("notes.lock", "writing notes", LOCK_WAIT_MAX)
    }
}

/// The commits in a log, each with four fields.
fn entries(answer: &[u8]) -> impl Iterator<Item = [String; 4]> {
    let mut fields =
        answer.split(|byte| *byte == 0).map(|field| String::from_utf8_lossy(field).into_owned());
    std::iter::from_fn(move || {
        Some([fields.next()?, fields.next()?, fields.next()?, fields.next()?])
    })
}

/// Whether git would keep this text unchanged: no trailing whitespace, and no empty lines that are
/// repeated, first or last.
fn is_tidy(text: &str) -> bool {
    let blank_end = |line: &str| line.ends_with([' ', '\t', '\r', '\u{b}', '\u{c}']);
    let ends = text.starts_with('\n') || !text.ends_with('\n') || text.ends_with("\n\n");
    !ends && !text.contains("\n\n\n") && !text.contains('\0') && !text.split('\n').any(blank_end)
}

fn logged(answer: &[u8]) -> Vec<RecentNote> {
    let noted = entries(answer).filter(|[_, _, _, text]| !text.is_empty());
    let note = |[commit, date, subject, text]: [String; 4]| {
        Some(RecentNote {
            commit: Oid::parse(&commit).ok()?,
            date: date.parse().ok()?,
            subject,
            text,
        })
    };
    noted.filter_map(note).collect()
}
