//! The four HTTP APIs of models behind one interface.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::error::nonsense;
use super::{Block, Delta, Message, ModelError, ModelErrorKind, Reply, Request, Stop};
use super::{anthropic, chat, gemini, ollama, responses};

/// Maximum size of one answer; the longest real answers are a tenth of it.
pub const CONTENT_BYTES_MAX: usize = 8 << 20;
/// Maximum number of blocks or calls in an answer.
const BLOCKS_MAX: usize = 10_000;
const TOKENS_MAX: u64 = 1 << 40;
/// The prefix of ids for calls that arrived without one.
const OWN_ID: &str = "redgreen_call_";

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Wire {
    /// Anthropic's Messages.
    Anthropic,
    /// OpenAI's Responses.
    Responses,
    /// OpenAI's Chat Completions, which most other servers implement.
    Chat,
    /// Google's generateContent.
    Gemini,
}

/// Differences between servers of one wire format.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Dialect {
    pub wire: Wire,
    /// The name of the token limit in Chat Completions.
    pub limit_key: &'static str,
}

impl Dialect {
    pub fn of(wire: Wire) -> Self {
        Self { wire, limit_key: "max_tokens" }
    }
}

/// The body of a request.
pub fn encode(request: &Request, dialect: &Dialect) -> Value {
    match dialect.wire {
        Wire::Anthropic => anthropic::encode(request, dialect),
        Wire::Responses => responses::encode(request, dialect),
        Wire::Chat if ollama::is_for(request) => ollama::encode(request),
        Wire::Chat => chat::encode(request, dialect),
        Wire::Gemini => gemini::encode(request, dialect),
    }
}

/// The URL of a request to this server.
pub fn url(request: &Request, wire: Wire, base: &str, model: &str) -> String {
    match wire {
        Wire::Chat if ollama::is_for(request) => ollama::url(base),
        Wire::Anthropic | Wire::Responses | Wire::Chat | Wire::Gemini => wire.url(base, model),
    }
}

/// Rounds to the shortest decimal: `0.4`, not the nearest binary fraction.
pub(super) fn decimal(number: f32) -> Value {
    number.to_string().parse::<f64>().map_or(Value::Null, Value::from)
}

impl Wire {
    /// The URL of a request in this format.
    fn url(self, base: &str, model: &str) -> String {
        let base = base.trim_end_matches('/');
        match self {
            Wire::Anthropic => format!("{}/v1/messages", base.strip_suffix("/v1").unwrap_or(base)),
            Wire::Responses => format!("{base}/responses"),
            Wire::Chat => format!("{base}/chat/completions"),
            Wire::Gemini => {
                let base = base.strip_suffix("/v1beta").unwrap_or(base);
                format!("{base}/v1beta/models/{}:streamGenerateContent?alt=sse", percent(model))
            }
        }
    }

    /// All headers except the key.
    pub fn headers(self) -> &'static [(&'static str, &'static str)] {
        match self {
            Wire::Anthropic => &[("anthropic-version", anthropic::VERSION)],
            Wire::Responses | Wire::Chat | Wire::Gemini => &[],
        }
    }

    /// The header with the key.
    pub fn key_header(self, key: &str) -> (&'static str, String) {
        match self {
            Wire::Anthropic => ("x-api-key", key.to_owned()),
            Wire::Responses | Wire::Chat => ("authorization", format!("Bearer {key}")),
            Wire::Gemini => ("x-goog-api-key", key.to_owned()),
        }
    }
}

/// Assembles an answer from its events.
#[derive(Debug)]
pub enum Decoder {
    Anthropic(anthropic::Decoder),
    Responses(responses::Decoder),
    Chat(chat::Decoder),
    Gemini(gemini::Decoder),
}

impl Decoder {
    pub fn new(wire: Wire) -> Self {
        match wire {
            Wire::Anthropic => Decoder::Anthropic(anthropic::Decoder::default()),
            Wire::Responses => Decoder::Responses(responses::Decoder::default()),
            Wire::Chat => Decoder::Chat(chat::Decoder::default()),
            Wire::Gemini => Decoder::Gemini(gemini::Decoder::default()),
        }
    }

    /// Reads one event. Unknown kinds and fields are ignored.
    pub fn event(&mut self, name: &str, data: &str) -> Result<Vec<Delta>, ModelError> {
        match self {
            Decoder::Anthropic(decoder) => decoder.event(name, data),
            Decoder::Responses(decoder) => decoder.event(name, data),
            Decoder::Chat(decoder) => decoder.event(name, data),
            Decoder::Gemini(decoder) => decoder.event(name, data),
        }
    }

    /// Whether the answer is complete, so that no more events are needed.
    pub fn is_done(&self) -> bool {
        match self {
            Decoder::Anthropic(decoder) => decoder.is_done(),
            Decoder::Responses(decoder) => decoder.is_done(),
            Decoder::Chat(decoder) => decoder.is_done(),
            Decoder::Gemini(decoder) => decoder.is_done(),
        }
    }

    /// The answer, if its end arrived.
    pub fn finish(self) -> Result<Reply, ModelError> {
        match self {
            Decoder::Anthropic(decoder) => decoder.finish(),
            Decoder::Responses(decoder) => decoder.finish(),
            Decoder::Chat(decoder) => decoder.finish(),
            Decoder::Gemini(decoder) => decoder.finish(),
        }
        .map(settle)
    }
}

