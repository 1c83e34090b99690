//! Notes on commits under `refs/notes/tdd-handoffs`.
//!
//! `git notes` moves its ref without looking whether someone else did meanwhile, so that of two notes written at once
//! one is silently lost. Here a change is made on a ref of its own and put in place only if nothing moved; a lock keeps
//! our own processes from racing in the first place. Three processes for a write, whatever the number of notes.

use std::fs::{self, File};
use std::time::Duration;

use anyhow::{Context, Error, Result, bail};
use redgreen_core::names::Oid;

use super::call::{Call, refused};
use super::refs::RUN_BRANCHES;
use super::{Git, RefEdit, Swap};
use crate::failure::Failure;

pub(super) const NOTES: &str = "refs/notes/tdd-handoffs";
/// Where a change is prepared; the lock makes one name enough, and a crash leaves at most this one behind.
const DRAFT: &str = "refs/notes/redgreen-tmp/draft";
/// A ref that is gone in a moment needs no log.
const UNLOGGED: &str = "core.logAllRefUpdates=false";
/// A run may write its first note between our two questions; damage is still there when one looks again.
const LOOKS_MAX: usize = 3;
const LOCK_WAIT_MAX: Duration = Duration::from_secs(30);
/// Other programs do not know our lock; this often we start over when one moved the ref.
const ATTEMPTS_MAX: usize = 10;
/// `recent` looks at few commits first, and at no more than the last number of them.
const COMMITS_SCANNED_FIRST: usize = 60;
const COMMITS_SCANNED_MORE: usize = 1_000;
const COMMITS_SCANNED_MAX: usize = 20_000;
/// The largest number that git takes.
const GIT_COUNT_MAX: usize = i32::MAX as usize;

/// All notes of the repository.
#[derive(Clone, Copy, Debug)]
pub struct Notes<'a>(&'a Git);

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Note {
    pub commit: Oid,
    pub text: String,
}

/// A note with what a list shows of its commit.
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
    /// The ref is there, and what it points to is missing or no commit with a tree.
    Dangling,
}

impl Git {
    pub fn notes(&self) -> Notes<'_> {
        Notes(self)
    }
}

