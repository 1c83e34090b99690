//! A conversation with a model, in one form for every provider. The wire formats in `model/` translate it; they keep
//! what they do not understand, so that it can be sent back unchanged.

pub mod ability;
pub mod anthropic;
pub mod chat;
pub mod fault;
pub mod gemini;
pub mod price;
pub mod provider;
pub mod responses;
pub mod retry;
pub mod sse;
pub mod wire;

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Everything a model is sent. The conversation only ever grows at its end: what was sent once stays as it was.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Request {
    pub model: String,
    pub system: String,
    pub tools: Vec<Tool>,
    pub messages: Vec<Message>,
    pub max_tokens: u32,
    /// A JSON Schema that the answer has to keep, where the server can see to it.
    pub schema: Option<Value>,
    /// The server's own where nobody says.
    pub temperature: Option<f32>,
}

/// A tool the model may call.
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
        /// An object, if the call may be run. Words that are none, and those of an answer that was cut off, are a string.
        input: Value,
        /// The call as it came, to be sent back so; null where we made it.
        #[serde(default)]
        raw: Value,
    },
    ToolResult {
        id: String,
        name: String,
        text: String,
        is_error: bool,
    },
    /// A block only its provider understands, such as signed thinking; sent back as it came.
    Opaque {
        raw: Value,
    },
}

/// A whole answer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Reply {
    pub blocks: Vec<Block>,
    pub stop: Stop,
    pub usage: Usage,
}

/// Why a model stopped.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "stop", rename_all = "kebab-case")]
pub enum Stop {
    /// It has nothing more to say.
    End,
    /// It waits for the results of its tools.
    ToolUse,
    /// Cut off: a tool call in this answer may look whole and is not to be run.
    MaxTokens,
    /// It will not do this.
    Refusal {
        why: String,
    },
    /// The conversation is too long for it.
    ContextFull,
    /// The provider paused the turn; send it back to go on.
    Pause,
    Other {
        word: String,
    },
}

/// Tokens of one exchange; all of `input`, `cache_read` and `cache_write` were sent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Usage {
    pub input: u64,
    pub output: u64,
    pub cache_read: u64,
    pub cache_write: u64,
}

/// A piece of an answer on its way.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Delta {
    Text(String),
    Thinking(String),
    /// A tool call begins.
    ToolUse(String),
    /// All so far, not what is new.
    Usage(Usage),
    /// The try failed, and what was heard of it does not count: the request is made again after a pause.
    Again {
        fault: Fault,
        pause_ms: u64,
    },
}

/// Why there is no answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Fault {
    pub kind: FaultKind,
    /// The server's own words, or ours where it said nothing.
    pub message: String,
    /// What the server asks to wait for.
    pub retry_after_ms: Option<u64>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum FaultKind {
    /// 429.
    RateLimit,
    /// 529, 503 and the like.
    Overloaded,
    /// 500, 502, 504, and answers that make no sense.
    Server,
    /// No connection, or it broke off before the answer was whole.
    Network,
    /// No answer, or no further piece of it, in time.
    Timeout,
    /// 401, 403.
    Auth,
    /// No money: 402, a spend limit.
    Billing,
    /// 404: there is no such model, or not for this key.
    UnknownModel,
    /// The conversation is too long: 413, or the provider's own word for it.
    TooLong,
    /// 400 and the rest: trying again cannot help.
    BadRequest,
    /// Larger than we are ready to read.
    TooLarge,
}

impl FaultKind {
    /// Whether the same request may come through later.
    pub fn is_passing(self) -> bool {
        match self {
            FaultKind::RateLimit
            | FaultKind::Overloaded
            | FaultKind::Server
            | FaultKind::Network
            | FaultKind::Timeout => true,
            FaultKind::Auth
            | FaultKind::Billing
            | FaultKind::UnknownModel
            | FaultKind::TooLong
            | FaultKind::BadRequest
            | FaultKind::TooLarge => false,
        }
    }
}

impl Fault {
    pub fn new(kind: FaultKind, message: impl Into<String>) -> Self {
        Self { kind, message: message.into(), retry_after_ms: None }
    }
}

impl std::fmt::Display for Fault {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.write_str(&self.message)
    }
}

impl Usage {
    pub fn total(&self) -> u64 {
        self.input + self.output + self.cache_read + self.cache_write
    }
}
