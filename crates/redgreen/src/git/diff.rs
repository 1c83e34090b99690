//! Compares two trees: changed files, line counts and patches.

use std::cmp::Ordering;
use std::os::unix::ffi::OsStrExt;

use anyhow::{Context, Result};
use redgreen_core::names::Oid;

use super::call::refused;
use super::{Git, TreeFile};

/// A path that differs between two trees. A rename is a deletion and an addition.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PathChange {
    /// Bytes that are not UTF-8 are replaced by U+FFFD.
    pub path: String,
    pub status: Status,
    /// As git prints them: 100644, 100755, 120000 (symbolic link), 160000 (submodule), 0 (absent).
    pub old_mode: u32,
    pub new_mode: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    Added,
    Modified,
    Deleted,
    /// A file became a symbolic link or a submodule, or the other way round.
    TypeChanged,
}

/// The number of added and removed lines; `None` for binary files.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stat {
    pub path: String,
    pub added: Option<u64>,
    pub removed: Option<u64>,
}

/// A patch. If `cut`, its middle is missing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DiffText {
    pub text: String,
    pub cut: bool,
}

impl PathChange {
    /// Whether the path is or was a submodule.
    pub fn is_submodule(&self) -> bool {
        // The mode as git prints it, read as decimal.
        const GITLINK: u32 = 160_000;
        self.old_mode == GITLINK || self.new_mode == GITLINK
    }
}

impl Git {
    pub fn diff(&self, old: &str, new: &str) -> Result<Vec<PathChange>> {
        if old == new {
            return Ok(Vec::new());
        }
        // If one tree is already listed, compare in memory: the other one will be listed anyway.
        if Oid::parse(new).is_ok()
            && let Some(before) = self.listed_files(old)
        {
            return Ok(compared(&before, &self.tree_files(new)?));
        }
        let act = format!("compare {old} with {new}");
        let answer =
            self.call(["diff-tree", "-r", "-z", "--raw", "--no-renames", old, new]).run(&act)?;
        let mut fields = answer.split(|byte| *byte == 0).filter(|field| !field.is_empty());
        let mut all = Vec::new();
        while let Some(about) = fields.next() {
            let about = String::from_utf8_lossy(about);
            let path = String::from_utf8_lossy(fields.next().unwrap_or_default());
            all.push(
                changed(&about, path.into_owned())
                    .with_context(|| format!("{act}: unexpected output of git: {about}"))?,
            );
        }
        Ok(all)
    }

    pub fn diff_stat(&self, old: &str, new: &str) -> Result<Vec<Stat>> {
        let act = format!("count changes from {old} to {new}");
        let answer = self
            .call(["diff-tree", "-r", "-z", "--numstat", "--no-renames", old, new])
            .run(&act)?;
        let stat = |line: &[u8]| {
            let line = String::from_utf8_lossy(line).into_owned();
            let mut fields = line.splitn(3, '\t');
            let (added, removed, path) = (fields.next()?, fields.next()?, fields.next()?);
            Some(Stat {
                path: path.to_owned(),
                added: added.parse().ok(),
                removed: removed.parse().ok(),
            })
        };
        Ok(answer.split(|byte| *byte == 0).filter_map(stat).collect())
    }

    /// The patch. Beyond `bytes_max`, its beginning and end.
    pub fn diff_text(&self, old: &str, new: &str, bytes_max: usize) -> Result<DiffText> {
        let act = format!("show changes from {old} to {new}");
        let output = self
            .call([
                "diff-tree",
                "-r",
                "-p",
                "--no-renames",
                "--no-color",
                "--no-ext-diff",
                "--no-textconv",
                old,
                new,
            ])
            .bytes_max(bytes_max)
            .output(&act)?;
        if !output.success() {
            return Err(refused(&act, &output));
        }
        Ok(DiffText { text: output.stdout_text(), cut: output.cut })
    }
}

/// Compares two lists of files that are sorted by the bytes of their paths. The result has the same
/// order.
fn compared(before: &[TreeFile], after: &[TreeFile]) -> Vec<PathChange> {
    let (mut before, mut after) = (before.iter().peekable(), after.iter().peekable());
    let mut all = Vec::new();
    loop {
        let order = match (before.peek(), after.peek()) {
            (None, None) => return all,
            (Some(_), None) => Ordering::Less,
            (None, Some(_)) => Ordering::Greater,
            (Some(one), Some(other)) => {
                one.path.as_os_str().as_bytes().cmp(other.path.as_os_str().as_bytes())
            }
        };
        let old = before.next_if(|_| order.is_le());
        let new = after.next_if(|_| order.is_ge());
        let status = match (old, new) {
            (Some(old), Some(new)) if (&old.id, old.mode) == (&new.id, new.mode) => continue,
            (Some(old), Some(new)) if kind(old) != kind(new) => Status::TypeChanged,
            (Some(_), Some(_)) => Status::Modified,
            (Some(_), None) => Status::Deleted,
            (None, _) => Status::Added,
        };
        let Some(file) = new.or(old) else { return all };
        let path = file.path.to_string_lossy().into_owned();
        let mode = |file: Option<&TreeFile>| file.map_or(0, |file| in_decimal(file.mode));
        all.push(PathChange { path, status, old_mode: mode(old), new_mode: mode(new) });
    }
}

/// Whether it is a file, a link or a submodule.
fn kind(file: &TreeFile) -> u32 {
    const KIND_BITS: u32 = 0o170_000;
    file.mode & KIND_BITS
}

/// Git's notation: the octal digits of a mode read as a decimal number.
fn in_decimal(mode: u32) -> u32 {
    let digits = (0..6).map(|place| (mode >> (3 * place) & 0o7) * 10_u32.pow(place));
    digits.sum()
}

/// Parses `:100644 100755 <id> <id> M`.
fn changed(about: &str, path: String) -> Option<PathChange> {
    let mut words = about.strip_prefix(':')?.split(' ');
    let old_mode = words.next()?.parse().ok()?;
    let new_mode = words.next()?.parse().ok()?;
    let status = match words.nth(2)?.chars().next()? {
        'A' => Status::Added,
        'M' => Status::Modified,
        'D' => Status::Deleted,
        'T' => Status::TypeChanged,
        _ => return None,
    };
    Some(PathChange { path, status, old_mode, new_mode })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn compares_listings_like_git() {
        let file = |(path, mode, id): (&str, u32, &str)| TreeFile {
            path: path.into(),
            mode,
            id: id.to_owned(),
            size: Some(1),
        };
        let before = [
            ("a.b", 0o100_644, "1"),
            ("a/b", 0o100_644, "1"),
            ("link", 0o100_644, "2"),
            ("same", 0o100_644, "3"),
        ];
        let after = [
            ("a/b", 0o100_755, "1"),
            ("a0", 0o100_644, "4"),
            ("link", 0o120_000, "2"),
            ("same", 0o100_644, "3"),
        ];
        let changes = compared(&before.map(file), &after.map(file));
        let rows: Vec<_> = changes
            .iter()
            .map(|one| (one.path.as_str(), one.status, one.old_mode, one.new_mode))
            .collect();
        let expected = [
            ("a.b", Status::Deleted, 100_644, 0),
            ("a/b", Status::Modified, 100_644, 100_755),
            ("a0", Status::Added, 0, 100_644),
            ("link", Status::TypeChanged, 100_644, 120_000),
        ];
        assert_eq!(rows, expected);
    }
}
