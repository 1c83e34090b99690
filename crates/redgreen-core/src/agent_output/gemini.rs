//! `gemini -o stream-json`. Its exit code is the status of a failed request modulo 256, so the
//! message decides.

use serde_json::Value;

use super::{AgentError, AgentOutput, number, object, text};
use crate::agent::AgentActivity;

pub(super) fn event(agent_output: &mut AgentOutput, event: &Value) -> Vec<AgentActivity> {
    match text(event, "/type") {
        Some("init") => agent_output.met(text(event, "/session_id")),
        Some("message") if text(event, "/role") == Some("assistant") => {
            let words = text(event, "/content").unwrap_or_default();
            let piece = event.get("delta").and_then(Value::as_bool) == Some(true);
            return if piece { agent_output.says(words) } else { agent_output.says_all(words) }
                .into_iter()
                .collect();
        }
        Some("tool_use") => {
            let name = text(event, "/tool_name").unwrap_or("a tool");
            return vec![
                agent_output.does(name, object(event.get("parameters").unwrap_or(&Value::Null))),
            ];
        }
        Some("error") => agent_output.note(text(event, "/message").unwrap_or_default()),
        Some("result") => {
            agent_output.over = true;
            agent_output.spent(number(event, "/stats/total_tokens"), None);
            if text(event, "/status") == Some("error") {
                let words = text(event, "/error/message").unwrap_or("it failed without a message");
                agent_output.fails(AgentError::new(words).status(told_status(words)));
            }
        }
        _ => {}
    }
    Vec::new()
}

/// Sometimes the message only has the body of the answer: `[API Error: {… "code": 429 …}]`.
fn told_status(words: &str) -> Option<u64> {
    let start = words.find('{')?;
    let mut bodies = serde_json::Deserializer::from_str(words.get(start..)?).into_iter::<Value>();
    number(&bodies.next()?.ok()?, "/error/code")
}
