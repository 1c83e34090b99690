//! Ollama's own API, only for answers with a schema: some of its versions, and proxies in front of
//! it, ignore the schema in Chat Completions. Everything else uses Chat Completions.

use serde_json::{Map, Value, json};

use super::wire::{Role, at, decimal, text_of, turns};
use super::{Block, Request, SchemaField};

/// Whether this request goes to Ollama's own API.
pub(super) fn is_for(request: &Request) -> bool {
    request.schema.is_some() && request.schema_field == SchemaField::Format
}

pub(super) fn url(base: &str) -> String {
    let base = base.trim_end_matches('/');
    format!("{}/api/chat", base.strip_suffix("/v1").unwrap_or(base))
}

/// The answer comes in one piece: it is short, and a stream would have another format than that of
/// Chat Completions. Without `num_ctx`, the model stays loaded as it is.
pub(super) fn encode(request: &Request) -> Value {
    let mut options = Map::new();
    options.insert("num_predict".into(), request.max_tokens.into());
    if let Some(temperature) = request.temperature {
        options.insert("temperature".into(), decimal(temperature));
    }
    let mut messages = Vec::new();
    if !request.system.is_empty() {
        messages.push(json!({"role": "system", "content": request.system}));
    }
    for (role, blocks) in turns(&request.messages) {
        let role = match role {
            Role::User => "user",
            Role::Assistant => "assistant",
        };
        let texts = blocks.into_iter().filter_map(|block| match block {
            Block::Text { text } => Some(text.as_str()),
            Block::ToolUse { .. } | Block::ToolResult { .. } | Block::Opaque { .. } => None,
        });
        messages.push(json!({"role": role, "content": texts.collect::<Vec<_>>().join("\n\n")}));
    }
    json!({
        "model": request.model,
        "stream": false,
        "format": request.schema,
        "options": options,
        "messages": messages,
    })
}

/// An answer of Ollama in the form of Chat Completions. `None` for other answers.
pub(super) fn as_chat(answer: &Value) -> Option<Value> {
    let done = answer.get("done")?.as_bool().filter(|_| answer.get("choices").is_none())?;
    // Versions without a reason only report the end.
    let reason = match text_of(answer, "done_reason") {
        "" if done => "stop",
        reason => reason,
    };
    Some(json!({
        "choices": [{"message": at(answer, "/message"), "finish_reason": reason}],
        "usage": {
            "prompt_tokens": at(answer, "/prompt_eval_count"),
            "completion_tokens": at(answer, "/eval_count"),
        },
    }))
}
