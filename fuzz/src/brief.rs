//! Briefs: specifications, tasks, tests of another RED, answers with files in them, withheld examples,
//! and the list of a planner.

use redgreen_core::brief::{blocks, node::Syntax, red_artifact, spec, task};
use redgreen_core::contest::Contest;
use redgreen_core::experiment::examples;
use redgreen_core::todo_list;

pub(crate) fn input(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    for syntax in [Syntax::Yaml, Syntax::Json] {
        if let Err(faults) = spec::parse(syntax, text) {
            assert!(!faults.is_empty(), "a refusal without a reason");
        }
        if let Err(faults) = red_artifact::parse(syntax, text) {
            assert!(!faults.is_empty(), "a refusal without a reason");
        }
    }
    let (id, _) = text.split_once('\n').unwrap_or((text, ""));
    todo_list::ticked(text, id, "summary.md");
    if let Err(faults) = task::parse(text, "") {
        assert!(!faults.is_empty(), "a refusal without a reason");
    }
    if let Err(why) = examples::parse("examples.json", text) {
        assert!(!why.is_empty(), "a refusal without a reason");
    }
    Contest::parse(text);
    blocks::blocks(text);
    blocks::only_fence(text);
}
