//! The client side of the Agent Client Protocol, version 1: JSON-RPC, one message per line. It
//! decides what to send in response to a message, and performs no I/O. Agents add their own fields,
//! notifications and methods, so it reads only what it needs.

mod permission;
pub mod service;

use serde_json::{Value, json};

use crate::agent::{AgentActivity, Strategy, Turn};
use crate::agent_output::{
    AgentError, AgentOutput, Dialect, last_lines, number, object, sum, text,
};
use crate::report::Exit;
use service::ServiceRequest;

const PROTOCOL_VERSION: u64 = 1;
/// An extension of the protocol: a message during a turn. Agents offer it in their greeting.
const STEERING: &str = "_session/steering";
/// JSON-RPC error codes.
const INVALID_REQUEST: i64 = -32600;
const METHOD_NOT_FOUND: i64 = -32601;
const AUTH_REQUIRED: i64 = -32000;

/// The purpose of a conversation.
#[derive(Clone, Debug, PartialEq)]
pub struct Plan {
    /// The absolute path of the agent's working folder.
    pub folder: String,
    /// `None` only identifies the agent.
    pub prompt: Option<String>,
    pub strategy: Strategy,
    /// The mode to set for the session, if the agent has it.
    pub mode: Option<String>,
    /// The services offered to the agent.
    pub offers: ClientServices,
}

/// Whether the agent can ask us to read and write files and run programs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ClientServices {
    #[default]
    Nothing,
    FilesAndTerminals,
}

/// The reaction to a line.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Reaction {
    /// Lines to send, each with its line end.
    pub send: String,
    /// What to show to the user.
    pub said: Vec<AgentActivity>,
    /// A request of the agent to execute and answer.
    pub asked: Option<ServiceRequest>,
    /// The conversation is over.
    pub over: bool,
}

/// The identity of the agent.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Greeting {
    pub name: Option<String>,
    pub version: Option<String>,
    pub protocol: Option<u64>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    Initializing,
    Authenticating,
    Opening { again: bool },
    SettingMode,
    Prompting,
    Over,
}

#[derive(Clone, Debug)]
pub struct Client {
    plan: Plan,
    stage: Stage,
    /// The id of the request whose answer is pending.
    awaited: u64,
    greeting: Value,
    agent_output: AgentOutput,
    /// The agent reported a failure outside the protocol, which has no message for it.
    troubled: bool,
    tried_to_log_in: bool,
    cancelled: bool,
    /// How many messages of the user were sent during the turn.
    steered: u32,
}

impl Client {
    pub fn new(plan: Plan) -> Self {
        Self {
            plan,
            stage: Stage::Initializing,
            awaited: 0,
            greeting: Value::Null,
            agent_output: AgentOutput::new(Dialect::Text),
            troubled: false,
            tried_to_log_in: false,
            cancelled: false,
            steered: 0,
        }
    }

    /// The first message to send.
    pub fn begin(&mut self) -> String {
        let offered = self.plan.offers == ClientServices::FilesAndTerminals;
        let files = json!({ "readTextFile": offered, "writeTextFile": offered });
        let capabilities = json!({ "fs": files, "terminal": offered });
        let info = json!({ "name": "redgreen", "version": env!("CARGO_PKG_VERSION") });
        let params = json!({ "protocolVersion": PROTOCOL_VERSION, "clientCapabilities": capabilities, "clientInfo": info });
        self.request("initialize", &params)
    }

    /// Handles a line from the agent.
    pub fn heard(&mut self, line: &str) -> Reaction {
        let Ok(message) = serde_json::from_str::<Value>(line.trim()) else {
            self.agent_output.note(line);
            return Reaction::default();
        };
        match (text(&message, "/method"), message.get("id")) {
            (Some(method), Some(id)) => self.asked(method, id, &message),
            (Some("session/update"), None) => {
                Reaction { said: self.update(&message), ..Reaction::default() }
            }
            (Some(_), None) => Reaction::default(),
            (None, Some(id)) if id.as_u64() == Some(self.awaited) => self.answered(&message),
            (None, _) => Reaction::default(),
        }
    }

