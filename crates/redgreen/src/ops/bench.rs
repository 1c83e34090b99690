//! (bench)
