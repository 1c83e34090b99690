//! The only module that runs git and knows its commands, files and messages. It does not make
//! decisions. An answer that a caller can act on is a value; an error means that the question could
//! not be answered.
//!
//! Nothing here changes the user's checkout, index, branches or configuration, except `Git::merge`
//! and `Git::unmerge`.

mod blame;
mod call;
mod checkout;
mod commands;
mod commit;
mod diff;
mod history;
mod ignores;
mod lock;
mod merge;
mod merge_checkout;
mod merge_state;
mod notes;
mod object;
mod open;
mod refs;
mod remote;
mod restore;
mod salvage;
mod scratch;
mod snapshot;
mod special;
mod state;
mod submodule;
mod tree;
mod unmerge;
mod upstream;
mod version;
mod view;
mod worktree;

use std::path::PathBuf;

use crate::process::Stop;

pub use diff::{DiffText, PathChange, Stat, Status};
pub use merge::{Merge, MergeRequest};
pub use merge_state::MergeState;
pub use notes::{Health, Note, Notes, RecentNote};
pub use refs::{RefEdit, Swap};
pub use remote::{Change, Expected, PushOutcome, Remote, Unreachable};
pub use salvage::Salvage;
pub use scratch::NotedCommit;
pub use snapshot::Snapshot;
pub use state::{Dirty, Head};
pub use submodule::Submodule;
pub use tree::TreeFile;
pub use unmerge::{IsRetry, Unmerge};
pub use upstream::{Push, Upstream};
pub use view::IsSecret;
pub(crate) use worktree::remove_folder;
pub use worktree::{CheckoutEntry, Worktree};

/// The user's repository, as seen from one of its checkouts.
#[derive(Clone, Debug)]
pub struct Git {
    /// The top level of the checkout that redgreen was started in.
    pub root: PathBuf,
    /// The folder shared by all checkouts of the repository, usually `<root>/.git`.
    pub common_dir: PathBuf,
    shallow: bool,
    listed: tree::Listings,
    /// Set when the user asks to stop.
    stop: Stop,
}
