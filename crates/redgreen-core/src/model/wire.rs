//! The four ways to speak to a model over HTTP, behind one door.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::fault::nonsense;
use super::{Block, Delta, Fault, FaultKind, Message, Reply, Request, Stop};
use super::{anthropic, chat, gemini, responses};

/// All that one answer may say; a model's longest answer has a tenth of it.
pub const CONTENT_BYTES_MAX: usize = 8 << 20;
/// Of an answer of one kind: blocks, calls.
const BLOCKS_MAX: usize = 10_000;
const TOKENS_MAX: u64 = 1 << 40;
/// The beginning of ids we make for calls that came without one.
const OWN_ID: &str = "redgreen_call_";

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Wire {
    /// Anthropic's Messages.
    Anthropic,
    /// OpenAI's Responses.
    Responses,
    /// OpenAI's Chat Completions, which most others speak.
    Chat,
    /// Google's generateContent.
    Gemini,
}

/// What servers of one wire format do not do alike.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Dialect {
    pub wire: Wire,
    /// What Chat Completions calls the limit on an answer.
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
        Wire::Chat => chat::encode(request, dialect),
        Wire::Gemini => gemini::encode(request, dialect),
    }
}

/// A number as people write it: `0.4`, not the nearest fraction of two.
pub(super) fn decimal(number: f32) -> Value {
    number.to_string().parse::<f64>().map_or(Value::Null, Value::from)
}

impl Wire {
    /// Where a request goes.
    pub fn url(self, base: &str, model: &str) -> String {
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

    /// Headers other than the key's.
    pub fn headers(self) -> &'static [(&'static str, &'static str)] {
        match self {
            Wire::Anthropic => &[("anthropic-version", anthropic::VERSION)],
            Wire::Responses | Wire::Chat | Wire::Gemini => &[],
        }
    }

    /// The header that carries the key.
    pub fn key_header(self, key: &str) -> (&'static str, String) {
        match self {
            Wire::Anthropic => ("x-api-key", key.to_owned()),
            Wire::Responses | Wire::Chat => ("authorization", format!("Bearer {key}")),
            Wire::Gemini => ("x-goog-api-key", key.to_owned()),
        }
    }
}

/// An answer being put together from its events.
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

    /// Takes one event in. Kinds and fields nobody told us of are passed over.
    pub fn event(&mut self, name: &str, data: &str) -> Result<Vec<Delta>, Fault> {
        match self {
            Decoder::Anthropic(decoder) => decoder.event(name, data),
            Decoder::Responses(decoder) => decoder.event(name, data),
            Decoder::Chat(decoder) => decoder.event(name, data),
            Decoder::Gemini(decoder) => decoder.event(name, data),
        }
    }

    /// Nothing more is to be waited for.
    pub fn is_done(&self) -> bool {
        match self {
            Decoder::Anthropic(decoder) => decoder.is_done(),
            Decoder::Responses(decoder) => decoder.is_done(),
            Decoder::Chat(decoder) => decoder.is_done(),
            Decoder::Gemini(decoder) => decoder.is_done(),
        }
    }

    /// The answer, if its end was seen.
    pub fn finish(self) -> Result<Reply, Fault> {
        match self {
            Decoder::Anthropic(decoder) => decoder.finish(),
            Decoder::Responses(decoder) => decoder.finish(),
            Decoder::Chat(decoder) => decoder.finish(),
            Decoder::Gemini(decoder) => decoder.finish(),
        }
        .map(settle)
    }
}

/// What holds for the answers of all formats.
fn settle(mut reply: Reply) -> Reply {
    reply.blocks.retain(|block| !matches!(block, Block::Text { text } if text.is_empty()));
    let calls = reply.blocks.iter().any(|block| matches!(block, Block::ToolUse { .. }));
    match reply.stop {
        // Some servers say "stop" and call tools all the same.
        Stop::End if calls => reply.stop = Stop::ToolUse,
        // And some announce calls that never come.
        Stop::ToolUse if !calls => reply.stop = Stop::End,
        // What looks like a whole call need not be one.
        Stop::MaxTokens | Stop::Refusal { .. } | Stop::ContextFull | Stop::Other { .. } => {
            for block in &mut reply.blocks {
                if let Block::ToolUse { input, .. } = block {
                    *input = Value::String(input.as_str().map_or_else(|| input.to_string(), str::to_owned));
                }
            }
        }
        Stop::End | Stop::ToolUse | Stop::Pause => {}
    }
    reply
}

