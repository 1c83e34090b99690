//! Claude Code's `--output-format stream-json`. A failed request also ends with `subtype:
//! "success"`; only `is_error` shows the failure.

use serde_json::{Value, json};

use super::{AgentError, AgentOutput, number, object, sum, text};
use crate::agent::AgentActivity;

const TOKENS: [&str; 4] =
    ["/input_tokens", "/output_tokens", "/cache_creation_input_tokens", "/cache_read_input_tokens"];

/// A line of `--input-format stream-json`: a prompt, or a message during a turn.
pub fn message(text: &str) -> String {
    let content = json!([{ "type": "text", "text": text }]);
    let message = json!({ "role": "user", "content": content });
    let line = json!({
        "type": "user", "message": message, "parent_tool_use_id": null, "session_id": "",
    });
    format!("{line}\n")
}

pub(super) fn event(agent_output: &mut AgentOutput, event: &Value) -> Vec<AgentActivity> {
    agent_output.met(text(event, "/session_id"));
    match text(event, "/type") {
        Some("assistant") => assistant(agent_output, event),
        Some("result") => {
            over(agent_output, event);
            Vec::new()
        }
        Some("system") => {
            match text(event, "/subtype") {
                Some("permission_denied") => {
                    agent_output.note(text(event, "/message").unwrap_or("permission denied"));
                }
                Some("api_retry") => {
                    let why = text(event, "/error").unwrap_or("a request failed");
                    agent_output.note(&format!("{why}; it tries again"));
                }
                _ => {}
            }
            Vec::new()
        }
        _ => Vec::new(),
    }
}

fn assistant(agent_output: &mut AgentOutput, event: &Value) -> Vec<AgentActivity> {
    let blocks = event.pointer("/message/content").and_then(Value::as_array);
    let mut said = Vec::new();
    for block in blocks.into_iter().flatten() {
        match text(block, "/type") {
            Some("text") => {
                said.extend(agent_output.says_all(text(block, "/text").unwrap_or_default()));
            }
            Some("tool_use") => {
                let name = text(block, "/name").unwrap_or("a tool");
                said.push(
                    agent_output.does(name, object(block.get("input").unwrap_or(&Value::Null))),
                );
            }
            _ => {}
        }
    }
    // The same message arrives once for each of its blocks.
    if let (Some(id), Some(tokens)) = (
        text(event, "/message/id"),
        event.pointer("/message/usage").and_then(|usage| sum(usage, &TOKENS)),
    ) {
        agent_output.by_message.insert(id.to_owned(), tokens);
        agent_output.spent(Some(agent_output.by_message.values().sum()), None);
    }
    said
}

fn over(agent_output: &mut AgentOutput, event: &Value) {
    agent_output.over = true;
    let usd = event.get("total_cost_usd").and_then(Value::as_f64);
    agent_output.spent(event.get("usage").and_then(|usage| sum(usage, &TOKENS)), usd);
    let words = text(event, "/result").or_else(|| text(event, "/errors/0"));
    if event.get("is_error").and_then(Value::as_bool) == Some(true) {
        let words =
            words.or_else(|| text(event, "/subtype")).unwrap_or("it failed without a message");
        agent_output.fails(AgentError::new(words).status(number(event, "/api_error_status")));
    } else if let Some(words) = words.filter(|words| !words.trim().is_empty()) {
        agent_output.answer = super::bounded(words, super::ANSWER_BYTES_MAX).to_owned();
    }
}
