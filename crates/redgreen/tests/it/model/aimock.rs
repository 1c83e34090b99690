//! The same client against a third-party mock of these APIs: `@copilotkit/aimock`, which
//! `scripts/test` installs.

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};

use serde_json::json;

use super::{
    Block, Ended, Limits, Message, ModelErrorKind, QUICK, Reply, Request, RetryLimits, Wire,
};
use super::{ask, calls, client, request, text};
use crate::runner::node_modules;
use crate::skip::skipped;

/// A running aimock server, until the test ends.
struct Aimock {
    url: String,
    child: Child,
}

impl Aimock {
    /// Returns `None` and reports the skipped test if aimock is not installed.
    fn start(flags: &[&str]) -> Option<Self> {
        let program = node_modules().join("@copilotkit/aimock/dist/cli.js");
        if !program.is_file() {
            skipped("aimock is not installed by scripts/test");
            return None;
        }
        let folder = tempfile::tempdir().unwrap();
        let fixtures = folder.path().join("fixtures.json");
        std::fs::write(&fixtures, fixture().to_string()).unwrap();
        #[expect(clippy::disallowed_methods, reason = "a server that runs next to the test")]
        let mut child = Command::new("node")
            .arg(&program)
            .args(["-p", "0", "-f"])
            .arg(&fixtures)
            .args(flags)
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let url = lines
            .map_while(Result::ok)
            .find_map(|line| Some(line.split_once("listening on ")?.1.to_owned()));
        Some(Self { url: url.expect("aimock says where it listens"), child })
    }
}

impl Drop for Aimock {
    fn drop(&mut self) {
        self.child.kill().ok();
        self.child.wait().ok();
    }
}

fn fixture() -> serde_json::Value {
    let call = |path: &str| json!({"name": "Read", "arguments": json!({"path": path}).to_string()});
    json!({"fixtures": [
        {"match": {"userMessage": "read two", "hasToolResult": false}, "response":
            {"content": "Reading.", "reasoning": "two files", "toolCalls": [call("a.py"), call("b.py")]}},
        {"match": {"userMessage": "read two", "hasToolResult": true}, "response": {"content": "Both read."}},
        {"match": {"userMessage": "be refused"}, "status": 401, "response":
            {"error": {"message": "no such key", "type": "authentication_error"}, "status": 401}},
        {"match": {"userMessage": "be long"}, "response": {"content": "A long", "finishReason": "length"}},
        {"match": {"userMessage": "hello"}, "response": {"content": "Hello from somebody else."}},
    ]})
}

fn asking(words: &str) -> Request {
    Request {
        messages: vec![Message::User(vec![Block::Text { text: words.to_owned() }])],
        ..request()
    }
}

fn results(reply: &Reply) -> Vec<Block> {
    let results = reply.blocks.iter().filter_map(|block| match block {
        Block::ToolUse { id, name, .. } => Some(Block::ToolResult {
            id: id.clone(),
            name: name.clone(),
            text: "1".to_owned(),
            is_error: false,
        }),
        _ => None,
    });
    results.collect()
}

#[test]
fn whole_conversations_are_held_with_a_mock_of_others() {
    let Some(server) = Aimock::start(&[]) else { return };
    for wire in Wire::ALL {
        let client = client(wire, &server.url, QUICK);
        assert_eq!(
            text(&ask(&client, &asking("hello")).0.unwrap()),
            "Hello from somebody else.",
            "{wire:?}"
        );

        let mut request = asking("read two");
        let reply = ask(&client, &request).0.unwrap();
        let read = |path: &str| ("Read".to_owned(), json!({"path": path}));
        assert_eq!(calls(&reply), [read("a.py"), read("b.py")], "{wire:?}");
        assert_eq!((text(&reply).as_str(), &reply.stop), ("Reading.", &Ended::ToolUse), "{wire:?}");
        let results = results(&reply);
        request.messages.extend([Message::Assistant(reply.blocks), Message::User(results)]);
        let reply = ask(&client, &request).0.unwrap();
        assert_eq!((text(&reply).as_str(), reply.stop), ("Both read.", Ended::End), "{wire:?}");

        assert_eq!(ask(&client, &asking("be long")).0.unwrap().stop, Ended::MaxTokens, "{wire:?}");
        assert_eq!(
            ask(&client, &asking("be refused")).0.unwrap_err().kind,
            ModelErrorKind::Auth,
            "{wire:?}"
        );
    }
}

#[test]
fn a_mock_that_misbehaves_is_named_for_what_it_does() {
    // After a rate limit, aimock asks the client to wait a second.
    let hasty = Limits { patience: RetryLimits { asked_ms_max: 500, ..QUICK.patience }, ..QUICK };
    for (flag, kinds) in [
        ("--chaos-drop", [ModelErrorKind::Server].as_slice()),
        ("--chaos-ratelimit", &[ModelErrorKind::RateLimit]),
        ("--chaos-disconnect", &[ModelErrorKind::Network]),
        ("--chaos-malformed", &[ModelErrorKind::Server, ModelErrorKind::Network]),
    ] {
        let Some(server) = Aimock::start(&[flag, "1"]) else { return };
        for wire in Wire::ALL {
            let error = ask(&client(wire, &server.url, hasty), &asking("hello")).0.unwrap_err();
            assert!(kinds.contains(&error.kind), "{wire:?} {flag} {error:?}");
        }
    }
}
