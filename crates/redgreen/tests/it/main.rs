//! What the program does on real repositories, in one binary so that it is linked once.
#![expect(clippy::unwrap_used, reason = "tests")]

mod git;