    /// Handles the beginning of a line that exceeds the limit. If it is a request, it gets an
    /// error; otherwise the agent would wait forever.
    pub fn heard_in_part(&mut self, beginning: &str) -> Reaction {
        let words = "a message exceeded the size limit";
        self.agent_output.note(words);
        match id_of(beginning) {
            Some(id) => {
                let error = json!({ "code": INVALID_REQUEST, "message": words });
                Reaction {
                    send: line(&json!({ "jsonrpc": "2.0", "id": id, "error": error })),
                    ..Reaction::default()
                }
            }
            // A notification expects no answer.
            None => Reaction::default(),
        }
    }

    /// Asks the agent to stop; empty if no turn is running.
    pub fn cancel(&mut self) -> String {
        match (self.stage, &self.agent_output.session) {
            (Stage::Prompting, Some(session)) => {
                self.cancelled = true;
                line(
                    &json!({ "jsonrpc": "2.0", "method": "session/cancel", "params": { "sessionId": session } }),
                )
            }
            _ => String::new(),
        }
    }

    /// Whether the agent takes messages during its turn, and a turn is running.
    pub fn can_be_steered(&self) -> bool {
        let is_offered = self.greeting.pointer("/_meta/steering/supported") == Some(&json!(true));
        is_offered && self.stage == Stage::Prompting && !self.cancelled
    }

    /// Sends a message of the user into the running turn. The answer does not matter: if the turn
    /// just ended, the next one gets the message.
    pub fn steer(&mut self, text: &str) -> String {
        self.steered += 1;
        self.agent_output.told(text);
        let params = json!({
            "sessionId": self.agent_output.session,
            "prompt": [{ "type": "text", "text": text }],
            "_meta": { "steering": { "idleBehavior": "promptRequired" } },
        });
        let id = format!("message-{}", self.steered);
        line(&json!({ "jsonrpc": "2.0", "id": id, "method": STEERING, "params": params }))
    }

    pub fn session(&self) -> Option<&str> {
        self.agent_output.session.as_deref()
    }

    pub fn agent_output(&self) -> &AgentOutput {
        &self.agent_output
    }

    pub fn greeting(&self) -> Greeting {
        let word = |pointer: &str| text(&self.greeting, pointer).map(str::to_owned);
        Greeting {
            name: word("/agentInfo/title").or_else(|| word("/agentInfo/name")),
            version: word("/agentInfo/version"),
            protocol: number(&self.greeting, "/protocolVersion"),
        }
    }

    /// The result of the turn, after the program exited.
    pub fn end(&self, exit: Exit, stderr: &str) -> Turn {
        match self.stage {
            // An agent that stops because of a cancel request has not finished.
            Stage::Over if self.cancelled => self.agent_output.end(exit, stderr),
            Stage::Over => self.agent_output.end(Exit::Code(0), stderr),
            _ if exit == Exit::TimedOut => self.agent_output.end(exit, stderr),
            Stage::Initializing
            | Stage::Authenticating
            | Stage::Opening { .. }
            | Stage::SettingMode
            | Stage::Prompting => {
                let words = last_lines(stderr);
                AgentError::new(format!("it ended ({exit}) before its turn was over: {words}"))
                    .turn()
            }
        }
    }

    fn request(&mut self, method: &str, params: &Value) -> String {
        self.awaited += 1;
        line(&json!({ "jsonrpc": "2.0", "id": self.awaited, "method": method, "params": params }))
    }

    fn asked(&mut self, method: &str, id: &Value, message: &Value) -> Reaction {
        let params = message.get("params").unwrap_or(&Value::Null);
        let offered = self.plan.offers == ClientServices::FilesAndTerminals;
        if let Some(asked) = service::asked(method, id, params).filter(|_| offered) {
            // The agent itself reports it to the user as a tool call.
            if let Some((name, what)) = asked.wish.told() {
                self.agent_output.does(name, &what);
            }
            return Reaction { asked: Some(asked), ..Reaction::default() };
        }
        let answer = match method {
            "session/request_permission" => {
                let (allowed, outcome) = permission::answer(params, &self.plan.folder);
                let title = text(params, "/toolCall/title").unwrap_or("something");
                if !allowed {
                    self.agent_output.note(&format!("not allowed: {title}"));
                }
                json!({ "jsonrpc": "2.0", "id": id, "result": { "outcome": outcome } })
            }
            _ => {
                let error = json!({ "code": METHOD_NOT_FOUND, "message": format!("{method} is not supported") });
                json!({ "jsonrpc": "2.0", "id": id, "error": error })
            }
        };
        Reaction { send: line(&answer), ..Reaction::default() }
    }

