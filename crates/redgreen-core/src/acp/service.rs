//! Requests of an agent to its client: read and write files, run programs in terminals. This module
//! only translates the protocol; the caller decides and executes.

use serde_json::{Value, json};

use crate::agent_output::{number, text};
use crate::report::Exit;

const INVALID_PARAMS: i64 = -32602;
const FAILED: i64 = -32603;
const NOT_FOUND: i64 = -32002;

/// A request that awaits its answer.
#[derive(Clone, Debug, PartialEq)]
pub struct ServiceRequest {
    id: Value,
    pub wish: ServiceCall,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ServiceCall {
    /// Lines start at 1.
    Read {
        path: String,
        line: Option<u64>,
        limit: Option<u64>,
    },
    Write {
        path: String,
        content: String,
    },
    Start(Command),
    Output {
        terminal: String,
    },
    Wait {
        terminal: String,
    },
    Kill {
        terminal: String,
    },
    Release {
        terminal: String,
    },
    /// A known method with invalid parameters.
    Nonsense {
        method: String,
    },
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Command {
    pub command: String,
    pub args: Vec<String>,
    pub env: Vec<(String, String)>,
    pub cwd: Option<String>,
    pub output_bytes_max: Option<u64>,
}

/// The result of a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ServiceResult {
    Text(String),
    Done,
    Terminal(String),
    Output { text: String, cut: bool, exit: Option<Exit> },
    Ended(Exit),
}

/// The reason why a request failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Refusal {
    Missing(String),
    Forbidden(String),
    Failed(String),
}

/// The request, if its method is known.
pub(super) fn asked(method: &str, id: &Value, params: &Value) -> Option<ServiceRequest> {
    let word = |key: &str| text(params, key).map(str::to_owned);
    let terminal = || word("/terminalId");
    let wish = match method {
        "fs/read_text_file" => {
            let (line, limit) = (number(params, "/line"), number(params, "/limit"));
            word("/path").map(|path| ServiceCall::Read { path, line, limit })
        }
        "fs/write_text_file" => word("/path")
            .zip(word("/content"))
            .map(|(path, content)| ServiceCall::Write { path, content }),
        "terminal/create" => command(params).map(ServiceCall::Start),
        "terminal/output" => terminal().map(|terminal| ServiceCall::Output { terminal }),
        "terminal/wait_for_exit" => terminal().map(|terminal| ServiceCall::Wait { terminal }),
        "terminal/kill" => terminal().map(|terminal| ServiceCall::Kill { terminal }),
        "terminal/release" => terminal().map(|terminal| ServiceCall::Release { terminal }),
        _ => return None,
    };
    let wish = wish.unwrap_or_else(|| ServiceCall::Nonsense { method: method.to_owned() });
    Some(ServiceRequest { id: id.clone(), wish })
}

impl ServiceRequest {
    /// The line that answers the request.
    pub fn answer(&self, served: &Result<ServiceResult, Refusal>) -> String {
        let answer = match served {
            Ok(served) => json!({ "jsonrpc": "2.0", "id": self.id, "result": result(served) }),
            Err(refusal) => {
                let (code, message) = match refusal {
                    // Agents that create a new file check for this text first.
                    Refusal::Missing(why) => (NOT_FOUND, format!("Resource not found: {why}")),
                    Refusal::Forbidden(why) => (INVALID_PARAMS, why.clone()),
                    Refusal::Failed(why) => (FAILED, why.clone()),
                };
                json!({ "jsonrpc": "2.0", "id": self.id, "error": { "code": code, "message": message } })
            }
        };
        super::line(&answer)
    }
}

impl ServiceCall {
    /// The equivalent tool and its object, for the user.
    pub(super) fn told(&self) -> Option<(&'static str, String)> {
        match self {
            ServiceCall::Read { path, .. } => Some(("read", path.clone())),
            ServiceCall::Write { path, .. } => Some(("write", path.clone())),
            ServiceCall::Start(command) => Some(("terminal", command.line())),
            ServiceCall::Output { .. }
            | ServiceCall::Wait { .. }
            | ServiceCall::Kill { .. }
            | ServiceCall::Release { .. }
            | ServiceCall::Nonsense { .. } => None,
        }
    }
}

impl Command {
    /// The command as a user would read it.
    pub fn line(&self) -> String {
        std::iter::once(&self.command)
            .chain(&self.args)
            .map(String::as_str)
            .collect::<Vec<_>>()
            .join(" ")
    }
}

fn command(params: &Value) -> Option<Command> {
    let list = |key: &str| params.get(key).and_then(Value::as_array).into_iter().flatten();
    let pair =
        |item: &Value| Some((text(item, "/name")?.to_owned(), text(item, "/value")?.to_owned()));
    Some(Command {
        command: text(params, "/command").filter(|command| !command.trim().is_empty())?.to_owned(),
        args: list("args").filter_map(Value::as_str).map(str::to_owned).collect(),
        env: list("env").filter_map(pair).collect(),
        cwd: text(params, "/cwd").map(str::to_owned),
        output_bytes_max: number(params, "/outputByteLimit"),
    })
}

