//! The patch format of Codex and OpenCode: `*** Begin Patch`, files, and hunks of lines to find and
//! to insert.

use super::{Edit, EditKind};

pub(super) const BEGIN: &str = "*** Begin Patch";
const ADD: &str = "*** Add File: ";
const DELETE: &str = "*** Delete File: ";
const UPDATE: &str = "*** Update File: ";
const MOVE: &str = "*** Move to: ";
const MARK: &str = "*** ";

/// Lines to find, and their replacement.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Hunk {
    pub old: Vec<String>,
    pub new: Vec<String>,
}

/// The edits of a patch. An invalid part becomes an edit with an unknown result.
pub(super) fn read(text: &str) -> Vec<Edit> {
    let mut edits = Vec::new();
    let mut lines = text.lines().peekable();
    while let Some(line) = lines.next() {
        let mut body = || {
            let mut body = Vec::new();
            while let Some(line) = lines.next_if(|line| !line.starts_with(MARK)) {
                body.push(line);
            }
            body
        };
        if let Some(path) = line.strip_prefix(ADD) {
            let added = body();
            let text: String = added
                .iter()
                .map(|line| format!("{}\n", line.strip_prefix('+').unwrap_or(line)))
                .collect();
            edits.push(Edit { path: path.trim().to_owned(), how: EditKind::Write(text) });
        } else if let Some(path) = line.strip_prefix(DELETE) {
            edits.push(Edit { path: path.trim().to_owned(), how: EditKind::Delete });
        } else if let Some(path) = line.strip_prefix(UPDATE) {
            let path = path.trim().to_owned();
            let moved = lines
                .next_if(|line| line.starts_with(MOVE))
                .and_then(|line| line.strip_prefix(MOVE));
            let mut body = Vec::new();
            while let Some(line) =
                lines.next_if(|line| !line.starts_with(MARK) || line.starts_with("*** End of File"))
            {
                body.push(line);
            }
            match moved {
                Some(to) => {
                    edits.push(Edit { path, how: EditKind::Delete });
                    edits.push(Edit { path: to.trim().to_owned(), how: EditKind::Unknown });
                }
                None => edits.push(Edit { path, how: EditKind::Patch(hunks(&body)) }),
            }
        }
    }
    edits
}

fn hunks(body: &[&str]) -> Vec<Hunk> {
    let mut all: Vec<Hunk> = Vec::new();
    for line in body {
        if line.starts_with("@@") || all.is_empty() {
            all.push(Hunk::default());
        }
        let (Some(hunk), false) =
            (all.last_mut(), line.starts_with("@@") || line.starts_with(MARK))
        else {
            continue;
        };
        match line.split_at_checked(1) {
            Some(("+", rest)) => hunk.new.push(rest.to_owned()),
            Some(("-", rest)) => hunk.old.push(rest.to_owned()),
            Some((" ", rest)) => {
                hunk.old.push(rest.to_owned());
                hunk.new.push(rest.to_owned());
            }
            Some(_) | None => {
                hunk.old.push((*line).to_owned());
                hunk.new.push((*line).to_owned());
            }
        }
    }
    all.retain(|hunk| *hunk != Hunk::default());
    all
}

/// Applies the hunks in order; `None` if one is not found.
pub(super) fn apply(text: &str, hunks: &[Hunk]) -> Option<String> {
    let lines: Vec<&str> = text.lines().collect();
    let mut out: Vec<String> = Vec::new();
    let mut at = 0;
    for hunk in hunks {
        let start = find(lines.get(at..)?, &hunk.old)? + at;
        out.extend(lines.get(at..start)?.iter().map(|line| (*line).to_owned()));
        out.extend(hunk.new.iter().cloned());
        at = start + hunk.old.len();
    }
    out.extend(lines.get(at..)?.iter().map(|line| (*line).to_owned()));
    Some(out.into_iter().map(|line| line + "\n").collect())
}

/// The position of the lines; trailing blanks do not count.
fn find(lines: &[&str], wanted: &[String]) -> Option<usize> {
    if wanted.is_empty() {
        return Some(lines.len());
    }
    let same = |window: &[&str]| {
        window.iter().zip(wanted).all(|(one, other)| one.trim_end() == other.trim_end())
    };
    lines.windows(wanted.len()).position(same)
}
