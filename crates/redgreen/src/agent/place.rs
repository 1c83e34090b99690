//! Whether a path stays in the worktree, links included.

use std::path::Path;

/// Follows the links of the part of `full` that exists already.
pub(super) fn stays(worktree: &Path, full: &Path) -> Result<(), String> {
    let real = |path: &Path| path.canonicalize().map_err(|error| format!("the path leads nowhere: {error}"));
    // `symlink_metadata` and not `exists`, which overlooks a link to a file that is yet to be created.
    let existing = full.ancestors().find(|part| part.symlink_metadata().is_ok());
    if real(existing.unwrap_or(worktree))?.starts_with(real(worktree)?) {
        Ok(())
    } else {
        Err("the path leaves the worktree through a link".to_owned())
    }
}