impl Notes<'_> {
    /// Writes the note of a commit, in place of the one it may have. The text ends in a line break; one is added.
    pub fn write(&self, commit: &str, text: &str) -> Result<()> {
        let act = format!("write the note of {commit}");
        let line_end = if text.ends_with('\n') { "" } else { "\n" };
        let text = format!("{text}{line_end}");
        let add = || self.on_draft().args(["add", "--force"]);
        if is_tidy(&text) {
            return self.change(&act, || add().args(["-F", "-", commit]).stdin(text.clone()));
        }
        // By way of a blob, since git would tidy up blanks in a text.
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

    /// The notes of those commits that have one, in the order given. One process.
    pub fn read_many(&self, commits: &[&str]) -> Result<Vec<Note>> {
        if commits.is_empty() {
            return Ok(Vec::new());
        }
        let names: String = commits.iter().map(|commit| format!("{commit}\n")).collect();
        let answer = self.log().args(["--no-walk=unsorted", "--stdin"]).stdin(names).run("read notes")?;
        Ok(logged(&answer).into_iter().map(|note| Note { commit: note.commit, text: note.text }).collect())
    }

    /// The notes of those commits that have one; and, where one has none, whether the notes as a whole are to blame. One
    /// process when all is well.
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

    /// The newest commits with a note that can be reached from the given names or from the branches of runs. The cost
    /// depends on the commits looked at, not on the number of notes.
    pub fn recent(&self, limit: usize, starts: &[&str]) -> Result<Vec<RecentNote>> {
        let mut found = Vec::new();
        for scanned in [COMMITS_SCANNED_FIRST, COMMITS_SCANNED_MORE, COMMITS_SCANNED_MAX] {
            let scanned = scanned.max(limit.saturating_mul(2)).min(GIT_COUNT_MAX);
            // Newest first as git does it by itself: any stricter order has to read the whole history.
            let call = self.log().args(["--max-count", &scanned.to_string()]);
            let call = call.args(RUN_BRANCHES.iter().map(|pattern| format!("--glob={pattern}")));
            let answer = call.arg("--end-of-options").args(starts.iter().copied()).run("read recent notes")?;
            found = logged(&answer);
            if found.len() >= limit || entries(&answer).count() < scanned {
                break;
            }
        }
        found.truncate(limit);
        Ok(found)
    }

    /// Every note there is, in no order. Two processes.
    pub fn all(&self) -> Result<Vec<Note>> {
        let answer = self.0.call(["notes", "--ref", NOTES, "list"]).run("list notes")?;
        let list = String::from_utf8_lossy(&answer).into_owned();
        let pairs: Vec<(&str, &str)> = list.lines().filter_map(|line| line.split_once(' ')).collect();
        let blobs: Vec<String> = pairs.iter().map(|(blob, _)| (*blob).to_owned()).collect();
        let texts = self.0.read_objects(&blobs)?;
        let note = |((_, commit), text): (&(&str, &str), Option<Vec<u8>>)| {
            Some(Note { commit: Oid::parse(commit).ok()?, text: String::from_utf8_lossy(&text?).into_owned() })
        };
        Ok(pairs.iter().zip(texts).filter_map(note).collect())
    }

    /// One process when all is well.
    pub fn health(&self) -> Result<Health> {
        let tree = format!("{NOTES}^{{tree}}\n");
        for _ in 0..LOOKS_MAX {
            let call = self.0.call(["cat-file", "--batch-check=%(objecttype)"]).stdin(tree.clone());
            if call.line("check the notes")? == "tree" {
                return Ok(Health::Fine);
            }
            let listed = self.0.call(["for-each-ref", "--format=%(objectname)", NOTES]).ask("check the notes")?;
            // A ref that cannot be read at all is left out, with a warning.
            let there = !listed.stdout.is_empty() || listed.stderr_text().contains("broken ref") || !listed.success();
            if !there {
                return Ok(Health::Absent);
            }
        }
        Ok(Health::Dangling)
    }

    /// Deletes all notes; also when the ref points to nothing.
    pub fn delete_ref(&self) -> Result<()> {
        let _lock = self.lock()?;
        let act = format!("delete {NOTES}");
        self.set_aside(&act)?;
        let asked = self.0.call(["update-ref", "--no-deref", "-d", NOTES]).ask(&act)?;
        if asked.success() {
            return Ok(());
        }
        let loose = self.0.common_dir.join(NOTES);
        // Git deletes only what it can read; a file that holds no object's name is not a ref to it.
        if asked.stderr_text().contains("reference broken") && loose.is_file() {
            return fs::remove_file(&loose).with_context(|| format!("remove {}", loose.display()));
        }
        Err(refused(&act, &asked))
    }

    /// Keeps what the notes point to, as far as it is there, under a ref that nobody moves.
    fn set_aside(&self, act: &str) -> Result<()> {
        let Some(value) = self.0.read_ref(NOTES)? else { return Ok(()) };
        let there = self.0.call(["cat-file", "-e", value.as_str()]).ask(act)?.success();
        if there {
            // One that is there already has the same value: it is in its name.
            let name = format!("refs/redgreen/notes-set-aside/{value}");
            match self.0.edit_refs(&[RefEdit::Create { name: &name, new: &value }])? {
                Swap::Done | Swap::Moved => {}
            }
        }
        Ok(())
    }

    /// Makes a change on a draft of the notes and puts it in place if nobody was faster, else starts over.
    fn change(&self, act: &str, edit: impl Fn() -> Call) -> Result<()> {
        let _lock = self.lock()?;
        for _ in 0..ATTEMPTS_MAX {
            let first = !self.start_draft(act)?;
            if let Err(error) = edit().run(act) {
                // Nothing half done stays; the first error is the one to tell.
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

    /// Makes the draft equal to the notes; false when there are none yet.
    fn start_draft(&self, act: &str) -> Result<bool> {
        let asked = self.0.call(["-c", UNLOGGED, "update-ref", "--no-deref", DRAFT, NOTES]).ask(act)?;
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

    /// What to tell the user where the notes cannot be read at all.
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

/// The commits in a log, each as four fields.
fn entries(answer: &[u8]) -> impl Iterator<Item = [String; 4]> {
    let mut fields = answer.split(|byte| *byte == 0).map(|field| String::from_utf8_lossy(field).into_owned());
    std::iter::from_fn(move || Some([fields.next()?, fields.next()?, fields.next()?, fields.next()?]))
}

/// Git would leave every byte of this text as it is: no line ends in a blank, and no empty one is doubled or outermost.
fn is_tidy(text: &str) -> bool {
    let blank_end = |line: &str| line.ends_with([' ', '\t', '\r', '\u{b}', '\u{c}']);
    let ends = text.starts_with('\n') || !text.ends_with('\n') || text.ends_with("\n\n");
    !ends && !text.contains("\n\n\n") && !text.contains('\0') && !text.split('\n').any(blank_end)
}

fn logged(answer: &[u8]) -> Vec<RecentNote> {
    let noted = entries(answer).filter(|[_, _, _, text]| !text.is_empty());
    let note = |[commit, date, subject, text]: [String; 4]| {
        Some(RecentNote { commit: Oid::parse(&commit).ok()?, date: date.parse().ok()?, subject, text })
    };
    noted.filter_map(note).collect()
}