/// Normalizes the answers of all formats.
fn settle(mut reply: Reply) -> Reply {
    reply.blocks.retain(|block| !matches!(block, Block::Text { text } if text.is_empty()));
    let calls = reply.blocks.iter().any(|block| matches!(block, Block::ToolUse { .. }));
    match reply.stop {
        // Some servers report "stop" although they call tools.
        Stop::End if calls => reply.stop = Stop::ToolUse,
        // Some servers announce calls that never arrive.
        Stop::ToolUse if !calls => reply.stop = Stop::End,
        // A call can look complete although it is truncated.
        Stop::MaxTokens | Stop::Refusal { .. } | Stop::ContextFull | Stop::Other { .. } => {
            for block in &mut reply.blocks {
                if let Block::ToolUse { input, .. } = block {
                    *input = Value::String(
                        input.as_str().map_or_else(|| input.to_string(), str::to_owned),
                    );
                }
            }
        }
        Stop::End | Stop::ToolUse | Stop::Pause => {}
    }
    reply
}

/// Parses an event, which is a JSON object.
pub(super) fn object(data: &str) -> Result<Value, ModelError> {
    let value: Value = serde_json::from_str(data)
        .map_err(|error| nonsense(&format!("an event is not valid JSON: {error}")))?;
    if value.is_object() { Ok(value) } else { Err(nonsense("an event is not an object")) }
}

/// Parses the arguments of a call: an object, or the text if it is not valid JSON.
pub(super) fn arguments(words: &str) -> Value {
    if words.trim().is_empty() {
        return json!({});
    }
    match serde_json::from_str(words) {
        Ok(value @ Value::Object(_)) => value,
        _ => Value::String(words.to_owned()),
    }
}

/// The arguments as an object, which all servers accept back.
pub(super) fn as_object(input: &Value) -> Value {
    if input.is_object() { input.clone() } else { json!({}) }
}

/// The same as text, for formats that expect a string.
pub(super) fn as_words(input: &Value) -> String {
    as_object(input).to_string()
}

pub(super) fn own_id(number: usize) -> String {
    format!("{OWN_ID}{number}")
}

pub(super) fn is_own_id(id: &str) -> bool {
    id.starts_with(OWN_ID)
}

/// The value at a JSON pointer such as `/usage/input_tokens`, or null.
pub(super) fn at<'a>(value: &'a Value, way: &str) -> &'a Value {
    value.pointer(way).unwrap_or(&Value::Null)
}

/// The list at a JSON pointer, or an empty list.
pub(super) fn list_at<'a>(value: &'a Value, way: &str) -> &'a [Value] {
    at(value, way).as_array().map(Vec::as_slice).unwrap_or_default()
}

pub(super) fn text_of<'a>(value: &'a Value, key: &str) -> &'a str {
    value.get(key).and_then(Value::as_str).unwrap_or_default()
}

/// A token count, limited so that sums cannot overflow.
pub(super) fn number(value: &Value) -> u64 {
    value.as_u64().unwrap_or(0).min(TOKENS_MAX)
}

/// Counts the size of an answer to enforce the limits.
#[derive(Debug, Default)]
pub(super) struct Measure {
    bytes: usize,
}

impl Measure {
    /// Appends to `text` within the limit.
    pub(super) fn add(&mut self, text: &mut String, piece: &str) -> Result<(), ModelError> {
        self.bytes += piece.len();
        if self.bytes > CONTENT_BYTES_MAX {
            return Err(too_large());
        }
        text.push_str(piece);
        Ok(())
    }

    /// Adds an entry to a list.
    pub(super) fn push<T>(&mut self, list: &mut Vec<T>, entry: T) -> Result<(), ModelError> {
        if list.len() >= BLOCKS_MAX {
            return Err(too_large());
        }
        list.push(entry);
        Ok(())
    }
}

fn too_large() -> ModelError {
    ModelError::new(
        ModelErrorKind::TooLarge,
        format!("the answer has more than {CONTENT_BYTES_MAX} bytes"),
    )
}

/// Merges neighbouring messages of one role and drops empty text, as all servers expect.
pub(super) fn turns(messages: &[Message]) -> Vec<(Role, Vec<&Block>)> {
    let mut turns: Vec<(Role, Vec<&Block>)> = Vec::new();
    for message in messages {
        let (role, blocks) = match message {
            Message::User(blocks) => (Role::User, blocks),
            Message::Assistant(blocks) => (Role::Assistant, blocks),
        };
        let blocks =
            blocks.iter().filter(|block| !matches!(block, Block::Text { text } if text.is_empty()));
        match turns.last_mut() {
            Some((last, known)) if *last == role => known.extend(blocks),
            _ => turns.push((role, blocks.collect())),
        }
    }
    turns.retain(|(_, blocks)| !blocks.is_empty());
    turns
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Role {
    User,
    Assistant,
}

/// Percent-encodes a name for a URL.
fn percent(name: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~/".contains(&byte);
    name.bytes()
        .map(|byte| if plain(byte) { char::from(byte).to_string() } else { format!("%{byte:02X}") })
        .collect()
}

#[cfg(test)]
pub(super) mod tests;