fn result(served: &ServiceResult) -> Value {
    match served {
        ServiceResult::Text(content) => json!({ "content": content }),
        ServiceResult::Done => json!({}),
        ServiceResult::Terminal(id) => json!({ "terminalId": id }),
        ServiceResult::Output { text, cut, exit } => {
            json!({ "output": text, "truncated": cut, "exitStatus": exit.map(status) })
        }
        ServiceResult::Ended(exit) => status(*exit),
    }
}

fn status(exit: Exit) -> Value {
    const NAMES: [(i32, &str); 6] = [
        (2, "SIGINT"),
        (6, "SIGABRT"),
        (9, "SIGKILL"),
        (11, "SIGSEGV"),
        (13, "SIGPIPE"),
        (15, "SIGTERM"),
    ];
    let (code, signal) = match exit {
        Exit::Code(code) => (Some(code), None),
        Exit::Signal(number) => {
            let known = NAMES.iter().find(|(known, _)| *known == number);
            (
                None,
                Some(known.map_or_else(|| format!("SIG{number}"), |(_, name)| (*name).to_owned())),
            )
        }
        Exit::TimedOut | Exit::NotStarted => (None, Some("SIGKILL".to_owned())),
    };
    json!({ "exitCode": code, "signal": signal })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parses_requests_and_rejects_invalid_parameters() {
        let terminal = || "t".to_owned();
        for (method, params, expected) in [
            (
                "fs/read_text_file",
                json!({ "path": "/w/a", "line": 2, "limit": 3 }),
                Some(ServiceCall::Read { path: "/w/a".to_owned(), line: Some(2), limit: Some(3) }),
            ),
            (
                "fs/write_text_file",
                json!({ "path": "/w/a", "content": "" }),
                Some(ServiceCall::Write { path: "/w/a".to_owned(), content: String::new() }),
            ),
            (
                "terminal/create",
                json!({ "command": "ls", "args": ["-l", 7], "env": [{ "name": "A", "value": "b" }, {}],
                        "cwd": "/w", "outputByteLimit": 9 }),
                Some(ServiceCall::Start(Command {
                    command: "ls".to_owned(),
                    args: vec!["-l".to_owned()],
                    env: vec![("A".to_owned(), "b".to_owned())],
                    cwd: Some("/w".to_owned()),
                    output_bytes_max: Some(9),
                })),
            ),
            (
                "terminal/output",
                json!({ "terminalId": "t" }),
                Some(ServiceCall::Output { terminal: terminal() }),
            ),
            (
                "terminal/wait_for_exit",
                json!({ "terminalId": "t" }),
                Some(ServiceCall::Wait { terminal: terminal() }),
            ),
            (
                "terminal/kill",
                json!({ "terminalId": "t" }),
                Some(ServiceCall::Kill { terminal: terminal() }),
            ),
            (
                "terminal/release",
                json!({ "terminalId": "t" }),
                Some(ServiceCall::Release { terminal: terminal() }),
            ),
            (
                "terminal/create",
                json!({ "command": " " }),
                Some(ServiceCall::Nonsense { method: "terminal/create".to_owned() }),
            ),
            (
                "fs/read_text_file",
                Value::Null,
                Some(ServiceCall::Nonsense { method: "fs/read_text_file".to_owned() }),
            ),
            ("elicitation/create", json!({}), None),
        ] {
            assert_eq!(
                asked(method, &json!(0), &params).map(|asked| asked.wish),
                expected,
                "{method} {params}"
            );
        }
    }

    #[test]
    fn answers_have_the_id_of_their_request() {
        let asked = asked("terminal/output", &json!("x"), &json!({ "terminalId": "t" })).unwrap();
        let output = |exit| Ok(ServiceResult::Output { text: "a".to_owned(), cut: true, exit });
        for (served, expected) in [
            (output(None), r#""result":{"output":"a","truncated":true,"exitStatus":null}"#),
            (output(Some(Exit::Code(3))), r#""exitStatus":{"exitCode":3,"signal":null}"#),
            (
                Ok(ServiceResult::Ended(Exit::Signal(15))),
                r#""result":{"exitCode":null,"signal":"SIGTERM"}"#,
            ),
            (Ok(ServiceResult::Ended(Exit::Signal(34))), r#""signal":"SIG34""#),
            (
                Err(Refusal::Missing("a".to_owned())),
                r#""error":{"code":-32002,"message":"Resource not found: a"}"#,
            ),
            (Err(Refusal::Forbidden("no".to_owned())), r#""error":{"code":-32602,"message":"no"}"#),
        ] {
            let line = asked.answer(&served);
            assert!(
                line.starts_with(r#"{"jsonrpc":"2.0","id":"x","#) && line.ends_with("\n"),
                "{line}"
            );
            assert!(line.contains(expected), "{line}");
        }
    }
}