    /// The answer to the last request decides the next step.
    fn answered(&mut self, message: &Value) -> Reaction {
        let result = message.get("result").unwrap_or(&Value::Null);
        if let Some(error) = message.get("error") {
            return self.refused(error);
        }
        match self.stage {
            Stage::Initializing => {
                self.greeting = result.clone();
                if self.plan.prompt.is_none() { self.over() } else { self.open(false) }
            }
            Stage::Authenticating => self.open(false),
            Stage::Opening { .. } => {
                self.agent_output.met(
                    text(result, "/sessionId").or(self.plan.strategy.parent().map(|(id, _)| id)),
                );
                let known = |mode: &&String| {
                    let modes = result.pointer("/modes/availableModes").and_then(Value::as_array);
                    modes
                        .into_iter()
                        .flatten()
                        .any(|offered| text(offered, "/id") == Some(mode.as_str()))
                };
                match self.plan.mode.clone().filter(|mode| known(&mode)) {
                    Some(mode) => {
                        self.stage = Stage::SettingMode;
                        let params =
                            json!({ "sessionId": self.agent_output.session, "modeId": mode });
                        self.sending("session/set_mode", &params)
                    }
                    None => self.prompt(),
                }
            }
            Stage::SettingMode => self.prompt(),
            Stage::Prompting => self.stopped(result),
            Stage::Over => Reaction::default(),
        }
    }

    fn refused(&mut self, error: &Value) -> Reaction {
        let code = error.get("code").and_then(Value::as_i64).unwrap_or_default();
        match self.stage {
            Stage::Opening { .. } if code == AUTH_REQUIRED && !self.tried_to_log_in => {
                match self.key_method() {
                    Some(method) => {
                        self.stage = Stage::Authenticating;
                        self.tried_to_log_in = true;
                        self.sending("authenticate", &json!({ "methodId": method }))
                    }
                    None => self.fails(error, code),
                }
            }
            // The prompt is complete, so if a conversation cannot be resumed, a new one starts.
            Stage::Opening { again: false } if self.plan.strategy.parent().is_some() => {
                self.open(true)
            }
            Stage::SettingMode => self.prompt(),
            Stage::Initializing
            | Stage::Authenticating
            | Stage::Opening { .. }
            | Stage::Prompting
            | Stage::Over => self.fails(error, code),
        }
    }

    /// A login method that needs no user interaction.
    fn key_method(&self) -> Option<String> {
        let methods = self.greeting.get("authMethods").and_then(Value::as_array)?;
        let ids = methods.iter().filter_map(|method| text(method, "/id"));
        ids.filter(|id| id.contains("api-key") || id.contains("api_key")).map(str::to_owned).next()
    }

    fn open(&mut self, again: bool) -> Reaction {
        self.stage = Stage::Opening { again };
        let can = |what: &str| {
            self.greeting.pointer(&format!("/agentCapabilities/{what}")).is_some_and(is_offered)
        };
        let (method, session) = match self.plan.strategy.parent().filter(|_| !again) {
            Some((session, false)) if can("sessionCapabilities/resume") => {
                ("session/resume", Some(session))
            }
            Some((session, false)) if can("loadSession") => ("session/load", Some(session)),
            Some((session, true)) if can("sessionCapabilities/fork") => {
                ("session/fork", Some(session))
            }
            Some(_) | None => ("session/new", None),
        };
        let mut params = json!({ "cwd": self.plan.folder, "mcpServers": [] });
        if let (Some(session), Value::Object(fields)) = (session, &mut params) {
            fields.insert("sessionId".to_owned(), json!(session));
        }
        self.sending(method, &params)
    }

