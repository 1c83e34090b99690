//! Messages to the MCP server: every answer is a message, and no message keeps the server from
//! answering the next one.

use std::collections::BTreeSet;

use redgreen_serve::{Cancellation, Row, Service, ToolAnswer, ToolRow, answers};
use serde_json::{Value, json};

/// How a conversation begins.
const HANDSHAKE: &str = concat!(
    r#"{"jsonrpc":"2.0","id":"hello","method":"initialize","params":{"protocolVersion":"2025-06-18","#,
    r#""capabilities":{},"clientInfo":{"name":"fuzz","version":"1"}}}"#,
    "\n",
    r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#,
    "\n",
);
const ROWS: &[Row] = &[Row { name: "redgreen://session/brief", description: "What to build" }];

pub(crate) fn input(bytes: &[u8]) {
    // Before the handshake, and after it.
    read(&answers(Echo, bytes));
    let whole = [HANDSHAKE.as_bytes(), bytes, b"\n"].concat();
    let said = read(&answers(Echo, &whole));
    assert!(said.contains("\"hello\""), "the handshake is not answered");
}

/// The ids that were answered; each line is a message of the protocol.
fn read(said: &[u8]) -> BTreeSet<String> {
    let mut answered = BTreeSet::new();
    for line in said.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()) {
        let message: Value = serde_json::from_slice(line).expect("an answer is JSON");
        assert_eq!(message.get("jsonrpc"), Some(&json!("2.0")), "{message}");
        answered.extend(message.get("id").map(Value::to_string));
    }
    answered
}

/// Offers what redgreen offers, and says what it was asked.
struct Echo;

impl Service for Echo {
    fn version(&self) -> &'static str {
        "0"
    }

    fn instructions(&self) -> String {
        "echo".to_owned()
    }

    fn tools(&self) -> Vec<ToolRow> {
        let row = |name| ToolRow {
            name,
            description: "echo",
            input: json!({ "type": "object" }),
            reads: true,
        };
        ["status", "check", "explain", "dispute_test", "plan"].map(row).to_vec()
    }

    fn resources(&self) -> &'static [Row] {
        ROWS
    }

    fn prompts(&self) -> &'static [Row] {
        ROWS
    }

    fn call(&self, tool: &str, arguments: Value, cancelled: &Cancellation) -> ToolAnswer {
        let failed = cancelled.is();
        ToolAnswer { text: format!("{tool} {arguments}"), value: Some(arguments), failed }
    }

    fn resource(&self, address: &str) -> Result<String, String> {
        if address.is_empty() { Err("no address".to_owned()) } else { Ok(address.to_owned()) }
    }

    fn prompt(&self, name: &str) -> Result<String, String> {
        self.resource(name)
    }
}
