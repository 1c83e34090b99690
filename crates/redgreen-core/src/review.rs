//! The review in the browser: patches as data, and comments on their lines.

pub mod comment;
pub mod patch;
