//! `codex exec --json`. An item of type `error` is a warning, and so is an `error` followed by a
//! retry. Only `turn.failed` ends a turn.

use serde_json::Value;

use super::{AgentError, AgentOutput, sum, text};
use crate::agent::AgentActivity;

pub(super) fn event(agent_output: &mut AgentOutput, event: &Value) -> Vec<AgentActivity> {
    match text(event, "/type") {
        Some("thread.started") => agent_output.met(text(event, "/thread_id")),
        Some("item.started" | "item.completed") => {
            return item(agent_output, event).into_iter().collect();
        }
        Some("turn.completed") => {
            agent_output.over = true;
            agent_output.spent(
                event
                    .get("usage")
                    .and_then(|usage| sum(usage, &["/input_tokens", "/output_tokens"])),
                None,
            );
        }
        Some("turn.failed") => {
            agent_output.over = true;
            agent_output.fails(AgentError::new(
                text(event, "/error/message").unwrap_or("it failed without a message"),
            ));
        }
        Some("error") => agent_output.note(text(event, "/message").unwrap_or_default()),
        _ => {}
    }
    Vec::new()
}

fn item(agent_output: &mut AgentOutput, event: &Value) -> Option<AgentActivity> {
    let started = text(event, "/type") == Some("item.started");
    let item = event.get("item")?;
    match (text(item, "/type")?, started) {
        ("agent_message", false) => agent_output.says_all(text(item, "/text").unwrap_or_default()),
        ("command_execution", true) => {
            Some(agent_output.does("shell", text(item, "/command").unwrap_or_default()))
        }
        ("file_change", false) => {
            let paths = item.get("changes").and_then(Value::as_array).into_iter().flatten();
            let paths: Vec<&str> = paths.filter_map(|change| text(change, "/path")).collect();
            Some(agent_output.does("edit", &paths.join(", ")))
        }
        ("mcp_tool_call" | "web_search", true) => {
            let what = text(item, "/tool").or_else(|| text(item, "/query")).unwrap_or_default();
            Some(agent_output.does(text(item, "/type")?, what))
        }
        ("error", false) => {
            agent_output.note(text(item, "/message").unwrap_or_default());
            None
        }
        _ => None,
    }
}
