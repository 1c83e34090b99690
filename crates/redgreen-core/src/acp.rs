//! The client's side of the Agent Client Protocol, version 1: JSON-RPC, a message a line. It says what to send for what
//! was heard, and never waits or acts. Agents add fields, notifications and whole methods of their own, so it looks at
//! what it needs and passes over the rest.

mod permission;
pub mod service;

use serde_json::{Value, json};

use crate::agent::{Said, Strategy, Turn};
use crate::hearing::{Dialect, Fault, Hearing, last_lines, number, object, sum, text};
use crate::report::Exit;
use service::Asked;

const PROTOCOL_VERSION: u64 = 1;
/// JSON-RPC's words for it.
const INVALID_REQUEST: i64 = -32600;
const METHOD_NOT_FOUND: i64 = -32601;
const AUTH_REQUIRED: i64 = -32000;

/// What a conversation is for.
#[derive(Clone, Debug, PartialEq)]
pub struct Plan {
    /// Where the agent works; absolute.
    pub folder: String,
    /// None: only to hear who it is.
    pub prompt: Option<String>,
    pub strategy: Strategy,
    /// The mode the session is put into, if the agent has it.
    pub mode: Option<String>,
    /// What is offered to the agent.
    pub offers: Offers,
}

/// Whether the agent may have us read and write files and run programs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Offers {
    #[default]
    Nothing,
    FilesAndTerminals,
}

/// What comes of a line.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Next {
    /// Lines to send, each with its end.
    pub send: String,
    /// Worth showing.
    pub said: Vec<Said>,
    /// To be done for the agent, and answered.
    pub asked: Option<Asked>,
    /// Nothing more is wanted of the agent.
    pub over: bool,
}

/// Who answered.
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
    /// The request whose answer is awaited.
    awaited: u64,
    greeting: Value,
    hearing: Hearing,
    /// The agent told of a failure beside the protocol, which has no word for it.
    troubled: bool,
    tried_to_log_in: bool,
    cancelled: bool,
}

impl Client {
    pub fn new(plan: Plan) -> Self {
        Self {
            plan,
            stage: Stage::Initializing,
            awaited: 0,
            greeting: Value::Null,
            hearing: Hearing::new(Dialect::Text),
            troubled: false,
            tried_to_log_in: false,
            cancelled: false,
        }
    }

    /// The first thing to send.
    pub fn begin(&mut self) -> String {
        let offered = self.plan.offers == Offers::FilesAndTerminals;
        let files = json!({ "readTextFile": offered, "writeTextFile": offered });
        let capabilities = json!({ "fs": files, "terminal": offered });
        let info = json!({ "name": "redgreen", "version": env!("CARGO_PKG_VERSION") });
        let params =
            json!({ "protocolVersion": PROTOCOL_VERSION, "clientCapabilities": capabilities, "clientInfo": info });
        self.request("initialize", &params)
    }

    /// A line of the agent's.
    pub fn heard(&mut self, line: &str) -> Next {
        let Ok(message) = serde_json::from_str::<Value>(line.trim()) else {
            self.hearing.note(line);
            return Next::default();
        };
        match (text(&message, "/method"), message.get("id")) {
            (Some(method), Some(id)) => self.asked(method, id, &message),
            (Some("session/update"), None) => Next { said: self.update(&message), ..Next::default() },
            (Some(_), None) => Next::default(),
            (None, Some(id)) if id.as_u64() == Some(self.awaited) => self.answered(&message),
            (None, _) => Next::default(),
        }
    }

    /// The beginning of a line that is too long to be heard. Whoever asked for something with it is told so; they would
    /// wait for ever.
    pub fn heard_in_part(&mut self, beginning: &str) -> Next {
        let words = "a message was too long to be heard";
        self.hearing.note(words);
        match id_of(beginning) {
            Some(id) => {
                let error = json!({ "code": INVALID_REQUEST, "message": words });
                Next { send: line(&json!({ "jsonrpc": "2.0", "id": id, "error": error })), ..Next::default() }
            }
            // A notification asks for nothing.
            None => Next::default(),
        }
    }

    /// Asks the agent to stop; empty when there is nothing to stop.
    pub fn cancel(&mut self) -> String {
        match (self.stage, &self.hearing.session) {
            (Stage::Prompting, Some(session)) => {
                self.cancelled = true;
                line(&json!({ "jsonrpc": "2.0", "method": "session/cancel", "params": { "sessionId": session } }))
            }
            _ => String::new(),
        }
    }

