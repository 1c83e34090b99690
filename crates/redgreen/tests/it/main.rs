//! The only integration test binary: stories that run the real program, and `tidy`, which checks
//! the house rules.

#![expect(clippy::unwrap_used, reason = "tests")]

mod agents;
mod book;
mod corpus;
mod egress;
mod fuzz;
mod git;
mod hostile;
mod kata;
mod leaks;
mod model;
mod proof;
mod release;
mod requirements;
mod room;
mod runner;
mod sandbox;
mod server;
mod skip;
mod story;
mod tidy;
