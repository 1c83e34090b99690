//! OpenAI's Responses API, stateless: every request contains the whole conversation.

use serde_json::{Map, Value, json};

use super::error::{broken_off, nonsense, stream_error};
use super::wire::{
    Dialect, Measure, Role, arguments, as_words, at, decimal, list_at, number, object, text_of,
    turns,
};
use super::{Block, Delta, ModelError, Reply, Request, Stop, Usage};

/// The request body. Reasoning is encrypted and sent back unread.
pub fn encode(request: &Request, _dialect: &Dialect) -> Value {
    let mut body = Map::new();
    body.insert("model".into(), request.model.clone().into());
    body.insert("stream".into(), true.into());
    body.insert("store".into(), false.into());
    body.insert("include".into(), json!(["reasoning.encrypted_content"]));
    body.insert("max_output_tokens".into(), request.max_tokens.into());
    if let Some(schema) = &request.schema {
        let format =
            json!({"type": "json_schema", "name": "answer", "strict": false, "schema": schema});
        body.insert("text".into(), json!({"format": format}));
    }
    if let Some(temperature) = request.temperature {
        body.insert("temperature".into(), decimal(temperature));
    }
    if !request.system.is_empty() {
        body.insert("instructions".into(), request.system.clone().into());
    }
    if !request.tools.is_empty() {
        // Strict mode is the default here and needs special schemas.
        let tools: Vec<Value> = request
            .tools
            .iter()
            .map(|tool| {
                json!({"type": "function", "name": tool.name, "description": tool.description,
                    "parameters": tool.input, "strict": false})
            })
            .collect();
        body.insert("tools".into(), tools.into());
    }
    let items: Vec<Value> = turns(&request.messages)
        .iter()
        .flat_map(|(role, blocks)| blocks.iter().map(move |block| item(*role, block)))
        .collect();
    body.insert("input".into(), items.into());
    body.into()
}

fn item(role: Role, block: &Block) -> Value {
    match (block, role) {
        (Block::Text { text }, Role::User) => {
            json!({"type": "message", "role": "user", "content": [{"type": "input_text", "text": text}]})
        }
        (Block::Text { text }, Role::Assistant) => {
            json!({"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": text}]})
        }
        (Block::ToolUse { raw, .. }, _) if raw.is_object() => raw.clone(),
        (Block::ToolUse { id, name, input, .. }, _) => {
            json!({"type": "function_call", "call_id": id, "name": name, "arguments": as_words(input)})
        }
        (Block::ToolResult { id, text, .. }, _) => {
            json!({"type": "function_call_output", "call_id": id, "output": text})
        }
        (Block::Opaque { raw }, _) => raw.clone(),
    }
}

#[derive(Debug, Default)]
pub struct Decoder {
    /// Complete items, by index.
    items: Vec<(u64, Value)>,
    end: Option<End>,
    /// Passed-through text, counted against the limit but not kept.
    passed: String,
    measure: Measure,
}

#[derive(Debug)]
struct End {
    /// The items again; some servers send them at the end.
    output: Vec<Value>,
    stop: Stop,
    usage: Usage,
}

impl Decoder {
    pub fn event(&mut self, name: &str, data: &str) -> Result<Vec<Delta>, ModelError> {
        let data = object(data)?;
        let kind = data.get("type").and_then(Value::as_str).unwrap_or(name);
        let piece = text_of(&data, "delta").to_owned();
        match kind {
            "response.output_text.delta" | "response.refusal.delta" => {
                self.pass(&piece, Delta::Text)
            }
            "response.reasoning_summary_text.delta" | "response.reasoning_text.delta" => {
                self.pass(&piece, Delta::Thinking)
            }
            "response.output_item.added" if at(&data, "/item/type") == "function_call" => {
                Ok(vec![Delta::ToolUse(text_of(at(&data, "/item"), "name").to_owned())])
            }
            "response.output_item.done" => {
                let item = (number(at(&data, "/output_index")), at(&data, "/item").clone());
                self.measure.push(&mut self.items, item)?;
                Ok(Vec::new())
            }
            "response.completed" | "response.incomplete" => {
                let response = at(&data, "/response");
                let is_whole =
                    kind == "response.completed" && at(response, "/status") != "incomplete";
                let stop = if is_whole {
                    Stop::End
                } else {
                    incomplete(at(response, "/incomplete_details"))
                };
                Ok(self.end(response, stop))
            }
            "response.failed" | "response.cancelled" => Err(stream_error(at(&data, "/response"))
                .unwrap_or_else(|| nonsense("a failed response without a message"))),
            "error" => {
                // The error is the event itself or inside it.
                let inside = stream_error(&data).or_else(|| stream_error(&json!({"error": data})));
                Err(inside.unwrap_or_else(|| nonsense("an error event without a message")))
            }
            _ => Ok(Vec::new()),
        }
    }

