//! The git door on real repositories.

mod merge;
mod notes;
mod reading;
mod repo;
mod snapshot;
mod worktree;
