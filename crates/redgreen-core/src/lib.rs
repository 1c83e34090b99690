//! The mind of redgreen: decides, never acts.
//!
//! Everything here is a value or a function of values: no file, process, clock, network,
//! environment or thread (the crate's own `clippy.toml` bans them). What was seen is passed in;
//! what to do comes out. "No" is an answer, never an error.

#![deny(clippy::indexing_slicing, clippy::wildcard_enum_match_arm)]

pub mod acp;
pub mod agent;
pub mod agent_output;
pub mod artifact;
pub mod attempts;
pub mod batch;
pub mod brief;
pub mod change;
pub mod contest;
pub mod coverage;
pub mod egress;
pub mod event;
pub mod experiment;
pub mod fleet;
pub mod forge;
pub mod format;
pub mod framework;
pub mod guard;
pub mod handoff;
pub mod hook;
pub mod install;
pub mod judge;
pub mod live;
pub mod mock;
pub mod model;
pub mod names;
pub mod note;
pub mod orders;
pub mod outline;
pub mod page;
pub mod path;
pub mod phase;
pub mod policy;
pub mod prompt;
pub mod proof;
pub mod question;
pub mod report;
pub mod review;
pub mod session;
pub mod state;
pub mod steer;
pub mod step;
pub mod steps;
pub mod summary;
pub mod syntax;
pub mod tally;
pub mod task;
pub mod test_list;
pub mod text;
pub mod todo_list;
pub mod tool;
pub mod verdict;
pub mod withheld;
