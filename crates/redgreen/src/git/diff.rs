//! What differs between two trees, as data, as numbers and as text.

use anyhow::{Context, Result};

use super::Git;
use super::call::refused;

/// One path that is not the same in both trees. A rename is a deletion and an addition.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Changed {
    /// Bytes that are not UTF-8 are shown as U+FFFD.
    pub path: String,
    pub status: Status,
    /// As git writes them: 100644, 100755, 120000 (symbolic link), 160000 (submodule), 0 (absent).
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

/// Lines added and removed; both absent for binary files.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stat {
    pub path: String,
    pub added: Option<u64>,
    pub removed: Option<u64>,
}

/// A patch, perhaps with its middle cut out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DiffText {
    pub text: String,
    pub cut: bool,
}

impl Changed {
    /// A link to a commit of another repository, before or after.
    pub fn is_submodule(&self) -> bool {
        // Read as git writes it, in decimal.
        const GITLINK: u32 = 160_000;
        self.old_mode == GITLINK || self.new_mode == GITLINK
    }
}

impl Git {
    pub fn diff(&self, old: &str, new: &str) -> Result<Vec<Changed>> {
        if old == new {
            return Ok(Vec::new());
        }
        let act = format!("compare {old} with {new}");
        let answer = self.call(["diff-tree", "-r", "-z", "--raw", "--no-renames", old, new]).run(&act)?;
        let mut fields = answer.split(|byte| *byte == 0).filter(|field| !field.is_empty());
        let mut all = Vec::new();
        while let Some(about) = fields.next() {
            let about = String::from_utf8_lossy(about);
            let path = String::from_utf8_lossy(fields.next().unwrap_or_default());
            all.push(
                changed(&about, path.into_owned()).with_context(|| format!("{act}: unknown answer of git: {about}"))?,
            );
        }
        Ok(all)
    }

    pub fn diff_stat(&self, old: &str, new: &str) -> Result<Vec<Stat>> {
        let act = format!("count changes from {old} to {new}");
        let answer = self.call(["diff-tree", "-r", "-z", "--numstat", "--no-renames", old, new]).run(&act)?;
        let stat = |line: &[u8]| {
            let line = String::from_utf8_lossy(line).into_owned();
            let mut fields = line.splitn(3, '\t');
            let (added, removed, path) = (fields.next()?, fields.next()?, fields.next()?);
            Some(Stat { path: path.to_owned(), added: added.parse().ok(), removed: removed.parse().ok() })
        };
        Ok(answer.split(|byte| *byte == 0).filter_map(stat).collect())
    }

    /// The patch; past `bytes_max` its beginning and its end.
    pub fn diff_text(&self, old: &str, new: &str, bytes_max: usize) -> Result<DiffText> {
        let act = format!("show changes from {old} to {new}");
        let output = self
            .call(["diff-tree", "-r", "-p", "--no-renames", "--no-color", "--no-ext-diff", "--no-textconv", old, new])
            .bytes_max(bytes_max)
            .output(&act)?;
        if !output.success() {
            return Err(refused(&act, &output));
        }
        Ok(DiffText { text: output.stdout_text(), cut: output.cut })
    }
}

/// Reads `:100644 100755 <id> <id> M`.
fn changed(about: &str, path: String) -> Option<Changed> {
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
    Some(Changed { path, status, old_mode, new_mode })
}
