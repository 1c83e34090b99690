//! Stories that run the real program and the real runners.

#![expect(clippy::unwrap_used, reason = "tests")]

mod runner;
