//! Anthropic's Messages API, and servers compatible with it.

use serde_json::{Map, Value, json};

use super::error::{broken_off, nonsense, stream_error};
use super::wire::{
    Dialect, Measure, Role, arguments, as_object, at, decimal, number, object, text_of, turns,
};
use super::{Block, Delta, ModelError, Reply, Request, Stop, Usage};

/// There is a newer version, but nothing we send needs it, and every compatible server knows this
/// one.
pub const VERSION: &str = "2023-06-01";

/// The request body. Sampling, thinking and tool choice are omitted: newer models reject one or the
/// other, and their defaults suit work with tools.
pub fn encode(request: &Request, _dialect: &Dialect) -> Value {
    let cached = json!({"type": "ephemeral"});
    let mut body = Map::new();
    body.insert("model".into(), request.model.clone().into());
    body.insert("max_tokens".into(), request.max_tokens.into());
    body.insert("stream".into(), true.into());
    if let Some(temperature) = request.temperature {
        body.insert("temperature".into(), decimal(temperature));
    }
    let mut tools: Vec<Value> = request
        .tools
        .iter()
        .map(|tool| json!({"name": tool.name, "description": tool.description, "input_schema": tool.input}))
        .collect();
    // Tools come first in the cached prefix, so the cache mark on the system prompt covers them.
    if request.system.is_empty() {
        mark(tools.last_mut(), &cached);
    } else {
        let system = json!([{"type": "text", "text": request.system, "cache_control": cached}]);
        body.insert("system".into(), system);
    }
    if !tools.is_empty() {
        body.insert("tools".into(), tools.into());
    }
    let mut messages: Vec<Value> = turns(&request.messages)
        .into_iter()
        .map(|(role, mut blocks)| match role {
            Role::User => {
                // Tool results have to precede text.
                blocks.sort_by_key(|block| !matches!(block, Block::ToolResult { .. }));
                json!({"role": "user", "content": blocks.into_iter().map(block).collect::<Vec<_>>()})
            }
            Role::Assistant => {
                json!({"role": "assistant", "content": blocks.into_iter().map(block).collect::<Vec<_>>()})
            }
        })
        .collect();
    let last = messages.iter_mut().rev().find(|message| text_of(message, "role") == "user");
    mark(last.and_then(|message| message.get_mut("content")?.as_array_mut()?.last_mut()), &cached);
    body.insert("messages".into(), messages.into());
    body.into()
}

fn mark(block: Option<&mut Value>, cached: &Value) {
    if let Some(block) = block.and_then(Value::as_object_mut) {
        block.insert("cache_control".into(), cached.clone());
    }
}

fn block(block: &Block) -> Value {
    match block {
        Block::Text { text } => json!({"type": "text", "text": text}),
        Block::ToolUse { raw, .. } if raw.is_object() => raw.clone(),
        Block::ToolUse { id, name, input, .. } => {
            json!({"type": "tool_use", "id": id, "name": name, "input": as_object(input)})
        }
        Block::ToolResult { id, text, is_error: false, .. } => {
            json!({"type": "tool_result", "tool_use_id": id, "content": text})
        }
        Block::ToolResult { id, text, is_error: true, .. } => {
            json!({"type": "tool_result", "tool_use_id": id, "content": text, "is_error": true})
        }
        Block::Opaque { raw } => raw.clone(),
    }
}

#[derive(Debug, Default)]
pub struct Decoder {
    blocks: Vec<PartialBlock>,
    usage: Usage,
    stop: Option<Stop>,
    is_done: bool,
    measure: Measure,
}

/// The start of a block and the pieces added since.
#[derive(Debug)]
struct PartialBlock {
    index: u64,
    start: Value,
    text: String,
    json: String,
    signature: String,
}

impl Decoder {
    pub fn event(&mut self, name: &str, data: &str) -> Result<Vec<Delta>, ModelError> {
        let data = object(data)?;
        let kind = data.get("type").and_then(Value::as_str).unwrap_or(name);
        match kind {
            "message_start" => Ok(self.count(at(&data, "/message/usage"))),
            "content_block_start" => self.begin(&data),
            "content_block_delta" => self.grow(&data),
            "message_delta" => {
                if let Some(word) = at(&data, "/delta/stop_reason").as_str() {
                    self.stop = Some(stop(word, at(&data, "/delta/stop_details")));
                }
                Ok(self.count(at(&data, "/usage")))
            }
            "message_stop" => {
                self.is_done = true;
                Ok(Vec::new())
            }
            "error" => {
                Err(stream_error(&data)
                    .unwrap_or_else(|| nonsense("an error event without a message")))
            }
            _ => Ok(Vec::new()),
        }
    }

    pub fn is_done(&self) -> bool {
        self.is_done
    }

    pub fn finish(self) -> Result<Reply, ModelError> {
        if !self.is_done {
            return Err(broken_off());
        }
        let stop = self.stop.ok_or_else(|| nonsense("the stop reason is missing"))?;
        let blocks = self.blocks.into_iter().map(PartialBlock::finish).collect();
        Ok(Reply { blocks, stop, usage: self.usage })
    }