/// Events are JSON objects.
pub(super) fn object(data: &str) -> Result<Value, Fault> {
    let value: Value =
        serde_json::from_str(data).map_err(|error| nonsense(&format!("an event is no JSON: {error}")))?;
    if value.is_object() { Ok(value) } else { Err(nonsense("an event is no object")) }
}

/// The arguments of a call, from the words they were written in: an object, or the words themselves.
pub(super) fn arguments(words: &str) -> Value {
    if words.trim().is_empty() {
        return json!({});
    }
    match serde_json::from_str(words) {
        Ok(value @ Value::Object(_)) => value,
        _ => Value::String(words.to_owned()),
    }
}

/// Arguments that are an object by every means: what servers take back.
pub(super) fn as_object(input: &Value) -> Value {
    if input.is_object() { input.clone() } else { json!({}) }
}

/// The same in words, for the formats that want them so.
pub(super) fn as_words(input: &Value) -> String {
    as_object(input).to_string()
}

pub(super) fn own_id(number: usize) -> String {
    format!("{OWN_ID}{number}")
}

pub(super) fn is_own_id(id: &str) -> bool {
    id.starts_with(OWN_ID)
}

/// What is found at the end of a way such as `/usage/input_tokens`, null where it leads nowhere.
pub(super) fn at<'a>(value: &'a Value, way: &str) -> &'a Value {
    value.pointer(way).unwrap_or(&Value::Null)
}

/// The list there; empty where there is none.
pub(super) fn list_at<'a>(value: &'a Value, way: &str) -> &'a [Value] {
    at(value, way).as_array().map(Vec::as_slice).unwrap_or_default()
}

pub(super) fn text_of<'a>(value: &'a Value, key: &str) -> &'a str {
    value.get(key).and_then(Value::as_str).unwrap_or_default()
}

/// A count of tokens; one beyond reason may not upset the sums it goes into.
pub(super) fn number(value: &Value) -> u64 {
    value.as_u64().unwrap_or(0).min(TOKENS_MAX)
}

/// What has been gathered of an answer, so that no answer is too much for us.
#[derive(Debug, Default)]
pub(super) struct Measure {
    bytes: usize,
}

impl Measure {
    /// Makes `text` longer, unless that is more than we are ready to keep.
    pub(super) fn add(&mut self, text: &mut String, piece: &str) -> Result<(), Fault> {
        self.bytes += piece.len();
        if self.bytes > CONTENT_BYTES_MAX {
            return Err(too_large());
        }
        text.push_str(piece);
        Ok(())
    }

    /// Adds an entry to a list.
    pub(super) fn push<T>(&mut self, list: &mut Vec<T>, entry: T) -> Result<(), Fault> {
        if list.len() >= BLOCKS_MAX {
            return Err(too_large());
        }
        list.push(entry);
        Ok(())
    }
}

fn too_large() -> Fault {
    Fault::new(FaultKind::TooLarge, format!("the answer has more than {CONTENT_BYTES_MAX} bytes"))
}

/// Messages with neighbours of one role joined and empty words left out: what every server takes.
pub(super) fn turns(messages: &[Message]) -> Vec<(Role, Vec<&Block>)> {
    let mut turns: Vec<(Role, Vec<&Block>)> = Vec::new();
    for message in messages {
        let (role, blocks) = match message {
            Message::User(blocks) => (Role::User, blocks),
            Message::Assistant(blocks) => (Role::Assistant, blocks),
        };
        let blocks = blocks.iter().filter(|block| !matches!(block, Block::Text { text } if text.is_empty()));
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

/// A name as a part of an address.
fn percent(name: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~/".contains(&byte);
    name.bytes().map(|byte| if plain(byte) { char::from(byte).to_string() } else { format!("%{byte:02X}") }).collect()
}

#[cfg(test)]
pub(super) mod tests;
