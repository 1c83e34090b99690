//! `opencode run --format json`. Tokens and dollars come with each step.

use serde_json::Value;

use super::{Fault, Hearing, number, object, sum, text};
use crate::agent::Said;

pub(super) fn event(hearing: &mut Hearing, event: &Value) -> Vec<Said> {
    hearing.met(text(event, "/sessionID"));
    match text(event, "/type") {
        Some("text") => return hearing.says_all(text(event, "/part/text").unwrap_or_default()).into_iter().collect(),
        Some("tool_use") => {
            let name = text(event, "/part/tool").unwrap_or("a tool");
            let said = hearing.does(name, object(event.pointer("/part/state/input").unwrap_or(&Value::Null)));
            if let Some(error) = text(event, "/part/state/error") {
                hearing.note(error);
            }
            return vec![said];
        }
        Some("step_finish") => {
            let tokens = event.pointer("/part/tokens").and_then(|tokens| {
                number(tokens, "/total")
                    .or_else(|| sum(tokens, &["/input", "/output", "/reasoning", "/cache/read", "/cache/write"]))
            });
            hearing.spent_more(tokens, event.pointer("/part/cost").and_then(Value::as_f64));
        }
        Some("error") => {
            let words = text(event, "/error/data/message").or_else(|| text(event, "/error/name"));
            let fault = Fault::new(words.unwrap_or("it failed and did not say why"));
            hearing.fails(fault.status(number(event, "/error/data/statusCode")));
        }
        _ => {}
    }
    Vec::new()
}
