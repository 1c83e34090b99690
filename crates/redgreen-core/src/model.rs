//! A conversation with a model, in one form for all providers. The wire formats in `model/`
//! translate it. They keep data they do not understand, so that it can be sent back unchanged.

pub mod ability;
pub mod anthropic;
pub mod chat;
pub mod error;
pub mod gemini;
mod grammar;
mod ollama;
pub mod price;
pub mod provider;
pub mod responses;
pub mod retry;
pub mod sse;
pub mod wire;

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// A complete request to a model. The conversation only grows at its end; earlier messages never
/// change.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Request {
    pub model: String,
    pub system: String,
    pub tools: Vec<Tool>,
    pub messages: Vec<Message>,
    pub max_tokens: u32,
    /// A JSON Schema for the answer, for servers that enforce it.
    pub schema: Option<Value>,
    /// Only for Chat Completions: its servers differ.
    pub schema_field: SchemaField,
    /// `None` uses the server's default.
    pub temperature: Option<f32>,
}

/// The field of a request that carries the schema of the answer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SchemaField {
    /// As in OpenAI's Chat Completions.
    #[default]
    ResponseFormat,
    /// Of Ollama's own API at `/api/chat`.
    Format,
    /// Of llama.cpp, as a grammar.
    Grammar,
}

/// A tool that the model can call.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Tool {
    pub name: String,
    pub description: String,
    /// A JSON Schema of type `object`.
    pub input: Value,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "role", content = "blocks", rename_all = "kebab-case")]
pub enum Message {
    User(Vec<Block>),
    Assistant(Vec<Block>),
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "block", rename_all = "kebab-case")]
pub enum Block {
    Text {
        text: String,
    },
    ToolUse {
        id: String,
        name: String,
        /// An object if the call can run. Arguments that are not valid JSON, and those of a
        /// truncated answer, are a string.
        input: Value,
        /// The call as received, to send it back unchanged; null if redgreen created it.
        #[serde(default)]
        raw: Value,
    },
    ToolResult {
        id: String,
        name: String,
        text: String,
        is_error: bool,
    },
    /// A block that only its provider understands, such as signed thinking; sent back unchanged.
    Opaque {
        raw: Value,
    },
}

/// A complete answer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Reply {
    pub blocks: Vec<Block>,
    pub stop: Stop,
    pub usage: Usage,
}

/// The reason why a model stopped.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "stop", rename_all = "kebab-case")]
pub enum Stop {
    /// The answer is complete.
    End,
    /// The model waits for tool results.
    ToolUse,
    /// Truncated: a tool call in this answer can look complete, but must not run.
    MaxTokens,
    /// The model refused.
    Refusal {
        why: String,
    },
    /// The conversation exceeds the context window.
    ContextFull,
    /// The provider paused the turn; send it back to continue.
    Pause,
    Other {
        word: String,
    },
}

/// Tokens of one exchange. The request consists of `input`, `cache_read` and `cache_write`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Usage {
    pub input: u64,
    pub output: u64,
    pub cache_read: u64,
    pub cache_write: u64,
}

/// A streamed piece of an answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Delta {
    Text(String),
    Thinking(String),
    /// A tool call starts.
    ToolUse(String),
    /// The total so far, not the increment.
    Usage(Usage),
    /// The attempt failed and its deltas are void. The request is repeated after a pause.
    Again {
        error: ModelError,
        pause_ms: u64,
    },
}

/// The reason why there is no answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ModelError {
    pub kind: ModelErrorKind,
    /// The server's message, or ours if it sent none.
    pub message: String,
    /// The wait time that the server requested.
    pub retry_after_ms: Option<u64>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ModelErrorKind {
    /// 429.
    RateLimit,
    /// 529, 503 and the like.
    Overloaded,
    /// 500, 502, 504, and invalid answers.
    Server,
    /// No connection, or it was closed before the answer was complete.
    Network,
    /// No answer, or no further data, in time.
    Timeout,
    /// 401, 403.
    Auth,
    /// Payment required: 402, a spend limit.
    Billing,
    /// 404: the model does not exist, or the key has no access to it.
    UnknownModel,
    /// The conversation is too long: 413, or the provider's own code for it.
    TooLong,
    /// 400 and others: a retry cannot help.
    BadRequest,
    /// The answer exceeds our size limit.
    TooLarge,
}

impl ModelErrorKind {
    /// Whether a retry of the same request can succeed.
    pub fn is_passing(self) -> bool {
        match self {
            ModelErrorKind::RateLimit
            | ModelErrorKind::Overloaded
            | ModelErrorKind::Server
            | ModelErrorKind::Network
            | ModelErrorKind::Timeout => true,
            ModelErrorKind::Auth
            | ModelErrorKind::Billing
            | ModelErrorKind::UnknownModel
            | ModelErrorKind::TooLong
            | ModelErrorKind::BadRequest
            | ModelErrorKind::TooLarge => false,
        }
    }
}

impl ModelError {
    pub fn new(kind: ModelErrorKind, message: impl Into<String>) -> Self {
        Self { kind, message: message.into(), retry_after_ms: None }
    }
}

impl std::fmt::Display for ModelError {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.write_str(&self.message)
    }
}

impl Usage {
    pub fn total(&self) -> u64 {
        self.input + self.output + self.cache_read + self.cache_write
    }
}
