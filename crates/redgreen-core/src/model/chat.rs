//! OpenAI's Chat Completions, as OpenAI and compatible servers implement it. Tolerates omissions
//! and deviations of other servers.

use serde_json::{Map, Value, json};

use super::error::{broken_off, stream_error};
use super::wire::{
    Dialect, Measure, Role, arguments, as_words, at, decimal, list_at, number, object, own_id,
    text_of, turns,
};
use super::{Block, Delta, ModelError, Reply, Request, SchemaField, Stop, Usage, grammar, ollama};

/// The reasoning text. Some servers reject a conversation that does not send it back.
const REASONING: &str = "reasoning_content";
/// The same in pieces that only the server can read.
const REASONING_DETAILS: &str = "reasoning_details";

pub fn encode(request: &Request, dialect: &Dialect) -> Value {
    let mut body = Map::new();
    body.insert("model".into(), request.model.clone().into());
    body.insert("stream".into(), true.into());
    body.insert("stream_options".into(), json!({"include_usage": true}));
    body.insert(dialect.limit_key.into(), request.max_tokens.into());
    if !request.tools.is_empty() {
        let tools: Vec<Value> = request
            .tools
            .iter()
            .map(|tool| {
                json!({"type": "function", "function":
                    {"name": tool.name, "description": tool.description, "parameters": tool.input}})
            })
            .collect();
        body.insert("tools".into(), tools.into());
    }
    if let Some(schema) = &request.schema {
        match request.schema_field {
            SchemaField::ResponseFormat | SchemaField::Format => {
                let schema = json!({"name": "answer", "strict": true, "schema": schema});
                body.insert(
                    "response_format".into(),
                    json!({"type": "json_schema", "json_schema": schema}),
                );
            }
            SchemaField::Grammar => {
                body.insert("grammar".into(), grammar::of(schema).into());
            }
        }
    }
    if let Some(temperature) = request.temperature {
        body.insert("temperature".into(), decimal(temperature));
    }
    let mut messages = Vec::new();
    if !request.system.is_empty() {
        messages.push(json!({"role": "system", "content": request.system}));
    }
    for (role, blocks) in turns(&request.messages) {
        match role {
            Role::User => messages.extend(of_user(&blocks)),
            Role::Assistant => messages.push(of_assistant(&blocks)),
        }
    }
    body.insert("messages".into(), messages.into());
    body.into()
}

/// Each result is a separate message, and all results precede text.
fn of_user(blocks: &[&Block]) -> Vec<Value> {
    let results = blocks.iter().filter_map(|block| match block {
        Block::ToolResult { id, text, .. } => {
            Some(json!({"role": "tool", "tool_call_id": id, "content": text}))
        }
        Block::Text { .. } | Block::ToolUse { .. } | Block::Opaque { .. } => None,
    });
    let mut messages: Vec<Value> = results.collect();
    let words = words(blocks);
    if !words.is_empty() {
        messages.push(json!({"role": "user", "content": words}));
    }
    messages
}

fn of_assistant(blocks: &[&Block]) -> Value {
    let mut message = Map::new();
    message.insert("role".into(), "assistant".into());
    let words = words(blocks);
    message.insert("content".into(), if words.is_empty() { Value::Null } else { words.into() });
    let mut calls: Vec<Value> = Vec::new();
    for block in blocks {
        match block {
            Block::ToolUse { raw, .. } if raw.is_object() => calls.push(raw.clone()),
            Block::ToolUse { id, name, input, .. } => calls
                .push(json!({"id": id, "type": "function", "function": {"name": name, "arguments": as_words(input)}})),
            Block::Opaque { raw: Value::Object(fields) } => message.extend(fields.clone()),
            Block::Opaque { .. } | Block::Text { .. } | Block::ToolResult { .. } => {}
        }
    }
    if !calls.is_empty() {
        message.insert("tool_calls".into(), calls.into());
    }
    message.into()
}

fn words(blocks: &[&Block]) -> String {
    let texts = blocks.iter().filter_map(|block| match block {
        Block::Text { text } => Some(text.as_str()),
        Block::ToolUse { .. } | Block::ToolResult { .. } | Block::Opaque { .. } => None,
    });
    texts.collect::<Vec<_>>().join("\n\n")
}

#[derive(Debug, Default)]
pub struct Decoder {
    text: String,
    reasoning: String,
    details: Vec<Value>,
    refusal: String,
    calls: Vec<Call>,
    usage: Usage,
    stop: Option<Stop>,
    is_done: bool,
    measure: Measure,
}

#[derive(Debug, Default)]
struct Call {
    index: Option<u64>,
    id: String,
    name: String,
    arguments: String,
    /// Extra fields of the server, such as signatures.
    extra: Map<String, Value>,
}

