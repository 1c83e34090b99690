//! `redgreen schema`: the JSON Schemas of input files and output.

/// Each by its name.
pub const SCHEMAS: &[(&str, &str)] = &[
    ("spec", include_str!("../../schema/spec.json")),
    ("task", include_str!("../../schema/task.json")),
    ("handoff", include_str!("../../schema/handoff.json")),
    ("event", include_str!("../../schema/event.json")),
    ("verdict", include_str!("../../schema/verdict.json")),
    ("proof", include_str!("../../schema/proof.json")),
    ("config", include_str!("../../schema/config.json")),
];

pub fn schema(name: &str) -> Option<&'static str> {
    SCHEMAS.iter().find(|(known, _)| *known == name).map(|(_, text)| *text)
}