    pub fn session(&self) -> Option<&str> {
        self.hearing.session.as_deref()
    }

    pub fn hearing(&self) -> &Hearing {
        &self.hearing
    }

    pub fn greeting(&self) -> Greeting {
        let word = |pointer: &str| text(&self.greeting, pointer).map(str::to_owned);
        Greeting {
            name: word("/agentInfo/title").or_else(|| word("/agentInfo/name")),
            version: word("/agentInfo/version"),
            protocol: number(&self.greeting, "/protocolVersion"),
        }
    }

    /// How the turn ended, once the program has.
    pub fn end(&self, exit: Exit, stderr: &str) -> Turn {
        match self.stage {
            // Whoever stops because they were asked to has not finished.
            Stage::Over if self.cancelled => self.hearing.end(exit, stderr),
            Stage::Over => self.hearing.end(Exit::Code(0), stderr),
            _ if exit == Exit::TimedOut => self.hearing.end(exit, stderr),
            Stage::Initializing
            | Stage::Authenticating
            | Stage::Opening { .. }
            | Stage::SettingMode
            | Stage::Prompting => {
                let words = last_lines(stderr);
                Fault::new(format!("it ended ({exit}) before its turn was over: {words}")).turn()
            }
        }
    }

    fn request(&mut self, method: &str, params: &Value) -> String {
        self.awaited += 1;
        line(&json!({ "jsonrpc": "2.0", "id": self.awaited, "method": method, "params": params }))
    }

    fn asked(&mut self, method: &str, id: &Value, message: &Value) -> Next {
        let params = message.get("params").unwrap_or(&Value::Null);
        let offered = self.plan.offers == Offers::FilesAndTerminals;
        if let Some(asked) = service::asked(method, id, params).filter(|_| offered) {
            // Whoever watches is told by the agent itself, which calls it a tool.
            if let Some((name, what)) = asked.wish.told() {
                self.hearing.does(name, &what);
            }
            return Next { asked: Some(asked), ..Next::default() };
        }
        let answer = match method {
            "session/request_permission" => {
                let (allowed, outcome) = permission::answer(params, &self.plan.folder);
                let title = text(params, "/toolCall/title").unwrap_or("something");
                if !allowed {
                    self.hearing.note(&format!("not allowed: {title}"));
                }
                json!({ "jsonrpc": "2.0", "id": id, "result": { "outcome": outcome } })
            }
            _ => {
                let error = json!({ "code": METHOD_NOT_FOUND, "message": format!("{method} is not served here") });
                json!({ "jsonrpc": "2.0", "id": id, "error": error })
            }
        };
        Next { send: line(&answer), ..Next::default() }
    }