    fn prompt(&mut self) -> Reaction {
        self.stage = Stage::Prompting;
        let words = self.plan.prompt.clone().unwrap_or_default();
        let block = json!({ "type": "text", "text": words });
        let params = json!({ "sessionId": self.agent_output.session, "prompt": [block] });
        self.sending("session/prompt", &params)
    }

    fn sending(&mut self, method: &str, params: &Value) -> Reaction {
        Reaction { send: self.request(method, params), ..Reaction::default() }
    }

    fn over(&mut self) -> Reaction {
        self.stage = Stage::Over;
        Reaction { over: true, ..Reaction::default() }
    }

    fn fails(&mut self, error: &Value, code: i64) -> Reaction {
        let words = text(error, "/message").unwrap_or("it failed without a message");
        let status = u64::try_from(code).ok().filter(|code| (400..600).contains(code));
        self.agent_output.fails(
            AgentError::new(words).status(status.or_else(|| number(error, "/data/statusCode"))),
        );
        self.over()
    }

    fn stopped(&mut self, result: &Value) -> Reaction {
        let tokens = number(result, "/usage/totalTokens").or_else(|| {
            let count = result.pointer("/_meta/quota/token_count")?;
            number(count, "/totalTokens")
                .or_else(|| sum(count, &["/input_tokens", "/output_tokens"]))
        });
        self.agent_output.spent(tokens, None);
        if self.troubled && tokens.is_none() {
            let words = last_lines(self.agent_output.transcript());
            self.agent_output.fails(AgentError::new(words));
        }
        let mut next = self.over();
        next.said.push(AgentActivity::Cost(self.agent_output.cost()));
        next
    }

    fn update(&mut self, message: &Value) -> Vec<AgentActivity> {
        let Some(update) = message.pointer("/params/update") else { return Vec::new() };
        // Updates of a resumed conversation before the prompt repeat old messages.
        if self.stage != Stage::Prompting {
            return Vec::new();
        }
        let said = match text(update, "/sessionUpdate") {
            Some("agent_message_chunk") => {
                self.agent_output.says(text(update, "/content/text").unwrap_or_default())
            }
            Some("tool_call") => {
                let name = text(update, "/name")
                    .or_else(|| text(update, "/kind"))
                    .unwrap_or("a tool")
                    .to_owned();
                let input = object(update.get("rawInput").unwrap_or(&Value::Null));
                let what = if input.is_empty() {
                    text(update, "/title").unwrap_or_default()
                } else {
                    input
                };
                Some(self.agent_output.does(&name, what))
            }
            Some("usage_update") => {
                let usd = update.pointer("/cost/amount").and_then(Value::as_f64);
                let usd = usd.filter(|_| text(update, "/cost/currency") == Some("USD"));
                // In a resumed conversation, the cost covers the whole conversation.
                self.agent_output.spent(None, usd.filter(|_| self.plan.strategy == Strategy::New));
                usd.map(|_| AgentActivity::Cost(self.agent_output.cost()))
            }
            Some("session_info_update") => {
                let status = text(update, "/_meta/codex/threadStatus/type");
                self.troubled |= status == Some("systemError");
                None
            }
            _ => None,
        };
        said.into_iter().collect()
    }
}

/// The id of a truncated request; it precedes the long part.
fn id_of(beginning: &str) -> Option<Value> {
    let (head, _) = beginning.split_once("\"params\"")?;
    let (_, rest) = head.split_once("\"id\"")?;
    let rest = rest.trim_start().strip_prefix(':')?;
    serde_json::Deserializer::from_str(rest)
        .into_iter::<Value>()
        .next()?
        .ok()
        .filter(|id| id.is_number() || id.is_string())
}

/// A capability is `true` or an object with details.
fn is_offered(value: &Value) -> bool {
    value.as_bool().unwrap_or(value.is_object())
}

fn line(message: &Value) -> String {
    format!("{message}\n")
}

#[cfg(test)]
mod tests;
