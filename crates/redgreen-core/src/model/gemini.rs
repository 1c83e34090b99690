//! Google's generateContent API, streamed.

use serde_json::{Map, Value, json};

use super::error::{broken_off, stream_error};
use super::wire::{
    Dialect, Measure, Role, as_object, at, decimal, is_own_id, list_at, number, object, own_id,
    text_of, turns,
};
use super::{Block, Delta, ModelError, Reply, Request, Stop, Usage};

/// The request body; the model's name is in the URL.
pub fn encode(request: &Request, _dialect: &Dialect) -> Value {
    let mut body = Map::new();
    if !request.system.is_empty() {
        body.insert("systemInstruction".into(), json!({"parts": [{"text": request.system}]}));
    }
    if !request.tools.is_empty() {
        let tools: Vec<Value> = request
            .tools
            .iter()
            .map(|tool| json!({"name": tool.name, "description": tool.description, "parametersJsonSchema": tool.input}))
            .collect();
        body.insert("tools".into(), json!([{"functionDeclarations": tools}]));
    }
    let mut config = json!({"maxOutputTokens": request.max_tokens});
    if let Some(schema) = &request.schema {
        merge(
            &mut config,
            json!({"responseMimeType": "application/json", "responseJsonSchema": schema}),
        );
    }
    if let Some(temperature) = request.temperature {
        merge(&mut config, json!({"temperature": decimal(temperature)}));
    }
    body.insert("generationConfig".into(), config);
    let contents: Vec<Value> = turns(&request.messages)
        .iter()
        .map(|(role, blocks)| {
            let role = match role {
                Role::User => "user",
                Role::Assistant => "model",
            };
            json!({"role": role, "parts": blocks.iter().map(|block| part(block)).collect::<Vec<_>>()})
        })
        .collect();
    body.insert("contents".into(), contents.into());
    body.into()
}

fn merge(config: &mut Value, more: Value) {
    if let (Value::Object(config), Value::Object(more)) = (config, more) {
        config.extend(more);
    }
}

fn part(block: &Block) -> Value {
    match block {
        Block::Text { text } => json!({"text": text}),
        Block::ToolUse { raw, .. } if raw.is_object() => raw.clone(),
        Block::ToolUse { name, input, .. } => {
            json!({"functionCall": {"name": name, "args": as_object(input)}})
        }
        Block::ToolResult { id, name, text, is_error } => {
            let key = if *is_error { "error" } else { "output" };
            let mut response = json!({"name": name, "response": {key: text}});
            // A call without an id expects a result without one.
            if let (false, Some(fields)) = (is_own_id(id), response.as_object_mut()) {
                fields.insert("id".to_owned(), id.clone().into());
            }
            json!({"functionResponse": response})
        }
        Block::Opaque { raw } => raw.clone(),
    }
}

#[derive(Debug, Default)]
pub struct Decoder {
    blocks: Vec<Block>,
    usage: Usage,
    stop: Option<Stop>,
    measure: Measure,
}

impl Decoder {
    pub fn event(&mut self, _name: &str, data: &str) -> Result<Vec<Delta>, ModelError> {
        let data = object(data)?;
        if let Some(error) = stream_error(&data) {
            return Err(error);
        }
        let mut deltas = Vec::new();
        let candidate = at(&data, "/candidates/0");
        for part in list_at(candidate, "/content/parts") {
            deltas.extend(self.part(part)?);
        }
        if let Some(word) = at(candidate, "/finishReason").as_str() {
            self.stop = Some(stop(word, text_of(candidate, "finishMessage")));
        } else if let Some(why) = at(&data, "/promptFeedback/blockReason").as_str() {
            self.stop = Some(Stop::Refusal { why: format!("the request was blocked: {why}") });
        }
        if let Some(usage) = data.get("usageMetadata") {
            self.usage = count(usage);
            deltas.push(Delta::Usage(self.usage));
        }
        Ok(deltas)
    }

    /// Only the end of the stream marks the end.
    pub fn is_done(&self) -> bool {
        false
    }

    pub fn finish(self) -> Result<Reply, ModelError> {
        let stop = self.stop.ok_or_else(broken_off)?;
        Ok(Reply { blocks: self.blocks, stop, usage: self.usage })
    }

    fn part(&mut self, part: &Value) -> Result<Vec<Delta>, ModelError> {
        let signature = part.get("thoughtSignature");
        if let Some(call) = part.get("functionCall") {
            let name = text_of(call, "name").to_owned();
            let id = text_of(call, "id");
            let calls =
                self.blocks.iter().filter(|block| matches!(block, Block::ToolUse { .. })).count();
            let id = if id.is_empty() { own_id(calls) } else { id.to_owned() };
            let input = call
                .get("args")
                .filter(|args| !args.is_null())
                .cloned()
                .unwrap_or_else(|| json!({}));
            let block = Block::ToolUse { id, name: name.clone(), input, raw: part.clone() };
            self.measure.push(&mut self.blocks, block)?;
            return Ok(vec![Delta::ToolUse(name)]);
        }
        let Some(words) = part.get("text").and_then(Value::as_str) else {
            self.measure.push(&mut self.blocks, Block::Opaque { raw: part.clone() })?;
            return Ok(Vec::new());
        };
        if at(part, "/thought") == true {
            self.measure.push(&mut self.blocks, Block::Opaque { raw: part.clone() })?;
            return Ok(vec![Delta::Thinking(words.to_owned())]);
        }
        match self.blocks.last_mut() {
            Some(Block::Text { text }) => self.measure.add(text, words)?,
            _ => {
                let mut text = String::new();
                self.measure.add(&mut text, words)?;
                self.measure.push(&mut self.blocks, Block::Text { text })?;
            }
        }
        if let Some(signature) = signature {
            let raw = json!({"text": "", "thoughtSignature": signature});
            self.measure.push(&mut self.blocks, Block::Opaque { raw })?;
        }
        Ok(if words.is_empty() { Vec::new() } else { vec![Delta::Text(words.to_owned())] })
    }
}

fn stop(word: &str, message: &str) -> Stop {
    match word {
        "STOP" => Stop::End,
        // Not a value of Google's own API.
        "FUNCTION_CALL" => Stop::ToolUse,
        "MAX_TOKENS" => Stop::MaxTokens,
        "SAFETY" | "RECITATION" | "BLOCKLIST" | "PROHIBITED_CONTENT" | "SPII" | "LANGUAGE" => {
            Stop::Refusal {
                why: if message.is_empty() { word.to_owned() } else { message.to_owned() },
            }
        }
        other => Stop::Other { word: other.to_owned() },
    }
}

/// The sent tokens include the cached ones; thinking tokens are billed as output.
fn count(usage: &Value) -> Usage {
    let cache_read = number(at(usage, "/cachedContentTokenCount"));
    let sent =
        number(at(usage, "/promptTokenCount")) + number(at(usage, "/toolUsePromptTokenCount"));
    Usage {
        input: sent.saturating_sub(cache_read),
        output: number(at(usage, "/candidatesTokenCount"))
            + number(at(usage, "/thoughtsTokenCount")),
        cache_read,
        cache_write: 0,
    }
}

#[cfg(test)]
pub(super) mod tests;
