//! redgreen, the program. `cli` is the face, `ops` the list of verbs, `engine` where mind and hands
//! meet; everything below acts and never decides. `docs/ARCHITECTURE.md` shows the house.

pub mod agent;
pub mod cli;
pub mod config;
pub mod egress;
pub mod engine;
pub mod failure;
pub mod foreign;
pub mod git;
pub mod guard;
pub mod journal;
pub mod ops;
pub mod platform;
pub mod private;
pub mod process;
pub mod queue;
pub mod room;
pub mod runner;
pub mod sandbox;
pub mod trial;
pub mod view;
