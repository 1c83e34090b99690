//! (rows)
