//! `redgreen schema`: the JSON Schemas of what goes in and what comes out.

/// Each by its name.
pub const SCHEMAS: &[(&str, &str)] = &[
    ("spec", include_str!("../../../../docs/schema/spec.json")),
    ("task", include_str!("../../../../docs/schema/task.json")),
    ("handoff", include_str!("../../../../docs/schema/handoff.json")),
    ("event", include_str!("../../../../docs/schema/event.json")),
    ("verdict", include_str!("../../../../docs/schema/verdict.json")),
    ("config", include_str!("../../../../docs/schema/config.json")),
];

pub fn schema(name: &str) -> Option<&'static str> {
    SCHEMAS.iter().find(|(known, _)| *known == name).map(|(_, text)| *text)
}
