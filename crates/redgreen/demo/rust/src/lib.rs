//! Roman numerals.

/// The seven numerals and their values, the largest first.
pub const NUMERALS: [(&str, u32); 7] = [
    ("M", 1000),
    ("D", 500),
    ("C", 100),
    ("L", 50),
    ("X", 10),
    ("V", 5),
    ("I", 1),
];
