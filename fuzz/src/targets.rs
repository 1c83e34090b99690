//! Everything that reads what others wrote, as functions of any bytes. `scripts/fuzz` looks for
//! bytes that make one of them panic or take for ever; the tests of the workspace run the seeds
//! through the same functions, without a fuzzer.

mod acp;
mod agent_output;
mod brief;
mod change;
mod hook;
mod journal;
mod mcp;
mod message;
mod model;
mod note;
mod proof;
mod queue;
mod report;
mod review;
mod words;

/// Reads any bytes; to panic, or to take long, is the fault that is looked for.
pub(crate) type Input = fn(&[u8]);

/// The targets by name. The folder of the same name in `fuzz/seeds` has what each begins with.
pub(crate) const TARGETS: &[(&str, Input)] = &[
    ("acp", acp::input),
    ("agent-output", agent_output::input),
    ("brief", brief::input),
    ("change", change::input),
    ("hook", hook::input),
    ("journal", journal::input),
    ("message", message::input),
    ("mcp", mcp::input),
    ("model", model::input),
    ("note", note::input),
    ("proof", proof::input),
    ("queue", queue::input),
    ("report", report::input),
    ("review", review::input),
    ("words", words::input),
];
