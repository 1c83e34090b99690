//! The `git` module on real repositories.

mod merge;
mod notes;
mod reading;
pub(crate) mod repo;
mod snapshot;
mod worktree;
