//! The one door to git: the only place that knows its commands, files and messages. It acts and never decides; a "no"
//! that a caller can act on is a value, an error means that we could not find out.
//!
//! Nothing here changes the user's checkout, index, branches or configuration, except `Git::merge` and `Git::unmerge`,
//! which are asked to.

mod call;
mod checkout;
mod commands;
mod commit;
mod diff;
mod history;
mod ignores;
mod landing;
mod lock;
mod merge;
mod notes;
mod object;
mod open;
mod refs;
mod restore;
mod salvage;
mod scratch;
mod settle;
mod snapshot;
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

pub use diff::{Changed, DiffText, Stat, Status};
pub use merge::{Merge, MergeRequest};
pub use notes::{Health, Note, Notes, RecentNote};
pub use refs::{RefEdit, Swap};
pub use salvage::Salvage;
pub use scratch::Noted;
pub use settle::Settled;
pub use snapshot::Snapshot;
pub use state::{Dirty, Head};
pub use submodule::Submodule;
pub use tree::TreeFile;
pub use unmerge::{Again, Unmerge};
pub use upstream::{Push, Upstream};
pub use view::IsSecret;
pub(crate) use worktree::remove_folder;
pub use worktree::{Listed, Worktree};

/// The user's repository, as seen from one of its checkouts.
#[derive(Clone, Debug)]
pub struct Git {
    /// The top level of the checkout that we were started in.
    pub root: PathBuf,
    /// The folder that all checkouts of the repository share, usually `<root>/.git`.
    pub common_dir: PathBuf,
    shallow: bool,
    listed: tree::Listings,
    /// The user's wish to stop.
    stop: Stop,
}