    /// The answer to what was asked last decides what is next.
    fn answered(&mut self, message: &Value) -> Next {
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
                self.hearing.met(text(result, "/sessionId").or(self.plan.strategy.parent().map(|(id, _)| id)));
                let known = |mode: &&String| {
                    let modes = result.pointer("/modes/availableModes").and_then(Value::as_array);
                    modes.into_iter().flatten().any(|offered| text(offered, "/id") == Some(mode.as_str()))
                };
                match self.plan.mode.clone().filter(|mode| known(&mode)) {
                    Some(mode) => {
                        self.stage = Stage::SettingMode;
                        let params = json!({ "sessionId": self.hearing.session, "modeId": mode });
                        self.sending("session/set_mode", &params)
                    }
                    None => self.prompt(),
                }
            }
            Stage::SettingMode => self.prompt(),
            Stage::Prompting => self.stopped(result),
            Stage::Over => Next::default(),
        }
    }

    fn refused(&mut self, error: &Value) -> Next {
        let code = error.get("code").and_then(Value::as_i64).unwrap_or_default();
        match self.stage {
            Stage::Opening { .. } if code == AUTH_REQUIRED && !self.tried_to_log_in => match self.key_method() {
                Some(method) => {
                    self.stage = Stage::Authenticating;
                    self.tried_to_log_in = true;
                    self.sending("authenticate", &json!({ "methodId": method }))
                }
                None => self.fails(error, code),
            },
            // Its orders are complete: a conversation that cannot be taken up again is begun anew.
            Stage::Opening { again: false } if self.plan.strategy.parent().is_some() => self.open(true),
            Stage::SettingMode => self.prompt(),
            Stage::Initializing | Stage::Authenticating | Stage::Opening { .. } | Stage::Prompting | Stage::Over => {
                self.fails(error, code)
            }
        }
    }

    /// A way to log in that asks nobody.
    fn key_method(&self) -> Option<String> {
        let methods = self.greeting.get("authMethods").and_then(Value::as_array)?;
        let ids = methods.iter().filter_map(|method| text(method, "/id"));
        ids.filter(|id| id.contains("api-key") || id.contains("api_key")).map(str::to_owned).next()
    }

    fn open(&mut self, again: bool) -> Next {
        self.stage = Stage::Opening { again };
        let can = |what: &str| self.greeting.pointer(&format!("/agentCapabilities/{what}")).is_some_and(is_offered);
        let (method, session) = match self.plan.strategy.parent().filter(|_| !again) {
            Some((session, false)) if can("sessionCapabilities/resume") => ("session/resume", Some(session)),
            Some((session, false)) if can("loadSession") => ("session/load", Some(session)),
            Some((session, true)) if can("sessionCapabilities/fork") => ("session/fork", Some(session)),
            Some(_) | None => ("session/new", None),
        };
        let mut params = json!({ "cwd": self.plan.folder, "mcpServers": [] });
        if let (Some(session), Value::Object(fields)) = (session, &mut params) {
            fields.insert("sessionId".to_owned(), json!(session));
        }
        self.sending(method, &params)
    }

    fn prompt(&mut self) -> Next {
        self.stage = Stage::Prompting;
        let words = self.plan.prompt.clone().unwrap_or_default();
        let block = json!({ "type": "text", "text": words });
        let params = json!({ "sessionId": self.hearing.session, "prompt": [block] });
        self.sending("session/prompt", &params)
    }

    fn sending(&mut self, method: &str, params: &Value) -> Next {
        Next { send: self.request(method, params), ..Next::default() }
    }

    fn over(&mut self) -> Next {
        self.stage = Stage::Over;
        Next { over: true, ..Next::default() }
    }

    fn fails(&mut self, error: &Value, code: i64) -> Next {
        let words = text(error, "/message").unwrap_or("it failed and did not say why");
        let status = u64::try_from(code).ok().filter(|code| (400..600).contains(code));
        self.hearing.fails(Fault::new(words).status(status.or_else(|| number(error, "/data/statusCode"))));
        self.over()
    }

    fn stopped(&mut self, result: &Value) -> Next {
        let tokens = number(result, "/usage/totalTokens").or_else(|| {
            let count = result.pointer("/_meta/quota/token_count")?;
            number(count, "/totalTokens").or_else(|| sum(count, &["/input_tokens", "/output_tokens"]))
        });
        self.hearing.spent(tokens, None);
        if self.troubled && tokens.is_none() {
            let words = last_lines(self.hearing.transcript());
            self.hearing.fails(Fault::new(words));
        }
        let mut next = self.over();
        next.said.push(Said::Cost(self.hearing.cost()));
        next
    }

    fn update(&mut self, message: &Value) -> Vec<Said> {
        let Some(update) = message.pointer("/params/update") else { return Vec::new() };
        // What is told of a conversation that is taken up again was said before.
        if self.stage != Stage::Prompting {
            return Vec::new();
        }
        let said = match text(update, "/sessionUpdate") {
            Some("agent_message_chunk") => self.hearing.says(text(update, "/content/text").unwrap_or_default()),
            Some("tool_call") => {
                let name = text(update, "/name").or_else(|| text(update, "/kind")).unwrap_or("a tool").to_owned();
                let input = object(update.get("rawInput").unwrap_or(&Value::Null));
                let what = if input.is_empty() { text(update, "/title").unwrap_or_default() } else { input };
                Some(self.hearing.does(&name, what))
            }
            Some("usage_update") => {
                let usd = update.pointer("/cost/amount").and_then(Value::as_f64);
                let usd = usd.filter(|_| text(update, "/cost/currency") == Some("USD"));
                // Of a conversation that goes on, it is the price of the whole.
                self.hearing.spent(None, usd.filter(|_| self.plan.strategy == Strategy::New));
                usd.map(|_| Said::Cost(self.hearing.cost()))
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

/// The id of a request whose end is missing; it stands before what is long.
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

/// Said of a capability: `true`, or an object that says more.
fn is_offered(value: &Value) -> bool {
    value.as_bool().unwrap_or(value.is_object())
}

fn line(message: &Value) -> String {
    format!("{message}\n")
}

#[cfg(test)]
mod tests;
