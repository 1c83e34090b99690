//! Where a script may write: inside the worktree, without `..` and without following links out of
//! it.

use std::path::{Component, Path, PathBuf};

use crate::foreign::stays;

/// What is wrong with a path of `write`, `append`, `edit` or `delete`, without looking at files.
pub(super) fn problem(path: &Path) -> Option<&'static str> {
    let has = |wanted: fn(&Component<'_>) -> bool| path.components().any(|part| wanted(&part));
    if path.as_os_str().as_encoded_bytes().contains(&0) {
        Some("holds a NUL character")
    } else if path.has_root() {
        Some("is absolute; expected a path relative to the worktree")
    } else if has(|part| matches!(part, Component::ParentDir)) {
        Some("leaves the worktree with \"..\"; \"write-outside\" tries that on purpose")
    } else if !has(|part| matches!(part, Component::Normal(_))) {
        Some("is not a file name")
    } else {
        None
    }
}

/// Whether a path would leave the worktree.
pub(super) fn is_outside(path: &Path) -> bool {
    path.has_root() || path.components().any(|part| matches!(part, Component::ParentDir))
}

/// The full path of a file to write, or why it is refused.
pub(super) fn inside(worktree: &Path, path: &Path) -> Result<PathBuf, String> {
    let full = worktree.join(path);
    stays(worktree, &full)?;
    Ok(full)
}

/// The full path of a file to delete, or why it is refused. A link itself is deleted, wherever it
/// leads.
pub(super) fn entry_inside(worktree: &Path, path: &Path) -> Result<PathBuf, String> {
    let full = worktree.join(path);
    stays(worktree, full.parent().unwrap_or(worktree))?;
    Ok(full)
}
