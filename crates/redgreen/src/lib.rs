//! redgreen, the program. `cli` is the face, `ops` the list of verbs, `engine` where mind and hands meet; everything
//! below acts and never decides. `docs/ARCHITECTURE.md` shows the house.

pub mod failure;
pub mod git;
pub mod process;
