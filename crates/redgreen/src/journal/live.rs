//! What the agent says and does in the turn that is going on, in a file of the run's folder, for
//! other processes that watch the run. It is only for display: it is created when a turn begins and
//! removed when the turn ends, and an error while writing it stops nothing.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;
use std::time::UNIX_EPOCH;

use redgreen_core::agent::AgentActivity;
use redgreen_core::live::LiveV1;
use redgreen_core::phase::Role;

use super::RunFolder;
use crate::foreign;
use crate::private;

const FILE: &str = "live.jsonl";
/// What an agent says beyond this in one turn is only in its transcript.
const TURN_BYTES_MAX: u64 = 8 << 20;
/// How much is read at once. A reader that is further behind continues at the next look.
const READ_BYTES_MAX: u64 = 256 << 10;

/// A whole turn: each read returns more than half of what fits, because lines are kept whole.
const READS_MAX: u64 = 2 * TURN_BYTES_MAX / READ_BYTES_MAX + 1;

/// Writes the words of one turn.
#[derive(Debug)]
pub struct LiveWriter {
    path: PathBuf,
    file: Option<File>,
    written: u64,
}

impl LiveWriter {
    /// Begins a turn.
    pub fn begin(folder: &RunFolder) -> Self {
        let path = folder.path.join(FILE);
        // A new file for each turn tells readers that it is another one.
        fs::remove_file(&path).ok();
        let file = private::open(OpenOptions::new().append(true).create_new(true), &path).ok();
        Self { path, file, written: 0 }
    }

    pub fn said(&mut self, at: i64, role: Role, said: &AgentActivity) {
        let Some(file) = &mut self.file else { return };
        let Ok(mut line) = serde_json::to_vec(&LiveV1::new(at, role, said)) else { return };
        line.push(b'\n');
        self.written = self.written.saturating_add(line.len() as u64);
        if self.written > TURN_BYTES_MAX || file.write_all(&line).is_err() {
            self.file = None;
        }
    }
}

impl Drop for LiveWriter {
    fn drop(&mut self) {
        fs::remove_file(&self.path).ok();
    }
}

/// A place in the words of a turn.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LivePlace {
    /// The turn's file; 0 for none.
    pub turn: u64,
    pub read: u64,
}

/// What was said after a place.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Words {
    pub said: Vec<(i64, Role, AgentActivity)>,
    pub until: LivePlace,
}

/// Reads on in the current turn, or begins with another one.
pub fn words(folder: &RunFolder, from: LivePlace) -> Words {
    let nothing = Words { said: Vec::new(), until: LivePlace::default() };
    let Ok(file) = foreign::open_file(&folder.path.join(FILE)) else { return nothing };
    let Ok(turn) = turn_of(&file) else { return nothing };
    let from = if from.turn == turn { from.read } else { 0 };
    read_on(file, LivePlace { turn, read: from })
}

/// Tells the files of two turns apart. A file system may give both the same number.
fn turn_of(file: &File) -> io::Result<u64> {
    let facts = file.metadata()?;
    let created = facts.created().ok().and_then(|at| at.duration_since(UNIX_EPOCH).ok());
    let begun = created.map_or(0, |since| since.as_secs() << 30 | u64::from(since.subsec_nanos()));
    Ok((facts.ino() ^ begun).max(1))
}

fn read_on(mut file: File, from: LivePlace) -> Words {
    let mut bytes = Vec::new();
    let read = file
        .seek(SeekFrom::Start(from.read))
        .and_then(|_| file.take(READ_BYTES_MAX).read_to_end(&mut bytes));
    if read.is_err() {
        return Words { said: Vec::new(), until: from };
    }
    let mut words = Words { said: Vec::new(), until: from };
    // The last line may be on its way.
    let mut whole =
        bytes.split_inclusive(|byte| *byte == b'\n').filter(|line| line.ends_with(b"\n"));
    for line in &mut whole {
        words.until.read = words.until.read.saturating_add(line.len() as u64);
        if let Some(line) = LiveV1::parse(line) {
            words.said.push((line.at, line.role, line.said()));
        }
    }
    // A line that does not fit is skipped.
    if words.until == from && bytes.len() as u64 == READ_BYTES_MAX {
        words.until.read = from.read.saturating_add(READ_BYTES_MAX);
    }
    words
}

