//! `codex exec --json`. An item of type `error` is a warning, and so is an `error` that is followed by another try: only
//! `turn.failed` ends a turn.

use serde_json::Value;

use super::{Fault, Hearing, sum, text};
use crate::agent::Said;

pub(super) fn event(hearing: &mut Hearing, event: &Value) -> Vec<Said> {
    match text(event, "/type") {
        Some("thread.started") => hearing.met(text(event, "/thread_id")),
        Some("item.started" | "item.completed") => return item(hearing, event).into_iter().collect(),
        Some("turn.completed") => {
            hearing.over = true;
            hearing.spent(event.get("usage").and_then(|usage| sum(usage, &["/input_tokens", "/output_tokens"])), None);
        }
        Some("turn.failed") => {
            hearing.over = true;
            hearing.fails(Fault::new(text(event, "/error/message").unwrap_or("it failed and did not say why")));
        }
        Some("error") => hearing.note(text(event, "/message").unwrap_or_default()),
        _ => {}
    }
    Vec::new()
}

fn item(hearing: &mut Hearing, event: &Value) -> Option<Said> {
    let started = text(event, "/type") == Some("item.started");
    let item = event.get("item")?;
    match (text(item, "/type")?, started) {
        ("agent_message", false) => hearing.says_all(text(item, "/text").unwrap_or_default()),
        ("command_execution", true) => Some(hearing.does("shell", text(item, "/command").unwrap_or_default())),
        ("file_change", false) => {
            let paths = item.get("changes").and_then(Value::as_array).into_iter().flatten();
            let paths: Vec<&str> = paths.filter_map(|change| text(change, "/path")).collect();
            Some(hearing.does("edit", &paths.join(", ")))
        }
        ("mcp_tool_call" | "web_search", true) => {
            let what = text(item, "/tool").or_else(|| text(item, "/query")).unwrap_or_default();
            Some(hearing.does(text(item, "/type")?, what))
        }
        ("error", false) => {
            hearing.note(text(item, "/message").unwrap_or_default());
            None
        }
        _ => None,
    }
}
