//! The program's entry: hands the command line to `cli`, and is the only place that exits.
fn main() {}