    fn begin(&mut self, data: &Value) -> Result<Vec<Delta>, ModelError> {
        let start = at(data, "/content_block").clone();
        if !start.is_object() {
            return Err(nonsense("a content block is malformed"));
        }
        let index = number(at(data, "/index"));
        let is_known = |block: &PartialBlock| {
            block.index == index
                && ["type", "id"].iter().all(|key| block.start.get(*key) == start.get(*key))
        };
        // llama.cpp repeats the start event before every piece of a text.
        if self.blocks.last().is_some_and(is_known) {
            return Ok(Vec::new());
        }
        let mut text = String::new();
        self.measure.add(&mut text, text_of(&start, "text"))?;
        let deltas = match text_of(&start, "type") {
            "tool_use" => vec![Delta::ToolUse(text_of(&start, "name").to_owned())],
            _ if text.is_empty() => Vec::new(),
            _ => vec![Delta::Text(text.clone())],
        };
        let building =
            PartialBlock { index, start, text, json: String::new(), signature: String::new() };
        self.measure.push(&mut self.blocks, building)?;
        Ok(deltas)
    }

    fn grow(&mut self, data: &Value) -> Result<Vec<Delta>, ModelError> {
        let index = number(at(data, "/index"));
        let Some(block) = self.blocks.iter_mut().rev().find(|block| block.index == index) else {
            return Err(nonsense("a delta for a block that was not started"));
        };
        let delta = at(data, "/delta");
        let measure = &mut self.measure;
        match text_of(delta, "type") {
            "text_delta" => {
                let piece = text_of(delta, "text");
                measure.add(&mut block.text, piece)?;
                Ok(vec![Delta::Text(piece.to_owned())])
            }
            "thinking_delta" => {
                let piece = text_of(delta, "thinking");
                measure.add(&mut block.text, piece)?;
                Ok(vec![Delta::Thinking(piece.to_owned())])
            }
            "input_json_delta" => {
                measure.add(&mut block.json, text_of(delta, "partial_json"))?;
                Ok(Vec::new())
            }
            "signature_delta" => {
                measure.add(&mut block.signature, text_of(delta, "signature"))?;
                Ok(Vec::new())
            }
            _ => Ok(Vec::new()),
        }
    }

    /// Later counts are totals and omit unchanged values.
    fn count(&mut self, usage: &Value) -> Vec<Delta> {
        let mut changed = false;
        let mut set = |count: &mut u64, name: &str| {
            if let Some(value) = usage.get(name).filter(|value| value.is_u64()) {
                *count = number(value);
                changed = true;
            }
        };
        set(&mut self.usage.input, "input_tokens");
        set(&mut self.usage.output, "output_tokens");
        set(&mut self.usage.cache_read, "cache_read_input_tokens");
        set(&mut self.usage.cache_write, "cache_creation_input_tokens");
        if changed { vec![Delta::Usage(self.usage)] } else { Vec::new() }
    }
}

impl PartialBlock {
    fn finish(self) -> Block {
        let mut raw = self.start;
        let kind = text_of(&raw, "type").to_owned();
        let mut put = |key: &str, value: Value| {
            if let Some(raw) = raw.as_object_mut() {
                raw.insert(key.to_owned(), value);
            }
        };
        match kind.as_str() {
            "text" => Block::Text { text: self.text },
            "tool_use" => {
                let words =
                    if self.json.is_empty() { at(&raw, "/input").to_string() } else { self.json };
                let input = if words == "null" { json!({}) } else { arguments(&words) };
                if let Some(raw) = raw.as_object_mut() {
                    raw.insert("input".to_owned(), as_object(&input));
                }
                Block::ToolUse {
                    id: text_of(&raw, "id").to_owned(),
                    name: text_of(&raw, "name").to_owned(),
                    input,
                    raw,
                }
            }
            _ => {
                if kind == "thinking" && !self.text.is_empty() {
                    put("thinking", self.text.into());
                }
                if !self.signature.is_empty() {
                    put("signature", self.signature.into());
                }
                if !self.json.is_empty() {
                    put("input", as_object(&arguments(&self.json)));
                }
                Block::Opaque { raw }
            }
        }
    }
}

fn stop(word: &str, details: &Value) -> Stop {
    match word {
        "end_turn" | "stop_sequence" => Stop::End,
        "tool_use" => Stop::ToolUse,
        "max_tokens" => Stop::MaxTokens,
        "pause_turn" => Stop::Pause,
        "model_context_window_exceeded" => Stop::ContextFull,
        "refusal" => {
            let why = [text_of(details, "explanation"), text_of(details, "category")];
            Stop::Refusal {
                why: why.into_iter().find(|why| !why.is_empty()).unwrap_or("refused").to_owned(),
            }
        }
        other => Stop::Other { word: other.to_owned() },
    }
}

#[cfg(test)]
pub(super) mod tests;
