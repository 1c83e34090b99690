//! `opencode run --format json`. Each step reports its tokens and cost.

use serde_json::Value;

use super::{AgentError, AgentOutput, number, object, sum, text};
use crate::agent::AgentActivity;

pub(super) fn event(agent_output: &mut AgentOutput, event: &Value) -> Vec<AgentActivity> {
    agent_output.met(text(event, "/sessionID"));
    match text(event, "/type") {
        Some("text") => {
            return agent_output
                .says_all(text(event, "/part/text").unwrap_or_default())
                .into_iter()
                .collect();
        }
        Some("tool_use") => {
            let name = text(event, "/part/tool").unwrap_or("a tool");
            let said = agent_output
                .does(name, object(event.pointer("/part/state/input").unwrap_or(&Value::Null)));
            if let Some(error) = text(event, "/part/state/error") {
                agent_output.note(error);
            }
            return vec![said];
        }
        Some("step_finish") => {
            let tokens = event.pointer("/part/tokens").and_then(|tokens| {
                number(tokens, "/total").or_else(|| {
                    sum(tokens, &["/input", "/output", "/reasoning", "/cache/read", "/cache/write"])
                })
            });
            agent_output.spent_more(tokens, event.pointer("/part/cost").and_then(Value::as_f64));
        }
        Some("error") => {
            let words = text(event, "/error/data/message").or_else(|| text(event, "/error/name"));
            let error = AgentError::new(words.unwrap_or("it failed without a message"));
            agent_output.fails(error.status(number(event, "/error/data/statusCode")));
        }
        _ => {}
    }
    Vec::new()
}