impl Decoder {
    pub fn event(&mut self, _name: &str, data: &str) -> Result<Vec<Delta>, ModelError> {
        if data.trim() == "[DONE]" {
            self.is_done = true;
            return Ok(Vec::new());
        }
        let data = object(data)?;
        if let Some(error) = stream_error(&data) {
            return Err(error);
        }
        let data = ollama::as_chat(&data).unwrap_or(data);
        let mut deltas = Vec::new();
        if let Some(usage) = data.get("usage").filter(|usage| usage.is_object()) {
            self.usage = count(usage);
            deltas.push(Delta::Usage(self.usage));
        }
        let Some(choice) = data.pointer("/choices/0") else { return Ok(deltas) };
        // A server without streaming sends everything in one message.
        let delta = choice.get("delta").or_else(|| choice.get("message")).unwrap_or(&Value::Null);
        let (text, refusal) = (text_of(delta, "content"), text_of(delta, "refusal"));
        let reasoning = [REASONING, "reasoning"]
            .into_iter()
            .map(|key| text_of(delta, key))
            .find(|text| !text.is_empty());
        if !text.is_empty() {
            self.measure.add(&mut self.text, text)?;
            deltas.push(Delta::Text(text.to_owned()));
        }
        if let Some(piece) = reasoning {
            self.measure.add(&mut self.reasoning, piece)?;
            deltas.push(Delta::Thinking(piece.to_owned()));
        }
        self.measure.add(&mut self.refusal, refusal)?;
        for detail in list_at(delta, "/reasoning_details") {
            self.measure.push(&mut self.details, detail.clone())?;
        }
        for call in list_at(delta, "/tool_calls") {
            deltas.extend(self.call(call)?);
        }
        if let Some(word) = at(choice, "/finish_reason").as_str() {
            self.stop = Some(stop(word));
        }
        Ok(deltas)
    }

    pub fn is_done(&self) -> bool {
        self.is_done
    }

    /// A stop reason is the end. Not every server sends the end mark after it or the usage before
    /// that.
    pub fn finish(self) -> Result<Reply, ModelError> {
        let mut stop = self.stop.ok_or_else(broken_off)?;
        if !self.refusal.is_empty() {
            stop = Stop::Refusal { why: self.refusal };
        }
        let mut blocks = Vec::new();
        let mut opaque = Map::new();
        if !self.details.is_empty() {
            opaque.insert(REASONING_DETAILS.to_owned(), self.details.into());
        } else if !self.reasoning.is_empty() {
            opaque.insert(REASONING.to_owned(), self.reasoning.into());
        }
        if !opaque.is_empty() {
            blocks.push(Block::Opaque { raw: opaque.into() });
        }
        blocks.push(Block::Text { text: self.text });
        blocks.extend(self.calls.into_iter().enumerate().map(|(at, call)| call.finish(at)));
        Ok(Reply { blocks, stop, usage: self.usage })
    }

    fn call(&mut self, piece: &Value) -> Result<Vec<Delta>, ModelError> {
        let index = at(piece, "/index").as_u64();
        let (id, function) = (text_of(piece, "id"), at(piece, "/function"));
        let name = text_of(function, "name");
        let mut deltas = Vec::new();
        let place = match self.belongs(index, id, name) {
            Some(place) => place,
            None => {
                deltas.push(Delta::ToolUse(name.to_owned()));
                self.measure.push(&mut self.calls, Call { index, ..Call::default() })?;
                self.calls.len() - 1
            }
        };
        let Some(call) = self.calls.get_mut(place) else { return Ok(deltas) };
        for (field, piece) in [(&mut call.id, id), (&mut call.name, name)] {
            if field.is_empty() {
                self.measure.add(field, piece)?;
            }
        }
        match at(function, "/arguments") {
            Value::String(words) => self.measure.add(&mut call.arguments, words)?,
            whole @ Value::Object(_) => {
                self.measure.add(&mut call.arguments, &whole.to_string())?;
            }
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::Array(_) => {}
        }
        for (key, value) in piece.as_object().into_iter().flatten() {
            if !["index", "id", "type", "function"].contains(&key.as_str()) {
                call.extra.insert(key.clone(), value.clone());
            }
        }
        Ok(deltas)
    }

    /// The call that a piece continues. Pieces have an index, but some servers use the same index
    /// for all calls, or none.
    fn belongs(&self, index: Option<u64>, id: &str, name: &str) -> Option<usize> {
        let is_other = |call: &Call| {
            !id.is_empty() && !call.id.is_empty() && id != call.id && !name.is_empty()
        };
        let at = match index {
            Some(_) => self.calls.iter().rposition(|call| call.index == index)?,
            None if id.is_empty() && !name.is_empty() => return None,
            None => self.calls.len().checked_sub(1)?,
        };
        self.calls.get(at).filter(|call| !is_other(call)).map(|_| at)
    }
}

impl Call {
    fn finish(self, at: usize) -> Block {
        let id = if self.id.is_empty() { own_id(at) } else { self.id };
        let input = arguments(&self.arguments);
        let words = if input.is_object() && !self.arguments.is_empty() {
            self.arguments
        } else {
            "{}".to_owned()
        };
        let mut raw = Map::new();
        raw.insert("id".into(), id.clone().into());
        raw.insert("type".into(), "function".into());
        raw.insert("function".into(), json!({"name": self.name, "arguments": words}));
        raw.extend(self.extra);
        Block::ToolUse { id, name: self.name, input, raw: raw.into() }
    }
}

fn stop(word: &str) -> Stop {
    match word {
        "stop" | "eos" | "end_turn" => Stop::End,
        "tool_calls" | "function_call" => Stop::ToolUse,
        "length" => Stop::MaxTokens,
        "content_filter" => Stop::Refusal { why: "stopped by the content filter".to_owned() },
        other => Stop::Other { word: other.to_owned() },
    }
}

/// The sent tokens include the cached ones.
fn count(usage: &Value) -> Usage {
    let details = at(usage, "/prompt_tokens_details");
    let cached = details.get("cached_tokens").unwrap_or(at(usage, "/prompt_cache_hit_tokens"));
    let (cache_read, cache_write) = (number(cached), number(at(details, "/cache_write_tokens")));
    Usage {
        input: number(at(usage, "/prompt_tokens"))
            .saturating_sub(cache_read)
            .saturating_sub(cache_write),
        output: number(at(usage, "/completion_tokens")),
        cache_read,
        cache_write,
    }
}

#[cfg(test)]
pub(super) mod tests;