/// Reads all words of a run, also the last ones of a turn that ended meanwhile.
#[derive(Debug, Default)]
pub struct LiveReader {
    file: Option<File>,
    place: LivePlace,
}

impl LiveReader {
    /// What was said since the last look, oldest first.
    pub fn more(&mut self, folder: &RunFolder) -> Vec<(i64, Role, AgentActivity)> {
        let mut said = self.rest();
        let Ok(file) = foreign::open_file(&folder.path.join(FILE)) else { return said };
        let Ok(turn) = turn_of(&file) else { return said };
        if self.file.is_none() || self.place.turn != turn {
            (self.file, self.place) = (Some(file), LivePlace { turn, read: 0 });
            said.extend(self.rest());
        }
        said
    }

    fn rest(&mut self) -> Vec<(i64, Role, AgentActivity)> {
        let Some(file) = self.file.as_ref().and_then(|file| file.try_clone().ok()) else {
            return Vec::new();
        };
        let mut said = Vec::new();
        for _ in 0..READS_MAX {
            let Some(file) = file.try_clone().ok() else { break };
            let words = read_on(file, self.place);
            if words.until == self.place {
                break;
            }
            self.place = words.until;
            said.extend(words.said);
        }
        said
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::journal::Store;

    fn text(words: &str) -> AgentActivity {
        AgentActivity::Text(words.to_owned())
    }

    #[test]
    fn words_of_a_turn_are_read_as_they_come_and_those_of_the_next_after_them() {
        let place = tempfile::tempdir().unwrap();
        let folder = Store::new(place.path()).create(1_600_000_000_000).unwrap();
        let mut reader = LiveReader::default();
        assert_eq!(reader.more(&folder), []);
        let mut turn = LiveWriter::begin(&folder);
        turn.said(1, Role::Test, &text("a"));
        assert_eq!(reader.more(&folder), [(1, Role::Test, text("a"))]);
        let first = words(&folder, LivePlace::default());
        assert_eq!(first.said.len(), 1);
        turn.said(2, Role::Test, &text("b"));
        assert_eq!(words(&folder, first.until).said, [(2, Role::Test, text("b"))]);
        drop(turn);
        assert_eq!(words(&folder, first.until), Words::default());
        let mut next = LiveWriter::begin(&folder);
        next.said(3, Role::Implementing, &text("c"));
        assert_eq!(
            reader.more(&folder),
            [(2, Role::Test, text("b")), (3, Role::Implementing, text("c"))]
        );
        assert_eq!(reader.more(&folder), []);
    }

    #[test]
    fn a_turn_that_says_too_much_is_cut_and_garbage_is_skipped() {
        let place = tempfile::tempdir().unwrap();
        let folder = Store::new(place.path()).create(1_600_000_000_000).unwrap();
        let mut turn = LiveWriter::begin(&folder);
        let long = "x".repeat(100 << 10);
        for at in 0..200 {
            turn.said(at, Role::Test, &text(&long));
        }
        let path = folder.path.join(FILE);
        assert!(fs::metadata(&path).unwrap().len() <= TURN_BYTES_MAX);
        let all = LiveReader::default().more(&folder);
        assert_eq!(all.len() as u64, TURN_BYTES_MAX / ((100 << 10) + 60));
        fs::write(&path, format!("{}\n{{}}\nend", "y".repeat(300 << 10))).unwrap();
        assert_eq!(LiveReader::default().more(&folder), []);
    }
}
