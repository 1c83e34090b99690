//! Claude Code's `--output-format stream-json`. A failed request ends with `subtype: "success"`: only `is_error` tells.

use serde_json::Value;

use super::{Fault, Hearing, number, object, sum, text};
use crate::agent::Said;

const TOKENS: [&str; 4] =
    ["/input_tokens", "/output_tokens", "/cache_creation_input_tokens", "/cache_read_input_tokens"];

pub(super) fn event(hearing: &mut Hearing, event: &Value) -> Vec<Said> {
    hearing.met(text(event, "/session_id"));
    match text(event, "/type") {
        Some("assistant") => message(hearing, event),
        Some("result") => {
            over(hearing, event);
            Vec::new()
        }
        Some("system") => {
            match text(event, "/subtype") {
                Some("permission_denied") => hearing.note(text(event, "/message").unwrap_or("permission denied")),
                Some("api_retry") => {
                    let why = text(event, "/error").unwrap_or("a request failed");
                    hearing.note(&format!("{why}; it tries again"));
                }
                _ => {}
            }
            Vec::new()
        }
        _ => Vec::new(),
    }
}

fn message(hearing: &mut Hearing, event: &Value) -> Vec<Said> {
    let blocks = event.pointer("/message/content").and_then(Value::as_array);
    let mut said = Vec::new();
    for block in blocks.into_iter().flatten() {
        match text(block, "/type") {
            Some("text") => said.extend(hearing.says_all(text(block, "/text").unwrap_or_default())),
            Some("tool_use") => {
                let name = text(block, "/name").unwrap_or("a tool");
                said.push(hearing.does(name, object(block.get("input").unwrap_or(&Value::Null))));
            }
            _ => {}
        }
    }
    // The same message comes once for each of its blocks.
    if let (Some(id), Some(tokens)) =
        (text(event, "/message/id"), event.pointer("/message/usage").and_then(|usage| sum(usage, &TOKENS)))
    {
        hearing.by_message.insert(id.to_owned(), tokens);
        hearing.spent(Some(hearing.by_message.values().sum()), None);
    }
    said
}

fn over(hearing: &mut Hearing, event: &Value) {
    hearing.over = true;
    let usd = event.get("total_cost_usd").and_then(Value::as_f64);
    hearing.spent(event.get("usage").and_then(|usage| sum(usage, &TOKENS)), usd);
    let words = text(event, "/result").or_else(|| text(event, "/errors/0"));
    if event.get("is_error").and_then(Value::as_bool) == Some(true) {
        let words = words.or_else(|| text(event, "/subtype")).unwrap_or("it failed and did not say why");
        hearing.fails(Fault::new(words).status(number(event, "/api_error_status")));
    } else if let Some(words) = words.filter(|words| !words.trim().is_empty()) {
        hearing.answer = super::bounded(words, super::ANSWER_BYTES_MAX).to_owned();
    }
}