    pub fn is_done(&self) -> bool {
        self.end.is_some()
    }

    pub fn finish(mut self) -> Result<Reply, ModelError> {
        let End { output, mut stop, usage } = self.end.ok_or_else(broken_off)?;
        self.items.sort_by_key(|(place, _)| *place);
        let items: Vec<Value> = if output.len() >= self.items.len() {
            output
        } else {
            self.items.into_iter().map(|(_, item)| item).collect()
        };
        let mut blocks = Vec::new();
        for item in items {
            match text_of(&item, "type") {
                "message" => {
                    for part in list_at(&item, "/content") {
                        match text_of(part, "type") {
                            "output_text" => {
                                blocks.push(Block::Text { text: text_of(part, "text").to_owned() });
                            }
                            "refusal" => {
                                stop = Stop::Refusal { why: text_of(part, "refusal").to_owned() }
                            }
                            _ => {}
                        }
                    }
                }
                "function_call" => blocks.push(call(item)),
                _ => blocks.push(Block::Opaque { raw: item }),
            }
        }
        Ok(Reply { blocks, stop, usage })
    }

    fn pass(&mut self, piece: &str, delta: fn(String) -> Delta) -> Result<Vec<Delta>, ModelError> {
        self.passed.clear();
        self.measure.add(&mut self.passed, piece)?;
        Ok(vec![delta(piece.to_owned())])
    }

    fn end(&mut self, response: &Value, stop: Stop) -> Vec<Delta> {
        let usage = usage(at(response, "/usage"));
        let output = at(response, "/output").as_array().cloned().unwrap_or_default();
        self.end = Some(End { output, stop, usage });
        vec![Delta::Usage(usage)]
    }
}

fn incomplete(details: &Value) -> Stop {
    match text_of(details, "reason") {
        // Without a reason, the token limit is the most likely one.
        "max_output_tokens" | "" => Stop::MaxTokens,
        "content_filter" => Stop::Refusal { why: "stopped by the content filter".to_owned() },
        other => Stop::Other { word: other.to_owned() },
    }
}

fn call(mut item: Value) -> Block {
    let input = arguments(text_of(&item, "arguments"));
    if let (false, Some(raw)) = (input.is_object(), item.as_object_mut()) {
        raw.insert("arguments".to_owned(), "{}".into());
    }
    let id =
        [text_of(&item, "call_id"), text_of(&item, "id")].into_iter().find(|id| !id.is_empty());
    Block::ToolUse {
        id: id.unwrap_or_default().to_owned(),
        name: text_of(&item, "name").to_owned(),
        input,
        raw: item,
    }
}

/// The sent tokens include the cached ones.
fn usage(usage: &Value) -> Usage {
    let details = at(usage, "/input_tokens_details");
    let (cache_read, cache_write) =
        (number(at(details, "/cached_tokens")), number(at(details, "/cache_write_tokens")));
    Usage {
        input: number(at(usage, "/input_tokens"))
            .saturating_sub(cache_read)
            .saturating_sub(cache_write),
        output: number(at(usage, "/output_tokens")),
        cache_read,
        cache_write,
    }
}

#[cfg(test)]
pub(super) mod tests;
